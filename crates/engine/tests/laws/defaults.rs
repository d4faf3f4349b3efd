//! A setting at its documented default is one that isn't there: not one byte is another.

use crate::{Broken, law};
use image_admission_engine::validate_settings;
use serde_json::{Value, json};

/// What documents and editors are made of too.
const SCHEMA: &str = include_str!("../../../../settings.schema.json");
/// Settings that choose between others by being there, and other names of one.
const CHOICES: [&str; 6] = ["policies", "tagSuffix", "hashAlgorithm", "insecureIgnoreTlog", "kinds", "selector"];

/// Writes every default that is missing beside what is written.
fn fill(settings: &mut Value, schema: &Value) {
    let alternatives = schema["anyOf"].as_array().map_or_else(|| vec![schema], |list| list.iter().collect());
    match settings {
        Value::Array(list) => {
            list.iter_mut().for_each(|own| alternatives.iter().for_each(|schema| fill(own, &schema["items"])))
        }
        Value::Object(map) => {
            for (key, schema) in alternatives.iter().filter_map(|schema| schema["properties"].as_object()).flatten() {
                match map.get_mut(key) {
                    Some(own) => fill(own, schema),
                    None => drop(
                        schema
                            .get("default")
                            .filter(|_| !CHOICES.contains(&key.as_str()))
                            .map(|own| map.insert(key.clone(), own.clone())),
                    ),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn a_default_is_what_is_not_written() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    law("defaults", |world, asked| {
        let before = asked.decide(world);
        let mut settings = world.settings();
        for key in ["acceptance", "preScanPolicies", "scanPolicies", "reports", "evidence", "pin"] {
            settings.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
        }
        fill(&mut settings, &schema);
        let problems: Value =
            serde_json::from_slice(&validate_settings(settings.to_string().as_bytes()).response).unwrap();
        if problems["valid"] != true {
            return Err(Broken::here(format!("{settings:#}\n{problems:#}")));
        }
        let payload = json!({"request": world.workload.request(world), "settings": settings}).to_string();
        let after = world.decide_with(&payload, &world.host());
        if before == after { Ok(()) } else { Err(Broken::here(format!("{settings:#}\n{:#}", after.response))) }
    });
}
