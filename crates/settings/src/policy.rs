//! Which policy of a phase decides about an image, the same way in both phases.

use crate::{CustomPolicy, Effect, ImageMatching, Phase, PhaseAction, Prefix};
use image_admission_image::{ImageReference, WorkloadImage};
use std::borrow::Cow;
use std::fmt;

/// The policy that decided about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<A> {
    /// The namespace whose settings it stands in; none: the top level's.
    pub namespace: Option<String>,
    /// The custom policy's prefix; none: it is the default policy.
    pub prefix: Option<Prefix>,
    /// Its action.
    pub action: A,
}

/// The scope as the messages of Sysdig's admission controller have it:
/// `Global default policy`, `Namespace 'x' custom policy (prefix 'y')`.
impl<A> fmt::Display for Rule<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl<A> Rule<A> {
    /// What messages and annotations call it.
    pub fn text(&self) -> String {
        match (&self.namespace, &self.prefix) {
            (None, None) => "Global default policy".to_owned(),
            (None, Some(prefix)) => ["Global custom policy (prefix '", prefix.as_str(), "')"].concat(),
            (Some(namespace), None) => ["Namespace '", namespace, "' default policy"].concat(),
            (Some(namespace), Some(prefix)) => {
                ["Namespace '", namespace, "' custom policy (prefix '", prefix.as_str(), "')"].concat()
            }
        }
    }
}

/// The policy for an image: the first custom policy that matches, of the namespace if it has a list, else of the top
/// level; then the namespace's default, then the top level's.
pub fn rule_for<A: PhaseAction>(
    phase: &Phase<A>,
    namespace: &str,
    image: &WorkloadImage,
    reference: &ImageReference,
    matching: ImageMatching,
) -> Rule<A> {
    let overrides = phase.by_namespace.of(namespace).map(|(_, overrides)| overrides);
    let (list, list_namespace) = match overrides.and_then(|overrides| overrides.custom_policies.as_ref()) {
        Some(list) => (list, Some(namespace)),
        None => (&phase.custom_policies, None),
    };
    if let Some(policy) = first_match(list, image, reference, matching) {
        return Rule {
            namespace: list_namespace.map(str::to_owned),
            prefix: Some(policy.prefix.clone()),
            action: policy.action,
        };
    }
    match overrides.and_then(|overrides| overrides.default_policy) {
        Some(action) => Rule { namespace: Some(namespace.to_owned()), prefix: None, action },
        None => Rule { namespace: None, prefix: None, action: phase.default_policy },
    }
}

fn first_match<'p, A: PhaseAction>(
    list: &'p [CustomPolicy<A>],
    image: &WorkloadImage,
    reference: &ImageReference,
    matching: ImageMatching,
) -> Option<&'p CustomPolicy<A>> {
    if list.is_empty() {
        return None;
    }
    let names = match matching {
        ImageMatching::Raw => ComparedNames::raw(&image.text),
        ImageMatching::Canonical => ComparedNames::canonical(reference),
    };
    list.iter().find(|policy| names.start_with(&policy.prefix, Effect::of(policy.action)))
}

/// The names of an image that prefixes are compared with.
#[derive(Debug, Clone)]
pub enum ComparedNames<'i> {
    /// The string in the Pod.
    Raw {
        /// All of it.
        text: Cow<'i, str>,
        /// The same without the tag, where there is a digest beside it.
        by_digest: Option<String>,
    },
    /// One name for everything that a runtime pulls from the same place, or two.
    Canonical {
        /// For every policy: without the tag where there is a digest.
        by_digest: Vec<String>,
        /// With tag and digest, for the policies that reject: beside a digest the tag is only a claim. It may get an
        /// image rejected, but nothing else.
        by_tag: Vec<String>,
    },
}

impl<'i> ComparedNames<'i> {
    /// The string in the Pod alone.
    pub fn raw(text: impl Into<Cow<'i, str>>) -> Self {
        let text = text.into();
        Self::Raw { by_digest: without_tag(&text), text }
    }

    /// The canonical name alone, whatever an object has.
    pub fn canonical(reference: &ImageReference) -> Self {
        let by_tag = if reference.digest().is_some() { reference.compared_names(true) } else { Vec::new() };
        Self::Canonical { by_digest: reference.compared_names(false), by_tag }
    }

    /// Whether a policy of this prefix and effect matches the image.
    pub fn start_with(&self, prefix: &Prefix, effect: Effect) -> bool {
        let names_digest = |name: &str, matching| effect != Effect::Admits && prefix.names_every_tag_of(name, matching);
        match self {
            Self::Raw { text, by_digest } => {
                let name = by_digest.as_deref().unwrap_or(text);
                prefix.matches_raw(name)
                    || (effect == Effect::Rejects && prefix.matches_raw(text))
                    || names_digest(name, ImageMatching::Raw)
            }
            Self::Canonical { by_digest, by_tag } => {
                let matches = |names: &[String]| names.iter().any(|name| prefix.matches_canonical(name));
                matches(by_digest)
                    || (effect == Effect::Rejects && matches(by_tag))
                    || by_digest.iter().any(|name| names_digest(name, ImageMatching::Canonical))
            }
        }
    }
}

/// A string without the tag beside its digest; none where it doesn't have both.
fn without_tag(text: &str) -> Option<String> {
    let (name, digest) = text.split_once('@')?;
    // Before a `/` it is a port.
    let (name, _) = name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))?;
    Some([name, "@", digest].concat())
}
