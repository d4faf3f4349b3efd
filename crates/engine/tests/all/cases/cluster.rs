//! The host of a case.

use super::{Case, IMAGES, Image, Status};
use image_admission_engine::settings::Identity;
use image_admission_engine::{Document, Host, HostFailure, Resource};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A cluster and registries where every content has the case's status. It notes what it is asked.
pub(crate) struct Cluster<'a> {
    pub(crate) case: &'a Case,
    pub(crate) asked: RefCell<Vec<String>>,
    /// What the engine must never do to a host.
    pub(crate) wrongs: RefCell<Vec<String>>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        Self { case, asked: RefCell::default(), wrongs: RefCell::default() }
    }

    /// The image that a canonical name means. Only those that are judged may be asked for.
    pub(crate) fn find(&self, asked: &str, name: fn(&Image) -> String) -> Result<Image, HostFailure> {
        self.asked.borrow_mut().push(asked.to_owned());
        let mut judged = self.case.containers.iter().filter(|container| self.case.is_judged(container));
        judged.find(|container| name(&container.image) == asked).map(|container| container.image).ok_or_else(|| {
            self.wrongs.borrow_mut().push(format!("the host is asked for {asked}, which is no name of a judged image"));
            HostFailure::NotFound("unknown".to_owned())
        })
    }

    pub(crate) fn report(&self, image: &Image, with_summary: bool) -> Value {
        let host = if image.host == "docker.io" { "index.docker.io" } else { image.host };
        let critical = u8::from(self.case.status(image) == Status::Rejected);
        let mut report = json!({
            "kind": "VulnerabilityReport",
            "metadata": {"name": report_name(image), "namespace": "sbomscanner"},
            "imageMetadata": {
                "registryURI": host,
                "repository": image.repository,
                "digest": image.digest(),
                "platform": "linux/amd64",
            },
            "report": {},
        });
        if let (true, Some(body)) = (with_summary, report.pointer_mut("/report")) {
            let summary = json!({"critical": critical, "high": 2, "medium": 0, "low": 1, "unknown": 0});
            *body = json!({"summary": summary, "results": []});
        }
        report
    }
}

pub(crate) fn report_name(image: &Image) -> String {
    format!("report-{}", image.content)
}

pub(crate) fn document(value: &Value) -> Document {
    Document(value.to_string().into_bytes())
}

impl Host for Cluster<'_> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        if self.asked.borrow().iter().any(|asked| asked == image) {
            self.wrongs.borrow_mut().push(format!("the host is asked to resolve {image} twice"));
        }
        // A tag beside a digest is never resolved.
        let tagged = self.find(image, |image| if image.by_digest { String::new() } else { image.by_tag() })?;
        match self.case.status(&tagged) {
            Status::Unresolvable => Err(HostFailure::NotFound("manifest unknown".to_owned())),
            _ => Ok(tagged.digest()),
        }
    }

    fn whole_resource(&self, _: &Resource<'_>) -> Result<Document, HostFailure> {
        Err(HostFailure::Failed("no rule is there that would see it".to_owned()))
    }

    fn list_all_resources(&self, _: &str, _: &str) -> Result<Document, HostFailure> {
        Err(HostFailure::Failed("no rule is there that would see it".to_owned()))
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        let found = self.find(image, Image::by_content)?;
        match self.case.status(&found) {
            Status::Unresolvable => Err(HostFailure::NotFound("manifest unknown".to_owned())),
            Status::NoManifest => Err(HostFailure::Failed("no route to the registry".to_owned())),
            _ => Ok(document(&json!({"config": {}, "layers": []}))),
        }
    }

    fn get_resource(&self, resource: &Resource<'_>, _fields: &[&str]) -> Result<Document, HostFailure> {
        self.asked.borrow_mut().push("get".to_owned());
        let absent = HostFailure::NotFound("no such report".to_owned());
        let Some(image) = IMAGES.iter().find(|image| report_name(image) == resource.name) else { return Err(absent) };
        match self.case.status(image) {
            Status::UnreadableReport => Err(HostFailure::Failed("the API server is overloaded".to_owned())),
            Status::Accepted | Status::Rejected => Ok(document(&self.report(image, true))),
            Status::ReportWithoutSummary => Ok(document(&self.report(image, false))),
            _ => Err(absent),
        }
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        self.wrongs.borrow_mut().push(format!("no source of these cases reads artifacts, and {image} is read"));
        Err(HostFailure::Failed("not answered".to_owned()))
    }

    fn verify(&self, image: &str, _: &Identity, _: &BTreeMap<String, String>) -> Result<String, HostFailure> {
        self.wrongs.borrow_mut().push(format!("nothing of these cases is signed, and {image} is verified"));
        Err(HostFailure::Failed("not answered".to_owned()))
    }

    fn list_resources(&self, _: &str, _: &str, _: &str, _: Option<&str>, _: &[&str]) -> Result<Document, HostFailure> {
        if !self.asked.borrow().iter().any(|asked| asked == "get") {
            self.wrongs.borrow_mut().push("listed reports before one was read".to_owned());
        }
        let reported = IMAGES.iter().filter(|image| self.case.status(image) != Status::NoReport);
        let reports: BTreeMap<String, Value> =
            reported.map(|image| (report_name(image), self.report(image, true))).collect();
        Ok(document(&json!({"items": reports.into_values().collect::<Vec<Value>>()})))
    }
}
