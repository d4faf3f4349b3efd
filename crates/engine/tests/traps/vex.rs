//! VEX beside reports: whose word it is, about which image and which package, since when, and what is asked for it.

use super::world::{World, digest};
use super::{IMAGE, KEY, finding, report, trap, trivy, with};
use image_admission_stub_host::REFUSED;
use image_admission_untrusted::remedy::Remedy;
use serde_json::{Value, json};

const OTHER_KEY: &str =
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyQ==\nother\n-----END PUBLIC KEY-----\n";

/// A place of VEX documents by an attestor.
fn place(name: &str, key: &str) -> Value {
    json!({"attestors": [{"name": name, "cosign": {"key": {"data": key}}}]})
}

fn settings() -> Value {
    json!({"reports": {"vex": [place("security", KEY)]}})
}

/// The image's own purl, as tools write it.
fn product(letter: char) -> String {
    format!("pkg:oci/app@sha256%3A{}?repository_url=reg.io%2Fteam%2Fapp", letter.to_string().repeat(64))
}

fn statement() -> Value {
    json!({"vulnerability": {"name": "CVE-1"}, "products": [{"@id": product('a')}],
           "status": "not_affected", "justification": "vulnerable_code_not_present"})
}

fn openvex(statements: &[Value]) -> Value {
    json!({"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://reg.io/vex/1", "author": "security",
           "timestamp": "2026-11-10T08:00:00Z", "version": 1, "statements": statements})
}

fn changed(pointer: &str, value: Value) -> Value {
    openvex(&[with(statement(), &[(pointer, value)])])
}

fn lacking(key: &str) -> Value {
    let mut statement = statement();
    statement.as_object_mut().unwrap().remove(key);
    openvex(&[statement])
}

fn tag(letter: char) -> String {
    format!("reg.io/team/app:sha256-{}.vex", letter.to_string().repeat(64))
}

fn artifact(letter: char) -> String {
    format!("reg.io/team/app@{}", digest(letter))
}

/// An image with one critical finding, in `pkg:apk/alpine/openssl@3.0`.
fn bad() -> World {
    World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL")]))
}

/// The same with a signed document beside it.
fn said(subject: Option<char>, document: Value) -> World {
    bad().artifact(&tag('a'), 'd', subject, document).signed(&artifact('d'), KEY)
}

/// Asserts that the finding rejects, and what the message says of it.
#[track_caller]
fn is_rejected(world: &World, settings: &Value, said: &str) {
    let answer = world.decide(IMAGE, settings);
    assert!(!answer.allowed && answer.state == "fresh", "{}", answer.response);
    let message = answer.response["message"].as_str().unwrap();
    assert!(message.contains(said), "{message}");
}

#[track_caller]
fn is_allowed(world: &World, settings: &Value) {
    let answer = world.decide(IMAGE, settings);
    assert!(answer.allowed, "{}", answer.response);
}

#[test]
fn a_signed_word_takes_a_finding_out_and_is_named() {
    let answer = said(Some('a'), openvex(&[statement()])).decide(IMAGE, &settings());
    assert!(answer.allowed, "{}", answer.response);
    assert_eq!(
        answer.response["audit_annotations"]["container-1.vex"],
        format!("CVE-1: not_affected (vulnerable_code_not_present), by security ({})", artifact('d'))
    );
    assert_eq!(answer.response["warnings"], Value::Null);
    let fixed = with(statement(), &[("/status", json!("fixed")), ("/justification", Value::Null)]);
    let answer = said(None, openvex(&[fixed])).decide(IMAGE, &settings());
    assert!(answer.allowed, "{}", answer.response);
    let said = answer.response["audit_annotations"]["container-1.vex"].as_str().unwrap();
    assert!(said.starts_with("CVE-1: fixed, by security"), "{said}");
}

/// One digest of a tag, and for each artifact who signed it and what it says; nothing for an image that is accepted, or that nothing
/// excuses.
#[test]
fn the_price_is_paid_where_a_finding_would_reject() {
    let asked = |world: &World, settings: &Value| {
        world.decide(IMAGE, settings);
        let calls = world.host.calls().into_iter().filter(|call| {
            let text = call.to_string();
            text.contains(".vex") || text.contains(&digest('d')) || text.contains(&digest('e'))
        });
        calls.map(|call| call.operation.clone()).collect::<Vec<_>>()
    };
    let all = ["v1/manifest_digest", "v2/verify", "v1/oci_manifest_config"];
    assert_eq!(asked(&said(Some('a'), openvex(&[statement()])), &settings()), all);
    assert!(asked(&said(Some('a'), openvex(&[statement()])), &json!({})).is_empty());
    let clean = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "HIGH")]));
    assert!(asked(&clean, &settings()).is_empty());
    let denied = with(settings(), &[("/acceptance", json!({"denyAlways": ["CVE-1"]}))]);
    is_rejected(&said(Some('a'), openvex(&[statement()])), &denied, "`denyAlways` names CVE-1");
    assert!(asked(&said(Some('a'), openvex(&[statement()])), &denied).is_empty());
    let ignored =
        json!({"acceptance": {"byNamespace": {"web": {"ignoreVexStatus": true}}}, "reports": settings()["reports"]});
    assert!(asked(&said(Some('a'), openvex(&[statement()])), &ignored).is_empty());
    // Two containers of one image, and two reports of it: once.
    let two = said(Some('a'), openvex(&[statement()])).object(with(
        report('a', &[finding("CVE-1", "CRITICAL")]),
        &[("/metadata/name", json!("z")), ("/imageMetadata/tag", json!("2.0"))],
    ));
    assert_eq!(asked(&two, &settings()), all);
}

/// A document that is copied beside another image is signed as well.
#[test]
fn a_document_of_another_image_takes_nothing_out() {
    let package = changed("/products", json!([{"@id": "pkg:apk/alpine/openssl@3.0"}]));
    let copied = said(Some('b'), package.clone());
    trap(Remedy::MatchSubject, &copied, IMAGE, &settings(), "denied fresh", "allowed fresh");
    is_rejected(&copied, &settings(), &format!("; VEX is of another image, {}", digest('b')));
    // Nor does one whose products are of another image, or of none.
    for (subject, products) in [
        (None, json!([{"@id": product('b')}])),
        (Some('a'), json!([{"@id": product('b')}])),
        (Some('a'), json!([{"@id": product('a'), "identifiers": {"purl": product('b')}}])),
        (Some('a'), json!([{"@id": "pkg:oci/other"}])),
        (Some('a'), json!([{"@id": "pkg:oci/app?tag=1.0"}])),
        (Some('a'), json!([{"@id": "pkg:oci/app@1.0"}])),
        (Some('a'), json!([{"@id": "https://example.com/app"}])),
        (Some('a'), json!([{"@id": "pkg:oci/app?repository_url=reg.io/evil/app"}])),
        (None, json!([{"@id": "pkg:oci/app"}])),
        (None, json!([{"@id": "pkg:apk/alpine/openssl@3.0"}])),
        (Some('a'), json!([{"@id": "pkg:apk/alpine/openssl@3.0", "hashes": {"sha-256": "b".repeat(64)}}])),
        (Some('a'), json!([{"hashes": {"sha-256": "b".repeat(64)}}])),
        (Some('a'), json!([{"hashes": {"sha-512": "a".repeat(128)}}])),
        (Some('a'), json!([{}])),
        (Some('a'), json!([])),
        (Some('a'), json!(null)),
    ] {
        let world = said(subject, changed("/products", products.clone()));
        let answer = world.decide(IMAGE, &settings());
        assert!(!answer.allowed, "{subject:?} {products}");
    }
    is_rejected(&said(None, package), &settings(), "; VEX names no digest of this image");
    for (subject, products) in [
        (None, json!([{"@id": product('a')}])),
        (Some('a'), json!([{"@id": "pkg:oci/app"}])),
        (Some('a'), json!([{"@id": "pkg:oci/app?repository_url=reg.io/team/app"}])),
        (None, json!([{"@id": format!("reg.io/team/app@{}", digest('a'))}])),
        (None, json!([{"@id": "https://example.com/app", "identifiers": {"purl": product('a')}}])),
        (None, json!([{"hashes": {"sha-256": "a".repeat(64)}}])),
        (None, json!([format!("pkg:docker/reg.io/team/app@{}", digest('a'))])),
        (None, json!([{"@id": product('b')}, {"@id": product('a')}])),
    ] {
        let world = said(subject, changed("/products", products.clone()));
        assert!(world.decide(IMAGE, &settings()).allowed, "{subject:?} {products}");
    }
}

#[test]
fn what_nobody_signed_takes_nothing_out() {
    let unsigned = bad().artifact(&tag('a'), 'd', Some('a'), openvex(&[statement()]));
    trap(Remedy::VerifySignature, &unsigned, IMAGE, &settings(), "denied fresh", "allowed fresh");
    is_rejected(
        &unsigned,
        &settings(),
        "; VEX is not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)",
    );
    let foreign = unsigned.signed(&artifact('d'), OTHER_KEY);
    trap(Remedy::VerifySignature, &foreign, IMAGE, &settings(), "denied fresh", "allowed fresh");
    is_rejected(&foreign, &settings(), "; VEX is signed, but not by security (its key)");
    // Where none is, nothing is said of it.
    let answer = bad().decide(IMAGE, &settings());
    assert!(!answer.allowed && !answer.response["message"].as_str().unwrap().contains("VEX"), "{}", answer.response);
}

#[test]
fn which_packages_are_named() {
    let part = |part: Value| changed("/products", json!([{"@id": product('a'), "subcomponents": [part]}]));
    let by_subject = |id: &str| (Some('a'), changed("/products", json!([{"@id": id}])));
    let other_version = said(None, part(json!({"@id": "pkg:apk/alpine/openssl@3.1"})));
    trap(Remedy::MatchVexProduct, &other_version, IMAGE, &settings(), "denied fresh", "allowed fresh");
    for (subject, document) in [
        (None, part(json!({"@id": "pkg:apk/alpine/openssl"}))),
        (None, part(json!({"@id": "pkg:apk/alpine/openssl@3.0"}))),
        (None, part(json!("pkg:apk/alpine/openssl@3.0"))),
        (None, part(json!({"@id": "_:ssl", "identifiers": {"purl": "pkg:apk/alpine/openssl@3.0"}}))),
        (
            None,
            with(openvex(&[statement()]), &[("/statements/0/subcomponents", json!(["pkg:apk/alpine/openssl@3.0"]))]),
        ),
        by_subject("pkg:apk/alpine/openssl@3.0"),
        by_subject("pkg:apk/alpine/openssl"),
        (None, changed("/products", json!([{"@id": product('a'), "subcomponents": null}]))),
    ] {
        assert!(said(subject, document.clone()).decide(IMAGE, &settings()).allowed, "{document}");
    }
    for (subject, document) in [
        (None, part(json!({"@id": "pkg:apk/alpine/zlib"}))),
        (None, part(json!({"@id": "pkg:apk/wolfi/openssl@3.0"}))),
        (None, part(json!({"@id": "pkg:deb/alpine/openssl@3.0"}))),
        (None, part(json!({"@id": "pkg:apk/alpine/openssl@3.0?arch=arm64"}))),
        (None, part(json!({"@id": "openssl"}))),
        (None, part(json!({"@id": "pkg:apk/alpine/openssl@3.0", "hashes": {"sha-256": "b".repeat(64)}}))),
        (None, part(json!({"@id": "pkg:apk/alpine/openssl", "identifiers": {"purl": "pkg:apk/alpine/openssl@3.1"}}))),
        // Who names no part at all where parts are listed doesn't mean all of it.
        (None, changed("/products", json!([{"@id": product('a'), "subcomponents": []}]))),
        (None, with(openvex(&[statement()]), &[("/statements/0/subcomponents", json!([]))])),
        by_subject("pkg:apk/alpine/openssl@3.1"),
        by_subject("pkg:apk/alpine/opens"),
    ] {
        is_rejected(
            &said(subject, document.clone()),
            &settings(),
            "; VEX of security says not_affected, but not of this package)",
        );
    }
    // A package in a package may be in the image twice.
    let nested =
        json!([{"@id": "pkg:golang/example.com/app@v1", "subcomponents": [{"@id": "pkg:apk/alpine/openssl@3.0"}]}]);
    let unsaid = "CVE-1 in openssl (fixed in 3.1) (";
    is_rejected(&said(Some('a'), changed("/products", nested)), &settings(), unsaid);
    // That other packages are affected is no reason.
    let affected = with(part(json!({"@id": "pkg:apk/alpine/zlib"})), &[("/statements/0/status", json!("affected"))]);
    is_rejected(&said(None, affected), &settings(), unsaid);
    // A package that the report doesn't name is in no package that is named; all of the image has it.
    let mut unnamed = finding("CVE-1", "CRITICAL");
    unnamed["purl"] = Value::Null;
    let world = |document: Value| {
        let world = World::default().image(IMAGE, 'a').object(report('a', &[unnamed.clone()]));
        world.artifact(&tag('a'), 'd', Some('a'), document).signed(&artifact('d'), KEY)
    };
    let part_alone = world(part(json!({"@id": "pkg:apk/alpine/openssl"})));
    is_rejected(&part_alone, &settings(), "VEX of security says not_affected, but not of this package");
    is_allowed(&world(openvex(&[statement()])), &settings());
    // One package has it no longer, the other has.
    let mut other = finding("CVE-1", "CRITICAL");
    other["purl"] = json!("pkg:apk/alpine/libssl@3.0");
    let world = World::default().image(IMAGE, 'a').object(report('a', &[finding("CVE-1", "CRITICAL"), other]));
    let world = world.artifact(&tag('a'), 'd', None, part(json!({"@id": "pkg:apk/alpine/openssl"})));
    is_rejected(&world.signed(&artifact('d'), KEY), &settings(), "1 critical finding");
}

/// vexctl leaves out what it doesn't know, and says of each statement when it was made; vexipy writes null.
#[test]
fn documents_as_tools_write_them() {
    let of_vexctl = json!({
        "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://openvex.dev/docs/public/vex-4d0ddb41", "author": "Unknown Author",
        "timestamp": "2026-11-14T17:25:52.227708106-06:00", "version": 1, "statements": [{
            "vulnerability": {"name": "CVE-1"}, "timestamp": "2026-11-14T17:25:52.227708816-06:00",
            "products": [{"@id": "pkg:oci/app"}], "status": "not_affected", "justification": "vulnerable_code_not_present"}],
    });
    let of_vexctl_1 = json!({
        "@context": "https://openvex.dev/ns", "@id": "my-vexdoc", "author": "John Doe", "role": "vex issuer", "version": "1",
        "statements": [{"timestamp": "2026-11-02T16:36:43-05:00", "products": [product('a')], "subcomponents": ["pkg:apk/alpine/openssl@3.0"],
                        "vulnerability": "CVE-1", "status": "fixed", "status_notes": ""}],
    });
    let of_vexipy = json!({
        "@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://openvex.dev/docs/x", "author": "security", "role": null,
        "timestamp": "2026-11-14T22:17:23.321636+00:00", "last_updated": null, "version": 1, "tooling": null, "statements": [{
            "@id": null, "version": null, "timestamp": "2026-11-14T22:17:23.321584+00:00", "last_updated": null,
            "vulnerability": {"@id": null, "name": "CVE-1", "description": null, "aliases": null},
            "products": [{"@id": product('a'), "identifiers": null, "hashes": {"sha-256": "a".repeat(64)}, "subcomponents": null}],
            "status": "not_affected", "supplier": null, "status_notes": null, "justification": "vulnerable_code_not_present",
            "impact_statement": null, "action_statement": null, "action_statement_timestamp": null}],
    });
    for document in [of_vexctl, of_vexctl_1, of_vexipy] {
        is_allowed(&said(Some('a'), document), &settings());
    }
}

#[test]
fn a_vulnerability_has_several_names() {
    for vulnerability in [
        json!("CVE-1"),
        json!("cve-1"),
        json!({"name": "CVE-1"}),
        json!({"@id": "https://nvd.nist.gov/vuln/detail/CVE-1", "name": "GHSA-1", "aliases": ["CVE-1"]}),
    ] {
        is_allowed(&said(None, changed("/vulnerability", vulnerability)), &settings());
    }
    for vulnerability in [
        json!(null),
        json!(""),
        json!("CVE-12"),
        json!("CVE-*"),
        json!({}),
        json!({"name": "GHSA-1"}),
        json!({"@id": "CVE-1"}),
        json!({"@id": "https://nvd.nist.gov/vuln/detail/CVE-1"}),
    ] {
        is_rejected(&said(None, changed("/vulnerability", vulnerability)), &settings(), "CVE-1");
    }
}

#[test]
fn not_affected_says_why() {
    let unjustified = said(None, lacking("justification"));
    trap(Remedy::JustifyVex, &unjustified, IMAGE, &settings(), "denied fresh", "allowed fresh");
    is_rejected(&unjustified, &settings(), "; VEX of security says not_affected without a justification)");
    for word in [json!(null), json!(""), json!("it is fine"), json!("Component_not_present")] {
        is_rejected(&said(None, changed("/justification", word)), &settings(), "without a justification");
    }
    let sentence = with(lacking("justification"), &[("/statements/0/impact_statement", json!("nobody calls it"))]);
    is_rejected(&said(None, sentence), &settings(), "without a justification");
}

#[test]
fn no_other_status_takes_anything_out() {
    for (status, shown) in [
        (json!("affected"), "VEX of security says affected)"),
        (json!("under_investigation"), "VEX of security says under_investigation)"),
        (json!("Fixed"), "VEX of security says Fixed)"),
        (json!(""), "VEX of security says nothing that is known)"),
        (json!(null), "VEX of security says nothing that is known)"),
    ] {
        is_rejected(&said(None, changed("/status", status)), &settings(), shown);
    }
}

fn at(time: &str, status: &str) -> Value {
    with(statement(), &[("/timestamp", json!(time)), ("/status", json!(status))])
}

#[test]
fn the_newest_word_of_an_attestor_counts() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    for status in ["affected", "under_investigation"] {
        let undone = said(None, openvex(&[at(before, "not_affected"), at(after, status)]));
        trap(Remedy::NewestWordCounts, &undone, IMAGE, &settings(), "denied fresh", "allowed fresh");
        is_rejected(&undone, &settings(), &format!("VEX of security says {status}"));
        is_allowed(&said(None, openvex(&[at(before, status), at(after, "not_affected")])), &settings());
        // At one time the worst counts, in whichever order.
        is_rejected(&said(None, openvex(&[at(after, "fixed"), at(after, status)])), &settings(), "CVE-1");
        is_rejected(&said(None, openvex(&[at(after, status), at(after, "fixed")])), &settings(), "CVE-1");
        // What says no time may be the newest, and what is about an unnamed product about all of it.
        for doubt in [
            with(at("", status), &[("/products", json!([{"@id": product('a')}]))]),
            with(
                at(after, status),
                &[("/products", json!([{"@id": product('a'), "subcomponents": [{"@id": "pkg:apk/alpine/openssl"}]}]))],
            ),
            with(at("2999-01-01T00:00:00Z", status), &[]),
        ] {
            is_rejected(&said(None, openvex(&[doubt, at(before, "not_affected")])), &settings(), "CVE-1");
        }
        let unnamed = with(at(after, status), &[("/products", json!(null))]);
        is_rejected(&said(Some('a'), openvex(&[unnamed, at(before, "not_affected")])), &settings(), "CVE-1");
        // Of another package, or of another image, it changes nothing.
        for products in [
            json!([{"@id": product('b')}]),
            json!([{"@id": product('a'), "subcomponents": [{"@id": "pkg:apk/alpine/zlib"}]}]),
        ] {
            let other = with(at(after, status), &[("/products", products)]);
            is_allowed(&said(Some('a'), openvex(&[other, at(before, "not_affected")])), &settings());
        }
    }
    // A later word that says no reason undoes one that does.
    let bare = with(at(after, "not_affected"), &[("/justification", Value::Null)]);
    is_rejected(&said(None, openvex(&[at(before, "not_affected"), bare])), &settings(), "without a justification");
}

/// Two documents beside one image: found by type, in the index of referrers.
fn two_documents(first: Value, second: Value, keys: [&str; 2]) -> World {
    const TYPE: &str = "application/vnd.openvex+json";
    let entry = |letter: char| json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest(letter), "size": 2, "artifactType": TYPE});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry('d'), entry('e')]});
    let world = bad()
        .artifact("reg.io/team/app:d", 'd', Some('a'), first)
        .artifact("reg.io/team/app:e", 'e', Some('a'), second)
        .manifest('f', index)
        .and(|host| host.tag(&format!("reg.io/team/app:sha256-{}", "a".repeat(64)), &digest('f')))
        .signed(&artifact('d'), keys[0])
        .signed(&artifact('e'), keys[1]);
    world.proven('f')
}

fn by_type() -> Value {
    let attestor = |name: &str, key: &str| json!({"name": name, "cosign": {"key": {"data": key}}});
    json!({"reports": {"vex": [{"artifactType": "application/vnd.openvex+json",
        "attestors": [attestor("security", KEY), attestor("vendor", OTHER_KEY)]}]}})
}

#[test]
fn nobodys_word_undoes_anothers_that_it_counts() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    let one = |time, status| openvex(&[at(time, status)]);
    let both = |first, second, keys| two_documents(first, second, keys);
    is_allowed(&both(one(before, "affected"), one(after, "fixed"), [KEY, KEY]), &by_type());
    is_rejected(
        &both(one(before, "affected"), one(after, "fixed"), [KEY, OTHER_KEY]),
        &by_type(),
        "VEX of security says affected",
    );
    is_rejected(
        &both(one(after, "fixed"), one(before, "affected"), [KEY, OTHER_KEY]),
        &by_type(),
        "VEX of vendor says affected",
    );
    is_allowed(&both(one(after, "fixed"), one(before, "fixed"), [KEY, OTHER_KEY]), &by_type());
    let bare = openvex(&[with(at(after, "not_affected"), &[("/justification", Value::Null)])]);
    is_allowed(&both(bare, one(before, "fixed"), [KEY, OTHER_KEY]), &by_type());
    // One that nobody signed keeps nobody's word from counting.
    is_allowed(&both(one(before, "affected"), one(before, "fixed"), ["nobody", KEY]), &by_type());
}

#[test]
fn what_clears_says_since_when() {
    let undated = with(openvex(&[statement()]), &[("/timestamp", Value::Null)]);
    for (document, said_of_it) in [
        (undated, "VEX of security says not_affected without a time"),
        (with(openvex(&[statement()]), &[("/timestamp", json!("yesterday"))]), "without a time"),
        (openvex(&[at("", "not_affected")]), "without a time"),
        (
            openvex(&[at("2026-11-20T12:10:01Z", "not_affected")]),
            "VEX of security says not_affected from 2026-11-20T12:10:01Z on",
        ),
    ] {
        let world = said(None, document);
        trap(Remedy::TimeOfVex, &world, IMAGE, &settings(), "denied fresh", "allowed fresh");
        is_rejected(&world, &settings(), said_of_it);
    }
    is_allowed(&said(None, openvex(&[at("2026-11-20T12:10:00Z", "not_affected")])), &settings());
}

#[test]
fn a_document_that_can_not_be_read_may_say_that_it_counts() {
    let unreadable = |document: Value| {
        let world = two_documents(openvex(&[statement()]), document, [KEY, KEY]);
        trap(Remedy::UnreadVexClearsNothing, &world, IMAGE, &by_type(), "denied fresh", "allowed fresh");
        let answer = world.decide(IMAGE, &by_type());
        answer.response["message"].as_str().unwrap().to_owned()
    };
    for (document, why) in [
        (json!({"SchemaVersion": 2}), "VEX is not used: a document is neither OpenVEX nor CycloneDX"),
        (with(openvex(&[]), &[("/@context", json!("https://openvex.dev/nsx"))]), "neither OpenVEX nor CycloneDX"),
        (with(openvex(&[]), &[("/bomFormat", json!("CycloneDX"))]), "OpenVEX and CycloneDX at once"),
        (json!([]), "a document is no JSON object"),
        (json!("not_affected"), "a document is no JSON object"),
        (with(openvex(&[]), &[("/statements", json!({}))]), "a document can't be read: invalid type: map"),
        (with(openvex(&[]), &[("/statements", json!(null))]), "a document can't be read"),
        (openvex(&[json!("affected")]), "a document can't be read"),
        (changed("/status", json!(["fixed"])), "a document can't be read"),
        (changed("/products", json!({"@id": product('a')})), "a document can't be read"),
        (changed("/products", json!([7])), "a document can't be read"),
        (changed("/vulnerability", json!(["CVE-1"])), "a document can't be read"),
        (changed("/timestamp", json!(7)), "a document can't be read"),
        // Readers in Go take it for the field.
        (changed("/Status", json!("affected")), "the key `Status` is another spelling of `status`"),
        (with(openvex(&[]), &[("/Statements", json!([]))]), "the key `Statements` is another spelling"),
        (changed("/vulnerability", json!({"Name": "CVE-1"})), "the key `Name` is another spelling"),
        (changed("/products", json!([{"@ID": product('a')}])), "the key `@ID` is another spelling"),
        (openvex(&vec![statement(); 10_001]), "a document has more than 10000 statements"),
    ] {
        let message = unreadable(document);
        assert!(message.contains(why), "{message}");
    }
    // An empty document says nothing, and hides nothing.
    is_allowed(&two_documents(openvex(&[statement()]), openvex(&[]), [KEY, KEY]), &by_type());
    is_rejected(&said(Some('a'), openvex(&[])), &settings(), "CVE-1");
}

#[test]
fn a_look_up_that_failed_takes_nothing_out_and_says_so() {
    let forgiving = with(
        settings(),
        &[
            ("/scanPolicies", json!({"scanFailed": "accept-outages", "reportPending": "accept"})),
            ("/registries", json!(["reg.io"])),
        ],
    );
    // By its digest nothing is asked of the image's tag.
    let by_digest = format!("reg.io/team/app@{}", digest('a'));
    for operation in ["v1/manifest_digest", "v2/verify", "v1/oci_manifest_config"] {
        let world = said(Some('a'), openvex(&[statement()])).and(|host| host.fails(operation, REFUSED));
        let answer = world.decide(&by_digest, &forgiving);
        assert!(!answer.allowed && answer.state == "fresh", "{operation}: {}", answer.response);
        let message = answer.response["message"].as_str().unwrap();
        assert!(
            message.contains("; VEX documents can't be looked up: the registry refuses the connection"),
            "{message}"
        );
    }
    // What stands at another place could say that it counts: what is there is no index.
    let other = with(
        json!({"artifactType": "application/vnd.openvex+json"}),
        &[("/attestors", place("vendor", KEY)["attestors"].clone())],
    );
    let both = json!({"reports": {"vex": [place("security", KEY), other]}});
    let world = said(Some('a'), openvex(&[statement()]));
    is_allowed(&world, &both);
    let no_index = world.and(|host| host.tag(&tag('a').replace(".vex", ""), &digest('d')));
    is_rejected(&no_index, &both, "; VEX documents can't be looked up: ");
    // More than anybody reads.
    let many: Vec<Value> = (0..17)
        .map(|n| {
            json!({"mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": format!("sha256:{n:064x}"), "size": 2, "artifactType": "application/vnd.openvex+json"})
        })
        .collect();
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": many});
    let world = bad()
        .manifest('f', index)
        .and(|host| host.tag(&format!("reg.io/team/app:sha256-{}", "a".repeat(64)), &digest('f')));
    let world = world.proven('f');
    is_rejected(&world, &by_type(), "has 17 artifacts of one type, 16 are the most");
    // What can't be looked up at one place could say that what is cleared at another counts.
    let world = world.artifact(&tag('a'), 'd', Some('a'), openvex(&[statement()])).signed(&artifact('d'), KEY);
    is_allowed(&world, &settings());
    let both = json!({"reports": {"vex": [place("security", KEY), by_type()["reports"]["vex"][0]]}});
    is_rejected(&world, &both, "; VEX documents can't be looked up: ");
}

#[test]
fn a_repository_of_its_own() {
    let elsewhere = with(settings(), &[("/reports/vex/0/repository", json!("vex.io/vex/{repository}"))]);
    let tag = format!("vex.io/vex/team/app:sha256-{}.vex", "a".repeat(64));
    let world = bad().artifact(&tag, 'd', Some('a'), openvex(&[statement()]));
    let world = world.signed(&format!("vex.io/vex/team/app@{}", digest('d')), KEY);
    is_allowed(&world, &elsewhere);
    is_rejected(&world, &settings(), "CVE-1");
}

/// What is said of one platform needn't hold for another; what is said of the index does.
#[test]
fn each_platform_is_its_own() {
    let arm64 = |entries: &[Value]| with(report('c', entries), &[("/imageMetadata/platform", json!("linux/arm64"))]);
    let index = || {
        World::default()
            .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
            .object(report('a', &[finding("CVE-1", "CRITICAL")]))
            .object(arm64(&[finding("CVE-1", "CRITICAL")]))
    };
    let of = |letter: char| changed("/products", json!([{"@id": product(letter)}]));
    let one = index().artifact(&tag('a'), 'd', Some('a'), of('a')).signed(&artifact('d'), KEY);
    is_rejected(&one, &settings(), "linux/arm64: 1 critical finding");
    let other = one.artifact(&tag('c'), 'e', Some('c'), of('c')).signed(&artifact('e'), KEY);
    is_allowed(&other, &settings());
    let whole = index().artifact(
        &tag('f'),
        'd',
        Some('f'),
        with(of('f'), &[("/statements/0/products", json!([{"@id": "pkg:oci/app"}]))]),
    );
    is_allowed(&whole.signed(&artifact('d'), KEY), &settings());
    // One document beside the index for one of its platforms.
    let partly = index().artifact(&tag('f'), 'd', None, of('a')).signed(&artifact('d'), KEY);
    is_rejected(&partly, &settings(), "linux/arm64: 1 critical finding");
    // One report of both platforms is judged for each.
    let verdictless = json!({"descriptor": {"name": "grype", "version": "0.80.0"}, "source": {"type": "image", "target": {}},
        "matches": [{"vulnerability": {"id": "CVE-1", "severity": "Critical"}, "artifact": {"name": "openssl", "purl": "pkg:apk/alpine/openssl@3.0"}}]});
    let scan = format!("reg.io/team/app:sha256-{}.scan", "f".repeat(64));
    let world = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/amd64/v2", 'c')])
        .artifact(&scan, 'b', Some('f'), verdictless)
        .artifact(&tag('a'), 'd', Some('a'), of('a'))
        .signed(&artifact('d'), KEY);
    let registry = with(
        settings(),
        &[("/reports/sources", json!([{"registry": {"allowUnsigned": true, "platform": "linux/amd64"}}]))],
    );
    assert!(!world.decide(IMAGE, &registry).allowed);
}

fn cyclonedx(state: &str) -> Value {
    json!({"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": "urn:uuid:1", "version": 1,
        "metadata": {"timestamp": "2026-11-10T08:00:00Z",
            "component": {"type": "container", "bom-ref": "image", "name": "app", "purl": product('a')}},
        "components": [{"type": "library", "bom-ref": "ssl", "name": "openssl", "version": "3.0", "purl": "pkg:apk/alpine/openssl"}],
        "vulnerabilities": [{"id": "CVE-1", "analysis": {"state": state, "justification": "code_not_reachable"},
                             "affects": [{"ref": "image"}]}]})
}

#[test]
fn cyclonedx_says_the_same() {
    let affects = |affects: Value| with(cyclonedx("resolved"), &[("/vulnerabilities/0/affects", affects)]);
    for (state, shown) in [
        ("not_affected", "CVE-1: not_affected (code_not_reachable), by security"),
        ("resolved", "CVE-1: resolved, by security"),
        ("resolved_with_pedigree", "CVE-1: resolved_with_pedigree, by security"),
    ] {
        let answer = said(None, cyclonedx(state)).decide(IMAGE, &settings());
        assert!(answer.allowed, "{}", answer.response);
        let said = answer.response["audit_annotations"]["container-1.vex"].as_str().unwrap();
        assert!(said.starts_with(shown), "{said}");
    }
    for (state, shown) in [
        ("false_positive", "VEX of security says false_positive without a justification"),
        ("in_triage", "VEX of security says in_triage"),
        ("exploitable", "VEX of security says exploitable"),
        ("fine", "VEX of security says fine"),
    ] {
        is_rejected(&said(None, cyclonedx(state)), &settings(), shown);
    }
    let bare = with(cyclonedx("not_affected"), &[("/vulnerabilities/0/analysis/justification", Value::Null)]);
    is_rejected(&said(None, bare), &settings(), "not_affected without a justification");
    // What nobody analysed is what a scanner found.
    let found = with(cyclonedx("resolved"), &[("/vulnerabilities/0/analysis", Value::Null)]);
    is_rejected(&said(None, found), &settings(), "CVE-1 in openssl (fixed in 3.1) (");
    for (subject, affected) in [
        (None, json!([{"ref": product('a')}])),
        (Some('a'), json!([{"ref": "ssl"}])),
        (Some('a'), json!([{"ref": "urn:cdx:1/1#ssl"}])),
        (Some('a'), json!([{"ref": "pkg:apk/alpine/openssl@3.0"}])),
        (Some('a'), json!([{"ref": "urn:cdx:9/1#pkg%3Aapk%2Falpine%2Fopenssl%403.0"}])),
        (
            Some('a'),
            json!([{"ref": "ssl", "versions": [{"version": "2.0", "status": "affected"}, {"version": "3.0", "status": "unaffected"}]}]),
        ),
        (
            Some('a'),
            json!([{"ref": "pkg:apk/alpine/openssl", "versions": [{"version": "3.0", "status": "unaffected"}]}]),
        ),
    ] {
        is_allowed(&said(subject, affects(affected)), &settings());
    }
    for (subject, affected) in [
        (Some('a'), json!(null)),
        (Some('a'), json!([])),
        (Some('a'), json!([{}])),
        (None, json!([{"ref": "ssl"}])),
        (Some('a'), json!([{"ref": "other"}])),
        // Another document's `ssl` may be anything.
        (Some('a'), json!([{"ref": "urn:cdx:9/1#ssl"}])),
        (Some('a'), json!([{"ref": "pkg:apk/alpine/openssl@3.1"}])),
        (Some('a'), json!([{"ref": "ssl", "versions": [{"version": "3.0", "status": "affected"}]}])),
        (Some('a'), json!([{"ref": "ssl", "versions": [{"version": "3.0"}]}])),
        (Some('a'), json!([{"ref": "ssl", "versions": [{"version": "3.1", "status": "unaffected"}]}])),
        (Some('a'), json!([{"ref": "ssl", "versions": [{"range": "vers:apk/>=1", "status": "unaffected"}]}])),
        (Some('a'), json!([{"ref": "ssl", "versions": []}])),
        (None, json!([{"ref": "image", "versions": [{"version": "3.0", "status": "unaffected"}]}])),
        (None, json!([{"ref": product('b')}])),
    ] {
        is_rejected(&said(subject, affects(affected)), &settings(), "CVE-1");
    }
    // Two components that are called the same: nobody can tell which one is meant.
    let twice = json!([{"bom-ref": "ssl", "purl": "pkg:apk/alpine/openssl"}, {"bom-ref": "ssl", "purl": "pkg:apk/alpine/zlib"}]);
    let twice = with(affects(json!([{"ref": "ssl"}])), &[("/components", twice)]);
    is_rejected(&said(Some('a'), twice), &settings(), "CVE-1");
    // The newest: of the analysis, or else of the document.
    let ahead =
        with(cyclonedx("resolved"), &[("/vulnerabilities/0/analysis/lastUpdated", json!("2999-01-01T00:00:00Z"))]);
    is_rejected(&said(None, ahead), &settings(), "VEX of security says resolved from 2999-01-01T00:00:00Z on");
    let undated = with(cyclonedx("resolved"), &[("/metadata/timestamp", Value::Null)]);
    is_rejected(&said(None, undated.clone()), &settings(), "without a time");
    is_allowed(
        &said(None, with(undated, &[("/vulnerabilities/0/analysis/firstIssued", json!("2026-11-01T00:00:00Z"))])),
        &settings(),
    );
    let alias = with(
        cyclonedx("resolved"),
        &[("/vulnerabilities/0/id", json!("GHSA-1")), ("/vulnerabilities/0/references", json!([{"id": "CVE-1"}]))],
    );
    is_allowed(&said(None, alias), &settings());
    // A bill of materials has no word to say.
    let bill = with(cyclonedx("resolved"), &[("/vulnerabilities", Value::Null)]);
    is_rejected(&said(Some('a'), bill), &settings(), "CVE-1 in openssl (fixed in 3.1) (");
}

/// The reports of each source are read as far as VEX looks.
#[test]
fn every_source_asks_for_what_vex_looks_at() {
    let document =
        changed("/products", json!([{"@id": product('a'), "subcomponents": [{"@id": "pkg:apk/alpine/curl@7"}]}]));
    let settings = |source: Value| {
        json!({"reports": {"sources": [source], "platforms": ["linux/amd64"], "vex": [place("security", KEY)]},
               "acceptance": {"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}}}})
    };
    let mut own = finding("CVE-1", "CRITICAL");
    own["purl"] = json!("pkg:apk/alpine/curl@7");
    let grype = json!({"descriptor": {"name": "grype", "version": "0.80.0"}, "distro": {"name": "alpine"},
        "source": {"type": "image", "target": {"manifestDigest": digest('a'), "os": "linux", "architecture": "amd64"}},
        "matches": [{"vulnerability": {"id": "GHSA-1", "severity": "Critical"}, "relatedVulnerabilities": [{"id": "CVE-1"}],
                     "artifact": {"name": "curl", "purl": "pkg:apk/alpine/curl@7"}}]});
    let kubescape = json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
        "metadata": {"name": "reg.io-team-app-1.0-aaaaaa", "namespace": "kubescape",
                     "annotations": {"kubescape.io/image-id": format!("reg.io/team/app@{}", digest('a'))}},
        "spec": {"payload": {"source": grype["source"], "matches": grype["matches"]}}});
    let world = || World::default().image(IMAGE, 'a');
    let scan = format!("reg.io/team/app:sha256-{}.scan", "a".repeat(64));
    let custom = json!({"custom": {"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
        "namespaces": ["web"], "name": "sha256.{digestHex}", "identity": "digest", "fields": {
            "registry": "report.registry.server", "repository": "report.artifact.repository", "digest": "report.artifact.digest",
            "findings": "report.vulnerabilities", "id": "vulnerabilityID", "severity": "severity", "purl": "packagePURL"}}});
    let of_trivy = || trivy("web", "pod-p-app", json!(digest('a')));
    let mirrored = trivy("web", &format!("sha256.{}", "a".repeat(64)), json!(digest('a')));
    for (name, world, source) in [
        ("sbomscanner", world().object(report('a', &[own])), json!({"sbomscanner": {}})),
        ("trivyOperator", world().object(of_trivy()), json!({"trivyOperator": {}})),
        ("kubescape", world().object(kubescape), json!({"kubescape": {}})),
        ("registry", world().artifact(&scan, 'b', Some('a'), grype), json!({"registry": {"allowUnsigned": true}})),
        ("custom", world().object(mirrored), custom),
    ] {
        let settings = settings(source);
        assert!(!world.decide(IMAGE, &settings).allowed, "{name}");
        let world = world.artifact(&tag('a'), 'd', None, document.clone()).signed(&artifact('d'), KEY);
        let answer = world.decide(IMAGE, &settings);
        assert!(answer.allowed, "{name}: {}", answer.response);
    }
}

/// What it takes out doesn't count for any gate, and comes before exemptions and what runs.
#[test]
fn it_comes_before_all_gates() {
    let mut exploited = finding("CVE-1", "LOW");
    exploited["knownExploited"] = json!(true);
    exploited["epssScore"] = json!("0.9");
    let world = World::default().image(IMAGE, 'a').object(report('a', &[exploited]));
    for gate in
        [json!({"knownExploited": {}}), json!({"epss": {"score": 0.5}}), json!({"maxSeverity": {"low": {"total": 0}}})]
    {
        let settings = with(settings(), &[("/acceptance", gate)]);
        is_rejected(&world, &settings, "CVE-1");
    }
    let world = world.artifact(&tag('a'), 'd', None, openvex(&[statement()])).signed(&artifact('d'), KEY);
    for gate in
        [json!({"knownExploited": {}}), json!({"epss": {"score": 0.5}}), json!({"maxSeverity": {"low": {"total": 0}}})]
    {
        is_allowed(&world, &with(settings(), &[("/acceptance", gate)]));
    }
    let exempted = with(
        settings(),
        &[
            ("/exemptions", json!([{"vulnerability": "CVE-1", "reason": "T", "expires": "2027-01-31"}])),
            ("/exemptionsFrom", json!({"workloadNamespace": true})),
        ],
    );
    let answer = said(None, openvex(&[statement()])).decide(IMAGE, &exempted);
    assert!(answer.allowed && answer.response["audit_annotations"]["container-1.exemptions"] != Value::Null);
    // What an object exempts beside it is still exempted, and what runs may still start.
    let object = json!({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageExemption",
        "metadata": {"name": "cve-2", "namespace": "web", "creationTimestamp": "2026-11-01T09:00:00Z"},
        "spec": {"vulnerability": "CVE-2", "reason": "T", "expires": "2026-11-30"}});
    let world = World::default()
        .image(IMAGE, 'a')
        .object(report('a', &[finding("CVE-1", "CRITICAL"), finding("CVE-2", "CRITICAL")]))
        .artifact(&tag('a'), 'd', None, openvex(&[statement()]))
        .signed(&artifact('d'), KEY);
    let both = with(settings(), &[("/exemptionsFrom", json!({"workloadNamespace": true}))]);
    is_rejected(&world, &both, "1 critical finding, at most 0 accepted: CVE-2");
    is_allowed(&world.object(object), &both);
}

/// Texts of others are one line, and bounded.
#[test]
fn a_document_can_not_write_lines_of_its_own() {
    let long = format!("a\nb{}", "x".repeat(500));
    let answer = said(None, changed("/status", json!(long))).decide(IMAGE, &settings());
    let message = answer.response["message"].as_str().unwrap();
    assert!(!message.contains("a\nb") && message.chars().count() < 1_200, "{message}");
}

/// What a purl says beside the digest says less than all of the image.
#[test]
fn a_digest_may_be_of_one_platform_or_of_a_file() {
    let index = || {
        World::default()
            .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64/v8", 'c')])
            .object(report('a', &[finding("CVE-1", "CRITICAL")]))
            .object(with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]))
    };
    let beside = |world: World, letter: char, id: &str| {
        let document = changed("/products", json!([{"@id": id}]));
        world.artifact(&tag(letter), 'd', None, document).signed(&artifact('d'), KEY)
    };
    let purl = |letter: char, rest: &str| format!("pkg:oci/app@sha256%3A{}{rest}", letter.to_string().repeat(64));
    let other = beside(index(), 'f', &purl('f', "?arch=arm64&repository_url=reg.io/team/app"));
    trap(Remedy::NarrowVexProduct, &other, IMAGE, &settings(), "denied fresh", "allowed fresh");
    for rest in ["", "?arch=amd64&repository_url=reg.io/team/app", "?arch=x86_64&os=linux", "?tag=1.0&media_type=x"] {
        is_allowed(&beside(index(), 'f', &purl('f', rest)), &settings());
        is_allowed(&beside(index(), 'a', &purl('a', rest)), &settings());
    }
    for rest in
        ["?os=windows", "?arch=amd64&variant=v3", "#usr/bin/tool", "?file=tool", "?arch", "?arch=amd64&arch=arm64"]
    {
        is_rejected(&beside(index(), 'f', &purl('f', rest)), &settings(), "CVE-1");
        is_rejected(&beside(index(), 'a', &purl('a', rest)), &settings(), "CVE-1");
    }
    // A manifest that stands alone is of one platform, and says itself which.
    is_allowed(&beside(bad(), 'a', &purl('a', "?arch=arm64")), &settings());
    for id in [
        "pkg:oci/app#usr/bin/tool",
        "pkg:oci/app?repository_url=reg.io/team/app:old",
        "pkg:oci/x/app",
        "pkg:docker/app",
    ] {
        is_rejected(&said(Some('a'), changed("/products", json!([{"@id": id}]))), &settings(), "CVE-1");
    }
}

/// What says that a finding counts is believed as far as it may be meant.
#[test]
fn what_may_say_that_it_counts_does() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    let world = |subject: Option<char>, change: &dyn Fn(Value) -> Value| {
        said(subject, openvex(&[at(before, "not_affected"), change(at(after, "affected"))]))
    };
    let part = |parts: Value| json!([{"@id": product('a'), "subcomponents": parts}]);
    for (subject, products) in [
        (None, part(json!([]))),
        (None, part(json!([{"@id": "cpe:2.3:a:openssl:openssl:3.0"}]))),
        (None, part(json!([{"@id": "pkg:apk/alpine/zlib"}, {"@id": "cpe:2.3:a:openssl:openssl:3.0"}]))),
        (None, part(json!([{"@id": "pkg:apk/alpine/zlib", "hashes": {"sha-256": "b".repeat(64)}}]))),
        (None, part(json!([{"@id": "pkg:apk/Alpine/OpenSSL@3.0?arch=arm64&distro=3.1#lib"}]))),
        (None, json!([{"@id": format!("{}&arch=arm64#usr/bin/tool", product('a'))}])),
        (Some('a'), json!([{"@id": "pkg:apk/alpine/openssl@3.0", "hashes": {"sha-256": "b".repeat(64)}}])),
        (Some('a'), json!([{"@id": "pkg:apk/alpine/openssl@3.0?arch=arm64"}])),
        (Some('a'), json!([{"hashes": {"sha-256": "b".repeat(64)}}])),
        (Some('a'), json!([{"@id": product('b')}, {"@id": "pkg:oci/app"}])),
        // Its other statement names this image: so it is near.
        (None, json!(null)),
        (None, json!([])),
        (None, json!([{"@id": "pkg:oci/app"}])),
        (None, json!([{"@id": "pkg:apk/alpine/openssl"}])),
    ] {
        let world = world(subject, &|affected| with(affected, &[("/products", products.clone())]));
        is_rejected(&world, &settings(), "VEX of security says affected");
    }
    for (subject, products) in [
        (None, json!([{"@id": product('b')}])),
        (Some('a'), json!([{"@id": product('b'), "hashes": {"sha-256": "b".repeat(64)}}])),
        (Some('a'), json!([{"@id": "pkg:apk/alpine/zlib", "hashes": {"sha-256": "b".repeat(64)}}])),
        (None, part(json!([{"@id": "pkg:apk/alpine/openssl@3.1"}]))),
    ] {
        is_allowed(&world(subject, &|affected| with(affected, &[("/products", products.clone())])), &settings());
    }
    // The Pod names one platform's digest, and the document is about the index that has it.
    let of_index = world(Some('a'), &|affected| with(affected, &[("/products", json!([{"@id": product('f')}]))]));
    let answer = of_index.decide(&format!("reg.io/team/app@{}", digest('a')), &settings());
    assert!(!answer.allowed, "{}", answer.response);
    // A finding whose package isn't known may be in any.
    let mut unnamed = finding("CVE-1", "CRITICAL");
    unnamed["purl"] = Value::Null;
    let of_zlib = with(at(after, "affected"), &[("/products", part(json!([{"@id": "pkg:apk/alpine/zlib"}])))]);
    let world = World::default().image(IMAGE, 'a').object(report('a', &[unnamed])).artifact(
        &tag('a'),
        'd',
        None,
        openvex(&[at(before, "not_affected"), of_zlib]),
    );
    is_rejected(&world.signed(&artifact('d'), KEY), &settings(), "VEX of security says affected");
}

/// A team signs its vendor's document as well, and changes its mind: the vendor hasn't.
#[test]
fn what_two_signed_is_the_word_of_both() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    let one = |time, status| openvex(&[at(time, status)]);
    let both = two_documents(one(before, "affected"), one(after, "not_affected"), [KEY, KEY]);
    is_allowed(&both, &by_type());
    let both = both.signed(&artifact('d'), OTHER_KEY);
    trap(Remedy::AskEverySigner, &both, IMAGE, &by_type(), "denied fresh", "allowed fresh");
    is_rejected(&both, &by_type(), "VEX of vendor says affected");
    // Two places may call others by one name, and names are told by all of their letters.
    let long = "x".repeat(80);
    for (first, second) in [("security".to_owned(), "security".to_owned()), (format!("{long}1"), format!("{long}2"))] {
        let other = with(place(&second, OTHER_KEY), &[("/tagSuffix", json!("other"))]);
        let settings = json!({"reports": {"vex": [place(&first, KEY), other]}});
        let at_other = tag('a').replace(".vex", ".other");
        let world = said(Some('a'), one(after, "not_affected"))
            .artifact(&at_other, 'e', Some('a'), one(before, "affected"))
            .signed(&artifact('e'), OTHER_KEY);
        is_rejected(&world, &settings, "says affected");
    }
    // One attestor of two places undoes their own word.
    let other = with(place("security", KEY), &[("/tagSuffix", json!("other"))]);
    let settings = json!({"reports": {"vex": [place("security", KEY), other]}});
    let world = said(Some('a'), one(after, "not_affected"))
        .artifact(&tag('a').replace(".vex", ".other"), 'e', Some('a'), one(before, "affected"))
        .signed(&artifact('e'), KEY);
    is_allowed(&world, &settings);
}

/// An advisory is about several vulnerabilities, and each of them must be cleared.
#[test]
fn a_finding_of_several_vulnerabilities() {
    let scan = format!("reg.io/team/app:sha256-{}.scan", "a".repeat(64));
    let grype = json!({"descriptor": {"name": "grype", "version": "0.80.0"},
        "source": {"type": "image", "target": {"manifestDigest": digest('a'), "os": "linux", "architecture": "amd64"}},
        "matches": [{"vulnerability": {"id": "ELSA-1", "severity": "Critical"},
                     "relatedVulnerabilities": [{"id": "CVE-1"}, {"id": "CVE-2"}],
                     "artifact": {"name": "openssl", "purl": "pkg:apk/alpine/openssl@3.0"}}]});
    let settings = || {
        with(
            settings(),
            &[
                ("/reports/sources", json!([{"registry": {"allowUnsigned": true}}])),
                ("/reports/platforms", json!(["linux/amd64"])),
            ],
        )
    };
    let world = |statements: &[Value]| {
        let world = World::default().image(IMAGE, 'a').artifact(&scan, 'b', Some('a'), grype.clone());
        world.artifact(&tag('a'), 'd', None, openvex(statements)).signed(&artifact('d'), KEY)
    };
    let of = |name: Value, time: &str, status: &str| with(at(time, status), &[("/vulnerability", json!(name))]);
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    let one = world(&[of(json!("CVE-1"), before, "fixed")]);
    trap(Remedy::ClearEveryCve, &one, IMAGE, &settings(), "denied fresh", "allowed fresh");
    is_rejected(&one, &settings(), "VEX of security says fixed, and nobody says so of CVE-2");
    is_rejected(&world(&[of(json!("ELSA-1"), before, "fixed")]), &settings(), "ELSA-1");
    is_allowed(&world(&[of(json!("CVE-1"), before, "fixed"), of(json!("cve-2"), after, "fixed")]), &settings());
    is_allowed(&world(&[of(json!({"name": "ELSA-1", "aliases": ["CVE-1", "CVE-2"]}), before, "fixed")]), &settings());
    // What is said later of one says nothing of the other.
    for name in ["CVE-1", "ELSA-1"] {
        let counts = of(json!(name), "", "affected");
        let cleared = [of(json!("CVE-1"), before, "fixed"), of(json!("CVE-2"), after, "fixed")];
        is_rejected(&world(&[counts, cleared[0].clone(), cleared[1].clone()]), &settings(), "says affected");
    }
    is_rejected(
        &world(&[of(json!("CVE-1"), before, "affected"), of(json!("CVE-2"), after, "fixed")]),
        &settings(),
        "says affected",
    );
}

#[test]
fn what_was_changed_later_counts_since_then() {
    let (before, between, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z", "2026-11-13T08:00:00Z");
    let cleared = at(between, "not_affected");
    let changed = with(at(before, "affected"), &[("/last_updated", json!(after))]);
    is_rejected(&said(None, openvex(&[cleared.clone(), changed])), &settings(), "says affected");
    let unreadable = with(at(before, "affected"), &[("/last_updated", json!("yesterday"))]);
    is_rejected(&said(None, openvex(&[cleared.clone(), unreadable])), &settings(), "says affected");
    let mut undated = at(before, "affected");
    undated.as_object_mut().unwrap().remove("timestamp");
    let document = with(openvex(&[cleared.clone(), undated]), &[("/last_updated", json!(after))]);
    is_rejected(&said(None, document), &settings(), "says affected");
    let document = with(openvex(&[cleared, at(before, "affected")]), &[("/last_updated", json!(after))]);
    is_allowed(&said(None, document), &settings());
    // What clears isn't newer for it.
    let touched = with(at(before, "not_affected"), &[("/last_updated", json!(after))]);
    is_rejected(&said(None, openvex(&[touched, at(between, "affected")])), &settings(), "says affected");
    // Nor does a word without a reason wait for a time.
    let bare = with(at("", "not_affected"), &[("/justification", Value::Null)]);
    is_rejected(&said(None, openvex(&[at(before, "not_affected"), bare])), &settings(), "without a justification");
}

#[test]
fn a_vulnerability_that_counts_is_never_dropped() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    let world = |vulnerability: Value| {
        let affected = with(at(after, "affected"), &[("/vulnerability", vulnerability)]);
        said(None, openvex(&[at(before, "not_affected"), affected]))
    };
    for id in ["https://nvd.nist.gov/vuln/detail/CVE-1", "https://cve.org/record?id=CVE-1", "https://x/CVE-1#a"] {
        is_rejected(&world(json!({"@id": id})), &settings(), "says affected");
    }
    for nameless in [json!(null), json!({}), json!("")] {
        is_rejected(&world(nameless), &settings(), "VEX is not used: a statement names no vulnerability");
    }
    is_allowed(&world(json!({"@id": "https://nvd.nist.gov/vuln/detail/CVE-2"})), &settings());
    let nameless = with(cyclonedx("exploitable"), &[("/vulnerabilities/0/id", Value::Null)]);
    is_rejected(&said(None, nameless), &settings(), "VEX is not used: a statement names no vulnerability");
}

/// The vendor's tool and the scanner spell a package each in its own way: what says that it counts does.
#[test]
fn a_package_that_counts_is_known_by_every_spelling() {
    let (before, after) = ("2026-11-11T08:00:00Z", "2026-11-12T08:00:00Z");
    for (scanned, by_vendor) in [
        ("pkg:golang/github.com/golang-jwt/jwt/v4@v4.5.0", "pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4"),
        ("pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4", "pkg:golang/github.com/Golang-JWT/jwt/v4@4.5.0"),
        ("pkg:golang/golang.org/x/crypto@v0.1.0", "pkg:golang/golang.org/x/crypto@v0.1.0#ssh"),
        ("pkg:pypi/ruamel-yaml@0.9", "pkg:pypi/ruamel_.yaml@0.9"),
        ("pkg:cargo/serde-json@1.0", "pkg:cargo/serde_json@1.0"),
        ("pkg:maven/org.x/y@1.0", "pkg:maven/org.x%3Ay@1.0"),
        ("pkg:deb/debian/openssl@3.0-1", "pkg:deb/openssl@3.0-1"),
        ("pkg:gem/nokogiri@1.13.0-java", "pkg:gem/nokogiri@1.13.0?platform=java"),
    ] {
        let found = with(finding("CVE-1", "CRITICAL"), &[("/purl", json!(scanned))]);
        let world = |purl: &str| {
            let part = json!([{"@id": product('a'), "subcomponents": [{"@id": purl}]}]);
            let affected = with(at(after, "affected"), &[("/products", part)]);
            World::default()
                .image(IMAGE, 'a')
                .object(report('a', std::slice::from_ref(&found)))
                .artifact(&tag('a'), 'd', None, openvex(&[at(before, "not_affected"), affected]))
                .signed(&artifact('d'), KEY)
        };
        is_rejected(&world(by_vendor), &settings(), "VEX of security says affected");
        is_allowed(&world("pkg:golang/github.com/other/module"), &settings());
    }
}

/// A document may name many packages, and an image have many findings: a comparison for each pair takes time.
#[test]
fn more_than_is_compared_clears_nothing() {
    let packages: Vec<Value> = (0..9_000).map(|number| json!({"@id": format!("pkg:apk/alpine/p{number}")})).collect();
    let affected = json!({"vulnerability": {"name": "CVE-1"}, "products": packages, "status": "affected"});
    let parts = with(statement(), &[("/products/0/subcomponents", json!(packages))]);
    for (more, is_cleared) in [(vec![], true), (vec![affected], true), (vec![parts], true)] {
        let document = openvex(&[&[statement()], more.as_slice()].concat());
        for (findings, is_too_much) in [(500, false), (600, true)] {
            let entries = vec![finding("CVE-1", "CRITICAL"); findings];
            let world = World::default().image(IMAGE, 'a').object(report('a', &entries));
            let world = world.artifact(&tag('a'), 'd', Some('a'), document.clone()).signed(&artifact('d'), KEY);
            if more.is_empty() || !is_too_much {
                assert_eq!(world.decide(IMAGE, &settings()).allowed, is_cleared);
            } else {
                let why = "VEX is not used: its documents name more packages than are compared with findings";
                is_rejected(&world, &settings(), why);
            }
        }
    }
}

/// Grype's report of what has a digest of that letter, with one critical finding.
fn attached(letter: char) -> Value {
    json!({"descriptor": {"name": "grype", "timestamp": "2026-11-20T10:00:00Z"},
           "matches": [{"vulnerability": {"id": "CVE-1", "severity": "Critical"},
                        "artifact": {"name": "openssl", "version": "3.0", "purl": "pkg:apk/alpine/openssl@3.0"}}],
           "source": {"type": "image", "target": {"manifestDigest": digest(letter)}}})
}

/// The report of an index stands beside its pinned platform, too. It is judged with the documents of the index, where it counts as that.
#[test]
fn a_report_of_the_index_is_judged_with_what_is_said_of_the_index() {
    let document = attached('f');
    let affected = with(
        statement(),
        &[
            ("/status", json!("affected")),
            ("/justification", Value::Null),
            ("/products", json!([{"@id": "pkg:oci/app"}])),
        ],
    );
    let world = World::default()
        .index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')])
        .artifact(&super::beside('f'), 'd', Some('f'), document)
        .and(|host| host.tag(&super::beside('a'), &digest('d')))
        .artifact(&tag('a'), 'e', Some('a'), openvex(&[statement()]))
        .signed(&artifact('e'), KEY)
        .artifact(&tag('f'), 'b', Some('f'), openvex(&[affected]))
        .signed(&artifact('b'), KEY);
    let settings = json!({"reports": {"sources": [{"registry": {"allowUnsigned": true, "platform": "linux/amd64"}}],
                                      "platforms": ["linux/amd64"], "vex": [place("security", KEY)]}});
    for image in [IMAGE.to_owned(), format!("{IMAGE}@{}", digest('a'))] {
        let answer = world.decide(&image, &settings);
        assert!(!answer.allowed && answer.state == "fresh", "{image}: {}", answer.response);
    }
}

/// An index may have one manifest for two platforms. What a document says of the one clears nothing for the other.
#[test]
fn one_manifest_under_two_platforms_is_judged_for_each() {
    let document = attached('a');
    let of_arm = with(statement(), &[("/products", json!([{"@id": "pkg:oci/app?arch=arm64"}]))]);
    let settings = json!({"reports": {"sources": [{"registry": {"allowUnsigned": true}}],
        "platforms": ["linux/amd64", "linux/arm64"], "vex": [place("security", KEY)]}});
    for order in [["linux/amd64", "linux/arm64"], ["linux/arm64", "linux/amd64"]] {
        let world = World::default()
            .index(IMAGE, 'f', &order.map(|platform| (platform, 'a')))
            .artifact(&super::beside('a'), 'd', Some('a'), document.clone())
            .artifact(&tag('a'), 'e', Some('a'), openvex(std::slice::from_ref(&of_arm)))
            .signed(&artifact('e'), KEY);
        let answer = world.decide(IMAGE, &settings);
        assert!(!answer.allowed, "{order:?}: {}", answer.response);
    }
}
