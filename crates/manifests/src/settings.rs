//! Settings as people keep them: as they are, in a policy's manifest, or among all the objects that `kustomize build` writes.

use std::fmt;
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::{Document, DocumentError, Place, check_keys, documents_in, is_standard_input, name, text};
use crate::fields::Fields;
use crate::kustomize::{is_kustomization, rendered};
use crate::label_selector::{Label, excludes};
use crate::request::items;
use image_admission_module_host::answers::Grants;

/// How the API versions of Kubewarden's policies begin.
const KUBEWARDEN: &str = "policies.kubewarden.io/";

/// The kinds of policies that are about objects of their own namespace.
const NAMESPACED: [&str; 2] = ["AdmissionPolicy", "AdmissionPolicyGroup"];

/// What the module is called, wherever it was pushed.
const OWN_MODULE: &str = "image-admission";

/// The label that each namespace has, with its name.
pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Settings that were found in a file.
#[derive(Debug)]
pub struct Found {
    /// Where they were found.
    pub place: Place,
    /// The policy that they belong to; none where they stand as they are.
    pub policy: Option<FoundPolicy>,
    /// All of them; none where there are none, which is every default.
    pub json: Option<Box<RawValue>>,
}

/// A policy that has settings, or a member of a policy group.
#[derive(Debug)]
pub struct FoundPolicy {
    kind: String,
    /// Empty for one of the whole cluster.
    namespace: String,
    name: String,
    /// Which member of the group it is; none of what is no group.
    pub member: Option<String>,
    /// The whole manifest.
    pub manifest: Box<RawValue>,
}

impl FoundPolicy {
    /// Whether people may mean it by a name. A member has its own, too.
    fn is_named(&self, name: &str) -> bool {
        self.name == name
            || self.member.as_ref().is_some_and(|member| member == name || format!("{}/{member}", self.name) == name)
            || self.is_exactly(name)
    }

    /// Whether it is about objects of its own namespace, and may read nothing of the cluster.
    pub fn is_of_namespace(&self) -> bool {
        NAMESPACED.contains(&self.kind.as_str())
    }

    /// `AdmissionPolicy`
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether it may change objects.
    fn is_mutating(&self) -> bool {
        let manifest: Value = serde_json::from_str(self.manifest.get()).unwrap_or_default();
        manifest.pointer("/spec/mutating") == Some(&Value::Bool(true))
    }

    /// What it may ask of the host. What a policy of the cluster is granted may stand in another file.
    pub fn grants(&self) -> Grants {
        if self.is_of_namespace() { Grants::without_resources() } else { Grants::everything() }
    }

    /// That it is about one namespace; none of a policy of the cluster.
    #[cfg(not(target_family = "wasm"))]
    pub fn scope(&self) -> Option<String> {
        let is_of_one = self.is_of_namespace() && !self.namespace.is_empty();
        is_of_one.then(|| {
            format!("`{self}` is about objects of `{}` alone: those of other namespaces are not judged", self.namespace)
        })
    }

    /// What is to be known of a member's verdict; none of what is no member.
    pub fn caveat(&self) -> Option<String> {
        let member = self.member.as_ref()?;
        Some(format!(
            "this is the verdict of the member `{member}` alone: the `expression` of `{} {}` decides with it, a change of the object is a rejection there, and warnings are dropped",
            self.kind,
            self.full_name()
        ))
    }

    /// `shop/images`
    fn full_name(&self) -> String {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.namespace, self.name)
    }

    /// Why it is never asked about objects of a namespace; none where it is, or where only the cluster can tell.
    pub fn leaves_out(&self, namespace: &str) -> Option<String> {
        if self.is_of_namespace() {
            let is_other = !self.namespace.is_empty() && self.namespace != namespace;
            return is_other.then(|| {
                format!("`{self}` is about objects of `{}` alone, and in a cluster isn't asked about those of `{namespace}`", self.namespace)
            });
        }
        let manifest: Value = serde_json::from_str(self.manifest.get()).ok()?;
        let selector = manifest.pointer("/spec/namespaceSelector")?;
        let is_left_out =
            excludes(selector, |key| if key == NAME_LABEL { Label::Is(namespace) } else { Label::Unknown });
        is_left_out.then(|| {
            format!("the `namespaceSelector` of `{self}` leaves `{namespace}` out: in a cluster it isn't asked about its objects")
        })
    }

    /// Whether a name says all of it: of a policy of one namespace, also that namespace.
    fn is_exactly(&self, name: &str) -> bool {
        let own = self.full_name();
        self.member.as_ref().map_or_else(|| own == name, |member| format!("{own}/{member}") == name)
    }
}

/// `ClusterAdmissionPolicy image-admission`, `AdmissionPolicy shop/image-admission`, `AdmissionPolicyGroup shop/images/signed`
impl fmt::Display for FoundPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.full_name())?;
        self.member.as_ref().map_or(Ok(()), |member| write!(f, "/{member}"))
    }
}

impl Found {
    /// What leads to the settings in their document.
    pub fn path(&self) -> Vec<String> {
        let within: Vec<&str> = match self.policy.as_ref().map(|policy| policy.member.as_deref()) {
            None => Vec::new(),
            Some(None) => vec!["spec", "settings"],
            Some(Some(member)) => vec!["spec", "policies", member, "settings"],
        };
        self.object_path().into_iter().chain(within.into_iter().map(str::to_owned)).collect()
    }

    /// What leads to the object that they stand in.
    pub fn object_path(&self) -> Vec<String> {
        let item = self.place.index().map(|index| ["items".to_owned(), index.to_string()]);
        item.into_iter().flatten().collect()
    }

    /// What the policy that they belong to may ask of the host; everything where they stand as they are.
    pub fn grants(&self) -> Grants {
        self.policy.as_ref().map_or_else(Grants::everything, FoundPolicy::grants)
    }

    /// What people call them among others.
    fn shown(&self) -> String {
        self.policy.as_ref().map_or_else(|| "no policy".to_owned(), |policy| format!("`{policy}`"))
    }
}

/// The settings in a file, or in what kustomize makes of a folder, with the policy that they belong to: the only ones, or those of
/// the policy of that name. None if everything in it is commented out.
///
/// # Errors
/// The file has no settings, or several, or can't be read.
pub fn chosen(path: &Path, policy: Option<&str>) -> Result<Option<Found>, DocumentError> {
    let is_folder = !is_standard_input(path) && is_kustomization(path);
    let text =
        if is_folder { rendered(path)?.ok_or_else(|| DocumentError::NoKubectl(path.to_owned()))? } else { text(path)? };
    let mut found = every_in(path, &text)?;
    if is_folder && found.iter().all(|found| found.policy.is_none()) {
        return Err(DocumentError::Kustomize { folder: path.to_owned(), why: "it renders no policy".to_owned() });
    }
    let file = name(path);
    if let Some(wanted) = policy {
        let candidates = found.iter().filter_map(|found| found.policy.as_ref()).map(|policy| format!("`{policy}`"));
        let candidates = candidates.collect();
        let is = |found: &Found, test: fn(&FoundPolicy, &str) -> bool| {
            found.policy.as_ref().is_some_and(|policy| test(policy, wanted))
        };
        // A policy of the whole cluster has no other name than this one.
        let has_exact = found.iter().any(|found| is(found, FoundPolicy::is_exactly));
        found.retain(|found| is(found, if has_exact { FoundPolicy::is_exactly } else { FoundPolicy::is_named }));
        if found.is_empty() {
            return Err(DocumentError::NoSuchPolicy { file, name: wanted.to_owned(), candidates });
        }
    }
    // Beside the policy that changes objects, a folder may have one that judges once more, with the same settings but those of pins.
    let mutating = found.iter().position(|found| found.policy.as_ref().is_some_and(FoundPolicy::is_mutating));
    if let (None, true, Some(position)) = (policy, is_folder, mutating) {
        let wanted = found.get(position).map(without_pins);
        if found.iter().all(|other| Some(without_pins(other)) == wanted) {
            found.swap(0, position);
            found.truncate(1);
        }
    }
    if found.len() > 1 {
        return Err(DocumentError::SeveralSettings { file, candidates: found.iter().map(Found::shown).collect() });
    }
    Ok(found.pop())
}

/// Settings without those of pins.
fn without_pins(found: &Found) -> Option<Value> {
    let mut settings: Value = serde_json::from_str(found.json.as_ref()?.get()).ok()?;
    settings.as_object_mut()?.remove("pin");
    Some(settings)
}

/// All settings in a file that was read. An empty one has some that say nothing; objects that are no policies stand beside them.
pub fn every_in(path: &Path, text: &str) -> Result<Vec<Found>, DocumentError> {
    let documents = documents_in(path, text)?;
    if documents.is_empty() {
        return Ok(vec![Found { place: Place::within(name(path)), policy: None, json: None }]);
    }
    let (mut found, mut objects) = (Vec::new(), Vec::new());
    for document in documents {
        for document in items(&document).unwrap_or_else(|| vec![document]) {
            match Kind::of(&document) {
                Kind::Settings => found.push(Found { place: document.place, policy: None, json: Some(document.json) }),
                Kind::Policies(policies) => {
                    let spec = Fields::of(&document.json).and_then(|policy| policy.object("spec"));
                    for policy in policies {
                        let holder = match &policy.member {
                            None => spec.as_ref().map(|spec| spec.value("settings")),
                            Some(member) => spec
                                .as_ref()
                                .and_then(|spec| spec.object("policies"))
                                .and_then(|members| members.object(member).map(|member| member.value("settings"))),
                        };
                        let json = holder.flatten().map(RawValue::to_owned);
                        found.push(Found { place: document.place.clone(), policy: Some(policy), json });
                    }
                }
                Kind::Other(what) => objects.push((what, document)),
            }
        }
    }
    check_keys(path, text)?;
    let bare = found.iter().filter(|found: &&Found| found.policy.is_none());
    let places: Vec<String> = bare.map(|found| found.place.part()).collect();
    if places.len() > 1 {
        return Err(DocumentError::SettingsTwice { file: name(path), places });
    }
    if !found.is_empty() {
        return Ok(found);
    }
    match <[_; 1]>::try_from(objects) {
        Ok([(_, document)]) if is_with_settings(&document) => {
            Ok(vec![Found { place: document.place, policy: None, json: Some(document.json) }])
        }
        Ok([(what, _)]) => Err(DocumentError::NoSettings { file: name(path), objects: vec![what] }),
        Err(objects) => {
            let objects = objects.into_iter().map(|(what, _)| what).collect();
            Err(DocumentError::NoSettings { file: name(path), objects })
        }
    }
}

/// The PolicyServers in a file that was read.
pub fn policy_servers(path: &Path, text: &str) -> Result<Vec<Value>, DocumentError> {
    let documents = documents_in(path, text)?.into_iter();
    let objects = documents.flat_map(|document| items(&document).unwrap_or_else(|| vec![document]));
    let is_server = |object: &Document| {
        Fields::of(&object.json).is_some_and(|fields| {
            fields.text("kind").as_deref() == Some("PolicyServer")
                && fields.text("apiVersion").is_some_and(|version| version.starts_with(KUBEWARDEN))
        })
    };
    let servers = objects.filter(is_server).map(|object| serde_json::from_str(object.json.get()).unwrap_or_default());
    Ok(servers.collect())
}

/// Whether a document is the ConfigMap that Sysdig's controllers keep their settings in.
fn is_with_settings(document: &Document) -> bool {
    let Some(fields) = Fields::of(&document.json) else { return false };
    let data = fields.object("data").filter(|_| fields.text("kind").as_deref() == Some("ConfigMap"));
    let has = |data: &Fields<'_>| {
        ["policy.json", "preScanPolicies", "scanPolicies", "policies"].into_iter().any(|key| data.value(key).is_some())
    };
    data.as_ref().is_some_and(has)
}

/// What a document is.
enum Kind {
    Settings,
    /// A policy, or the members of a policy group that are of this module.
    Policies(Vec<FoundPolicy>),
    /// Another object, by what people call it.
    Other(String),
}

impl Kind {
    fn of(document: &Document) -> Self {
        let Some(fields) = Fields::of(&document.json) else { return Self::Settings };
        let (Some(version), Some(kind)) = (fields.text("apiVersion"), fields.text("kind")) else {
            return Self::Settings;
        };
        let metadata = fields.object("metadata");
        let text = |name| metadata.as_ref().and_then(|metadata| metadata.text(name)).unwrap_or_default();
        let (namespace, name) = (text("namespace"), text("name"));
        let policy = |member| FoundPolicy {
            kind: kind.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
            member,
            manifest: document.json.clone(),
        };
        let is_kubewarden = version.starts_with(KUBEWARDEN);
        if is_kubewarden && ["ClusterAdmissionPolicy", "AdmissionPolicy"].contains(&kind.as_str()) {
            return Self::Policies(vec![policy(None)]);
        }
        if is_kubewarden && ["ClusterAdmissionPolicyGroup", "AdmissionPolicyGroup"].contains(&kind.as_str()) {
            let members = own_members(&fields);
            if members.is_empty() {
                return Self::Other(format!(
                    "{kind} {name} (without a member whose `module` has `{OWN_MODULE}` in its name)"
                ));
            }
            return Self::Policies(members.into_iter().map(|member| policy(Some(member))).collect());
        }
        Self::Other(format!("{kind} {name}"))
    }
}

/// The members of a policy group that are of this module, by what their modules are called: others have settings of their own.
fn own_members(group: &Fields<'_>) -> Vec<String> {
    let Some(members) = group.object("spec").and_then(|spec| spec.object("policies")) else { return Vec::new() };
    let is_own = |name: &&String| {
        let module = members.object(name).and_then(|member| member.text("module"));
        module.is_some_and(|module| module.contains(OWN_MODULE))
    };
    members.names().filter(is_own).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BARE: &str = "registries: [ghcr.io]\n";
    const CLUSTER: &str = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: images}\nspec: {settings: {maxImages: 1}}\n";
    const OWN: &str = "apiVersion: policies.kubewarden.io/v1\nkind: AdmissionPolicy\nmetadata: {name: images, namespace: shop}\nspec: {settings: {maxImages: 2}}\n";
    const WITHOUT: &str =
        "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: plain}\nspec: {}\n";
    const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";
    const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {policy.json: '{}'}\n";

    /// What is found in a file of these documents: the settings as JSON, or the error without the file's name.
    #[track_caller]
    fn check(documents: &[&str], policy: Option<&str>, expected: Result<Option<&str>, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.yaml");
        fs::write(&path, documents.join("---\n")).unwrap();
        let found = chosen(&path, policy).map(|found| found.and_then(|found| found.json));
        let found = found.map(|json| json.map(|json| json.get().to_owned()));
        let found = found.map_err(|error| error.to_string().replace(&name(&path), "FILE"));
        assert_eq!(found, expected.map(|json| json.map(str::to_owned)).map_err(str::to_owned), "{documents:?}");
    }

    #[test]
    fn settings_are_found_wherever_people_keep_them() {
        let one = Ok(Some("{\"maxImages\":1}"));
        check(&[BARE], None, Ok(Some("{\"registries\":[\"ghcr.io\"]}")));
        check(&["# nothing\n"], None, Ok(None));
        check(&[CLUSTER], None, one);
        check(&[NAMESPACE, CLUSTER, CONFIG_MAP], None, one);
        check(&[NAMESPACE, BARE], None, Ok(Some("{\"registries\":[\"ghcr.io\"]}")));
        check(&[CLUSTER, OWN, WITHOUT], Some("shop/images"), Ok(Some("{\"maxImages\":2}")));
        check(&[CLUSTER, OWN, WITHOUT], Some("plain"), Ok(None));
        check(&[BARE, CLUSTER], Some("images"), one);
        check(
            &[CONFIG_MAP],
            None,
            Ok(Some(
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"policy.json\":\"{}\"}}",
            )),
        );
        check(&["{\"maxImages\": 4}\n"], None, Ok(Some("{\"maxImages\": 4}")));
        check(&["[1]\n"], None, Ok(Some("[1]")));
        let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", CLUSTER.replace('\n', "\n  "));
        check(&[&list], None, one);
    }

    #[test]
    fn which_settings_are_meant_must_be_said() {
        let choose = "choose a policy by its name, with `--settings-of` or `settingsOf`";
        let (cluster, own) = ("`ClusterAdmissionPolicy images`", "`AdmissionPolicy shop/images`");
        let several = format!("FILE has the settings of {cluster} and of {own}; {choose}");
        check(&[CLUSTER, OWN], None, Err(&several));
        check(&[CLUSTER, OWN], Some("images"), Ok(Some("{\"maxImages\":1}")));
        let other = OWN.replace("namespace: shop", "namespace: other");
        let several = format!("FILE has the settings of {own} and of `AdmissionPolicy other/images`; {choose}");
        check(&[OWN, &other], Some("images"), Err(&several));
        let bare = format!("FILE has the settings of no policy and of {cluster}; {choose}");
        check(&[BARE, CLUSTER], None, Err(&bare));
        let unknown = format!("FILE has no policy `other`; it has {cluster}, {own}");
        check(&[CLUSTER, OWN], Some("other"), Err(&unknown));
        let twice = "FILE has settings in document 1 and in document 3: keep those that are meant, \
                     or write each in a file of its own";
        check(&[BARE, CLUSTER, BARE], None, Err(twice));
        check(&[BARE, CLUSTER, BARE], Some("images"), Err(twice));
        check(&[BARE], Some("images"), Err("FILE has no policy `images`; it has settings alone, or none"));
    }

    #[test]
    fn namespaces_are_left_out_where_their_names_are_enough_to_tell() {
        let check = |policy: &str, expected: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("policy.yaml");
            fs::write(&path, policy).unwrap();
            let policy = chosen(&path, None).unwrap().unwrap().policy.unwrap();
            let all = ["shop", "kube-system"].into_iter();
            let left_out: Vec<&str> = all.filter(|namespace| policy.leaves_out(namespace).is_some()).collect();
            assert_eq!(left_out, expected, "{policy}");
        };
        check(CLUSTER, &[]);
        check(OWN, &["kube-system"]);
        let with = |selector: &str| CLUSTER.replace("spec: {", &format!("spec: {{namespaceSelector: {selector}, "));
        let name = "kubernetes.io/metadata.name";
        check(
            &with(&format!("{{matchExpressions: [{{key: {name}, operator: NotIn, values: [kube-system]}}]}}")),
            &["kube-system"],
        );
        check(
            &with(&format!("{{matchExpressions: [{{key: {name}, operator: In, values: [kube-system]}}]}}")),
            &["shop"],
        );
        check(&with(&format!("{{matchLabels: {{{name}: shop}}}}")), &["kube-system"]);
        // Only the cluster knows other labels.
        check(&with("{matchExpressions: [{key: team, operator: In, values: [a]}], matchLabels: {a: b}}"), &[]);
    }

    const GROUP: &str = "apiVersion: policies.kubewarden.io/v1
kind: AdmissionPolicyGroup
metadata: {name: images, namespace: shop}
spec:
  policies:
    signed: {module: 'registry://a.example.com/image-admission:v1', settings: {maxImages: 1}}
    plain: {module: 'registry://a.example.com/image-admission:v1'}
    other: {module: 'registry://a.example.com/other:v1', settings: {x: 1}}
";

    #[test]
    fn members_of_a_group_are_chosen_by_their_names() {
        let one = Ok(Some("{\"maxImages\":1}"));
        for name in ["signed", "images/signed", "shop/images/signed"] {
            check(&[NAMESPACE, GROUP], Some(name), one);
        }
        check(&[GROUP], Some("plain"), Ok(None));
        let (plain, signed) = ("`AdmissionPolicyGroup shop/images/plain`", "`AdmissionPolicyGroup shop/images/signed`");
        let several = format!(
            "FILE has the settings of {plain} and of {signed}; choose a policy by its name, with `--settings-of` or `settingsOf`"
        );
        check(&[GROUP], None, Err(&several));
        check(&[GROUP], Some("images"), Err(&several));
        check(&[GROUP], Some("other"), Err(&format!("FILE has no policy `other`; it has {plain}, {signed}")));
        let foreign = GROUP.replace("image-admission", "images");
        let what = "no settings in FILE, which has AdmissionPolicyGroup images (without a member whose `module` has `image-admission` in its name); write the settings as they are, or those of a ClusterAdmissionPolicy or AdmissionPolicy";
        check(&[&foreign], None, Err(what));
        for broken in ["spec: {policies: [1]}", "spec: {policies: {a: 1, b: {module: 1}}}", "spec: 1", ""] {
            check(&[&format!("{}{broken}\n", GROUP.split("spec:").next().unwrap())], None, Err(what));
        }
    }

    #[test]
    fn a_policy_of_a_namespace_reads_nothing_of_the_cluster() {
        let granted = |policy: &str, name: Option<&str>| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("policy.yaml");
            fs::write(&path, policy).unwrap();
            chosen(&path, name).unwrap().unwrap().grants()
        };
        for policy in [OWN, GROUP, &GROUP.replace("plain", "another")] {
            let name = policy.contains("signed").then_some("signed");
            assert_eq!(granted(policy, name), Grants::without_resources(), "{policy}");
        }
        for policy in [BARE, CLUSTER, &GROUP.replace("AdmissionPolicyGroup", "ClusterAdmissionPolicyGroup")] {
            let name = policy.contains("signed").then_some("signed");
            assert_eq!(granted(policy, name), Grants::everything(), "{policy}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let twice = |path: &str, first: usize, line: usize| {
            format!("  {path}: it stands twice, on line {first} and on line {line}; keep one of them")
        };
        let all = [twice("maxImages", 1, 2), twice("acceptance.maxSeverity", 4, 5)].join("\n");
        let error = format!("FILE says two things at once:\n{all}");
        let yaml = "maxImages: 1\nmaxImages: 2\nacceptance:\n  maxSeverity: {}\n  maxSeverity: {}\n";
        check(&[yaml], None, Err(&error));
        let json =
            "{\"maxImages\": 1,\n \"maxImages\": 2,\n\"acceptance\": {\n\"maxSeverity\": {},\n\"maxSeverity\": {}}}\n";
        check(&[json], None, Err(&error));
        let policy = CLUSTER.replace("{maxImages: 1}", "{maxImages: 1, maxImages: 1}");
        let error =
            "FILE says two things at once:\n  spec.settings.maxImages: it stands twice, on line 6; keep one of them";
        check(&[NAMESPACE, &policy], None, Err(&error.replace("line 6", "line 8")));
    }

    #[test]
    fn objects_alone_are_no_settings() {
        let help = "write the settings as they are, or those of a ClusterAdmissionPolicy or AdmissionPolicy";
        check(&[NAMESPACE], None, Err(&format!("no settings in FILE, which has Namespace shop; {help}")));
        let two = format!("no settings in FILE, which has Namespace shop, ConfigMap c; {help}");
        check(&[NAMESPACE, CONFIG_MAP], None, Err(&two));
        let foreign = CLUSTER.replace("policies.kubewarden.io/v1", "example.com/v1");
        let other = format!("no settings in FILE, which has ClusterAdmissionPolicy images; {help}");
        check(&[&foreign], None, Err(&other));
    }
}
