//! SBOMs as tools write them, and other documents.

use super::*;
use crate::document::in_time;
use image_admission_untrusted::json::JsonString;
use serde_json::{Value, json};

const IMAGE: &str = "sha256:27d05ab8ed4d526b8179fe5a922b50f0b7001186638cb8ceea56f8577a453c50";

/// Syft's output for an image of ours: two packages of Alpine and four of npm.
fn of_syft() -> [(&'static str, &'static str); 2] {
    [
        ("SPDX", include_str!("../../tests/sboms/syft.spdx.json")),
        ("CycloneDX", include_str!("../../tests/sboms/syft.cyclonedx.json")),
    ]
}

fn packages(sbom: &Sbom<'_>) -> Vec<String> {
    let of = &sbom.contents;
    let shown = of.packages.iter().map(|package| {
        let licenses: Vec<&str> =
            package.licenses.iter().map(|license| of.license_names.get(license).unwrap_or(license).as_str()).collect();
        let text = |text: &Option<image_admission_untrusted::json::JsonString<'_>>| {
            text.as_ref().map_or("", |text| text.as_str()).to_owned()
        };
        format!(
            "{} {} {} {}",
            package.name.as_str(),
            text(&package.version),
            package.purls.iter().map(JsonString::as_str).collect::<Vec<_>>().join(" "),
            licenses.join(" AND ")
        )
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown
}

#[test]
fn what_syft_writes_is_understood() {
    for (format, json) in of_syft() {
        let sbom = read(json).unwrap();
        assert_eq!((sbom.format, sbom.digests.as_slice()), (format, [IMAGE.to_owned()].as_slice()));
        assert_eq!(sbom.time.map(|time| time.day()).as_deref(), Some("2026-11-24"));
        let packages = packages(&sbom);
        let expected = [
            "@scope/tool 2.0.0-rc.1 pkg:npm/%40scope/tool@2.0.0-rc.1 ",
            "busybox 1.36.1-r2 pkg:apk/alpine/busybox@1.36.1-r2?arch=x86_64&distro=alpine-3.20.0 GPL-2.0-only",
            "lodash 4.17.20 pkg:npm/lodash@4.17.20 MIT",
            "musl 1.2.5-r0 pkg:apk/alpine/musl@1.2.5-r0?arch=x86_64&distro=alpine-3.20.0 MIT",
            "nolicense 0.1.0 pkg:npm/nolicense@0.1.0 Own License v1",
            "shop 1.0.0 pkg:npm/shop@1.0.0 MIT",
        ];
        assert_eq!(packages.len(), expected.len(), "{packages:?}");
        for (package, expected) in packages.iter().zip(expected) {
            assert!(package.starts_with(expected), "{format}: {package}");
        }
    }
    let spdx = read(of_syft()[0].1).unwrap();
    assert_eq!(spdx.platform.map(|platform| platform.to_string()).as_deref(), Some("linux/amd64"));
}

/// Trivy names the image at its digest, in a text of the package that stands for the image. Packages of a lock file are below one
/// without a purl.
#[test]
fn what_trivy_writes_is_understood() {
    let json = format!(
        r#"{{"spdxVersion": "SPDX-2.3", "creationInfo": {{"created": "2026-11-10T08:00:00Z"}}, "packages": [
            {{"SPDXID": "SPDXRef-ContainerImage-1", "name": "app:1.0", "primaryPackagePurpose": "CONTAINER",
              "externalRefs": [{{"referenceType": "purl", "referenceLocator": "pkg:oci/app@sha256%3A{a}?arch=arm64&repository_url=reg.io%2Fapp"}}],
              "attributionTexts": ["ImageID: sha256:{b}", "RepoDigest: reg.io/app@sha256:{c}"]}},
            {{"SPDXID": "SPDXRef-OperatingSystem-2", "name": "alpine", "versionInfo": "3.20", "primaryPackagePurpose": "OPERATING-SYSTEM"}},
            {{"SPDXID": "SPDXRef-Application-3", "name": "package-lock.json", "primaryPackagePurpose": "APPLICATION"}},
            {{"SPDXID": "SPDXRef-Package-4", "name": "curl", "versionInfo": "8.0-r0", "licenseDeclared": "curl", "licenseConcluded": "NONE",
              "externalRefs": [{{"referenceType": "purl", "referenceLocator": "pkg:apk/alpine/curl@8.0-r0"}}]}}],
            "relationships": [{{"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": "SPDXRef-ContainerImage-1", "relationshipType": "DESCRIBES"}}]}}"#,
        a = "a".repeat(64),
        b = "b".repeat(64),
        c = "c".repeat(64),
    );
    let sbom = read(&json).unwrap();
    let digest = |letter: &str| format!("sha256:{}", letter.repeat(64));
    assert_eq!(sbom.digests, [digest("a"), digest("c")], "the image's id is no digest of it");
    assert_eq!(sbom.platform.as_ref().map(ToString::to_string).as_deref(), Some("linux/arm64"));
    assert_eq!(packages(&sbom), ["curl 8.0-r0 pkg:apk/alpine/curl@8.0-r0 curl"]);
}

/// The output of Trivy before 0.41 for an image of ours: SPDX 2.2, which has no purposes.
fn of_old_trivy() -> [Value; 2] {
    let documents = [
        include_str!("../../tests/sboms/trivy-0.33.spdx.json"),
        include_str!("../../tests/sboms/trivy-0.38.spdx.json"),
    ];
    documents.map(|json| serde_json::from_str(json).unwrap())
}

/// The package whose id begins like this.
fn element<'a>(document: &'a mut Value, beginning: &str) -> &'a mut Value {
    let packages = document["packages"].as_array_mut().unwrap();
    packages.iter_mut().find(|package| package["SPDXID"].as_str().unwrap().starts_with(beginning)).unwrap()
}

fn names(document: &Value) -> Vec<String> {
    let json = document.to_string();
    let packages = read(&json).unwrap().contents.packages;
    let mut names: Vec<String> = packages.iter().map(|package| package.name.as_str().to_owned()).collect();
    names.sort();
    names
}

/// A pulled image has a purl, and then its digests too.
#[test]
fn what_old_versions_of_trivy_wrote_is_understood() {
    for mut document in of_old_trivy() {
        let json = document.to_string();
        let sbom = read(&json).unwrap();
        assert_eq!(
            packages(&sbom),
            ["curl 7.83-r1 pkg:apk/alpine/curl@7.83-r1?distro=3.16.0 MIT", "left-pad 1.3.0 pkg:npm/left-pad@1.3.0 "]
        );
        assert_eq!(sbom.digests, [format!("sha256:{}", "a".repeat(64))]);
        assert_eq!(sbom.platform.as_ref().map(ToString::to_string).as_deref(), Some("linux/arm64"));
        let image = element(&mut document, "SPDXRef-ContainerImage-").as_object_mut().unwrap();
        image.remove("externalRefs");
        image["attributionTexts"] = json!(["SchemaVersion: 2"]);
        assert_eq!(names(&document), ["curl", "left-pad"]);
        assert_eq!(read(&document.to_string()).unwrap().digests.len(), 0);
    }
}

/// Other tools may mean something else by such ids; and an entry with a package's purl is a package.
#[test]
fn ids_of_trivy_hide_no_package() {
    for document in of_old_trivy() {
        for creators in [
            json!(["Tool: other-1.0"]),
            json!(["Tool: merger-1.0", "Tool: trivy-0.38.3"]),
            json!(["Tool: trivy", "Tool: merger-1.0"]),
            json!(["Tool: trivyish-0.38"]),
            json!(["Tool: trivy-0.41.0"]),
            json!(["Tool: trivy-1.0.0"]),
            json!([]),
            json!(null),
        ] {
            let mut foreign = document.clone();
            foreign["creationInfo"]["creators"] = creators;
            assert_eq!(names(&foreign), ["alpine", "curl", "left-pad", "npm"]);
        }
        let mut newer = document.clone();
        newer["spdxVersion"] = json!("SPDX-2.3");
        assert_eq!(names(&newer), ["alpine", "curl", "left-pad", "npm"]);
        let mut versioned = document.clone();
        element(&mut versioned, "SPDXRef-Application-")["versionInfo"] = json!("2.14.1");
        assert_eq!(names(&versioned), ["curl", "left-pad", "npm"]);
        for (beginning, name) in [
            ("SPDXRef-Application-", "npm"),
            ("SPDXRef-OperatingSystem-", "alpine"),
            ("SPDXRef-ContainerImage-", "reg.io/app:1.0"),
        ] {
            let mut named = document.clone();
            element(&mut named, beginning)["externalRefs"] =
                json!([{"referenceType": "purl", "referenceLocator": "pkg:deb/debian/openssl@1.0"}]);
            assert!(names(&named).contains(&name.to_owned()), "{name}");
        }
        let mut library = document.clone();
        element(&mut library, "SPDXRef-Application-")["primaryPackagePurpose"] = json!("LIBRARY");
        assert_eq!(names(&library), ["curl", "left-pad", "npm"]);
        // An element with another id isn't the image.
        let mut files = document.clone();
        element(&mut files, "SPDXRef-ContainerImage-")["SPDXID"] = json!("SPDXRef-Filesystem-1");
        for relationship in files["relationships"].as_array_mut().unwrap() {
            if relationship["spdxElementId"] == "SPDXRef-DOCUMENT" {
                relationship["relatedSpdxElement"] = json!("SPDXRef-Filesystem-1");
            }
        }
        files.as_object_mut().unwrap().remove("documentDescribes");
        element(&mut files, "SPDXRef-Filesystem-").as_object_mut().unwrap().remove("externalRefs");
        assert_eq!(
            read(&files.to_string()).unwrap_err(),
            UnreadableDocument::new("what it describes is not an image: neither its purpose nor its purl says so")
        );
    }
}

/// The message says what to do.
#[test]
fn what_syft_wrote_about_itself_is_of_no_image() {
    let json = include_str!("../../tests/sboms/syft-0.64.spdx.json");
    assert_eq!(
        read(json).unwrap_err().to_string(),
        "it describes itself and no image, as Syft 0.64 to 0.85 wrote it: make it with Syft 0.88 or later, or as CycloneDX"
    );
}

/// The described element is left out if it is the image. If it is also a package, it counts as one.
#[test]
fn what_is_described_is_the_image() {
    let document = |describes: &str, packages: &str| {
        format!(
            r#"{{"spdxVersion": "SPDX-2.3", {describes}, "packages": [{packages}, {{"SPDXID": "p", "name": "p",
                "externalRefs": [{{"referenceType": "purl", "referenceLocator": "pkg:npm/p@1"}}]}}]}}"#
        )
    };
    let element = |id: &str, purls: &[&str]| {
        let purl = |purl: &&str| format!(r#"{{"referenceType": "purl", "referenceLocator": "{purl}"}}"#);
        let purls: Vec<String> = purls.iter().map(purl).collect();
        format!(r#"{{"SPDXID": "{id}", "name": "{id}", "externalRefs": [{}]}}"#, purls.join(", "))
    };
    let said = |json: &str| match read(json) {
        Ok(sbom) => sbom.contents.packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>().join(" "),
        Err(why) => why.to_string(),
    };
    let relationship = |to: &str| {
        format!(
            r#"{{"spdxElementId": "SPDXRef-DOCUMENT", "relatedSpdxElement": "{to}", "relationshipType": "DESCRIBES"}}"#
        )
    };
    let one = r#""documentDescribes": ["image"]"#;
    let (several, itself) = ("it doesn't describe one thing", "it describes itself and no image, as Syft 0.64 to 0.85");
    for (describes, packages, expected) in [
        (one.to_owned(), element("image", &["pkg:oci/app?arch=amd64"]), "p"),
        (one.to_owned(), element("image", &["pkg:oci/app?arch=amd64", "pkg:deb/debian/x@1"]), "image p"),
        (one.to_owned(), element("image", &["pkg:deb/debian/x@1"]), "what it describes is not an image"),
        (one.to_owned(), element("image", &[]), "what it describes is not an image"),
        (one.to_owned(), element("other", &["pkg:oci/app"]), several),
        (one.to_owned(), [element("image", &["pkg:oci/app"]), element("image", &["pkg:oci/app"])].join(", "), several),
        (r#""documentDescribes": []"#.to_owned(), element("image", &["pkg:npm/image@1"]), "image p"),
        (r#""documentDescribes": ["image", "p"]"#.to_owned(), element("image", &["pkg:oci/app"]), several),
        (
            r#""documentDescribes": [1]"#.to_owned(),
            element("image", &["pkg:oci/app"]),
            "it can't be read: invalid type",
        ),
        (
            r#""documentDescribes": "image""#.to_owned(),
            element("image", &["pkg:oci/app"]),
            "it can't be read: invalid type",
        ),
        (
            format!(r#""relationships": [{}]"#, relationship("SPDXRef-DOCUMENT")),
            element("image", &["pkg:oci/app"]),
            itself,
        ),
        (
            format!(r#""relationships": [{}, {}]"#, relationship("image"), relationship("SPDXRef-DOCUMENT")),
            element("image", &["pkg:oci/app"]),
            several,
        ),
        (format!(r#"{one}, "relationships": [{}]"#, relationship("image")), element("image", &["pkg:oci/app"]), "p"),
        (format!(r#"{one}, "relationships": [{}]"#, relationship("p")), element("image", &["pkg:oci/app"]), several),
        (
            format!(r#"{one}, "creationInfo": {{"creators": "Tool: trivy"}}"#),
            element("image", &["pkg:oci/app"]),
            "it can't be read: invalid type",
        ),
        (
            format!(r#"{one}, "creationInfo": {{"creators": [null, 1]}}"#),
            element("image", &["pkg:oci/app"]),
            "it can't be read: invalid type",
        ),
    ] {
        let json = document(&describes, &packages);
        let said = said(&json);
        assert!(said == expected || expected.contains(' ') && said.starts_with(expected), "{json}: {said}");
    }
}

#[test]
fn components_inside_others_are_packages() {
    let json = r#"{"bomFormat": "CycloneDX", "components": [
        {"type": "application", "name": "app.jar", "components": [
            {"type": "library", "group": "org.x", "name": "y", "version": "1", "purl": "pkg:maven/org.x/y@1",
             "licenses": [{"license": {"id": "MIT"}}, {"license": {"name": "Own"}}, {"expression": "A OR B"}, {}]}]},
        {"type": "file", "name": "/etc/x"}, {"type": "operating-system", "name": "alpine"}]}"#;
    assert_eq!(packages(&read(json).unwrap()), ["org.x/y 1 pkg:maven/org.x/y@1 MIT AND Own AND A OR B AND "]);
    let json = r#"{"bomFormat": "CycloneDX", "metadata": {"component": {"type": "container", "name": "app", "components": [
        {"type": "library", "name": "y", "purl": "pkg:npm/y@1", "components": [{"type": "library", "name": "z", "purl": "pkg:npm/z@1"}]}]}}}"#;
    assert_eq!(packages(&read(json).unwrap()), ["y  pkg:npm/y@1 ", "z  pkg:npm/z@1 "]);
}

/// A place where packages were found is an application without a purl and a version. Another one is a package that its scanner can't
/// name.
#[test]
fn an_application_with_a_version_is_a_package() {
    let cyclonedx = |version: &str| {
        format!(r#"{{"bomFormat": "CycloneDX", "components": [{{"type": "application", "name": "redis"{version}}}]}}"#)
    };
    let spdx = |version: &str| {
        format!(
            r#"{{"spdxVersion": "SPDX-2.3", "packages": [{{"name": "redis", "primaryPackagePurpose": "APPLICATION"{version}}}]}}"#
        )
    };
    for json in [cyclonedx(r#", "version": "7.0.1""#), spdx(r#", "versionInfo": "7.0.1""#)] {
        assert_eq!(packages(&read(&json).unwrap()), ["redis 7.0.1  "], "{json}");
    }
    for json in [cyclonedx(""), cyclonedx(r#", "version": " ""#), spdx(""), spdx(r#", "versionInfo": "NOASSERTION""#)] {
        assert_eq!(packages(&read(&json).unwrap()), [""; 0], "{json}");
    }
}

/// An entry with a purl is a package, whatever else it is called.
#[test]
fn a_purl_makes_a_package() {
    for kind in ["file", "operating-system", "application", "container"] {
        let json = format!(
            r#"{{"bomFormat": "CycloneDX", "components": [{{"type": "{kind}", "name": "x", "purl": "pkg:npm/x@1"}}]}}"#
        );
        assert_eq!(packages(&read(&json).unwrap()), ["x  pkg:npm/x@1 "], "{kind}");
        let json = format!(
            r#"{{"spdxVersion": "SPDX-2.3", "packages": [{{"name": "x", "primaryPackagePurpose": "{}",
                "externalRefs": [{{"referenceType": "purl", "referenceLocator": "pkg:npm/x@1"}}]}}]}}"#,
            kind.to_uppercase()
        );
        assert_eq!(packages(&read(&json).unwrap()), ["x  pkg:npm/x@1 "], "{kind}");
    }
}

#[test]
fn a_purl_is_one_however_its_type_is_written() {
    for (written, expected) in [
        ("purl", "pkg:npm/x@1"),
        ("PURL", "pkg:npm/x@1"),
        ("http://spdx.org/rdf/references/purl", "pkg:npm/x@1"),
        ("cpe23Type", ""),
        ("http://spdx.org/rdf/references/purls", ""),
    ] {
        let reference = json!({"referenceType": written, "referenceLocator": "pkg:npm/x@1"});
        let package = json!({"SPDXID": "SPDXRef-p", "name": "p", "externalRefs": [reference]});
        let document = json!({"spdxVersion": "SPDX-2.3", "packages": [package]}).to_string();
        assert_eq!(packages(&read(&document).unwrap()), [format!("p  {expected} ")], "{written}");
    }
}

/// SPDX has a list of purls. CycloneDX has one, and the purls of the identity that the tool concluded: one, or since 1.6 a list.
#[test]
fn a_package_may_have_several_purls() {
    let spdx = r#"{"spdxVersion": "SPDX-2.3", "packages": [{"name": "x", "versionInfo": "NOASSERTION", "externalRefs": [
        {"referenceType": "purl", "referenceLocator": "pkg:npm/x@1"}, {"referenceType": "purl", "referenceLocator": " "},
        {"referenceType": "cpe23Type", "referenceLocator": "cpe:2.3:a:x"}, {"referenceType": "purl", "referenceLocator": "pkg:npm/y@1"},
        {"referenceType": "purl", "referenceLocator": "pkg:npm/x@1"}]}]}"#;
    assert_eq!(packages(&read(spdx).unwrap()), ["x  pkg:npm/x@1 pkg:npm/y@1 "]);
    let cyclonedx = |identity: &str| {
        format!(
            r#"{{"bomFormat": "CycloneDX", "components": [{{"type": "library", "name": "x", "purl": "pkg:npm/x@1",
                "evidence": {{"identity": {identity}}}}}]}}"#
        )
    };
    let of =
        |field: &str, value: &str| format!(r#"{{"field": "{field}", "concludedValue": "{value}", "confidence": 1}}"#);
    let (own, other) = (of("purl", "pkg:npm/x@1"), of("purl", "pkg:npm/y@1"));
    for (identity, purls) in [
        (other.clone(), "pkg:npm/x@1 pkg:npm/y@1"),
        (format!("[{own}, {other}]"), "pkg:npm/x@1 pkg:npm/y@1"),
        (format!("[{}]", of("cpe", "cpe:2.3:a:x")), "pkg:npm/x@1"),
        (r#"{"field": "purl", "confidence": 1}"#.to_owned(), "pkg:npm/x@1"),
        ("null".to_owned(), "pkg:npm/x@1"),
        ("[]".to_owned(), "pkg:npm/x@1"),
    ] {
        assert_eq!(packages(&read(&cyclonedx(&identity)).unwrap()), [format!("x  {purls} ")], "{identity}");
    }
    for (identity, why) in [
        ("1", "it can't be read: invalid type: integer"),
        ("[null]", "it can't be read: invalid type: null"),
        (r#"[{"field": "purl", "concluded_value": "pkg:npm/y@1"}]"#, "another spelling of `concludedValue`"),
    ] {
        let error = read(&cyclonedx(identity)).map(|sbom| sbom.format).unwrap_err().to_string();
        assert!(error.contains(why), "{identity}: {error}");
    }
    let bare = r#"{"bomFormat": "CycloneDX", "components": [{"type": "application", "name": "x",
        "evidence": {"identity": [{"field": "purl", "concludedValue": "pkg:generic/x@1"}]}}]}"#;
    assert_eq!(packages(&read(bare).unwrap()), ["x  pkg:generic/x@1 "]);
}

/// An entry that is an image by only one of its purls is a package. And an image is for one platform.
#[test]
fn the_purls_of_an_image_agree() {
    let document = |purls: &[&str], is_described: bool| {
        let references =
            purls.iter().map(|purl| format!(r#"{{"referenceType": "purl", "referenceLocator": "{purl}"}}"#));
        let described = if is_described { r#""documentDescribes": ["a"], "# } else { "" };
        format!(
            r#"{{"spdxVersion": "SPDX-2.3", {described}"packages": [{{"SPDXID": "a", "name": "x", "primaryPackagePurpose": "CONTAINER",
                "externalRefs": [{}]}}]}}"#,
            references.collect::<Vec<_>>().join(", ")
        )
    };
    let hidden = document(&["pkg:oci/x?arch=amd64", "pkg:npm/x@1"], false);
    assert_eq!(packages(&read(&hidden).unwrap()), ["x  pkg:oci/x?arch=amd64 pkg:npm/x@1 "]);
    let platform = |purls: &[&str]| {
        let json = document(purls, true);
        read(&json).map(|sbom| sbom.platform.map(|platform| platform.to_string())).map_err(|error| error.to_string())
    };
    assert_eq!(platform(&["pkg:docker/x@1", "pkg:oci/x?arch=amd64"]), Ok(Some("linux/amd64".to_owned())));
    let error = platform(&["pkg:oci/x?arch=amd64", "pkg:oci/x?arch=arm64"]).unwrap_err();
    assert!(error.starts_with("it doesn't describe one thing"), "{error}");
}

#[test]
fn what_is_no_sbom() {
    for (json, why) in [
        ("", "it is no JSON object"),
        ("[]", "it is no JSON object"),
        ("{", "it can't be read: EOF while parsing an object at line 1 column 1"),
        ("{}", "it is none of the formats that are read: SPDX 2 as JSON, CycloneDX as JSON"),
        (r#"{"matches": []}"#, "it is none of the formats"),
        (r#"{"@graph": []}"#, "it is none of the formats"),
        (
            r#"{"bomFormat": "CycloneDX", "spdxVersion": "SPDX-2.3"}"#,
            "it is of several formats at once: CycloneDX, SPDX",
        ),
        (r#"{"bomFormat": "cyclonedx"}"#, "its `bomFormat` is not `CycloneDX`"),
        (
            r#"{"bomFormat": "CycloneDX", "metadata": {"component": {"type": "application"}}}"#,
            "its `metadata.component` is not a container",
        ),
        (r#"{"spdxVersion": "SPDX-3.0"}"#, "its `spdxVersion` is not 2.2 or 2.3"),
        (r#"{"spdxVersion": "SPDX-2.3", "documentDescribes": ["a", "b"]}"#, "it doesn't describe one thing"),
        (
            r#"{"spdxVersion": "SPDX-2.3", "packages": [], "Packages": []}"#,
            "it can't be read: the key `Packages` is another spelling",
        ),
        (
            r#"{"spdxVersion": "SPDX-2.3", "packages": [{"name": "a", "NAME": "b"}]}"#,
            "it can't be read: the key `NAME` is another spelling",
        ),
        (
            r#"{"bomFormat": "CycloneDX", "components": [{"purl": "a", "Purl": "b"}]}"#,
            "it can't be read: the key `Purl` is another spelling",
        ),
        (
            r#"{"bomFormat": "CycloneDX", "components": [], "components": []}"#,
            "it can't be read: duplicate field `components`",
        ),
    ] {
        let error = read(json).map(|sbom| sbom.format).unwrap_err().to_string();
        assert!(error.starts_with(why), "{json}: {error}");
    }
}

#[test]
fn large_sboms_are_read_in_time() {
    let package = r#"{"name": "p", "versionInfo": "1.0", "licenseDeclared": "MIT AND (Apache-2.0 OR BSD-3-Clause)",
        "externalRefs": [{"referenceType": "purl", "referenceLocator": "pkg:npm/%40scope/p@1.0"}]},"#;
    let json = format!(r#"{{"spdxVersion": "SPDX-2.3", "packages": [{}{{}}]}}"#, package.repeat(20_000));
    assert_eq!(in_time(|| read(&json).unwrap().contents.packages.len()), 20_001);
}
