//! Calls that a policy may not make, and kinds that it may not read: found in the host's text, and told with what to do.
//!
//! A PolicyServer may limit the calls of namespaced policies (`namespacedPoliciesCapabilities`, from Kubewarden 1.35 on). The kinds
//! that a policy may read are in its `contextAwareResources`, which namespaced policies don't have.

use super::HostFailure;
use image_admission_untrusted::message::cut;
use std::fmt;

/// How the host's text begins.
const BEGINNING: &str = "Policy has not been granted access to ";

/// The longest name of a kind that a message repeats.
const MAX_KIND_LENGTH: usize = 200;

/// A call that a PolicyServer may withhold from namespaced policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability(&'static str);

impl Capability {
    /// All calls of this policy, by their names in `namespacedPoliciesCapabilities`.
    pub const ALL: [Self; 8] = [
        Self("oci/v1/manifest_digest"),
        Self("oci/v1/oci_manifest"),
        Self("oci/v1/oci_manifest_config"),
        Self("oci/v2/verify"),
        Self("kubernetes/get_resource"),
        Self("kubernetes/list_resources_by_namespace"),
        Self("kubernetes/list_resources_all"),
        Self(CAN_I),
    ];

    /// `oci/v2/verify`
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Whether it reads objects, which no namespaced policy may.
    fn reads_the_cluster(self) -> bool {
        self.0.starts_with("kubernetes/") && self.0 != CAN_I
    }
}

const CAN_I: &str = "kubernetes/can_i";

/// What is wrong, and what to do.
impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the policy server doesn't let this policy call `{}`: ", self.0)?;
        f.write_str(if self.reads_the_cluster() {
            "only a ClusterAdmissionPolicy may read the cluster; deploy one"
        } else {
            "add it to `namespacedPoliciesCapabilities` of the PolicyServer"
        })
    }
}

/// The host's denial of a call about the cluster; none where the text says something else.
pub(super) fn of_cluster(line: &str) -> Option<HostFailure> {
    let what = line.strip_prefix(BEGINNING)?;
    let kind = what.strip_prefix("Kubernetes ").and_then(|rest| rest.split_once(" resources"));
    Some(match kind {
        Some((kind, _)) => HostFailure::NotGranted(format!(
            "the policy may not read `{}`: add it to its `contextAwareResources`; a policy of a namespace has none",
            cut(kind, MAX_KIND_LENGTH)
        )),
        None => of_call(what),
    })
}

/// The same for a call about a registry, whose text is never repeated.
pub(super) fn of_registry(line: &str) -> Option<HostFailure> {
    line.strip_prefix(BEGINNING).map(of_call)
}

/// `the 'oci/v2/verify' host capability. …`
fn of_call(what: &str) -> HostFailure {
    let is_called = |own: &Capability| {
        let name = what.strip_prefix("the '").and_then(|rest| rest.strip_prefix(own.0));
        name.is_some_and(|rest| rest.starts_with("' host capability"))
    };
    Capability::ALL.into_iter().find(is_called).map_or_else(
        || HostFailure::NotGranted("the policy server doesn't let this policy make the call".to_owned()),
        HostFailure::Withheld,
    )
}
