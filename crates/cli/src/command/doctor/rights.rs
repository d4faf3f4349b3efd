//! Whether the account of each policy's server may read what the settings have read.

use std::collections::BTreeMap;

use image_admission_engine::{ReadRight, read_rights};
use image_admission_settings::{LintRule, Settings, plural};

use super::cluster::{Right, text};
use super::finding::{About, Check, Finding, Status};
use super::settings::remarks;
use super::world::{Policy, World};

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    world.policies.iter().flat_map(|policy| of_policy(world, policy)).collect()
}

fn of_policy(world: &World<'_>, policy: &Policy) -> Vec<Finding> {
    let mut about = About::new(Check::Rights, &policy.title);
    let Ok(settings) = &policy.settings else {
        return about.only(Status::Unknown, "invalid settings don't tell which rights they need");
    };
    for remark in remarks(world, policy).iter().filter(|remark| remark.rule == LintRule::MissingKind) {
        about.add(Status::Fail, remark.to_string());
    }
    let server = match world.server(policy.server_name()) {
        Err(why) => return about.only(Status::Unknown, why),
        Ok(None) => return about.only(Status::Unknown, "without its policy server nobody knows who needs them"),
        Ok(Some(server)) => server,
    };
    // A policy of a namespace is given nothing of the cluster.
    let needs = if policy.is_of_namespace() { Vec::new() } else { needs(settings) };
    let account = text(&server, "/spec/serviceAccountName");
    let fine = ask(world, account, &needs, &mut about);
    about.or_ok(fine)
}

/// A right, and what it is for.
pub(super) struct Need {
    right: Right,
    what_for: String,
}

impl Need {
    /// Whether it is about the status of objects alone.
    pub(super) fn is_of_status(&self) -> bool {
        self.right.resource.ends_with("/status")
    }
}

/// Several verbs to one kind, in each of some places; none: everywhere.
pub(super) fn verbs_to<'v>(
    (group, resource): (&str, &str),
    verbs: impl IntoIterator<Item = &'v str> + Clone,
    places: &[Option<String>],
    name: Option<&str>,
    what_for: &str,
) -> Vec<Need> {
    let need = |namespace: &Option<String>, verb: &str| Need {
        right: Right {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.clone(),
            name: name.map(str::to_owned),
        },
        what_for: what_for.to_owned(),
    };
    places.iter().flat_map(|namespace| verbs.clone().into_iter().map(|verb| need(namespace, verb))).collect()
}

/// Asks whether an account in Kubewarden's namespace has some rights, and says which it lacks: those with the same verbs and the same use
/// in one line. Returns what is said if it has all.
pub(super) fn ask(world: &World<'_>, account: &str, needs: &[Need], about: &mut About<'_>) -> String {
    let account = if account.is_empty() { "default" } else { account };
    let of = format!("ServiceAccount `{}/{account}`", world.kubewarden);
    let mut lacking: Vec<(String, &str, Vec<String>)> = Vec::new();
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    for Need { right, what_for } in needs {
        match world.cluster.may((&world.kubewarden, account), right) {
            Ok(true) => {}
            Ok(false) => {
                let (object, verb) = (right.object(), format!("`{}`", right.verb));
                match lacking.iter_mut().find(|(other, why, _)| *other == object && why == what_for) {
                    Some((_, _, verbs)) => verbs.push(verb),
                    None => lacking.push((object, what_for, vec![verb])),
                }
            }
            Err(why) => *unknown.entry(why).or_default() += 1,
        }
    }
    let mut lines: Vec<(String, &str, Vec<String>)> = Vec::new();
    for (object, why, verbs) in lacking {
        let verbs = verbs.join(", ");
        match lines.iter_mut().find(|(other, because, _)| *other == verbs && *because == why) {
            Some((_, _, objects)) => objects.push(object),
            None => lines.push((verbs, why, vec![object])),
        }
    }
    for (verbs, why, objects) in lines {
        about.add(Status::Fail, format!("{of} may not {verbs} {}: {why}", objects.join(", ")));
    }
    for (why, number) in unknown {
        about.add(
            Status::Unknown,
            format!("whether {of} has {number} of the {} rights that it needs: {why}", needs.len()),
        );
    }
    match needs.len() {
        0 => format!("{of} needs no rights: nothing of the cluster is read"),
        number => format!("{of} has the {number} rights that it needs"),
    }
}

/// The rights that settings need.
fn needs(settings: &Settings) -> Vec<Need> {
    let mut needs = Vec::new();
    for ReadRight { kind, is_listed, namespaces, name } in read_rights(settings) {
        let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
        let places: Vec<_> = namespaces.map_or(vec![None], |some| some.into_iter().map(Some).collect());
        let verbs = if is_listed { &["get", "list", "watch"][..] } else { &["get"] };
        let what_for = format!("look-ups of `{}` fail, and reject", kind.path);
        let resource = plural(&kind.kind);
        needs.extend(verbs_to((group, &resource), verbs.iter().copied(), &places, name.as_deref(), &what_for));
    }
    if settings.break_glass.is_some() {
        let reviews = ("authorization.k8s.io", "subjectaccessreviews");
        needs.extend(verbs_to(reviews, ["create"], &[None], None, "nobody can break the glass"));
    }
    needs
}
