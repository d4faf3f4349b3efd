//! The way of a request, from top to bottom: each step is one call, and writes its result into the [`Decision`].
//!
//! Steps depend on earlier decisions. After a final rejection nothing more is looked up. An object without anything to judge is
//! still verified and shown to rules.

use crate::break_glass::break_glass;
use crate::context::{RequestContext, ReviewedObject};
use crate::decision::{Decision, NothingToJudge, Outcome};
use crate::judged::JudgedImage;
use crate::pin::{self, KeptPin};
use crate::prescan::{self, PreScan};
use crate::rego::RequestRules;
use crate::request::{AdmissionRequest, Operation};
use crate::scan;
use crate::update::{NewImages, is_placeholder, new_images};
use crate::verification::{self, Recorder};
use image_admission_attestors::Verifier;
use image_admission_host::{CountedHost, Host, MirroredHost};
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{WorkloadImage, images};
use image_admission_judgement::exemption::ExemptionObjects;
use image_admission_judgement::reason::NamedByMirror;
use image_admission_judgement::report::ReportSearch;
use image_admission_judgement::resolve::Digests;
use image_admission_judgement::running::RunningPods;
use image_admission_rego::evaluation::Budget;
use image_admission_settings::{ExistingImages, Settings, VerificationPolicy};
use image_admission_untrusted::memory::{self, finish_with};
use image_admission_untrusted::time::Timestamp;
use std::collections::BTreeSet;

/// Decides a request; the recorder gets the results of expressions. A request that took more calls to the host, or more memory,
/// than it may is rejected in any case.
pub(crate) fn decide_request(
    request: &AdmissionRequest<'_>,
    settings: &Settings,
    host: &dyn Host,
    now: Timestamp,
    recorder: &dyn Recorder,
) -> Decision {
    let host = MirroredHost::new(host, &settings.mirrors);
    let host = CountedHost::new(&host, settings.max_host_calls);
    let context = RequestContext { request, settings, host: &host, now };
    // First of all, so that nothing slow is called before it.
    let whole_glass = match break_glass(context) {
        Some(Ok(broken)) => return Decision::new(Outcome::GlassBroken(broken), now),
        Some(Err(whole)) => Some(whole),
        None => None,
    };
    let budget = Budget::default();
    let mut decision = match RequestRules::load(context, &budget) {
        Ok(rules) => review(context, rules, recorder),
        Err(unreadable) => Decision::new(Outcome::UnreadableRequest(unreadable), now),
    };
    decision.whole_glass = whole_glass;
    if host.is_exceeded() {
        decision.outcome =
            Outcome::TooManyHostCalls { images: different_images(&decision.images), max: settings.max_host_calls };
        decision.mutated_object = None;
    }
    if memory::is_used_up() {
        return Decision { whole_glass: decision.whole_glass, ..Decision::new(Outcome::TooMuchMemory, now) };
    }
    decision
}

/// Patches of rules come first: everything else sees the patched object. The policies of rules come last: they see what was
/// decided.
fn review(context: RequestContext<'_>, mut rules: Option<Box<RequestRules<'_>>>, recorder: &dyn Recorder) -> Decision {
    let patched = rules.as_mut().and_then(|rules| rules.patch());
    let mut decision = Decision::new(Outcome::Scanned, context.now);
    if let Some(why) = nothing_to_judge(context) {
        decision.outcome = Outcome::NothingToJudge(why);
        decision.mutated_object = patched;
    } else {
        match ReviewedObject::read(context.request, patched) {
            Ok(reviewed) => return judge(context, reviewed, decision, rules, recorder),
            Err(unreadable) => decision.outcome = Outcome::UnreadableRequest(unreadable),
        }
    }
    if let Some(rules) = rules {
        decision.set_policies(rules.finish(&[], None));
    }
    decision
}

/// Why only policies in Rego need to see the object.
fn nothing_to_judge(context: RequestContext<'_>) -> Option<NothingToJudge> {
    if matches!(context.request.operation, Operation::Delete | Operation::Connect) {
        return Some(NothingToJudge::NothingNew);
    }
    if context.request.is_of_what_is_being_deleted() {
        return Some(NothingToJudge::BeingDeleted);
    }
    let is_workload = WorkloadKind::of(&context.request.group, &context.request.kind).is_some();
    (!is_workload && context.settings.verification.is_empty()).then_some(NothingToJudge::NoPodSpec)
}

/// The results of the phases, verification and the rules for an object.
fn judge(
    context: RequestContext<'_>,
    reviewed: ReviewedObject,
    mut decision: Decision,
    mut rules: Option<Box<RequestRules<'_>>>,
    recorder: &dyn Recorder,
) -> Decision {
    let (kept, digests) = name_images(context, &reviewed, &mut decision);
    pre_scan(context, &reviewed, &mut decision, rules.as_deref_mut());
    let subject = scan::subject(context, &reviewed, &decision.images, decision.outcome == Outcome::Scanned);
    let objects = ExemptionObjects::new(context.settings, context.host, context.now, &subject.namespace);
    let running = RunningPods::new(context.settings, context.host, &subject.namespace);
    let verifier = Verifier::new(&context.settings.evidence, context.host, context.now);
    let mut search = ReportSearch::new(
        context.settings,
        context.host,
        &verifier,
        context.now,
        &subject,
        objects.as_ref(),
        running.as_ref(),
    );
    search.know_resolved(&digests);
    verify(context, &reviewed, &mut decision, &kept, digests, (&verifier, &mut search), recorder);
    scan(context, &reviewed, &mut decision, rules.as_deref_mut(), &mut search);
    write(context, reviewed, &kept, &mut decision);
    if let Some(rules) = rules {
        let said = rules.finish(&decision.images, Some(&mut search));
        decision.set_policies(said);
    }
    finish_with(search);
    decision
}

/// How many different images there are.
fn different_images(images: &[JudgedImage]) -> usize {
    let mut different = BTreeSet::new();
    different.extend(images.iter().map(|judged| &judged.reference));
    different.len()
}

/// Names the images that are judged. Returns which others keep their digests, and what tags were resolved to.
fn name_images(
    context: RequestContext<'_>,
    reviewed: &ReviewedObject,
    decision: &mut Decision,
) -> (Vec<KeptPin>, Digests) {
    let Some(workload) = reviewed.workload else {
        decision.outcome = Outcome::NothingToJudge(NothingToJudge::NoPodSpec);
        return Default::default();
    };
    match new_images(context, &reviewed.object, workload) {
        Ok(NewImages { images, kept, placeholders, digests }) => {
            decision.placeholders = placeholders;
            judge_images(context, images, decision);
            (kept, digests)
        }
        Err(unreadable) => {
            decision.outcome = Outcome::UnreadableObject(unreadable);
            Default::default()
        }
    }
}

/// Takes over the images that are judged. Invalid images, and too many, are a final rejection.
fn judge_images(context: RequestContext<'_>, images: Vec<WorkloadImage>, decision: &mut Decision) {
    if images.is_empty() {
        decision.outcome = Outcome::NothingToJudge(NothingToJudge::NoNewImage);
        return;
    }
    let judged = match judged_images(images) {
        Ok(judged) => judged,
        Err(wrong) => {
            decision.outcome = Outcome::NotImages(wrong);
            return;
        }
    };
    let by_mirrors = named_by_mirrors(&judged, context.settings);
    if !by_mirrors.is_empty() {
        decision.outcome = Outcome::NamedByMirrors(by_mirrors);
        return;
    }
    let max = context.settings.max_images;
    if judged.len() > max {
        let images = different_images(&judged);
        if images > max {
            decision.outcome = Outcome::TooManyImages { images, max };
            return;
        }
    }
    decision.images = judged;
}

/// The images with their references, or those that aren't references.
fn judged_images(images: Vec<WorkloadImage>) -> Result<Vec<JudgedImage>, Vec<WorkloadImage>> {
    let mut judged = Vec::with_capacity(images.len());
    let mut wrong = Vec::new();
    for image in images {
        match &image.reference {
            Ok(reference) => {
                let reference = reference.clone();
                judged.push(JudgedImage::new(image, reference));
            }
            Err(_) => wrong.push(image),
        }
    }
    if wrong.is_empty() { Ok(judged) } else { Err(wrong) }
}

/// The images that are named by mirrors: rules about the registry wouldn't match these names.
fn named_by_mirrors(images: &[JudgedImage], settings: &Settings) -> Vec<(WorkloadImage, NamedByMirror)> {
    let named =
        |judged: &JudgedImage| Some((judged.image.clone(), NamedByMirror::of(&judged.reference, &settings.mirrors)?));
    images.iter().filter_map(named).collect()
}

/// The first phase. An update without new images skips it.
fn pre_scan(
    context: RequestContext<'_>,
    reviewed: &ReviewedObject,
    decision: &mut Decision,
    rules: Option<&mut RequestRules<'_>>,
) {
    let has_images = !decision.images.is_empty();
    let is_asked = !decision.is_rejected_for_good() && (has_images || context.request.operation != Operation::Update);
    let Some(workload) = reviewed.workload.filter(|_| is_asked) else { return };
    let mut said = if has_images {
        prescan::apply_policies(&mut decision.images, &reviewed.namespace, context.settings)
    } else {
        PreScan::Accepted
    };
    if let Some(rules) = rules {
        said = rules.pre_scan(said, &decision.images, reviewed, workload);
    }
    match said {
        PreScan::Rejected(why) => decision.outcome = Outcome::PreScanRejected(why),
        PreScan::Accepted if has_images => decision.outcome = Outcome::PreScanAccepted,
        PreScan::Accepted | PreScan::Scan => {}
    }
}

/// The results of policies of `imageVerification`. What they resolve is never resolved again: the digest that was signed is the one
/// that is scanned and pinned.
fn verify(
    context: RequestContext<'_>,
    reviewed: &ReviewedObject,
    decision: &mut Decision,
    kept: &[KeptPin],
    digests: Digests,
    (verifier, search): (&Verifier<'_>, &mut ReportSearch<'_>),
    recorder: &dyn Recorder,
) {
    let is_accepted = decision.outcome == Outcome::PreScanAccepted;
    let is_asked = |policy: &VerificationPolicy| {
        !is_accepted || policy.verify_pre_scan_accepted || policy.existing_images == ExistingImages::Judge
    };
    if decision.is_rejected_for_good() || !context.settings.verification.iter().any(is_asked) {
        return;
    }
    let is_new = context.request.operation == Operation::Create && context.request.sub_resource.is_empty();
    // In a new object every image is judged; others may have images that they had before.
    let found = match reviewed.workload {
        Some(workload) if !is_new => images(&reviewed.object, workload).unwrap_or_default(),
        _ => Vec::new(),
    };
    let found: Vec<WorkloadImage> =
        found.into_iter().filter(|image| !is_placeholder(image, reviewed.workload, context.settings)).collect();
    let all: Vec<&WorkloadImage> = match is_new {
        true => decision.images.iter().map(|judged| &judged.image).collect(),
        false => found.iter().collect(),
    };
    let is_workload_pinned =
        reviewed.workload.is_some_and(|workload| pin::reaches(&reviewed.object, workload, &context.settings.pin));
    // The images of a pod spec are compared already.
    let may_name_others =
        reviewed.workload.is_none() || context.settings.verification.iter().any(|policy| !policy.images.is_empty());
    let subject = verification::Subject {
        context,
        reviewed,
        images: &all,
        judged: &decision.images,
        is_unchanged: context.request.operation == Operation::Update
            && may_name_others
            && context
                .request
                .old_object()
                .is_some_and(|old| verification::leaves_images_alone(&reviewed.object, &old)),
        is_accepted,
        is_pinned: is_workload_pinned
            && (!decision.images.is_empty()
                || !kept.is_empty()
                || reviewed.workload.is_some_and(WorkloadKind::is_template)),
        kept,
    };
    let verified = verification::verify(subject, digests, verifier, search, recorder);
    decision.set_verified(verified, search);
}

/// The second phase, for what verification accepts.
fn scan(
    context: RequestContext<'_>,
    reviewed: &ReviewedObject,
    decision: &mut Decision,
    rules: Option<&mut RequestRules<'_>>,
    search: &mut ReportSearch<'_>,
) {
    let Some(workload) = reviewed.workload.filter(|_| decision.outcome == Outcome::Scanned) else { return };
    if decision.is_unverified() {
        decision.outcome = Outcome::NotVerified;
        return;
    }
    scan::scan_images(&mut decision.images, &reviewed.namespace, workload, context.settings, search);
    if let Some(rules) = rules {
        rules.scan(&mut decision.images, reviewed, workload, search);
    }
}

/// Writes the pins into an admitted object, and keeps the patches of rules.
fn write(context: RequestContext<'_>, reviewed: ReviewedObject, kept: &[KeptPin], decision: &mut Decision) {
    let ReviewedObject { mut object, workload, is_patched, .. } = reviewed;
    let mut is_changed = is_patched;
    if let Some(workload) = workload.filter(|_| decision.is_allowed()) {
        let RequestContext { request, settings, .. } = context;
        match pin::pin(&mut object, &mut decision.images, kept, workload, request, &settings.pin) {
            Ok(is_pinned) => is_changed |= is_pinned,
            Err(unreadable) => decision.outcome = Outcome::UnreadableObject(unreadable),
        }
    }
    if is_changed {
        decision.mutated_object = Some(object);
    }
}
