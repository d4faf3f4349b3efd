//! Whether the most host calls of a request fit into the time that it has.

use image_admission_engine::{calls_made, kinds_read};
use image_admission_manifests::settings::Found;
use image_admission_settings::{Lint as Remark, LintRule, LintSeverity, Settings};
use serde_json::Value;
use std::time::Duration;

/// What a call takes that no cache answers, in milliseconds: 10 to a registry on the same machine (docs/benchmarks.md), and others are farther.
const COLD_CALL: u64 = 25;

/// How long the API server waits, in seconds, unless the policy's `timeoutSeconds` says otherwise.
const DEFAULT_TIMEOUT: u64 = 10;

/// The longest time that the API server waits, in seconds.
const MAX_TIMEOUT: u64 = 30;

/// That `maxHostCalls` allows more calls than fit into the policy's time.
pub(super) fn remark(found: &Found, settings: &Settings) -> Option<Remark> {
    if calls_made(settings).is_empty() && kinds_read(settings).is_empty() {
        return None;
    }
    let timeouts = Timeouts::of(found);
    let calls = u64::try_from(settings.max_host_calls).unwrap_or(u64::MAX);
    let worst = calls.saturating_mul(COLD_CALL);
    let fit = timeouts.least().saturating_mul(1000) / COLD_CALL;
    if calls <= fit {
        return None;
    }
    let wanted = worst.div_ceil(1000);
    let instead = match wanted {
        ..=MAX_TIMEOUT => format!(", or raise {} to {wanted}", timeouts.below(wanted).join(" and ")),
        _ => String::new(),
    };
    let message = format!(
        "a request may make {calls} calls to registries and the cluster, each of about {COLD_CALL} ms if no cache has its answer: {} s, but the policy has {}; set it to {fit} or less{instead}",
        Duration::from_millis(worst).as_secs_f64(),
        timeouts.shown(),
    );
    let remark = Remark::new(LintRule::ExceedsTimeout, "maxHostCalls", message);
    // What a manifest beside them says isn't known.
    Some(if timeouts.is_known() { remark } else { remark.weighing(LintSeverity::Note) })
}

/// How long a request may take, in seconds.
struct Timeouts {
    /// For the API server.
    webhook: Option<u64>,
    /// For the policy server.
    evaluation: Option<u64>,
    /// Whether the whole manifest is there.
    is_whole: bool,
}

impl Timeouts {
    fn of(found: &Found) -> Self {
        let Some(policy) = &found.policy else { return Self { webhook: None, evaluation: None, is_whole: false } };
        let manifest: Value = serde_json::from_str(policy.manifest.get()).unwrap_or_default();
        let spec = manifest.get("spec");
        let seconds = |holder: Option<&Value>, key: &str| holder?.get(key)?.as_u64();
        let member = policy.member.as_ref().and_then(|member| spec?.get("policies")?.get(member));
        Self {
            // Kubernetes takes no other.
            webhook: seconds(spec, "timeoutSeconds").map(|seconds| seconds.clamp(1, MAX_TIMEOUT)),
            evaluation: seconds(member, "timeoutEvalSeconds").or_else(|| seconds(spec, "timeoutEvalSeconds")),
            is_whole: !super::manifest::is_patch(found),
        }
    }

    /// The one that ends first. How long the policy server gives a policy that doesn't say it is the server's own setting.
    fn least(&self) -> u64 {
        let webhook = self.webhook.unwrap_or(DEFAULT_TIMEOUT);
        self.evaluation.map_or(webhook, |evaluation| evaluation.min(webhook))
    }

    fn is_known(&self) -> bool {
        self.is_whole || self.webhook.is_some() || self.evaluation.is_some()
    }

    /// Where it is said.
    fn shown(&self) -> String {
        let least = self.least();
        match (self.evaluation, self.webhook) {
            (Some(evaluation), _) if evaluation == least => format!("{least} s (`timeoutEvalSeconds`)"),
            (_, Some(_)) => format!("{least} s (`timeoutSeconds`)"),
            (_, None) => format!("{least} s (`timeoutSeconds`, by default)"),
        }
    }

    /// Those that are shorter.
    fn below(&self, wanted: u64) -> Vec<&'static str> {
        let timeouts = [
            ("`timeoutSeconds`", Some(self.webhook.unwrap_or(DEFAULT_TIMEOUT))),
            ("`timeoutEvalSeconds`", self.evaluation),
        ];
        timeouts
            .into_iter()
            .filter(|(_, seconds)| seconds.is_some_and(|seconds| seconds < wanted))
            .map(|(name, _)| name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_engine::check_settings;
    use image_admission_manifests::settings::every_in;
    use std::path::Path;

    /// The remarks on each of the settings in a file.
    fn remarks(yaml: &str) -> Vec<Option<Remark>> {
        let all = every_in(Path::new("policy.yaml"), yaml).unwrap();
        let remark = |found: &Found| {
            let json = found.json.as_deref().map_or("null", |json| json.get());
            remark(found, &check_settings(&serde_json::from_str(json).unwrap()).unwrap())
        };
        all.iter().map(remark).collect()
    }

    fn policy(spec: &str, settings: &str) -> String {
        format!(
            "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{name: images}}\nspec:\n  rules: []\n{spec}  settings: {settings}\n"
        )
    }

    #[track_caller]
    fn check(yaml: &str, expected: Option<(LintSeverity, &str)>) {
        let remark = remarks(yaml).remove(0);
        match (&remark, expected) {
            (None, None) => {}
            (Some(remark), Some((severity, words))) => {
                assert_eq!(remark.severity, severity, "{yaml}");
                assert!(remark.message.contains(words), "{yaml}\n{remark}");
            }
            _ => panic!("{yaml}\n{remark:?}"),
        }
    }

    /// One call less fits, and one more doesn't.
    #[test]
    fn the_calls_that_fit_depend_on_the_time() {
        for (spec, fit) in [
            ("", 400),
            ("  timeoutSeconds: 5\n", 200),
            ("  timeoutSeconds: 30\n", 1200),
            ("  timeoutSeconds: 15\n  timeoutEvalSeconds: 10\n", 400),
            ("  timeoutEvalSeconds: 2\n", 80),
            // Kubewarden refuses the other one.
            ("  timeoutSeconds: 5\n  timeoutEvalSeconds: 20\n", 200),
        ] {
            check(&policy(spec, &format!("{{maxHostCalls: {fit}}}")), None);
            let more = fit + 1;
            let words = format!("a request may make {more} calls");
            check(&policy(spec, &format!("{{maxHostCalls: {more}}}")), Some((LintSeverity::Warning, &words)));
        }
    }

    #[test]
    fn what_to_change_is_said() {
        let check = |spec, calls, words| {
            check(&policy(spec, &format!("{{maxHostCalls: {calls}}}")), Some((LintSeverity::Warning, words)));
        };
        check(
            "",
            500,
            "12.5 s, but the policy has 10 s (`timeoutSeconds`, by default); set it to 400 or less, or raise `timeoutSeconds` to 13",
        );
        check(
            "  timeoutSeconds: 15\n  timeoutEvalSeconds: 10\n",
            500,
            "10 s (`timeoutEvalSeconds`); set it to 400 or less, or raise `timeoutEvalSeconds` to 13",
        );
        check(
            "  timeoutSeconds: 10\n  timeoutEvalSeconds: 10\n",
            500,
            "or raise `timeoutSeconds` and `timeoutEvalSeconds` to 13",
        );
        // The defaults don't fit into less.
        let spec = "  timeoutSeconds: 5\n";
        check(
            spec,
            400,
            "10 s, but the policy has 5 s (`timeoutSeconds`); set it to 200 or less, or raise `timeoutSeconds` to 10",
        );
        // No time is long enough.
        let most = remarks(&policy("", "{maxHostCalls: 1201}")).remove(0).unwrap().message;
        assert!(most.ends_with("set it to 400 or less"), "{most}");
        assert!(remarks(&policy("", "{maxHostCalls: 1200}")).remove(0).unwrap().message.ends_with("to 30"));
    }

    /// What a policy doesn't ask for takes no time.
    #[test]
    fn settings_without_calls_are_left_alone() {
        let nothing = "preScanPolicies: {defaultPolicy: accept}, pin: {enabled: false}, reports: {sources: [{registry: {allowUnsigned: true}}]}";
        check(&policy("", &format!("{{maxHostCalls: 5000, {nothing}}}")), None);
    }

    /// The manifest may say more, so that it is only a note.
    #[test]
    fn settings_alone_may_have_more_time() {
        check("maxHostCalls: 401\n", Some((LintSeverity::Note, "by default")));
        check("maxHostCalls: 400\n", None);
        let patch = policy("", "{maxHostCalls: 401}").replace("  rules: []\n", "");
        check(&patch, Some((LintSeverity::Note, "by default")));
        let patch = policy("  timeoutSeconds: 10\n", "{maxHostCalls: 401}").replace("  rules: []\n", "");
        check(&patch, Some((LintSeverity::Warning, "`timeoutSeconds`)")));
    }

    #[test]
    fn a_member_of_a_group_has_its_own_time() {
        let group = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicyGroup\nmetadata: {name: images}\nspec:\n  rules: []\n  timeoutEvalSeconds: 9\n  policies:\n    \
            a: {module: 'registry://a.example.com/image-admission:v1', timeoutEvalSeconds: 4, settings: {maxHostCalls: 200}}\n    \
            b: {module: 'registry://a.example.com/image-admission:v1', settings: {maxHostCalls: 200}}\n";
        let found: Vec<bool> = remarks(group).iter().map(Option::is_some).collect();
        assert_eq!(found, [true, false]);
    }
}
