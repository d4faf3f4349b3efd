//! The rules of one request: their patches, and their results in the phases and after them.

use super::cluster::Cluster;
use super::input::{Input, scan_report};
use super::phases::{PhaseInput, PhaseRules, PreScanRules, settings_data};
use super::policies::{Outside, Policies, PolicyOutcome, can_patch};
use super::seen::{Seen, SeenModule};
use crate::context::{RequestContext, ReviewedObject};
use crate::judged::JudgedImage;
use crate::prescan::{PreScan, PreScanRejection};
use crate::request::{AdmissionRequest, Operation, UnreadableRequest};
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{ImageReference, WorkloadImage, images};
use image_admission_judgement::report::ReportSearch;
use image_admission_rego::evaluation::document::{from_own, set};
use image_admission_rego::evaluation::{Budget, EvaluationError};
use image_admission_rego::rules::{ImageQuestion, Phase};
use regorus::Value;
use serde_json::Value as Json;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Everything in Rego that is about one request.
pub(crate) struct RequestRules<'a> {
    context: RequestContext<'a>,
    budget: &'a Budget,
    /// Read when a rule needs it, and at once for policies.
    input: OnceCell<Input>,
    /// The object after the patches of policies; none without policies.
    object: Option<Json>,
    policies: Option<Policies<'a>>,
    cluster: Cluster<'a>,
    /// What rules saw, if the settings want that.
    seen: Vec<Seen>,
}

/// The results of rules after the phases.
pub(crate) struct PoliciesSaid {
    /// The result of each policy, in the order of the settings.
    pub(crate) outcomes: Vec<PolicyOutcome>,
    /// The hash of the policies and the libraries; none without policies for the request's kind.
    pub(crate) hash: Option<String>,
    /// What rules saw in the phases and after them, if the settings want that.
    pub(crate) seen: Vec<Seen>,
}

impl<'a> RequestRules<'a> {
    /// Loads the policies of the request's kind; none if no rule is about the request.
    ///
    /// # Errors
    /// The request can't be read as a document.
    pub(crate) fn load(
        context: RequestContext<'a>,
        budget: &'a Budget,
    ) -> Result<Option<Box<Self>>, UnreadableRequest> {
        let RequestContext { request, settings, host, now } = context;
        if settings.rego.is_empty() {
            return Ok(None);
        }
        let policies = Policies::load(settings, request, budget, now);
        let has_phases = can_patch(request.operation) && WorkloadKind::of(&request.group, &request.kind).is_some();
        let has_custom = !(settings.rego.pre_custom_rules.is_empty() && settings.rego.custom_rules.is_empty());
        if policies.is_none() && !(has_phases && has_custom) {
            return Ok(None);
        }
        let (mut object, input) = (None, OnceCell::new());
        if policies.is_some() {
            object = match request.object_to_patch() {
                Ok(object) => Some(object),
                Err(UnreadableRequest::NoObject) => None,
                // An object that can't be patched would be admitted unpatched.
                Err(unreadable) if can_patch(request.operation) => return Err(unreadable),
                Err(_) => None,
            };
            // A deleted object names no image that would run.
            let named = object.as_ref().map(|object| named_images(object, request)).unwrap_or_default();
            let deleted = || request.old_object().filter(|_| request.operation == Operation::Delete);
            object = object.or_else(deleted);
            let _ = input.set(Input::new(request, &named).map_err(UnreadableRequest::NotARequest)?);
        }
        let cluster = Cluster::new(&settings.rego.context, host, &request.namespace);
        Ok(Some(Box::new(Self { context, budget, input, object, policies, cluster, seen: Vec::new() })))
    }

    /// What custom rules see of the request.
    fn input(&self) -> Result<&Input, String> {
        match self.input.get() {
            Some(input) => Ok(input),
            None => Input::new(self.context.request, &[]).map(|input| self.input.get_or_init(|| input)),
        }
    }

    /// Applies the patches of all policies. Returns the object if they changed it; rules see that from now on.
    pub(crate) fn patch(&mut self) -> Option<Json> {
        let (policies, before) = (self.policies.as_mut()?, self.input.get()?);
        let Some(object) = self.object.as_ref().filter(|_| can_patch(self.context.request.operation)) else {
            policies.ask_first(before, &mut self.cluster);
            return None;
        };
        let request = self.context.request;
        let again = |object: &Json| before.with_object(object, &named_images(object, request));
        let patched = policies.patch(before, object, &mut self.cluster, again)?;
        self.input = OnceCell::from(again(&patched));
        self.object = Some(patched.clone());
        Some(patched)
    }

    /// The result of pre-scan with its custom rules, where `native` is the result without them.
    pub(crate) fn pre_scan(
        &mut self,
        native: PreScan,
        images: &[JudgedImage],
        reviewed: &ReviewedObject,
        workload: WorkloadKind,
    ) -> PreScan {
        let rules = match self.phase_rules(Phase::PreScan, reviewed) {
            None => return native,
            Some(Ok(rules)) => rules,
            Some(Err(error)) => {
                let by_rules = BTreeSet::from([evaluation_error(error)]);
                return PreScan::Rejected(PreScanRejection { by_policies: false, by_rules });
            }
        };
        let ready = self.with_data(rules, reviewed, workload).and_then(|rules| {
            PhaseInput::new(&rules, || self.input(), reviewed, workload, images)
                .map(|input| (rules, input.pre_scan()))
                .map_err(evaluation_error)
        });
        let said = match ready {
            Ok((mut rules, input)) => {
                self.see("preCustomRules", &input, &rules.data(), &rules.texts);
                rules.pre_scan(input)
            }
            Err(why) => PreScanRules { deny: BTreeSet::from([why]), ..PreScanRules::default() },
        };
        said.combine(native, images)
    }

    /// Evaluates the custom rules of the scan phase for each image, and notes at it what they deny.
    pub(crate) fn scan(
        &mut self,
        images: &mut [JudgedImage],
        reviewed: &ReviewedObject,
        workload: WorkloadKind,
        search: &mut ReportSearch<'_>,
    ) {
        let Some(loaded) = self.phase_rules(Phase::Scan, reviewed) else { return };
        let loaded = loaded.map_err(evaluation_error).and_then(|rules| self.with_data(rules, reviewed, workload));
        let ready = loaded.and_then(|rules| {
            PhaseInput::new(&rules, || self.input(), reviewed, workload, images)
                .map(|input| (rules, input))
                .map_err(evaluation_error)
        });
        let (mut rules, input) = match ready {
            Ok(ready) => ready,
            Err(why) => {
                for scan in images.iter_mut().filter_map(|judged| judged.scan.as_mut()) {
                    scan.custom.insert(why.clone());
                }
                return;
            }
        };
        for judged in images {
            let Some(scan) = &mut judged.scan else { continue };
            let report = scan.report.get_or_insert_with(|| search.find(&judged.reference));
            let inner = match if rules.sees_inner_report() { search.whole(report) } else { Ok(None) } {
                Ok(inner) => inner.as_ref().map(from_own),
                Err(failure) => {
                    scan.custom.insert(format!("Evaluation error: the scan report can't be read again: {failure}"));
                    continue;
                }
            };
            let report = scan_report(&judged.image.text, report, inner);
            let answers = rules.asks().iter().map(|asked| Ok((*asked, answer(*asked, search, &judged.reference)?)));
            let answers = match answers.collect::<Result<Vec<_>, String>>() {
                Ok(answers) => answers,
                Err(unknown) => {
                    scan.custom.insert(evaluation_error(unknown));
                    continue;
                }
            };
            let container = image_admission_untrusted::pointer::at(&reviewed.object, judged.image.owner_pointer())
                .unwrap_or(&Json::Null);
            let input = match input.scan(container, report, answers) {
                Ok(input) => input,
                Err(why) => {
                    scan.custom.insert(evaluation_error(why));
                    continue;
                }
            };
            self.see("customRules", &input, &rules.data(), &rules.texts);
            let custom = rules.deny_image(input);
            judged.set_custom(custom, rules.is_whole());
        }
    }

    /// Evaluates all policies, and returns the results of all rules of the request and what they saw. `search` is that of the
    /// phases and of verification, if there was one: no tag is resolved again, so that policies judge the digest that is pinned.
    pub(crate) fn finish(self, images: &[JudgedImage], search: Option<&mut ReportSearch<'_>>) -> PoliciesSaid {
        let Self { context, input, mut cluster, mut seen, .. } = self;
        let (Some(mut policies), Some(input)) = (self.policies, input.into_inner()) else {
            return PoliciesSaid { outcomes: Vec::new(), hash: None, seen };
        };
        policies.evaluate_policies(&input, &mut cluster, &mut Reports { judged: images, search });
        if context.settings.verbose_log {
            seen.extend(policies.seen());
        }
        PoliciesSaid { hash: Some(policies.hash.clone()), outcomes: policies.outcomes(), seen }
    }

    fn phase_rules(
        &self,
        phase: Phase,
        reviewed: &ReviewedObject,
    ) -> Option<Result<Box<PhaseRules<'a>>, EvaluationError>> {
        PhaseRules::load(self.context.settings, phase, &reviewed.namespace, self.budget, self.context.now)
    }

    fn with_data<'r>(
        &self,
        mut rules: Box<PhaseRules<'r>>,
        reviewed: &ReviewedObject,
        workload: WorkloadKind,
    ) -> Result<Box<PhaseRules<'r>>, String> {
        if !rules.sees_settings() {
            return Ok(rules);
        }
        let data = settings_data(self.context.settings, &reviewed.namespace, workload.is_template());
        rules.set_data(data).map(|()| rules).map_err(evaluation_error)
    }

    fn see(&mut self, by: &str, input: &Value, data: &Value, texts: &[SeenModule]) {
        if self.context.settings.verbose_log {
            self.seen.push(Seen::new(by, input, data, texts));
        }
    }
}

fn evaluation_error(why: impl std::fmt::Display) -> String {
    format!("Evaluation error: {why}")
}

/// All images of an object, or none if it can't be read: the phases report that.
fn named_images(object: &Json, request: &AdmissionRequest<'_>) -> Vec<WorkloadImage> {
    let workload = WorkloadKind::of(&request.group, &request.kind);
    workload.and_then(|workload| images(object, workload).ok()).unwrap_or_default()
}

/// The results of scanners and registries for the images of the request.
struct Reports<'r, 's> {
    judged: &'r [JudgedImage],
    search: Option<&'r mut ReportSearch<'s>>,
}

impl Outside for Reports<'_, '_> {
    fn reports(&mut self, inner: bool) -> Result<Value, String> {
        let mut reports = Value::new_object();
        let Some(search) = &mut self.search else { return Ok(reports) };
        for judged in self.judged {
            let report = search.find(&judged.reference);
            let inner = if inner { search.whole(&report) } else { Ok(None) };
            let inner = inner.map_err(|failure| format!("the scan report can't be read again: {failure}"))?;
            let image = &judged.image.text;
            set(&mut reports, image, scan_report(image, &report, inner.as_ref().map(from_own)));
        }
        Ok(reports)
    }

    fn answers(&mut self, question: ImageQuestion) -> Result<Value, String> {
        let mut all = Value::new_object();
        let Some(search) = &mut self.search else { return Ok(all) };
        for judged in self.judged {
            let told = answer(question, search, &judged.reference);
            let told = told.map_err(|unknown| format!("'{}': {unknown}", judged.image.shown()))?;
            set(&mut all, &judged.image.text, told);
        }
        Ok(all)
    }
}

/// The answer to a question about one image.
///
/// # Errors
/// Why it is unknown.
fn answer(question: ImageQuestion, search: &mut ReportSearch<'_>, reference: &ImageReference) -> Result<Value, String> {
    match question {
        ImageQuestion::Configurations => {
            search.configurations(reference).map(|told| from_own(&told)).map_err(|unknown| unknown.to_string())
        }
        ImageQuestion::Packages => {
            search.packages(reference).map(|told| from_own(&told)).map_err(|unknown| unknown.to_string())
        }
    }
}
