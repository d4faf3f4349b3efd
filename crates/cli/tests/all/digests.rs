//! `image-admission digests`, as its users see it: each file `digests/*.txt` is a transcript, see `support/transcripts.rs`.
//! What it writes is compared with the files in `digests/new`; `BLESS=1` writes these too.

use crate::support::transcripts;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use image_admission_module_host::answers::files::{Files, ImageFile};
use image_admission_module_host::answers::{AnswerSource, Request};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use transcripts::image_admission;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests"))
}

/// The texts of all files in and below a folder, by their paths in it.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            texts.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
        }
    }
    texts
}

fn copy(texts: &BTreeMap<PathBuf, String>, to: &Path) {
    for (path, text) in texts {
        fs::create_dir_all(to.join(path).parent().unwrap()).unwrap();
        fs::write(to.join(path), text).unwrap();
    }
}

#[test]
fn transcripts_are_as_they_were_read() {
    let before = texts(&folder().join("old"));
    transcripts::check(&folder(), |arguments, input| image_admission(&folder(), arguments, input));
    assert_eq!(before, texts(&folder().join("old")), "`--check` writes nothing");
}

#[test]
fn every_file_is_rewritten_once_and_for_all() {
    let copied = TempDir::new().unwrap();
    copy(&texts(&folder().join("old")), copied.path());
    let outcome = image_admission(copied.path(), &["digests", "."], b"");
    assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""));
    let actual = texts(copied.path());
    if std::env::var_os("BLESS").is_some() {
        copy(&actual, &folder().join("new"));
    }
    assert_eq!(actual, texts(&folder().join("new")));
    // There is nothing left to be done.
    for arguments in [&["digests", "."][..], &["digests", "--check", "."]] {
        let outcome = image_admission(copied.path(), arguments, b"");
        assert_eq!((outcome.code, outcome.output.as_str(), outcome.errors.as_str()), (0, "", ""));
    }
    assert_eq!(actual, texts(copied.path()));
}

#[test]
fn lists_of_this_project_have_the_digests_of_their_documents() {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut checked = 0;
    let folders = fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.chain([root.join("tests/world")]).filter(|path| path.is_dir()) {
        let outcome = image_admission(&folder, &["digests", "--check", "."], b"");
        if !outcome.errors.starts_with("error: no list of images in ") {
            checked += 1;
            assert_eq!((outcome.code, outcome.output.as_str(), outcome.errors.as_str()), (0, "", ""), "{folder:?}");
        }
    }
    assert!(checked > 10, "where are the lists?");
}

/// The digest is that of what the host answers, byte for byte: no key of these indexes stands in another order there.
#[test]
fn an_index_has_the_digest_of_what_the_host_says() {
    let path = folder().join("new/images.yaml");
    let files = Files::new(None, Some(ImageFile::from_file(&path).unwrap()));
    let image = "ghcr.io/team/app:1".to_owned();
    let answer = files.answer(&Request::OciManifest { image: image.clone() }).unwrap();
    let hex: String = Sha256::digest(&answer).iter().map(|byte| format!("{byte:02x}")).collect();
    let said: Value = serde_json::from_slice(&files.answer(&Request::OciManifestDigest { image }).unwrap()).unwrap();
    assert_eq!(said, serde_json::json!({"digest": format!("sha256:{hex}")}));
}

#[test]
fn what_cannot_be_rewritten_is_left_alone() {
    for name in ["ambiguous", "circle.yaml"] {
        let (path, copied) = (folder().join(name), TempDir::new().unwrap());
        let before = if path.is_dir() {
            texts(&path)
        } else {
            BTreeMap::from([(name.into(), fs::read_to_string(&path).unwrap())])
        };
        copy(&before, copied.path());
        let outcome = image_admission(copied.path(), &["digests", "."], b"");
        assert_eq!((outcome.code, outcome.output.as_str()), (1, ""), "{name}");
        assert_eq!(before, texts(copied.path()), "{name}");
    }
}

#[test]
fn whoever_uses_a_list_is_told_which_command_helps() {
    let (list, module) = (folder().join("circle.yaml"), TempDir::new().unwrap());
    let old = folder().join("old/images.yaml");
    let warning = |list: &Path, image: &str, more: &str| {
        let list = list.display();
        format!(
            "warning: `{list}`: the digest of the index `{image}`{more} is not that of its document, so that it can't be proven; \
             `image-admission digests {list} PATH…` writes the right one there and into the other files that have it\n"
        )
    };
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: nginx}]}}";
    fs::write(module.path().join("pod.yaml"), pod).unwrap();
    let suite = format!(
        "{{images: {:?}, tests: [{{name: a, manifest: pod.yaml, expect: {{verdict: allowed}}}}]}}",
        old.display()
    );
    fs::write(module.path().join("a_test.yaml"), suite).unwrap();
    let no_module = "error: there is no module `none.wasm`";
    for (arguments, warning) in [
        (
            ["run", "-f", "pod.yaml", "--images", list.to_str().unwrap()].as_slice(),
            warning(&list, "ghcr.io/a:1", " (and of 1 more)"),
        ),
        (&["explain", "-f", "pod.yaml", "--images", old.to_str().unwrap()], warning(&old, "ghcr.io/team/app:1", "")),
        (&["test", "a_test.yaml"], warning(&old, "ghcr.io/team/app:1", "")),
        (&["run", "-f", "pod.yaml", "--images", folder().join("new/images.yaml").to_str().unwrap()], String::new()),
        (&["run", "-f", "pod.yaml", "--images", folder().join("proven.yaml").to_str().unwrap()], String::new()),
    ] {
        let arguments = [arguments, &["--module", "none.wasm"]].concat();
        let outcome = image_admission(module.path(), &arguments, b"");
        match outcome.errors.strip_prefix(&warning) {
            Some(rest) => assert!(rest.starts_with(no_module), "{arguments:?}: {rest}"),
            None => panic!("{arguments:?}: {}", outcome.errors),
        }
    }
}
