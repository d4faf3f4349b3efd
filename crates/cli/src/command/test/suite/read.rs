//! A file into a [`Suite`]: everything that it names is read, and every problem is noted with its path in the suite.

use image_admission_module_host::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::answers::{Answers, Place};
use super::expectation::{Calls, Decision, Expectation, Expected, Message, Mutation};
use super::keys::{Keys, Problems, wrong_type};
use super::{Case, InvalidSuite, Question, Settings, Suite};
use crate::command::test::identity::{Identity, Scope};
use image_admission_manifests::document::{self, Document};
use image_admission_manifests::manifest::{Making, Operation};
use image_admission_manifests::request::{admission_request, requests};
use image_admission_manifests::settings::{Found, chosen};
use image_admission_module_host::answers::Grants;

/// What all cases share.
const SHARED: &[&str] = &["settings", "settingsOf", "images", "cluster", "replay", "exact", "tests"];
/// A case. The first five replace what is shared.
const CASE: &[&str] = &[
    "settings",
    "settingsOf",
    "images",
    "cluster",
    "replay",
    "name",
    "settingsPatch",
    "manifest",
    "object",
    "request",
    "operation",
    "oldObject",
    "namespace",
    "subResource",
    "userInfo",
    "dryRun",
    "expect",
];
/// What a case expects.
const EXPECT: &[&str] = &["verdict", "message", "messageContains", "warnings", "mutated", "calls", "exact"];
/// What only objects need, as requests say it themselves.
const OF_OBJECTS: &[&str] = &["operation", "oldObject", "namespace", "subResource", "userInfo", "dryRun"];
/// What a case is about that has a request.
const OF_REQUESTS: &[&str] = &["manifest", "object", "request", "images", "cluster", "replay"];
/// What is expected of a request, and not of settings.
const OF_DECISIONS: &[&str] = &["warnings", "mutated", "calls", "exact"];
/// Who asks, as AdmissionRequests have it.
const USER: &[&str] = &["username", "uid", "groups", "extra"];

impl Suite {
    /// Reads the suite in `path`, and the files that it names, whose paths are relative to it.
    ///
    /// Fails with every problem that it has.
    pub(in crate::command::test) fn read(path: &Path) -> Result<Self, InvalidSuite> {
        let name = path.display().to_string();
        let invalid = |problems, files| InvalidSuite { suite: name.clone(), problems, files };
        let (text, value) = content(path).map_err(|problem| invalid(vec![problem], BTreeSet::new()))?;
        let mut reading = Reading {
            name: name.clone(),
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            text,
            problems: Problems::default(),
            files: BTreeSet::new(),
            answers: BTreeMap::new(),
        };
        reading.belongs(path);
        let cases = reading.suite(&value);
        let Reading { problems, files, answers, .. } = reading;
        match problems.all() {
            Some(problems) => Err(invalid(problems, files)),
            None => Ok(Self { name, cases, files, answers }),
        }
    }
}

/// The one document of a file, with its text.
fn content(path: &Path) -> Result<(String, Value), String> {
    let text = document::text(path).map_err(|e| e.to_string())?;
    let documents = document::documents(path).map_err(|e| e.to_string())?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(document), None) => {
            let value = serde_json::from_str(document.json.get()).map_err(|e| e.to_string())?;
            Ok((text, value))
        }
        (None, _) => Err("it is empty; its cases are a list below `tests`".to_owned()),
        (Some(_), Some(_)) => Err("it has several documents; a suite is one".to_owned()),
    }
}

struct Reading {
    name: String,
    folder: PathBuf,
    text: String,
    problems: Problems,
    files: BTreeSet<PathBuf>,
    answers: BTreeMap<Place, Answers>,
}

/// What all cases have that don't say otherwise.
struct Shared {
    settings: Option<(Settings, Value)>,
    place: Place,
    /// Whether what a case doesn't mention is expected not to be there.
    is_exact: bool,
}

impl Reading {
    fn suite(&mut self, value: &Value) -> Vec<Case> {
        let Some(keys) = Keys::of(value, "", SHARED, &mut self.problems) else { return Vec::new() };
        let Some(tests) = keys.get("tests") else {
            let rename = "a file with this name is a suite: list its cases below `tests`, or rename it if it is none";
            self.problems.add("tests", format!("it is missing; {rename}"));
            return Vec::new();
        };
        let Some(tests) = tests.as_array() else {
            self.problems.add("tests", wrong_type("a list of cases", tests));
            return Vec::new();
        };
        if tests.is_empty() {
            self.problems.add("tests", "there is no case, so that nothing is tested; add one, or remove the suite");
        }
        let is_exact = keys.boolean("exact", &mut self.problems);
        let nowhere = Place::Files { images: None, cluster: None };
        self.read_answers(&nowhere, &keys);
        let shared =
            Shared { settings: self.settings(&keys), place: self.place(&keys, None).unwrap_or(nowhere), is_exact };
        let mut cases = Vec::new();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for (index, value) in tests.iter().enumerate() {
            let path = format!("tests[{index}]");
            let Some(keys) = Keys::of(value, &path, CASE, &mut self.problems) else { continue };
            let case = self.case(&keys, &shared);
            let Some(name) = keys.text("name", &mut Problems::default()) else { continue };
            if let Some(first) = names.get(name) {
                let problem = format!("`{name}` is the name of {first} too; give each case a name of its own");
                self.problems.add(&keys.at("name"), problem);
            }
            names.entry(name.to_owned()).or_insert(path);
            cases.extend(case);
        }
        self.must_be_of_use(&keys, tests);
        cases
    }

    /// What is shared must be there for some case.
    fn must_be_of_use(&mut self, shared: &Keys<'_>, tests: &[Value]) {
        let replaced_by: [(&str, &[&str]); 4] = [
            ("settings", &["settings"]),
            ("images", &["images", "replay"]),
            ("cluster", &["cluster", "replay"]),
            ("replay", &["replay", "images", "cluster"]),
        ];
        for (key, own) in replaced_by.into_iter().filter(|(key, _)| shared.get(key).is_some()) {
            let replaces = |case: &Value| {
                let has = |own: &&str| case.get(own).is_some_and(|value| !value.is_null());
                own.iter().any(has) || (key != "settings" && is_about_settings(case))
            };
            if !tests.is_empty() && tests.iter().all(replaces) {
                self.problems.add(key, "no case uses it, as each has its own; remove it here");
            }
        }
    }

    fn case(&mut self, keys: &Keys<'_>, shared: &Shared) -> Option<Case> {
        let name = self.case_name(keys);
        let settings = self.case_settings(keys, shared);
        let question = self.question(keys, shared);
        let name = name?;
        let identity = Identity {
            line: line_of(&self.text, &name),
            scope: Scope::Suite(self.name.clone()),
            name,
            file: self.name.clone(),
        };
        Some(Case { identity, settings: settings?, question: question? })
    }

    /// What the case asks, and which answer it expects.
    fn question(&mut self, keys: &Keys<'_>, shared: &Shared) -> Option<Question> {
        if is_about_settings(keys.value()) {
            for key in OF_REQUESTS.iter().chain(OF_OBJECTS).filter(|key| keys.get(key).is_some()) {
                let problem = "settings that are refused decide nothing; leave it out, or expect another verdict";
                self.problems.add(&keys.at(key), problem);
            }
            return match self.expectation(keys, shared.is_exact)? {
                Expectation::Invalid(message) => Some(Question::Settings(message)),
                Expectation::Decision(_) => None,
            };
        }
        let place = self.place(keys, Some(&shared.place)).unwrap_or_else(|| shared.place.clone());
        let request = self.request(keys);
        match self.expectation(keys, shared.is_exact)? {
            Expectation::Decision(expected) => Some(Question::Request { request: request?, place, expected }),
            Expectation::Invalid(_) => None,
        }
    }

    fn case_name(&mut self, keys: &Keys<'_>) -> Option<String> {
        let path = keys.at("name");
        if keys.get("name").is_none() {
            self.problems.add(&path, "it is missing; say in a few words what the case shows");
        }
        let name = keys.text("name", &mut self.problems)?;
        if name.trim().is_empty() || name.contains('\n') {
            self.problems.add(&path, format!("`{}` is no name; use one line", name.escape_debug()));
        }
        Some(name.to_owned())
    }

    /// Settings, with their value.
    fn settings(&mut self, keys: &Keys<'_>) -> Option<(Settings, Value)> {
        let path = keys.at("settings");
        let policy = keys.text("settingsOf", &mut self.problems);
        if policy.is_some() && !keys.get("settings").is_some_and(Value::is_string) {
            let problem = "it chooses among the policies of a file; name that with `settings`, or leave it out";
            self.problems.add(&keys.at("settingsOf"), problem);
        }
        let (name, json, grants) = match keys.get("settings")? {
            Value::String(file) => {
                let file = self.file(file, &path)?;
                let found = chosen(&file, policy);
                let found = found.map_err(|e| self.problems.add(&path, e.to_string())).ok()?;
                let grants = found.as_ref().map_or_else(Grants::everything, Found::grants);
                let json = found.and_then(|found| found.json);
                (file.display().to_string(), json.map_or_else(|| to_raw_value(&Map::new()).ok(), Some)?, grants)
            }
            inline @ Value::Object(_) => (path.clone(), to_raw_value(inline).ok()?, Grants::everything()),
            other => {
                self.problems.add(&path, wrong_type("a file or a map of settings", other));
                return None;
            }
        };
        let value = serde_json::from_str(json.get()).unwrap_or_default();
        Some((Settings { name, json, grants }, value))
    }

    /// The case's settings: its own or the shared ones, with its patch.
    fn case_settings(&mut self, keys: &Keys<'_>, shared: &Shared) -> Option<Settings> {
        let own = self.settings(keys);
        let base = own.as_ref().or(shared.settings.as_ref());
        let path = keys.at("settingsPatch");
        match keys.get("settingsPatch") {
            None => match base {
                Some((settings, _)) => Some(settings.clone()),
                None => {
                    let (json, grants) = (to_raw_value(&Map::new()).ok()?, Grants::everything());
                    Some(Settings { name: "{}".to_owned(), json, grants })
                }
            },
            Some(patch @ Value::Object(_)) => {
                let mut value = base.map_or(Value::Object(Map::new()), |(_, value)| value.clone());
                merge(&mut value, patch);
                let grants = base.map_or_else(Grants::everything, |(settings, _)| settings.grants.clone());
                Some(Settings { name: path, json: to_raw_value(&value).ok()?, grants })
            }
            Some(other) => {
                self.problems.add(&path, wrong_type("a map of settings", other));
                None
            }
        }
    }

    /// Where the answers come from: for a case, what it has itself and the rest of what is shared.
    fn place(&mut self, keys: &Keys<'_>, shared: Option<&Place>) -> Option<Place> {
        let mut path = |key| {
            let file = keys.text(key, &mut self.problems)?;
            self.file(file, &keys.at(key))
        };
        let (images, cluster, replay) = (path("images"), path("cluster"), path("replay"));
        let place = match (images, cluster, replay) {
            (None, None, None) => return None,
            (None, None, Some(session)) => Place::Recording(session),
            (_, _, Some(_)) => {
                let problem = "a recording answers everything; leave out `images` and `cluster`, or this";
                self.problems.add(&keys.at("replay"), problem);
                return None;
            }
            (images, cluster, None) => match shared {
                Some(Place::Files { images: all, cluster: whole }) => {
                    Place::Files { images: images.or(all.clone()), cluster: cluster.or(whole.clone()) }
                }
                _ => Place::Files { images, cluster },
            },
        };
        self.read_answers(&place, keys);
        Some(place)
    }

    fn read_answers(&mut self, place: &Place, keys: &Keys<'_>) {
        if self.answers.contains_key(place) {
            return;
        }
        match Answers::read(place) {
            Ok(answers) => drop(self.answers.insert(place.clone(), answers)),
            Err(problem) => {
                // Errors name what they are about.
                let is_of_cluster = match place {
                    Place::Files { cluster: Some(folder), .. } => {
                        problem.to_string().contains(&format!("`{}", folder.display()))
                    }
                    _ => false,
                };
                let all = if is_of_cluster { ["cluster", "replay", "images"] } else { ["replay", "images", "cluster"] };
                let key = all.into_iter().find(|key| keys.get(key).is_some());
                self.problems.add(&keys.at(key.unwrap_or_default()), problem);
            }
        }
    }

    /// The request that a case is about.
    fn request(&mut self, keys: &Keys<'_>) -> Option<Box<RawValue>> {
        let given: Vec<&str> =
            ["manifest", "object", "request"].into_iter().filter(|key| keys.get(key).is_some()).collect();
        let [key] = given.as_slice() else {
            let problem = match given.as_slice() {
                [] => "there is nothing to decide; give a `manifest` (a file), an `object` or a `request`",
                _ => "it is about several things; leave one of `manifest`, `object` and `request`",
            };
            self.problems.add(keys.path(), problem);
            return None;
        };
        let path = keys.at(key);
        let document = match (*key, keys.get(key)?) {
            ("manifest", Value::String(_)) => self.document(keys, key)?,
            ("manifest", other) => {
                let problem = wrong_type("a file; write an object itself below `object`", other);
                self.problems.add(&path, problem);
                return None;
            }
            ("object", other) if !other.is_object() => {
                self.problems.add(&path, wrong_type("an object; name a file with `manifest`", other));
                return None;
            }
            _ => self.document(keys, key)?,
        };
        let own = admission_request(&document).map(|own| own.map(RawValue::to_owned));
        let own = own.map_err(|error| self.problems.add(&path, error.to_string())).ok()?;
        match (*key, own) {
            ("request", Some(request)) => self.says_it_all(keys).then_some(request),
            ("request", None) => {
                let problem = "it is no AdmissionRequest or AdmissionReview; write an object below `object`, or name its file with `manifest`";
                self.problems.add(&path, problem);
                None
            }
            (_, Some(_)) => {
                self.problems.add(&path, "it is a request; give it as `request`");
                None
            }
            (_, None) => self.request_for(document, keys, &path),
        }
    }

    /// The request for an object.
    fn request_for(&mut self, document: Document, keys: &Keys<'_>, path: &str) -> Option<Box<RawValue>> {
        let making = self.making(keys)?;
        let made = requests(document, &making).map_err(|error| self.problems.add(path, error.to_string()));
        let mut requests = made.ok()?.into_iter();
        match (requests.next(), requests.next()) {
            (Some(request), None) => Some(request.json),
            _ => {
                self.problems.add(path, "it has several objects; a case is about one");
                None
            }
        }
    }

    /// Whether a request is left to say itself what is done with its object.
    fn says_it_all(&mut self, keys: &Keys<'_>) -> bool {
        let more: Vec<&str> = OF_OBJECTS.iter().copied().filter(|key| keys.get(key).is_some()).collect();
        for key in &more {
            self.problems.add(&keys.at(key), "the `request` says that itself; leave it out");
        }
        more.is_empty()
    }

    /// What is done with a case's object.
    fn making(&mut self, keys: &Keys<'_>) -> Option<Making> {
        let named = match keys.text("operation", &mut self.problems) {
            None => None,
            Some(name) => match Operation::named(name) {
                None => {
                    let problem = format!("`{name}` is no operation; use `CREATE`, `UPDATE`, `DELETE` or `CONNECT`");
                    self.problems.add(&keys.at("operation"), problem);
                    return None;
                }
                operation => operation,
            },
        };
        let old = keys.get("oldObject").map(|_| self.document(keys, "oldObject"));
        let operation = named.unwrap_or(if old.is_some() { Operation::Update } else { Operation::Create });
        if old.is_some() && operation != Operation::Update {
            let problem = "only an update has an old object; leave it out, or use `operation: UPDATE`";
            self.problems.add(&keys.at("oldObject"), problem);
            return None;
        }
        let namespace = keys.text("namespace", &mut self.problems).map(str::to_owned);
        let sub_resource = keys.text("subResource", &mut self.problems).map(str::to_owned);
        match old {
            Some(None) => None,
            old => {
                let making = Making::of_case(operation, old.flatten(), namespace, sub_resource);
                let dry_run = keys.boolean("dryRun", &mut self.problems);
                Some(making.asked(self.user(keys), dry_run))
            }
        }
    }

    /// Who asks.
    fn user(&mut self, keys: &Keys<'_>) -> Option<Value> {
        let value = keys.get("userInfo")?;
        let user = Keys::of(value, &keys.at("userInfo"), USER, &mut self.problems)?;
        user.text("username", &mut self.problems);
        user.text("uid", &mut self.problems);
        user.texts("groups", &mut self.problems);
        if let Some(extra) = user.get("extra").filter(|extra| !extra.is_object()) {
            self.problems.add(&user.at("extra"), wrong_type("a map with lists of texts", extra));
        }
        Some(value.clone())
    }

    /// The one document of a file that a key names, or the value that it has itself.
    fn document(&mut self, keys: &Keys<'_>, key: &str) -> Option<Document> {
        let path = keys.at(key);
        match keys.get(key)? {
            Value::String(file) => {
                let file = self.file(file, &path)?;
                let documents = document::documents(&file).map_err(|e| self.problems.add(&path, e.to_string())).ok()?;
                let count = documents.len();
                let mut documents = documents.into_iter();
                match (documents.next(), documents.next()) {
                    (Some(document), None) => Some(document),
                    _ => {
                        let problem = format!("`{}` has {count} documents; a case is about one", file.display());
                        self.problems.add(&path, problem);
                        None
                    }
                }
            }
            inline @ Value::Object(_) => {
                let place = document::Place::within(format!("`{}`", self.name));
                Some(Document { place, json: to_raw_value(inline).ok()? })
            }
            other => {
                self.problems.add(&path, wrong_type("a file or an object", other));
                None
            }
        }
    }

    fn expectation(&mut self, keys: &Keys<'_>, is_exact: bool) -> Option<Expectation> {
        let path = keys.at("expect");
        let Some(value) = keys.get("expect") else {
            let problem =
                "it is missing, so that the case can't fail; say at least `verdict: allowed` or `verdict: rejected`";
            self.problems.add(&path, problem);
            return None;
        };
        let expect = Keys::of(value, &path, EXPECT, &mut self.problems)?;
        if is_about_settings(keys.value()) {
            for key in OF_DECISIONS.iter().filter(|key| expect.get(key).is_some()) {
                self.problems.add(&expect.at(key), "settings that are refused decide nothing; leave it out");
            }
            return self.message(&expect).map(Expectation::Invalid);
        }
        let is_exact = match expect.get("exact") {
            Some(_) => expect.boolean("exact", &mut self.problems),
            None => is_exact,
        };
        let verdict = self.verdict(&expect, is_exact);
        let warnings = expect.texts("warnings", &mut self.problems).or_else(|| is_exact.then(Vec::new));
        let calls = expect.get("calls").and_then(|value| match value.as_u64() {
            Some(number) => usize::try_from(number).ok().map(Calls::Number),
            None if value.is_array() => expect.texts("calls", &mut self.problems).map(Calls::These),
            None => {
                self.problems.add(&expect.at("calls"), wrong_type("a number or a list of calls", value));
                None
            }
        });
        Some(Expectation::Decision(Decision { verdict: verdict?, warnings, calls }))
    }

    fn verdict(&mut self, expect: &Keys<'_>, is_exact: bool) -> Option<Expected> {
        const VERDICTS: [&str; 3] = ["allowed", "rejected", "invalid"];
        let path = expect.at("verdict");
        if expect.get("verdict").is_none() {
            self.problems.add(&path, "it is missing; say what the policy decides, `allowed` or `rejected`, or that it finds the settings `invalid`");
        }
        let message = self.message(expect);
        let mutation = self.mutation(expect, is_exact);
        match expect.text("verdict", &mut self.problems)? {
            "allowed" => {
                for key in ["message", "messageContains"].into_iter().filter(|key| expect.get(key).is_some()) {
                    self.problems.add(&expect.at(key), "only a rejection has a message; leave it out");
                }
                Some(Expected::Allowed(mutation?))
            }
            "rejected" => {
                if !matches!(mutation, None | Some(Mutation::Unsaid | Mutation::None)) {
                    self.problems.add(&expect.at("mutated"), "what is rejected is not changed; leave it out");
                }
                Some(Expected::Rejected(message?))
            }
            other => {
                let help = image_admission_untrusted::message::nearest(other, VERDICTS)
                    .map(|name| format!("; did you mean `{name}`?"))
                    .unwrap_or_default();
                self.problems.add(&path, format!("`{other}` is none of `allowed`, `rejected` and `invalid`{help}"));
                None
            }
        }
    }

    fn message(&mut self, expect: &Keys<'_>) -> Option<Message> {
        if expect.get("messageContains").is_none() {
            return match expect.get("message") {
                None => Some(Message::Any),
                // A block of YAML ends with a new line, and no message does.
                Some(_) => expect
                    .text("message", &mut self.problems)
                    .map(|message| Message::Exactly(message.trim_end_matches('\n').to_owned())),
            };
        }
        let path = expect.at("messageContains");
        if expect.get("message").is_some() {
            self.problems.add(&path, "`message` is the whole message already; leave one of them out");
        }
        let texts = expect.texts("messageContains", &mut self.problems)?;
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            self.problems.add(&path, "an empty text is in every message; leave it out");
        }
        Some(Message::With(texts))
    }

    fn mutation(&mut self, expect: &Keys<'_>, is_exact: bool) -> Option<Mutation> {
        match expect.get("mutated") {
            None if !is_exact => Some(Mutation::Unsaid),
            None | Some(Value::Bool(false)) => Some(Mutation::None),
            Some(Value::Bool(true)) => Some(Mutation::Any),
            Some(_) => {
                let document = self.document(expect, "mutated")?;
                let value = serde_json::from_str(document.json.get());
                value.map_err(|e| self.problems.add(&expect.at("mutated"), e.to_string())).ok().map(Mutation::Into)
            }
        }
    }

    /// A path that the suite has, from where the command was started.
    fn file(&mut self, relative: &str, path: &str) -> Option<PathBuf> {
        let file = self.folder.join(relative);
        self.belongs(&file);
        if disk::is_folder(&file).is_err() {
            let problem = format!("there is no `{}`; paths are relative to the suite's folder", file.display());
            self.problems.add(path, problem);
            return None;
        }
        Some(file)
    }

    /// Notes that a file or folder is the suite's, and no data for rules.
    fn belongs(&mut self, file: &Path) {
        self.files.insert(disk::real(file).unwrap_or_else(|_| file.to_owned()));
    }
}

/// Whether a case expects its settings to be refused, so that it has nothing to decide.
fn is_about_settings(case: &Value) -> bool {
    case.pointer("/expect/verdict").is_some_and(|verdict| verdict == "invalid")
}

/// A JSON merge patch (RFC 7386): maps are merged, null removes, and everything else replaces.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(map) = value else { return };
    for (key, patch) in patch {
        if patch.is_null() {
            map.remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), patch);
        }
    }
}

/// The line where a case's name is written, from 1: YAML's values don't know where they come from. Of a name that is
/// written in an unusual way it is the file's first.
fn line_of(text: &str, name: &str) -> usize {
    let is_name = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ").trim_start();
        let value = line.strip_prefix('{').unwrap_or(line).trim_start().strip_prefix("name:");
        value.is_some_and(|value| {
            let whole = || yaml_serde::from_str::<String>(value).is_ok_and(|value| value == name);
            let first = || value.split(',').next().is_some_and(|first| first.trim().trim_matches(['"', '\'']) == name);
            whole() || first()
        })
    };
    text.lines().position(is_name).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_are_merged() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "d": [1, 2]});
        merge(&mut value, &json!({"a": {"b": 3, "c": null, "e": {"f": null, "g": 1}}, "d": [3]}));
        assert_eq!(value, json!({"a": {"b": 3, "e": {"g": 1}}, "d": [3]}));
    }

    #[test]
    fn names_are_found_in_every_form() {
        let text = "tests:\n  - name: one\n  - manifest: x\n    name: 'it''s two'\n  - {name: three, object: {}}\n  - name: \"fo\\u0075r\" # remark\n";
        for (name, line) in [("one", 2), ("it's two", 4), ("three", 5), ("four", 6), ("five", 1)] {
            assert_eq!(line_of(text, name), line, "{name}");
        }
    }
}
