//! An explanation as people read it.

use std::collections::BTreeSet;

use image_admission_explain::{Action, Advice, Cause, Change, Decider, Edit, Explanation, Opens, Stuck};
use serde_json::{Value, json};

use crate::command::diff::yaml;
use crate::command::nobody_answers;
use crate::command::terminal::{Paint, in_one_line, printable};
use image_admission_manifests::request::Subject;

/// The whole text of one request. `unanswered` is what the policy asked, or would ask after a change, and nobody was there to
/// answer.
pub(super) fn text(
    subject: &Subject,
    explanation: &Explanation,
    warnings: &[String],
    unanswered: Option<&str>,
    paint: Paint,
) -> String {
    let heading = paint.bold(&in_one_line(&subject.to_string())).into_owned();
    let warned = || -> String {
        warnings.iter().map(|warning| format!("{}: {}\n", paint.yellow("warning"), in_one_line(warning))).collect()
    };
    if explanation.causes.is_empty() {
        let wait = if explanation.waiting.is_empty() { "" } else { ", but its Pods wait" };
        let waiting: String = explanation.waiting.iter().map(|cause| described(cause, paint)).collect();
        let gap = if waiting.is_empty() { "" } else { "\n" };
        return format!("{heading}: {}{}\n{waiting}{gap}{}", paint.green("allowed"), paint.yellow(wait), warned());
    }
    let mut text = format!("{heading}: {}\n", paint.red("denied"));
    for cause in &explanation.causes {
        text.push_str(&described(cause, paint));
    }
    match &explanation.change {
        Some(change) => {
            text.push_str(
                "\nIf that can't be done: a small change of the settings that would have admitted it. It opens\n",
            );
            let mut said = BTreeSet::new();
            for edit in &change.edits {
                let opens = edit.opens.to_string();
                text.push_str(
                    &format!("  - {}\n", in_one_line(&opens)).repeat(usize::from(said.insert(opens.clone()))),
                );
            }
            // An entry that replaces another one is shown whole: nothing of that holds beside it.
            let edits: Vec<Edit> =
                change.edits.iter().map(|edit| edit.replacement().unwrap_or_else(|| edit.clone())).collect();
            for (index, edit) in edits.iter().enumerate() {
                // What is written out has all that is put into it.
                let earlier = edits.iter().take(index);
                if !earlier.into_iter().any(|earlier| earlier.copies.is_some() && earlier.path == edit.path) {
                    text.push_str(&changed(edit, change, &explanation.settings, paint));
                }
            }
        }
        None => text.push_str(&format!("\n{}\n", why_not(explanation, unanswered))),
    }
    if let Some(contact) = &explanation.contact {
        text.push_str(&format!("\n{}\n", in_one_line(contact)));
    }
    let warned = warned();
    if !warned.is_empty() {
        text.push_str(&format!("\n{warned}"));
    }
    text.push('\n');
    text
}

/// A change as it can be pasted: its path, and below it what is to stand there.
fn changed(edit: &Edit, change: &Change, settings: &Value, paint: Paint) -> String {
    let path = in_one_line(&edit.path);
    let (head, block) = match (&edit.copies, &edit.action) {
        (Some(other), _) => (
            format!("set `{path}`, which replaces `{}` there", in_one_line(other)),
            json!({edit.key(): edit.written_in(&change.settings)}),
        ),
        (None, Action::Set(value)) => (format!("set `{path}`{}", before(edit, settings)), json!({edit.key(): value})),
        // A list that isn't there is written with its name.
        (None, Action::Prepend(entry) | Action::Append(entry)) if edit.written_in(settings).is_none() => {
            (format!("add `{path}`"), json!({edit.key(): [entry]}))
        }
        (None, Action::Prepend(entry)) => (format!("put at the beginning of the list `{path}`"), json!([entry])),
        (None, Action::Append(entry)) => (format!("put at the end of the list `{path}`"), json!([entry])),
    };
    let mut text = format!("\n  {head}:\n\n");
    for line in yaml(&block).lines() {
        text.push_str(&paint.green(&format!("    {}", in_one_line(line))));
        text.push('\n');
    }
    text
}

/// What stood in the place of what is set, if that is short.
fn before(edit: &Edit, settings: &Value) -> String {
    match edit.written_in(settings).map(Value::to_string) {
        Some(text) if text.len() <= 60 => format!(", instead of `{}`", in_one_line(&text)),
        _ => String::new(),
    }
}

fn described(cause: &Cause, paint: Paint) -> String {
    let image =
        cause.image.as_deref().map_or("the request", |image| if image.is_empty() { "(no image)" } else { image });
    let mut text = format!("\n  {}\n", paint.bold(&in_one_line(image)));
    let mut row = |label: &str, value: &str| {
        text.push_str(&format!("    {}  {value}\n", paint.dim(&format!("{label:10}"))));
    };
    for (index, place) in cause.places.iter().enumerate() {
        row(if index == 0 { "where" } else { "" }, &in_one_line(place));
    }
    for (index, line) in printable(&cause.why.to_string()).lines().enumerate() {
        row(if index == 0 { "why" } else { "" }, line);
    }
    for (index, decider) in cause.decided_by.iter().enumerate() {
        row(if index == 0 { "decided by" } else { "" }, &in_one_line(&setting(decider)));
    }
    for (index, advice) in cause.advice.iter().enumerate() {
        row(if index == 0 { "to do" } else { "" }, &in_one_line(&advice.to_string()));
    }
    text
}

/// `scanPolicies.defaultPolicy: scan-result (the default)`
fn setting(decider: &Decider) -> String {
    let value = match &decider.value {
        Value::Null => String::new(),
        Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    };
    format!("{}{value}{}", decider.path, if decider.is_default { " (the default)" } else { "" })
}

/// Why there is no change.
fn why_not(explanation: &Explanation, unanswered: Option<&str>) -> String {
    let causes = &explanation.causes;
    if let Some(call) = unanswered {
        return format!("No change can be tried, since {}.", in_one_line(&nobody_answers(call)));
    }
    let rules: Vec<&str> = causes
        .iter()
        .flat_map(|cause| &cause.decided_by)
        .map(|decider| decider.path.as_str())
        .filter(is_of_rules)
        .collect();
    match rules.first() {
        _ if causes.iter().any(|cause| cause.decided_by.is_empty()) => {
            "No change of the settings admits it: the object is wrong by itself.".to_owned()
        }
        Some(path)
            if causes.iter().flat_map(|cause| &cause.advice).any(|advice| matches!(advice, Advice::RepairRules(_))) =>
        {
            format!("No change of the settings is proposed: the rules in `{path}` failed, and must be repaired.")
        }
        Some(path) => {
            format!(
                "No change of the settings is proposed: the rules in `{path}` reject it, and must change, or the object."
            )
        }
        None => match &explanation.stuck {
            Some(stuck) => still(stuck),
            None => "No change of the settings was found that admits it and opens no more than is needed.".to_owned(),
        },
    }
}

/// What rejects it whatever is changed.
fn still(stuck: &Stuck) -> String {
    let listed = stuck.edits.iter().filter_map(|edit| match &edit.opens {
        Opens::Registry { host, .. } => Some(format!("with `{}` listed", in_one_line(host))),
        _ => None,
    });
    let others = stuck.edits.iter().filter(|edit| !matches!(edit.opens, Opens::Registry { .. }));
    let others = others.map(|edit| format!("with `{}` changed", in_one_line(&edit.path)));
    let mut tried: Vec<String> = listed.chain(others).collect();
    tried.dedup();
    let tried = tried.join(", and ");
    format!(
        "No change of the settings was found that admits it: {tried} it is still denied: {}.",
        in_one_line(&stuck.still)
    )
}

/// Whether rules of one's own stand at a path.
fn is_of_rules(path: &&str) -> bool {
    ["preCustomRules", "customRules"].contains(path)
        || path.starts_with("regoPolicies")
        || path.contains("conftest.policy.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_explain::explain;
    use image_admission_host::WireHost;
    use image_admission_untrusted::time::Timestamp;

    /// Two changes of one entry, which takes the place of a glob's: the entry is shown once, with all that the glob's says.
    #[test]
    fn an_entry_that_replaces_a_glob_s_is_shown_whole() {
        let settings = json!({
            "preScanPolicies": {"byNamespace": {"prod-*": {"defaultPolicy": "reject"}}},
            "scanPolicies": {"defaultPolicy": "accept"},
        });
        let containers = json!([{"name": "a", "image": "ghcr.io/a:1"}, {"name": "b", "image": "ghcr.io/b:1"}]);
        let request = json!({
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "object": {"metadata": {"name": "web", "namespace": "prod-a"}, "spec": {"containers": containers}},
        });
        let request = serde_json::value::to_raw_value(&request).unwrap();
        let host = WireHost(|_: &str, _: &str, _: &[u8]| Err::<Vec<u8>, _>("nobody is there".into()));
        let (_, explanation) = explain(Some(&request), &settings, &host, Timestamp(1_790_000_000)).unwrap();
        let subject = Subject {
            kind: "Pod".to_owned(),
            namespace: "prod-a".to_owned(),
            name: "web".to_owned(),
            operation: "CREATE".to_owned(),
            sub_resource: String::new(),
        };
        let cause = |image: &str, container: usize, name: &str| {
            format!(
                "\n  {image}\n    where       container {name}, /spec/containers/{container}/image\n    why         pre-scan rejects it by its name\n    decided by  preScanPolicies.byNamespace.prod-*.defaultPolicy: reject\n    to do       take an image whose name `preScanPolicies` doesn't reject\n"
            )
        };
        let change = "
If that can't be done: a small change of the settings that would have admitted it. It opens
  - every image of ghcr.io/a in `prod-a`, as far as its scan is accepted
  - every image of ghcr.io/b in `prod-a`, as far as its scan is accepted

  set `preScanPolicies.byNamespace.prod-a`, which replaces `preScanPolicies.byNamespace.prod-*` there:

    prod-a:
      customPolicies:
      - action: scan
        prefix: 'ghcr.io/b:'
      - action: scan
        prefix: 'ghcr.io/a:'
      defaultPolicy: reject

";
        assert_eq!(
            text(&subject, &explanation, &[], None, Paint::none()),
            [
                "Pod web in namespace prod-a: denied\n",
                &cause("ghcr.io/a:1", 0, "a"),
                &cause("ghcr.io/b:1", 1, "b"),
                change
            ]
            .concat()
        );
    }
}
