//! What expressions ask about images, and the functions that ask.
//!
//! A function can't call the host, so it looks its question up among the answers. Signatures are assumed valid, then checked, in
//! the order of the expression; a wrong assumption triggers a second evaluation. Any other question ends the evaluation, is
//! answered, and the expression is evaluated again. So each question is asked only if the expression needs it, and only once.

use cel::common::value::{CowVal, Val};
use image_admission_cel::expression::{EvaluationError, Function, Scope, describe, map_of};
use image_admission_image::ImageReference;

use cel::{ExecutionError, FunctionContext, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most questions of one expression: two for each image at a high `maxImages`, and some more.
pub(crate) const MAX_QUESTIONS: usize = 400;

/// A question that only the host can answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// Whether an attestor signed an image: 0 or 1.
    Signature { image: String, attestor: String },
    /// Whether an attestor signed an attestation of an image: 0 or 1.
    Attestation { image: String, attestation: String, attestor: String },
    /// The contents of a verified attestation.
    Payload { image: String, attestation: String },
    /// The image's manifest and configuration, with its resolved reference.
    ImageData { image: String },
    /// The image's configuration on each of its platforms.
    Configurations { image: String },
    /// The image's packages.
    Packages { image: String },
    /// The image's scan report.
    ScanReport { image: String },
}

impl Question {
    /// The image that it is about.
    pub(crate) fn image(&self) -> &str {
        match self {
            Self::Signature { image, .. }
            | Self::Attestation { image, .. }
            | Self::Payload { image, .. }
            | Self::ImageData { image }
            | Self::Configurations { image }
            | Self::Packages { image }
            | Self::ScanReport { image } => image,
        }
    }

    /// The assumed answer until the host has answered; none if nothing can be assumed.
    pub(crate) fn assumed(&self) -> Option<Value> {
        match self {
            Self::Signature { .. } | Self::Attestation { .. } => Some(Value::Int(1)),
            Self::Payload { .. }
            | Self::ImageData { .. }
            | Self::Configurations { .. }
            | Self::Packages { .. }
            | Self::ScanReport { .. } => None,
        }
    }
}

/// The answers so far, and the open questions of the last evaluation.
#[derive(Debug, Default)]
struct Table {
    answers: BTreeMap<Question, Result<Value, EvaluationError>>,
    /// In the order of the evaluation. All but the last were assumed valid.
    open: Vec<Question>,
    /// Whether there was one without an assumed answer: later questions may not be needed.
    is_stuck: bool,
    /// Whether it read a payload before its signers were asked for, which may be known afterwards.
    is_early: bool,
    /// The errors of the last evaluation that are outages, in its words, each with its image.
    outages: Vec<(String, String)>,
}

/// The answers, shared with the functions.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    table: Arc<Mutex<Table>>,
    /// The listener for each call that asks, if there is one.
    listener: Option<Listener>,
}

/// The listener for a call that asks: it gets the function, the arguments, the result, and whether that is an outage.
pub(crate) type Listener = Arc<dyn Fn(&str, &[Value], &Result<Value, ExecutionError>, bool) + Send + Sync>;

/// The functions of this module, each under all of its names. Where images are only chosen, the answers of those that ask aren't
/// known.
const FUNCTIONS: [(&str, Kind, Body); 18] = [
    ("verifyImageSignatures", Kind::Counts, image_signatures),
    ("verifyAttestationSignatures", Kind::Counts, attestation_signatures),
    ("payload", Kind::Asks, payload),
    ("extractPayload", Kind::Asks, payload),
    ("getImageData", Kind::Asks, image_data),
    ("imageConfigs", Kind::Asks, configurations),
    (PACKAGES, Kind::Asks, packages),
    ("scanReport", Kind::Asks, scan_report),
    ("parseImageReference", Kind::Computes, parse_image_reference),
    ("parseReference", Kind::Computes, parse_image_reference),
    ("image", Kind::Computes, parse_image_reference),
    ("isImage", Kind::Computes, is_image),
    ("registry", Kind::Computes, part),
    ("repository", Kind::Computes, part),
    ("tag", Kind::Computes, part),
    ("digest", Kind::Computes, part),
    ("identifier", Kind::Computes, part),
    ("containsDigest", Kind::Computes, contains_digest),
];

/// The function that returns an image's packages.
pub(crate) const PACKAGES: &str = "sbomPackages";

/// What a function does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It asks, and returns how many attestors signed.
    Counts,
    /// It asks.
    Asks,
    Computes,
}

type Body = fn(&Answers, &Call<'_>) -> Result<Value, ExecutionError>;

/// Whether a function returns how many attestors signed.
pub(crate) fn counts(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, kind, _)| *known == name && *kind == Kind::Counts)
}

/// The functions that ask.
pub(crate) fn asking() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(|(_, kind, _)| *kind != Kind::Computes).map(|(name, ..)| *name)
}

/// Whether a function is one of these.
pub(crate) fn is_known(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, ..)| *known == name)
}

/// The names of these functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, ..)| *name)
}

impl Answers {
    /// No answers yet, with a listener for calls.
    pub(crate) fn heard_by(listener: Option<Listener>) -> Self {
        Self { table: Arc::default(), listener }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A panic that poisons the lock would have ended the module.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open questions of the last evaluation, in order, and whether its value may change once they are answered, whatever the
    /// answers are.
    pub(crate) fn take_open(&self) -> (Vec<Question>, bool) {
        let mut table = self.table();
        let is_unsure = std::mem::take(&mut table.is_stuck) | std::mem::take(&mut table.is_early);
        (std::mem::take(&mut table.open), is_unsure)
    }

    /// Notes an answer, and says whether it takes an earlier one back: one more attestor may vouch for another document of an
    /// attestation that was read.
    pub(crate) fn add(&self, question: Question, answer: Result<Value, EvaluationError>) -> bool {
        let mut table = self.table();
        let read = match &question {
            Question::Attestation { image, attestation, .. } => {
                table.answers.remove(&Question::Payload { image: image.clone(), attestation: attestation.clone() })
            }
            _ => None,
        };
        table.answers.insert(question, answer);
        read.is_some()
    }

    /// The outages of the last evaluation: its errors in its own words, each with its image.
    pub(crate) fn take_outages(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.table().outages)
    }

    /// Adds the functions of these names to a scope.
    pub(crate) fn add_functions<'n>(&self, scope: &mut Scope<'_>, names: impl Iterator<Item = &'n str>) {
        for name in names {
            let Some((name, kind, asks)) = FUNCTIONS.into_iter().find(|(known, ..)| *known == name) else { continue };
            let answers = self.clone();
            let function: Function = Box::new(move |context| {
                let call = Call::of(context);
                let value = asks(&answers, &call);
                if let Some(listener) = answers.listener.as_ref().filter(|_| kind != Kind::Computes) {
                    let error = value.as_ref().err().map(describe);
                    let is_outage = error.is_some_and(|own| answers.table().outages.iter().any(|(why, _)| *why == own));
                    listener(name, &call.arguments, &value, is_outage);
                }
                let value: Box<dyn Val> = value?.try_into()?;
                Ok(CowVal::Owned(value))
            });
            scope.add_function(name, function);
        }
    }

    /// The answer to a question, or an error that ends the evaluation.
    fn ask(&self, function: &str, question: Question) -> Result<Value, ExecutionError> {
        let mut table = self.table();
        match table.answers.get(&question) {
            Some(Ok(answer)) => Ok(answer.clone()),
            Some(Err(why)) => {
                let (error, is_outage) = (ExecutionError::function_error(function, why), why.is_outage());
                if is_outage {
                    table.outages.push((describe(&error), question.image().to_owned()));
                }
                Err(error)
            }
            None => {
                let assumed = question.assumed();
                if !table.is_stuck && !table.open.contains(&question) {
                    table.open.push(question);
                    table.is_stuck = assumed.is_none() || table.open.len() > MAX_QUESTIONS;
                }
                assumed
                    .filter(|_| !table.is_stuck)
                    .ok_or_else(|| ExecutionError::function_error(function, "not answered yet"))
            }
        }
    }

    /// Whether an attestor signed an attestation, as far as that is known or assumed.
    fn is_verified(&self, image: &str, attestation: &str) -> bool {
        let is_of = |question: &Question| matches!(question, Question::Attestation { image: of, attestation: what, .. } if of == image && what == attestation);
        let table = self.table();
        table.open.iter().any(is_of)
            || table.answers.iter().any(|(question, answer)| is_of(question) && *answer == Ok(Value::Int(1)))
    }
}

/// A call, with its target as the first argument.
struct Call<'c> {
    name: &'c str,
    arguments: Vec<Value>,
}

impl<'c> Call<'c> {
    fn of(context: &FunctionContext<'c, '_>) -> Self {
        let all = context.this.iter().chain(&context.args);
        let arguments = all.map(|value| Value::try_from(value.as_ref()).unwrap_or(Value::Null)).collect();
        Self { name: context.name, arguments }
    }

    fn error(&self, why: impl ToString) -> ExecutionError {
        ExecutionError::function_error(self.name, why)
    }

    /// Fails unless there are so many arguments.
    fn takes(&self, number: usize) -> Result<(), ExecutionError> {
        if self.arguments.len() == number {
            return Ok(());
        }
        Err(self.error(format!("it takes {number} arguments, not {}", self.arguments.len())))
    }

    fn text(&self, position: usize, what: &str) -> Result<String, ExecutionError> {
        match self.arguments.get(position) {
            Some(Value::String(text)) => Ok(text.to_string()),
            // The result of `parseImageReference`.
            Some(Value::Map(map)) if position == 0 => {
                match map.get(&cel::objects::Key::from("referenceWithTagAndDigest")) {
                    Some(Value::String(text)) => Ok(text.to_string()),
                    _ => Err(self.error(format!("{what} must be a string"))),
                }
            }
            _ => Err(self.error(format!("{what} must be a string"))),
        }
    }

    fn image(&self) -> Result<String, ExecutionError> {
        let text = self.text(0, "the image")?;
        match ImageReference::parse(&text) {
            Ok(_) => Ok(text),
            Err(why) => Err(self.error(format!(
                "`{}` is not an image reference: {why}",
                image_admission_untrusted::message::cut(&text, 256)
            ))),
        }
    }

    /// The names of attestors: a list, or a single one.
    fn attestors(&self, position: usize) -> Result<Vec<String>, ExecutionError> {
        let wrong = || self.error("the attestors must be a list like `[attestors.team]`");
        match self.arguments.get(position) {
            Some(Value::String(name)) => Ok(vec![name.to_string()]),
            Some(Value::List(names)) => {
                let mut all = Vec::new();
                for name in names.iter() {
                    let Value::String(name) = name else { return Err(wrong()) };
                    // An attestor that is named twice counts once.
                    if !all.contains(name.as_ref()) {
                        all.push(name.to_string());
                    }
                }
                Ok(all)
            }
            _ => Err(wrong()),
        }
    }
}

fn count(answers: impl Iterator<Item = Result<Value, ExecutionError>>) -> Result<Value, ExecutionError> {
    let mut verified = 0;
    for answer in answers {
        verified += i64::from(answer? == Value::Int(1));
    }
    Ok(Value::Int(verified))
}

fn image_signatures(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(2)?;
    let image = call.image()?;
    let attestors = call.attestors(1)?;
    count(
        attestors
            .into_iter()
            .map(|attestor| answers.ask(call.name, Question::Signature { image: image.clone(), attestor })),
    )
}

fn attestation_signatures(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(3)?;
    let image = call.image()?;
    let attestation = call.text(1, "the attestation")?;
    let attestors = call.attestors(2)?;
    count(attestors.into_iter().map(|attestor| {
        let (image, attestation) = (image.clone(), attestation.clone());
        answers.ask(call.name, Question::Attestation { image, attestation, attestor })
    }))
}

fn payload(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(2)?;
    let image = call.image()?;
    let attestation = call.text(1, "the attestation")?;
    if !answers.is_verified(&image, &attestation) {
        answers.table().is_early = true;
        return Err(call.error(format!(
            "the attestation `{attestation}` of `{image}` was not verified; ask `verifyAttestationSignatures(…) > 0` before"
        )));
    }
    answers.ask(call.name, Question::Payload { image, attestation })
}

fn image_data(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    answers.ask(call.name, Question::ImageData { image: call.image()? })
}

fn configurations(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    answers.ask(call.name, Question::Configurations { image: call.image()? })
}

fn packages(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    answers.ask(call.name, Question::Packages { image: call.image()? })
}

fn scan_report(answers: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    answers.ask(call.name, Question::ScanReport { image: call.image()? })
}

fn is_image(_: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    match call.arguments.first() {
        Some(Value::String(text)) => Ok(Value::Bool(ImageReference::parse(text).is_ok())),
        Some(Value::Map(_)) => Ok(Value::Bool(call.image().is_ok())),
        _ => Ok(Value::Bool(false)),
    }
}

fn parse_image_reference(_: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    call.image().map(|text| parts(&text))
}

/// The parts of a reference by its canonical name; missing ones are empty.
fn parts(text: &str) -> Value {
    let Ok(reference) = ImageReference::parse(text) else { return Value::Null };
    let (tag, digest) = (reference.tag().unwrap_or_default(), reference.digest().unwrap_or_default());
    let whole = reference.to_string();
    let parts = [
        ("registry", reference.host()),
        ("repository", reference.repository()),
        ("tag", tag),
        ("digest", digest),
        ("identifier", if digest.is_empty() { tag } else { digest }),
        ("referenceWithTagAndDigest", &whole),
        ("referenceWithTagandDigest", &whole),
    ];
    map_of(parts.into_iter().map(|(key, value)| (key, Value::from(value))))
}

/// `image("…").registry()` and its like.
fn part(_: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    let Value::Map(parts) = parts(&call.image()?) else { return Err(call.error("it is no image")) };
    parts.get(&cel::objects::Key::from(call.name)).cloned().ok_or_else(|| call.error("there is no such part"))
}

fn contains_digest(_: &Answers, call: &Call<'_>) -> Result<Value, ExecutionError> {
    call.takes(1)?;
    let image = call.image()?;
    Ok(Value::Bool(ImageReference::parse(&image).is_ok_and(|reference| reference.digest().is_some())))
}
