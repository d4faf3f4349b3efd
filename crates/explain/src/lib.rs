//! Why a request is rejected: which settings decided, at which paths; what to do about the image; and a small change of
//! the settings that would have admitted it, with what that opens.
//!
//! No such change is guessed: the request is decided with it, and with every part of it left out.
//!
//! ```text
//! decision ── causes (who decided, what to do, what would undo it) ── change (tried, and made as small as it can be)
//! ```

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
    /// The settings that paths and changes speak of: those that were given, without a ConfigMap that they were wrapped in.
    #[serde(skip)]
    pub settings: Value,
    /// Everything that rejects it by itself, in the order of the message; empty when it is admitted.
    pub causes: Vec<Cause>,
    /// What the Pods wait for that are made from a workload which is admitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Cause>,
    /// A change of the settings that was found to admit it, of which no part can be left out; none when none was found.
    pub change: Option<Change>,
    /// Where none was found although something was changed: what rejects it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// Whom to ask, and where to read on, in the words of the message; none where the settings don't say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// Something that rejects a request by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// The image that it is about, as the object names it; none: the request as a whole.
    pub image: Option<String>,
    /// Where the object names it: two containers of one image have one cause.
    #[serde(rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Why; a sentence where it is written out.
    pub why: Why,
    /// The settings that decided, the most important first; none when no setting could have decided otherwise.
    pub decided_by: Vec<Decider>,
    /// What to do about the image, or the object: it comes before any change of the settings.
    pub advice: Vec<Advice>,
    /// What would undo it; none when no setting does, or none that opens no more than is needed.
    #[serde(skip)]
    undo: Vec<Edit>,
}

/// A setting that decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decider {
    /// Its path: `scanPolicies.byNamespace.shop.customPolicies[0]`.
    pub path: String,
    /// Its value; null where that is a text of rules.
    pub value: Value,
    /// Whether it isn't written, and this is its default.
    pub is_default: bool,
}

/// Explains what is decided about a request with settings as they are written. The host is asked again for every change
/// that is tried, so that it should keep its answers.
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

/// What rejects a request that was decided with these settings, as they are written and as they were read. No change of them is
/// tried, and the host isn't asked; nothing rejects what is admitted.
#[must_use]
pub fn causes(decision: &Decision, request: Option<&RawValue>, written: &Value, read: &Settings) -> Vec<Cause> {
    if decision.is_allowed() {
        return Vec::new();
    }
    causes::causes(decision, request, &Settings::unwrapped(written), read, read)
}
