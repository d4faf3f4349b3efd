//! Exemptions in the cluster: objects of this project's own kind.
//!
//! They are listed once for a request, and only if a finding would reject it. RBAC decides who may write such an object. One in a
//! workload's own namespace holds only there. An object counts as a GET shows it.

use super::of_image;
use crate::comparisons::Comparisons;
use crate::reason::UnknownExemptions;
use image_admission_host::cluster::{Listed, Named, Objects, items};
use image_admission_host::{Host, HostFailure};
use image_admission_image::ImageReference;
use image_admission_settings::{Exemption, ExemptionObject, ExemptionsFrom, Settings, VoidExemption};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory::AnyJson;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

const API_VERSION: &str = ExemptionObject::API_VERSION;
const KIND: &str = ExemptionObject::KIND;
/// The requested fields.
const FIELDS: [&str; 1] = ["spec"];
/// The most vulnerabilities, packages, images and namespaces that the objects of a workload's own namespace may name together: the
/// namespace's people choose how many there are. Their kind bounds how long each is.
const MAX_NAMED: usize = 10_000;
/// The most comparisons of what they name with the ids of findings, for all images of a request. Twice as many took the module 1.5 s
/// with the worst patterns, on a busy machine.
const MAX_COMPARISONS: usize = 1_000_000;
/// The most objects that a request finds changed since they were listed. For each of them the findings are compared anew, and hosts
/// keep an answer for some seconds, so that whoever changes many of them at once could have that done hundreds of times.
const MAX_CHANGED: usize = 10;

/// The exemptions in the cluster, as far as they are about the workload of one request.
pub struct ExemptionObjects<'a> {
    host: &'a dyn Host,
    settings: &'a ExemptionsFrom,
    /// The workload's namespace.
    namespace: &'a str,
    now: Timestamp,
    /// What the lists show, once they were needed.
    shown: OnceCell<Vec<Exemption>>,
    /// By namespace and name, whether a GET shows the same.
    read: RefCell<BTreeMap<(String, String), bool>>,
    /// How many a GET showed differently from the list.
    changed: Cell<usize>,
    /// The first look-up that failed.
    failed: RefCell<Option<UnknownExemptions>>,
    /// Those that are left of what they name with the ids of findings.
    comparisons: Comparisons,
}

impl<'a> ExemptionObjects<'a> {
    /// Those for a workload of `namespace`; none if the settings use no objects. Makes no calls yet.
    pub fn new(settings: &'a Settings, host: &'a dyn Host, now: Timestamp, namespace: &'a str) -> Option<Self> {
        let settings = settings.exemptions_from.as_deref()?;
        Some(Self {
            host,
            settings,
            namespace,
            now,
            shown: OnceCell::new(),
            read: RefCell::default(),
            changed: Cell::new(0),
            failed: RefCell::default(),
            comparisons: Comparisons::new(MAX_COMPARISONS),
        })
    }

    /// Those about an image, without those that a GET shows differently from the list; none once too many were.
    pub(crate) fn of_image(&self, reference: &ImageReference) -> Vec<&Exemption> {
        if self.changed.get() > MAX_CHANGED {
            return Vec::new();
        }
        let shown = self.shown.get_or_init(|| self.list());
        let read = self.read.borrow();
        let mut exemptions = of_image(shown, reference, self.namespace);
        exemptions.retain(|exemption| key(exemption).is_none_or(|key| read.get(&key) != Some(&false)));
        exemptions
    }

    /// How often a finding is compared, for each of its ids, with what these exemptions name in objects of the workload's own namespace.
    pub(crate) fn comparisons(&self, exemptions: &[&Exemption]) -> usize {
        let is_own =
            |exemption: &&&Exemption| exemption.object.as_ref().is_some_and(|of| !self.is_of_owner(&of.namespace));
        exemptions.iter().filter(is_own).map(|of| of.vulnerabilities.len() + of.packages.len()).sum()
    }

    /// Counts comparisons, and tells whether there may be so many. If not, that is a look-up that failed.
    pub(crate) fn may_compare(&self, comparisons: usize) -> bool {
        let may = self.comparisons.take(comparisons);
        if !may {
            let why = format!("comparing them with all findings takes more than {MAX_COMPARISONS} steps: delete some");
            self.note(self.namespace, HostFailure::Malformed(why));
        }
        may
    }

    /// Whether the objects of a namespace hold everywhere, and are the policy owner's.
    fn is_of_owner(&self, namespace: &str) -> bool {
        self.settings.namespace.as_deref() == Some(namespace)
    }

    /// Whether an exemption still says what the list showed: a list may be outdated. One of the settings always does.
    pub fn is_current(&self, exemption: &Exemption) -> bool {
        let Some(key) = key(exemption).filter(|_| is_on(Remedy::ReadWhatIsListed)) else { return true };
        if let Some(known) = self.read.borrow().get(&key) {
            return *known;
        }
        let (namespace, name) = &key;
        let is_current = match self.get(namespace, name) {
            Ok(read) => read.as_ref() == Some(exemption),
            Err(failure) => {
                self.note(namespace, failure);
                false
            }
        };
        if !is_current {
            self.changed.set(self.changed.get() + 1);
        }
        if self.changed.get() > MAX_CHANGED {
            let why =
                format!("more than {MAX_CHANGED} of them changed since they were listed: try again in a few seconds");
            self.note(namespace, HostFailure::Malformed(why));
        }
        self.read.borrow_mut().insert(key, is_current);
        is_current
    }

    /// What couldn't be looked up, if anything couldn't.
    pub fn unknown(&self) -> Option<UnknownExemptions> {
        self.failed.borrow().clone()
    }

    fn list(&self) -> Vec<Exemption> {
        let mut objects = Objects::new(self.host, API_VERSION, KIND);
        let mut exemptions = Vec::new();
        for namespace in self.settings.namespaces(self.namespace) {
            let listed = objects.list(namespace, None, &FIELDS).and_then(|document| {
                let items: Vec<Object<'_>> = items(&document, namespace)?;
                let found: Vec<_> = items.into_iter().filter_map(|item| self.exemption(item, namespace)).collect();
                self.check_length(&found, namespace)?;
                exemptions.extend(found);
                Ok(())
            });
            // Exemptions of other namespaces hold all the same, and may need none of this one.
            if let Err(failure) = listed {
                self.note(namespace, failure);
            }
        }
        exemptions
    }

    /// Refuses more than is compared with images and findings.
    fn check_length(&self, found: &[Exemption], namespace: &str) -> Result<(), HostFailure> {
        let names =
            |of: &Exemption| of.vulnerabilities.len() + of.packages.len() + of.images.len() + of.namespaces.len();
        let named: usize = found.iter().map(names).sum();
        if named <= MAX_NAMED || self.is_of_owner(namespace) {
            return Ok(());
        }
        let why = format!(
            "they name {named} vulnerabilities, packages, images and namespaces, {MAX_NAMED} are the most: delete some"
        );
        Err(HostFailure::Malformed(why))
    }

    fn get(&self, namespace: &str, name: &str) -> Result<Option<Exemption>, HostFailure> {
        let Some(document) = Objects::new(self.host, API_VERSION, KIND).get(namespace, name, &FIELDS)? else {
            return Ok(None);
        };
        let object: Object<'_> = document.read()?;
        let is_it = object.metadata.named.name.as_str() == name
            && (object.metadata.named.namespace.as_ref().map(JsonString::as_str) == Some(namespace)
                || !is_on(Remedy::MatchNamespace))
            && object.kind.as_ref().is_none_or(|kind| kind.as_str() == KIND);
        Ok(if is_it { self.exemption(object, namespace) } else { None })
    }

    fn note(&self, namespace: &str, failure: HostFailure) {
        let unknown = || UnknownExemptions { namespace: namespace.to_owned(), failure };
        self.failed.borrow_mut().get_or_insert_with(unknown);
    }

    /// What an object says, and why it holds for nothing; none if it is being deleted.
    fn exemption(&self, object: Object<'_>, namespace: &str) -> Option<Exemption> {
        let Metadata { named, creation_timestamp, deletion_timestamp } = object.metadata;
        if deletion_timestamp.is_some() && is_on(Remedy::DeletedExemptsNothing) {
            return None;
        }
        let (mut exemption, approved_by, problems) = Exemption::of_spec(object.spec.as_ref().map(|AnyJson(spec)| spec));
        let made = creation_timestamp.as_ref().and_then(|time| Timestamp::parse(time.as_str()));
        let malformed = problems.into_iter().next().map(VoidExemption::Malformed);
        let void = malformed.filter(|_| is_on(Remedy::MalformedExemptsNothing));
        let void = void.or_else(|| self.out_of_bounds(&exemption, approved_by.as_deref(), made));
        let severities = &self.settings.severities;
        exemption.object = Some(Box::new(ExemptionObject {
            namespace: namespace.to_owned(),
            name: named.name.0.into_owned(),
            approved_by,
            severities: if is_on(Remedy::BoundExemptions) { severities.clone() } else { Vec::new() },
            void,
        }));
        Some(exemption)
    }

    /// The bound of the settings that an object exceeds, whatever the finding is.
    fn out_of_bounds(
        &self,
        exemption: &Exemption,
        approved_by: Option<&str>,
        made: Option<Timestamp>,
    ) -> Option<VoidExemption> {
        if self.settings.require_approved_by && approved_by.is_none() && is_on(Remedy::BoundExemptions) {
            return Some(VoidExemption::NotApproved);
        }
        let longest = self.settings.max_duration.as_ref()?;
        match made {
            None => is_on(Remedy::KnowAgeOfExemptions).then_some(VoidExemption::Undated),
            // Its duration would begin then, and could be put off for ever.
            Some(made) if made > self.now => {
                is_on(Remedy::KnowAgeOfExemptions).then_some(VoidExemption::MadeLater(made))
            }
            Some(made) => (exemption.expires.is_day_beyond(longest, made) && is_on(Remedy::BoundExemptions))
                .then(|| VoidExemption::TooLong(longest.clone())),
        }
    }
}

impl fmt::Debug for ExemptionObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExemptionObjects").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// The namespace and the name of an exemption's object.
fn key(exemption: &Exemption) -> Option<(String, String)> {
    exemption.object.as_ref().map(|object| (object.namespace.clone(), object.name.clone()))
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
    spec: Option<AnyJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, flatten)]
    named: Named<'a>,
    #[serde(borrow)]
    creation_timestamp: Option<JsonString<'a>>,
    #[serde(borrow)]
    deletion_timestamp: Option<JsonString<'a>>,
}

impl Listed for Object<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata.named
    }
}
