//! Why it is unknown whether somebody vouches for an artifact.

use image_admission_host::HostFailure;

/// Who was asked, and has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A registry. The author of a Pod may have chosen one that fails on purpose.
    Registry,
    /// The cluster, for an object that the settings name or that the digest does.
    Cluster,
}

/// A look-up without an answer, or a key or trust root that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who has no answer.
    pub asked: Asked,
    /// What came instead.
    pub failure: HostFailure,
    /// What couldn't be looked up, and why; for people.
    pub why: String,
}

impl Failure {
    /// Whether it may end by itself, if nobody brought it about.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        self.failure.is_outage()
    }

    /// The same as a host says it; of the cluster, with what couldn't be looked up.
    #[must_use]
    pub fn to_host_failure(&self) -> HostFailure {
        match (&self.asked, &self.failure) {
            (Asked::Cluster, HostFailure::Failed(_)) => HostFailure::Failed(self.why.clone()),
            (Asked::Cluster, HostFailure::NotGranted(_)) => HostFailure::NotGranted(self.why.clone()),
            (Asked::Cluster, HostFailure::NotFound(_) | HostFailure::Malformed(_)) => {
                HostFailure::Malformed(self.why.clone())
            }
            (_, failure) => failure.clone(),
        }
    }

    pub(crate) fn registry(what: &str, failure: HostFailure) -> Self {
        Self { asked: Asked::Registry, why: format!("{what}: {failure}"), failure }
    }

    pub(crate) fn cluster(what: &str, failure: HostFailure) -> Self {
        Self { asked: Asked::Cluster, why: format!("{what}: {failure}"), failure }
    }

    /// What the settings name is there, and can't be used.
    pub(crate) fn unusable(why: String) -> Self {
        Self { asked: Asked::Cluster, failure: HostFailure::Malformed(why.clone()), why }
    }
}
