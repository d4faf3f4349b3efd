//! What a change of a setting admits, beside the image that it is proposed for.

use super::FilledBy;
use image_admission_untrusted::message::{cut, join_at_most};
use serde::{Serialize, Serializer};
use std::fmt;

/// The most ids that are shown.
const IDS_SHOWN: usize = 5;

/// What a change of a setting admits.
#[derive(Debug, Clone, PartialEq)]
pub enum Opens {
    /// Findings that don't count until a day.
    Findings {
        /// Their ids.
        ids: Vec<String>,
        /// The prefix of the images' names, as an exemption spells it.
        images: String,
        /// The namespace of the workloads.
        whose: Whose,
        /// The last day.
        until: String,
    },
    /// Findings that were always denied.
    Denied {
        /// Their ids.
        ids: Vec<String>,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// Higher limits.
    Limits(Whose),
    /// A gate of `acceptance` only warns.
    GateWarns {
        /// Its key.
        gate: &'static str,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// Images with this prefix are no longer rejected by name: a scan decides.
    Scanned {
        /// The prefix of their names.
        images: String,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// Images with this prefix, whatever their findings are.
    Accepted {
        /// The prefix of their names.
        images: String,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// Images without a report.
    Pending(Whose),
    /// Images whose scan fails because of an outage.
    Outages(Whose),
    /// Images whose scan fails, whatever the reason.
    Failures(Whose),
    /// A registry is contacted.
    Registry {
        /// Its host.
        host: String,
        /// Whether it becomes the only one: an empty list allows them all.
        is_only: bool,
    },
    /// Templates whose image is filled in the Pod.
    Placeholder(FilledBy),
    /// Images are judged for all of their platforms.
    EveryPlatform,
    /// A policy of `imageVerification` leaves a namespace out.
    Unverified {
        /// The policy.
        policy: String,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// A policy of `imageVerification` leaves repositories out.
    UnverifiedImages {
        /// The policy.
        policy: String,
        /// The prefixes of the images' names.
        images: Vec<String>,
        /// The namespace of the workloads.
        whose: Whose,
    },
    /// A policy of `imageVerification` only warns.
    Warned(String),
    /// Objects with more images.
    Images(usize),
    /// Requests with more calls.
    HostCalls(usize),
}

/// The workloads that a change applies to: those of one namespace, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose(pub Option<String>);

/// Serialized as its message.
impl Serialize for Opens {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Opens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |ids: &[String]| join_at_most(ids.iter().map(String::as_str), ", ", IDS_SHOWN);
        match self {
            Self::Findings { ids, images, whose, until } => {
                write!(f, "{} in {} {whose}, until {until}", named(ids), Of(images))
            }
            Self::Denied { ids, whose } => write!(f, "{} in every image {whose}, for ever", named(ids)),
            Self::Limits(whose) => write!(f, "every image {whose} with as many findings, whichever they are"),
            Self::GateWarns { gate, whose } => {
                write!(f, "every image {whose} that `{gate}` would reject, with a warning")
            }
            Self::Scanned { images, whose } => write!(f, "{} {whose}, as far as its scan is accepted", Of(images)),
            Self::Accepted { images, whose } => write!(f, "{} {whose}, whatever is found in it", Of(images)),
            Self::Pending(whose) => write!(f, "every image {whose} that has no report that counts"),
            Self::Outages(whose) => write!(f, "every image {whose} whose registry or scanner doesn't answer"),
            Self::Failures(whose) => {
                write!(
                    f,
                    "every image {whose} whose scan fails, and who names one that isn't there yet may push it later"
                )
            }
            Self::Registry { host, is_only } => {
                write!(f, "every image of {host}, as far as its scan is accepted")?;
                let closed = "; it closes every other registry, unless you list that too";
                f.write_str(if *is_only { closed } else { "" })
            }
            Self::Placeholder(filled_by) => {
                write!(f, "templates with that image, which {filled_by} must fill: their Pods are judged")
            }
            Self::EveryPlatform => f.write_str("nothing: each image is judged for all of its platforms"),
            Self::Unverified { policy, whose } => {
                write!(f, "every image {whose}, for which policy {} asks nothing then", cut(policy, 64))
            }
            Self::UnverifiedImages { policy, images, whose } => {
                let images: Vec<String> = images.iter().map(|image| image.trim_end_matches(':').to_owned()).collect();
                let policy = cut(policy, 64);
                write!(f, "every image of {} {whose}, for which policy {policy} asks nothing then", named(&images))
            }
            Self::Warned(policy) => write!(f, "every image that policy {} is about, with a warning", cut(policy, 64)),
            Self::Images(max) => write!(f, "every object of up to {max} different images"),
            Self::HostCalls(max) => write!(f, "every request that takes up to {max} calls"),
        }
    }
}

/// `every image of ghcr.io/team/app`, of a prefix; `the image ghcr.io/team/app@sha256:…`, of a whole name.
struct Of<'a>(&'a str);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains('@') {
            return write!(f, "the image {}", self.0);
        }
        write!(f, "every image of {}", self.0.trim_end_matches(':'))
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(namespace) => write!(f, "in `{namespace}`"),
            None => f.write_str("in every namespace"),
        }
    }
}
