//! Exemptions that stand in the cluster: whose word they are, and why they don't hold.

use image_admission_host::HostFailure;
use image_admission_settings::ExemptionObject;
use std::fmt;

/// Exemptions that couldn't be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownExemptions {
    /// The namespace of the objects.
    pub namespace: String,
    /// Why not.
    pub failure: HostFailure,
}

/// ``exemptions can't be looked up (ImageExemption in `shop`): …``
impl fmt::Display for UnknownExemptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, failure } = self;
        write!(f, "exemptions can't be looked up ({} in `{namespace}`): {failure}", ExemptionObject::KIND)
    }
}
