//! The rules of one request: what they change, what they say in the phases, and what they say after them.

use super::document::from_own;
use super::phases::{PhaseInput, PreScanRules};
use super::policies::{Outside, Policies, can_patch};
use super::seen::SeenModule;
use super::{Budget, Cluster, Input, Phase, PhaseRules, Seen, scan_report};
use crate::Timestamp;
use crate::decision::{Decision, JudgedImage, Outcome};
use crate::host::Host;
use crate::image::{WorkloadImage, images};
use crate::instance::done_with;
use crate::prescan::PreScan;
use crate::report::ReportSearch;
use crate::request::{AdmissionRequest, Operation, UnreadableRequest};
use crate::settings::Settings;
use crate::workload::WorkloadKind;
use regorus::Value;
use serde_json::Value as Json;
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// Everything in Rego that one request meets.
pub(crate) struct RequestRules<'a> {
    request: &'a AdmissionRequest<'a>,
    settings: &'a Settings,
    host: &'a dyn Host,
    now: Timestamp,
    budget: &'a Budget,
    /// Read when somebody looks at it, and at once for policies.
    input: OnceCell<Input>,
    /// The object as policies leave it; none without policies.
    object: Option<Json>,
    policies: Option<Policies<'a>>,
    cluster: Cluster<'a>,
}

impl<'a> RequestRules<'a> {
    /// Loads the policies of the request's kind; none when no rule has anything to say about the request.
    ///
    /// # Errors
    /// The request can't be read as a document.
    #[inline(never)]
    pub(crate) fn load(
        request: &'a AdmissionRequest<'a>,
        settings: &'a Settings,
        host: &'a dyn Host,
        now: Timestamp,
        budget: &'a Budget,
    ) -> Result<Option<Self>, UnreadableRequest> {
        let policies = Policies::load(settings, request, budget, now);
        let has_phases = can_patch(request.operation) && WorkloadKind::of(&request.group, &request.kind).is_some();
        let has_custom = !(settings.rego.pre_custom_rules.is_empty() && settings.rego.custom_rules.is_empty());
        if policies.is_none() && !(has_phases && has_custom) {
            return Ok(None);
        }
        let (mut object, input) = (None, OnceCell::new());
        if policies.is_some() {
            let deleted = || request.old_object().filter(|_| request.operation == Operation::Delete);
            object = request.object().ok().or_else(deleted);
            let named = object.as_ref().map(|object| named_images(object, request)).unwrap_or_default();
            let _ = input.set(Input::new(request, &named).map_err(UnreadableRequest::NotARequest)?);
        }
        let cluster = Cluster::new(&settings.rego.context, host, &request.namespace);
        Ok(Some(Self { request, settings, host, now, budget, input, object, policies, cluster }))
    }

    /// What custom rules see of the request.
    fn input(&self) -> Result<&Input, String> {
        match self.input.get() {
            Some(input) => Ok(input),
            None => Input::new(self.request, &[]).map(|input| self.input.get_or_init(|| input)),
        }
    }

    /// Applies the patches of all policies; the object that they leave, if it is another. From here on rules see that.
    #[inline(never)]
    pub(crate) fn patch(&mut self) -> Option<Json> {
        let (policies, before) = (self.policies.as_mut()?, self.input.get()?);
        let Some(object) = self.object.as_ref().filter(|_| can_patch(self.request.operation)) else {
            policies.ask_first(before, &mut self.cluster);
            return None;
        };
        let request = self.request;
        let again = |object: &Json| before.with_object(object, &named_images(object, request));
        let patched = policies.patch(before, object, &mut self.cluster, again)?;
        self.input = OnceCell::from(again(&patched));
        self.object = Some(patched.clone());
        Some(patched)
    }

    /// What pre-scan says with its custom rules, where `native` is what it says without them.
    #[inline(never)]
    pub(crate) fn pre_scan(
        &self,
        native: PreScan,
        decision: &mut Decision,
        object: &Json,
        workload: WorkloadKind,
    ) -> PreScan {
        let namespace = crate::namespace(object, self.request);
        let rules = match PhaseRules::load(self.settings, Phase::PreScan, namespace, self.budget, self.now) {
            None => return native,
            Some(Ok(rules)) => rules,
            Some(Err(error)) => return PreScan::Rejected(BTreeSet::from([evaluation_error(error)])),
        };
        let ready = self.with_data(rules, workload).and_then(|rules| {
            PhaseInput::new(&rules, || self.input(), object, workload, self.request, &decision.images)
                .map(|input| (rules, input.pre_scan()))
                .map_err(evaluation_error)
        });
        let said = match ready {
            Ok((mut rules, input)) => {
                self.see(decision, "preCustomRules", &input, &rules.data(), &rules.texts);
                rules.pre_scan(input)
            }
            Err(why) => PreScanRules { deny: BTreeSet::from([why]), ..PreScanRules::default() },
        };
        said.combine(native)
    }

    /// Asks the custom rules of the scan phase about each image, and notes at it what they deny.
    #[inline(never)]
    pub(crate) fn scan(
        &self,
        decision: &mut Decision,
        object: &Json,
        workload: WorkloadKind,
        search: &mut ReportSearch<'_>,
    ) {
        let namespace = crate::namespace(object, self.request);
        let loaded = PhaseRules::load(self.settings, Phase::Scan, namespace, self.budget, self.now);
        let Some(loaded) = loaded else { return };
        let loaded = loaded.map_err(evaluation_error).and_then(|rules| self.with_data(rules, workload));
        let ready = loaded.and_then(|rules| {
            PhaseInput::new(&rules, || self.input(), object, workload, self.request, &decision.images)
                .map(|input| (rules, input))
                .map_err(evaluation_error)
        });
        let (mut rules, input) = match ready {
            Ok(ready) => ready,
            Err(why) => {
                for scan in decision.images.iter_mut().filter_map(|judged| judged.scan.as_mut()) {
                    scan.custom.insert(why.clone());
                }
                return;
            }
        };
        let mut seen = Vec::new();
        for judged in &mut decision.images {
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
            let container = crate::pointer::at(object, judged.image.owner_pointer()).unwrap_or(&Json::Null);
            let input = match input.scan(container, report) {
                Ok(input) => input,
                Err(why) => {
                    scan.custom.insert(evaluation_error(why));
                    continue;
                }
            };
            if self.settings.verbose_log {
                seen.push(Seen::new("customRules", &input, &rules.data(), &rules.texts));
            }
            scan.custom = rules.deny_image(input);
            if rules.is_whole() {
                scan.denied = None;
            }
        }
        decision.seen.extend(seen);
    }

    /// Asks all policies, and completes the decision with what they say.
    pub(crate) fn decide(self, mut decision: Decision) -> Decision {
        let Self { request, settings, host, now, input, object, mut cluster, .. } = self;
        let (Some(mut policies), Some(input)) = (self.policies, input.into_inner()) else { return decision };
        decision.policies_hash = Some(policies.hash.clone());
        let object = object.unwrap_or(Json::Null);
        let namespace = crate::namespace(&object, request);
        let workload = WorkloadKind::of(&request.group, &request.kind).unwrap_or(WorkloadKind::Pod);
        let is_scanned = decision.outcome == Outcome::Scanned;
        let subject = crate::scan::subject(&decision.images, &object, workload, namespace, is_scanned, settings);
        let known = std::mem::take(&mut decision.known);
        let mut search = ReportSearch::new(settings, host, &subject, now);
        search.go_on_from(known);
        let mut reports = Reports { judged: &decision.images, search };
        policies.decide(&input, &mut cluster, &mut reports);
        done_with(reports);
        if settings.verbose_log {
            decision.seen.extend(policies.seen());
        }
        decision.policies = policies.outcomes();
        decision
    }

    fn with_data<'r>(
        &self,
        mut rules: Box<PhaseRules<'r>>,
        workload: WorkloadKind,
    ) -> Result<Box<PhaseRules<'r>>, String> {
        if !rules.sees_settings() {
            return Ok(rules);
        }
        let data = super::settings_data(&self.settings.rego.phases, workload.is_template());
        rules.set_data(data).map(|()| rules).map_err(evaluation_error)
    }

    fn see(&self, decision: &mut Decision, by: &str, input: &Value, data: &Value, texts: &[SeenModule]) {
        if self.settings.verbose_log {
            decision.seen.push(Seen::new(by, input, data, texts));
        }
    }
}

fn evaluation_error(why: impl std::fmt::Display) -> String {
    format!("Evaluation error: {why}")
}

/// All images that an object names, or none where it can't be read: the phases say so.
fn named_images(object: &Json, request: &AdmissionRequest<'_>) -> Vec<WorkloadImage> {
    let workload = WorkloadKind::of(&request.group, &request.kind);
    workload.and_then(|workload| images(object, workload).ok()).unwrap_or_default()
}

/// The scan reports of the images that the request brings. The phases and verification may have found them already, or
/// resolved a tag: the search goes on from what they know, so that rules judge the digest that is pinned.
struct Reports<'r> {
    judged: &'r [JudgedImage],
    search: ReportSearch<'r>,
}

impl Outside for Reports<'_> {
    fn reports(&mut self, inner: bool) -> Result<Value, String> {
        let mut reports = Value::new_object();
        for judged in self.judged {
            let report = self.search.find(&judged.reference);
            let inner = if inner { self.search.whole(&report) } else { Ok(None) };
            let inner = inner.map_err(|failure| format!("the scan report can't be read again: {failure}"))?;
            let image = &judged.image.text;
            super::input::set(&mut reports, image, scan_report(image, &report, inner.as_ref().map(from_own)));
        }
        Ok(reports)
    }
}
