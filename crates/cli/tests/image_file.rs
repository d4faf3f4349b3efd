//! A registry made of a list of images.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helper functions too")]

use image_admission_cli::answers::files::{Files, ImageFile};
use image_admission_cli::answers::{AnswerSource, Request};
use serde_json::{Value, json};

fn sha(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// The list of these tests; `#1` stands for the digest of ones.
fn list() -> String {
    let list = r##"
images:
  ghcr.io/team/app:1.0:
    digest: "#1"
    platforms: {linux/amd64: "#2", linux/arm64/v8: "#3"}
  ghcr.io/team/app:latest: {digest: "#1"}
  ghcr.io/team/app:same: {digest: "#1", platforms: {linux/amd64: "#2", linux/arm64/v8: "#3"}}
  ghcr.io/team/app:amd64: {digest: "#2"}
  ghcr.io/team/app@#3:
    config: {its: own}
  ghcr.io/team/tool:2.0@#4:
    manifest:
      schemaVersion: 2
      config: {mediaType: application/vnd.example, digest: "#5", size: 3}
      layers: []
      unknownToTheHost: true
    config: [any, json]
  busybox: {digest: "#6"}
  ghcr.io/team/bare@#a: {}
  ghcr.io/team/gone:1.0: {error: "registry says no"}
  ghcr.io/team/gone@#7: {error: "this one too"}
  ghcr.io/team/windows: {digest: "#8", platforms: {windows/amd64: "#9"}}
"##;
    ('1'..='9').chain(['a']).fold(list.to_owned(), |list, digit| list.replace(&format!("#{digit}"), &sha(digit)))
}

fn ask(request: &Request) -> Result<Value, String> {
    let images = ImageFile::from_yaml(&list()).unwrap();
    let answer = Files::new(None, Some(images)).answer(request)?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

fn digest(image: &str) -> Result<Value, String> {
    ask(&Request::OciManifestDigest { image: image.to_owned() })
}

fn manifest(image: &str) -> Result<Value, String> {
    ask(&Request::OciManifest { image: image.to_owned() })
}

fn config(image: &str) -> Result<Value, String> {
    ask(&Request::OciManifestAndConfig { image: image.to_owned() })
}

#[test]
fn an_image_is_found_by_tag_and_by_digest() {
    let index = Ok(json!({"digest": sha('1')}));
    assert_eq!(digest("ghcr.io/team/app:1.0"), index);
    assert_eq!(digest("ghcr.io/team/app"), index);
    assert_eq!(digest(&format!("ghcr.io/team/app@{}", sha('1'))), index);
    // The tag plays no part where there is a digest.
    assert_eq!(digest(&format!("ghcr.io/team/app:other@{}", sha('1'))), index);
    assert_eq!(digest(&format!("ghcr.io/team/bare@{}", sha('a'))), Ok(json!({"digest": sha('a')})));
    // Each platform is an image of its own.
    assert_eq!(digest(&format!("ghcr.io/team/app@{}", sha('2'))), Ok(json!({"digest": sha('2')})));
}

#[test]
fn spellings_of_one_image_are_one() {
    for image in [
        "busybox",
        "busybox:latest",
        "library/busybox",
        "docker.io/busybox",
        "index.docker.io/library/busybox",
        "registry-1.docker.io/library/busybox",
        "Docker.IO/library/busybox:latest",
        "docker.io:443/library/busybox",
    ] {
        assert_eq!(digest(image), Ok(json!({"digest": sha('6')})), "{image}");
    }
    assert_eq!(digest("GHCR.IO:443/team/app:1.0"), Ok(json!({"digest": sha('1')})));
}

#[test]
fn an_image_that_is_not_there_is_the_registry_s_error() {
    let unknown = |url: &str| {
        Err(format!(
            "Fail to interact with OCI registry: Registry error: url {url}, envelope: OCI API errors: [OCI API error: manifest unknown]"
        ))
    };
    assert_eq!(digest("ghcr.io/team/app:2.0"), unknown("https://ghcr.io/v2/team/app/manifests/2.0"));
    assert_eq!(manifest("alpine"), unknown("https://index.docker.io/v2/library/alpine/manifests/latest"));
    let nine = sha('9');
    assert_eq!(
        config(&format!("ghcr.io/team/app@{nine}")),
        unknown(&format!("https://ghcr.io/v2/team/app/manifests/{nine}"))
    );
    assert_eq!(digest("two words"), Err("invalid reference format".to_owned()));
}

#[test]
fn an_error_is_answered_as_it_stands() {
    let no = Err("registry says no".to_owned());
    assert_eq!(digest("ghcr.io/team/gone:1.0"), no);
    assert_eq!(manifest("ghcr.io/team/gone:1.0"), no);
    assert_eq!(config("ghcr.io/team/gone:1.0"), no);
    assert_eq!(digest(&format!("ghcr.io/team/gone@{}", sha('7'))), Err("this one too".to_owned()));
}

#[test]
fn platforms_are_an_index() {
    let entry = |digit, platform: Value| {
        json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": sha(digit),
            "size": 0,
            "platform": platform,
        })
    };
    assert_eq!(
        manifest("ghcr.io/team/app:1.0"),
        Ok(json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [
                entry('2', json!({"os": "linux", "architecture": "amd64"})),
                entry('3', json!({"os": "linux", "architecture": "arm64", "variant": "v8"})),
            ],
        }))
    );
    let child = manifest(&format!("ghcr.io/team/app@{}", sha('2'))).unwrap();
    assert_eq!(child["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(child["layers"], json!([]));
}

#[test]
fn a_manifest_passes_through_the_host_s_type() {
    assert_eq!(
        manifest("ghcr.io/team/tool:2.0"),
        Ok(json!({
            "schemaVersion": 2,
            "config": {"mediaType": "application/vnd.example", "digest": sha('5'), "size": 3},
            "layers": [],
        }))
    );
}

#[test]
fn a_configuration_is_any_json() {
    let tool = config("ghcr.io/team/tool:2.0").unwrap();
    assert_eq!((&tool["config"], &tool["digest"]), (&json!(["any", "json"]), &json!(sha('4'))));
    assert_eq!(config("busybox").unwrap()["config"]["os"], "linux");
    // Of an index, the host reads the image for its own platform.
    let app = config("ghcr.io/team/app:1.0").unwrap();
    assert_eq!((&app["config"]["architecture"], &app["digest"]), (&json!("amd64"), &json!(sha('2'))));
    // An entry of its own wins over what the index says.
    assert_eq!(config(&format!("ghcr.io/team/app@{}", sha('3'))).unwrap()["config"], json!({"its": "own"}));
    assert_eq!(
        config("ghcr.io/team/windows"),
        Err("Fail to interact with OCI registry: Image manifest not found: no entry found in image index manifest matching client's default platform".to_owned())
    );
}

#[test]
fn without_images_the_answer_says_how_to_give_them() {
    assert_eq!(
        Files::default().answer(&Request::OciManifest { image: "a".to_owned() }),
        Err("there is no registry to ask; list the images with `--images FILE`, or use `--live`".to_owned())
    );
}

#[track_caller]
fn check_refused(yaml: &str, expected: &str) {
    let yaml = yaml.replace("#1", &sha('1')).replace("#2", &sha('2'));
    let expected = expected.replace("#1", &sha('1')).replace("#2", &sha('2'));
    assert_eq!(ImageFile::from_yaml(&yaml).unwrap_err(), expected);
}

#[test]
fn a_list_that_cannot_be_used_names_the_key() {
    check_refused("image: {}", "unknown field `image`, expected `images`");
    check_refused(
        "images: {a: {digets: '#1'}}",
        "images.a: unknown field `digets`, expected one of `digest`, `manifest`, `platforms`, `config`, `error` at line 1 column 14",
    );
    check_refused("images: {'a b': {digest: '#1'}}", "images.a b: not an image: invalid reference format");
    check_refused("images: {a: {}}", "images.a: `digest` or `error` is missing");
    check_refused("images: {a: {digest: abc}}", "images.a: `abc` is not a digest; write `sha256:` and 64 hex digits");
    check_refused("images: {'a@#1': {digest: '#2'}}", "images.a@#1: `digest` is `#2`, but the reference says `#1`");
    check_refused(
        "images: {a: {digest: '#1', platforms: {amd64: '#2'}}}",
        "images.a: platforms.amd64: not a platform; write `linux/amd64`",
    );
    check_refused(
        "images: {a: {digest: '#1', platforms: {linux/amd64: x}}}",
        "images.a: platforms.linux/amd64: `x` is not a digest; write `sha256:` and 64 hex digits",
    );
    check_refused(
        "images: {a: {digest: '#1', platforms: {}, config: {}}}",
        "images.a: `platforms` is short for an index: leave out `manifest` and `config`",
    );
    check_refused("images: {a: {digest: '#1', error: x}}", "images.a: an entry with `error` has nothing else");
    check_refused(
        "images: {a: {digest: '#1', manifest: {layers: []}}}",
        "images.a: `manifest` is neither an image manifest nor an index; it needs `schemaVersion`, and `config` and `layers`, or `manifests`",
    );
    check_refused(
        "images: {a: {digest: '#1'}, docker.io/library/a: {digest: '#1'}}",
        "images.docker.io/library/a: `docker.io/library/a:latest` is there twice; remove one of them",
    );
    check_refused(
        "images: {a: {digest: '#1', config: {}}, 'a:2': {digest: '#1', config: {x: y}}}",
        "images.a:2: another entry says something else of `#1`; say it once, the others need only `digest`",
    );
}
