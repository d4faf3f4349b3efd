//! Settings and chart values of Sysdig's controllers, and settings of Kubewarden's image-cve-policy, that have no meaning
//! here, or another name.
//!
//! None is ignored: whoever sets one expects an effect. Each is refused once, where it stands, with who does its job now and what
//! to write instead.

/// A setting that is refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// Its key.
    pub(super) name: &'static str,
    why: Why,
}

#[derive(Debug, Clone, Copy)]
enum Why {
    /// Who does its job, and what to write instead of it.
    NoMeaning(&'static str),
    /// What it is called here.
    Written(&'static str),
    /// What to do about it.
    Do(&'static str),
}

impl Refused {
    /// Why it is refused, without its path.
    pub(super) fn text(&self) -> String {
        match self.why {
            Why::NoMeaning(who) => format!("`{}` has no meaning here: {who}; remove it", self.name),
            Why::Written(how) => format!("`{}` is written {how} here", self.name),
            Why::Do(what) => what.to_owned(),
        }
    }
}

const fn no_meaning(name: &'static str, who: &'static str) -> Refused {
    Refused { name, why: Why::NoMeaning(who) }
}

const fn written(name: &'static str, how: &'static str) -> Refused {
    Refused { name, why: Why::Written(how) }
}

const CREDENTIALS: &str = "scanners in the cluster scan, and the policy server holds the registries' credentials";
const SCAN_POLICY: &str =
    "`acceptance` says which findings are accepted, and the scanner's own settings what it looks for";
const CLUSTER: &str = "nothing is sent out of the cluster, so that it needs no name";
const NAMES: &str = "Kubewarden names and makes what the policy needs";
const ACCOUNT: &str = "the policy runs in a PolicyServer: name its account with `serviceAccountName` there";
const PROXY: &str = "the policy runs in a PolicyServer: write environment variables into `env` there";

/// Settings of report sources that places of VEX documents don't have.
pub(super) const VEX: [Refused; 1] = [Refused {
    name: "allowUnsigned",
    why: Why::Do(
        "a VEX document is somebody's word, and takes findings out: name who must have signed it in `attestors`",
    ),
}];

/// Top-level settings, values of the charts, and settings of image-cve-policy.
pub(super) const SETTINGS: [Refused; 45] = [
    Refused {
        name: "settings",
        why: Why::Do("settings stand at the top: take the line `settings:` out, and the indentation of those below it"),
    },
    no_meaning("sysdigSecureToken", CREDENTIALS),
    no_meaning("sysdigSecureApiUrl", CREDENTIALS),
    no_meaning("sysdigSecureUrl", CREDENTIALS),
    no_meaning("sysdig", CREDENTIALS),
    no_meaning("verifySSL", CREDENTIALS),
    no_meaning("scanPolicyId", SCAN_POLICY),
    no_meaning(
        "scanner",
        "scanners in the cluster scan, and run without this policy: name those whose reports count in `reports.sources`",
    ),
    no_meaning(
        "webhook",
        "Kubewarden's webhook asks: write `failurePolicy: Fail` for `denyOnError: true`, `mode: monitor` for `dryRun: true`, and \
         `timeoutSeconds` into the ClusterAdmissionPolicy, and what its Pods need into the PolicyServer",
    ),
    no_meaning(
        "features",
        "detections in audit events are the work of whoever reads the API server's audit log; write rules about objects as \
         `regoPolicies`",
    ),
    no_meaning(
        "metadataCustomRules",
        "rules see what is known of an image in `input.ScanReport`: write them as `customRules`",
    ),
    no_meaning(
        "pre-scan-rules.rego",
        "what stands before its custom rules is built in: write what is between `###### Begin: Custom rules ######` and `###### End: Custom rules ######` as `preCustomRules`, and what you changed in the rest as rules of your own",
    ),
    no_meaning(
        "post-scan-rules.rego",
        "what stands before its custom rules is built in: write what is between `###### Begin: Custom rules ######` and `###### End: Custom rules ######` as `customRules`, and what you changed in the rest as rules of your own",
    ),
    no_meaning("clusterName", CLUSTER),
    no_meaning("clusterId", CLUSTER),
    no_meaning("nameOverride", NAMES),
    no_meaning("fullnameOverride", NAMES),
    no_meaning("service", NAMES),
    no_meaning("serviceAccount", ACCOUNT),
    no_meaning("serviceAccounts", ACCOUNT),
    no_meaning("httpProxy", PROXY),
    no_meaning("httpsProxy", PROXY),
    no_meaning("noProxy", PROXY),
    no_meaning("image", "the policy is the `module` of the ClusterAdmissionPolicy"),
    no_meaning("kubectlImage", "a ClusterAdmissionPolicy leaves namespaces out by its `namespaceSelector`"),
    no_meaning(
        "imagePullSecrets",
        "the policy runs in a PolicyServer: name the one Secret with `imagePullSecret` there",
    ),
    no_meaning("replicaCount", "the policy runs in a PolicyServer: write `replicas` there"),
    no_meaning("resources", "the policy runs in a PolicyServer: write `limits` and `requests` there"),
    no_meaning("nodeSelector", "the policy runs in a PolicyServer: write `affinity` there"),
    no_meaning("tolerations", "the policy runs in a PolicyServer: write `tolerations` there"),
    no_meaning("affinity", "the policy runs in a PolicyServer: write `affinity` there"),
    written("defaultPolicy", "`preScanPolicies.defaultPolicy` or `scanPolicies.defaultPolicy`"),
    written("customPolicies", "`preScanPolicies.customPolicies` or `scanPolicies.customPolicies`"),
    written("reportPending", "`scanPolicies.reportPending`"),
    written("scanFailed", "`scanPolicies.scanFailed`"),
    written("maxSeverity", "`acceptance.maxSeverity`"),
    written("cvssScore", "`acceptance.cvssScore`"),
    written("allowAlways", "`acceptance.allowAlways`"),
    written("denyAlways", "`acceptance.denyAlways`"),
    written("ignoreVexStatus", "`acceptance.ignoreVexStatus`"),
    written("platform", "`reports.platforms: [linux/amd64]`"),
    written("vulnerabilityReportNamespace", "`reports.sources: [{sbomscanner: {namespaces: [sbomscanner]}}]`"),
    written("ignoreMissingVulnerabilityReport", "`scanPolicies.reportPending`, `accept` or `reject`,"),
    no_meaning("imageLookupStrategy", "a report counts for the digest that it names, never for a tag"),
    no_meaning(
        "cveName",
        "write ids into `acceptance.denyAlways` or `acceptance.allowAlways`, or rules about `input.ScanReport.InnerReport` into `customRules`",
    ),
];

/// Settings of an entry of `registries`, as containerd, k3s and CRI-O have them.
pub(super) const REGISTRY: [Refused; 4] = [
    written("mirrors", MIRROR),
    written("endpoint", MIRROR),
    written("endpoints", MIRROR),
    written("location", MIRROR),
];
const MIRROR: &str = "`mirror: mirror.example.com/dockerhub`, one for each registry,";

/// Settings of `reports`.
pub(super) const REPORTS: [Refused; 5] = [
    written("sbomscanner", "`sources: [{sbomscanner: …}]`"),
    written("trivyOperator", "`sources: [{trivyOperator: …}]`"),
    written("kubescape", "`sources: [{kubescape: …}]`"),
    written("registry", "`sources: [{registry: …}]`"),
    written("custom", "`sources: [{custom: …}]`"),
];

/// Sources of reports.
pub(super) const SOURCES: [Refused; 2] =
    [written("trivy", "`trivyOperator`"), written("trivy-operator", "`trivyOperator`")];

/// Settings of a policy of `imageVerification`.
pub(super) const VERIFICATION: [Refused; 3] = [
    written("references", "`matchConstraints: {imageRules: {references: […]}}`"),
    written("imageReferences", "`matchConstraints: {imageRules: {references: […]}}`"),
    written("imageRules", "`matchConstraints: {imageRules: …}`"),
];

/// Settings of an attestor's `notary`, as the proposal for `imageVerification` and notation have them.
pub(super) const NOTARY: [Refused; 2] = [
    Refused {
        name: "certChain",
        why: Why::Do("a signature has its whole chain in it: write the certificate of the chain's root into `certs`"),
    },
    written("trustPolicy", "`trustedIdentities` and `trustStore`"),
];

/// Settings of its `matchConstraints`.
pub(super) const CONSTRAINTS: [Refused; 1] = [written("references", "`imageRules: {references: […]}`")];

/// Settings of a phase.
pub(super) const PHASE: [Refused; 2] = [no_meaning("scanPolicyId", SCAN_POLICY), written("maxAge", "`reports.maxAge`")];
