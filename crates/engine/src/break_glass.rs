//! Break glass: a request that is let through unjudged, because its user has the right to.
//!
//! The annotation requests it and gives the reason. The cluster decides: a SubjectAccessReview says whether the user may `use` what
//! the settings name. Nothing else is called, so that a registry that doesn't answer can't block it.

use crate::context::RequestContext;
use crate::request::Operation;
use image_admission_host::AccessReview;
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::BreakGlass;
use image_admission_untrusted::message::cut;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// The longest name of a user, and the longest reason, in messages.
const MAX_LENGTH: usize = 256;

/// A request that was let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenGlass {
    /// Who made the request, in one line.
    pub user: String,
    /// Why, as they wrote it, in one line.
    pub reason: String,
    /// The kind of an object that makes Pods. Those are judged, since a controller creates them.
    pub makes_pods: Option<WorkloadKind>,
}

/// Why a request with the annotation is judged all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeGlass {
    /// The annotation has no reason.
    NoReason,
    /// A controller made the object, so its author is the author of a template.
    OfController,
    /// The request doesn't say who made it.
    NoUser,
    /// The user has no right to.
    MayNot {
        /// Who made the request, in one line.
        user: String,
        /// What they may not `use`.
        resource: String,
    },
    /// The cluster couldn't be asked, for this reason.
    Unknown(String),
}

impl fmt::Display for WholeGlass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("break glass was asked for, and refused: ")?;
        match self {
            Self::NoReason => f.write_str("the annotation must say why"),
            Self::OfController => f.write_str("a controller made this object, and has the annotation of a template"),
            Self::NoUser => f.write_str("the request doesn't say who made it"),
            Self::MayNot { user, resource } => write!(f, "`{user}` may not `use` {resource}"),
            Self::Unknown(why) => write!(f, "whether its user may can't be looked up: {why}"),
        }
    }
}

/// The result for an object with the annotation; none if it has none, or if the settings have no break glass.
pub(crate) fn break_glass(context: RequestContext<'_>) -> Option<Result<BrokenGlass, WholeGlass>> {
    let settings = context.settings.break_glass.as_deref()?;
    asked(context, settings)
}

fn asked(context: RequestContext<'_>, settings: &BreakGlass) -> Option<Result<BrokenGlass, WholeGlass>> {
    if matches!(context.request.operation, Operation::Delete | Operation::Connect) {
        return None;
    }
    // An object that can't be read has no annotation: it is judged, and rejected for that.
    let object: Annotated = context.request.object_with(&settings.annotation)?;
    let reason = one_line(object.metadata.annotations.get(settings.annotation.as_str())?);
    if !reason.contains(char::is_alphanumeric) {
        return Some(Err(WholeGlass::NoReason));
    }
    if object.metadata.owner_references.iter().flatten().any(|owner| owner.controller == Some(true)) {
        return Some(Err(WholeGlass::OfController));
    }
    let user = context.request.user().filter(|user| !user.username.trim().is_empty());
    let Some(user) = user else { return Some(Err(WholeGlass::NoUser)) };
    let resource = &settings.resource;
    let review = AccessReview { user: &user.username, groups: &user.groups, verb: "use", resource };
    let named = one_line(&user.username);
    Some(match context.host.may(&review) {
        Ok(true) => Ok(BrokenGlass { user: named, reason, makes_pods: makes_pods(context) }),
        Ok(false) => Err(WholeGlass::MayNot { user: named, resource: resource.to_string() }),
        Err(failure) => Err(WholeGlass::Unknown(failure.to_string())),
    })
}

fn makes_pods(context: RequestContext<'_>) -> Option<WorkloadKind> {
    WorkloadKind::of(&context.request.group, &context.request.kind).filter(|kind| *kind != WorkloadKind::Pod)
}

/// Somebody else's string, in one line of a bounded length.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    cut(&words.join(" "), MAX_LENGTH)
}

#[derive(Deserialize)]
struct Annotated {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Deserialize)]
struct OwnerReference {
    controller: Option<bool>,
}

#[cfg(test)]
mod tests;
