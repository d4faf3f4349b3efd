//! A registry made of a list of images.
use image_admission_module_host::answers::files::{Files, ImageFile};
use image_admission_module_host::answers::{AnswerSource, Keyless, KeylessPrefix, Request};
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

/// What is asked of a mirror is listed by the name that Pods have; what the mirror has instead by its own.
#[test]
fn a_mirror_has_what_its_registry_has() {
    let list = format!(
        "{}  localhost:5000/hub/team/behind: {{digest: \"{}\"}}\n  team/behind: {{digest: \"{}\"}}\nmirrors:\n  docker.io: localhost:5000/hub\n  ghcr.io: mirror.io\n",
        list(),
        sha('b'),
        sha('c')
    );
    let files = Files::new(None, Some(ImageFile::from_yaml(&list).unwrap()));
    let digest = |image: &str| {
        let answer = files.answer(&Request::OciManifestDigest { image: image.to_owned() })?;
        Ok::<Value, String>(serde_json::from_slice(&answer).unwrap())
    };
    for (image, expected) in [
        ("localhost:5000/hub/library/busybox:latest".to_owned(), '6'),
        (format!("localhost:5000/hub/library/busybox@{}", sha('6')), '6'),
        ("mirror.io/team/app:1.0".to_owned(), '1'),
        ("localhost:5000/hub/team/behind".to_owned(), 'b'),
        ("docker.io/team/behind".to_owned(), 'c'),
        (format!("localhost:5000/hub/team/behind@{}", sha('c')), 'c'),
    ] {
        assert_eq!(digest(&image), Ok(json!({"digest": sha(expected)})), "{image}");
    }
    for nowhere in
        ["localhost:5000/other/library/busybox", "localhost:5000/hubs/library/busybox", "mirror.io/library/busybox"]
    {
        assert!(digest(nowhere).is_err(), "{nowhere}");
    }
    let images = files.images().unwrap();
    assert_eq!(images.names_behind("localhost:5000/hub/library/busybox:latest"), ["busybox"]);
    let error = ImageFile::from_yaml("images: {}\nmirrors: {docker.io: 'https://mirror.io'}").unwrap_err();
    assert!(error.starts_with("mirrors.docker.io: `https://mirror.io` is no registry"), "{error}");
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
fn a_manifest_may_be_its_bytes() {
    let list = |manifest: &str| format!("images: {{a: {{digest: '{}', manifest: {manifest}}}}}", sha('1'));
    let text =
        r#"'{"schemaVersion": 2, "layers": [], "Layers": 1, "config": {"mediaType": "m", "digest": "d", "size": 1}}'"#;
    let images = ImageFile::from_yaml(&list(text)).unwrap();
    let documents = images.documents();
    // As `sha256sum` has it.
    let digest = "sha256:c7787bd29306a46e037ab89d7954266e8259a1952c2cc32950bca046530363e3";
    assert!(documents.iter().all(|document| document.own_digest == digest && !document.is_proven()), "{documents:?}");
    let said = Files::new(None, Some(images)).answer(&Request::OciManifest { image: "a".to_owned() }).unwrap();
    let host = json!({"schemaVersion": 2, "layers": [], "config": {"mediaType": "m", "digest": "d", "size": 1}});
    assert_eq!(serde_json::from_slice::<Value>(&said).unwrap(), host);
    check_refused(
        &list("'{'"),
        "images.a: `manifest` is a text, and that is no JSON: EOF while parsing an object at line 1 column 1",
    );
    check_refused(
        &list("'{}'"),
        "images.a: `manifest` is neither an image manifest nor an index; it needs `schemaVersion`, and `config` and `layers`, or `manifests`",
    );
}

/// Each digest is what `sha256sum` says of the text.
#[test]
fn a_digest_stands_for_the_document_as_oci_s_tools_write_it() {
    let list = list()
        + r##"
  ghcr.io/team/report:1:
    digest: "DIGEST"
    subject: "DIGEST"
    artifactType: application/vnd.example
    config: {b: 1, a: 2}
"##;
    let images = ImageFile::from_yaml(&list.replace("DIGEST", &sha('b'))).unwrap();
    let own = |image: &str| {
        let document = images.documents().iter().find(|document| document.image == image).unwrap();
        assert!(!document.is_proven(), "{image}");
        document.own_digest.clone()
    };
    assert_eq!(own("ghcr.io/team/app:1.0"), "sha256:04b9246dc4cc3b7e2720bf0217892678cd0a7888904bd1772d4fce882ed75efc");
    assert_eq!(
        own(&format!("ghcr.io/team/tool:2.0@{}", sha('4'))),
        "sha256:9918c1d657c6efbf65fd38ec0ad26137c2db04a581caeae35934f9fac5c96605"
    );
    assert_eq!(own("ghcr.io/team/report:1"), "sha256:eff076bc1594e0cb32978da88bc15820d5b8e433042fe7ce774a26d051820c57");
    // What has no more than a digest stands for nothing.
    assert!(images.documents().iter().all(|document| document.image != "busybox"));
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
fn without_images_there_is_no_registry_to_ask() {
    assert_eq!(
        Files::default().answer(&Request::OciManifest { image: "a".to_owned() }),
        Err("there is no registry to ask".to_owned())
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
    check_refused("image: {}", "unknown field `image`, expected `images` or `mirrors`");
    check_refused(
        "images: {a: {digets: '#1'}}",
        "images.a: unknown field `digets`, expected one of `digest`, `manifest`, `platforms`, `config`, `subject`, `artifactType`, `signedBy`, `error` at line 1 column 14",
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

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nAAAA\nBBBB\n-----END PUBLIC KEY-----\n";
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----\nCCCC\n-----END PUBLIC KEY-----\n";
const GITHUB: &str = "https://token.actions.githubusercontent.com";

/// Artifacts beside `#1`, and who signed them.
fn signed() -> Files {
    let list = r##"
images:
  ghcr.io/team/app:1.0: {digest: "#1", platforms: {linux/amd64: "#2"}, signedBy: [{githubActions: {owner: team, repository: app}}]}
  ghcr.io/team/app:sha256-1.scan:
    digest: "#3"
    subject: "#1"
    artifactType: application/vnd.example.report
    config: {verdict: pass}
    signedBy:
      - key: |
          -----BEGIN PUBLIC KEY-----
          AAAA
          BBBB
          -----END PUBLIC KEY-----
      - {issuer: "https://issuer.example.com", subject: "https://example.com/team/ci"}
  ghcr.io/team/app:same: {digest: "#3"}
  ghcr.io/team/app:sha256-1.empty: {digest: "#4", subject: "#1"}
  ghcr.io/team/app:sha256-1.typed: {digest: "#5", artifactType: application/vnd.example.none}
  ghcr.io/team/app:sha256-1:
    digest: "#6"
    manifest:
      schemaVersion: 2
      manifests:
        - {mediaType: application/vnd.oci.image.manifest.v1+json, digest: "#3", size: 1, artifactType: application/vnd.example.report}
  ghcr.io/team/gone:1.0: {error: "registry says no"}
"##;
    let list = ('1'..='6').fold(list.to_owned(), |list, digit| list.replace(&format!("#{digit}"), &sha(digit)));
    Files::new(None, Some(ImageFile::from_yaml(&list).unwrap()))
}

fn ask_signed(request: &Request) -> Result<Value, String> {
    signed().answer(request).map(|answer| serde_json::from_slice(&answer).unwrap())
}

#[test]
fn an_artifact_says_what_it_belongs_to() {
    let artifact = |image: &str| ask_signed(&Request::OciManifestAndConfig { image: image.to_owned() }).unwrap();
    let scan = artifact("ghcr.io/team/app:sha256-1.scan");
    assert_eq!((&scan["digest"], &scan["config"]), (&json!(sha('3')), &json!({"verdict": "pass"})));
    let image_type = "application/vnd.oci.image.manifest.v1+json";
    assert_eq!(scan["manifest"]["subject"], json!({"mediaType": image_type, "digest": sha('1'), "size": 0}));
    assert_eq!(scan["manifest"]["artifactType"], "application/vnd.example.report");
    assert_eq!(scan["manifest"]["config"]["mediaType"], "application/vnd.example.report");
    assert_eq!(artifact(&format!("ghcr.io/team/app@{}", sha('3'))), scan);
    assert_eq!(artifact("ghcr.io/team/app:same"), scan);
    let empty = artifact("ghcr.io/team/app:sha256-1.empty");
    assert_eq!((&empty["config"], &empty["manifest"]["subject"]["digest"]), (&json!({}), &json!(sha('1'))));
    assert_eq!(empty["manifest"]["config"]["mediaType"], "application/vnd.oci.image.config.v1+json");
    let typed = artifact("ghcr.io/team/app:sha256-1.typed");
    assert_eq!((&typed["manifest"]["subject"], &typed["config"]), (&json!(null), &json!({})));
}

#[test]
fn an_index_of_referrers_keeps_their_types() {
    let index = ask_signed(&Request::OciManifest { image: "ghcr.io/team/app:sha256-1".to_owned() }).unwrap();
    assert_eq!(index["manifests"][0]["artifactType"], "application/vnd.example.report");
    assert_eq!(index["manifests"][0]["digest"], json!(sha('3')));
}

fn by_keys(image: &str, keys: &[&str]) -> Result<Value, String> {
    let pub_keys = keys.iter().map(|key| (*key).to_owned()).collect();
    ask_signed(&Request::SigstorePubKeyVerify { image: image.to_owned(), pub_keys, annotations: None })
}

fn by_subject(image: &str, issuer: &str, subject: &str) -> Result<Value, String> {
    let keyless = vec![Keyless { issuer: issuer.to_owned(), subject: subject.to_owned() }];
    ask_signed(&Request::SigstoreKeylessVerify { image: image.to_owned(), keyless, annotations: None })
}

fn by_prefix(image: &str, issuer: &str, prefix: &str) -> Result<Value, String> {
    let keyless_prefix = vec![KeylessPrefix { issuer: issuer.to_owned(), url_prefix: prefix.to_owned() }];
    ask_signed(&Request::SigstoreKeylessPrefixVerify { image: image.to_owned(), keyless_prefix, annotations: None })
}

fn by_workflow(image: &str, owner: &str, repo: Option<&str>) -> Result<Value, String> {
    let (owner, repo) = (owner.to_owned(), repo.map(str::to_owned));
    ask_signed(&Request::SigstoreGithubActionsVerify { image: image.to_owned(), owner, repo, annotations: None })
}

#[track_caller]
fn is_missing(answer: Result<Value, String>) {
    let error = answer.unwrap_err();
    let start = "Image verification failed: missing signatures\nThe following constraints were not satisfied:\nkind: ";
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn what_somebody_signed_is_trusted() {
    let scan = format!("ghcr.io/team/app@{}", sha('3'));
    let trusted = |digit| Ok(json!({"is_trusted": true, "digest": sha(digit)}));
    assert_eq!(by_keys(&scan, &[KEY]), trusted('3'));
    assert_eq!(by_keys("ghcr.io/team/app:sha256-1.scan", &[KEY.trim()]), trusted('3'));
    is_missing(by_keys(&scan, &[OTHER_KEY]));
    // All keys must have signed.
    is_missing(by_keys(&scan, &[KEY, OTHER_KEY]));
    let issuer = "https://issuer.example.com";
    assert_eq!(by_subject(&scan, issuer, "https://example.com/team/ci"), trusted('3'));
    is_missing(by_subject(&scan, issuer, "https://example.com/team"));
    is_missing(by_subject(&scan, GITHUB, "https://example.com/team/ci"));
    for (prefix, is_trusted) in [
        ("https://example.com", true),
        ("https://example.com/team", true),
        ("https://example.com/team/", true),
        ("https://example.com/te", false),
        ("https://example.com/team/ci", false),
    ] {
        assert_eq!(by_prefix(&scan, issuer, prefix).is_ok(), is_trusted, "{prefix}");
    }
    let app = format!("ghcr.io/team/app@{}", sha('1'));
    assert_eq!(by_workflow(&app, "team", Some("app")), trusted('1'));
    assert_eq!(by_workflow(&app, "team", None), trusted('1'));
    is_missing(by_workflow(&app, "team", Some("other")));
    is_missing(by_workflow(&app, "teammate", None));
    is_missing(by_workflow(&scan, "team", None));
    assert_eq!(by_prefix(&app, GITHUB, "https://github.com/team"), trusted('1'));
    assert_eq!(by_prefix(&app, GITHUB, "https://github.com/team/app/"), trusted('1'));
    is_missing(by_prefix(&app, GITHUB, "https://github.com/team/app/.github/workflows/ci.yml"));
    // Nobody signed with annotations.
    let annotations = Some([("a".to_owned(), "b".to_owned())].into());
    is_missing(ask_signed(&Request::SigstorePubKeyVerify { image: scan, pub_keys: vec![KEY.to_owned()], annotations }));
}

#[test]
fn what_nobody_signed_is_the_host_s_error() {
    // An index's signature is not its images'.
    let child = format!("ghcr.io/team/app@{}", sha('2'));
    assert_eq!(by_keys(&child, &[KEY]), Err(format!("no signatures found for image: {child} ")));
    assert_eq!(
        by_keys(&format!("ghcr.io/team/app@{}", sha('3')), &[OTHER_KEY]),
        Err("Image verification failed: missing signatures\nThe following constraints were not satisfied:\n\
             kind: pubKey\nowner: null\nkey: |\n  -----BEGIN PUBLIC KEY-----\n  CCCC\n  -----END PUBLIC KEY-----\n\
             annotations: null\n"
            .to_owned())
    );
    assert_eq!(by_keys("ghcr.io/team/gone:1.0", &[KEY]), Err("registry says no".to_owned()));
    assert_eq!(
        by_keys("ghcr.io/team/app:2.0", &[KEY]),
        Err("failed to get image trusted layers: Cannot fetch manifest of ghcr.io/team/app:2.0: Registry error: url https://ghcr.io/v2/team/app/manifests/2.0, envelope: OCI API errors: [OCI API error: manifest unknown]".to_owned())
    );
    assert_eq!(by_keys(&child, &[]), Err("Must provide at least one pub key".to_owned()));
    assert_eq!(by_workflow(&child, "", None), Err("Must provide owner info".to_owned()));
    assert_eq!(
        by_prefix(&child, GITHUB, "github.com/team"),
        Err("`github.com/team` is not a URL, at which the real host breaks down".to_owned())
    );
}

#[test]
fn signatures_that_cannot_be_used_name_the_key() {
    check_refused(
        "images: {a: {digest: '#1', subject: x}}",
        "images.a: subject: `x` is not a digest; write `sha256:` and 64 hex digits",
    );
    let placed = "images.a: `subject` and `artifactType` are put into a manifest that is made for the entry: leave out `platforms`, or write them into `manifest`";
    check_refused("images: {a: {digest: '#1', subject: '#2', platforms: {linux/amd64: '#2'}}}", placed);
    check_refused("images: {a: {digest: '#1', artifactType: x, manifest: {}}}", placed);
    check_refused("images: {a: {error: x, signedBy: []}}", "images.a: an entry with `error` has nothing else");
    check_refused("images: {a: {error: x, subject: '#1'}}", "images.a: an entry with `error` has nothing else");
    check_refused(
        "images: {a: {digest: '#1', signedBy: []}}",
        "images.a: `signedBy` names nobody; leave it out where there are no signatures",
    );
    check_refused(
        "images: {a: {digest: '#1', signedBy: [{key: abc}]}}",
        "images.a: signedBy[0]: `key` is no public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`",
    );
    check_refused(
        "images: {a: {digest: '#1', signedBy: [{issuer: abc}]}}",
        "images.a: signedBy[0]: say who signed in one of three ways: `key`, or `issuer` and `subject`, or `githubActions`",
    );
    for (signer, expected) in [
        (
            "{kee: abc}",
            "images.a.signedBy[0]: unknown field `kee`, expected one of `key`, `issuer`, `subject`, `githubActions`",
        ),
        (
            "{githubActions: {owner: x, repo: y}}",
            "images.a.signedBy[0].githubActions: unknown field `repo`, expected `owner` or `repository`",
        ),
    ] {
        let yaml = format!("images: {{a: {{digest: '{}', signedBy: [{signer}]}}}}", sha('1'));
        let error = ImageFile::from_yaml(&yaml).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let by =
        |owner: &str| format!("{{digest: '#1', signedBy: [{{githubActions: {{owner: {owner}, repository: app}}}}]}}");
    check_refused(
        &format!("images: {{a: {}, 'a:2': {}}}", by("x"), by("y")),
        "images.a:2: another entry says that others signed `#1`; say it once, the others need only `digest`",
    );
    ImageFile::from_yaml(&format!("images: {{a: {}, 'a:2': {}}}", by("x"), by("x")).replace("#1", &sha('1'))).unwrap();
}
