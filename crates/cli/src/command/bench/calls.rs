//! How many calls to the host a request makes, and how many of them a policy server passes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use image_admission_module_host::answers::{GetResource, HostCall, Request};
use image_admission_module_host::runtime::HostExchange;
use serde::Serialize;

/// What the policy server sends for a call to a registry, at least: it begins each with `GET /v2/`.
const REQUESTS_OF_A_CALL: usize = 2;

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    Digest,
    Manifest,
    Configuration,
    Signature,
    Object,
    List,
    Right,
    Other,
}

impl Kind {
    /// Every kind, in the order in which people read them.
    const ALL: [Self; 8] = [
        Self::Digest,
        Self::Manifest,
        Self::Configuration,
        Self::Signature,
        Self::Object,
        Self::List,
        Self::Right,
        Self::Other,
    ];

    fn of(request: &Request) -> Self {
        match request {
            Request::OciManifestDigest { .. } => Self::Digest,
            Request::OciManifest { .. } => Self::Manifest,
            Request::OciManifestAndConfig { .. } => Self::Configuration,
            Request::SigstorePubKeyVerify { .. }
            | Request::SigstoreKeylessVerify { .. }
            | Request::SigstoreKeylessPrefixVerify { .. }
            | Request::SigstoreGithubActionsVerify { .. }
            | Request::SigstoreCertificateVerify { .. } => Self::Signature,
            Request::KubernetesGetResource(_) => Self::Object,
            Request::KubernetesListResourceNamespace(_) | Request::KubernetesListResourceAll(_) => Self::List,
            Request::KubernetesCanI { .. } => Self::Right,
            Request::DNSLookupHost { .. } | Request::CryptoIsCertificateTrusted { .. } => Self::Other,
        }
    }

    fn is_of_a_registry(self) -> bool {
        matches!(self, Self::Digest | Self::Manifest | Self::Configuration | Self::Signature)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digest => "registry: digest",
            Self::Manifest => "registry: manifest",
            Self::Configuration => "registry: configuration",
            Self::Signature => "registry: signature",
            Self::Object => "cluster: object",
            Self::List => "cluster: list",
            Self::Right => "cluster: right of a user",
            Self::Other => "other",
        })
    }
}

/// Calls of one kind, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Number {
    /// Those that the policy makes, as `maxHostCalls` counts them.
    pub(super) made: usize,
    /// Those that are passed on if the policy server has kept nothing.
    pub(super) cold: usize,
    /// Those that are passed on if it was asked the same a moment ago.
    pub(super) warm: usize,
}

/// The calls of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Calls(BTreeMap<Kind, Number>);

impl Calls {
    /// Counts what the policy asked, in its order.
    pub(super) fn of(exchanges: &[HostExchange]) -> Self {
        let (mut numbers, mut kept): (BTreeMap<Kind, Number>, BTreeSet<String>) = Default::default();
        for HostExchange { call, answer } in exchanges {
            let HostCall { namespace, operation, payload, .. } = call;
            let request = Request::parse(namespace, operation, payload);
            let number = numbers.entry(request.as_ref().map_or(Kind::Other, Kind::of)).or_default();
            number.made += 1;
            // Only answers that succeed are kept.
            match request.ok().filter(|_| answer.is_ok()).and_then(|request| key(&request)) {
                Some(key) => number.cold += usize::from(kept.insert(key)),
                None => {
                    number.cold += 1;
                    number.warm += 1;
                }
            }
        }
        Self(numbers)
    }

    /// Those of each kind of which there are any.
    pub(super) fn by_kind(&self) -> impl Iterator<Item = (Kind, Number)> {
        Kind::ALL.into_iter().filter_map(|kind| Some((kind, *self.0.get(&kind)?)))
    }

    /// All of them.
    pub(super) fn all(&self) -> Number {
        self.0.values().fold(Number::default(), |all, number| Number {
            made: all.made + number.made,
            cold: all.cold + number.cold,
            warm: all.warm + number.warm,
        })
    }

    /// How many requests reach registries at least, if nothing is kept.
    pub(super) fn registry_requests(&self) -> usize {
        let calls = self.by_kind().filter(|(kind, _)| kind.is_of_a_registry()).map(|(_, number)| number.cold);
        calls.sum::<usize>() * REQUESTS_OF_A_CALL
    }
}

/// What the policy server keeps an answer by; none if it keeps it not at all. An object is kept whole, whatever fields are asked for, and
/// a list is watched.
fn key(request: &Request) -> Option<String> {
    match request {
        Request::KubernetesGetResource(GetResource { disable_cache: true, .. })
        | Request::KubernetesCanI { disable_cache: true, .. } => None,
        Request::KubernetesGetResource(resource) => {
            Some(format!("{:?}", GetResource { field_masks: None, ..resource.clone() }))
        }
        request => Some(format!("{request:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn exchange(operation: &str, payload: &Value, is_answered: bool) -> HostExchange {
        let (namespace, operation) = operation.split_once('/').unwrap();
        let call = HostCall {
            binding: "kubewarden".to_owned(),
            namespace: namespace.to_owned(),
            operation: operation.to_owned(),
            payload: payload.to_string().into_bytes(),
        };
        HostExchange { call, answer: if is_answered { Ok(b"{}".to_vec()) } else { Err("no".to_owned()) } }
    }

    fn get(name: &str, fields: &[&str], disable_cache: bool) -> Value {
        json!({"api_version": "v1", "kind": "Pod", "name": name, "namespace": "a", "disable_cache": disable_cache, "field_masks": fields})
    }

    #[track_caller]
    fn check(exchanges: &[HostExchange], expected: &[(Kind, usize, usize, usize)], registry_requests: usize) {
        let calls = Calls::of(exchanges);
        let counted: Vec<_> =
            calls.by_kind().map(|(kind, Number { made, cold, warm })| (kind, made, cold, warm)).collect();
        assert_eq!(counted, expected);
        assert_eq!(calls.registry_requests(), registry_requests);
        assert_eq!(calls.all().made, exchanges.len());
    }

    #[test]
    fn what_succeeds_is_asked_once_and_what_fails_each_time() {
        let digest = |image: &str, is_answered| exchange("oci/v1/manifest_digest", &json!(image), is_answered);
        check(&[], &[], 0);
        check(&[digest("a", true)], &[(Kind::Digest, 1, 1, 0)], 2);
        check(&[digest("a", true), digest("a", true)], &[(Kind::Digest, 2, 1, 0)], 2);
        check(&[digest("a", true), digest("b", true)], &[(Kind::Digest, 2, 2, 0)], 4);
        check(&[digest("a", false), digest("a", false)], &[(Kind::Digest, 2, 2, 2)], 4);
        // Each operation has answers of its own.
        let manifest = exchange("oci/v1/oci_manifest", &json!("a"), true);
        check(&[digest("a", true), manifest], &[(Kind::Digest, 1, 1, 0), (Kind::Manifest, 1, 1, 0)], 4);
    }

    #[test]
    fn an_object_is_kept_whole_unless_it_is_asked_for_anew() {
        let object = |payload: Value| exchange("kubernetes/get_resource", &payload, true);
        check(
            &[
                object(get("a", &["spec"], false)),
                object(get("a", &["status"], false)),
                object(get("b", &["spec"], false)),
            ],
            &[(Kind::Object, 3, 2, 0)],
            0,
        );
        check(&[object(get("a", &[], true)), object(get("a", &[], true))], &[(Kind::Object, 2, 2, 2)], 0);
    }

    #[test]
    fn a_list_is_watched_for_its_selectors_and_fields() {
        let list = |selector: &str| {
            let payload = json!({"api_version": "v1", "kind": "Pod", "namespace": "a", "label_selector": selector, "field_selector": null, "field_masks": null});
            exchange("kubernetes/list_resources_by_namespace", &payload, true)
        };
        check(&[list("a=b"), list("a=b"), list("a=c")], &[(Kind::List, 3, 2, 0)], 0);
    }

    #[test]
    fn rights_are_kept_where_the_policy_allows_it() {
        let right = |disable_cache: bool| {
            exchange("kubernetes/can_i", &json!({"subject_access_review": {}, "disable_cache": disable_cache}), true)
        };
        check(&[right(true), right(true)], &[(Kind::Right, 2, 2, 2)], 0);
        check(&[right(false), right(false)], &[(Kind::Right, 2, 1, 0)], 0);
    }

    #[test]
    fn a_call_that_no_host_knows_is_passed_on() {
        check(&[exchange("oci/v9/new", &json!("a"), true)], &[(Kind::Other, 1, 1, 1)], 0);
    }
}
