//! Writes Events about workloads. One that is there already is counted on.

use crate::objects::{objects, resource};
use image_admission_companion::event::{Event, repeat};
use image_admission_untrusted::time::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The most names that are remembered. Events live an hour, and at most 60 are written a minute.
const REMEMBERED: usize = 4_000;
/// What the API server answers if an object of this name is there.
const CONFLICT: u16 = 409;

/// How often each Event was written, by its namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Events(Mutex<BTreeMap<(String, String), u32>>);

impl Events {
    /// Writes one.
    ///
    /// # Errors
    /// What the API server says.
    pub(crate) async fn tell(
        &self,
        client: &Client,
        event: &Event<'_>,
        identity: &str,
        now: Timestamp,
    ) -> Result<(), kube::Error> {
        let namespace = &event.workload.namespace;
        let api = objects(client, &resource("events.k8s.io/v1", "Event"), Some(namespace));
        let name = event.name();
        let times = self.count((namespace.clone(), name.clone()));
        let object = serde_json::from_value(event.to_json(identity, now)).map_err(kube::Error::SerdeError)?;
        match api.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.code == CONFLICT => {
                let again = Patch::Merge(repeat(times, now));
                api.patch(&name, &PatchParams::default(), &again).await.map(|_| ())
            }
            created => created.map(|_| ()),
        }
    }

    fn count(&self, event: (String, String)) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= REMEMBERED {
            counts.clear();
        }
        let count = counts.entry(event).or_default();
        *count += 1;
        *count
    }
}
