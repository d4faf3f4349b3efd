//! What kustomize makes of a folder: the policies, their server, and who may read what.

use super::asked::Asked;
use super::kubectl;
use super::kubewarden::{self, Kind, PolicySpec, Resource, ServerSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The account of the companion, which sees workloads everywhere.
pub(crate) const COMPANION: &str = "image-admission-companion";

/// The objects that are applied, in their order.
#[derive(Debug, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) objects: Vec<Value>,
}

/// The rules that are granted to the policy server: in one namespace, or in the whole cluster.
#[derive(Debug, Clone)]
pub(crate) struct Rights {
    pub(crate) namespace: Option<String>,
    pub(crate) rules: Vec<PolicyRule>,
}

#[track_caller]
fn lossless<T: DeserializeOwned + Serialize>(document: &Value) -> T {
    kubewarden::lossless(document).unwrap_or_else(|error| panic!("{error}"))
}

impl Rendered {
    /// Of a folder with a `kustomization.yaml`. None where `kubectl` is missing.
    #[track_caller]
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let objects = kubectl::kustomize(&kubectl::program()?, folder);
        Some(Self { objects: objects.unwrap_or_else(|error| panic!("{}: {error}", folder.display())) })
    }

    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// The policies, in the order of their names.
    #[track_caller]
    pub(crate) fn policies(&self) -> Vec<Resource<PolicySpec>> {
        let policies = self.of_kind("ClusterAdmissionPolicy").map(|policy| {
            assert_eq!(policy["apiVersion"], "policies.kubewarden.io/v1");
            lossless(policy)
        });
        let mut policies: Vec<Resource<PolicySpec>> = policies.collect();
        policies.sort_by_key(|policy| policy.metadata.name.clone());
        policies
    }

    /// The policy of a name.
    #[track_caller]
    pub(crate) fn policy(&self, name: &str) -> Resource<PolicySpec> {
        let mut policies = self.policies();
        policies.retain(|policy| policy.metadata.name.as_deref() == Some(name));
        let [policy] = <[_; 1]>::try_from(policies).unwrap_or_else(|all| panic!("{} of {name}", all.len()));
        policy
    }

    /// The policies' server.
    #[track_caller]
    pub(crate) fn server(&self) -> Resource<ServerSpec> {
        let servers: Vec<&Value> = self.of_kind("PolicyServer").collect();
        assert_eq!(servers.len(), 1);
        assert_eq!(servers[0]["apiVersion"], "policies.kubewarden.io/v1");
        lossless(servers[0])
    }

    /// Everything that bindings grant the server.
    #[track_caller]
    pub(crate) fn granted(&self) -> Vec<Rights> {
        self.granted_to(&self.server().spec.service_account_name.unwrap())
    }

    /// Everything that bindings grant an account of the namespace `kubewarden`. Each is of one account alone, and no role is there that
    /// nobody has. What accounts have beside the server's and the companion's, as a job does that refreshes a list, they have in their own
    /// namespace.
    #[track_caller]
    pub(crate) fn granted_to(&self, account: &str) -> Vec<Rights> {
        let server = self.server().spec.service_account_name;
        let mut granted = Vec::new();
        let mut unbound: BTreeSet<(Option<String>, String)> = BTreeSet::new();
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap();
        let roles: Vec<Role> = self.of_kind("Role").map(lossless).collect();
        let cluster_roles: Vec<ClusterRole> = self.of_kind("ClusterRole").map(lossless).collect();
        unbound.extend(roles.iter().map(|role| (role.metadata.namespace.clone(), name(&role.metadata))));
        unbound.extend(cluster_roles.iter().map(|role| (None, name(&role.metadata))));
        let mut grant = |metadata: ObjectMeta, reference: RoleRef, subjects: Option<Vec<Subject>>| {
            let subjects = subjects.unwrap();
            assert_eq!(subjects.len(), 1, "{metadata:?}");
            assert_eq!(subjects[0].kind, "ServiceAccount");
            assert_eq!(reference.api_group, "rbac.authorization.k8s.io");
            assert_eq!(Some(&reference.name), metadata.name.as_ref(), "the binding has the name of the role");
            let is_it = |other: &ObjectMeta| other.name.as_ref() == Some(&reference.name);
            let (place, rules) = match reference.kind.as_str() {
                "Role" => {
                    let mut own = roles.iter().filter(|role| role.metadata.namespace == metadata.namespace);
                    (metadata.namespace.clone(), own.find(|role| is_it(&role.metadata)).unwrap().rules.clone())
                }
                "ClusterRole" => (None, cluster_roles.iter().find(|role| is_it(&role.metadata)).unwrap().rules.clone()),
                other => panic!("`{other}` is no role"),
            };
            unbound.remove(&(place, reference.name));
            let is_here = subjects[0].namespace.as_deref() == Some("kubewarden");
            let is_server = is_here && Some(&subjects[0].name) == server.as_ref();
            let is_companion = is_here && subjects[0].name == COMPANION;
            if !is_server {
                assert!(
                    is_companion || subjects[0].namespace == metadata.namespace,
                    "what isn't the server's stays where it is"
                );
                let is_it = |own: &ObjectMeta| own.namespace == subjects[0].namespace && name(own) == subjects[0].name;
                let mut accounts = self.of_kind("ServiceAccount").map(lossless::<ServiceAccount>);
                assert!(accounts.any(|own| is_it(&own.metadata)), "nobody is {subjects:?}");
            }
            if is_here && subjects[0].name == account {
                granted.push(Rights { namespace: metadata.namespace, rules: rules.unwrap() });
            }
        };
        for RoleBinding { metadata, role_ref, subjects } in self.of_kind("RoleBinding").map(lossless) {
            assert!(metadata.namespace.is_some(), "{metadata:?}");
            grant(metadata, role_ref, subjects);
        }
        for ClusterRoleBinding { metadata, role_ref, subjects } in self.of_kind("ClusterRoleBinding").map(lossless) {
            grant(metadata, role_ref, subjects);
        }
        assert!(unbound.is_empty(), "nobody has these: {unbound:?}");
        granted
    }
}

impl Rights {
    /// Whether a call may be made: for a list the host also lists and watches.
    pub(crate) fn allow(&self, asked: &Asked) -> bool {
        let (group, resource) = Self::resource(&asked.kind);
        let verbs: &[&str] = if asked.is_list { &["list", "watch"] } else { &["get"] };
        let of = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|one| one == wanted);
        let is_named = |rule: &PolicyRule| match (&rule.resource_names, &asked.name) {
            (None, _) => true,
            (Some(names), Some(name)) => names.contains(name),
            (Some(_), None) => false,
        };
        self.namespace.as_ref().is_none_or(|own| Some(own) == asked.namespace.as_ref())
            && verbs.iter().all(|verb| {
                self.rules.iter().any(|rule| {
                    of(&rule.api_groups, &group)
                        && of(&rule.resources, &resource)
                        && rule.verbs.iter().any(|one| one == verb)
                        && is_named(rule)
                })
            })
    }

    /// The group of a kind, and what objects of it are called in rules.
    pub(crate) fn resource(kind: &Kind) -> (String, String) {
        let (group, _) = kind.api_version.split_once('/').unwrap_or_default();
        // True for all kinds here.
        let singular = kind.kind.to_lowercase();
        let plural = singular.strip_suffix('y').map_or_else(|| format!("{singular}s"), |stem| format!("{stem}ies"));
        (group.to_owned(), plural)
    }

    /// What is granted, as kinds would be called.
    pub(crate) fn resources(&self) -> BTreeSet<(String, String)> {
        let pairs = self.rules.iter().flat_map(|rule| {
            let groups = rule.api_groups.iter().flatten();
            groups.flat_map(|group| rule.resources.iter().flatten().map(move |one| (group.clone(), one.clone())))
        });
        pairs.collect()
    }
}
