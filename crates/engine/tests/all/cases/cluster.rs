//! The host of a case.

use super::{Case, IMAGES, Image, Status};
use image_admission_stub_host::{StubHost, manifest};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A cluster and registries where every content has the case's status.
pub(crate) struct Cluster {
    pub(crate) stub: StubHost,
    /// The names of the images that are judged. Nothing else of registries may be asked for.
    tags: Vec<String>,
    contents: Vec<String>,
}

impl Cluster {
    pub(crate) fn new(case: &Case) -> Self {
        let mut host = Self { stub: StubHost::default(), tags: Vec::new(), contents: Vec::new() };
        for container in case.containers.iter().filter(|container| case.is_judged(container)) {
            host = host.with_image(&container.image, case.status(&container.image));
        }
        for kept in case.containers.iter().filter(|container| case.is_kept(container)) {
            host.tags.push(kept.image.by_tag());
            host.stub = host.stub.tag(&kept.image.by_tag(), &kept.image.digest());
        }
        let mut listed = BTreeMap::new();
        for image in &IMAGES {
            let status = case.status(image);
            let with_summary = report(image, Some(u8::from(status == Status::Rejected)));
            host.stub = match status {
                Status::Accepted | Status::Rejected => host.stub.object(with_summary.clone()),
                Status::ReportWithoutSummary => host.stub.object(report(image, None)),
                Status::UnreadableReport => host.stub.broken(&report_name(image)),
                _ => host.stub,
            };
            if status != Status::NoReport {
                listed.insert(report_name(image), with_summary);
            }
        }
        host.stub = host.stub.listed(listed.into_values());
        host
    }

    fn with_image(mut self, image: &Image, status: Status) -> Self {
        self.contents.push(image.by_content());
        self.stub = match status {
            Status::Unresolvable => self.stub,
            Status::NoManifest => self.stub.down(&image.by_content()),
            _ => self.stub.manifest(&image.by_content(), manifest()),
        };
        // A tag beside a digest is never resolved.
        if !image.by_digest {
            self.tags.push(image.by_tag());
            if status != Status::Unresolvable {
                self.stub = self.stub.tag(&image.by_tag(), &image.digest());
            }
        }
        self
    }

    /// What was asked for: the names of images, and of the cluster the operation.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asked = self.stub.calls().into_iter();
        asked.map(|call| if call.namespace == "oci" { call.image().to_owned() } else { call.operation }).collect()
    }

    /// What the engine must never do to a host.
    pub(crate) fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        let (mut resolved, mut shown, mut is_read) = (Vec::new(), Vec::new(), false);
        for call in self.stub.calls() {
            let image = call.image().to_owned();
            match call.operation.as_str() {
                "v1/manifest_digest" if resolved.contains(&image) => {
                    wrongs.push(format!("the host is asked to resolve {image} twice"));
                }
                "v1/manifest_digest" if self.tags.contains(&image) => resolved.push(image),
                "v1/oci_manifest" if self.contents.contains(&image) => {}
                "v1/oci_manifest" if shown.contains(&image) => {
                    wrongs.push(format!("the host is asked what {image} is twice"));
                }
                "v1/oci_manifest" if self.tags.contains(&image) => shown.push(image),
                "v1/manifest_digest" | "v1/oci_manifest" => {
                    wrongs.push(format!("the host is asked for {image}, which is no name of a judged image"));
                }
                "get_resource" if call.masks().next().is_some() => is_read = true,
                "list_resources_by_namespace" if is_read => {}
                "list_resources_by_namespace" => wrongs.push("listed reports before one was read".to_owned()),
                _ => wrongs.push(format!("nothing of these cases is signed, is an artifact or has rules: {call}")),
            }
        }
        wrongs
    }
}

fn report_name(image: &Image) -> String {
    format!("report-{}", image.content)
}

/// sbomscanner's report of an image, with so many critical findings or without a summary.
fn report(image: &Image, critical: Option<u8>) -> Value {
    let host = if image.host == "docker.io" { "index.docker.io" } else { image.host };
    let summary = |critical| json!({"critical": critical, "high": 2, "medium": 0, "low": 1, "unknown": 0});
    json!({
        "apiVersion": "storage.sbomscanner.kubewarden.io/v1alpha1",
        "kind": "VulnerabilityReport",
        "metadata": {"name": report_name(image), "namespace": "sbomscanner"},
        "imageMetadata": {
            "registryURI": host,
            "repository": image.repository,
            "digest": image.digest(),
            "platform": "linux/amd64",
        },
        "report": critical.map_or(json!({}), |critical| json!({"summary": summary(critical), "results": []})),
    })
}
