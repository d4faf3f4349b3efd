//! What the host says before anybody is asked: unknown operations, and access that wasn't granted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;

use super::{AnswerSource, HostAnswers, HostCall, Request};

/// The host's side of a call: checks it, asks its source, and words failures as the host does.
pub struct Gate {
    grants: Grants,
    source: Arc<dyn AnswerSource>,
    /// What nobody was there to answer.
    unanswered: Mutex<BTreeSet<String>>,
}

impl Gate {
    /// Lets through to `source` what `grants` allows.
    #[must_use]
    pub fn new(grants: Grants, source: Arc<dyn AnswerSource>) -> Self {
        Self { grants, source, unanswered: Mutex::default() }
    }

    /// The first call, in the order of their texts, that nobody was there to answer: without a registry, without a cluster, or
    /// one that a recording doesn't have. What the policy makes of it says nothing about the world.
    #[must_use]
    pub fn unanswered(&self) -> Option<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }

    /// The first of these calls that nobody was there to answer.
    #[must_use]
    pub fn unanswered_of(&self, calls: &BTreeSet<String>) -> Option<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).intersection(calls).next().cloned()
    }
}

impl HostAnswers for Gate {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let HostCall { binding, namespace, operation, payload } = call;
        if binding != "kubewarden" {
            return Err(format!("unknown binding: {binding}"));
        }
        // The log isn't a capability; everything else is, known to the host or not.
        if namespace != "tracing" {
            self.grants.check_capability(namespace, operation)?;
        }
        let request = Request::parse(namespace, operation, payload)?;
        if let Some((api_version, kind)) = request.resource() {
            self.grants.check_resource(api_version, kind)?;
        }
        if !self.source.can_answer(&request) {
            self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{call:?}"));
        }
        self.source.answer(&request).map_err(|cause| format!("Callback evaluation failure: {cause}"))
    }

    fn leftovers(&self) -> Vec<String> {
        self.source.leftovers()
    }

    fn may_block(&self) -> bool {
        self.source.may_block()
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("grants", &self.grants).finish_non_exhaustive()
    }
}

/// What a policy may ask: what its `ClusterAdmissionPolicy` lists.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grants {
    capabilities: Option<BTreeSet<String>>,
    resources: Option<BTreeSet<(String, String)>>,
}

impl Grants {
    /// Everything.
    #[must_use]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Everything but objects of the cluster, as it is for policies of a namespace.
    #[must_use]
    pub fn without_resources() -> Self {
        Self { capabilities: None, resources: Some(BTreeSet::new()) }
    }

    /// What a policy's metadata (`policy-metadata.yml`) asks for in `hostCapabilities` and `contextAwareResources`, and
    /// nothing else.
    ///
    /// Fails when the text isn't such metadata.
    pub fn from_metadata(yaml: &str) -> Result<Self, GrantsError> {
        let metadata: Metadata = yaml_serde::from_str(yaml).map_err(GrantsError)?;
        let resources = metadata.context_aware_resources.into_iter();
        Ok(Self {
            capabilities: Some(metadata.host_capabilities),
            resources: Some(resources.map(|r| (r.api_version, r.kind)).collect()),
        })
    }

    fn check_capability(&self, namespace: &str, operation: &str) -> Result<(), String> {
        let path = format!("{namespace}/{operation}");
        let granted = self.capabilities.as_ref().is_none_or(|granted| {
            granted.iter().any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => *pattern == path,
            })
        });
        if granted {
            return Ok(());
        }
        Err(format!(
            "Policy has not been granted access to the '{path}' host capability. The violation has been reported."
        ))
    }

    /// Whether objects of a kind may be read.
    ///
    /// # Errors
    /// What the host says where not.
    pub fn check_resource(&self, api_version: &str, kind: &str) -> Result<(), String> {
        let granted =
            self.resources.as_ref().is_none_or(|granted| granted.contains(&(api_version.to_owned(), kind.to_owned())));
        if granted {
            return Ok(());
        }
        Err(format!(
            "Policy has not been granted access to Kubernetes {api_version}/{kind} resources. The violation has been reported."
        ))
    }
}

/// Metadata that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("not a policy's metadata: {0}")]
pub struct GrantsError(yaml_serde::Error);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    host_capabilities: BTreeSet<String>,
    #[serde(default)]
    context_aware_resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    api_version: String,
    kind: String,
}
