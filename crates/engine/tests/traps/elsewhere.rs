//! What is known of images stands in another repository: whoever names an image or pushes one has no say in what counts there.

use super::world::{World, digest};
use super::{IMAGE, KEY, trap};
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};

/// Where the settings say that reports stand.
const ELSEWHERE: &str = "reports.example.com/of/team/app";

fn settings(repository: &str) -> Value {
    let attestors = json!([{"name": "ci", "cosign": {"key": {"data": KEY}}}]);
    json!({"reports": {"sources": [{"registry": {"repository": repository, "attestors": attestors}}]}})
}

fn for_each_repository() -> Value {
    settings("reports.example.com/of/{repository}")
}

fn pass() -> Value {
    json!({"status": "pass", "detail": {}})
}

/// A signed report of the image with a digest of the letter `a`, at that tag of a repository.
fn reported(repository: &str, subject: char) -> World {
    let tag = format!("{repository}:sha256-{}.scan", "a".repeat(64));
    let at = format!("{repository}@{}", digest('d'));
    World::default().image(IMAGE, 'a').artifact(&tag, 'd', Some(subject), pass()).signed(&at, KEY)
}

#[test]
fn a_report_in_the_repository_of_the_settings_counts_and_one_beside_the_image_does_not() {
    assert!(reported(ELSEWHERE, 'a').decide(IMAGE, &for_each_repository()).allowed);
    let beside = reported("reg.io/team/app", 'a').decide(IMAGE, &for_each_repository());
    assert_eq!((beside.allowed, beside.state.as_str()), (false, "not_scanned"), "{}", beside.response);
    let message = beside.response["message"].as_str().unwrap();
    assert!(message.contains("in reports.example.com/of/{repository}, at its tag sha256-….scan"), "{message}");
}

/// The image's own registry is asked for its digest and its manifest, and for nothing that is known of it.
#[test]
fn the_images_registry_is_asked_for_nothing_more() {
    let world = reported(ELSEWHERE, 'a');
    assert!(world.decide(IMAGE, &for_each_repository()).allowed);
    let calls: Vec<String> = world.host.calls().iter().map(ToString::to_string).collect();
    let at_images = calls.iter().filter(|call| call.contains("reg.io/team/app")).count();
    assert_eq!((at_images, calls.len()), (2, 5), "{calls:?}");
}

/// A repository for all images holds what is signed of each of them.
#[test]
fn a_signed_report_of_another_image_in_the_same_repository() {
    let shared = "reports.example.com/all";
    assert!(reported(shared, 'a').decide(IMAGE, &settings(shared)).allowed);
    let copied = reported(shared, 'b');
    trap(Remedy::MatchSubject, &copied, IMAGE, &settings(shared), "denied other_image", "allowed fresh");
}

#[test]
fn an_image_whose_name_makes_no_repository_has_no_report() {
    let image = ["reg.io/", &"a".repeat(253), ":1.0"].concat();
    let world = World::default().image(&image, 'a');
    let answer = world.decide(&image, &settings("reports.example.com/of/{repository}"));
    assert_eq!((answer.allowed, answer.state.as_str()), (false, "look_up_failed"), "{}", answer.response);
    let forgiving = json!({"scanPolicies": {"scanFailed": "accept-outages"}, "registries": ["reg.io"],
                           "reports": for_each_repository()["reports"]});
    assert!(!world.decide(&image, &forgiving).allowed, "whoever names an image chooses how long its name is");
}

/// The settings name this registry: its outage is nobody's choice, whatever registry the image is of.
#[test]
fn an_outage_of_the_repository_of_the_settings_may_be_forgiven() {
    let settings =
        |fails: &str| json!({"scanPolicies": {"scanFailed": fails}, "reports": for_each_repository()["reports"]});
    let down = World::default().image(IMAGE, 'a').and(|host| host.down("reports.example.com/"));
    let answer = down.decide(IMAGE, &settings("reject"));
    assert_eq!((answer.allowed, answer.state.as_str()), (false, "look_up_failed"), "{}", answer.response);
    assert!(down.decide(IMAGE, &settings("accept-outages")).allowed);
    // The image's own is whoever's named it.
    let own = World::default().image(IMAGE, 'a').and(|host| host.down("reg.io/"));
    assert!(!own.decide(IMAGE, &settings("accept-outages")).allowed);
    assert!(own.decide(IMAGE, &settings("accept")).allowed);
}
