//! Which entry of an index a report was made of. Whoever builds an image chooses what it says of its platform, and the order and the number
//! of an index's entries; scanners take one of them, and repeat those words.

use super::world::{World, digest};
use super::{IMAGE, beside, report, trap, trivy, with};
use image_admission_stub_host::manifest;
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};

const AMD64: &str = "linux/amd64";

/// Settings with one source, for these platforms.
fn settings(platforms: &[&str], source: &Value) -> Value {
    json!({"reports": {"platforms": platforms, "sources": [source]}})
}

fn beside_the_image() -> Value {
    json!({"registry": {"allowUnsigned": true}})
}

/// Grype's report of what `target` says, with one finding.
fn grype(target: &Value, severity: &str) -> Value {
    json!({"descriptor": {"name": "grype", "timestamp": "2026-11-20T10:00:00Z"}, "source": {"type": "image", "target": target},
           "matches": [{"vulnerability": {"id": "CVE-2026-1", "severity": severity}, "artifact": {"name": "p", "version": "1"}}]})
}

/// Kubescape's report under the digest of the index, of what `target` says.
fn kubescape(target: &Value) -> Value {
    json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
           "spec": {"payload": {"matches": null, "source": {"type": "image", "target": target}, "descriptor": {"name": "grype"}}},
           "metadata": {"name": "reg.io-team-app-1.0-ffffff", "namespace": "kubescape",
                        "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest('f')),
                                        "kubescape.io/image-tag": IMAGE}}})
}

/// An object of a kind of one's own, about the index.
fn custom(platform: &Value, digests: &Value) -> Value {
    json!({"apiVersion": "q/v1", "kind": "Scan", "metadata": {"name": "f".repeat(64), "namespace": "x"},
           "digest": digests, "image": "reg.io/team/app", "verdict": "pass", "platform": platform})
}

fn custom_source() -> Value {
    json!({"custom": {"apiVersion": "q/v1", "kind": "Scan", "namespaces": ["x"], "name": "{digestHex}", "platform": AMD64,
                      "fields": {"image": "image", "digest": "digest", "verdict": "verdict", "platform": "platform"}}})
}

fn cyclonedx(name: char, architecture: &str) -> Value {
    let purl = format!("pkg:oci/app@{}?arch={architecture}", digest(name).replace(':', "%3A"));
    json!({"bomFormat": "CycloneDX", "components": [{"bom-ref": "1", "name": "a"}],
           "metadata": {"timestamp": "2026-11-20T10:00:00Z", "component": {"type": "container", "bom-ref": "i", "name": "app", "purl": purl}},
           "vulnerabilities": [{"id": "CVE-1", "ratings": [{"severity": "low"}], "affects": [{"ref": "1"}]}]})
}

/// [`IMAGE`] as an index of an entry that says this of its platform, and of one for `linux/amd64` after it.
fn after(platform: Option<&Value>) -> World {
    let mut first = json!({"digest": digest('c')});
    if let Some(platform) = platform {
        first["platform"] = platform.clone();
    }
    let entries = [first, json!({"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}})];
    let world = ['a', 'c']
        .into_iter()
        .fold(World::default().image(IMAGE, 'f'), |world, letter| world.manifest(letter, manifest()));
    world.manifest('f', json!({"manifests": entries})).proven('f')
}

/// Scanners take the first entry that could be `linux/amd64`'s; nodes take the one that is.
#[test]
fn what_was_said_of_an_index_is_said_of_none_that_may_be_mistaken() {
    let amd64 = json!({"os": "linux", "architecture": "amd64"});
    let document = grype(&amd64, "Low");
    let old = trivy("web", "pod-p-app", json!(digest('f')));
    let v3 = json!({"os": "linux", "architecture": "amd64", "variant": "v3"});
    let listed = [
        (None, AMD64),
        (Some(json!({})), AMD64),
        (Some(json!({"os": "", "architecture": ""})), AMD64),
        (Some(v3), "linux/amd64/v1"),
    ];
    for (platform, asked) in listed {
        let world = || after(platform.as_ref());
        let of = |source: &Value| settings(&[asked], source);
        for (world, source) in [
            (world().artifact(&beside('f'), 'd', Some('f'), document.clone()), beside_the_image()),
            (world().object(old.clone()), json!({"trivyOperator": {}})),
            (world().object(kubescape(&amd64)), json!({"kubescape": {}})),
            (world().object(custom(&json!(AMD64), &json!(digest('f')))), custom_source()),
            (world().artifact(&beside('f'), 'd', Some('f'), cyclonedx('f', "amd64")), beside_the_image()),
        ] {
            trap(Remedy::MistakeNoEntry, &world, IMAGE, &of(&source), "denied other_image", "allowed fresh");
        }
        let refused =
            world().artifact(&beside('f'), 'd', Some('f'), document.clone()).decide(IMAGE, &of(&beside_the_image()));
        let message = refused.response["message"].as_str().unwrap();
        assert!(message.contains("and may be of another entry of it"), "{message}");
        // By its own digest nothing is mistaken.
        let world = world().artifact(&beside('a'), 'd', Some('a'), document.clone());
        assert!(world.decide(IMAGE, &of(&beside_the_image())).allowed);
    }
    // A tag is mistaken as an index's digest is.
    let by_tag = with(trivy("web", "pod-p-app", json!("")), &[("/report/artifact/tag", json!("1.0"))]);
    let source = json!({"trivyOperator": {"identity": "tag"}});
    trap(
        Remedy::MistakeNoEntry,
        &after(None).object(by_tag.clone()),
        IMAGE,
        &settings(&[AMD64], &source),
        "denied other_image",
        "allowed fresh",
    );
    let two = World::default().index(IMAGE, 'f', &[(AMD64, 'a'), ("linux/arm64", 'c')]);
    assert!(two.object(by_tag).decide(IMAGE, &settings(&[AMD64], &source)).allowed);
}

#[test]
fn a_document_that_names_an_entry_is_that_entrys() {
    let two = || World::default().index(IMAGE, 'f', &[(AMD64, 'a'), ("linux/arm64", 'c')]);
    let names = [format!("reg.io/team/app@{}", digest('f'))];
    let said = json!({"os": "linux", "architecture": "amd64", "manifestDigest": digest('c'), "repoDigests": names});
    let unsaid = json!({"manifestDigest": digest('c'), "repoDigests": names});
    let registry = json!({"registry": {"allowUnsigned": true, "platform": AMD64}});
    for document in [
        grype(&said, "Low"),
        grype(&unsaid, "Low"),
        cyclonedx('c', "amd64"),
        json!({"status": "pass", "detail": {}, "imageDigest": digest('c')}),
    ] {
        let world = two().artifact(&beside('f'), 'd', Some('f'), document.clone());
        trap(
            Remedy::NamedEntryDecides,
            &world,
            IMAGE,
            &settings(&[AMD64], &registry),
            "denied not_scanned",
            "allowed fresh",
        );
        // It is the one that it names, which words of an image don't change.
        assert!(world.decide(IMAGE, &settings(&["linux/arm64"], &registry)).allowed, "{document}");
    }
    for target in [&said, &unsaid] {
        let world = two().object(kubescape(target));
        let of = |platform| settings(&[platform], &json!({"kubescape": {}}));
        trap(Remedy::NamedEntryDecides, &world, IMAGE, &of(AMD64), "denied not_scanned", "allowed fresh");
    }
    let object = custom(&json!(AMD64), &json!([digest('f'), digest('c')]));
    let answer = two().object(object).decide(IMAGE, &settings(&[AMD64], &custom_source()));
    assert!(!answer.allowed, "{}", answer.response);
    let variants = World::default().index(IMAGE, 'f', &[("linux/arm/v7", 'a'), ("linux/arm/v6", 'c')]);
    let of_v6 = json!({"os": "linux", "architecture": "arm", "manifestDigest": digest('c'), "repoDigests": names});
    let world = variants.artifact(&beside('f'), 'd', Some('f'), grype(&of_v6, "Low"));
    assert!(!world.decide(IMAGE, &settings(&["linux/arm/v7"], &beside_the_image())).allowed);
}

/// What an image says of its platform must not hide what was found in it.
#[test]
fn what_was_found_in_an_entry_counts_whatever_the_image_says_of_itself() {
    let two = || World::default().index(IMAGE, 'f', &[(AMD64, 'a'), ("linux/arm64", 'c')]);
    let mut settings = settings(&[AMD64], &beside_the_image());
    settings["scanPolicies"] = json!({"reportPending": "accept"});
    let odd = json!({"os": "linux", "architecture": "amd64", "architectureVariant": "v3"});
    let named = json!({"os": "unknown", "architecture": "amd64", "manifestDigest": digest('a')});
    let of = |document: Value| two().artifact(&beside('a'), 'd', Some('a'), document);
    trap(
        Remedy::DoubtsClearNothing,
        &of(grype(&odd, "Critical")),
        IMAGE,
        &settings,
        "denied fresh",
        "allowed not_scanned",
    );
    let answer = of(grype(&named, "Critical")).decide(IMAGE, &settings);
    assert!(!answer.allowed, "{}", answer.response);
    // It clears nothing, unless it names the entry itself.
    let answer = of(grype(&odd, "Low")).decide(IMAGE, &json!({"reports": settings["reports"]}));
    assert!(!answer.allowed, "{}", answer.response);
    assert!(answer.response["message"].as_str().unwrap().contains("is for linux/amd64/v3"), "{}", answer.response);
    assert!(of(grype(&named, "Low")).decide(IMAGE, &json!({"reports": settings["reports"]})).allowed);
}

#[test]
fn what_is_no_platform_is_not_the_one_of_the_settings() {
    let three = || World::default().index(IMAGE, 'f', &[(AMD64, 'a'), ("linux/arm/v7", 'c'), ("linux/arm64", 'b')]);
    let registry = settings(&[AMD64], &json!({"registry": {"allowUnsigned": true, "platform": AMD64}}));
    for arm in ["arm", "ARM", "%61rm"] {
        let world = three().artifact(&beside('f'), 'd', Some('f'), cyclonedx('f', arm));
        for platform in [AMD64, "linux/arm/v7"] {
            let settings = settings(&[platform], &json!({"registry": {"allowUnsigned": true, "platform": AMD64}}));
            assert!(!world.decide(IMAGE, &settings).allowed, "{arm} {platform}");
        }
    }
    assert!(three().artifact(&beside('f'), 'd', Some('f'), cyclonedx('f', "amd64")).decide(IMAGE, &registry).allowed);
    let custom_settings = settings(&[AMD64], &custom_source());
    for platform in
        [json!({"os": "linux"}), json!(7), json!(true), json!([AMD64, "linux/arm64"]), json!(" "), json!("linux")]
    {
        let world = three().object(custom(&platform, &json!(digest('f'))));
        assert!(!world.decide(IMAGE, &custom_settings).allowed, "{platform}");
    }
    for platform in [json!(null), json!(""), json!([]), json!([AMD64]), json!(AMD64)] {
        let world = three().object(custom(&platform, &json!(digest('f'))));
        assert!(world.decide(IMAGE, &custom_settings).allowed, "{platform}");
    }
    let kubescape_settings = settings(&[AMD64], &json!({"kubescape": {}}));
    for target in
        [json!({"os": 1, "architecture": "arm64"}), json!({"architecture": "arm64"}), json!({"os": "windows"})]
    {
        let world = three().object(kubescape(&target));
        assert!(!world.decide(IMAGE, &kubescape_settings).allowed, "{target}");
    }
    assert!(three().object(kubescape(&json!({}))).decide(IMAGE, &kubescape_settings).allowed);
}

/// Of an image for two versions of Windows, messages say which of them has no report. Rules know both by one name.
#[test]
fn two_versions_of_one_system_are_told_apart() {
    let entry = |version: &str, letter: char| json!({"digest": digest(letter), "platform": {"os": "windows", "os.version": version, "architecture": "amd64"}});
    let index = json!({"manifests": [entry("10.0.17763.1", 'a'), entry("10.0.20348.2", 'b')]});
    let world = World::default().and(|host| host.tag(IMAGE, &digest('c'))).manifest('c', index).proven('c');
    let world = ['a', 'b'].into_iter().fold(world, |world, letter| world.manifest(letter, manifest()));
    let settings = json!({"reports": {"platforms": ["windows/amd64"]}});
    let said = |world: &World| world.decide(IMAGE, &settings).response["message"].to_string();
    let of = |letter: char| with(report(letter, &[]), &[("/imageMetadata/platform", json!("windows/amd64"))]);
    let none = said(&world);
    assert!(none.contains("windows(10.0.17763.1)/amd64, windows(10.0.20348.2)/amd64: no scan report yet"), "{none}");
    let one = said(&world.object(of('a')));
    assert!(!one.contains("windows(10.0.17763.1)/amd64") && one.contains("windows(10.0.20348.2)/amd64: "), "{one}");
    let linux = json!({"reports": {"platforms": ["linux/amd64"]}});
    let missing = World::default().and(|host| host.tag(IMAGE, &digest('c')));
    let index = json!({"manifests": [entry("10.0.17763.1", 'a')]});
    let answer = missing.manifest('c', index).proven('c').decide(IMAGE, &linux);
    let message = answer.response["message"].to_string();
    assert!(message.contains("none of its platforms (windows(10.0.17763.1)/amd64) is one"), "{message}");
}
