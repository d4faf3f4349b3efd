//! What checks look at: the policies of this module in a cluster, and what belongs to them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use image_admission_engine::check_settings;
use image_admission_manifests::settings::{Found, FoundPolicy, every_in};
use image_admission_settings::{InvalidSettings, Settings};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

use super::cluster::{Cluster, Kind, text};

const KUBEWARDEN: &str = "policies.kubewarden.io/v1";
const POLICIES: [&str; 4] =
    ["ClusterAdmissionPolicy", "AdmissionPolicy", "ClusterAdmissionPolicyGroup", "AdmissionPolicyGroup"];
const WEBHOOKS: [Kind<'_>; 2] = [
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
];
/// How the names of webhooks of policy groups begin, before Kubewarden 1.37.2 and since.
const OF_GROUPS: [&str; 4] = ["clusterwide-group-", "namespaced-group-", "kw.capg.", "kw.apg."];
pub(super) const DEPLOYMENT: Kind<'_> = ("apps/v1", "Deployment");
pub(super) const NAMESPACE: Kind<'_> = ("v1", "Namespace");

/// A list of objects, or why there is none.
pub(super) type Listed = Rc<Result<Vec<Value>, String>>;

/// A cluster at a time, with its policies.
pub(super) struct World<'o> {
    pub(super) cluster: &'o Cluster,
    pub(super) now: Timestamp,
    pub(super) policies: Vec<Policy>,
    /// Why policies may be missing.
    pub(super) unseen: Vec<String>,
    /// The namespace that Kubewarden and the companion run in.
    pub(super) kubewarden: String,
    /// By what was asked for.
    listed: RefCell<BTreeMap<String, Listed>>,
}

/// A policy of this module, or a member of a group that is.
pub(super) struct Policy {
    /// `ClusterAdmissionPolicy image-admission`
    pub(super) title: String,
    pub(super) found: Found,
    pub(super) manifest: Value,
    pub(super) settings: Result<Settings, InvalidSettings>,
}

impl<'o> World<'o> {
    /// The policies with `image-admission` in the name of their module, or the one of a name: `shop/images`, `image-admission`.
    pub(super) fn new(cluster: &'o Cluster, wanted: Option<&str>, now: Timestamp) -> Self {
        let (mut objects, mut unseen) = (Vec::new(), Vec::new());
        for kind in POLICIES {
            match cluster.list((KUBEWARDEN, kind), None, &[]) {
                Ok(found) => objects.extend(found),
                Err(why) => unseen.push(why),
            }
        }
        // Files with policies have all that there are.
        if matches!(cluster, Cluster::Files(_)) {
            unseen.truncate(usize::from(objects.is_empty()));
        }
        objects.retain(|policy| match wanted {
            Some(wanted) => {
                let (namespace, name) = (text(policy, "/metadata/namespace"), text(policy, "/metadata/name"));
                name == wanted || format!("{namespace}/{name}") == wanted
            }
            // Of a group, only such members are looked at.
            None => {
                policy.pointer("/spec/policies").is_some() || text(policy, "/spec/module").contains("image-admission")
            }
        });
        let text_of_list = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
        let found = every_in(Path::new("the cluster"), &text_of_list).unwrap_or_default();
        let policies: Vec<Policy> = found.into_iter().filter_map(Policy::of).collect();
        let mut world = Self { cluster, now, policies, unseen, kubewarden: String::new(), listed: RefCell::default() };
        let webhooks = world.policies.iter().flat_map(|policy| world.webhooks(policy).unwrap_or_default());
        let mut services =
            webhooks.map(|(_, webhook)| text(&webhook, "/webhooks/0/clientConfig/service/namespace").to_owned());
        let kubewarden = services.find(|namespace| !namespace.is_empty());
        drop(services);
        world.kubewarden = kubewarden.unwrap_or_else(|| "kubewarden".to_owned());
        world
    }

    /// The objects of a kind, asked for once.
    pub(super) fn list(&self, kind: Kind<'_>, namespace: Option<&str>, fields: &[&str]) -> Listed {
        let key = format!("{kind:?} {namespace:?} {fields:?}");
        let known = self.listed.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let listed = Rc::new(self.cluster.list(kind, namespace, fields));
            self.listed.borrow_mut().insert(key, Rc::clone(&listed));
            listed
        })
    }

    /// The webhook configurations that Kubewarden's controller made for a policy, each with its kind. Their names differ between
    /// versions of Kubewarden, their annotations don't.
    pub(super) fn webhooks(&self, policy: &Policy) -> Result<Vec<(&'static str, Value)>, String> {
        let (name, namespace) = (policy.name(), text(&policy.manifest, "/metadata/namespace"));
        let is_own = |webhook: &&Value| {
            let own = text(webhook, "/metadata/name");
            text(webhook, "/metadata/annotations/kubewardenPolicyName") == name
                && text(webhook, "/metadata/annotations/kubewardenPolicyNamespace") == namespace
                && OF_GROUPS.iter().any(|prefix| own.starts_with(prefix)) == policy.is_group()
        };
        let (mut found, mut unseen) = (Vec::new(), None);
        for kind in WEBHOOKS {
            match &*self.list(kind, None, &[]) {
                Ok(all) => found.extend(all.iter().filter(is_own).map(|own| (kind.1, own.clone()))),
                Err(why) => unseen = unseen.or((kind.1 == policy.webhook_kind()).then(|| why.clone())),
            }
        }
        unseen.filter(|_| found.is_empty()).map_or(Ok(found), Err)
    }

    /// A PolicyServer; none if it isn't there.
    pub(super) fn server(&self, name: &str) -> Result<Option<Value>, String> {
        let servers = self.servers();
        let servers = servers.as_ref().as_ref().map_err(Clone::clone)?;
        Ok(servers.iter().find(|server| text(server, "/metadata/name") == name).cloned())
    }

    /// The names of the servers of all policies.
    pub(super) fn server_names(&self) -> BTreeSet<&str> {
        self.policies.iter().map(Policy::server_name).collect()
    }

    /// All PolicyServers.
    pub(super) fn servers(&self) -> Listed {
        self.list((KUBEWARDEN, "PolicyServer"), None, &[])
    }
}

impl Policy {
    fn of(found: Found) -> Option<Self> {
        let policy = found.policy.as_ref()?;
        let manifest = serde_json::from_str(policy.manifest.get()).unwrap_or_default();
        let settings = found.json.as_ref().and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
        Some(Self { title: policy.to_string(), manifest, settings: check_settings(&settings), found })
    }

    pub(super) fn name(&self) -> &str {
        text(&self.manifest, "/metadata/name")
    }

    /// Whether it is a member of a policy group.
    pub(super) fn is_group(&self) -> bool {
        self.found.policy.as_ref().is_some_and(|policy| policy.member.is_some())
    }

    /// Whether it is about objects of its own namespace alone.
    pub(super) fn is_of_namespace(&self) -> bool {
        self.found.policy.as_ref().is_some_and(FoundPolicy::is_of_namespace)
    }

    /// The kind of its webhook configuration.
    pub(super) fn webhook_kind(&self) -> &'static str {
        let is_mutating = self.manifest.pointer("/spec/mutating") == Some(&Value::Bool(true));
        if is_mutating { WEBHOOKS[0].1 } else { WEBHOOKS[1].1 }
    }

    pub(super) fn server_name(&self) -> &str {
        Some(text(&self.manifest, "/spec/policyServer")).filter(|name| !name.is_empty()).unwrap_or("default")
    }
}
