//! Applies exemptions: which of them are about a finding, and whether they still hold.

mod objects;

use image_admission_image::ImageReference;
use image_admission_scan_report::finding::Finding;
use image_admission_settings::Exemption;
use image_admission_untrusted::time::Timestamp;
use std::cmp::Reverse;

pub use objects::ExemptionObjects;

/// What the exemptions say about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exempt<'a> {
    /// None speaks of it.
    No,
    /// This one does, and holds.
    Yes(&'a Exemption),
    /// None holds; this one did until its last day.
    Ended(&'a Exemption),
    /// None holds; this one did until the finding could be fixed.
    Fixed(&'a Exemption),
    /// None holds; this one is in an object that may not exempt it.
    Void(&'a Exemption),
}

/// The exemptions that may be about findings in an image of a namespace's workload, in the settings' order.
pub(crate) fn of_image<'a>(
    exemptions: &'a [Exemption],
    reference: &ImageReference,
    namespace: &str,
) -> Vec<&'a Exemption> {
    let named = |exemption: &Exemption| {
        // As for rules that accept: beside a digest, the tag is only the Pod author's claim.
        let mut names = reference.compared_names(false).into_iter();
        exemption.images.is_empty()
            || names.any(|name| exemption.images.iter().any(|prefix| prefix.matches_canonical(&name)))
    };
    exemptions.iter().filter(|exemption| exemption.is_about(namespace)).filter(|e| named(e)).collect()
}

/// What they say about a finding. One that holds comes before one that doesn't; then the one that ends last counts, since from its end
/// on the finding does.
pub(crate) fn of_finding<'a>(exemptions: &[&'a Exemption], finding: &Finding<'_>, now: Timestamp) -> Exempt<'a> {
    let about = exemptions.iter().copied().filter(|exemption| speaks_of(exemption, finding));
    let said = about.map(|exemption| (exemption, says(exemption, finding, now)));
    let weight = |exemption: &'a Exemption, said: &Exempt<'_>| {
        (matches!(said, Exempt::Yes(_)), exemption.expires, Reverse(&exemption.reason))
    };
    said.max_by_key(|(exemption, said)| weight(exemption, said)).map_or(Exempt::No, |(_, said)| said)
}

/// What one says about a finding that it speaks of.
fn says<'a>(exemption: &'a Exemption, finding: &Finding<'_>, now: Timestamp) -> Exempt<'a> {
    if is_void(exemption, finding) {
        Exempt::Void(exemption)
    } else if exemption.expires < now {
        Exempt::Ended(exemption)
    } else if exemption.expire_on_fix && finding.fixed_in.is_some() {
        Exempt::Fixed(exemption)
    } else {
        Exempt::Yes(exemption)
    }
}

/// Whether its object holds for nothing, or may not exempt findings as bad as this.
fn is_void(exemption: &Exemption, finding: &Finding<'_>) -> bool {
    exemption.object.as_ref().is_some_and(|object| {
        object.void.is_some() || !(object.severities.is_empty() || object.severities.contains(&finding.severity))
    })
}

fn speaks_of(exemption: &Exemption, finding: &Finding<'_>) -> bool {
    let mut ids = finding.ids();
    // An exemption for a package doesn't match a finding without a package.
    let of_package = exemption.packages.is_empty()
        || finding
            .purl
            .as_ref()
            .is_some_and(|purl| exemption.packages.iter().any(|p| purl.as_str().starts_with(p.as_str())));
    of_package && ids.any(|id| exemption.vulnerabilities.iter().any(|pattern| pattern.matches(id)))
}
