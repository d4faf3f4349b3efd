//! The engine and the command line in a browser.
//!
//! Nothing is decided here, and nothing leaves the page: files are those that the page hands over, the clock is the browser's,
//! and whatever would have to be asked of a network isn't there. A rule that loops is stopped as in a cluster; the page runs
//! this in a worker, so that it lives on whatever happens here.
//!
//! `command` runs the command line, which is compiled whole: what it says in JSON is what the page shows. `validate` and
//! `validateSettings` are the module's two functions, with a host that the caller has.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

mod clock;

use std::collections::BTreeMap;
use std::path::PathBuf;

use image_admission_cli::command;
use image_admission_host::{HostCalls, WireHost};
use image_admission_module_host::disk;
use image_admission_untrusted::time::Timestamp;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** What the host answers to the module's call: JSON bytes. What is thrown is the text of a failure. */
export type Host = (namespace: string, operation: string, payload: Uint8Array) => Uint8Array;
"#;

#[wasm_bindgen]
extern "C" {
    /// What answers the module's calls.
    #[wasm_bindgen(typescript_type = "Host")]
    pub type Host;

    #[wasm_bindgen(method, catch, js_name = call)]
    fn call(
        this: &Host,
        this_argument: &JsValue,
        namespace: &str,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, JsValue>;
}

/// What a command said, and how it ended.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its exit code: `image-admission --help` says what each means.
    pub code: u8,
    /// Its standard output.
    pub output: String,
    /// Its standard error stream.
    pub errors: String,
    /// The files that it wrote, as `lint --fix` does, and that aren't as they were: paths and texts alternate.
    pub files: Vec<String>,
}

/// Runs the command line with `args`, the command first, on files whose paths and texts alternate in `files`.
#[wasm_bindgen]
#[must_use]
pub fn command(args: Vec<String>, files: Vec<String>) -> Outcome {
    clock::start();
    let mut mounted = BTreeMap::new();
    let mut files = files.into_iter();
    while let (Some(path), Some(text)) = (files.next(), files.next()) {
        mounted.insert(PathBuf::from(path), text.into_bytes());
    }
    disk::mount(mounted);
    let name = std::iter::once("image-admission".to_owned());
    let outcome = command::execute(name.chain(args));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let changed = disk::changed().into_iter();
    Outcome {
        code: outcome.code,
        output: text(&outcome.output),
        errors: text(&outcome.errors),
        files: changed.flat_map(|(path, bytes)| [path.display().to_string(), text(&bytes)]).collect(),
    }
}

/// What the module answers to `validate`: the payload with the request and the settings in, the response out. `seconds` is
/// the time that is decided for, since 1970.
#[wasm_bindgen]
#[must_use]
pub fn validate(payload: &[u8], host: &Host, seconds: f64) -> Vec<u8> {
    struct Page<'a>(&'a Host);
    impl HostCalls for Page<'_> {
        fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
            let answer = self.0.call(&JsValue::NULL, namespace, operation, payload);
            // The guest's side of waPC puts its own words before the host's.
            answer.map_err(|thrown| format!("Host error: {}", words(&thrown)))
        }
    }
    clock::start();
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds are what is meant")]
    let now = Timestamp(seconds as i64);
    image_admission_engine::validate(payload, &WireHost(Page(host)), now).response
}

/// What the module answers to `validate_settings`.
#[wasm_bindgen(js_name = validateSettings)]
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Vec<u8> {
    clock::start();
    image_admission_engine::validate_settings(payload).response
}

/// What was thrown, as text: a text itself, or an error's message.
fn words(thrown: &JsValue) -> String {
    thrown.as_string().unwrap_or_else(|| {
        let message = js_sys::Reflect::get(thrown, &JsValue::from_str("message")).ok();
        message.and_then(|message| message.as_string()).unwrap_or_default()
    })
}
