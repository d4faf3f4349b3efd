//! The three files that are made of the settings' types are those in the repository. `make settings` makes them again. And
//! what people look a source of reports up in has each of them.

#![expect(clippy::unwrap_used, reason = "in tests a panic is a failure")]

use image_admission_schema::{form, reference, schema};
use std::env;
use std::fs;
use std::path::Path;

/// Whether the file says what it must, after it was written where that is asked for.
fn is_current(file: &str, text: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    fs::read_to_string(path).unwrap_or_default() == text
}

#[test]
fn the_schema_is_current() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert!(is_current("settings.schema.json", &text), "run `make settings`");
}

#[test]
fn the_reference_is_current() {
    assert!(is_current("docs/settings.md", &reference(&schema())), "run `make settings`");
}

#[test]
fn the_form_is_current() {
    let mut text = String::from("# Rancher's form for the settings; made of their types by `make settings`.\n");
    text.push_str(&yaml_serde::to_string(&form(&schema())).unwrap());
    assert!(is_current("questions-ui.yml", &text), "run `make settings`");
}

#[test]
fn the_reference_leaves_no_setting_out() {
    let (schema, page) = (schema(), reference(&schema()));
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert!(keys.len() > 10, "{keys:?}");
    let missing: Vec<_> = keys
        .iter()
        .filter(|key| !page.contains(&format!("| `{key}` |")) && !page.contains(&format!("### `{key}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}: in which group are they?");
}

#[test]
fn every_source_of_reports_is_where_people_look_for_it() {
    let schema = schema();
    let sources = schema.pointer("/properties/reports/properties/sources/items/properties").unwrap();
    let names: Vec<&String> = sources.as_object().unwrap().keys().collect();
    assert!(names.len() > 4, "{names:?}");
    for (file, before, after) in [
        ("docs/how-it-decides.md", "`", "`"),
        ("docs/reports.md", "\n### ", "\n"),
        // How many calls it takes at most.
        ("docs/scale.md", "\n| `", "`"),
    ] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)).unwrap();
        let lacks: Vec<_> = names.iter().filter(|name| !text.contains(&format!("{before}{name}{after}"))).collect();
        assert!(lacks.is_empty(), "{file} lacks {lacks:?}");
    }
}
