//! The time goes on, and admits nothing.

use crate::world::World;
use crate::{Broken, admits_no_more, law};
use image_admission_untrusted::time::Timestamp;

/// What was rejected stays so while nothing but the time changes. Where several sources have a report, or an image without a fresh one
/// is admitted, a bad report that grows too old no longer counts.
#[test]
fn what_was_rejected_stays_so() {
    law("later", |world, asked| {
        // What has ended looks up less.
        let world = world.forgiving_nothing().with(|world| world.switch_off("maxHostCalls"));
        if world.sources().len() > 1 {
            return Ok(());
        }
        let before = asked.decide(&world);
        for hours in [1, 30, 8 * 24, 40 * 24, 400 * 24] {
            admits_no_more(&before, || world.with(|other| other.later = hours * 3_600), "the time", asked)?;
        }
        Ok(())
    });
}

/// An exemption ends to the second: in the last one it holds, in the next one all is as if it weren't there.
#[test]
fn an_exemption_ends_to_the_second() {
    law("the end of exemptions", |world, asked| {
        // What else changes until then.
        let world = world.with(|world| {
            for path in [
                "reports.maxAge",
                "evidence.maxAge",
                "acceptance.fixGracePeriod",
                "acceptance.unfixedGracePeriod",
                "acceptance.running",
                "acceptance.knownExploited",
            ] {
                world.switch_off(path);
            }
        });
        let before = asked.decide(&world);
        let ends = before.audit(&[".exemptions"]).into_iter().flat_map(|(_, said)| said.split("; "));
        // `CVE-2026-1 until 2026-11-30: …`
        let Some(end) = ends.filter_map(|said| said.split_once(" until ")?.1.get(..10)).min() else { return Ok(()) };
        let last = Timestamp::end_of_day(end).unwrap().0;
        let at = |second: i64| world.with(|other| other.later = second - world.now.0);
        let (then, next) = (asked.decide(&at(last)), asked.decide(&at(last + 1)));
        if before.is_admitted() != then.is_admitted() || before.audit(&[".exemptions"]) != then.audit(&[".exemptions"])
        {
            return Err(Broken { why: format!("{end} has not ended yet"), by: Some(Box::new(at(last))) });
        }
        let is_said = next.audit(&[".exemptions"]).iter().any(|(_, said)| said.contains(&format!(" until {end}")));
        let without = asked.decide(&without(&at(last + 1), end));
        if is_said || next.is_admitted() != without.is_admitted() {
            return Err(Broken { why: format!("{end} has ended"), by: Some(Box::new(at(last + 1))) });
        }
        Ok(())
    });
}

/// A world without the exemptions that end on a day.
fn without(world: &World, end: &str) -> World {
    world.with(|other| {
        other.exemptions.retain(|object| object["spec"]["expires"] != end);
        for switch in other.switches.iter_mut().filter(|switch| switch.path == "exemptions") {
            switch.value.as_array_mut().unwrap().retain(|exemption| exemption["expires"] != end);
        }
    })
}
