//! Exemptions that stand in the cluster: whose word they are, and why they don't hold.

use crate::host::HostFailure;
use crate::message::cut;
use crate::settings::{ExemptionObject, VoidExemption};
use std::fmt;

/// The longest text that is repeated of what is wrong with an object.
const MAX_PROBLEM_LENGTH: usize = 120;

/// Exemptions that couldn't be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownExemptions {
    pub(crate) namespace: String,
    pub(crate) failure: HostFailure,
}

/// ``exemptions can't be looked up (ImageExemption in `shop`): …``
impl fmt::Display for UnknownExemptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, failure } = self;
        write!(f, "exemptions can't be looked up ({} in `{namespace}`): {failure}", ExemptionObject::KIND)
    }
}

/// How people find it: `ImageExemption shop/web`.
impl fmt::Display for ExemptionObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", Self::KIND, self.namespace, self.name)
    }
}

impl fmt::Display for VoidExemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => f.write_str(&cut(problem, MAX_PROBLEM_LENGTH)),
            Self::NotApproved => f.write_str("it doesn't say who approved it"),
            Self::Undated => f.write_str("it doesn't say when it was made"),
            Self::MadeLater(time) => write!(f, "it was made at {time}, which is later than now"),
            Self::TooLong(longest) => write!(f, "its last day is more than {longest} after it was made"),
            Self::Severity(severity) => write!(f, "such objects may exempt no {severity} finding"),
        }
    }
}
