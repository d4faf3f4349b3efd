//! What a tenant, an outage or a restart can't bring about.

use crate::world::{Kind, Mood, World};
use image_admission_companion::CompanionSettings;

/// One tenant's images that the scanner never ends take every place at once, for as long as `scans.deadline`.
#[test]
fn a_namespace_whose_scans_never_end_leaves_places_for_others() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings::default());
    for number in 0..200 {
        let image = format!("ghcr.io/large/web-{number}:1");
        world.endless.insert(world.id(&image));
        world.run("large", &format!("web-{number}"), &image);
    }
    world.pass(120);
    let began = world.now;
    for number in 0..20 {
        world.run("small", &format!("web-{number}"), &format!("ghcr.io/small/web-{number}:1"));
    }
    world.pass(3 * 3_600);
    let mut waits: Vec<i64> = world.reports.values().map(|made| made.0 - began.0).collect();
    waits.sort_unstable();
    assert!(waits.len() == 20 && waits.iter().all(|wait| *wait < 300), "{} of 20: {waits:?}", waits.len());
}

/// One tenant's images that wait are looked up each minute, before those of others.
#[test]
fn a_namespace_with_many_images_lets_others_be_looked_up() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings::default());
    world.mood = Mood::Silent;
    for number in 0..600 {
        world.run("large", &format!("web-{number}"), &format!("ghcr.io/large/web-{number}:1"));
    }
    world.pass(600);
    let began = world.now;
    world.run("small", "web", "ghcr.io/small/web:1");
    world.run_kind(image_admission_image::workload::WorkloadKind::CronJob, "small", "job", &["ghcr.io/small/job:1"]);
    let uid = "small/job".to_owned();
    let mut workload = world.workloads[&uid].clone();
    workload.lacks_pods = false;
    world
        .companion
        .observe(image_admission_companion::Observation::Workload { uid, workload: Some(workload) }, world.now);
    world.pass(600);
    let waited =
        |name: &str| world.look_ups.iter().find(|(image, _)| image.contains(name)).map(|(_, at)| at.0 - began.0);
    let (web, job) = (waited("small/web"), waited("small/job"));
    assert!(web.is_some_and(|wait| wait < 60) && job.is_some_and(|wait| wait < 120), "{web:?} {job:?}");
}

/// After a restart, a Registry whose image can't be looked up for a day goes with its reports, though the image is in use.
#[test]
fn a_registry_stays_whose_image_cant_be_looked_up() {
    let mut world = World::new(Kind::SbomScanner, CompanionSettings::default());
    world.run("shop", "web", "ghcr.io/team/web:1");
    world.pass(60);
    world.registry_is_up = false;
    world.restart();
    world.pass(25 * 3_600);
    assert_eq!(world.shared.len(), 1, "the reports are gone");
}

/// After a restart, a Registry whose image is one too many goes with its reports, though the image is in use.
#[test]
fn a_registry_stays_whose_image_is_one_too_many() {
    let mut world = World::new(Kind::SbomScanner, CompanionSettings::default());
    world.run("shop", "one", "ghcr.io/team/one:1");
    world.run("shop", "two", "ghcr.io/team/two:1");
    world.pass(60);
    world.settings.images = 1;
    world.restart();
    world.pass(25 * 3_600);
    assert_eq!(world.shared.len(), 2, "the reports are gone");
}

/// An image that no registry has, or more images than are looked after, keep what they may use, and nothing else.
#[test]
fn a_stranger_keeps_no_registry_of_another_image() {
    for is_too_many in [false, true] {
        let mut world = World::new(Kind::SbomScanner, CompanionSettings { images: 10, ..CompanionSettings::default() });
        if is_too_many {
            for number in 0..20 {
                world.run("evil", &format!("web-{number}"), &format!("ghcr.io/evil/web-{number}:1"));
            }
        } else {
            world.missing.insert("ghcr.io/evil/nothing:1".to_owned());
            world.run("evil", "web", "ghcr.io/evil/nothing:1");
        }
        world.run("shop", "web", "ghcr.io/team/web:1");
        world.pass(120);
        assert!(world.has_report("ghcr.io/team/web:1"), "{is_too_many}");
        let before = world.shared.len();
        world.stop("shop", "web");
        world.pass(25 * 3_600);
        assert_eq!(world.shared.len(), before - 1, "{is_too_many}");
    }
}

/// Each of a few namespaces takes most of what the others leave, and not all of it.
#[test]
fn two_namespaces_leave_room_for_a_third() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings { images: 100, ..CompanionSettings::default() });
    for namespace in ["evil-1", "evil-2"] {
        for number in 0..200 {
            world.run(namespace, &format!("web-{number}"), &format!("ghcr.io/{namespace}/web-{number}:1"));
        }
    }
    world.run("shop", "web", "ghcr.io/team/web:1");
    world.pass(3_600);
    assert!(world.has_report("ghcr.io/team/web:1"));
    assert!(world.companion.metrics(world.now).images <= 100);
}

/// The number of an attempt is in the names of objects, which others may write. Whatever they say, an image is scanned.
#[test]
fn an_attempt_of_any_number_stops_no_scan() {
    for kind in crate::world::KINDS {
        let mut world = World::new(kind, CompanionSettings::default());
        let id = world.id("ghcr.io/team/web:1");
        world.companion.observe(image_admission_companion::Observation::Report(id, u32::MAX), world.now);
        world.run("shop", "web", "ghcr.io/team/web:1");
        world.pass(60);
        assert!(world.has_report("ghcr.io/team/web:1"), "{kind:?}");
    }
}

/// A minute has so many Events. One tenant's images that fail all the time leave some of them to others.
#[test]
fn a_namespace_with_many_failures_lets_others_be_told() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings::default());
    for number in 0..1_000 {
        world.run("evil", &format!("web-{number}"), "ghcr.io/evil/web:1");
        world.run("evil", &format!("api-{number}"), &format!("ghcr.io/evil/api-{}:1", number % 100));
    }
    world.pass(30);
    world.run("shop", "web", "ghcr.io/team/web:1");
    world.pass(40);
    assert!(world.has_report("ghcr.io/team/web:1"));
    assert!(world.told.iter().any(|(uid, _)| uid == "shop/web"), "{}", world.told.len());
}

/// One tenant's part of a registry may fail at will, such as a proxy of another registry. It is the same registry for all.
#[test]
fn a_part_of_a_registry_that_fails_doesnt_stop_the_rest() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings::default());
    for number in 0..500 {
        world.run("evil", &format!("web-{number}"), &format!("ghcr.io/broken/web-{number}:1"));
    }
    world.pass(900);
    let began = world.now;
    for number in 0..10 {
        world.run("shop", &format!("web-{number}"), &format!("ghcr.io/team/web-{number}:1"));
    }
    world.pass(1_800);
    let mut waits: Vec<i64> = world.reports.values().map(|made| made.0 - began.0).collect();
    waits.sort_unstable();
    assert!(waits.len() == 10 && waits.iter().all(|wait| *wait < 900), "{} of 10: {waits:?}", waits.len());
}
