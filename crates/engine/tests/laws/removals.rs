//! What is taken away, of what speaks for an image, admits nothing; nor does what more is found in it. In these worlds nothing is
//! forgiven: an owner who admits images without a report wants them in once the report is gone.

use crate::world::{Finding, IMAGES, Progress, Role, Thing, World};
use crate::{admits_no_more, law};
use serde_json::{Value, json};

/// A world where nothing is forgiven. With a limit of calls to the host, what is taken away saves calls.
fn strict(world: &World) -> World {
    world.forgiving_nothing().with(|world| world.switch_off("maxHostCalls"))
}

fn of_role(world: &World, roles: &[Role]) -> Vec<Thing> {
    let mut things = world.things();
    things.retain(|thing| roles.contains(&thing.role));
    things
}

/// Of several reports the worst decides, and a report that is gone lets the next source decide: so all reports of an image are taken,
/// or the one that there is.
#[test]
fn a_report_less_admits_nothing() {
    law("a report less", |world, asked| {
        let world = strict(world);
        let reports = of_role(&world, &[Role::Report, Role::Evidence]);
        let mut taken: Vec<Vec<Thing>> = Vec::new();
        for image in 0..IMAGES.len() {
            taken.push(reports.iter().filter(|thing| thing.image == Some(image)).cloned().collect());
        }
        if world.sources().len() == 1 {
            taken.extend(reports.iter().map(|thing| vec![thing.clone()]));
        }
        let before = asked.decide(&world);
        for things in taken.into_iter().filter(|things| !things.is_empty()) {
            admits_no_more(&before, || world.with(|other| other.without = things), "a report less", asked)?;
        }
        Ok(())
    });
}

/// Signatures, evidence, SBOMs, exemptions and VEX documents. Evidence may be a report: then it is the law above.
#[test]
fn a_good_word_less_admits_nothing() {
    law("a good word less", |world, asked| {
        let world = strict(world);
        let mut roles = vec![Role::Signature, Role::Sbom, Role::Exemption, Role::Vex];
        if !world.sources().contains(&"attestation".to_owned()) {
            roles.push(Role::Evidence);
        }
        let before = asked.decide(&world);
        for thing in of_role(&world, &roles) {
            let what = format!("{:?} less", thing.role);
            admits_no_more(&before, || world.with(|other| other.without = vec![thing]), &what, asked)?;
        }
        let Some(Value::Array(exemptions)) = world.setting("exemptions") else { return Ok(()) };
        for position in 0..exemptions.len() {
            let mut fewer = exemptions.clone();
            fewer.remove(position);
            let other = || world.with(|other| other.switch("exemptions", json!(fewer)));
            admits_no_more(&before, other, "an exemption less", asked)?;
        }
        Ok(())
    });
}

#[test]
fn a_finding_more_admits_nothing() {
    law("a finding more", |world, asked| {
        let world = strict(world);
        let found = |severity, id, known_for, fixed_in| Finding {
            id,
            severity,
            package: "zlib",
            fixed_in,
            score: 99,
            known_for,
            is_exploited: false,
            epss: Some(1),
            is_suppressed: false,
        };
        let findings = [
            found("critical", "CVE-2026-8", 20, None),
            found("high", "CVE-2026-1", 3_000, Some("2")),
            found("low", "CVE-2026-2", 20, Some("2")),
            Finding { is_suppressed: true, ..found("medium", "CVE-2026-3", 400, None) },
        ];
        let before = asked.decide(&world);
        let used = world.workload.containers.iter().map(|container| container.image);
        for image in used.filter(|image| world.contents[*image].progress == Progress::Done) {
            for finding in &findings {
                let other = || world.with(|other| other.contents[image].findings.insert(0, finding.clone()));
                admits_no_more(&before, other, "a finding more", asked)?;
            }
        }
        Ok(())
    });
}
