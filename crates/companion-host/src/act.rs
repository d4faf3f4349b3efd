//! Does in the cluster what the companion says. What it writes is small, and never the result of anything.

use crate::log::{line, write};
use crate::objects::{objects, resource, resource_of};
use image_admission_companion::log::LogLevel;
use image_admission_companion::{Kind, NewObject, ScanFailure, WorkloadReference};
use image_admission_untrusted::time::Timestamp;
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use serde_json::json;

/// The condition by which a controller that waits is made to try again.
const CONDITION: &str = "ImagesScanned";
/// What the API server answers if an object of this name is there.
const EXISTS: &str = "AlreadyExists";
/// It is another one by now.
const CONFLICT: u16 = 409;
/// It is gone.
const NOT_FOUND: u16 = 404;

/// Creates objects in turn.
///
/// # Errors
/// Why one wasn't. That it is there already is no error: whoever asked for this scan before meant the same.
pub(crate) async fn create(client: &Client, all: &[NewObject]) -> Result<(), ScanFailure> {
    for new in all {
        let api = objects(client, &resource(new.kind.api_version, new.kind.kind), Some(&new.namespace));
        // An object of ours is one of its kind.
        let object = serde_json::from_value(new.object.clone()).map_err(|_| ScanFailure::Invalid)?;
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.reason == EXISTS => {}
            Err(error) => {
                let why = refusal(&error);
                let line = line(LogLevel::Warning, "an object wasn't created").with("object", &new.shown());
                write(&line.with("why", &error.to_string()));
                return Err(why);
            }
        }
    }
    Ok(())
}

/// Why the API server doesn't create an object.
fn refusal(error: &kube::Error) -> ScanFailure {
    match error {
        kube::Error::Api(status) => match status.code {
            401 | 403 => ScanFailure::Refused,
            400 | 404 | 422 => ScanFailure::Invalid,
            _ => ScanFailure::Outage,
        },
        _ => ScanFailure::Outage,
    }
}

/// Deletes an object of ours where the scanner's objects are.
///
/// # Errors
/// What the API server says. That it is gone, or another one by now, is no error.
pub(crate) async fn delete(
    client: &Client,
    (kind, namespace, name): (Kind, &str, &str),
    uid: String,
    keeps_dependents: bool,
) -> Result<(), kube::Error> {
    let api = objects(client, &resource(kind.api_version, kind.kind), Some(namespace));
    let propagation = if keeps_dependents { PropagationPolicy::Orphan } else { PropagationPolicy::Background };
    let how = DeleteParams {
        propagation_policy: Some(propagation),
        preconditions: Some(Preconditions { uid: Some(uid), resource_version: None }),
        ..DeleteParams::default()
    };
    match api.delete(name, &how).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if matches!(status.code, NOT_FOUND | CONFLICT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a controller try again now: a change of its status is a reason for it to look.
///
/// # Errors
/// What the API server says.
pub(crate) async fn wake(client: &Client, workload: &WorkloadReference, now: Timestamp) -> Result<(), kube::Error> {
    let api = objects(client, &resource_of(workload.kind), Some(&workload.namespace));
    let condition = json!({
        "type": CONDITION,
        "status": "True",
        "reason": "NothingIsMissing",
        "message": "what the images waited for is there: scan reports, or copied evidence",
        "lastTransitionTime": now.to_string(),
    });
    // The other conditions stay, and another workload of this name is left alone.
    let patch = json!({"metadata": {"uid": workload.uid}, "status": {"conditions": [condition]}});
    api.patch_status(&workload.name, &PatchParams::default(), &Patch::Strategic(patch)).await.map(|_| ())
}
