//! The order of what has none makes no difference to one byte.

use crate::world::{Finding, World};
use crate::{Broken, law};
use serde_json::Value;

/// Lists of the settings whose order means nothing. The asterisk stands for each entry.
const SETS: [&str; 15] = [
    "reports.platforms",
    "acceptance.denyAlways",
    "acceptance.allowAlways",
    "acceptance.packages.deny",
    "acceptance.licenses.deny",
    "acceptance.licenses.allow",
    "acceptance.licenses.except",
    "exemptions",
    "exemptions.*.images",
    "exemptions.*.namespaces",
    "exemptions.*.packages",
    "exemptionsFrom.severities",
    "imageVerification.*.matchConstraints.imageRules.references",
    "pin.kinds",
    "pin.exclude",
];
/// The same of lists that messages repeat as they are written: only the verdicts are alike.
const QUOTED: [&str; 4] = [
    "registries",
    "reports.sboms.*.sbomscanner.namespaces",
    "reports.vex.*.attestors",
    "imageVerification.*.attestors",
];

/// Reverses the list at a path.
fn reverse(value: &mut Value, path: &[&str]) {
    match (path, value) {
        ([], Value::Array(list)) => list.reverse(),
        (["*", below @ ..], Value::Array(list)) => list.iter_mut().for_each(|own| reverse(own, below)),
        ([key, below @ ..], Value::Object(map)) => map.get_mut(*key).into_iter().for_each(|own| reverse(own, below)),
        _ => {}
    }
}

/// The world with these lists of its settings reversed.
fn reversed(world: &World, paths: &[&str]) -> World {
    let mut settings = world.settings();
    for path in paths {
        reverse(&mut settings, &path.split('.').collect::<Vec<_>>());
    }
    world.with(|other| other.set(&settings))
}

fn alike(is_alike: bool, other: World, what: &str) -> Result<(), Broken> {
    let broken = || Broken { why: format!("the order of {what} makes a difference"), by: Some(Box::new(other)) };
    if is_alike { Ok(()) } else { Err(broken()) }
}

/// The same vulnerability elsewhere, and with a fix.
fn doubles(finding: &Finding) -> [Finding; 2] {
    let elsewhere = Finding { package: "zlib", ..finding.clone() };
    [Finding { fixed_in: Some("4"), ..elsewhere.clone() }, elsewhere]
}

#[test]
fn what_the_cluster_and_reports_list_has_no_order() {
    law("order of objects and findings", |world, asked| {
        // Findings that differ in a little alone.
        let world = world.with(|world| {
            for content in &mut world.contents {
                let doubles: Vec<_> = content.findings.iter().flat_map(doubles).collect();
                content.findings.extend(doubles);
            }
        });
        let other = world.with(|other| other.is_reversed = true);
        alike(asked.decide(&world) == asked.decide(&other), other, "the cluster's objects, or of findings")
    });
}

#[test]
fn lists_of_the_settings_that_mean_sets_have_no_order() {
    law("order of settings", |world, asked| {
        let before = asked.decide(world);
        let other = reversed(world, &SETS);
        alike(before == asked.decide(&other), other, "a list of the settings")?;
        // What is looked up first takes its calls first.
        let world = world.with(|world| world.switch_off("maxHostCalls"));
        let (before, other) = (asked.decide(&world), reversed(&world, &QUOTED));
        let after = asked.decide(&other);
        let said = [".digest", ".status", ".state", ".reports", ".exemptions"];
        let is_alike = before.is_admitted() == after.is_admitted() && before.audit(&said) == after.audit(&said);
        alike(is_alike, other, "a list that messages quote")
    });
}
