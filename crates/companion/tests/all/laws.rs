//! What holds whatever happens.

use crate::world::{KINDS, Kind, Mood, World};
use image_admission_companion::{CompanionSettings, ScanFailure, Scans};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Happens {
    Run(u8, u8, u8),
    Stop(u8, u8),
    ReportGoes(u8),
    Mood(Mood),
    Refuse(Option<ScanFailure>),
    Registry(bool),
    Restart,
    Pass(u16),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (0..4_u8, 0..6_u8, 0..12_u8).prop_map(|(namespace, name, image)| Happens::Run(namespace, name, image)),
        1 => (0..4_u8, 0..6_u8).prop_map(|(namespace, name)| Happens::Stop(namespace, name)),
        1 => (0..12_u8).prop_map(Happens::ReportGoes),
        1 => select(vec![Mood::Scans(1), Mood::Scans(40), Mood::Fails, Mood::Skips, Mood::Silent]).prop_map(Happens::Mood),
        1 => select(vec![None, Some(ScanFailure::Outage), Some(ScanFailure::Refused)]).prop_map(Happens::Refuse),
        1 => any::<bool>().prop_map(Happens::Registry),
        1 => Just(Happens::Restart),
        4 => (1..200_u16).prop_map(Happens::Pass),
    ]
}

fn image(number: u8) -> String {
    format!("ghcr.io/team/web-{number}:1")
}

fn play(kind: Kind, settings: &CompanionSettings, all: &[Happens]) -> World {
    let mut world = World::new(kind, settings.clone());
    for happens in all {
        match happens {
            Happens::Run(namespace, name, number) => {
                world.run(&format!("n{namespace}"), &format!("w{name}"), &image(*number));
            }
            Happens::Stop(namespace, name) => world.stop(&format!("n{namespace}"), &format!("w{name}")),
            Happens::ReportGoes(number) => world.delete_report(&image(*number)),
            Happens::Mood(mood) => world.mood = *mood,
            Happens::Refuse(refusal) => world.refusal = *refusal,
            Happens::Registry(is_up) => world.registry_is_up = *is_up,
            Happens::Restart => world.restart(),
            Happens::Pass(seconds) => {
                for _ in 0..*seconds {
                    world.pass(1);
                    // One that takes over doesn't know what its predecessor gave up, and may not withdraw at once.
                    if !all.iter().any(|happens| matches!(happens, Happens::Restart)) {
                        assert!(world.under_way() <= settings.scans.at_once, "{} under way", world.under_way());
                    }
                    let ids: Vec<_> = world.requests.values().filter(|of| of.end.is_none()).map(|of| &of.id).collect();
                    let different: BTreeSet<_> = ids.iter().collect();
                    assert_eq!(ids.len(), different.len(), "two requests for one image");
                }
            }
        }
    }
    world
}

/// A request of trivy-operator's stays for a while after its report is there. A report that goes meanwhile begins no scan.
#[test]
fn a_report_that_goes_is_no_scan_under_way() {
    let scans = Scans { at_once: 1, per_minute: 2, ..Scans::default() };
    let settings = CompanionSettings { scans, ..CompanionSettings::default() };
    let all =
        [Happens::Run(0, 0, 5), Happens::Run(0, 1, 0), Happens::Pass(7), Happens::ReportGoes(5), Happens::Pass(1)];
    play(Kind::TrivyOperator, &settings, &all);
}

proptest! {
    #[test]
    fn budgets_hold_and_what_can_be_scanned_is(
        kind in select(KINDS.to_vec()),
        at_once in 1..4_usize,
        per_minute in 1..6_usize,
        all in prop::collection::vec(happens(), 0..40),
    ) {
        let settings = CompanionSettings {
            scans: Scans { at_once, per_minute, ..Scans::default() },
            ..CompanionSettings::default()
        };
        let mut world = play(kind, &settings, &all);
        let restarts = all.iter().filter(|happens| matches!(happens, Happens::Restart)).count();
        for (number, (_, at)) in world.asked.iter().enumerate() {
            let within = world.asked.iter().skip(number).take_while(|(_, other)| other.0 < at.0 + 60).count();
            // A new one doesn't know what the one before spent.
            prop_assert!(within <= per_minute * (restarts + 1), "{within} within a minute");
        }
        prop_assert_eq!(&world.log, &play(kind, &settings, &all).log);
        // In the end everything works again.
        (world.mood, world.refusal, world.registry_is_up) = (Mood::Scans(5), None, true);
        world.pass(6 * 3_600);
        let images: BTreeSet<String> = world.workloads.values().flat_map(|workload| workload.images.clone()).collect();
        for image in images {
            prop_assert!(world.has_report(&image), "{} has no report", image);
        }
        if kind != Kind::SbomScanner {
            prop_assert!(world.requests.is_empty(), "{:?} stay", world.requests);
        }
        let counts = world.companion.metrics(world.now);
        prop_assert_eq!((counts.images_waiting, counts.scans_waiting, counts.scans_asked, counts.scans_failed), (0, 0, 0, 0));
    }
}
