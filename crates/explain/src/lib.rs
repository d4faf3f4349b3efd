//! Why a request is rejected: the paths of the settings that decided, what to do about the image, and a small change of the
//! settings that would have admitted it, with what that opens.
//!
//! A change is never guessed: the request is decided with it, and again without each part of it.
//!
//! ```text
//! decision ── causes (who decided, what to do, what would undo it) ── change (tried, and made as small as it can be)
//! ```
//!
//! Nothing of it is in the module: only the command line explains.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod advice;
mod advise;
mod causes;
mod change;
mod left_out;
mod opens;
mod why;

use image_admission_engine::{Decision, contact_line, decide};
use image_admission_host::Host;
use image_admission_settings::{InvalidSettings, Settings};
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use advice::{Advice, FilledBy, PackageUpdate};
pub use change::{Action, Change, Edit, Stuck};
pub use opens::{Opens, Whose};
pub use why::Why;

/// Why a request is rejected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The settings that paths and changes refer to: those that were given, without a ConfigMap around them.
    #[serde(skip)]
    pub settings: Value,
    /// Everything that rejects it by itself, in the order of the message; empty if it is admitted.
    pub causes: Vec<Cause>,
    /// What the Pods of an admitted workload wait for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Cause>,
    /// A change of the settings that admits it, and of which no part can be left out; none if none was found.
    pub change: Option<Change>,
    /// If changes were tried in vain, what rejects it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// Whom to ask, and where to read on, in the words of the message; none if the settings don't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// Something that rejects a request by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// Its image, as the object names it; none if it is about the request as a whole.
    pub image: Option<String>,
    /// The image's places in the object: two containers with one image have one cause.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// The reason; a sentence in the output.
    pub why: Why,
    /// The settings that decided, the most important first; empty if no setting could have decided otherwise.
    pub decided_by: Vec<Decider>,
    /// What to do about the image, or the object: it comes before any change of the settings.
    pub advice: Vec<Advice>,
    /// What would undo it; empty if no setting does, or only by opening more than needed.
    #[serde(skip)]
    undo: Vec<Edit>,
}

/// A setting that decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decider {
    /// Its path: `scanPolicies.byNamespace.shop.customPolicies[0]`.
    pub path: String,
    /// Its value; null if that is the text of rules.
    pub value: Value,
    /// Whether it is a default that isn't written.
    pub is_default: bool,
}

/// Explains the decision on a request with settings as they are written. The host is called again for every tried change, so it
/// should cache its answers.
///
/// # Errors
/// Everything that is wrong with the settings.
pub fn explain(
    request: Option<&RawValue>,
    settings: &Value,
    host: &dyn Host,
    now: Timestamp,
) -> Result<(Decision, Explanation), InvalidSettings> {
    let read = image_admission_engine::check_settings(settings)?;
    let decision = decide(request, &read, host, now);
    let settings = Settings::unwrapped(settings);
    let causes = causes::causes(&decision, request, &settings, &read, &read);
    let found = if causes.is_empty() { Err(None) } else { change::find(request, &settings, &read, host, now) };
    let (change, stuck) = match found {
        Ok(change) => (Some(change), None),
        Err(stuck) => (None, stuck),
    };
    let waiting = causes::waiting(&decision, request, &settings, &read);
    let contact = if causes.is_empty() { None } else { contact_line(&decision) };
    Ok((decision, Explanation { settings, causes, waiting, change, stuck, contact }))
}

/// What rejects a request that was decided with these settings, given as written and as read. No change of them is tried, and the
/// host isn't called. An admitted request has no causes.
#[must_use]
pub fn causes(decision: &Decision, request: Option<&RawValue>, written: &Value, read: &Settings) -> Vec<Cause> {
    if decision.is_allowed() {
        return Vec::new();
    }
    causes::causes(decision, request, &Settings::unwrapped(written), read, read)
}
