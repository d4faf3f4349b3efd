//! Image verification: policies written in CEL about an image's signatures and attestations.
//!
//! It runs between pre-scan and the scan. The digest that was signed is the one that is scanned and pinned. The report of an image
//! that failed isn't looked up.
//!
//! ```text
//! policy ── resource rules, conditions ── images ── expressions ── questions ── signatures ─── (crate) attestors
//!                                                                         └──── attestations ──┘
//! ```

mod attestations;
mod beside;
pub(crate) mod check;
mod images;
mod labels;
mod matching;
mod questions;
mod record;
mod signatures;
mod unchanged;

use crate::context::{RequestContext, ReviewedObject};
use crate::judged::JudgedImage;
use crate::pin::KeptPin;
use attestations::Attestations;
use cel::Value;
use image_admission_attestors::Verifier;
use image_admission_cel::expression::{
    EvaluationError, Program, References, Scope, Time, map_of, time_value, value_of,
};
use image_admission_host::{HostFailure, Resource};
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{ImageReference, WorkloadImage};
use image_admission_judgement::reason::{UnknownPackages, Unverified};
use image_admission_judgement::report::{Field, ReportSearch, ScanReport};
use image_admission_judgement::resolve::Digests;
use image_admission_settings::{
    ExistingImages, Expression, FailureAction, NamedExpression, Settings, VerificationPolicy,
};
use image_admission_untrusted::memory::{AnyJson, read_value};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use images::{Images, not_looked_at, unpinned};
pub(crate) use labels::by_label;
pub use labels::reads_labels;
use matching::is_asked_of_new_images_alone;
use questions::{Answers, MAX_QUESTIONS, Question};
use record::Evaluation;
pub use record::{CallRecord, ErrorKind, ErrorRecord, ExpressionRecord, PolicyRecord};
pub(crate) use record::{Nobody, Record, Recorder};
use serde_json::{Value as Json, json};
use signatures::Signatures;
use std::collections::{BTreeMap, BTreeSet};
pub(crate) use unchanged::leaves_images_alone;

/// The most images and attestations in a policy's message.
const UNVERIFIED_SHOWN: usize = 10;

/// The result of a policy of `imageVerification` for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationOutcome {
    /// Its name.
    pub name: String,
    /// What happens to a request that fails it.
    pub action: FailureAction,
    /// Why it fails.
    pub failure: Option<VerificationFailure>,
    /// By image, as expressions named it, the attestors that signed it or an attestation of it.
    pub verified: BTreeMap<String, BTreeSet<String>>,
    /// Its entries for the audit log.
    pub annotations: BTreeMap<String, String>,
    /// What couldn't be requested and counts as valid, each with the reason.
    pub ignored: Vec<String>,
}

/// Why a policy fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationFailure {
    /// Its expression is false: its message, and what is missing.
    Failed(String, Vec<Unverified>),
    /// That is unknown.
    Error(String),
}

impl VerificationOutcome {
    /// Whether it rejects the request.
    #[must_use]
    pub fn rejects(&self) -> bool {
        self.action == FailureAction::Enforce && self.failure.is_some()
    }

    /// `Policy signed failed: …`; none if it holds.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let name = cut(&self.name, 64);
        match self.failure.as_ref()? {
            VerificationFailure::Failed(message, unverified) => {
                let lines: String =
                    unverified.iter().take(UNVERIFIED_SHOWN).map(|unverified| format!("\n{unverified}")).collect();
                Some(format!("Policy {name} failed: {message}{lines}"))
            }
            VerificationFailure::Error(why) => Some(format!("Policy {name} error: {why}")),
        }
    }
}

/// The result of verification for a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verified {
    /// The result of each policy that is about the request.
    pub(crate) outcomes: Vec<VerificationOutcome>,
    /// Warnings, whatever the results are.
    pub(crate) warnings: Vec<String>,
    /// The digests of images that were resolved, so that nothing resolves them again.
    pub(crate) digests: BTreeMap<ImageReference, String>,
    /// Images that stay as they are because a policy about them says so.
    pub(crate) unpinned: BTreeSet<ImageReference>,
}

/// The request as verification sees it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) context: RequestContext<'a>,
    pub(crate) reviewed: &'a ReviewedObject,
    /// All images of the pod spec, in order; empty for kinds without one.
    pub(crate) images: &'a [&'a WorkloadImage],
    /// Those that are new, and judged. The others ran before.
    pub(crate) judged: &'a [JudgedImage],
    /// Whether the request updates an object without a change that could name an image.
    pub(crate) is_unchanged: bool,
    /// Whether pre-scan accepts the request as a whole.
    pub(crate) is_accepted: bool,
    /// Whether its images are pinned, by this request or by the requests for its Pods.
    pub(crate) is_pinned: bool,
    /// Images that keep their digests.
    pub(crate) kept: &'a [KeptPin],
}

impl Subject<'_> {
    /// Whether an image is pinned wherever the pod spec names it: one that ran before stays as it is, and elsewhere nothing is written.
    /// Of a template the Pods are pinned by their own requests.
    fn is_written(&self, image: &str) -> bool {
        let is_template = self.reviewed.workload.is_some_and(|workload| workload != WorkloadKind::Pod);
        let is_written = |place: &&WorkloadImage| {
            let is_here = |other: &WorkloadImage| other.pointer == place.pointer;
            is_template
                || self.judged.iter().any(|judged| is_here(&judged.image))
                || self.kept.iter().any(|kept| is_here(&kept.image))
        };
        let mut places = self.images.iter().copied().filter(|place| place.text == image).peekable();
        places.peek().is_some() && places.all(|place| is_written(&place))
    }

    /// Whether the scan phase would look up the image's report: such an image is pinned whatever policies say.
    fn is_scanned(&self, reference: &ImageReference) -> bool {
        !self.is_accepted && self.judged.iter().any(|judged| judged.reference == *reference)
    }
}

/// Evaluates every policy that is about the request. `digests` are those that references were resolved to already; the recorder
/// gets the results of the expressions.
pub(crate) fn verify<'a>(
    subject: Subject<'a>,
    digests: Digests,
    verifier: &'a Verifier<'a>,
    search: &mut ReportSearch<'_>,
    recorder: &'a dyn Recorder,
) -> Verified {
    let RequestContext { settings, host, .. } = subject.context;
    let mut signatures = Signatures::new(settings, host, verifier, digests);
    let mut said: Vec<(&VerificationPolicy, VerificationOutcome, Images)> = Vec::new();
    for policy in &settings.verification {
        if let Some(why) = left_out(policy, subject) {
            recorder.leaves_out(policy, why);
            continue;
        }
        let mut verification = PolicyVerification {
            policy,
            subject,
            time: verifier.time(),
            signatures: &mut signatures,
            search: &mut *search,
            recorder,
        };
        match verification.run() {
            Ok((outcome, images)) => said.push((policy, outcome, images)),
            Err(why) => recorder.leaves_out(policy, why),
        }
    }
    let unpinned = unpinned(&said);
    for (policy, outcome, images) in &mut said {
        if policy.verify_digest && outcome.failure.is_none() {
            let is_pinned = |reference: &ImageReference| subject.is_pinned && !settings.pin.excludes(reference);
            let is_kept = |reference: &ImageReference| {
                is_pinned(reference) && subject.kept.iter().any(|kept| kept.image.reference.as_ref() == Ok(reference))
            };
            let mut is_bare = |image: &&String| {
                ImageReference::parse(image).is_ok_and(|reference| {
                    let will_be =
                        is_pinned(&reference) && (subject.is_scanned(&reference) || !unpinned.contains(&reference));
                    let mut has_digest = || is_kept(&reference) || will_be && signatures.digest(&reference).is_ok();
                    reference.digest().is_none() && !(subject.is_written(image) && has_digest())
                })
            };
            if let Some(image) = images.matched.iter().find(|image| is_bare(image)) {
                let is_excluded = ImageReference::parse(image).is_ok_and(|reference| settings.pin.excludes(&reference));
                let why = if is_excluded {
                    ", and `pin.exclude` leaves it unpinned; write its digest, or set `validationConfigurations.verifyDigest: false` for it"
                } else {
                    ""
                };
                let message = format!("image {} does not have a digest{why}", cut(image, 256));
                outcome.failure = Some(VerificationFailure::Failed(message, Vec::new()));
            }
        }
    }
    let warnings = not_looked_at(subject, &said);
    let outcomes = said.into_iter().map(|(_, outcome, _)| outcome).collect();
    Verified { outcomes, warnings, digests: signatures.into_digests(), unpinned }
}

/// Why a policy isn't about the request, whatever its conditions say.
fn left_out(policy: &VerificationPolicy, subject: Subject<'_>) -> Option<&'static str> {
    if !matching::is_about(policy, subject.context.request, &subject.reviewed.object) {
        return Some(match policy.resource_rules.is_empty() {
            true => "the kind has no pod spec, and the policy has no resource rules",
            false => "none of its resource rules takes the request in",
        });
    }
    // Pre-scan decided nothing about existing images.
    let judges_existing = policy.existing_images == ExistingImages::Judge;
    if subject.is_accepted && !policy.verify_pre_scan_accepted && !judges_existing {
        return Some("pre-scan accepts the request, and `verifyPreScanAccepted` isn't set");
    }
    // Before any condition: an error in it would block an update without new images.
    let may_name_others = !policy.images.is_empty() || subject.reviewed.workload.is_none();
    let is_unchanged =
        subject.is_unchanged && policy.images.is_empty() && !unchanged::reads_what_names_no_image(policy);
    let brings_nothing = is_unchanged || subject.judged.is_empty() && !may_name_others;
    (brings_nothing && is_asked_of_new_images_alone(policy, subject.context.request)).then_some(NO_NEW_IMAGE)
}

/// Why a policy isn't evaluated for an update.
const NO_NEW_IMAGE: &str = "the update brings no new image";

/// One policy, evaluated for one request.
struct PolicyVerification<'a, 's, 'r> {
    policy: &'a VerificationPolicy,
    subject: Subject<'a>,
    time: &'s Time,
    signatures: &'s mut Signatures<'a>,
    search: &'s mut ReportSearch<'r>,
    recorder: &'a dyn Recorder,
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
            named.iter().map(|named| read_expression(&named.expression)).collect()
        };
        let verifications = policy.verifications.iter().map(|verification| {
            let message = verification.message_expression.as_ref().map(read_expression).transpose()?;
            Ok((read_expression(&verification.expression)?, message))
        });
        Ok(Self {
            image_rules: policy.images_matched.expressions.iter().map(read_expression).collect::<Result<_, _>>()?,
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

    /// The names of fields that expressions may read from a document.
    fn words(&self) -> BTreeSet<String> {
        let verifications =
            self.verifications.iter().flat_map(|(program, message)| std::iter::once(program).chain(message));
        let others = [&self.variables, &self.annotations].into_iter().flatten();
        verifications.chain(others).flat_map(Program::words).collect()
    }

    fn mentions(&self, name: &str) -> bool {
        self.references().any(|references| references.names.contains(name))
    }

    /// The names that expressions mention below a namespace such as `images`: `images.containers`, each with its last part.
    fn fields_of<'p>(&'p self, namespace: &'p str) -> BTreeMap<&'p str, &'p str> {
        self.references().flat_map(|references| references.fields_of(namespace)).collect()
    }
}

impl<'a> PolicyVerification<'a, '_, '_> {
    /// The policy's result, and its images.
    ///
    /// # Errors
    /// Why it isn't about the request.
    fn run(&mut self) -> Result<(VerificationOutcome, Images), &'static str> {
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
            Ok(None) => {}
            Ok(Some(left_out)) => return Err(left_out),
            Err(error) => outcome.failure = Some(VerificationFailure::Error(error.to_string())),
        }
        Ok((outcome, images))
    }

    /// Why the policy isn't about the request, if it isn't. Its result is noted.
    ///
    /// An ignored outage affects nothing else. Signatures and attestations that can't be checked count as valid. If anything else
    /// of an image can't be requested, everything is evaluated again without that image.
    fn evaluate(
        &mut self,
        outcome: &mut VerificationOutcome,
        images: &mut Images,
    ) -> Result<Option<&'static str>, EvaluationError> {
        let policy = self.policy;
        // Settings were compiled when the policy was deployed, so this hardly ever fails.
        let programs = Programs::read(policy)?;
        let words = if policy.attestations.is_empty() { BTreeSet::new() } else { programs.words() };
        let mut asking = Asking {
            answers: Answers::heard_by(self.recorder.listener()),
            attestations: Attestations::new(policy, words),
            ignored: BTreeSet::new(),
            unasked: BTreeMap::new(),
            left_out: BTreeSet::new(),
            no_namespace: None,
        };
        let left_out = loop {
            match self.try_to_evaluate(&programs, &mut asking, outcome, images) {
                Err(EvaluationError::Outage { why, image: Some(image) })
                    if policy.ignores_errors
                        && images.matched.contains(&image)
                        && !asking.left_out.contains(&image) =>
                {
                    asking.ignored.insert(format!("{why}: the policy is evaluated without '{}'", cut(&image, 256)));
                    asking.left_out.insert(image);
                }
                other => break other,
            }
        };
        outcome.ignored = std::mem::take(&mut asking.ignored).into_iter().collect();
        outcome.verified = self.signatures.verified(policy);
        asking.attestations.add_verified(&mut outcome.verified);
        left_out
    }

    /// The same once.
    ///
    /// # Errors
    /// An evaluation error. The caller may ignore an outage that is about an image.
    fn try_to_evaluate(
        &mut self,
        programs: &Programs,
        asking: &mut Asking<'a>,
        outcome: &mut VerificationOutcome,
        images: &mut Images,
    ) -> Result<Option<&'static str>, EvaluationError> {
        let policy = self.policy;
        self.recorder.begins(policy);
        let mut scope = self.scope(programs, asking)?;
        for (condition, program) in policy.conditions.iter().zip(&programs.conditions) {
            match self.answer(&condition.expression, program, &scope, asking, images) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => return Ok(Some("one of its conditions is false")),
                Ok(other) => return Err(self.no_boolean(&condition.expression, &other)),
                Err(error) => self.ignore(error, asking)?,
            }
        }
        let Some(lists) = self.name_images(programs, &mut scope, asking, images)? else {
            return Ok(Some(NO_NEW_IMAGE));
        };
        let verifications = programs.verifications.iter().map(|(program, _)| &program.references);
        for references in verifications.chain(programs.variables.iter().map(|program| &program.references)) {
            if references.names.contains("images") {
                images.looked_at.extend(lists.values().flatten().cloned());
            }
            for (_, name) in references.fields_of("images") {
                images.looked_at.extend(lists.get(name).into_iter().flatten().cloned());
            }
        }
        let unset = self.set_variables(programs, &mut scope, asking, images)?;
        for (index, (verification, (program, message))) in
            policy.verifications.iter().zip(&programs.verifications).enumerate()
        {
            let value = self.answer(&verification.expression, program, &scope, asking, images);
            let value = value.and_then(|value| match value {
                Value::Bool(value) => Ok(value),
                other => Err(self.no_boolean(&verification.expression, &other)),
            });
            match value {
                Ok(true) => {}
                Ok(false) => {
                    let computed =
                        message.as_ref().zip(verification.message_expression.as_ref()).and_then(|(program, own)| {
                            match self.answer(own, program, &scope, asking, images) {
                                Ok(Value::String(text)) if !text.trim().is_empty() => Some(cut(text.trim(), 512)),
                                _ => None,
                            }
                        });
                    let text = computed
                        .or_else(|| verification.message.clone())
                        .unwrap_or_else(|| format!("CEL expression validation failed at index {index}"));
                    let is_rejected = policy.action == FailureAction::Enforce;
                    let mut unverified = self.signatures.unverified(policy, is_rejected);
                    unverified.extend(asking.attestations.reasons().map(Unverified::Attestation));
                    outcome.failure = Some(VerificationFailure::Failed(text, unverified));
                    break;
                }
                // An exceeded limit stays an error, whatever else is missing.
                Err(EvaluationError::Failed(why)) => {
                    let missing = program.references.names.iter().filter_map(|name| name.strip_prefix("variables."));
                    let missing = missing.filter_map(|name| unset.get(name));
                    // Of several errors, one that is no outage decides.
                    let error = missing.min_by_key(|error| error.is_outage()).cloned();
                    self.ignore(error.unwrap_or(EvaluationError::Failed(why)), asking)?;
                }
                Err(error) => self.ignore(error, asking)?,
            }
        }
        for (annotation, program) in policy.audit_annotations.iter().zip(&programs.annotations) {
            let text = match self.answer(&annotation.expression, program, &scope, asking, images) {
                Ok(Value::String(text)) => cut(&text, 512),
                Ok(Value::Null) => continue,
                Ok(_) => "error: the expression gives no string".to_owned(),
                Err(why) => format!("error: {}", cut(&why.to_string(), 300)),
            };
            outcome.annotations.insert(annotation.name.clone(), text);
        }
        Ok(None)
    }

    /// Notes that an expression counts as true because the cluster couldn't be asked.
    ///
    /// # Errors
    /// The error, if it isn't ignored.
    fn ignore(&self, error: EvaluationError, asking: &mut Asking<'a>) -> Result<(), EvaluationError> {
        match error {
            EvaluationError::Outage { why, image: None } if self.policy.ignores_errors => {
                asking.ignored.insert(why);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Evaluates the variables that are mentioned. One without a value is an error of the expression that uses it.
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

    /// A scope with the variables that the policy's expressions mention, except for its images and its own variables.
    fn scope(&mut self, programs: &Programs, asking: &mut Asking<'a>) -> Result<Scope<'static>, EvaluationError> {
        let mut scope = Scope::new(programs.references(), self.time);
        let functions = programs.references().flat_map(|references| references.functions.iter().map(String::as_str));
        asking.answers.add_functions(&mut scope, functions.collect::<BTreeSet<_>>().into_iter());
        let Subject { context: RequestContext { request, settings, now, .. }, reviewed, .. } = self.subject;
        self.set_object(&reviewed.object, programs, &mut scope)?;
        if programs.mentions("oldObject") {
            scope.set("oldObject", request.old_object().as_ref().map_or(Value::Null, value_of));
        }
        if programs.mentions("namespaceObject") {
            match self.namespace_object() {
                Ok(namespace) => scope.set("namespaceObject", namespace),
                Err(outage) if outage.is_outage() && self.policy.ignores_errors => asking.no_namespace = Some(outage),
                Err(error) => return Err(error),
            }
        }
        if programs.mentions("now") {
            scope.set("now", time_value(now));
        }
        if programs.mentions("exemptions") {
            scope.set("exemptions", value_of(&exemptions(settings, &reviewed.namespace, now)));
        }
        // Functions know attestors and attestations by their names.
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

    /// The namespace as the cluster has it.
    fn namespace_object(&self) -> Result<Value, EvaluationError> {
        let name = &self.subject.reviewed.namespace;
        let what = || format!("the namespace `{}` can't be read", cut(name, 63));
        let namespace = Resource { api_version: "v1", kind: "Namespace", namespace: "", name };
        let read = self.subject.context.host.whole_resource(&namespace).and_then(|document| document.read::<AnyJson>());
        let AnyJson(read) = read.map_err(|failure| cluster_failed(&what(), &failure))?;
        if read.pointer("/metadata/name").and_then(Json::as_str) != Some(name) {
            return Err(format!("{}: the host gave another object", what()).into());
        }
        Ok(value_of(&read))
    }

    /// Makes an object the request's object for expressions.
    fn set_object(&self, object: &Json, programs: &Programs, scope: &mut Scope<'_>) -> Result<(), EvaluationError> {
        if programs.mentions("object") {
            scope.set("object", value_of(object));
        }
        if programs.mentions("request") {
            let mut whole = read_value(self.subject.context.request.raw()).map_err(|error| error.to_string())?;
            if let Some(request) = whole.as_object_mut() {
                request.insert("object".to_owned(), object.clone());
            }
            scope.set("request", value_of(&whole));
        }
        Ok(())
    }

    /// The value of an expression; its questions are answered on the way.
    fn answer(
        &mut self,
        expression: &Expression,
        program: &Program,
        scope: &Scope<'_>,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<Value, EvaluationError> {
        let value = self.find_answer(expression, program, scope, asking, images);
        self.recorder.evaluated(&Evaluation { expression, program, scope, image: None, value: &value });
        value
    }

    fn find_answer(
        &mut self,
        expression: &Expression,
        program: &Program,
        scope: &Scope<'_>,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<Value, EvaluationError> {
        if let Some(outage) =
            asking.no_namespace.as_ref().filter(|_| program.references.names.contains("namespaceObject"))
        {
            return Err(outage.clone().at(&expression.path));
        }
        let steps = scope.steps();
        let mut asked = 0;
        loop {
            // Repeated evaluations are counted once.
            scope.set_steps(steps);
            self.recorder.forgets_calls();
            let value = program.evaluate(scope);
            let outages = asking.answers.take_outages();
            let (questions, is_unsure) = asking.answers.take_open();
            let mut is_as_assumed = questions.is_empty() || !is_unsure;
            for question in questions {
                asked += 1;
                if asked > MAX_QUESTIONS {
                    let why = format!("it asks more than {MAX_QUESTIONS} questions about images");
                    return Err(EvaluationError::Limit(why).at(&expression.path));
                }
                let mut answer = self.look_up(&question, asking, images);
                if let (Err(EvaluationError::Outage { why, .. }), Some(assumed), true) =
                    (&answer, question.assumed(), self.policy.ignores_errors)
                {
                    asking.count_as_verified(&question, &format!("{}: {why}", expression.path));
                    answer = Ok(assumed);
                }
                let is_other = question.assumed().is_none_or(|assumed| answer != Ok(assumed));
                let is_taken_back = asking.answers.add(question, answer);
                // Later questions may not come up again.
                if is_other || is_taken_back {
                    is_as_assumed = false;
                    break;
                }
            }
            if is_as_assumed {
                let value = value.map_err(|error| match error {
                    EvaluationError::Failed(why) => match outages.into_iter().find(|(outage, _)| *outage == why) {
                        Some((why, image)) => EvaluationError::Outage { why, image: Some(image) },
                        None => EvaluationError::Failed(why),
                    },
                    other => other,
                });
                return value.map_err(|why| self.told(why, expression));
            }
        }
    }

    /// The error of an expression that is neither true nor false.
    fn no_boolean(&self, expression: &Expression, value: &Value) -> EvaluationError {
        self.wrong(expression, format!("it must give true or false, but gives {}", value.type_of()))
    }

    /// The error of an expression in a message: for a request about a Secret, without its contents.
    fn told(&self, why: EvaluationError, expression: &Expression) -> EvaluationError {
        let is_secret = self.subject.context.request.is_about_a_secret();
        let why = if is_secret { why.without_values() } else { why };
        why.at(&expression.path)
    }

    /// The error of an expression with a value of the wrong type.
    fn wrong(&self, expression: &Expression, why: String) -> EvaluationError {
        let error = EvaluationError::Failed(why).at(&expression.path);
        self.recorder.failed(expression, &error);
        error
    }

    fn look_up(
        &mut self,
        question: &Question,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<Value, EvaluationError> {
        let yes_or_no = |is: bool| Value::Int(i64::from(is));
        match question {
            Question::Signature { image, .. } | Question::Attestation { image, .. }
                if images.exempt.contains(image) =>
            {
                Ok(yes_or_no(true))
            }
            Question::Signature { image, .. } | Question::Attestation { image, .. }
                if !self.is_in_question(image, images) =>
            {
                Ok(yes_or_no(false))
            }
            Question::Signature { image, attestor } => {
                images.looked_at.insert(image.clone());
                self.signatures.verify(self.policy, image, attestor).map(yes_or_no)
            }
            Question::Attestation { image, attestation, attestor } => {
                images.looked_at.insert(image.clone());
                asking.attestations.verify(self.signatures, image, attestation, attestor).map(yes_or_no)
            }
            Question::Payload { image, attestation } => {
                let mut outage = asking.unasked.get(&(image.clone(), attestation.clone())).cloned();
                if images.exempt.contains(image) {
                    for attestor in &self.policy.attestor_names {
                        // Without a verified attestation there is nothing to read.
                        let verified = asking.attestations.verify(self.signatures, image, attestation, attestor);
                        outage = verified.err().filter(EvaluationError::is_outage).or(outage);
                    }
                }
                let payload = asking.attestations.payload(image, attestation).map(|json| value_of(&json));
                payload.map_err(|why| outage.unwrap_or(EvaluationError::Failed(why)))
            }
            Question::ImageData { image } => self.signatures.image_data(image).map(|json| value_of(&json)),
            Question::Configurations { image } => {
                let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
                let digest = self.signatures.digest(&reference)?;
                self.search.know(BTreeMap::from([(reference.clone(), digest)]), std::iter::empty());
                let told = self.search.configurations(&reference);
                let told = told.map_err(|unknown| match unknown.failure() {
                    Some(failure) => self.signatures.registry_failed(reference.host(), failure, unknown.to_string()),
                    None => EvaluationError::Failed(unknown.to_string()),
                })?;
                Ok(value_of(&told))
            }
            Question::Packages { image } => {
                let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
                let digest = self.signatures.digest(&reference)?;
                self.search.know(BTreeMap::from([(reference.clone(), digest)]), std::iter::empty());
                match self.search.packages(&reference) {
                    Ok(told) => Ok(value_of(&told)),
                    Err(UnknownPackages::Unresolved(unresolved)) => {
                        Err(self.signatures.unresolved(&reference, &unresolved))
                    }
                    Err(unknown) if unknown.is_outage() => {
                        Err(EvaluationError::Outage { why: unknown.to_string(), image: None })
                    }
                    Err(unknown) => Err(EvaluationError::Failed(unknown.to_string())),
                }
            }
            Question::ScanReport { image } => {
                let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
                // The verified digest is the one whose report is looked up.
                if let Ok(digest) = self.signatures.digest(&reference) {
                    self.search.know(BTreeMap::from([(reference.clone(), digest)]), std::iter::empty());
                }
                Ok(scan_report(image, &self.search.find(&reference)))
            }
        }
    }
}

/// The answers to the expressions of one policy, and its ignored outages.
struct Asking<'a> {
    answers: Answers,
    attestations: Attestations<'a>,
    /// The ignored outages, in words.
    ignored: BTreeSet<String>,
    /// The attestations that count as verified because they can't be checked, by image and name: they have no contents.
    unasked: BTreeMap<(String, String), EvaluationError>,
    /// The images that the policy is evaluated without.
    left_out: BTreeSet<String>,
    /// Why the namespace can't be read, if that is ignored.
    no_namespace: Option<EvaluationError>,
}

impl Asking<'_> {
    /// Notes that a signature counts as valid, because it can't be checked now.
    fn count_as_verified(&mut self, question: &Question, why: &str) {
        self.ignored.insert(format!("{why}: '{}' counts as verified", cut(question.image(), 256)));
        if let Question::Attestation { image, attestation, .. } = question {
            let outage = EvaluationError::Outage { why: why.to_owned(), image: None };
            self.unasked.insert((image.clone(), attestation.clone()), outage);
        }
    }
}

/// A scan report as rules in Rego see it, without the scanner's own report.
fn scan_report(image: &str, report: &ScanReport) -> Value {
    let fields = report.fields(image).into_iter().map(|(key, field)| match field {
        Field::Text(text) => (key, Value::from(text.into_owned())),
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
            "namespaces": exemption.namespaces.iter().map(|pattern| pattern.as_str()).collect::<Vec<_>>(),
            "packages": exemption.packages,
            "reason": exemption.reason,
            "expires": exemption.expires.day(),
        })
    });
    Json::Array(entries.collect())
}

/// The error of a failed look-up in the cluster. Pod authors can't cause such a failure.
fn cluster_failed(what: &str, failure: &HostFailure) -> EvaluationError {
    let why = format!("{what}: {failure}");
    if failure.is_outage() { EvaluationError::Outage { why, image: None } } else { EvaluationError::Failed(why) }
}

/// Reads an expression of the settings; an error comes with its path.
///
/// # Errors
/// As for [`Program::read`].
fn read_expression(expression: &Expression) -> Result<Program, String> {
    Program::read(&expression.text).map_err(|why| format!("{}: {why}", expression.path))
}
