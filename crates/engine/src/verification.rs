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
mod images;
mod matching;
mod questions;
mod signatures;

use crate::Timestamp;
use crate::decision::JudgedImage;
use crate::host::{Host, HostFailure, Resource};
use crate::image::{ImageReference, WorkloadImage};
use crate::instance::done_with;
use crate::message::cut;
use crate::report::{Field, ReportSearch, ScanReport};
use crate::request::AdmissionRequest;
use crate::settings::{Expression, FailureAction, NamedExpression, Settings, VerificationPolicy};
use attestations::Attestations;
use cel::Value;
use expression::{EvaluationError, Program, References, Scope, Time, map_of, value_of};
use images::{Images, not_looked_at, unpinned};
use questions::{Answers, MOST_QUESTIONS, Question};
use serde_json::{Map, Value as Json, json};
use signatures::Signatures;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Expressions that can't be evaluated and count as true, each with why.
    pub ignored: Vec<String>,
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
    /// What to tell whatever they say.
    pub(crate) warnings: Vec<String>,
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
    /// All images of the pod spec, in order; none for kinds without one.
    pub(crate) images: &'a [&'a WorkloadImage],
    /// Those of them that are judged: the others ran before.
    pub(crate) judged: &'a [JudgedImage],
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
    let time = Time::default();
    let mut said: Vec<(&VerificationPolicy, VerificationOutcome, Images)> = Vec::new();
    for policy in &settings.verification {
        if !matching::is_about(policy, subject.request, subject.object)
            || subject.is_accepted && !policy.verify_pre_scan_accepted
        {
            continue;
        }
        let mut verification = PolicyVerification {
            policy,
            subject,
            settings,
            host,
            time: &time,
            signatures: &mut signatures,
            search: &mut *search,
        };
        if let Some((outcome, images)) = verification.run() {
            said.push((policy, outcome, images));
        }
    }
    let unpinned = unpinned(&said);
    for (policy, outcome, images) in &mut said {
        if policy.verify_digest && outcome.failure.is_none() {
            let mut is_bare = |image: &&String| {
                ImageReference::parse(image).is_ok_and(|reference| {
                    let will_be = subject.is_pinned && !unpinned.contains(&reference);
                    reference.digest().is_none() && !(will_be && signatures.digest(&reference).is_ok())
                })
            };
            if let Some(image) = images.matched.difference(&images.exempt).find(|image| is_bare(image)) {
                let message = format!("image {} does not have a digest", cut(image, 256));
                outcome.failure = Some(VerificationFailure::Failed(message, Vec::new()));
            }
        }
    }
    let warnings = not_looked_at(subject, settings, &said);
    let outcomes = said.into_iter().map(|(_, outcome, _)| outcome).collect();
    Verified { outcomes, warnings, digests: signatures.into_digests(), unpinned }
}

/// One policy, asked about one request.
struct PolicyVerification<'a, 's, 'r> {
    policy: &'a VerificationPolicy,
    subject: Subject<'a>,
    settings: &'a Settings,
    host: &'a dyn Host,
    time: &'s Time,
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
            image_rules: policy.images_matched.expressions.iter().map(expression::read).collect::<Result<_, _>>()?,
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

    /// The names below one whose fields are known that expressions mention, `images.containers`, each with its last part.
    fn fields_of<'p>(&'p self, namespace: &'p str) -> BTreeMap<&'p str, &'p str> {
        self.references().flat_map(|references| references.fields_of(namespace)).collect()
    }
}

impl<'a> PolicyVerification<'a, '_, '_> {
    /// What the policy says, and its images; none when its conditions leave the request out.
    fn run(&mut self) -> Option<(VerificationOutcome, Images)> {
        let mut outcome = VerificationOutcome {
            name: self.policy.name.clone(),
            action: self.policy.action,
            failure: None,
            verified: BTreeMap::new(),
            annotations: BTreeMap::new(),
            ignored: Vec::new(),
        };
        let mut images = Images::default();
        match self.evaluate(&mut outcome, &mut images) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => self.note(error, &mut outcome),
        }
        Some((outcome, images))
    }

    /// Notes that something can't be told.
    fn note(&self, error: EvaluationError, outcome: &mut VerificationOutcome) {
        match error {
            EvaluationError::Failed(why) if self.policy.ignores_errors => outcome.ignored.push(why),
            EvaluationError::Failed(why) | EvaluationError::Limit(why) => {
                outcome.failure = Some(VerificationFailure::Error(why));
            }
        }
    }

    /// Whether the policy is about the request; what it says is noted.
    #[inline(never)]
    fn evaluate(&mut self, outcome: &mut VerificationOutcome, images: &mut Images) -> Result<bool, EvaluationError> {
        let policy = self.policy;
        // Settings were compiled when the policy was deployed, so that these are hardly ever wrong.
        let programs = Programs::read(policy)?;
        let mut asking = Asking { answers: Answers::default(), attestations: Attestations::new(policy) };
        let mut scope = self.scope(&programs, &asking.answers)?;
        for (condition, program) in policy.conditions.iter().zip(&programs.conditions) {
            match self.answer(&condition.expression, program, &scope, &mut asking, images)? {
                Value::Bool(true) => {}
                Value::Bool(false) => return Ok(false),
                other => return Err(no_boolean(&condition.expression, &other)),
            }
        }
        let lists = self.name_images(&programs, &mut scope, &mut asking, images)?;
        let verifications = programs.verifications.iter().map(|(program, _)| &program.references);
        for references in verifications.chain(programs.variables.iter().map(|program| &program.references)) {
            if references.names.contains("images") {
                images.looked_at.extend(lists.values().flatten().cloned());
            }
            for (_, name) in references.fields_of("images") {
                images.looked_at.extend(lists.get(name).into_iter().flatten().cloned());
            }
        }
        let unset = self.set_variables(&programs, &mut scope, &mut asking, images)?;
        for (index, (verification, (program, message))) in
            policy.verifications.iter().zip(&programs.verifications).enumerate()
        {
            let value = self.answer(&verification.expression, program, &scope, &mut asking, images);
            let value = value.and_then(|value| match value {
                Value::Bool(value) => Ok(value),
                other => Err(no_boolean(&verification.expression, &other)),
            });
            match value {
                Ok(true) => {}
                Ok(false) => {
                    let computed =
                        message.as_ref().zip(verification.message_expression.as_ref()).and_then(|(program, own)| {
                            match self.answer(own, program, &scope, &mut asking, images) {
                                Ok(Value::String(text)) if !text.trim().is_empty() => Some(cut(text.trim(), 512)),
                                _ => None,
                            }
                        });
                    let text = computed
                        .or_else(|| verification.message.clone())
                        .unwrap_or_else(|| format!("CEL expression validation failed at index {index}"));
                    let reasons = self.signatures.reasons(policy).chain(asking.attestations.reasons()).collect();
                    outcome.failure = Some(VerificationFailure::Failed(text, reasons));
                    break;
                }
                Err(error) => {
                    let of_variable = |name: &String| unset.get(name.strip_prefix("variables.")?).cloned();
                    // What went over a limit did so, whatever else is missing.
                    let error = match error {
                        EvaluationError::Failed(_) => {
                            program.references.names.iter().find_map(of_variable).unwrap_or(error)
                        }
                        limit @ EvaluationError::Limit(_) => limit,
                    };
                    let is_fatal = !policy.ignores_errors || matches!(error, EvaluationError::Limit(_));
                    self.note(error, outcome);
                    // What is ignored is that this one can't be told; the others still can.
                    if is_fatal {
                        break;
                    }
                }
            }
        }
        for (annotation, program) in policy.audit_annotations.iter().zip(&programs.annotations) {
            let text = match self.answer(&annotation.expression, program, &scope, &mut asking, images) {
                Ok(Value::String(text)) => cut(&text, 512),
                Ok(Value::Null) => continue,
                Ok(_) => "error: the expression gives no string".to_owned(),
                Err(why) => format!("error: {}", cut(&why.to_string(), 300)),
            };
            outcome.annotations.insert(annotation.name.clone(), text);
        }
        outcome.verified = self.signatures.verified(policy);
        asking.attestations.add_verified(&mut outcome.verified);
        done_with((programs, scope, asking));
        Ok(true)
    }

    /// Evaluates the variables that are mentioned. One without a value is an error of whoever needs it.
    #[inline(never)]
    fn set_variables(
        &mut self,
        programs: &Programs,
        scope: &mut Scope<'_>,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<BTreeMap<String, EvaluationError>, EvaluationError> {
        let mut values = BTreeMap::new();
        let mut unset = BTreeMap::new();
        for (variable, program) in self.policy.variables.iter().zip(&programs.variables) {
            let name = format!("variables.{}", variable.name);
            if !programs.mentions(&name) && !programs.mentions("variables") {
                continue;
            }
            match self.answer(&variable.expression, program, scope, asking, images) {
                Ok(value) => {
                    scope.set(&name, value.clone());
                    values.insert(variable.name.as_str(), value);
                }
                Err(limit @ EvaluationError::Limit(_)) => return Err(limit),
                Err(error) => {
                    unset.insert(variable.name.clone(), error);
                }
            }
        }
        if programs.mentions("variables") {
            scope.set("variables", map_of(values.into_iter()));
        }
        Ok(unset)
    }

    /// A scope with the variables that the policy's expressions mention, but for its images and its own variables.
    #[inline(never)]
    fn scope(&mut self, programs: &Programs, answers: &Answers) -> Result<Scope<'static>, EvaluationError> {
        let mut scope = Scope::new(programs.references(), self.time);
        let functions = programs.references().flat_map(|references| references.functions.iter().map(String::as_str));
        answers.add_functions(&mut scope, functions.collect::<BTreeSet<_>>().into_iter());
        let Subject { request, object, now, .. } = self.subject;
        self.set_object(object, programs, &mut scope)?;
        if programs.mentions("oldObject") {
            scope.set("oldObject", request.old_object().as_ref().map_or(Value::Null, value_of));
        }
        if programs.mentions("namespaceObject") {
            let name = self.subject.namespace;
            let namespace = Resource { api_version: "v1", kind: "Namespace", namespace: "", name };
            let read = self.host.whole_resource(&namespace).and_then(|document| document.read::<Json>());
            let read = read.map_err(|failure| format!("the namespace `{}` can't be read: {failure}", cut(name, 63)))?;
            if read.pointer("/metadata/name").and_then(Json::as_str) != Some(name) {
                return Err(
                    format!("the namespace `{}` can't be read: the host gave another object", cut(name, 63)).into()
                );
            }
            scope.set("namespaceObject", value_of(&read));
        }
        if programs.mentions("exemptions") {
            scope.set("exemptions", value_of(&exemptions(self.settings, self.subject.namespace, now)));
        }
        // Attestors and attestations are known to functions by their names.
        let attestations = || self.policy.attestations.iter().map(|attestation| attestation.name.as_str());
        let attestors = || self.policy.attestor_names.iter().map(String::as_str);
        for (key, name) in programs.fields_of("attestors") {
            if self.policy.attestor_names.contains(name) {
                scope.set(key, Value::from(name));
            }
        }
        for (key, name) in programs.fields_of("attestations") {
            if attestations().any(|own| own == name) {
                scope.set(key, Value::from(name));
            }
        }
        if programs.mentions("attestors") {
            scope.set("attestors", map_of(attestors().map(|name| (name, Value::from(name)))));
        }
        if programs.mentions("attestations") {
            scope.set("attestations", map_of(attestations().map(|name| (name, Value::from(name)))));
        }
        Ok(scope)
    }

    /// Lets expressions see an object as the request's.
    fn set_object(&self, object: &Json, programs: &Programs, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        if programs.mentions("object") {
            scope.set("object", value_of(object));
        }
        if programs.mentions("request") {
            let mut whole: Map<String, Json> =
                serde_json::from_str(self.subject.request.raw()).map_err(|error| error.to_string())?;
            whole.insert("object".to_owned(), object.clone());
            scope.set("request", value_of(&Json::Object(whole)));
        }
        Ok(())
    }

    /// The value of an expression; what it asks on the way is answered.
    #[inline(never)]
    fn answer(
        &mut self,
        expression: &Expression,
        program: &Program,
        scope: &Scope<'_>,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<Value, EvaluationError> {
        let steps = scope.steps();
        let mut asked = 0;
        loop {
            // What is evaluated again is counted once.
            scope.set_steps(steps);
            let value = program.evaluate(scope);
            let (questions, is_unsure) = asking.answers.take_open();
            let mut is_as_assumed = questions.is_empty() || !is_unsure;
            for question in questions {
                asked += 1;
                if asked > MOST_QUESTIONS {
                    let why = format!("it asks more than {MOST_QUESTIONS} questions about images");
                    return Err(EvaluationError::Limit(why).at(&expression.path));
                }
                let answer = self.look_up(&question, asking, images);
                let is_other = question.assumed().is_none_or(|assumed| answer != Ok(assumed));
                asking.answers.add(question, answer);
                // What it came to afterwards it may not come to now.
                if is_other {
                    is_as_assumed = false;
                    break;
                }
            }
            if is_as_assumed {
                return value.map_err(|why| why.at(&expression.path));
            }
        }
    }

    #[inline(never)]
    fn look_up(&mut self, question: &Question, asking: &mut Asking<'a>, images: &mut Images) -> Result<Value, String> {
        let yes_or_no = |is: bool| Value::Int(i64::from(is));
        match question {
            Question::Signature { image, .. } | Question::Attestation { image, .. }
                if !self.is_in_question(image, images) =>
            {
                Ok(yes_or_no(false))
            }
            Question::Signature { image, .. } if images.exempt.contains(image) => Ok(yes_or_no(true)),
            Question::Signature { image, attestor } => {
                images.looked_at.insert(image.clone());
                self.signatures.verify(self.policy, image, attestor).map(yes_or_no)
            }
            Question::Attestation { image, .. } if images.exempt.contains(image) => Ok(yes_or_no(true)),
            Question::Attestation { image, attestation, attestor } => {
                images.looked_at.insert(image.clone());
                asking.attestations.verify(self.signatures, image, attestation, attestor).map(yes_or_no)
            }
            Question::Payload { image, attestation } => {
                if images.exempt.contains(image) {
                    for attestor in &self.policy.attestor_names {
                        // Who doesn't vouch for it has nothing to say.
                        let _ = asking.attestations.verify(self.signatures, image, attestation, attestor);
                    }
                }
                asking.attestations.payload(image, attestation).map(|json| value_of(&json))
            }
            Question::ImageData { image } => self.signatures.image_data(image).map(|json| value_of(&json)),
            Question::ScanReport { image } => {
                let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
                // The digest that was verified is the one whose report is looked for.
                if let Ok(digest) = self.signatures.digest(&reference) {
                    self.search.know(BTreeMap::from([(reference.clone(), digest)]));
                }
                Ok(scan_report(image, &self.search.find(&reference)))
            }
        }
    }
}

/// What the expressions of one policy asked.
struct Asking<'a> {
    answers: Answers,
    attestations: Attestations<'a>,
}

fn no_boolean(expression: &Expression, value: &Value) -> EvaluationError {
    EvaluationError::Failed(format!("it must give true or false, but gives {}", value.type_of())).at(&expression.path)
}

/// A scan report as rules in Rego see it, without the scanner's own.
fn scan_report(image: &str, report: &ScanReport) -> Value {
    let fields = report.fields(image).into_iter().map(|(key, field)| match field {
        Field::Text(text) => (key, Value::from(text)),
        Field::Flag(flag) => (key, Value::Bool(flag)),
        Field::None => (key, Value::Null),
    });
    map_of(fields)
}

/// The exemptions that hold now in a namespace.
fn exemptions(settings: &Settings, namespace: &str, now: Timestamp) -> Json {
    let holds =
        settings.exemptions.iter().filter(|exemption| now <= exemption.expires && exemption.is_about(namespace));
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
