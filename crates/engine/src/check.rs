//! Settings of a policy that is to be deployed: read, and the rules and expressions among them looked into.

use crate::settings::{InvalidSettings, Settings};
use crate::{rego, verification};
use serde_json::Value;

/// Reads the settings of a policy that is to be deployed, and looks into the rules in Rego and the expressions in CEL among them.
///
/// # Errors
/// Everything that is wrong with them, with the path of each setting. Rules in Rego refer to each other, so that they are looked
/// at when nothing else is wrong.
pub fn check_settings(value: &Value) -> Result<Settings, InvalidSettings> {
    let (settings, mut problems) = Settings::read_partly(value);
    let Some(settings) = settings else { return Err(InvalidSettings(problems)) };
    if problems.is_empty() {
        problems.extend(rego::check(&settings));
    }
    problems.extend(verification::check::check(&settings));
    if problems.is_empty() { Ok(settings) } else { Err(InvalidSettings(problems)) }
}
