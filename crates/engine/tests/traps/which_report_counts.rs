//! Which of several reports counts, and whether one is of this image at all: each remedy at work and switched off.

use super::world::{World, digest};
use super::{IMAGE, beside, trap, trivy};
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};

const TARGET: &str = "reg.io/team/app";

/// Kubescape's object for [`IMAGE`], named after the digest that ends in these digits.
fn kubescape(digits: &str, digest: &str, spec: &Value) -> Value {
    json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest", "spec": spec,
           "metadata": {"name": format!("reg.io-team-app-1.0-{digits}"), "namespace": "kubescape",
                        "annotations": {"kubescape.io/image-id": format!("{TARGET}@{digest}"),
                                        "kubescape.io/image-tag": IMAGE}}})
}

fn kubescape_settings() -> Value {
    json!({"reports": {"sources": [{"kubescape": {}}]}})
}

/// Nothing found, in something that was scanned.
fn clean() -> Value {
    json!({"payload": {"matches": null, "source": {"type": "image"}, "descriptor": {"name": "grype"}}})
}

/// A list's items, and objects read without their contents, have everything but what was found.
#[test]
fn an_object_without_its_contents_is_not_clean() {
    let of = |spec: &Value| World::default().image(IMAGE, 'a').object(kubescape("aaaaaa", &digest('a'), spec));
    assert!(of(&clean()).decide(IMAGE, &kubescape_settings()).allowed, "nothing was found in what was scanned");
    let empty = json!({"metadata": {"report": {"createdAt": null}},
                       "payload": {"matches": null, "source": null, "descriptor": {"name": "", "version": ""}}});
    for spec in [json!(null), json!({}), json!({"payload": {}}), empty] {
        trap(Remedy::MatchesMustBeThere, &of(&spec), IMAGE, &kubescape_settings(), "denied failed", "allowed fresh");
    }
}

/// A name has six digits of a digest. Whoever pushes an image chooses them.
#[test]
fn a_report_that_shares_six_digits_is_another_images() {
    let same_end = format!("sha256:{}{}", "b".repeat(58), "f".repeat(6));
    let own = kubescape("ffffff", &digest('f'), &clean());
    let world = |object| World::default().object(object).index(IMAGE, 'f', &[("linux/amd64", 'a')]);
    assert!(world(own).decide(IMAGE, &kubescape_settings()).allowed);
    let other = world(kubescape("ffffff", &same_end, &clean()));
    trap(Remedy::WholeImageId, &other, IMAGE, &kubescape_settings(), "denied other_image", "allowed fresh");
}

/// An old report under the one name and a new one under the other: the new one knows what the old one knew.
#[test]
fn a_fresh_report_comes_before_a_stale_one() {
    let old = {
        let mut old = trivy("web", "pod-p-app", json!(digest('a')));
        old["report"]["updateTimestamp"] = json!("2026-01-01T00:00:00Z");
        old
    };
    let new = trivy("web", "replicaset-other-app", json!(digest('a')));
    let world = World::default().image(IMAGE, 'a').object(old).object(new);
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "maxAge": "24h"}});
    let image = format!("{IMAGE}@{}", digest('a'));
    trap(Remedy::FreshBeforeStale, &world, &image, &settings, "allowed fresh", "denied stale");
}

/// Whoever writes a Pod writes its name and its owner: of all reports of the image it may name the one of a workload that
/// was scanned before the finding was known.
#[test]
fn an_owner_that_a_pod_claims_chooses_no_report() {
    let report = |name: &str, criticals: u64| {
        let mut report = trivy("web", name, json!(digest('a')));
        report["report"]["summary"]["criticalCount"] = json!(criticals);
        if criticals > 0 {
            report["report"]["vulnerabilities"][0]["severity"] = json!("CRITICAL");
            report["report"]["summary"]["highCount"] = json!(0);
        }
        report
    };
    let world =
        World::default().image(IMAGE, 'a').object(report("pod-p-app", 0)).object(report("replicaset-web-1-app", 1));
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}]}});
    trap(Remedy::ClaimedNamesDontDecide, &world, IMAGE, &settings, "denied fresh", "allowed fresh");
    let answer = world.decide(IMAGE, &settings).response;
    let warned = answer["warnings"].to_string();
    assert!(warned.contains("has scan reports that disagree: the worst decides"), "{answer}");
}

#[test]
fn a_document_of_one_platform_says_nothing_about_another() {
    let document = json!({
        "descriptor": {"name": "grype"}, "matches": [],
        "source": {"type": "image", "target": {"os": "linux", "architecture": "amd64"}}});
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let world = world.artifact(&beside('f'), 'd', Some('f'), document);
    let settings = json!({"reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
    trap(Remedy::PlatformOfDocument, &world, IMAGE, &settings, "denied not_scanned", "allowed fresh");
}

/// A scan of an SBOM says whose it is where the SBOM did. Otherwise the artifact's subject does, and nothing else: the tag that it stands
/// at is chosen by whoever pushes.
#[test]
fn a_scan_of_an_sbom_is_whose_its_subject_says() {
    let document = |kind: &str, metadata: Value, severity: &str| {
        json!({"SchemaVersion": 2, "CreatedAt": "2026-11-20T10:00:00Z", "ArtifactName": "reg.io/team/app:1.0", "ArtifactType": kind,
               "Metadata": metadata, "Results": [{"Target": "t", "Class": "os-pkgs", "Type": "alpine",
               "Vulnerabilities": [{"VulnerabilityID": "CVE-1", "PkgName": "p", "Severity": severity}]}]})
    };
    let settings = json!({"reports": {"sources": [{"registry": {"allowUnsigned": true}}]}});
    let world = |subject: Option<char>, document: Value| {
        World::default().image(IMAGE, 'a').artifact(&beside('a'), 'd', subject, document)
    };
    let untold = json!({"OS": {"Family": "alpine", "Name": "3.22"}});
    let named = |letter: char| json!({"RepoDigests": [format!("reg.io/team/app@{}", digest(letter))]});
    for kind in ["cyclonedx", "spdx"] {
        for (subject, metadata, severity, expected) in [
            (Some('a'), untold.clone(), "LOW", "true fresh"),
            (Some('a'), untold.clone(), "CRITICAL", "false fresh"),
            (Some('b'), untold.clone(), "LOW", "false other_image"),
            (None, untold.clone(), "LOW", "false other_image"),
            (None, json!(null), "LOW", "false other_image"),
            (None, named('a'), "LOW", "true fresh"),
            (None, named('b'), "LOW", "false other_image"),
        ] {
            let answer = world(subject, document(kind, metadata.clone(), severity)).decide(IMAGE, &settings);
            assert_eq!(format!("{} {}", answer.allowed, answer.state), expected, "{kind} {subject:?} {metadata}");
        }
        let copied = world(Some('b'), document(kind, untold.clone(), "LOW"));
        trap(Remedy::MatchSubject, &copied, IMAGE, &settings, "denied other_image", "allowed fresh");
    }
    let files = world(Some('a'), document("filesystem", untold.clone(), "LOW")).decide(IMAGE, &settings);
    assert!(!files.allowed, "{}", files.response);
    assert!(files.response.to_string().contains("`trivy sbom` of its SBOM"), "{}", files.response);
    // Beside an index, nothing says of which platform the SBOM is.
    let index = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let index = index.artifact(&beside('f'), 'd', Some('f'), document("cyclonedx", untold, "LOW"));
    assert_eq!(index.decide(IMAGE, &settings).state, "not_scanned");
}

/// Of the index that the tag stands for, a policy in front pinned the one wanted platform. Reports are about what the tag was then.
#[test]
fn reports_of_the_tags_index_are_about_its_pinned_platform() {
    let both = [("linux/amd64", 'a'), ("linux/arm64", 'c')];
    let custom = json!({"custom": {"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "namespaces": ["web"], "name": "sha256.{digestHex}", "identity": "digest", "platform": "linux/amd64", "fields": {
            "registry": "report.registry.server", "repository": "report.artifact.repository", "digest": "report.artifact.digest",
            "findings": "report.vulnerabilities", "id": "vulnerabilityID", "severity": "severity"}}});
    let grype = json!({"descriptor": {"name": "grype", "timestamp": "2026-11-20T10:00:00Z"}, "matches": [],
        "source": {"type": "image", "target": {"manifestDigest": digest('f')}}});
    let pinned = |letter: char| format!("{IMAGE}@{}", digest(letter));
    type With = Box<dyn Fn(World) -> World>;
    let sources: [(Value, With); 4] = [
        (
            json!({"trivyOperator": {}}),
            Box::new(|world: World| world.object(trivy("web", "pod-p-app", json!(digest('f'))))),
        ),
        (json!({"kubescape": {}}), Box::new(|world: World| world.object(kubescape("ffffff", &digest('f'), &clean())))),
        (
            json!({"registry": {"allowUnsigned": true, "platform": "linux/amd64"}}),
            Box::new(move |world: World| world.artifact(&beside('f'), 'd', Some('f'), grype.clone())),
        ),
        (
            custom,
            Box::new(|world: World| {
                world.object(trivy("web", &format!("sha256.{}", "f".repeat(64)), json!(digest('f'))))
            }),
        ),
    ];
    for (source, with_report) in sources {
        let settings = |platforms: Value| json!({"reports": {"sources": [source], "platforms": platforms}});
        let one = settings(json!(["linux/amd64"]));
        let world = |platforms: &[(&str, char)]| with_report(World::default().index(IMAGE, 'f', platforms).proven('f'));
        let decides = |world: &World, image: &str, settings: &Value, is_allowed: bool| {
            let answer = world.decide(image, settings);
            assert_eq!(answer.allowed, is_allowed, "{image} {settings}: {}", answer.response);
            assert_eq!(answer.response["mutated_object"].is_null(), image.contains('@'), "{}", answer.response);
        };
        let first = world(&both).decide(IMAGE, &one);
        assert!(first.allowed, "{}", first.response);
        assert_eq!(first.response["audit_annotations"]["container-1.digest"], digest('f'));
        assert_eq!(first.response["mutated_object"]["spec"]["containers"][0]["image"], pinned('a'));
        decides(&world(&both), &pinned('a'), &one, true);
        // What is pinned isn't the wanted platform, or may not be what was scanned.
        decides(&world(&both), &pinned('c'), &one, false);
        decides(&world(&both), &pinned('a'), &settings(json!("all")), false);
        decides(&world(&[("linux/amd64", 'd'), ("linux/amd64", 'a')]), &pinned('a'), &one, false);
        decides(&world(&both).unproven(), &pinned('a'), &one, false);
        // The tag stands for something else now, or for nothing; or there is none, and no `latest`.
        decides(&world(&both).and(|host| host.tag(IMAGE, &digest('e'))), &pinned('a'), &one, false);
        decides(&world(&both), &format!("{TARGET}:2.0@{}", digest('a')), &one, false);
        decides(&world(&both), &format!("{TARGET}@{}", digest('a')), &one, false);
    }
    let latest = World::default().index(&format!("{TARGET}:latest"), 'f', &both).proven('f');
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "platforms": ["linux/amd64"]}});
    let by_latest = latest
        .object(trivy("web", "pod-p-app", json!(digest('f'))))
        .decide(&format!("{TARGET}@{}", digest('a')), &settings);
    assert!(by_latest.allowed, "{}", by_latest.response);
    assert_eq!(by_latest.response["audit_annotations"]["container-1.digest"], digest('a'));
}

/// An index hides more than a manifest can: where a Pod names one, its own platforms are judged, whatever another index says it is.
#[test]
fn what_is_an_index_is_no_platform_of_the_tags_index() {
    let entry = |architecture: &str, letter| json!({"digest": digest(letter), "platform": {"os": "linux", "architecture": architecture}});
    let nested = json!({"manifests": [entry("amd64", 'b'), entry("arm64", 'c')]});
    let of_index = trivy("web", "pod-p-app", json!(digest('f')));
    let world = || {
        World::default()
            .index(IMAGE, 'f', &[("linux/amd64", 'a')])
            .manifest('a', nested.clone())
            .object(of_index.clone())
    };
    let settings = json!({"reports": {"sources": [{"trivyOperator": {}}], "platforms": ["linux/amd64"]}});
    for world in [world().proven('a').proven('f'), world().proven('f')] {
        let answer = world.decide(&format!("{IMAGE}@{}", digest('a')), &settings);
        assert!(!answer.allowed, "{}", answer.response);
    }
}

/// The first source that knows the image decides, even if its report is old.
#[test]
fn a_source_that_knows_the_platform_is_not_passed_over_for_its_index() {
    let mut stale = kubescape(&format!("sha256-{}-aaaaaa", "a".repeat(64)), &digest('a'), &clean());
    stale["spec"]["metadata"] = json!({"report": {"createdAt": "2026-01-01T00:00:00Z"}});
    let grype = json!({"descriptor": {"name": "grype", "timestamp": "2026-11-20T10:00:00Z"}, "matches": [],
                       "source": {"type": "image", "target": {"manifestDigest": digest('f')}}});
    let platforms = [("linux/amd64", 'a'), ("linux/arm64", 'c')];
    let world = || World::default().index(IMAGE, 'f', &platforms).artifact(&beside('f'), 'd', Some('f'), grype.clone());
    let settings = json!({"reports": {"maxAge": "24h", "platforms": ["linux/amd64"], "sources": [
        {"kubescape": {}}, {"registry": {"allowUnsigned": true, "platform": "linux/amd64"}}]}});
    let pinned = format!("{IMAGE}@{}", digest('a'));
    assert!(world().decide(&pinned, &settings).allowed);
    let answer = world().object(stale).decide(&pinned, &settings);
    assert_eq!((answer.allowed, answer.state.as_str()), (false, "stale"), "{}", answer.response);
}

/// Another repository doesn't have the image whose digest its index lists: that says nothing of the image's id where it is.
#[test]
fn an_image_id_is_asked_for_where_the_image_is() {
    let mut bad = trivy("web", "replicaset-a-x", json!(digest('0')));
    bad["report"]["summary"]["criticalCount"] = json!(1);
    bad["report"]["summary"]["highCount"] = json!(0);
    bad["report"]["vulnerabilities"][0]["severity"] = json!("CRITICAL");
    let mut of_decoy = trivy("web", "replicaset-b-x", json!(digest('9')));
    of_decoy["report"]["artifact"]["repository"] = json!("evil/app");
    let index = json!({"manifests": [{"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}}]});
    let decoy = "reg.io/evil/app:1.0";
    let clean = json!({"descriptor": {"name": "grype"}, "matches": [],
                       "source": {"type": "image", "target": {"manifestDigest": digest('a')}}});
    let world = World::default()
        .image(IMAGE, 'a')
        .proven('a')
        .object(bad)
        .object(of_decoy)
        .artifact(&beside('a'), 'd', Some('a'), clean)
        .and(|host| host.tag(decoy, &digest('e')).manifest(&format!("reg.io/evil/app@{}", digest('e')), index))
        .proven('e');
    let settings = json!({"scanPolicies": {"customPolicies": [{"prefix": "reg.io/evil/", "action": "accept"}]},
        "reports": {"platforms": ["linux/amd64"], "sources": [{"trivyOperator": {}}, {"registry": {"allowUnsigned": true}}]}});
    for images in [vec![IMAGE], vec![IMAGE, decoy], vec![decoy, IMAGE]] {
        let answer = world.decide_all_at(&images, &settings, super::world::NOW);
        assert!(!answer.allowed, "{images:?}: {}", answer.response);
    }
}
