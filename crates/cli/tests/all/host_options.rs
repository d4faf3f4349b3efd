//! The options that choose a host.

use clap::Parser;
use image_admission_cli::host_options::HostOptions;
use image_admission_module_host::answers::{Grants, HostCall};
use tempfile::TempDir;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    host: HostOptions,
}

fn parse(arguments: &[&str]) -> Result<HostOptions, String> {
    let arguments = ["image-admission"].iter().chain(arguments);
    Command::try_parse_from(arguments).map(|c| c.host).map_err(|e| e.to_string())
}

fn digest_of(image: &str) -> HostCall {
    HostCall {
        binding: "kubewarden".to_owned(),
        namespace: "oci".to_owned(),
        operation: "v1/manifest_digest".to_owned(),
        payload: format!("\"{image}\"").into_bytes(),
    }
}

#[test]
fn files_and_recordings_exclude_a_live_host() {
    for arguments in [
        ["--cluster", "x", "--live"].as_slice(),
        &["--images", "x", "--live"],
        &["--replay", "x", "--live"],
        &["--replay", "x", "--cluster", "y"],
        &["--replay", "x", "--images", "y"],
        &["--kubeconfig", "x"],
        &["--insecure-registry", "x"],
    ] {
        assert!(parse(arguments).is_err(), "{arguments:?}");
    }
    for arguments in [
        [].as_slice(),
        &["--cluster", "x", "--images", "y", "--record", "z"],
        &["--replay", "x"],
        &["--live", "--kubeconfig", "x", "--insecure-registry", "a:1", "--insecure-registry", "b"],
    ] {
        assert!(parse(arguments).is_ok(), "{arguments:?}");
    }
}

#[test]
fn a_session_with_files_is_recorded_and_replayed() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let digest = format!("sha256:{}", "1".repeat(64));
    std::fs::write(file("images.yaml"), format!("images: {{a: {{digest: '{digest}'}}}}")).unwrap();
    let found = Ok(format!(r#"{{"digest":"{digest}"}}"#).into_bytes());

    let options = parse(&["--images", &file("images.yaml"), "--record", &file("session.yaml")]).unwrap();
    let host = options.open(Grants::everything()).unwrap();
    assert_eq!(host.answers().answer(&digest_of("a")), found);
    assert!(host.answers().answer(&digest_of("b")).is_err());
    host.save_recording().unwrap();

    let replayed = parse(&["--replay", &file("session.yaml")]).unwrap().open(Grants::everything()).unwrap();
    assert_eq!(replayed.answers().answer(&digest_of("a")), found);
    assert_eq!(
        replayed.answers().leftovers(),
        [r#"exchange 2 was never asked for: {"OciManifestDigest":{"image":"b"}}"#]
    );
    assert_eq!(replayed.answers().answer(&digest_of("b")), host.answers().answer(&digest_of("b")));
    assert!(replayed.answers().leftovers().is_empty());
}

#[test]
fn a_file_that_is_missing_is_named() {
    for option in ["--cluster", "--images", "--replay"] {
        let error = parse(&[option, "no/such"]).unwrap().open(Grants::everything()).unwrap_err();
        assert!(error.to_string().starts_with("cannot read `no/such`: "), "{error}");
    }
}
