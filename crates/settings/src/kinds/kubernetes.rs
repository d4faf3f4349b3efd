//! Kubernetes' own kinds, as releases from 1.31 on serve them.

use std::iter::once;

/// A kind that Kubernetes serves without any CRD.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BuiltinKind {
    /// Its group, empty for the core group.
    pub group: &'static str,
    /// The versions in which some release serves it, the one to write first.
    pub versions: &'static [&'static str],
    /// `Pod`
    pub kind: &'static str,
    /// The resource that rules name for the kind: `pods`, or `pods/exec` for a subresource of another kind.
    pub resource: &'static str,
    /// What `kubectl` calls it for short.
    short: &'static [&'static str],
}

/// Makes a row of the table.
const fn of(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    resource: &'static str,
    short: &'static [&'static str],
) -> BuiltinKind {
    BuiltinKind { group, versions, kind, resource, short }
}

const V1: &[&str] = &["v1"];
const ADMISSION: &str = "admissionregistration.k8s.io";
const DEVICES: &[&str] = &["v1", "v1beta2", "v1beta1", "v1alpha3"];
const FLOWS: &[&str] = &["v1", "v1beta3"];
const LISTED: &[&str] = &["v1", "v1beta1", "v1alpha1"];

/// All built-in kinds. Where two groups serve a kind, the older group is first.
pub(crate) static KINDS: &[BuiltinKind] = &[
    of("", V1, "Pod", "pods", &["po"]),
    of("", V1, "Service", "services", &["svc"]),
    of("", V1, "Namespace", "namespaces", &["ns"]),
    of("", V1, "ConfigMap", "configmaps", &["cm"]),
    of("", V1, "Secret", "secrets", &[]),
    of("", V1, "ServiceAccount", "serviceaccounts", &["sa"]),
    of("", V1, "Node", "nodes", &["no"]),
    of("", V1, "PersistentVolume", "persistentvolumes", &["pv"]),
    of("", V1, "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"]),
    of("", V1, "ReplicationController", "replicationcontrollers", &["rc"]),
    of("", V1, "Endpoints", "endpoints", &["ep"]),
    of("", V1, "Event", "events", &["ev"]),
    of("", V1, "LimitRange", "limitranges", &["limits"]),
    of("", V1, "ResourceQuota", "resourcequotas", &["quota"]),
    of("", V1, "PodTemplate", "podtemplates", &[]),
    of("", V1, "Binding", "pods/binding", &[]),
    of("", V1, "ComponentStatus", "componentstatuses", &["cs"]),
    of("", V1, "PodExecOptions", "pods/exec", &[]),
    of("", V1, "PodAttachOptions", "pods/attach", &[]),
    of("", V1, "PodPortForwardOptions", "pods/portforward", &[]),
    of("", V1, "PodProxyOptions", "pods/proxy", &[]),
    of("", V1, "ServiceProxyOptions", "services/proxy", &[]),
    of("", V1, "NodeProxyOptions", "nodes/proxy", &[]),
    of("apps", V1, "Deployment", "deployments", &["deploy"]),
    of("apps", V1, "ReplicaSet", "replicasets", &["rs"]),
    of("apps", V1, "StatefulSet", "statefulsets", &["sts"]),
    of("apps", V1, "DaemonSet", "daemonsets", &["ds"]),
    of("apps", V1, "ControllerRevision", "controllerrevisions", &[]),
    of("batch", V1, "Job", "jobs", &[]),
    of("batch", V1, "CronJob", "cronjobs", &["cj"]),
    of("autoscaling", &["v2", "v1"], "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
    of("autoscaling", V1, "Scale", "*/scale", &[]),
    of("policy", V1, "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"]),
    of("policy", V1, "Eviction", "pods/eviction", &[]),
    of("networking.k8s.io", V1, "Ingress", "ingresses", &["ing"]),
    of("networking.k8s.io", V1, "IngressClass", "ingressclasses", &[]),
    of("networking.k8s.io", V1, "NetworkPolicy", "networkpolicies", &["netpol"]),
    of("networking.k8s.io", LISTED, "IPAddress", "ipaddresses", &["ip"]),
    of("networking.k8s.io", LISTED, "ServiceCIDR", "servicecidrs", &[]),
    of("rbac.authorization.k8s.io", V1, "Role", "roles", &[]),
    of("rbac.authorization.k8s.io", V1, "RoleBinding", "rolebindings", &[]),
    of("rbac.authorization.k8s.io", V1, "ClusterRole", "clusterroles", &[]),
    of("rbac.authorization.k8s.io", V1, "ClusterRoleBinding", "clusterrolebindings", &[]),
    of("storage.k8s.io", V1, "StorageClass", "storageclasses", &["sc"]),
    of("storage.k8s.io", V1, "CSIDriver", "csidrivers", &[]),
    of("storage.k8s.io", V1, "CSINode", "csinodes", &[]),
    of("storage.k8s.io", V1, "CSIStorageCapacity", "csistoragecapacities", &[]),
    of("storage.k8s.io", V1, "VolumeAttachment", "volumeattachments", &[]),
    of("storage.k8s.io", LISTED, "VolumeAttributesClass", "volumeattributesclasses", &["vac"]),
    of("apiextensions.k8s.io", V1, "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"]),
    of("apiregistration.k8s.io", V1, "APIService", "apiservices", &[]),
    of(ADMISSION, V1, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", &[]),
    of(ADMISSION, V1, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", &[]),
    of(ADMISSION, LISTED, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[]),
    of(ADMISSION, LISTED, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", &[]),
    of(ADMISSION, LISTED, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[]),
    of(ADMISSION, LISTED, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", &[]),
    of("authentication.k8s.io", V1, "TokenReview", "tokenreviews", &[]),
    of("authentication.k8s.io", LISTED, "SelfSubjectReview", "selfsubjectreviews", &[]),
    of("authentication.k8s.io", V1, "TokenRequest", "serviceaccounts/token", &[]),
    of("authorization.k8s.io", V1, "SubjectAccessReview", "subjectaccessreviews", &[]),
    of("authorization.k8s.io", V1, "LocalSubjectAccessReview", "localsubjectaccessreviews", &[]),
    of("authorization.k8s.io", V1, "SelfSubjectAccessReview", "selfsubjectaccessreviews", &[]),
    of("authorization.k8s.io", V1, "SelfSubjectRulesReview", "selfsubjectrulesreviews", &[]),
    of("certificates.k8s.io", V1, "CertificateSigningRequest", "certificatesigningrequests", &["csr"]),
    of("certificates.k8s.io", &["v1beta1", "v1alpha1"], "ClusterTrustBundle", "clustertrustbundles", &[]),
    of("certificates.k8s.io", &["v1beta1", "v1alpha1"], "PodCertificateRequest", "podcertificaterequests", &[]),
    of("coordination.k8s.io", V1, "Lease", "leases", &[]),
    of("coordination.k8s.io", &["v1beta1", "v1alpha2", "v1alpha1"], "LeaseCandidate", "leasecandidates", &[]),
    of("discovery.k8s.io", V1, "EndpointSlice", "endpointslices", &[]),
    of("events.k8s.io", V1, "Event", "events", &[]),
    of("flowcontrol.apiserver.k8s.io", FLOWS, "FlowSchema", "flowschemas", &[]),
    of("flowcontrol.apiserver.k8s.io", FLOWS, "PriorityLevelConfiguration", "prioritylevelconfigurations", &[]),
    of("internal.apiserver.k8s.io", &["v1alpha1"], "StorageVersion", "storageversions", &[]),
    of("node.k8s.io", V1, "RuntimeClass", "runtimeclasses", &[]),
    of("resource.k8s.io", DEVICES, "DeviceClass", "deviceclasses", &[]),
    of("resource.k8s.io", DEVICES, "ResourceClaim", "resourceclaims", &[]),
    of("resource.k8s.io", DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", &[]),
    of("resource.k8s.io", DEVICES, "ResourceSlice", "resourceslices", &[]),
    of("resource.k8s.io", &["v1alpha3"], "DeviceTaintRule", "devicetaintrules", &[]),
    of("resource.k8s.io", &["v1alpha3"], "PodSchedulingContext", "podschedulingcontexts", &[]),
    of("scheduling.k8s.io", V1, "PriorityClass", "priorityclasses", &["pc"]),
    of("storagemigration.k8s.io", &["v1beta1", "v1alpha1"], "StorageVersionMigration", "storageversionmigrations", &[]),
];

impl BuiltinKind {
    /// Whether some release serves it in a version. A kind without a stable version yet may get any other.
    pub(crate) fn is_served_in(&self, version: &str) -> bool {
        self.versions.contains(&version) || !self.versions.iter().any(|version| is_stable(version))
    }

    /// The API version to write: `v1`, `apps/v1`.
    pub(super) fn api_version(&self) -> String {
        let group = Some(self.group).filter(|group| !group.is_empty());
        group.into_iter().chain(self.versions.first().copied()).collect::<Vec<_>>().join("/")
    }

    /// Whether the API server never sends it to webhooks, whatever their rules say, so that none can block its own repair.
    pub(crate) fn is_never_asked_about(&self) -> bool {
        self.group == ADMISSION
    }

    fn is_called(&self, name: &str, is_alike: impl Fn(&str, &str) -> bool) -> bool {
        let resource = (!self.resource.contains('/')).then_some(self.resource);
        once(self.kind).chain(resource).any(|own| is_alike(own, name))
    }
}

/// Whether Kubernetes itself serves a group.
pub(crate) fn is_own_group(group: &str) -> bool {
    KINDS.iter().any(|own| own.group == group)
}

/// Whether a CRD can have a group: it is a domain that Kubernetes itself doesn't serve.
pub(crate) fn is_crd_group(group: &str) -> bool {
    group.contains('.') && !is_own_group(group)
}

/// The kind that is meant by a name of no kind: another case, the plural, the resource, a short name of `kubectl`, or one wrong
/// letter in a long name. The group's own kind is preferred.
pub(crate) fn misspelt(name: &str, group: Option<&str>) -> Option<&'static BuiltinKind> {
    // The group's own kind comes first.
    let preferred = |is_meant: &dyn Fn(&BuiltinKind) -> bool| {
        let is_preferred = |own: &&BuiltinKind| group == Some(own.group) && is_meant(own);
        KINDS.iter().find(is_preferred).or_else(|| KINDS.iter().find(|own| is_meant(own)))
    };
    preferred(&|own| own.short.contains(&name) || own.is_called(name, str::eq_ignore_ascii_case))
        .or_else(|| preferred(&|own| own.is_called(name, differs_by_one_letter)))
}

/// Whether two long names differ by one letter (wrong, missing or too much), or by two that changed places.
pub(crate) fn differs_by_one_letter(name: &str, other: &str) -> bool {
    const LONG: usize = 6;
    let is_long = name.len().min(other.len()) >= LONG;
    if !is_long || name.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let same = |(one, two): &(u8, u8)| one.eq_ignore_ascii_case(two);
    let before = name.bytes().zip(other.bytes()).take_while(same).count();
    let (name, other) = (name.as_bytes().get(before..), other.as_bytes().get(before..));
    let (Some(name), Some(other)) = (name, other) else { return false };
    let after = name.iter().copied().rev().zip(other.iter().copied().rev()).take_while(same).count();
    match (name.get(..name.len() - after), other.get(..other.len() - after)) {
        (Some([a, b]), Some([c, d])) => a.eq_ignore_ascii_case(d) && b.eq_ignore_ascii_case(c),
        (Some(name), Some(other)) => name.len().max(other.len()) == 1,
        _ => false,
    }
}

/// Whether a string is a version as Kubernetes writes them: `v1`, `v1beta2`.
pub(crate) fn is_version(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.strip_prefix('v').is_some_and(|rest| {
        let split = rest.split_once("alpha").or_else(|| rest.split_once("beta"));
        split.map_or_else(|| is_number(rest), |(major, minor)| is_number(major) && is_number(minor))
    })
}

fn is_stable(version: &str) -> bool {
    !version.contains("alpha") && !version.contains("beta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_meant() {
        for (name, kind) in [
            ("Pods", "Pod"),
            ("POD", "Pod"),
            ("po", "Pod"),
            ("deploy", "Deployment"),
            ("deployments", "Deployment"),
            ("Ingresses", "Ingress"),
            ("NetworkPolicies", "NetworkPolicy"),
            ("Deploymnet", "Deployment"),
            ("StatefullSet", "StatefulSet"),
            ("DaemonSet", "DaemonSet"),
            ("CronJobb", "CronJob"),
            ("Endpoint", "Endpoints"),
        ] {
            assert_eq!(misspelt(name, None).map(|own| own.kind), Some(kind), "{name}");
        }
        // Kinds of well-known CRDs.
        for name in [
            "Workflow",
            "Gateway",
            "Certificate",
            "Rollout",
            "Mode",
            "Jot",
            "Nodes2",
            "Task",
            "PipelineRun",
            "Application",
            "VirtualService",
            "ServiceEntry",
            "ServiceMonitor",
            "PodMonitor",
            "ScaledObject",
            "ExternalSecret",
            "SealedSecret",
            "NodePool",
            "NodeClaim",
            "Ingressroute",
            "HTTPProxy",
            "Issuer",
            "ClusterIssuer",
            "Cluster",
            "Machine",
            "Egress",
            "KafkaTopic",
            "Kafka",
            "ClusterPolicy",
            "Policy",
            "CloneSet",
            "HelmRelease",
            "Kustomization",
            "DaemonJob",
            "Queue",
            "PodGroup",
            "JobSet",
            "RayJob",
            "Volume",
            "Snapshot",
            "VolumeSnapshot",
            "LocalQueue",
            "Revision",
            "Route",
            "Tenant",
        ] {
            assert_eq!(misspelt(name, None), None, "{name}");
        }
        assert_eq!(misspelt("events", Some("events.k8s.io")).map(|own| own.group), Some("events.k8s.io"));
    }

    #[test]
    fn one_letter() {
        for (name, other, expected) in [
            ("Deployment", "Deploymant", true),
            ("Deployment", "Deployent", true),
            ("Deployment", "Deploymentt", true),
            ("Deployment", "Deploymnet", true),
            ("Deployment", "deployment", false),
            ("Deployment", "Dploymnt", false),
            ("Deployment", "Deploymtne", false),
            ("Lease", "Leasa", false),
            ("Sécret", "Secret", false),
        ] {
            assert_eq!(differs_by_one_letter(name, other), expected, "{name} {other}");
        }
    }

    #[test]
    fn versions_are_told_from_groups() {
        for (text, expected) in [
            ("v1", true),
            ("v2beta1", true),
            ("v1alpha3", true),
            ("v", false),
            ("vb", false),
            ("v1beta", false),
            ("apps", false),
        ] {
            assert_eq!(is_version(text), expected, "{text}");
        }
    }

    #[test]
    fn rows_are_as_kubernetes_names_things() {
        for own in KINDS {
            assert!(own.versions.iter().all(|version| is_version(version)), "{own:?}");
            let plural = crate::kinds::plural(own.kind);
            assert!(own.resource.contains('/') || own.resource == plural, "{own:?}");
            let same = |other: &&BuiltinKind| (other.group, other.kind) == (own.group, own.kind);
            assert_eq!(KINDS.iter().filter(same).count(), 1, "{own:?}");
        }
        for workload in image_admission_image::workload::WorkloadKind::ALL {
            let is_listed = |own: &BuiltinKind| {
                (own.group, own.kind, own.resource) == (workload.group(), workload.name(), workload.resource())
            };
            assert!(KINDS.iter().any(is_listed), "{workload}");
        }
    }
}
