//! Exemptions in the cluster: who approved them, and why they don't hold.

use image_admission_host::HostFailure;
use image_admission_settings::ExemptionObject;
use std::fmt;

/// Exemptions that couldn't be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownExemptions {
    /// The namespace of the objects.
    pub namespace: String,
    /// The host's error.
    pub failure: HostFailure,
}

/// ``exemptions can't be looked up (ImageExemption in `shop`): …``
impl fmt::Display for UnknownExemptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, failure } = self;
        write!(f, "exemptions can't be looked up ({} in `{namespace}`): {failure}", ExemptionObject::KIND)
    }
}
