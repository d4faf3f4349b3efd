//! The companion's own settings. Where reports come from, and how old they may be, is in the policy's.

use image_admission_image::canonical_host;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::WrittenDuration;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;

/// How often a registry is asked for evidence at most.
const SHORTEST_REFRESH: Seconds = Seconds(5 * 60);

/// How scans are asked for. Every key has a default, and an unknown key is an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CompanionSettings {
    /// The `ClusterAdmissionPolicy` whose settings name the sources of reports.
    pub policy: String,
    /// How many scans, and how often.
    pub scans: Scans,
    /// What only trivy-operator needs.
    pub trivy_operator: TrivyOperatorScans,
    /// What only SBOMscanner needs.
    pub sbomscanner: SbomScannerScans,
    /// The template of the Jobs that make reports beside images. Without it, none are made.
    pub scan_job: Option<ScanJobSettings>,
    /// How registries are asked.
    pub registries: Registries,
    /// Whether signatures and attestations of images are copied into the cluster. Without it, they aren't.
    pub evidence: Option<CopiedEvidence>,
    /// The most images that are looked after, each counted once for each namespace.
    pub images: usize,
    /// Whether controllers that wait for a scan are told when it is there.
    pub wake: bool,
}

/// How many scans, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scans {
    /// The most that are under way at once.
    pub at_once: usize,
    /// The most that are asked for in any minute.
    pub per_minute: usize,
    /// A scan that takes longer has failed.
    pub deadline: Seconds,
    /// When a failed scan is asked for again.
    pub retry: Retry,
}

/// When something that failed is tried again: the wait is doubled each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retry {
    /// The first wait.
    pub first: Seconds,
    /// The longest.
    pub most: Seconds,
}

/// What only trivy-operator needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TrivyOperatorScans {
    /// Names of Secrets in the namespace of the scans, with which the operator pulls.
    pub image_pull_secrets: Vec<String>,
}

/// What only SBOMscanner needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SbomScannerScans {
    /// By the host of a registry, the name of the Secret in SBOMscanner's namespace with which it pulls.
    pub auth_secrets: BTreeMap<String, String>,
}

/// Where the template of Jobs is: a CronJob that is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScanJobSettings {
    /// Its namespace, which is that of the Jobs.
    pub namespace: String,
    /// Its name.
    pub cron_job: String,
}

/// How signatures and attestations are copied into the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CopiedEvidence {
    /// How long after an image's registry was asked it is asked again.
    pub refresh: Seconds,
    /// How long after an image was used last its copy goes.
    pub forget: Seconds,
    /// How large all copies may be together, in MiB: the cluster's own database has them.
    pub mebibytes: usize,
    /// Whose attestations GitHub is asked for. Without it, only registries are asked.
    pub github: Option<GithubAttestations>,
}

/// Whose attestations GitHub's API is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GithubAttestations {
    /// The URL of the API.
    pub api: String,
    /// Which repository's workflows attest which images.
    pub repositories: Vec<AttestedImages>,
}

/// Images that the workflows of a repository attest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttestedImages {
    /// A glob of their names: `ghcr.io/team/app`, or `ghcr.io/team/*`.
    pub images: String,
    /// The repository: `owner/name`.
    pub repository: String,
}

/// How registries are asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Registries {
    /// The most images of one registry that are looked up in any minute.
    pub per_minute: usize,
}

/// A duration of the settings: `30m`, `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub i64);

impl Default for CompanionSettings {
    fn default() -> Self {
        Self {
            policy: "image-admission".to_owned(),
            scans: Scans::default(),
            trivy_operator: TrivyOperatorScans::default(),
            sbomscanner: SbomScannerScans::default(),
            scan_job: None,
            registries: Registries::default(),
            evidence: None,
            images: 5_000,
            wake: true,
        }
    }
}

impl Default for Scans {
    fn default() -> Self {
        Self { at_once: 10, per_minute: 30, deadline: Seconds(30 * 60), retry: Retry::default() }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Seconds(60), most: Seconds(6 * 3600) }
    }
}

impl Default for ScanJobSettings {
    fn default() -> Self {
        Self { namespace: "image-scan-jobs".to_owned(), cron_job: "scan".to_owned() }
    }
}

impl Default for CopiedEvidence {
    fn default() -> Self {
        Self { refresh: Seconds(6 * 3600), forget: Seconds(24 * 3600), mebibytes: 512, github: None }
    }
}

impl Default for GithubAttestations {
    fn default() -> Self {
        Self { api: "https://api.github.com".to_owned(), repositories: Vec::new() }
    }
}

impl Default for Registries {
    fn default() -> Self {
        Self { per_minute: 300 }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let duration = WrittenDuration::parse(&text);
        duration
            .map(|duration| Self(duration.seconds()))
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not a duration like `30m` or `6h`")))
    }
}

impl CompanionSettings {
    /// Everything in settings that were read and can't work, by the key.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let counts = [
            ("scans.atOnce", self.scans.at_once),
            ("scans.perMinute", self.scans.per_minute),
            ("registries.perMinute", self.registries.per_minute),
            ("images", self.images),
        ];
        let copied = self.evidence.as_ref().map(|evidence| ("evidence.mebibytes", evidence.mebibytes));
        let zeros = counts.into_iter().chain(copied).filter(|(_, count)| *count == 0);
        let mut problems: Vec<String> =
            zeros.map(|(key, _)| format!("{key}: `0` would ask for nothing; write a number from 1 on")).collect();
        let Retry { first, most } = self.scans.retry;
        if most < first {
            problems.push("scans.retry: `most` is shorter than `first`".to_owned());
        }
        if self.evidence.as_ref().is_some_and(|evidence| evidence.refresh < SHORTEST_REFRESH) {
            problems.push("evidence.refresh: registries would be asked all the time; write `5m` or more".to_owned());
        }
        if self.scan_job.as_ref().is_some_and(|job| job.namespace.is_empty() || job.cron_job.is_empty()) {
            problems.push("scanJob: write the `namespace` and the name of a `cronJob`".to_owned());
        }
        let github = self.evidence.as_ref().and_then(|evidence| evidence.github.as_ref());
        problems.extend(github.into_iter().flat_map(GithubAttestations::problems));
        if self.policy.is_empty() {
            problems.push("policy: write the name of a ClusterAdmissionPolicy".to_owned());
        }
        problems
    }
}

impl GithubAttestations {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !is_https(&self.api) {
            let api = cut(&self.api, 100);
            problems.push(format!("evidence.github.api: `{api}` is no URL like `https://api.github.com`"));
        }
        if self.repositories.is_empty() {
            problems.push(
                "evidence.github.repositories: nothing would be asked for; name images and their repository".to_owned(),
            );
        }
        for (number, AttestedImages { images, repository }) in self.repositories.iter().enumerate() {
            let at = format!("evidence.github.repositories[{number}]");
            if !is_repository(repository) {
                let repository = cut(repository, 100);
                problems.push(format!("{at}.repository: `{repository}` is no repository like `team/app`"));
            }
            if images.is_empty() || images.ends_with('/') {
                let images = cut(images, 100);
                problems.push(format!(
                    "{at}.images: no image is named `{images}`; write `ghcr.io/team/app`, or `ghcr.io/team/*`"
                ));
            }
        }
        problems
    }
}

/// Whether this is a URL with `https`, a host and nothing behind its path.
fn is_https(url: &str) -> bool {
    let Some((host, path)) = url.strip_prefix("https://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))) else {
        return false;
    };
    let is_of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    canonical_host(host).is_ok() && path.bytes().all(is_of_path)
}

/// Whether this is `owner/name`, in the characters that GitHub has for them.
fn is_repository(text: &str) -> bool {
    let is_made_of = |text: &str, more: &[u8]| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    let is_name = |name: &str| is_made_of(name, b"._-") && name != "." && name != "..";
    text.len() <= 140 && text.split_once('/').is_some_and(|(owner, name)| is_made_of(owner, b"_-") && is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn refused(settings: Value, expected: &str) {
        let error = serde_json::from_value::<CompanionSettings>(settings).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn everything_has_a_default() {
        let settings: CompanionSettings = serde_json::from_value(json!({})).unwrap();
        assert_eq!(settings, CompanionSettings::default());
        assert_eq!(settings.problems(), [""; 0]);
        let settings: CompanionSettings = serde_json::from_value(json!({"scans": {"deadline": "1h30m"}})).unwrap();
        assert_eq!((settings.scans.deadline, settings.scans.at_once), (Seconds(5_400), 10));
        let settings: CompanionSettings = serde_json::from_value(json!({"evidence": {"forget": "1h"}})).unwrap();
        let expected = CopiedEvidence { forget: Seconds(3_600), ..CopiedEvidence::default() };
        assert_eq!(settings.evidence, Some(expected));
        let settings: CompanionSettings = serde_json::from_value(json!({"scanJob": {"cronJob": "trivy"}})).unwrap();
        let expected = ScanJobSettings { namespace: "image-scan-jobs".to_owned(), cron_job: "trivy".to_owned() };
        assert_eq!(settings.scan_job, Some(expected));
        let app = json!({"images": "ghcr.io/team/app", "repository": "team/app"});
        let settings: CompanionSettings =
            serde_json::from_value(json!({"evidence": {"github": {"repositories": [app]}}})).unwrap();
        let github = settings.evidence.as_ref().unwrap().github.as_ref().unwrap();
        assert_eq!(github.api, "https://api.github.com");
        assert_eq!(github.repositories[0].repository, "team/app");
        assert_eq!(settings.problems(), [""; 0]);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        refused(json!({"scan": {}}), "unknown field `scan`");
        refused(json!({"scans": {"atonce": 1}}), "unknown field `atonce`");
        refused(json!({"scans": {"atOnce": -1}}), "-1");
        refused(json!({"scans": {"deadline": 30}}), "integer `30`");
        refused(json!({"scans": {"deadline": "30"}}), "`30` is not a duration like `30m` or `6h`");
        refused(json!({"scanJob": {"name": "scan"}}), "unknown field `name`");
        refused(json!({"trivyOperator": {"imagePullSecrets": "a"}}), "expected a sequence");
        let github = |github: Value| json!({"evidence": {"github": github}});
        refused(github(json!({"token": "a"})), "unknown field `token`");
        refused(github(json!({"repositories": [{"images": "a/b"}]})), "missing field `repository`");
        refused(github(json!({"repositories": [{"repository": "a/b"}]})), "missing field `images`");
    }

    #[test]
    fn what_would_never_scan_is_told() {
        let of = |settings: Value| serde_json::from_value::<CompanionSettings>(settings).unwrap().problems();
        let zero = |key: &str| vec![format!("{key}: `0` would ask for nothing; write a number from 1 on")];
        assert_eq!(of(json!({"scans": {"atOnce": 0}})), zero("scans.atOnce"));
        assert_eq!(of(json!({"scans": {"perMinute": 0}})), zero("scans.perMinute"));
        assert_eq!(of(json!({"registries": {"perMinute": 0}})), zero("registries.perMinute"));
        assert_eq!(of(json!({"images": 0})), zero("images"));
        assert_eq!(
            of(json!({"scans": {"retry": {"first": "2m", "most": "1m"}}})),
            ["scans.retry: `most` is shorter than `first`"]
        );
        assert_eq!(
            of(json!({"evidence": {"refresh": "4m"}})),
            ["evidence.refresh: registries would be asked all the time; write `5m` or more"]
        );
        for job in [json!({"namespace": ""}), json!({"cronJob": ""})] {
            assert_eq!(of(json!({"scanJob": job})), ["scanJob: write the `namespace` and the name of a `cronJob`"]);
        }
        assert_eq!(of(json!({"policy": ""})), ["policy: write the name of a ClusterAdmissionPolicy"]);
    }

    #[track_caller]
    fn github_problems(api: &str, images: &str, repository: &str) -> Vec<String> {
        let repositories = vec![AttestedImages { images: images.to_owned(), repository: repository.to_owned() }];
        GithubAttestations { api: api.to_owned(), repositories }.problems()
    }

    #[test]
    fn whom_github_can_be_asked_about() {
        let api = "https://api.github.com";
        for api in ["https://api.github.com/", "https://api.team.ghe.com", "https://git.team.example:8443/api/v3"] {
            assert_eq!(github_problems(api, "ghcr.io/team/*", "team/app"), [""; 0], "{api}");
        }
        for wrong in [
            "http://api.github.com",
            "api.github.com",
            "https://",
            "https:///repos",
            "https://name@api.github.com",
            "https://api.github.com:x",
            "https://api.github.com?a=b",
            "https://api.github.com/#a",
            "https://api.github.com/a b",
            "",
        ] {
            let expected = format!("evidence.github.api: `{wrong}` is no URL like `https://api.github.com`");
            assert_eq!(github_problems(wrong, "ghcr.io/team/*", "team/app"), [expected]);
        }
        for repository in ["team/app", "Team-1/a_b.c-d", "name_company/.github"] {
            assert_eq!(github_problems(api, "ghcr.io/team/*", repository), [""; 0], "{repository}");
        }
        for wrong in
            ["team", "team/", "/app", "team/app/b", "team/..", "team/.", "te.am/app", "team/a?b", "team/a%2f", ""]
        {
            let expected =
                format!("evidence.github.repositories[0].repository: `{wrong}` is no repository like `team/app`");
            assert_eq!(github_problems(api, "ghcr.io/team/*", wrong), [expected]);
        }
        for wrong in ["", "ghcr.io/team/"] {
            let expected = format!(
                "evidence.github.repositories[0].images: no image is named `{wrong}`; write `ghcr.io/team/app`, or `ghcr.io/team/*`"
            );
            assert_eq!(github_problems(api, wrong, "team/app"), [expected]);
        }
        assert_eq!(
            GithubAttestations::default().problems(),
            ["evidence.github.repositories: nothing would be asked for; name images and their repository"]
        );
    }
}
