//! Exemptions of more than they seem to be about, of less, and those that are over.

use super::{EVERY_NAMESPACE, Lint, LintFix, LintRule, Lints};
use crate::{Exemption, ImageMatching, Pattern, Prefix, Settings, UNSAID_REASON};
use image_admission_untrusted::time::Timestamp;

/// How many exemptions are compared, each with each.
const MAX_COMPARED: usize = 2_000;

impl Lints {
    pub(super) fn unsaid_reasons(&mut self, settings: &Settings) {
        for (position, exemption) in settings.exemptions.iter().enumerate() {
            if exemption.reason == UNSAID_REASON {
                self.add(
                    LintRule::ReasonUnsaid,
                    format!("exemptions[{position}].reason"),
                    "nobody said it yet: write why the findings don't count, and where that is tracked",
                );
            }
        }
    }

    pub(super) fn open_packages(&mut self, settings: &Settings) {
        for (position, exemption) in settings.exemptions.iter().enumerate() {
            // A purl's name ends with a slash, with its version or with its qualifiers.
            for package in exemption.packages.iter().filter(|package| !package.ends_with(['/', '@', '?', '#'])) {
                self.add(
                    LintRule::OpenPackage,
                    format!("exemptions[{position}].packages"),
                    format!("`{package}` matches whatever goes on from there; end it with `@` for one package"),
                );
            }
        }
    }

    pub(super) fn ended_exemptions(&mut self, settings: &Settings, now: Timestamp) {
        for (position, exemption) in settings.exemptions.iter().enumerate() {
            if exemption.expires < now {
                let message = format!(
                    "it ended with {}; remove it, or give it a later day in `expires`",
                    exemption.expires.day()
                );
                let path = format!("exemptions[{position}]");
                self.0.push(Lint::new(LintRule::ExemptionEnded, path, message).fixed_by(Some(LintFix::Remove)));
            }
        }
    }

    /// Exemptions of a namespace without a longest duration: their authors never need to renew them.
    pub(super) fn endless_exemptions(&mut self, settings: &Settings) {
        let Some(from) = settings.exemptions_from.as_deref() else { return };
        if from.workload_namespace && from.max_duration.is_none() {
            let message = "not set, so an ImageExemption may last for ever; limit it, like `30d`";
            self.add(LintRule::EndlessExemptions, "exemptionsFrom.maxDuration", message);
        }
    }

    /// Exemptions of more images or vulnerabilities than they seem to be about, or of fewer.
    pub(super) fn exempted_images(&mut self, settings: &Settings) {
        for (position, Exemption { vulnerabilities, images, namespaces, packages, expire_on_fix, .. }) in
            settings.exemptions.iter().enumerate()
        {
            let path = format!("exemptions[{position}]");
            if namespaces.iter().any(|pattern| pattern.as_str() == EVERY_NAMESPACE) {
                let message = "`*` matches every namespace, as an exemption does without `namespaces`; remove them";
                self.add(LintRule::Redundant, format!("{path}.namespaces"), message);
            }
            if images.is_empty() && packages.is_empty() {
                let message = "without `images` it holds whatever the image; name those that it is about";
                self.add(LintRule::EveryImage, &path, message);
            }
            // Of a year, or of one advisory, it is about what somebody has looked at.
            let is_any = |pattern: &&Pattern| {
                let matches = |ids: &[&str]| ids.iter().any(|id| pattern.matches(id));
                matches(&["CVE-2019-1001", "CVE-2019-10001"]) && matches(&["CVE-2031-4711", "CVE-2031-47111"])
                    || matches(&["GHSA-2c4m-59x9-fr2g"]) && matches(&["GHSA-xv8q-7r3h-wj6p"])
            };
            // What can't be fixed is known as a whole.
            let is_bounded = !packages.is_empty() || *expire_on_fix;
            if let Some(pattern) = vulnerabilities.iter().find(is_any).filter(|_| !is_bounded) {
                let message = format!(
                    "`{}` exempts whatever is found, also later; name the ids, or the `packages` that don't matter",
                    pattern.as_str()
                );
                self.add(LintRule::EveryVulnerability, &path, message);
            }
            for prefix in images {
                let Some(repository) = prefix.repository_of_tag() else { continue };
                let by_digest = [repository, "@"].concat();
                let pinned = Prefix::new(&by_digest);
                if images.iter().any(|other| {
                    other.goes_on_from(&pinned, ImageMatching::Canonical)
                        || pinned.goes_on_from(other, ImageMatching::Canonical)
                }) {
                    continue;
                }
                let name = prefix.as_str();
                let both = if prefix.names_every_tag() {
                    format!("for them add `{by_digest}`")
                } else {
                    format!(
                        "for them add the digest, or write `{repository}:` and `{by_digest}` for the whole repository"
                    )
                };
                let message = format!(
                    "the prefix `{name}` holds for no image that is named by its digest, as pinned ones are; {both}"
                );
                self.add(LintRule::TagOnly, format!("{path}.images"), message);
            }
        }
    }

    /// Exemptions that another one covers for at least as long.
    pub(super) fn covered_exemptions(&mut self, settings: &Settings, now: Timestamp) {
        let all = || settings.exemptions.iter().enumerate().take(MAX_COMPARED);
        for (position, exemption) in all().filter(|(_, exemption)| exemption.expires >= now) {
            let covers = |(other, covering): &(usize, &Exemption)| {
                // Of two equal ones, the first stays.
                *other != position && covering.covers(exemption) && (*other < position || !exemption.covers(covering))
            };
            let Some((other, covering)) = all().find(covers) else { continue };
            let day = covering.expires.day();
            let is_same = Exemption { expires: covering.expires, ..exemption.clone() }.covers(covering);
            let message = if is_same {
                format!(
                    "exemptions[{other}] exempts the same, until {day}: remove this one, and say in that one's reason what only \
                     this one's says"
                )
            } else {
                format!(
                    "exemptions[{other}] exempts all of it and more, until {day}: remove this one, or make that one narrower"
                )
            };
            self.add(LintRule::Redundant, format!("exemptions[{position}]"), message);
        }
    }
}
