//! What an image is made of, as expressions and rules ask for it: packages that aren't known are never "none".

use super::sboms::{fine, package, sbom, signed, spdx, world};
use super::world::{World, digest};
use super::{IMAGE, KEY, beside, report, stop_the_clock, trap, with};
use image_admission_engine::check_settings;
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};

const OLD: &str = "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1";
const NO_LOG4J: &str =
    "images.all.all(i, !sbomPackages(i).exists(p, p.purl.startsWith('pkg:maven/org.apache.logging.log4j/')))";

fn by_expression(expression: &str) -> Value {
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "reports": {"sboms": [{"sbomscanner": {}}]},
           "imageVerification": [{"name": "x", "verifyPreScanAccepted": true, "verifications": [{"expression": expression}]}]})
}

/// The same by a rule, which is given the list of one image's packages as `all`.
fn by_rule(denies: &str) -> Value {
    stop_the_clock();
    let rule = format!("package x\ndeny[\"no\"] {{ some image; all := input.sbomPackages[image]; {denies} }}");
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "reports": {"sboms": [{"sbomscanner": {}}]},
           "regoPolicies": [{"name": "x", "kinds": ["Pod"], "rego": rule}]})
}

/// The same by a rule of the scan phase.
fn by_custom_rule(denies: &str) -> Value {
    stop_the_clock();
    json!({"scanPolicies": {"reportPending": "accept"}, "reports": {"sboms": [{"sbomscanner": {}}]},
           "customRules": format!("deny_image[\"no\"] {{ all := input.SbomPackages; {denies} }}")})
}

/// Settings that deny Log4j, each in another language.
fn each() -> [Value; 3] {
    let denies = "contains(all[_].purl, \"/log4j-core@\")";
    [by_expression(NO_LOG4J), by_rule(denies), by_custom_rule(denies)]
}

#[test]
fn a_package_is_seen() {
    let old = world(sbom('a', spdx(&[fine(), package(OLD, "Apache-2.0")])));
    let clean = world(sbom('a', spdx(&[fine()])));
    for settings in each() {
        assert!(!old.decide(IMAGE, &settings).allowed, "{settings}");
        let answer = clean.decide(IMAGE, &settings);
        assert!(answer.allowed, "{settings}\n{}", answer.response);
    }
}

/// A missing SBOM, one without packages, one of another image, one that can't be had: none of them is a short list.
#[test]
fn packages_that_arent_known_arent_none() {
    let named = |world: World| world.image(IMAGE, 'a').object(report('a', &[]));
    let missing = named(World::default());
    let foreign = sbom('b', spdx(&[fine()]));
    let ahead = with(spdx(&[fine()]), &[("/creationInfo/created", json!("2036-11-10T08:00:00Z"))]);
    for (world, why) in [
        (missing, "its packages aren't known: no SBOM yet from sbomscanner in namespace sbomscanner"),
        (named(World::default().object(foreign)), "its packages aren't known: no SBOM yet"),
        (world(sbom('a', spdx(&[]))), "can't be read: it lists no packages"),
        (world(sbom('a', ahead)), "which is still to come"),
        (world(sbom('a', json!("text"))), "can't be read"),
        (named(World::default()).broken("SBOM"), "its packages aren't known: "),
    ] {
        for settings in each() {
            let answer = world.decide(IMAGE, &settings);
            let message = answer.response["message"].as_str().unwrap_or_default();
            assert!(!answer.allowed && message.contains(why), "{settings}\n{}", answer.response);
            let careless = without(Remedy::EveryPlatformTellsItsPackages, || world.decide(IMAGE, &settings));
            assert!(careless.allowed, "{settings}\n{}", careless.response);
        }
    }
}

/// What `failurePolicy: Ignore` forgives is the cluster that doesn't answer, and no SBOM that isn't there.
#[test]
fn only_an_outage_is_forgiven() {
    let mut settings = by_expression(NO_LOG4J);
    settings["imageVerification"][0]["failurePolicy"] = json!("Ignore");
    let missing = World::default().image(IMAGE, 'a').object(report('a', &[]));
    assert!(!missing.decide(IMAGE, &settings).allowed);
    let ahead = with(spdx(&[fine()]), &[("/creationInfo/created", json!("2036-11-10T08:00:00Z"))]);
    for unreadable in [spdx(&[]), ahead, json!("text"), json!({"spdxVersion": "SPDX-9", "packages": [fine()]})] {
        let answer = world(sbom('a', unreadable)).decide(IMAGE, &settings);
        assert!(!answer.allowed, "{}", answer.response);
    }
    assert!(missing.broken("SBOM").decide(IMAGE, &settings).allowed);
}

/// One platform whose packages aren't known may be the one that is run.
#[test]
fn every_platform_tells() {
    let platforms = [("linux/amd64", 'a'), ("linux/arm64", 'b')];
    let of = |letter: char, platform: &str, document: Value| {
        with(sbom(letter, document), &[("/imageMetadata/platform", json!(platform))])
    };
    let index = || World::default().index(IMAGE, 'i', &platforms);
    let first = || index().object(of('a', "linux/amd64", spdx(&[fine()])));
    let both = |second: Value| first().object(of('b', "linux/arm64", spdx(&[second])));
    for settings in [by_expression(NO_LOG4J), by_rule("contains(all[_].purl, \"/log4j-core@\")")] {
        trap(Remedy::EveryPlatformTellsItsPackages, &first(), IMAGE, &settings, "denied ", "allowed ");
        assert!(!both(package(OLD, "MIT")).decide(IMAGE, &settings).allowed, "{settings}");
        let answer = both(fine()).decide(IMAGE, &settings);
        assert!(answer.allowed, "{}", answer.response);
    }
    let told = "sbomPackages(images.all[0]).map(p, p.platform) == ['linux/amd64', 'linux/arm64']";
    let answer = both(fine()).decide(IMAGE, &by_expression(told));
    assert!(answer.allowed, "{}", answer.response);
    let message = first().decide(IMAGE, &by_expression(NO_LOG4J)).response["message"].to_string();
    assert!(message.contains("its packages aren't known for linux/arm64: no SBOM yet"), "{message}");
}

/// An image whose scanner found nothing to name its packages by has none that a rule would find.
#[test]
fn packages_without_purls_arent_known() {
    let bare = json!({"SPDXID": "SPDXRef-x", "name": "log4j-core", "versionInfo": "2.14.1", "licenseDeclared": "MIT"});
    for settings in each() {
        let answer = world(sbom('a', spdx(std::slice::from_ref(&bare)))).decide(IMAGE, &settings);
        let message = answer.response["message"].as_str().unwrap_or_default();
        assert!(!answer.allowed && message.contains("none of its packages has a purl"), "{}", answer.response);
    }
}

/// What an SBOM doesn't say isn't there: who reads it has an error, and says so or asks before.
#[test]
fn the_shape_of_a_package() {
    let bare = json!({"SPDXID": "SPDXRef-x", "name": "x", "versionInfo": "", "licenseDeclared": "NOASSERTION"});
    let own = json!({"SPDXID": "SPDXRef-y", "name": "y", "licenseDeclared": "LicenseRef-y"});
    let mut document = spdx(&[bare, fine(), own]);
    document["hasExtractedLicensingInfos"] = json!([{"licenseId": "LicenseRef-y", "name": "MIT"}]);
    let world = world(sbom('a', document));
    for expression in [
        "sbomPackages(images.all[0]).size() == 3",
        "sbomPackages(images.all[0]).map(p, p.name) == ['x', 'p', 'y']",
        "sbomPackages(images.all[0])[1] == {'name': 'p', 'version': '4.17.21', 'purl': 'pkg:npm/lodash@4.17.21', 'licenses': ['MIT']}",
        "sbomPackages(images.all[0])[0] == {'name': 'x', 'licenses': []}",
        // What it calls its own licence may be the name of another.
        "sbomPackages(images.all[0])[2].licenses == ['LicenseRef-y']",
    ] {
        let answer = world.decide(IMAGE, &by_expression(expression));
        assert!(answer.allowed, "{expression}\n{}", answer.response);
    }
    let answer = world.decide(IMAGE, &by_expression(NO_LOG4J));
    assert!(!answer.allowed, "a package without a purl may be any");
}

/// A package with several purls is told of by each of them.
#[test]
fn every_purl_of_a_package_is_seen() {
    let mut two = fine();
    let second = json!({"referenceType": "purl", "referenceLocator": OLD});
    two["externalRefs"] = json!([two["externalRefs"][0].clone(), second.clone(), second]);
    let world = world(sbom('a', spdx(&[two])));
    let expression = "sbomPackages(images.all[0]).map(p, [p.name, p.purl]) == [['p', 'pkg:npm/lodash@4.17.21'], \
                      ['p', 'pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1']]";
    let answer = world.decide(IMAGE, &by_expression(expression));
    assert!(answer.allowed, "{}", answer.response);
    for settings in each() {
        assert!(!world.decide(IMAGE, &settings).allowed, "{settings}");
    }
}

/// Gates have no say in what is told, and neither does `reportPending`.
#[test]
fn nothing_else_decides_what_is_told() {
    let mut settings = by_custom_rule("all[_].name == \"other\"");
    settings["acceptance"] = json!({"licenses": {"deny": ["MIT"], "action": "warn"}});
    let answer = world(sbom('a', spdx(&[fine()]))).decide(IMAGE, &settings);
    assert!(answer.allowed, "{}", answer.response);
    settings["scanPolicies"] = json!({"reportPending": "accept", "scanFailed": "accept-outages"});
    let unknown = World::default().image(IMAGE, 'a').object(report('a', &[]));
    assert!(!unknown.decide(IMAGE, &settings).allowed);
}

/// It is asked for once, where somebody asks.
#[test]
fn it_costs_one_call_for_each_platform() {
    let world = world(sbom('a', spdx(&[fine()])));
    let calls = |settings: &Value| {
        world.decide(IMAGE, settings);
        world.host.calls().iter().filter(|call| call.field("kind") == "SBOM").count()
    };
    assert_eq!(calls(&by_expression("true")), 0);
    let mut twice = by_expression(NO_LOG4J);
    twice["regoPolicies"] = by_rule("all[_].name == \"other\"")["regoPolicies"].clone();
    assert_eq!(calls(&twice), 1);
}

/// Whoever builds an image chooses how many packages it has.
#[test]
fn packages_are_bounded() {
    let many = |number: usize| -> Vec<Value> {
        let of = |index: usize| {
            let purl = format!("pkg:npm/p{index}@1");
            let name = format!("p{index}");
            with(package(&purl, "MIT"), &[("/SPDXID", json!(name)), ("/name", json!(name))])
        };
        (0..number).map(of).collect()
    };
    let settings = by_expression("images.all.all(i, sbomPackages(i).size() > 100)");
    assert!(world(sbom('a', spdx(&many(5_000)))).decide(IMAGE, &settings).allowed);
    let answer = world(sbom('a', spdx(&many(40_000)))).decide(IMAGE, &settings);
    let message = answer.response["message"].to_string();
    assert!(message.contains("its packages have more than 4194304 bytes together"), "{message}");
}

/// A library may ask as well.
#[test]
fn what_libraries_ask_is_asked() {
    let library = json!([{"name": "lib", "rego": "package lib.made\nof(all) { all.sbomPackages[_] }"}]);
    let policy = |rego: &str, sboms: Value| {
        let policies = json!([{"name": "x", "kinds": ["Pod"], "rego": rego}]);
        json!({"regoPolicies": policies, "regoLibraries": library, "reports": {"sboms": sboms}})
    };
    let problems = |settings: Value| check_settings(&settings).map(|_| ()).map_err(|problems| problems.to_string());
    let denies = "package x\nimport data.lib.made\ndeny[\"no\"] { made.of(input) }";
    let main = "package system\nimport data.lib.made\nmain = {\"response\": {\"allowed\": made.of(input)}}";
    let known = json!([{"sbomscanner": {}}]);
    assert_eq!(problems(policy(denies, known.clone())), Ok(()));
    assert!(problems(policy(denies, json!([]))).unwrap_err().contains("in `reports.sboms`"));
    assert!(problems(policy(main, known)).unwrap_err().contains("it sees no `sbomPackages`"));
}

/// Who asks without saying where SBOMs come from is told so when the policy is deployed.
#[test]
fn nothing_tells_without_sboms() {
    for mut settings in each() {
        assert!(check_settings(&settings).is_ok(), "{settings}");
        settings["reports"] = json!({});
        let problems = check_settings(&settings).map(|_| ()).unwrap_err().to_string();
        assert!(problems.contains("name where SBOMs come from in `reports.sboms`"), "{problems}");
    }
}

/// An SBOM beside the image is read once for a gate and once for a rule: what the one made of it isn't what the other asks.
#[test]
fn a_gate_and_a_rule_each_read_an_attached_sbom() {
    stop_the_clock();
    let of = |packages: &[Value]| {
        let at = beside('a').replace(".scan", ".sbom");
        let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
        world.artifact(&at, 'd', Some('a'), spdx(packages)).signed(&format!("reg.io/team/app@{}", digest('d')), KEY)
    };
    let denies = signed();
    assert!(of(&[fine()]).decide(IMAGE, &denies).allowed);
    assert!(!of(&[fine(), package(OLD, "MIT")]).decide(IMAGE, &denies).allowed);
    // The gate comes first: the rule is told all packages.
    let mut rule = denies.clone();
    rule["customRules"] = json!("deny_image[\"no\"] { input.SbomPackages[_].name == \"p\" }");
    let answer = of(&[fine()]).decide(IMAGE, &rule);
    assert!(!answer.allowed, "{}", answer.response);
    // The expression comes first: the gate judges.
    let mut told = denies;
    told["imageVerification"] =
        json!([{"name": "x", "verifications": [{"expression": "images.all.all(i, sbomPackages(i).size() > 0)"}]}]);
    assert!(of(&[fine()]).decide(IMAGE, &told).allowed);
    let answer = of(&[fine(), package(OLD, "MIT")]).decide(IMAGE, &told);
    assert!(!answer.allowed, "{}", answer.response);
}
