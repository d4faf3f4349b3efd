//! Image verification: policies about who signed an image, and what was attested of it, written in CEL.
//!
//! It stands between pre-scan and the scan. The digest that a signature vouches for is the one that is scanned and pinned;
//! an image that failed causes no look-up of a report.
//!
//! ```text
//! policy ── resource rules, conditions ── images ── expressions ── questions ── signatures
//!                                                                         └──── attestations ── dsse
//! ```

mod attestations;
pub(crate) mod check;
mod dsse;
mod expression;
mod functions;
mod matching;
mod questions;
mod signatures;

use crate::Timestamp;
use crate::decision::JudgedImage;
use crate::host::{Host, HostFailure, Resource};
use crate::image::{ImageList, ImageReference};
use crate::message::cut;
use crate::report::{ReportSearch, ScanReport, ScanStatus};
use crate::request::{AdmissionRequest, Operation};
use crate::settings::{Expression, FailureAction, IMAGE_LISTS, NamedExpression, Settings, VerificationPolicy};
use attestations::Attestations;
use cel::Value;
use expression::{EvaluationError, Program, References, Scope, map_of, value_of};
use questions::{Answers, Question};
use serde_json::{Value as Json, json};
use signatures::Signatures;
use std::collections::{BTreeMap, BTreeSet};

/// The most questions that the expressions of one policy may ask: two for each of the most images, and some.
const MOST_QUESTIONS: usize = 400;

/// What a policy of `imageVerification` says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationOutcome {
    /// Its name.
    pub name: String,
    /// What becomes of a request that it doesn't hold for.
    pub action: FailureAction,
    /// Why it doesn't hold.
    pub failure: Option<VerificationFailure>,
    /// By image, as expressions named it, the attestors that verified it or an attestation of it.
    pub verified: BTreeMap<String, BTreeSet<String>>,
    /// What it writes into the audit log.
    pub annotations: BTreeMap<String, String>,
    /// What to tell although it holds.
    pub warnings: Vec<String>,
}

/// Why a policy doesn't hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationFailure {
    /// It says so, with its message and what is known about the images that it asked for.
    Failed(String, Vec<String>),
    /// It can't be told.
    Error(String),
}

impl VerificationOutcome {
    /// Whether the request is rejected for it.
    #[must_use]
    pub fn rejects(&self) -> bool {
        self.action == FailureAction::Enforce && self.failure.is_some()
    }

    /// `Policy signed failed: …`; none when it holds.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let name = cut(&self.name, 64);
        match self.failure.as_ref()? {
            VerificationFailure::Failed(message, reasons) => {
                let reasons: String = reasons.iter().take(10).map(|reason| format!("\n{reason}")).collect();
                Some(format!("Policy {name} failed: {message}{reasons}"))
            }
            VerificationFailure::Error(why) => Some(format!("Policy {name} error: {why}")),
        }
    }
}

/// What verification says of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verified {
    /// What each policy says that is about the request.
    pub(crate) outcomes: Vec<VerificationOutcome>,
    /// The digests of images that were resolved on the way, so that nothing resolves them again.
    pub(crate) digests: BTreeMap<ImageReference, String>,
    /// Images that stay as they are: a policy about them says so.
    pub(crate) unpinned: BTreeSet<ImageReference>,
}

/// The request as verification sees it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) request: &'a AdmissionRequest<'a>,
    /// The object as patches left it.
    pub(crate) object: &'a Json,
    pub(crate) namespace: &'a str,
    /// The images that are judged; none for kinds without a pod spec.
    pub(crate) images: &'a [JudgedImage],
    /// Whether pre-scan accepts the request as a whole.
    pub(crate) is_accepted: bool,
    /// Whether its images are pinned, by this request or by that of the Pods that come of it.
    pub(crate) is_pinned: bool,
    pub(crate) now: Timestamp,
}

/// Asks every policy that is about the request.
pub(crate) fn verify<'a>(
    subject: Subject<'a>,
    settings: &'a Settings,
    host: &'a dyn Host,
    search: &mut ReportSearch<'_>,
) -> Verified {
    let mut signatures = Signatures::new(settings, host);
    let mut outcomes = Vec::new();
    let mut unpinned = BTreeSet::new();
    let mut seen_by = BTreeSet::new();
    let mut has_left_out = false;
    for policy in &settings.verification {
        if !matching::is_about(policy, subject.request, subject.object)
            || subject.is_accepted && !policy.verify_pre_scan_accepted
        {
            continue;
        }
        let mut verification =
            PolicyVerification { policy, subject, settings, host, signatures: &mut signatures, search: &mut *search };
        let Some((outcome, images)) = verification.run() else { continue };
        has_left_out |= !policy.images_matched.globs.is_empty() || !policy.images_matched.expressions.is_empty();
        if !policy.mutate_digest {
            unpinned.extend(images.iter().filter_map(|image| ImageReference::parse(image).ok()));
        }
        seen_by.extend(images);
        outcomes.push(outcome);
    }
    // A policy whose patterns leave every image out holds for all of them, without a word: this is the word.
    if has_left_out && let Some(last) = outcomes.last_mut() {
        let is_exempt = |judged: &&JudgedImage| !seen_by.contains(&judged.image.text);
        let mut named = BTreeSet::new();
        for judged in subject.images.iter().filter(is_exempt) {
            if named.insert(&judged.image.text) {
                last.warnings
                    .push(format!("image '{}' is one that no verification policy is about", judged.image.shown()));
            }
        }
    }
    Verified { outcomes, digests: signatures.into_digests(), unpinned }
}

/// One policy, asked about one request.
struct PolicyVerification<'a, 's, 'r> {
    policy: &'a VerificationPolicy,
    subject: Subject<'a>,
    settings: &'a Settings,
    host: &'a dyn Host,
    signatures: &'s mut Signatures<'a>,
    search: &'s mut ReportSearch<'r>,
}

/// The programs of a policy.
struct Programs {
    image_rules: Vec<Program>,
    conditions: Vec<Program>,
    images: Vec<Program>,
    variables: Vec<Program>,
    verifications: Vec<(Program, Option<Program>)>,
    annotations: Vec<Program>,
}

impl Programs {
    fn read(policy: &VerificationPolicy) -> Result<Self, String> {
        let all = |named: &[NamedExpression]| -> Result<Vec<Program>, String> {
            named.iter().map(|named| expression::read(&named.expression)).collect()
        };
        let verifications = policy.verifications.iter().map(|verification| {
            let message = verification.message_expression.as_ref().map(expression::read).transpose()?;
            Ok((expression::read(&verification.expression)?, message))
        });
        Ok(Self {
            image_rules: policy.images_matched.expressions.iter().map(read_image_rule).collect::<Result<_, _>>()?,
            conditions: all(&policy.conditions)?,
            images: all(&policy.images)?,
            variables: all(&policy.variables)?,
            verifications: verifications.collect::<Result<_, String>>()?,
            annotations: all(&policy.audit_annotations)?,
        })
    }

    fn references(&self) -> impl Iterator<Item = &References> + Clone {
        let verifications =
            self.verifications.iter().flat_map(|(program, message)| std::iter::once(program).chain(message));
        let others = [&self.image_rules, &self.conditions, &self.images, &self.variables, &self.annotations];
        others.into_iter().flatten().chain(verifications).map(|program| &program.references)
    }

    fn mentions(&self, name: &str) -> bool {
        self.references().any(|references| references.names.contains(name))
    }
}

/// An expression about one image, which the proposal calls `$image` and the shipped policies `ref`.
fn read_image_rule(expression: &Expression) -> Result<Program, String> {
    let text = expression.text.replace("$image", "ref");
    expression::read(&Expression { path: expression.path.clone(), text })
}

impl<'a> PolicyVerification<'a, '_, '_> {
    /// What the policy says, and the images that it is about; none when its conditions leave the request out.
    fn run(&mut self) -> Option<(VerificationOutcome, BTreeSet<String>)> {
        let mut outcome = VerificationOutcome {
            name: self.policy.name.clone(),
            action: self.policy.action,
            failure: None,
            verified: BTreeMap::new(),
            annotations: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let mut images = BTreeSet::new();
        match self.evaluate(&mut outcome, &mut images) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(why) if self.policy.ignores_errors => {
                let why = format!("policy {} is skipped: {why}", cut(&self.policy.name, 40));
                outcome.warnings.push(why);
            }
            Err(why) => outcome.failure = Some(VerificationFailure::Error(why)),
        }
        Some((outcome, images))
    }

    /// Whether the policy is about the request; what it says is noted.
    fn evaluate(&mut self, outcome: &mut VerificationOutcome, images: &mut BTreeSet<String>) -> Result<bool, String> {
        let policy = self.policy;
        // Settings were compiled when the policy was deployed, so that these are hardly ever wrong.
        let programs = Programs::read(policy)?;
        let answers = Answers::default();
        let mut scope = self.scope(&programs, &answers)?;
        let mut attestations = Attestations::new(policy);
        for (condition, program) in policy.conditions.iter().zip(&programs.conditions) {
            let value = self
                .answer(program, &scope, &answers, &mut attestations, images)
                .map_err(|why| at(&condition.expression, &why))?;
            match value {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(false),
                other => return Err(no_boolean(&condition.expression, &other)),
            }
        }
        *images = self.name_images(&programs, &mut scope, &answers, &mut attestations)?;
        for (variable, program) in policy.variables.iter().zip(&programs.variables) {
            let name = format!("variables.{}", variable.name);
            if !programs.mentions(&name) {
                continue;
            }
            let value = self
                .answer(program, &scope, &answers, &mut attestations, images)
                .map_err(|why| at(&variable.expression, &why))?;
            scope.set(&name, value);
        }
        let nothing_new = self.subject.images.is_empty() && self.subject.request.operation == Operation::Update;
        for (index, (verification, (program, message))) in
            policy.verifications.iter().zip(&programs.verifications).enumerate()
        {
            // Images that an update leaves as they were were judged when they came.
            if nothing_new
                && images.is_empty()
                && program.references.names.iter().any(|name| name.starts_with("images"))
            {
                continue;
            }
            let value = self
                .answer(program, &scope, &answers, &mut attestations, images)
                .map_err(|why| at(&verification.expression, &why))?;
            match value {
                Value::Bool(true) => {}
                Value::Bool(false) => {
                    let computed = match message {
                        Some(message) => match self.answer(message, &scope, &answers, &mut attestations, images) {
                            Ok(Value::String(text)) if !text.trim().is_empty() => Some(cut(text.trim(), 512)),
                            _ => None,
                        },
                        None => None,
                    };
                    let text = computed
                        .or_else(|| verification.message.clone())
                        .unwrap_or_else(|| format!("CEL expression validation failed at index {index}"));
                    let reasons = self.signatures.reasons(policy).chain(attestations.reasons()).collect();
                    outcome.failure = Some(VerificationFailure::Failed(text, reasons));
                    break;
                }
                other => return Err(no_boolean(&verification.expression, &other)),
            }
        }
        outcome.verified = self.signatures.verified(policy);
        attestations.add_verified(&mut outcome.verified);
        if outcome.failure.is_none() && policy.verify_digest && !(policy.mutate_digest && self.subject.is_pinned) {
            let has_none = |image: &&String| ImageReference::parse(image).is_ok_and(|image| image.digest().is_none());
            if let Some(image) = images.iter().find(has_none) {
                let message = format!("image {} does not have a digest", cut(image, 256));
                outcome.failure = Some(VerificationFailure::Failed(message, Vec::new()));
            }
        }
        for (annotation, program) in policy.audit_annotations.iter().zip(&programs.annotations) {
            let value = self.answer(program, &scope, &answers, &mut attestations, images);
            let text = match value {
                Ok(Value::String(text)) => cut(&text, 512),
                Ok(Value::Null) => continue,
                Ok(_) => "error: the expression gives no string".to_owned(),
                Err(why) => format!("error: {}", cut(&why, 300)),
            };
            outcome.annotations.insert(annotation.name.clone(), text);
        }
        Ok(true)
    }

    /// A scope with the variables that the policy's expressions mention, but for its images and its own variables.
    fn scope(&mut self, programs: &Programs, answers: &Answers) -> Result<Scope<'static>, String> {
        let mut scope = Scope::new(programs.references());
        let functions = programs.references().flat_map(|references| references.functions.iter().map(String::as_str));
        answers.add_functions(&mut scope, functions.collect::<BTreeSet<_>>().into_iter());
        let Subject { request, object, now, .. } = self.subject;
        if programs.mentions("object") {
            scope.set("object", value_of(object));
        }
        if programs.mentions("oldObject") {
            scope.set("oldObject", request.old_object().as_ref().map_or(Value::Null, value_of));
        }
        if programs.mentions("request") {
            let mut whole: Json = serde_json::from_str(request.raw()).map_err(|error| error.to_string())?;
            if let Some(whole) = whole.as_object_mut() {
                whole.insert("object".to_owned(), object.clone());
            }
            scope.set("request", value_of(&whole));
        }
        if programs.mentions("namespaceObject") {
            let name = self.subject.namespace;
            let namespace = Resource { api_version: "v1", kind: "Namespace", namespace: "", name };
            let read = self.host.whole_resource(&namespace).and_then(|document| document.read::<Json>());
            let read = read.map_err(|failure| format!("the namespace `{}` can't be read: {failure}", cut(name, 63)))?;
            scope.set("namespaceObject", value_of(&read));
        }
        if programs.mentions("exemptions") {
            scope.set("exemptions", value_of(&exemptions(self.settings, self.subject.namespace, now)));
        }
        // Attestors and attestations are known to functions by their names.
        for (namespace, names) in [
            ("attestors", self.policy.attestor_names.iter().collect::<BTreeSet<_>>()),
            ("attestations", self.policy.attestations.iter().map(|attestation| &attestation.name).collect()),
        ] {
            for name in &names {
                let key = format!("{namespace}.{name}");
                if programs.mentions(&key) {
                    scope.set(&key, Value::from(name.as_str()));
                }
            }
            if programs.mentions(namespace) {
                scope.set(namespace, map_of(names.iter().map(|name| (name.as_str(), Value::from(name.as_str())))));
            }
        }
        Ok(scope)
    }

    /// Names the lists of images in the scope; the answer is every image in one of them.
    fn name_images(
        &mut self,
        programs: &Programs,
        scope: &mut Scope<'_>,
        answers: &Answers,
        attestations: &mut Attestations<'a>,
    ) -> Result<BTreeSet<String>, String> {
        let mut lists: BTreeMap<&str, Vec<String>> = IMAGE_LISTS.iter().map(|name| (*name, Vec::new())).collect();
        for judged in self.subject.images {
            if judged.is_accepted_by_pre_scan() && !self.policy.verify_pre_scan_accepted {
                continue;
            }
            let list = match judged.image.list {
                ImageList::Init => "initContainers",
                ImageList::Container => "containers",
                ImageList::Ephemeral => "ephemeralContainers",
                ImageList::Volume => "imageVolumes",
            };
            for list in [list, "all"] {
                lists.entry(list).or_default().push(judged.image.text.clone());
            }
        }
        for (named, program) in self.policy.images.iter().zip(&programs.images) {
            let at = |why: &str| at(&named.expression, why);
            let value = self.answer(program, scope, answers, attestations, &BTreeSet::new()).map_err(|why| at(&why))?;
            let found = match &value {
                Value::String(text) => vec![text.to_string()],
                Value::List(texts) => texts
                    .iter()
                    .map(|text| match text {
                        Value::String(text) => Ok(text.to_string()),
                        _ => Err(at("it must give a string or a list of strings")),
                    })
                    .collect::<Result<_, _>>()?,
                _ => return Err(at("it must give a string or a list of strings")),
            };
            // A list of the pod spec's stays what the pod spec says: its unchanged images aren't judged again.
            if !IMAGE_LISTS.contains(&named.name.as_str()) || self.subject.images.is_empty() {
                lists.insert(&named.name, found);
            }
        }
        let mut all = BTreeSet::new();
        let most = self.settings.max_images;
        for list in lists.values_mut() {
            let mut kept = Vec::new();
            for image in std::mem::take(list) {
                if self.is_matched(&image, programs, scope)? {
                    all.insert(image.clone());
                    kept.push(image);
                }
            }
            *list = kept;
        }
        if all.len() > most {
            return Err(format!("{} different images, the setting `maxImages` allows {most}", all.len()));
        }
        let value = |images: &Vec<String>| {
            Value::from(images.iter().map(|image| Value::from(image.as_str())).collect::<Vec<_>>())
        };
        for (name, images) in &lists {
            scope.set(&format!("images.{name}"), value(images));
        }
        if programs.mentions("images") {
            scope.set("images", map_of(lists.iter().map(|(name, images)| (*name, value(images)))));
        }
        Ok(all)
    }

    /// Whether the policy is about an image.
    fn is_matched(&self, image: &str, programs: &Programs, scope: &mut Scope<'_>) -> Result<bool, String> {
        let rules = &self.policy.images_matched;
        if rules.globs.is_empty() && rules.expressions.is_empty() {
            return Ok(true);
        }
        if rules.globs.iter().any(|glob| matching::matches_image(glob, image)) {
            return Ok(true);
        }
        for (expression, program) in rules.expressions.iter().zip(&programs.image_rules) {
            scope.set("ref", Value::from(image));
            match program.evaluate(scope).map_err(|error| at(expression, &error.to_string()))? {
                Value::Bool(true) => return Ok(true),
                Value::Bool(false) => {}
                other => return Err(no_boolean(expression, &other)),
            }
        }
        Ok(false)
    }

    /// The value of an expression; what it asks on the way is answered.
    fn answer(
        &mut self,
        program: &Program,
        scope: &Scope<'_>,
        answers: &Answers,
        attestations: &mut Attestations<'a>,
        matched: &BTreeSet<String>,
    ) -> Result<Value, String> {
        for _ in 0..MOST_QUESTIONS {
            let value = program.evaluate(scope);
            let Some(question) = answers.take_open() else { return value.map_err(|EvaluationError(why)| why) };
            let answer = self.look_up(&question, attestations, matched);
            answers.add(question, answer);
        }
        Err(format!("it asks more than {MOST_QUESTIONS} questions about images"))
    }

    fn look_up(
        &mut self,
        question: &Question,
        attestations: &mut Attestations<'a>,
        matched: &BTreeSet<String>,
    ) -> Result<Json, String> {
        match question {
            Question::Signature { image, attestor } => {
                if !self.is_in_question(image, matched) {
                    return Ok(json!(0));
                }
                self.signatures.verify(self.policy, image, attestor).map(|is_signed| json!(i64::from(is_signed)))
            }
            Question::Attestation { image, attestation, attestor } => {
                if !self.is_in_question(image, matched) {
                    return Ok(json!(0));
                }
                let verified = attestations.verify(self.signatures, image, attestation, attestor)?;
                Ok(json!(i64::from(verified)))
            }
            Question::Payload { image, attestation } => attestations.payload(image, attestation),
            Question::ImageData { image } => self.signatures.image_data(image),
            Question::ScanReport { image } => {
                let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
                Ok(scan_report(image, &self.search.find(&reference)))
            }
        }
    }

    /// Whether an image that a function is asked about is one that the match rules take in. Any other counts as not
    /// verified.
    fn is_in_question(&self, image: &str, matched: &BTreeSet<String>) -> bool {
        let rules = &self.policy.images_matched;
        let has_rules = !rules.globs.is_empty() || !rules.expressions.is_empty();
        !has_rules || matched.contains(image) || rules.globs.iter().any(|glob| matching::matches_image(glob, image))
    }
}

fn at(expression: &Expression, why: &str) -> String {
    format!("{}: {why}", expression.path)
}

fn no_boolean(expression: &Expression, value: &Value) -> String {
    at(expression, &format!("it must give true or false, but gives {}", value.type_of()))
}

/// A scan report as rules in Rego see it.
fn scan_report(image: &str, report: &ScanReport) -> Json {
    json!({
        "ImageAndTag": image,
        "Status": report.status.name(),
        "Passed": report.status == ScanStatus::Accepted,
        "Reason": report.reason,
        "State": report.state.name(),
        "Digest": report.digest,
        "Source": report.source,
    })
}

/// The exemptions that hold now in a namespace.
fn exemptions(settings: &Settings, namespace: &str, now: Timestamp) -> Json {
    let holds = settings.exemptions.iter().filter(|exemption| {
        now <= exemption.expires
            && (exemption.namespaces.is_empty() || exemption.namespaces.iter().any(|own| own == namespace))
    });
    let entries = holds.map(|exemption| {
        json!({
            "vulnerabilities": exemption.vulnerabilities.iter().map(|pattern| pattern.as_str()).collect::<Vec<_>>(),
            "images": exemption.images.iter().map(|prefix| prefix.as_str()).collect::<Vec<_>>(),
            "namespaces": exemption.namespaces,
            "packages": exemption.packages,
            "reason": exemption.reason,
            "expires": exemption.expires.day(),
        })
    });
    Json::Array(entries.collect())
}

/// What a failed look-up comes to in a message.
fn failed(what: &str, failure: &HostFailure) -> String {
    format!("{what}: {failure}")
}
