//! What an image is made of: an SBOM that is missing, empty, of another or not to be believed clears nothing, and no spelling hides a
//! package or a licence.

use super::world::{Answer, World, digest};
use super::{IMAGE, SB, beside, computed, finding, report, trap, trivy, with};
use image_admission_scan_report::purl::percent_decoded;
use image_admission_untrusted::remedy::{Remedy, without};
use serde_json::{Value, json};

const LOG4J: &str = "pkg:maven/org.apache.logging.log4j/log4j-core";

/// A package as SPDX has it.
pub(super) fn package(purl: &str, license: &str) -> Value {
    let bare = purl.split(['?', '#']).next().unwrap_or_default();
    let version = bare.split_once('@').map_or("2.14.1".to_owned(), |(_, version)| percent_decoded(version));
    json!({"SPDXID": format!("SPDXRef-{}", purl.len()), "name": "p", "versionInfo": version, "licenseDeclared": license,
           "licenseConcluded": "NOASSERTION",
           "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]})
}

pub(super) fn fine() -> Value {
    package("pkg:npm/lodash@4.17.21", "MIT")
}

pub(super) fn spdx(packages: &[Value]) -> Value {
    json!({"spdxVersion": "SPDX-2.3", "creationInfo": {"created": "2026-11-10T08:00:00Z"}, "packages": packages})
}

/// The scanner's SBOM of the image whose manifest has a digest of that letter.
pub(super) fn sbom(letter: char, document: Value) -> Value {
    let report = report(letter, &[]);
    json!({"apiVersion": SB, "kind": "SBOM", "metadata": report["metadata"], "imageMetadata": report["imageMetadata"],
           "spdx": document})
}

pub(super) fn world(sbom: Value) -> World {
    World::default().image(IMAGE, 'a').object(report('a', &[])).object(sbom)
}

fn packages(purl: &str, versions: &str) -> Value {
    json!({"acceptance": {"packages": {"deny": [{"purl": purl, "versions": versions}]}}, "reports": {"sboms": [{"sbomscanner": {}}]}})
}

fn licenses(gate: Value) -> Value {
    json!({"acceptance": {"licenses": gate}, "reports": {"sboms": [{"sbomscanner": {}}]}})
}

fn log4j() -> Value {
    packages(LOG4J, "<2.17.1")
}

fn said(answer: &Answer) -> String {
    answer.response["message"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn decides(world: &World, settings: &Value, expected: &str) {
    let answer = world.decide(IMAGE, settings);
    let allowed = if answer.allowed { "allowed" } else { "denied" };
    assert_eq!(format!("{allowed} {}", answer.state), expected, "{}", answer.response);
}

#[test]
fn a_package_that_is_denied_rejects() {
    let old = world(sbom('a', spdx(&[fine(), package(&format!("{LOG4J}@2.14.1"), "Apache-2.0")])));
    let answer = old.decide(IMAGE, &log4j());
    let by = computed("reg.io", "team/app", "1.0", &digest('a'));
    let expected = format!("1 denied package: p 2.14.1 (sbomscanner: SBOM sbomscanner/{by} of 2026-11-10T08:00:00Z)");
    assert!(said(&answer).ends_with(&expected), "{}", said(&answer));
    decides(
        &world(sbom('a', spdx(&[fine(), package(&format!("{LOG4J}@2.17.1"), "Apache-2.0")]))),
        &log4j(),
        "allowed fresh",
    );
    decides(&old, &json!({}), "allowed fresh");
}

#[test]
fn a_missing_sbom_is_not_a_fine_one() {
    let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
    trap(Remedy::SbomMustBeThere, &world, IMAGE, &log4j(), "denied no_sbom", "allowed fresh");
    let answer = world.decide(IMAGE, &log4j());
    assert!(said(&answer).ends_with("no SBOM yet from sbomscanner in namespace sbomscanner"), "{}", said(&answer));
    // What a setting forgives is that it is missing, and nothing else.
    let mut forgiving = log4j();
    forgiving["scanPolicies"] = json!({"reportPending": "accept"});
    decides(&world, &forgiving, "allowed no_sbom");
    decides(&world.broken("SBOM"), &forgiving, "denied look_up_failed");
    let denied = sbom('a', spdx(&[package(&format!("{LOG4J}@2.14.1"), "MIT")]));
    let unscanned = World::default().image(IMAGE, 'a').object(denied);
    decides(&unscanned, &forgiving, "denied fresh");
}

/// What is rejected anyway needs no SBOM, and isn't hidden by one.
#[test]
fn what_was_found_comes_first() {
    let bad = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]));
    let answer = bad.decide(IMAGE, &log4j());
    assert!(said(&answer).contains("1 critical finding"), "{}", said(&answer));
    assert!(!bad.host.calls().iter().any(|call| call.field("kind") == "SBOM"));
    let missing = World::default().image(IMAGE, 'a');
    decides(&missing, &log4j(), "denied not_scanned");
}

#[test]
fn an_sbom_that_lists_nothing_clears_nothing() {
    for empty in [spdx(&[]), json!({"spdxVersion": "SPDX-2.3"}), json!({"spdxVersion": "SPDX-2.3", "packages": null})] {
        trap(
            Remedy::EmptySbomClearsNothing,
            &world(sbom('a', empty)),
            IMAGE,
            &licenses(json!({"deny": ["MIT"]})),
            "denied failed",
            "allowed fresh",
        );
    }
    // The image itself is no package of it.
    let image = with(package("pkg:oci/app@sha256:0", "MIT"), &[("/primaryPackagePurpose", json!("CONTAINER"))]);
    decides(&world(sbom('a', spdx(&[image]))), &log4j(), "denied failed");
}

#[test]
fn packages_without_purls_clear_nothing() {
    let unnamed = with(fine(), &[("/externalRefs", json!([]))]);
    trap(
        Remedy::PackagesMustBeNamed,
        &world(sbom('a', spdx(&[unnamed]))),
        IMAGE,
        &log4j(),
        "denied failed",
        "allowed fresh",
    );
}

/// Whoever builds an image chooses what a scanner finds in it: that is no outage, from the scanner's own object neither.
#[test]
fn an_sbom_that_the_image_emptied_is_no_outage() {
    let unnamed = with(fine(), &[("/externalRefs", json!([]))]);
    let many = vec![fine(); 50_001];
    for document in [spdx(&[]), spdx(&[unnamed]), spdx(&many)] {
        let mut forgiving = log4j();
        forgiving["scanPolicies"] = json!({"scanFailed": "accept-outages"});
        let world = world(sbom('a', document));
        trap(Remedy::ForgiveOutagesOnly, &world, IMAGE, &forgiving, "denied failed", "allowed failed");
    }
}

#[test]
fn what_is_no_sbom_clears_nothing() {
    for document in [
        json!(null),
        json!([]),
        json!("SPDX"),
        json!({}),
        json!({"spdxVersion": "SPDX-3.0", "packages": [fine()]}),
        json!({"spdxVersion": 2, "packages": [fine()]}),
        json!({"spdxVersion": "SPDX-2.3", "packages": fine()}),
        json!({"spdxVersion": "SPDX-2.3", "packages": [null]}),
    ] {
        decides(&world(sbom('a', document)), &log4j(), "denied failed");
    }
}

#[test]
fn an_sbom_of_another_image_or_platform_doesnt_count() {
    for (pointer, other) in [
        ("/imageMetadata/registryURI", "evil.io"),
        ("/imageMetadata/repository", "evil/app"),
        ("/imageMetadata/digest", "sha256:0"),
        ("/metadata/namespace", "tenant"),
    ] {
        let other = with(sbom('a', spdx(&[fine()])), &[(pointer, json!(other))]);
        decides(&world(other), &log4j(), "denied no_sbom");
    }
    let index = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
        .object(report('a', &[]))
        .object(with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]))
        .object(sbom('a', spdx(&[fine()])))
        .object(sbom('c', spdx(&[fine()])));
    trap(Remedy::MatchPlatform, &index, IMAGE, &log4j(), "denied no_sbom", "allowed fresh");
}

#[test]
fn an_sbom_of_a_time_to_come_clears_nothing() {
    let ahead = with(spdx(&[fine()]), &[("/creationInfo/created", json!("2026-11-21T12:00:00Z"))]);
    trap(Remedy::SbomIsPast, &world(sbom('a', ahead)), IMAGE, &log4j(), "denied failed", "allowed fresh");
    // It doesn't age.
    let mut settings = log4j();
    settings["reports"]["sources"] = json!([{"trivyOperator": {}}]);
    settings["reports"]["maxAge"] = json!("90d");
    let old = with(spdx(&[fine()]), &[("/creationInfo/created", json!("2016-11-21T12:00:00Z"))]);
    let world =
        World::default().image(IMAGE, 'a').object(trivy("web", "pod-p-app", json!(digest('a')))).object(sbom('a', old));
    decides(&world, &settings, "allowed fresh");
}

#[test]
fn a_purl_hides_nothing_by_its_spelling() {
    for purl in [
        "PKG:Maven/ORG.Apache.Logging.Log4j/Log4j-Core@2.14.1",
        "pkg:maven/org.apache.logging.log4j/log4j%2Dcore@2.14.1",
        "pkg:maven/org.apache.logging.log4j%3Alog4j-core@2%2E14.1?type=jar",
    ] {
        let world = world(sbom('a', spdx(&[fine(), package(purl, "MIT")])));
        trap(Remedy::FoldPurls, &world, IMAGE, &log4j(), "denied fresh", "allowed fresh");
    }
    let scoped = packages("pkg:npm/@scope/tool", "<2");
    let world = world(sbom('a', spdx(&[package("pkg:npm/%40Scope/tool@1.0", "MIT")])));
    trap(Remedy::FoldPurls, &world, IMAGE, &scoped, "denied fresh", "allowed fresh");
}

#[test]
fn what_nobody_can_compare_is_denied() {
    for purl in [format!("{LOG4J}@2.14%C3%A4"), format!("{LOG4J}@{}", "1.".repeat(100)), format!("{LOG4J}@2 1")] {
        let world = world(sbom('a', spdx(&[fine(), package(&purl, "MIT")])));
        trap(Remedy::IncomparableIsDenied, &world, IMAGE, &log4j(), "denied fresh", "allowed fresh");
        let answer = world.decide(IMAGE, &log4j());
        assert!(said(&answer).contains("its version can't be compared with `<2.17.1`"), "{}", said(&answer));
    }
    let unreadable = world(sbom('a', spdx(&[fine(), package("pkg:maven/%zz", "MIT")])));
    let answer = unreadable.decide(IMAGE, &log4j());
    assert!(
        said(&answer).contains("1 denied package: p 2.14.1 (its purl `pkg:maven/%zz` can't be read)"),
        "{}",
        said(&answer)
    );
}

/// A package by several purls, in SPDX.
fn with_purls(purls: &[&str]) -> Value {
    let references = purls.iter().map(|purl| json!({"referenceType": "purl", "referenceLocator": purl}));
    with(fine(), &[("/externalRefs", references.collect()), ("/versionInfo", json!("1.0"))])
}

/// Who reads one of a package's names may not read the others.
#[test]
fn all_that_a_package_is_called_counts() {
    let old = format!("{LOG4J}@2.14.1");
    let mut other_version = with(package(&format!("{LOG4J}@2.24.1"), "MIT"), &[("/versionInfo", json!("2.14.1"))]);
    let other_name = package("pkg:maven/com.example/shaded@2.14.1", "MIT");
    let other_name = with(other_name, &[("/name", json!("org.apache.logging.log4j:log4j-core"))]);
    let two = with_purls(&["pkg:npm/lodash@4.17.21", &old]);
    for (package, words) in [
        (&two, "1 denied package: p 2.14.1 ("),
        (&other_version, "1 denied package: p 2.14.1 ("),
        (
            &other_name,
            "1 denied package: org.apache.logging.log4j:log4j-core 2.14.1 (by its name it may be \
             `pkg:maven/org.apache.logging.log4j/log4j-core`, though its purl has another) (",
        ),
    ] {
        let world = world(sbom('a', spdx(&[fine(), package.clone()])));
        trap(Remedy::EveryNameCounts, &world, IMAGE, &log4j(), "denied fresh", "allowed fresh");
        let answer = world.decide(IMAGE, &log4j());
        assert!(said(&answer).contains(words), "{}", said(&answer));
    }
    // Both ways round, and a purl that can't be read beside one that is denied.
    for purls in [[old.as_str(), "pkg:npm/lodash@1"], ["pkg:maven/%zz", &old]] {
        let answer = world(sbom('a', spdx(&[with_purls(&purls)]))).decide(IMAGE, &log4j());
        assert!(said(&answer).contains("1 denied package: p 2.14.1 ("), "{}", said(&answer));
    }
    // What nobody says isn't another version, and a name of another type is another package.
    other_version["versionInfo"] = json!("NOASSERTION");
    let foreign = with(package("pkg:deb/debian/libx@2.14.1", "MIT"), &[("/name", json!("log4j-core"))]);
    for fine in [other_version, foreign, with_purls(&["pkg:npm/lodash@4.17.21", "pkg:npm/lodash@4.17.22"])] {
        decides(&world(sbom('a', spdx(&[fine]))), &log4j(), "allowed fresh");
    }
}

/// A package is left out where all that it is called is.
#[test]
fn one_of_several_purls_leaves_nothing_out() {
    let settings = licenses(json!({"deny": ["GPL-3.0-*"], "except": ["pkg:npm/"]}));
    let of = |purls: &[&str]| with(with_purls(purls), &[("/licenseDeclared", json!("GPL-3.0-only"))]);
    let world_of = |package: Value| world(sbom('a', spdx(&[package])));
    let mixed = world_of(of(&["pkg:npm/a@1", "pkg:deb/debian/a@1"]));
    trap(Remedy::EveryNameCounts, &mixed, IMAGE, &settings, "denied fresh", "allowed fresh");
    decides(&world_of(of(&["pkg:npm/a@1", "pkg:npm/b@1"])), &settings, "allowed fresh");
    decides(&world_of(of(&["pkg:npm/a@1", "pkg:npm/%zz"])), &settings, "denied fresh");
}

/// Whoever builds an image chooses how many names a package has.
#[test]
fn the_names_of_a_package_are_bounded() {
    let purls: Vec<String> = (0..50_001).map(|index| format!("pkg:npm/p{index}@1.0")).collect();
    let purls: Vec<&str> = purls.iter().map(String::as_str).collect();
    let answer = world(sbom('a', spdx(&[with_purls(&purls)]))).decide(IMAGE, &log4j());
    assert!(said(&answer).contains("more than 50000 packages"), "{}", said(&answer));
    // The same name many times is one.
    decides(&world(sbom('a', spdx(&[with_purls(&["pkg:npm/p@1.0"; 50_001])]))), &log4j(), "allowed fresh");
}

/// Syft leaves out a package's purl where an image doesn't tell its distribution.
#[test]
fn a_package_without_a_purl_may_be_one_that_is_denied() {
    let unnamed = |name: &str, version: &str| {
        with(fine(), &[("/externalRefs", json!([])), ("/name", json!(name)), ("/versionInfo", json!(version))])
    };
    let xz = packages("pkg:deb/*/xz-utils", ">=5.6.0,<5.6.1+really5.4.5-1");
    for (name, version) in [("xz-utils", "5.6.0-0.2"), ("XZ-Utils", "5.6.1-1"), ("xz-utils", "")] {
        let world = world(sbom('a', spdx(&[fine(), unnamed(name, version)])));
        trap(Remedy::UnnamedMayBeDenied, &world, IMAGE, &xz, "denied fresh", "allowed fresh");
        let answer = world.decide(IMAGE, &xz);
        assert!(said(&answer).contains("(without a purl it may be `pkg:deb/*/xz-utils`)"), "{}", said(&answer));
    }
    for (name, version) in [("xz-utils", "5.4.1-0.2"), ("xz", "5.6.0-0.2")] {
        decides(&world(sbom('a', spdx(&[fine(), unnamed(name, version)]))), &xz, "allowed fresh");
    }
    // An application is one too, but for a place where packages were found: that has no version.
    for (version, expected) in [(json!("5.6.0-0.2"), "denied fresh"), (Value::Null, "allowed fresh")] {
        let changes = [("/primaryPackagePurpose", json!("APPLICATION")), ("/versionInfo", version)];
        let application = with(unnamed("xz-utils", ""), &changes);
        decides(&world(sbom('a', spdx(&[fine(), application]))), &xz, expected);
    }
    let bare = world(sbom('a', spdx(&[package("pkg:deb/xz-utils@5.6.0-0.2", "MIT")])));
    trap(Remedy::NamespacesMayBeMissing, &bare, IMAGE, &xz, "denied fresh", "allowed fresh");
}

/// Syft writes what of a Go module's path is no repository into the subpath.
#[test]
fn a_go_module_may_go_on_in_the_subpath() {
    let jwt = packages("pkg:golang/github.com/golang-jwt/jwt/v4", "<4.5.2");
    let world = world(sbom('a', spdx(&[package("pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4", "MIT")])));
    trap(Remedy::SubpathsOfModules, &world, IMAGE, &jwt, "denied fresh", "allowed fresh");
}

#[test]
fn a_purl_hides_nothing_by_its_separators() {
    for purl in [
        "pkg:maven/org.apache.logging.log4j/log4j-core%402.14.1",
        "pkg:maven/org.apache.logging.log4j/log4j-core@2@2.17.1",
    ] {
        let world = world(sbom('a', spdx(&[fine(), package(purl, "MIT")])));
        trap(Remedy::OddPurlsAreDenied, &world, IMAGE, &log4j(), "denied fresh", "allowed fresh");
    }
    for purl in [
        "pkg:maven/org.apache.logging.log4j//log4j-core@2.14.1",
        "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1#a#b",
    ] {
        decides(&world(sbom('a', spdx(&[fine(), package(purl, "MIT")]))), &log4j(), "denied fresh");
    }
}

/// The same version of a newer epoch is a newer one, and the other way round.
#[test]
fn an_epoch_may_stand_beside_the_version() {
    let bind = packages("pkg:rpm/redhat/bind", ">=32:9.11");
    let world = world(sbom('a', spdx(&[package("pkg:rpm/redhat/bind@9.11.36-8.el8?arch=x86_64&epoch=32", "MPL-2.0")])));
    trap(Remedy::KnowEpochs, &world, IMAGE, &bind, "denied fresh", "allowed fresh");
}

#[test]
fn a_licence_that_isnt_known_isnt_fine() {
    for license in ["NOASSERTION", "NONE", "", "GPLv3", "LicenseRef-3", "MIT AND GPLv3"] {
        let world = world(sbom('a', spdx(&[fine(), package("pkg:npm/left-pad@1.3.0", license)])));
        trap(
            Remedy::UnknownLicenses,
            &world,
            IMAGE,
            &licenses(json!({"deny": ["GPL-3.0-*"]})),
            "denied fresh",
            "allowed fresh",
        );
        let warns = licenses(json!({"deny": ["GPL-3.0-*"], "unknown": "warn"}));
        let answer = world.decide(IMAGE, &warns);
        let warnings = answer.response["warnings"].to_string();
        assert!(answer.allowed && warnings.contains("has 1 package whose licence isn't known"), "{warnings}");
    }
}

#[test]
fn licences_that_hold_together_all_count() {
    for license in ["MIT AND GPL-3.0-only", "GPL-3.0-only AND MIT", "MIT AND (Apache-2.0 AND GPL-3.0-or-later)"] {
        let world = world(sbom('a', spdx(&[fine(), package("pkg:npm/left-pad@1.3.0", license)])));
        trap(
            Remedy::EveryLicenseCounts,
            &world,
            IMAGE,
            &licenses(json!({"deny": ["GPL-3.0-*"]})),
            "denied fresh",
            "allowed fresh",
        );
    }
    let choice = world(sbom('a', spdx(&[package("pkg:npm/left-pad@1.3.0", "GPL-3.0-only OR MIT")])));
    decides(&choice, &licenses(json!({"deny": ["GPL-3.0-*"]})), "allowed fresh");
    let mixed = world(sbom('a', spdx(&[package("pkg:npm/left-pad@1.3.0", "(GPL-3.0-only OR MIT) AND AGPL-3.0-only")])));
    decides(&mixed, &licenses(json!({"deny": ["*GPL-3.0-*"]})), "denied fresh");
}

/// In free text any licence may stand.
#[test]
fn what_several_licences_allow_is_no_free_text() {
    let settings = licenses(json!({"allow": ["MIT", "Apache-*"]}));
    for license in
        ["Apache-2.0,AGPL-3.0-only", "Apache-2.0;GPL-3.0", "Apache-2.0/GPL-3.0-only", "Apache-2.0:AGPL-3.0-only"]
    {
        let world = world(sbom('a', spdx(&[package("pkg:npm/left-pad@1.3.0", license)])));
        trap(Remedy::OnlyListedIdsAreAllowed, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
    }
    let restricted = world(sbom('a', spdx(&[package("pkg:npm/left-pad@1.3.0", "Apache-2.0 WITH Commons-Clause")])));
    trap(Remedy::UnknownExceptions, &restricted, IMAGE, &settings, "denied fresh", "allowed fresh");
    let mut document = spdx(&[package("pkg:npm/left-pad@1.3.0", "LicenseRef-evil")]);
    document["hasExtractedLicensingInfos"] = json!([{"licenseId": "LicenseRef-evil", "name": "MIT"}]);
    trap(Remedy::OwnLicensesAreOwn, &world(sbom('a', document)), IMAGE, &settings, "denied fresh", "allowed fresh");
}

/// What whoever made the document came to comes before what the package says of itself.
#[test]
fn the_licence_that_was_concluded_counts() {
    let of =
        |concluded: &str| with(package("pkg:npm/left-pad@1.3.0", "MIT"), &[("/licenseConcluded", json!(concluded))]);
    let settings = licenses(json!({"deny": ["GPL-3.0-*"]}));
    decides(&world(sbom('a', spdx(&[of("GPL-3.0-only")]))), &settings, "denied fresh");
    decides(&world(sbom('a', spdx(&[of("NOASSERTION")]))), &settings, "allowed fresh");
}

/// An artifact beside the image, in the form of a whole document.
pub(super) fn signed() -> Value {
    let attestors = json!([{"name": "ci", "cosign": {"key": {"data": super::KEY}}}]);
    json!({"acceptance": {"packages": {"deny": [{"purl": LOG4J, "versions": "<2.17.1"}]}},
           "reports": {"sboms": [{"registry": {"attestors": attestors}}]}})
}

#[test]
fn a_copied_or_unsigned_sbom_is_none() {
    let tag = beside('a').replace(".scan", ".sbom");
    let at = format!("reg.io/team/app@{}", digest('d'));
    let with_artifact = |subject: char, document: Value| {
        World::default().image(IMAGE, 'a').object(report('a', &[])).artifact(&tag, 'd', Some(subject), document)
    };
    let own = with_artifact('a', spdx(&[fine()])).signed(&at, super::KEY);
    decides(&own, &signed(), "allowed fresh");
    let unsigned = with_artifact('a', spdx(&[fine()]));
    trap(Remedy::VerifySignature, &unsigned, IMAGE, &signed(), "denied no_sbom", "allowed fresh");
    let copied = with_artifact('b', spdx(&[fine()])).signed(&at, super::KEY);
    trap(Remedy::MatchSubject, &copied, IMAGE, &signed(), "denied no_sbom", "allowed fresh");
    // What can be read otherwise by others is none: unreadable, and whoever pushes may have brought that about.
    let two = with_artifact('a', json!({"spdxVersion": "SPDX-2.3", "bomFormat": "CycloneDX", "packages": [fine()]}));
    let two = two.signed(&at, super::KEY);
    decides(&two, &signed(), "denied failed");
    let mut forgiving = signed();
    forgiving["scanPolicies"] = json!({"scanFailed": "accept-outages"});
    forgiving["registries"] = json!(["reg.io"]);
    trap(Remedy::ForgiveOutagesOnly, &two, IMAGE, &forgiving, "denied failed", "allowed failed");
}

/// What a source tree is made of, attached to an image, lacks what the image has.
#[test]
fn an_sbom_of_a_source_tree_is_none_of_an_image() {
    let tag = beside('a').replace(".scan", ".sbom");
    let at = format!("reg.io/team/app@{}", digest('d'));
    let of = |described: Value| {
        let mut document = spdx(&[fine(), described]);
        document["relationships"] = json!([{"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": "SPDXRef-root",
                                            "relationshipType": "DESCRIBES"}]);
        let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
        world.artifact(&tag, 'd', Some('a'), document).signed(&at, super::KEY)
    };
    let tree = json!({"SPDXID": "SPDXRef-root", "name": "app", "primaryPackagePurpose": "SOURCE"});
    trap(Remedy::SbomsAreOfImages, &of(tree.clone()), IMAGE, &signed(), "denied failed", "allowed fresh");
    let image = with(tree, &[("/primaryPackagePurpose", json!("CONTAINER"))]);
    decides(&of(image), &signed(), "allowed fresh");
    let purl = package("pkg:oci/app?arch=amd64", "MIT");
    decides(&of(with(purl, &[("/SPDXID", json!("SPDXRef-root"))])), &signed(), "allowed fresh");
    let nothing = json!({"SPDXID": "SPDXRef-other", "name": "app", "primaryPackagePurpose": "CONTAINER"});
    decides(&of(nothing), &signed(), "denied failed");
}

#[test]
fn the_operators_sbom_counts_for_its_image_alone() {
    let bom = |purl: &str| {
        json!({"bomFormat": "CycloneDX", "components": [
            {"type": "library", "name": "p", "version": "2.14.1", "purl": purl, "licenses": [{"license": {"name": "MIT"}}]}]})
    };
    let object = |letter: char, bom: Value| {
        let mut object = trivy("web", "pod-p-app", json!(digest(letter)));
        object["kind"] = json!("SbomReport");
        object["report"]["components"] = bom;
        object
    };
    let settings = json!({"acceptance": {"packages": {"deny": [{"purl": LOG4J, "versions": "<2.17.1"}]}},
        "reports": {"sources": [{"trivyOperator": {}}], "sboms": [{"trivyOperator": {}}]}});
    let world = |sbom: Value| {
        World::default().image(IMAGE, 'a').object(trivy("web", "pod-p-app", json!(digest('a')))).object(sbom)
    };
    decides(&world(object('a', bom("pkg:npm/lodash@4.17.21"))), &settings, "allowed fresh");
    decides(&world(object('a', bom(&format!("{LOG4J}@2.14.1")))), &settings, "denied fresh");
    decides(&world(object('b', bom("pkg:npm/lodash@4.17.21"))), &settings, "denied no_sbom");
    decides(&world(object('a', json!(null))), &settings, "denied failed");
    decides(&world(object('a', json!({"bomFormat": "CycloneDX"}))), &settings, "denied failed");
}

/// Nothing of an SBOM is asked for where no gate needs it, and of its packages only what one does.
#[test]
fn an_sbom_costs_what_it_is_needed_for() {
    let world = world(sbom('a', spdx(&[fine()])));
    let asked = |settings: Value| {
        world.asked.borrow_mut().clear();
        world.decide(IMAGE, &settings);
        world.asked.borrow().iter().filter(|asked| asked.contains(" SBOM ")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(asked(json!({"reports": {"sboms": [{"sbomscanner": {}}]}})), Vec::<String>::new());
    assert!(!asked(log4j()).iter().any(|field| field.contains("license") || field.contains("hasExtracted")));
    assert!(asked(licenses(json!({"deny": ["GPL-3.0-*"]}))).iter().any(|field| field.contains("licenseDeclared")));
    let calls = without(Remedy::SbomMustBeThere, || {
        world.decide(IMAGE, &log4j());
        world.host.calls().len()
    });
    world.decide(IMAGE, &log4j());
    assert_eq!(world.host.calls().len(), calls + 1, "one GET for an image whose SBOM has a computed name");
}

/// One package as scanners and build tools write it, each by its own rules.
#[test]
fn no_tools_spelling_hides_a_package() {
    for (denied, versions, purls) in [
        (
            "pkg:npm/@angular/core",
            "<12",
            &["pkg:npm/%40Angular/core@11.0.0", "pkg:npm/%2540angular/core@11.0.0", "pkg:NPM/@angular/core@v11"][..],
        ),
        (
            "pkg:pypi/pyyaml",
            "<5.4",
            &["pkg:pypi/PyYAML@5.3", "pkg:pypi/pyyaml@05.3", "pkg:pypi/%50yyaml@5.3.post1"][..],
        ),
        ("pkg:pypi/ruamel-yaml", "<1", &["pkg:pypi/ruamel.yaml@0.9", "pkg:pypi/ruamel_.yaml@0.9+local"]),
        ("pkg:cargo/serde_json", "<2", &["pkg:cargo/serde-json@1.0", "pkg:cargo/Serde_JSON@1.0+build?checksum=a"]),
        (
            "pkg:nuget/Newtonsoft.Json",
            "<13.0.1",
            &["pkg:nuget/newtonsoft.json@12.0.3.0", "pkg:nuget/NEWTONSOFT.JSON@13.0.0"],
        ),
        (
            "pkg:gem/nokogiri",
            "<1.13.4",
            &["pkg:gem/nokogiri@1.13.0?platform=java", "pkg:gem/Nokogiri@1.13.0-x86_64-linux"],
        ),
        ("pkg:gem/nokogiri", "=1.13.0", &["pkg:gem/nokogiri@1.13.0-java", "pkg:gem/nokogiri@1.13.0-x86_64-linux-musl"]),
        ("pkg:composer/monolog/monolog", "", &["pkg:composer/Monolog/monolog@1.0", "pkg:composer/monolog@1.0"]),
        (
            "pkg:golang/github.com/Masterminds/goutils",
            "<1.1.1",
            &[
                "pkg:golang/github.com/masterminds/goutils@v1.1.0",
                "pkg:golang/github.com%2FMasterminds%2Fgoutils@v1.1.0?type=module",
                "pkg:golang/github.com/Masterminds@v1.1.0#goutils",
            ],
        ),
        (
            "pkg:maven/org.apache.logging.log4j/log4j-core",
            "<2.17.1",
            &[
                "pkg:maven/org.apache.logging.log4j:log4j-core@2.14.1",
                "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1-redhat-1?classifier=sources&type=jar",
                "pkg:maven/log4j-core@2.14.1",
                "pkg://maven//org.apache.logging.log4j//log4j-core@2.14.1",
                "pkg:maven/org.apache.logging.log4j/log4j-core@${log4j.version}",
            ],
        ),
        (
            "pkg:deb/debian/xz-utils",
            "<=5.6.1",
            &[
                "pkg:deb/debian/xz-utils@5.6.1-1?arch=amd64&distro=debian-13",
                "pkg:deb/xz-utils@5.6.0-0.2",
                "pkg:deb/debian/xz-utils@0:5.6.1-1",
            ],
        ),
        (
            "pkg:deb/debian/curl",
            "<1:8",
            &["pkg:deb/debian/curl@7.88.1-10?epoch=1", "pkg:deb/debian/curl@1%3A7.88.1-10%2Bdeb12u5"],
        ),
        ("pkg:apk/alpine/xz", "=5.6.1", &["pkg:apk/alpine/xz@5.6.1-r1?arch=x86_64", "pkg:apk/xz@5.6.1-r0"]),
        (
            "pkg:rpm/redhat/bind",
            "<=32:9.11.36",
            &["pkg:rpm/redhat/bind@9.11.36-8.el8?epoch=32", "pkg:rpm/bind@32:9.11.36-8.el8"],
        ),
    ] {
        let mut settings = packages(denied, versions);
        if versions.is_empty() {
            settings["acceptance"]["packages"]["deny"][0].as_object_mut().unwrap().remove("versions");
        }
        for purl in purls {
            let answer = world(sbom('a', spdx(&[fine(), package(purl, "MIT")]))).decide(IMAGE, &settings);
            assert!(!answer.allowed && said(&answer).contains("1 denied package: p "), "{purl}: {}", said(&answer));
        }
    }
}

/// A scanner that can't tell the publisher writes no namespace, and one that guesses writes another beside the whole name.
#[test]
fn who_published_a_package_may_not_be_known() {
    for purl in ["pkg:maven/log4j-core@2.14.1", "pkg:maven/Log4j-Core@2.14.1?type=jar"] {
        let bare = world(sbom('a', spdx(&[fine(), package(purl, "MIT")])));
        trap(Remedy::NamespacesMayBeMissing, &bare, IMAGE, &log4j(), "denied fresh", "allowed fresh");
    }
    let named = |purl: &str, name: &str| {
        let package = with(package(purl, "MIT"), &[("/name", json!(name))]);
        world(sbom('a', spdx(&[fine(), package])))
    };
    let guessed = named("pkg:maven/log4j-core/log4j-core@2.14.1", "org.apache.logging.log4j:log4j-core");
    trap(Remedy::EveryNameCounts, &guessed, IMAGE, &log4j(), "denied fresh", "allowed fresh");
    for (purl, name) in [
        ("pkg:maven/log4j-core@2.17.1", "log4j-core"),
        ("pkg:maven/log4j-core-its@2.14.1", "log4j-core-its"),
        ("pkg:maven/com.example/log4j-core@2.14.1", "log4j-core"),
        ("pkg:maven/com.example/log4j-core@2.14.1", "com.example:log4j-core"),
        ("pkg:npm/log4j-core@2.14.1", "log4j-core"),
    ] {
        decides(&named(purl, name), &log4j(), "allowed fresh");
    }
    // A whole publisher is denied where a publisher is told.
    let publisher = packages("pkg:maven/org.apache.logging.log4j/*", "<2.17.1");
    decides(&named("pkg:maven/jackson-core@2.14.1", "jackson-core"), &publisher, "allowed fresh");
}

/// What calls itself a file or an image is a package if a purl says so.
#[test]
fn no_purpose_hides_a_package() {
    let oci = json!({"referenceType": "purl", "referenceLocator": "pkg:oci/app@sha256:0"});
    for purpose in ["CONTAINER", "OPERATING-SYSTEM", "FILE", "APPLICATION", "SOURCE", "other"] {
        let mut hidden =
            with(package(&format!("{LOG4J}@2.14.1"), "MIT"), &[("/primaryPackagePurpose", json!(purpose))]);
        decides(&world(sbom('a', spdx(&[fine(), hidden.clone()]))), &log4j(), "denied fresh");
        hidden["externalRefs"].as_array_mut().unwrap().insert(0, oci.clone());
        decides(&world(sbom('a', spdx(&[fine(), hidden]))), &log4j(), "denied fresh");
    }
}

/// A package's name, its version and its licence are its publisher's.
#[test]
fn a_package_can_not_write_lines_of_its_own() {
    let forged = "x\nImage 'reg.io/team/app:1.0' is fine\u{202e}";
    let changes = [("/name", json!(forged)), ("/versionInfo", json!(forged)), ("/licenseDeclared", json!(forged))];
    let package = with(package(&format!("{LOG4J}@2.14.1"), "MIT"), &changes);
    let mut settings = log4j();
    settings["acceptance"]["licenses"] = json!({"deny": ["GPL-3.0-*"]});
    let answer = world(sbom('a', spdx(&[fine(), package]))).decide(IMAGE, &settings);
    let message = said(&answer);
    assert!(!answer.allowed && message.lines().count() == 2 && !message.contains('\u{202e}'), "{message}");
}
