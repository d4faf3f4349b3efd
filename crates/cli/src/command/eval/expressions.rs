//! What the settings' own expressions come to for a request: the engine decides it as it would for a cluster, and notes on the
//! way what it evaluates.

use image_admission_engine::{PolicyRecord, decide_and_record};
use image_admission_host::Host;
use serde_json::value::RawValue;

use super::documents::{DocumentsError, read};
use crate::command::policy::now;
use crate::command::rego::start_clock;

/// Every policy of `imageVerification`, in order, with what its expressions came to. Settings that couldn't be deployed will do:
/// what is wrong with an expression is said beside it.
pub(super) fn expressions(
    request: &RawValue,
    settings: Option<&RawValue>,
    host: &dyn Host,
) -> Result<Vec<PolicyRecord>, DocumentsError> {
    let settings = read(settings)?;
    start_clock();
    let (_, policies) = decide_and_record(Some(request), &settings, host, now());
    Ok(policies)
}
