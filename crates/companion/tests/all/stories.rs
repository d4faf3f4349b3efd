//! What happens to one image or a few, told from the start.

use crate::world::{KINDS, Kind, Mood, World, evidence};
use image_admission_companion::event::Happened;
use image_admission_companion::{
    Companion, CompanionSettings, Observation, Presence, Retry, ScanFailure, Scans, Seconds,
};
use image_admission_image::workload::WorkloadKind;
use image_admission_untrusted::time::Timestamp;

const WEB: &str = "ghcr.io/team/web:1.0";

fn world(kind: Kind) -> World {
    World::new(kind, CompanionSettings::default())
}

#[test]
fn an_image_that_nobody_scanned_is_scanned_and_its_controller_woken() {
    for kind in KINDS {
        let mut world = world(kind);
        world.run("shop", "web", WEB);
        world.pass(15);
        assert!(world.has_report(WEB), "{kind:?}");
        assert_eq!(world.asked.len(), 1, "{kind:?}");
        let made = world.reports[&world.id(WEB)];
        assert!(
            world.woken.iter().any(|(uid, at)| uid == "shop/web" && at.0 - made.0 <= 4),
            "{kind:?}: {:?}",
            world.woken
        );
        assert!(
            matches!(&world.told[..], [(_, Happened::ScanRequested(_)), (_, Happened::ImageScanned)]),
            "{:?}",
            world.told
        );
    }
}

#[test]
fn a_cron_job_goes_when_the_report_has_settled_and_a_scan_job_stays() {
    let mut trivy = world(Kind::TrivyOperator);
    trivy.run("shop", "web", WEB);
    trivy.pass(120);
    assert!(trivy.requests.is_empty());
    let (_, at) = &trivy.withdrawn[0];
    assert!(at.0 - trivy.reports[&trivy.id(WEB)].0 >= 30);
    assert_eq!((trivy.withdrawn.len(), trivy.asked.len()), (1, 1));
    let mut sbomscanner = world(Kind::SbomScanner);
    sbomscanner.run("shop", "web", WEB);
    sbomscanner.pass(120);
    assert_eq!((sbomscanner.withdrawn.len(), sbomscanner.requests.len()), (0, 1));
}

#[test]
fn a_job_goes_when_its_report_has_settled_and_one_that_failed_when_there_is_another() {
    for kind in [Kind::Job, Kind::JobWithEvidence] {
        let mut world = world(kind);
        world.mood = Mood::Fails;
        world.run("shop", "web", WEB);
        world.pass(60);
        assert_eq!((world.asked.len(), world.requests.len(), world.withdrawn.len()), (1, 1, 0), "{kind:?}");
        world.pass(60);
        assert_eq!((world.asked.len(), world.requests.len()), (2, 1), "{kind:?}");
        assert_eq!(world.withdrawn[0].0.attempt, 1);
        world.mood = Mood::Scans(5);
        world.pass(200);
        let made = world.reports[&world.id(WEB)];
        assert!(world.requests.is_empty(), "{kind:?}: {:?}", world.requests);
        assert!(world.withdrawn.last().unwrap().1.0 - made.0 >= 30, "{kind:?}");
        // Nobody waits for it any more.
        world.mood = Mood::Fails;
        world.run("shop", "other", "ghcr.io/team/other:1");
        world.pass(30);
        assert_eq!(world.requests.len(), 1, "{kind:?}");
        world.stop("shop", "other");
        world.pass(60);
        assert!(world.requests.is_empty(), "{kind:?}");
    }
}

#[test]
fn a_report_in_the_cluster_is_seen_as_soon_as_it_was_copied() {
    let mut world = world(Kind::JobWithEvidence);
    world.mood = Mood::Scans(7);
    world.run("shop", "web", WEB);
    world.pass(20);
    let copies = world.log.iter().filter(|line| line.contains("Copy"));
    assert_eq!(copies.count(), 1, "{:?}", world.log);
    let (made, asked) = (world.reports[&world.id(WEB)], world.asked[0].1);
    assert!(
        made.0 - asked.0 <= 8 && world.told.iter().any(|(_, told)| *told == Happened::ImageScanned),
        "{:?}",
        world.log
    );
    // Of another scanner's images, evidence says nothing.
    let mut trivy = self::world(Kind::TrivyOperator);
    trivy.run("shop", "web", WEB);
    trivy.pass(120);
    let look_ups = trivy.look_ups.len();
    trivy.companion.observe(evidence(format!("sha256:{}", "0".repeat(64)), &[]), trivy.now);
    trivy.pass(5);
    assert_eq!(trivy.look_ups.len(), look_ups);
}

#[test]
fn whoever_waits_for_a_signature_tries_again_when_it_is_copied() {
    let digest = || format!("sha256:{}", "0".repeat(64));
    let signed = "ghcr.io/accepted/web:1";
    for has_scanner in [true, false] {
        let mut world = world(Kind::TrivyOperator);
        if !has_scanner {
            world.companion = Companion::new(CompanionSettings::default(), None, world.now);
        }
        // No report decides about it.
        world.run("shop", "web", signed);
        world.run("shop", "api", "ghcr.io/accepted/api:1");
        world.pass(60);
        world.woken.clear();
        world.companion.observe(evidence(digest(), &[signed]), world.now);
        let since = world.now;
        world.pass(60);
        let woken: Vec<(&str, i64)> = world.woken.iter().map(|(uid, at)| (uid.as_str(), at.0 - since.0)).collect();
        assert_eq!(woken, [("shop/web", 1), ("shop/web", 5), ("shop/web", 15)], "{has_scanner}");
        // It is gone, or is another's.
        for images in [&[][..], &["ghcr.io/accepted/db:1"]] {
            world.companion.observe(evidence(digest(), images), world.now);
        }
        world.pass(60);
        assert_eq!(world.woken.len(), 3, "{has_scanner}");
    }
    // One whose other image lacks a report waits on.
    let mut world = world(Kind::TrivyOperator);
    world.mood = Mood::Silent;
    world.run_kind(WorkloadKind::ReplicaSet, "shop", "web", &[signed, WEB]);
    world.pass(60);
    world.companion.observe(evidence(digest(), &[signed]), world.now);
    world.pass(60);
    assert!(world.woken.is_empty(), "{:?}", world.woken);
}

#[test]
fn one_image_of_many_workloads_is_scanned_once() {
    for kind in KINDS {
        let mut world = world(kind);
        for number in 0..50 {
            world.run(&format!("team-{}", number % 7), &format!("web-{number}"), WEB);
        }
        world.pass(120);
        assert_eq!(world.asked.len(), 1, "{kind:?}");
        // Each of them is told, within what a minute allows.
        assert!(world.told.len() <= 120, "{kind:?}: {}", world.told.len());
    }
}

#[test]
fn what_is_reported_already_is_left_alone() {
    for kind in KINDS {
        let mut world = world(kind);
        world.reports.insert(world.id(WEB), world.now);
        world.run("shop", "web", WEB);
        world.pass(7_200);
        assert_eq!((world.asked.len(), world.told.len()), (0, 0), "{kind:?}");
        // Looked at again, but seldom.
        assert!((2..=4).contains(&world.look_ups.len()), "{kind:?}: {}", world.look_ups.len());
    }
}

#[test]
fn a_report_that_goes_is_asked_for_again() {
    for kind in KINDS {
        let mut world = world(kind);
        world.run("shop", "web", WEB);
        world.pass(120);
        world.delete_report(WEB);
        world.pass(if kind == Kind::Job { 4_400 } else { 10 });
        assert_eq!(world.asked.len(), 2, "{kind:?}");
        assert!(world.has_report(WEB));
    }
}

#[test]
fn a_scan_that_fails_is_asked_for_again_later_each_time() {
    for (kind, mood, failure, least) in [
        (Kind::TrivyOperator, Mood::Silent, ScanFailure::Deadline, 1_800),
        (Kind::SbomScanner, Mood::Silent, ScanFailure::Deadline, 1_800),
        (Kind::SbomScanner, Mood::Fails, ScanFailure::Scanner, 3),
        (Kind::SbomScanner, Mood::Skips, ScanFailure::NoReport, 63),
        (Kind::Job, Mood::Silent, ScanFailure::Deadline, 1_800),
        (Kind::Job, Mood::Fails, ScanFailure::Scanner, 3),
        (Kind::JobWithEvidence, Mood::Skips, ScanFailure::NoReport, 183),
    ] {
        let mut world = world(kind);
        world.mood = mood;
        world.run("shop", "web", WEB);
        world.pass(4 * least + 700);
        let failed = world.told.iter().filter(|(_, told)| matches!(told, Happened::ScanFailed(_)));
        assert!(failed.clone().count() >= 3, "{kind:?} {mood:?}");
        assert!(
            failed.clone().all(|(_, told)| *told == Happened::ScanFailed(failure)),
            "{kind:?} {mood:?}: {:?}",
            world.told
        );
        for (asked, wait) in world.asked.windows(2).zip([60, 120, 240]) {
            let waited = asked[1].1.0 - asked[0].1.0 - least;
            assert!((wait..=wait + wait / 5 + 2).contains(&waited), "{kind:?} {mood:?}: {waited} s for {wait} s");
        }
        // And once the scanner works again, it is there.
        world.mood = Mood::Scans(5);
        world.pass(7_200);
        assert!(world.has_report(WEB), "{kind:?} {mood:?}");
        let waiting = world.companion.metrics(world.now);
        assert_eq!(
            (waiting.scans_waiting, waiting.scans_asked, waiting.scans_failed, waiting.images_waiting),
            (0, 0, 0, 0),
            "{kind:?} {mood:?}"
        );
    }
}

#[test]
fn an_api_server_that_refuses_is_asked_again() {
    for refusal in [ScanFailure::Refused, ScanFailure::Invalid, ScanFailure::Outage] {
        let mut world = world(Kind::TrivyOperator);
        world.refusal = Some(refusal);
        world.run("shop", "web", WEB);
        world.pass(10);
        assert!(world.told.iter().any(|(_, told)| matches!(told, Happened::ScanFailed(of) if *of == refusal)));
        world.refusal = None;
        world.pass(90);
        assert!(world.has_report(WEB), "{refusal:?}");
    }
}

#[test]
fn a_request_that_somebody_deletes_is_made_anew() {
    for kind in KINDS {
        let mut world = world(kind);
        world.mood = Mood::Scans(30);
        world.run("shop", "web", WEB);
        world.pass(10);
        let (_, request) = world.requests.pop_first().unwrap();
        world.companion.observe(Observation::RequestGone(request), world.now);
        world.pass(60);
        assert!(world.has_report(WEB), "{kind:?}");
        assert_eq!(world.asked.len(), 2);
    }
}

#[test]
fn a_registry_that_fails_is_asked_less_and_less_and_comes_back() {
    for kind in KINDS {
        let mut world = world(kind);
        world.registry_is_up = false;
        for number in 0..100 {
            world.run("shop", &format!("web-{number}"), &format!("ghcr.io/team/web-{number}:1"));
        }
        world.pass(3_600);
        assert!(world.look_ups.len() < 100, "{kind:?}: {}", world.look_ups.len());
        assert!(world.asked.is_empty());
        assert_eq!(world.companion.metrics(world.now).images_waiting, 100, "{kind:?}");
        world.registry_is_up = true;
        // At the latest after ten minutes it is tried again; then budgets alone count.
        world.pass(720 + 5 * 60);
        assert_eq!(world.reports.len(), 100, "{kind:?}");
    }
}

#[test]
fn a_registry_isnt_asked_before_it_says() {
    for kind in KINDS {
        let mut world = world(kind);
        world.registry_is_up = false;
        let until = Timestamp(world.now.0 + 1_800);
        world.registry_says = Some(until);
        world.run("shop", "web", WEB);
        world.run("shop", "api", "ghcr.io/team/api:1");
        world.pass(60);
        let before = world.look_ups.len();
        assert!((1..=2).contains(&before), "{kind:?}: those that were under way together: {before}");
        world.registry_is_up = true;
        world.pass(1_730);
        assert_eq!((world.look_ups.len(), world.reports.len()), (before, 0), "{kind:?}");
        world.pass(900);
        assert_eq!(world.reports.len(), 2, "{kind:?}");
        assert!(world.look_ups[before..].iter().all(|(_, at)| *at >= until), "{kind:?}: {:?}", world.look_ups);
    }
}

#[test]
fn a_killed_companion_is_followed_by_one_that_asks_for_nothing_twice() {
    for kind in KINDS {
        for seconds in 1..40 {
            let mut world = world(kind);
            world.mood = Mood::Scans(20);
            for number in 0..5 {
                world.run("shop", &format!("web-{number}"), &format!("ghcr.io/team/web-{number}:1"));
            }
            world.pass(seconds);
            world.restart();
            world.pass(120);
            assert_eq!(world.asked.len(), 5, "{kind:?} after {seconds} s");
            assert_eq!(world.reports.len(), 5);
            if kind != Kind::SbomScanner {
                assert!(world.requests.is_empty(), "after {seconds} s");
            }
        }
    }
}

#[test]
fn a_small_namespace_doesnt_wait_for_a_large_one() {
    for kind in KINDS {
        let mut world = world(kind);
        for number in 0..300 {
            world.run("large", &format!("web-{number}"), &format!("ghcr.io/large/web-{number}:1"));
        }
        world.pass(120);
        world.run("small", "web", "ghcr.io/small/web:1");
        world.pass(70);
        assert!(world.has_report("ghcr.io/small/web:1"), "{kind:?}");
        assert!(world.reports.len() < 200, "{kind:?}: {}", world.reports.len());
    }
}

#[test]
fn what_nobody_uses_any_more_is_not_asked_for() {
    let settings =
        CompanionSettings { scans: Scans { at_once: 1, ..Scans::default() }, ..CompanionSettings::default() };
    for kind in KINDS {
        let mut world = World::new(kind, settings.clone());
        world.run("shop", "one", "ghcr.io/team/one:1");
        world.run("shop", "two", "ghcr.io/team/two:1");
        world.pass(3);
        assert_eq!(world.asked.len(), 1);
        let rest = if world.asked[0].0 == world.id("ghcr.io/team/one:1") { "two" } else { "one" };
        world.stop("shop", rest);
        world.pass(600);
        assert_eq!(world.asked.len(), 1, "{kind:?}");
        assert_eq!(world.companion.metrics(world.now).images, 1);
    }
}

#[test]
fn namespaces_that_the_policy_leaves_out_are_left_out() {
    let mut world = world(Kind::TrivyOperator);
    let observation = |is_left_out| Observation::Namespace { name: "kube-system".to_owned(), is_left_out };
    world.companion.observe(observation(true), world.now);
    world.run("kube-system", "proxy", WEB);
    world.pass(60);
    assert_eq!((world.asked.len(), world.companion.metrics(world.now).images), (0, 0));
    world.companion.observe(observation(false), world.now);
    world.pass(60);
    assert!(world.has_report(WEB));
    world.companion.observe(observation(true), world.now);
    assert_eq!(world.companion.metrics(world.now).images, 0);
}

#[test]
fn more_images_than_the_settings_allow_are_counted_and_left() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings { images: 3, ..CompanionSettings::default() });
    for number in 0..10 {
        world.run("shop", &format!("web-{number}"), &format!("ghcr.io/team/web-{number}:1"));
    }
    world.pass(60);
    let counts = world.companion.metrics(world.now);
    assert_eq!((counts.images, counts.left_out, world.asked.len()), (3, 7, 3));
}

#[test]
fn a_controller_with_two_images_is_woken_when_both_are_scanned() {
    let settings = CompanionSettings {
        scans: Scans { at_once: 1, retry: Retry { first: Seconds(1), most: Seconds(1) }, ..Scans::default() },
        ..CompanionSettings::default()
    };
    let mut world = World::new(Kind::TrivyOperator, settings);
    world.mood = Mood::Scans(10);
    world.run_kind(WorkloadKind::StatefulSet, "shop", "web", &["ghcr.io/team/one:1", "ghcr.io/team/two:1"]);
    world.pass(60);
    let last = world.reports.values().max().unwrap();
    assert!(!world.woken.is_empty());
    assert!(world.woken.iter().all(|(_, at)| at >= last), "{:?} {last:?}", world.woken);
    let mut asleep = World::new(Kind::TrivyOperator, CompanionSettings { wake: false, ..CompanionSettings::default() });
    asleep.run("shop", "web", WEB);
    asleep.pass(60);
    assert!(asleep.has_report(WEB) && asleep.woken.is_empty());
}

#[test]
fn a_registry_goes_a_day_after_its_last_image() {
    let mut world = world(Kind::SbomScanner);
    world.run("shop", "web", WEB);
    world.pass(60);
    assert_eq!(world.shared.len(), 1);
    world.pass(2 * 24 * 3_600);
    assert_eq!(world.shared.len(), 1, "its image is in use");
    world.stop("shop", "web");
    world.pass(24 * 3_600 - 60);
    assert_eq!(world.shared.len(), 1, "the image may come back");
    world.pass(120);
    assert!(world.shared.is_empty());
    // One that a new companion finds, and whose image nobody uses, too.
    world.run("shop", "web", WEB);
    world.reports.clear();
    world.pass(60);
    world.stop("shop", "web");
    world.restart();
    world.pass(25 * 3_600);
    assert!(world.shared.is_empty());
}

#[test]
fn what_is_pending_for_too_long_is_asked_for_again() {
    let mut world = world(Kind::SbomScanner);
    world.mood = Mood::Silent;
    world.run("shop", "web", WEB);
    world.pass(60);
    // The scanner knows the image by now. Its ScanJob is withdrawn after half an hour, and nothing else will scan the image.
    world.verdicts.insert(WEB.to_owned(), ('0', Presence::Pending));
    world.pass(1_800 + 200);
    assert!(world.asked.len() >= 2, "{:?}", world.asked);
    world.verdicts.clear();
    world.mood = Mood::Scans(5);
    world.pass(3 * 3_600);
    assert!(world.has_report(WEB));
}

#[test]
fn a_registry_is_deleted_once() {
    let mut world = world(Kind::SbomScanner);
    world.run("shop", "web", WEB);
    world.pass(60);
    world.stop("shop", "web");
    world.pass(25 * 3_600);
    assert_eq!((world.deletions, world.shared.len()), (1, 0));
}

#[test]
fn an_image_that_was_too_many_is_scanned_once_there_is_room() {
    let mut world = World::new(Kind::TrivyOperator, CompanionSettings { images: 1, ..CompanionSettings::default() });
    let (one, two) = ("ghcr.io/team/one:1", "ghcr.io/team/two:1");
    world.run("shop", "one", one);
    world.run("shop", "two", two);
    world.pass(60);
    assert!(world.has_report(one) && !world.has_report(two));
    world.stop("shop", "one");
    world.pass(60);
    assert!(world.has_report(two));
    assert_eq!(world.companion.metrics(world.now).left_out, 1);
}

#[test]
fn a_digest_that_the_tag_had_holds_up_no_other() {
    let mut world = world(Kind::SbomScanner);
    // Somebody names an old digest with the tag, which the scanner can't find there any more.
    let old = format!("{WEB}@sha256:{}", "a".repeat(64));
    world.verdicts.insert(old.clone(), ('a', Presence::Missing));
    world.mood = Mood::Skips;
    world.run("other", "old", &old);
    world.pass(8 * 3_600);
    world.mood = Mood::Scans(5);
    world.reports.clear();
    world.run("shop", "web", WEB);
    let began = world.now;
    world.pass(120);
    assert!(world.reports.get(&world.id(WEB)).is_some_and(|made| made.0 - began.0 < 60), "{:?}", world.asked);
}

#[test]
fn a_registry_that_wasnt_asked_says_nothing_of_whether_it_answers() {
    let mut world = world(Kind::TrivyOperator);
    world.registry_is_up = false;
    for number in 0..20 {
        world.run("shop", &format!("web-{number}"), &format!("ghcr.io/team/web-{number}:1"));
    }
    // A workload that comes and goes, whose image pre-scan accepts.
    for second in 0..3_600 {
        if second % 10 == 0 {
            world.run("other", "accepted", "ghcr.io/accepted:1");
        } else if second % 10 == 5 {
            world.stop("other", "accepted");
        }
        world.pass(1);
    }
    let failed = world.look_ups.iter().filter(|(image, _)| image.contains("web-")).count();
    assert!(failed < 100, "{failed}");
}
