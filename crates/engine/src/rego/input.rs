//! The input of rules: one document with all conventions at once, so that a rule written for any of them runs unchanged.

use crate::request::{AdmissionRequest, Operation};
use image_admission_image::{ImageList, WorkloadImage};
use image_admission_judgement::report::{Field, ScanReport};
use image_admission_rego::evaluation::document::{from_json, from_own, get, set};
use image_admission_rego::rules::ImageQuestion;
use regorus::Value;
use serde_json::Value as Json;

/// The largest request that rules see, in bytes as documents are measured. The host refuses documents of more than 2 MiB, which
/// measure three times as much at most unless they consist of nothing but brackets.
pub(super) const MAX_REQUEST: usize = 8 * 1024 * 1024;

/// What is known of a request's images beside their names, if rules mention it.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownOfImages<'a> {
    /// By image, the scan reports.
    pub(super) reports: Option<&'a Value>,
    /// The answers, by image.
    pub(super) answers: Vec<(ImageQuestion, &'a Value)>,
}

/// What rules see of a request. All documents share its parts.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// The AdmissionRequest, in Kubernetes' spelling.
    pub(super) request: Value,
    /// The same as Gatekeeper gives it: for a deletion, the old object is the object.
    review: Value,
    /// The object that is judged.
    pub(super) object: Value,
    images: Value,
}

impl Input {
    /// The parts of a request as it came. `images` are all images of its object.
    ///
    /// # Errors
    /// Why the request can't be read.
    pub(crate) fn new(request: &AdmissionRequest<'_>, images: &[WorkloadImage]) -> Result<Self, String> {
        let mut document = from_json(request.raw(), MAX_REQUEST).map_err(|error| error.to_string())?;
        // Without an object, Kubernetes writes null and the host leaves the key out.
        for key in ["object", "oldObject"] {
            if get(&document, key) == Value::Null {
                set(&mut document, key, Value::Null);
            }
        }
        let mut review = document.clone();
        let mut object = get(&document, "object");
        if object == Value::Null && matches!(request.operation, Operation::Delete) {
            object = get(&document, "oldObject");
            set(&mut review, "object", object.clone());
        }
        Ok(Self { request: document, review, object, images: image_lists(images) })
    }

    /// The same request with another object, and the images of that.
    pub(crate) fn with_object(&self, object: &Json, images: &[WorkloadImage]) -> Self {
        let mut input = self.clone();
        input.object = from_own(object);
        set(&mut input.request, "object", input.object.clone());
        input.review = input.request.clone();
        input.images = image_lists(images);
        input
    }

    /// The input of a policy's rules.
    pub(super) fn for_policy(&self, parameters: Option<&Json>, known: &KnownOfImages<'_>) -> Value {
        let mut document = if self.object.as_object().is_ok() { self.object.clone() } else { Value::new_object() };
        set(&mut document, "request", self.request.clone());
        set(&mut document, "review", self.review.clone());
        set(&mut document, "AdmissionRequest", self.request.clone());
        set(&mut document, "images", self.images.clone());
        if let Some(parameters) = parameters {
            set(&mut document, "parameters", from_own(parameters));
        }
        if let Some(reports) = known.reports {
            set(&mut document, "scanReports", reports.clone());
        }
        for (question, answer) in &known.answers {
            set(&mut document, question.in_policies(), (*answer).clone());
        }
        document
    }
}

/// A scan report as rules see it. `inner` is the scanner's own report, whole.
pub(crate) fn scan_report(image: &str, report: &ScanReport, inner: Option<Value>) -> Value {
    let mut value = Value::new_object();
    for (key, field) in report.fields(image) {
        let field = match field {
            Field::Text(text) => Value::from(text.as_ref()),
            Field::Flag(flag) => Value::from(flag),
            Field::None => Value::Null,
        };
        set(&mut value, key, field);
    }
    set(&mut value, "InnerReport", inner.unwrap_or(Value::Null));
    value
}

/// `{"containers": ["nginx:1.25"], "initContainers": […], …}`, in the order of the object.
fn image_lists(images: &[WorkloadImage]) -> Value {
    let mut lists = Value::new_object();
    for list in ImageList::ALL {
        let of_list = images.iter().filter(|image| image.list == list);
        let texts: Vec<Value> = of_list.map(|image| Value::from(image.text.as_str())).collect();
        set(&mut lists, list.field(), Value::from(texts));
    }
    lists
}
