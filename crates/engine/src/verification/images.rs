//! The images of a policy: its lists, the images that it is about, and how the others are treated.

use super::matching::is_asked_of_new_images_alone;
use super::record::Evaluation;
use super::unchanged::reads_what_names_no_image;
use super::{Asking, PolicyVerification, Programs, Subject, VerificationOutcome};
use crate::context::RequestContext;
use crate::judged::JudgedImage;
use crate::prescan;
use crate::request::Operation;
use cel::Value;
use image_admission_cel::expression::{EvaluationError, Program, Scope, map_of};
use image_admission_image::{ImageReference, matches_image, names_of};
use image_admission_judgement::reason::NamedByMirror;
use image_admission_settings::{ExistingImages, Expression, IMAGE_LISTS, VerificationPolicy};
use image_admission_untrusted::message::cut;
use std::collections::{BTreeMap, BTreeSet};

/// The images of one policy.
#[derive(Default)]
pub(super) struct Images {
    /// Those that it is about.
    pub(super) matched: BTreeSet<String>,
    /// Those that ran before: they are in no list, and count as verified.
    pub(super) exempt: BTreeSet<String>,
    /// Those that its verifications check: the lists that they name, and the images that they ask about.
    pub(super) looked_at: BTreeSet<String>,
}

impl<'a> PolicyVerification<'a, '_, '_> {
    /// Sets the lists of images in the scope, without those that the policy isn't about; none if an update brings no image that the
    /// policy could be about.
    pub(super) fn name_images(
        &mut self,
        programs: &Programs,
        scope: &mut Scope<'_>,
        asking: &mut Asking<'a>,
        images: &mut Images,
    ) -> Result<Option<BTreeMap<&'a str, Vec<String>>>, EvaluationError> {
        let Subject { context: RequestContext { request, settings, .. }, reviewed, .. } = self.subject;
        let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        lists.extend(IMAGE_LISTS.map(|name| (name, Vec::new())));
        let mut new = BTreeSet::new();
        let judged = self.subject.judged.iter().map(|judged| (judged.image.pointer.as_str(), judged));
        let judged: BTreeMap<&str, &JudgedImage> = judged.collect();
        for image in self.subject.images {
            let is_accepted = match (judged.get(image.pointer.as_str()), self.policy.existing_images) {
                (Some(judged), _) => judged.is_accepted_by_pre_scan(),
                (None, ExistingImages::Judge) => prescan::is_accepted(image, &reviewed.namespace, settings),
                (None, ExistingImages::Skip) => {
                    images.exempt.insert(image.text.clone());
                    continue;
                }
            };
            if is_accepted && !self.policy.verify_pre_scan_accepted {
                continue;
            }
            new.insert(image.text.clone());
            for list in [image.list.in_expressions(), "all"] {
                lists.entry(list).or_default().push(image.text.clone());
            }
        }
        for (named, program) in self.policy.images.iter().zip(&programs.images) {
            let found = match self.own_images(&named.expression, program, scope, asking) {
                // If nothing that the expression reads has changed, it failed before the update too.
                Err(_)
                    if self.subject.is_unchanged
                        && is_asked_of_new_images_alone(self.policy, request)
                        && !reads_what_names_no_image(self.policy) =>
                {
                    continue;
                }
                found => found?,
            };
            let before = self.images_before(&named.expression, program, programs, scope, asking)?;
            let found: Vec<String> = found.into_iter().filter(|image| !before.contains(image)).collect();
            new.extend(found.iter().cloned());
            images.exempt.extend(before);
            let list = lists.entry(&named.name).or_default();
            // An image that is already in a list of the pod spec's isn't added again.
            match IMAGE_LISTS.contains(&named.name.as_str()) {
                true => add_once(list, &found),
                false => list.extend(found.iter().cloned()),
            }
            add_once(lists.entry("all").or_default(), &found);
        }
        // An image that is new in one place counts as new.
        images.exempt.retain(|image| !new.contains(image));
        let names_images = reviewed.workload.is_some() || !self.policy.images.is_empty();
        if new.is_empty() && names_images && is_asked_of_new_images_alone(self.policy, request) {
            return Ok(None);
        }
        for list in lists.values_mut() {
            let mut kept = Vec::new();
            for image in std::mem::take(list) {
                self.must_not_be_named_by_mirror(&image)?;
                if self.is_matched(&image, programs, scope)? {
                    images.matched.insert(image.clone());
                    if asking.left_out.contains(&image) {
                        images.looked_at.insert(image);
                    } else {
                        kept.push(image);
                    }
                }
            }
            *list = kept;
        }
        let (number, most) = (images.matched.len(), settings.max_images);
        if number > most {
            let why = format!("{number} different images, the setting `maxImages` allows {most}");
            return Err(EvaluationError::Limit(why));
        }
        let value = |images: &[String]| -> Value {
            images.iter().map(|image| Value::from(image.as_str())).collect::<Vec<_>>().into()
        };
        for (key, name) in programs.fields_of("images") {
            if let Some(images) = lists.get(name) {
                scope.set(key, value(images));
            }
        }
        if programs.mentions("images") {
            scope.set("images", map_of(lists.iter().map(|(name, images)| (*name, value(images)))));
        }
        Ok(Some(lists))
    }

    /// The images that an entry of `images` names.
    fn own_images(
        &mut self,
        expression: &Expression,
        program: &Program,
        scope: &Scope<'_>,
        asking: &mut Asking<'a>,
    ) -> Result<Vec<String>, EvaluationError> {
        let value = self.answer(expression, program, scope, asking, &mut Images::default())?;
        let wrong = || self.wrong(expression, "it must give a string or a list of strings".to_owned());
        let texts = match &value {
            Value::String(text) => return Ok(vec![text.to_string()]),
            Value::List(texts) => texts,
            _ => return Err(wrong()),
        };
        let text = |text: &Value| match text {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(wrong()),
        };
        texts.iter().map(text).collect()
    }

    /// The images of the same entry before an update; empty if they are unknown.
    fn images_before(
        &mut self,
        expression: &Expression,
        program: &Program,
        programs: &Programs,
        scope: &mut Scope<'_>,
        asking: &mut Asking<'a>,
    ) -> Result<BTreeSet<String>, EvaluationError> {
        let is_judged = self.policy.existing_images == ExistingImages::Judge;
        if self.subject.context.request.operation != Operation::Update || is_judged {
            return Ok(BTreeSet::new());
        }
        let Some(old) = self.subject.context.request.old_object() else { return Ok(BTreeSet::new()) };
        self.set_object(&old, programs, scope)?;
        self.recorder.sees_old_object(true);
        let before = self.own_images(expression, program, scope, asking).unwrap_or_default();
        self.recorder.sees_old_object(false);
        self.set_object(&self.subject.reviewed.object, programs, scope)?;
        Ok(before.into_iter().collect())
    }

    /// Fails for an image that is named by a mirror: match rules wouldn't match that name. Pod specs with such names are rejected
    /// before.
    fn must_not_be_named_by_mirror(&self, image: &str) -> Result<(), EvaluationError> {
        let mirrors = &self.subject.context.settings.mirrors;
        if mirrors.is_empty() {
            return Ok(());
        }
        let named = ImageReference::parse(image).ok().and_then(|reference| NamedByMirror::of(&reference, mirrors));
        named.map_or(Ok(()), |why| Err(EvaluationError::Failed(format!("'{}': {why}", cut(image, 256)))))
    }

    /// Whether the policy is about an image, by any of its names: the Pod's author chooses the spelling.
    fn is_matched(&self, image: &str, programs: &Programs, scope: &mut Scope<'_>) -> Result<bool, EvaluationError> {
        let rules = &self.policy.images_matched;
        if rules.globs.is_empty() && rules.expressions.is_empty() {
            return Ok(true);
        }
        if rules.globs.iter().any(|glob| matches_image(&glob.text, image)) {
            return Ok(true);
        }
        let names = match ImageReference::parse(image) {
            Ok(reference) => names_of(image, &reference),
            Err(_) => BTreeSet::from([image.to_owned()]),
        };
        for (expression, program) in rules.expressions.iter().zip(&programs.image_rules) {
            for name in &names {
                scope.set("ref", Value::from(name.as_str()));
                let value = program.evaluate(scope).map_err(|why| self.told(why, expression));
                self.recorder.evaluated(&Evaluation { expression, program, scope, image: Some(image), value: &value });
                match value? {
                    Value::Bool(true) => return Ok(true),
                    Value::Bool(false) => {}
                    other => return Err(self.no_boolean(expression, &other)),
                }
            }
        }
        Ok(false)
    }

    /// Whether the match rules take in an image that a function is asked about. Any other image counts as not verified.
    pub(super) fn is_in_question(&self, image: &str, images: &Images) -> bool {
        let rules = &self.policy.images_matched;
        let has_rules = !rules.globs.is_empty() || !rules.expressions.is_empty();
        !has_rules || images.matched.contains(image) || rules.globs.iter().any(|glob| matches_image(&glob.text, image))
    }
}

/// Adds those images that a list hasn't yet: an object may name very many.
fn add_once(list: &mut Vec<String>, images: &[String]) {
    let mut known: BTreeSet<&str> = list.iter().map(String::as_str).collect();
    let new: Vec<String> = images.iter().filter(|image| known.insert(image)).cloned().collect();
    list.extend(new);
}

/// The images that stay as they are: those for which every policy about them says so.
pub(super) fn unpinned(said: &[(&VerificationPolicy, VerificationOutcome, Images)]) -> BTreeSet<ImageReference> {
    let of = |pinned: bool| {
        let policies = said.iter().filter(move |(policy, ..)| policy.mutate_digest == pinned);
        policies.flat_map(|(.., images)| &images.matched).filter_map(|image| ImageReference::parse(image).ok())
    };
    let mut unpinned = BTreeSet::new();
    unpinned.extend(of(false));
    if !unpinned.is_empty() {
        for pinned in of(true) {
            unpinned.remove(&pinned);
        }
    }
    unpinned
}

/// A warning for each new image that no policy checked, if there are policies for images. A policy whose patterns leave every image
/// out holds silently, since `[].all(…)` is true, and so does one that names another list.
pub(super) fn not_looked_at(
    subject: Subject<'_>,
    said: &[(&VerificationPolicy, VerificationOutcome, Images)],
) -> Vec<String> {
    let settings = subject.context.settings;
    if !settings.verification.iter().any(looks_at_images) {
        return Vec::new();
    }
    let is_strict = settings.verification.iter().any(|policy| policy.verify_pre_scan_accepted);
    let is_seen = |image: &String| said.iter().any(|(_, _, images)| images.looked_at.contains(image));
    let missed = subject
        .judged
        .iter()
        .filter(|judged| (is_strict || !judged.is_accepted_by_pre_scan()) && !is_seen(&judged.image.text));
    let names: BTreeSet<String> = missed.map(|judged| judged.image.shown()).collect();
    names.into_iter().map(|image| format!("image '{image}' is one that no verification policy looked at")).collect()
}

/// Whether a policy is about images at all.
fn looks_at_images(policy: &VerificationPolicy) -> bool {
    policy.verifications.iter().any(|verification| verification.expression.text.contains("images"))
        || policy.variables.iter().any(|variable| variable.expression.text.contains("images"))
}
