//! What is known, and what is to be done: the one thing here that changes.
//!
//! Observations come in, actions come out, and the time is an argument. Nothing is remembered that the cluster doesn't say again after a
//! restart, except for how often a scan has failed.

use crate::action::Action;
use crate::backoff::{spread, wait};
use crate::budget::{Budget, most_of_one};
use crate::event::Happened;
use crate::image::{Image, NamedImage, UsedImages};
use crate::metrics::Metrics;
use crate::observation::Observation;
use crate::registry::{LOOK_UP, Registry};
use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::scan_progress::ScanProgress;
use crate::scanner::{End, Judgement, NewObject, Presence, Request, Scanner, Shared};
use crate::settings::CompanionSettings;
use crate::turns::Turns;
use crate::wakes::Wakes;
use crate::workload::Workload;
use image_admission_untrusted::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// How many images are judged at once.
const JUDGED_AT_ONCE: usize = 8;
/// How long after its last judgement an image is judged again, if nothing happens: reports may go without a word.
const JUDGED_AGAIN: i64 = 3_600;
/// The same for an image whose scan is under way.
const JUDGED_AGAIN_SOON: i64 = 60;
/// Due when something happens.
const NEVER: Timestamp = Timestamp(i64::MAX);
/// The most Events of one minute.
const TOLD_PER_MINUTE: usize = 60;
/// The most workloads of one image that are told, or woken, of one scan.
const TOLD_OF_ONE: usize = 20;
/// How often it is looked at what requests shared that nobody uses any more.
const SHARED: i64 = 60;

/// The state of everything.
#[derive(Debug)]
pub struct Companion {
    settings: CompanionSettings,
    /// None: evidence alone is asked for.
    scanner: Option<Scanner>,
    started: Timestamp,
    workloads: BTreeMap<String, Workload>,
    /// Namespaces that the policy leaves out.
    left_out: BTreeSet<String>,
    images: BTreeMap<NamedImage, Image>,
    /// Whether a workload has an image that isn't among them, since there were too many.
    has_too_many: bool,
    /// Whether one has gone since.
    has_new_room: bool,
    scans: BTreeMap<ScanId, ScanProgress>,
    /// By the host of a registry.
    registries: BTreeMap<String, Registry>,
    asks: Budget,
    tells: Budget,
    /// By namespace: none has all Events.
    tells_of: BTreeMap<String, Budget>,
    /// Whose scans are asked for, and whose images are looked up.
    asked: Turns,
    looked_up: Turns,
    wakes: Wakes,
    judging: usize,
    /// When it is looked at next what requests shared.
    shared_due: Timestamp,
    actions: Vec<Action>,
    counted: Metrics,
}

impl Companion {
    /// A companion that has seen nothing yet.
    #[must_use]
    pub fn new(settings: CompanionSettings, scanner: Option<Scanner>, now: Timestamp) -> Self {
        Self {
            asks: Budget::new(settings.scans.per_minute),
            tells: Budget::new(TOLD_PER_MINUTE),
            tells_of: BTreeMap::new(),
            settings,
            scanner,
            started: now,
            workloads: BTreeMap::new(),
            left_out: BTreeSet::new(),
            images: BTreeMap::new(),
            has_too_many: false,
            has_new_room: false,
            scans: BTreeMap::new(),
            registries: BTreeMap::new(),
            asked: Turns::default(),
            looked_up: Turns::default(),
            wakes: Wakes::default(),
            judging: 0,
            shared_due: now,
            actions: Vec::new(),
            counted: Metrics::default(),
        }
    }

    /// Takes something in.
    pub fn observe(&mut self, observation: Observation, now: Timestamp) {
        match observation {
            Observation::Workload { uid, workload } => self.set_workload(uid, workload, now),
            Observation::Workloads(kind, uids) => {
                let is_gone =
                    |workload: &Workload| workload.reference.kind == kind && !uids.contains(&workload.reference.uid);
                let gone: Vec<String> =
                    self.workloads.iter().filter(|(_, of)| is_gone(of)).map(|(uid, _)| uid.clone()).collect();
                for uid in gone {
                    self.set_workload(uid, None, now);
                }
            }
            Observation::Namespace { name, is_left_out } => self.set_namespace(name, is_left_out, now),
            Observation::Judged(image, judgement) => self.judged(&image, judgement, now),
            Observation::Request(request) => self.see(request, now),
            Observation::Requests(uids) => {
                for scan in self.scans.values_mut() {
                    scan.lose_requests(|uid| !uids.contains(uid));
                }
            }
            Observation::RequestGone(request) => {
                if let Some(scan) = self.scans.get_mut(&request.id) {
                    scan.lose_requests(|uid| uid == request.uid);
                }
            }
            Observation::Shared(shared) => {
                let scan = self.scans.entry(shared.id.clone()).or_default();
                let deleted = scan.shared.take().filter(|(known, _)| *known == shared).and_then(|(_, deleted)| deleted);
                scan.shared = Some((shared, deleted));
            }
            Observation::AllShared(uids) => {
                for scan in self.scans.values_mut() {
                    scan.shared = scan.shared.take().filter(|(shared, _)| uids.contains(&shared.uid));
                }
            }
            Observation::SharedGone(gone) => {
                if let Some(scan) = self.scans.get_mut(&gone.id) {
                    scan.shared = scan.shared.take().filter(|(shared, _)| shared.uid != gone.uid);
                }
            }
            Observation::Report(id, attempt) => {
                let scan = self.scans.entry(id).or_default();
                scan.note_attempt(attempt);
                let users = scan.users.clone();
                self.judge_now(&users, now);
            }
            Observation::Evidence { digest, images } => self.see_evidence(&digest, &images, now),
            Observation::Asked { id, attempt, result } => self.asked(&id, attempt, result, now),
        }
    }

    /// What is to be done now. Call it after observations, and each second.
    pub fn due(&mut self, now: Timestamp) -> Vec<Action> {
        self.make_up(now);
        self.end_requests(now);
        self.end_shared(now);
        self.ask(now);
        self.judge(now);
        self.wake(now);
        self.forget();
        std::mem::take(&mut self.actions)
    }

    /// How many there are of what.
    #[must_use]
    pub fn metrics(&self, now: Timestamp) -> Metrics {
        let wanted: Vec<&ScanProgress> = self.scans.values().filter(|scan| !scan.lacking.is_empty()).collect();
        let under_way = wanted.iter().filter(|scan| scan.is_under_way()).count();
        let failed = wanted.iter().filter(|scan| scan.is_failed(now)).count();
        let oldest = wanted.iter().filter_map(|scan| scan.since).map(|since| now.0 - since.0).max().unwrap_or(0);
        Metrics {
            images: count(self.images.len()),
            images_waiting: count(self.images.values().filter(|image| image.lacks() || !image.was_judged).count()),
            scans_waiting: count(wanted.len() - under_way - failed),
            scans_asked: count(under_way),
            scans_failed: count(failed),
            oldest_wait: Duration::from_secs(u64::try_from(oldest).unwrap_or(0)),
            ..self.counted.clone()
        }
    }

    /// The images that are used, and those of their platforms that are scanned, each with the namespaces that use it:
    /// `host/repository:tag`, or `host/repository@digest` where the digest is known.
    #[must_use]
    pub fn used(&self) -> UsedImages {
        let mut used = UsedImages::new();
        for image in self.images.keys() {
            if let Some(name) = image.name() {
                used.entry(name).or_default().insert(image.namespace.clone());
            }
        }
        for scan in self.scans.values().filter(|scan| !scan.users.is_empty()) {
            let Some(target) = &scan.target else { continue };
            let namespaces = used.entry(target.reference.at(&target.digest)).or_default();
            namespaces.extend(scan.users.iter().map(|user| user.namespace.clone()));
        }
        used
    }

    fn set_namespace(&mut self, name: String, is_left_out: bool, now: Timestamp) {
        if self.left_out.contains(&name) == is_left_out {
            return;
        }
        let there: Vec<(String, Workload)> = self
            .workloads
            .iter()
            .filter(|(_, of)| of.reference.namespace == name)
            .map(|(u, w)| (u.clone(), w.clone()))
            .collect();
        for (uid, _) in &there {
            self.set_workload(uid.clone(), None, now);
        }
        if is_left_out {
            self.left_out.insert(name);
        } else {
            self.left_out.remove(&name);
        }
        for (uid, workload) in there {
            self.set_workload(uid, Some(workload), now);
        }
    }

    /// The images of a workload that are looked after.
    fn images_of(&self, workload: &Workload) -> BTreeSet<NamedImage> {
        let namespace = &workload.reference.namespace;
        let named = |image: &String| NamedImage { namespace: namespace.clone(), image: image.clone() };
        let images = workload.images.iter().filter(|_| !self.left_out.contains(namespace));
        images.map(named).collect()
    }

    fn set_workload(&mut self, uid: String, workload: Option<Workload>, now: Timestamp) {
        let before = self.workloads.remove(&uid).map(|before| self.images_of(&before)).unwrap_or_default();
        let after = workload.as_ref().map(|after| self.images_of(after)).unwrap_or_default();
        for image in before.difference(&after) {
            self.unuse(image, &uid);
        }
        for image in &after {
            if !self.images.contains_key(image) && !self.has_room(&image.namespace) {
                self.counted.left_out += u64::from(!before.contains(image));
                self.has_too_many = true;
                continue;
            }
            self.images.entry(image.clone()).or_insert_with(|| Image::new(image, now)).users.insert(uid.clone());
        }
        if let Some(workload) = workload {
            self.workloads.insert(uid, workload);
        }
    }

    /// Whether one more image of a namespace is looked after. No namespace takes all the room that the others leave, so that a few
    /// of them don't take all of it either.
    fn has_room(&self, namespace: &str) -> bool {
        let first = NamedImage { namespace: namespace.to_owned(), image: String::new() };
        let own = self.images.range(first..).take_while(|(image, _)| image.namespace == namespace).count();
        let left = self.settings.images.saturating_sub(self.images.len() - own);
        own < left && own < most_of_one(left)
    }

    /// Looks after images that were too many, once others have gone.
    fn make_up(&mut self, now: Timestamp) {
        if self.has_too_many && std::mem::take(&mut self.has_new_room) {
            self.has_too_many = false;
            for (uid, workload) in self.workloads.clone() {
                self.set_workload(uid, Some(workload), now);
            }
        }
    }

    fn unuse(&mut self, image: &NamedImage, uid: &str) {
        let Some(known) = self.images.get_mut(image) else { return };
        known.users.remove(uid);
        if known.users.is_empty() {
            let ids: Vec<ScanId> = known.scans.keys().cloned().collect();
            self.images.remove(image);
            self.has_new_room = true;
            for id in ids {
                self.release(&id, image);
            }
        }
    }

    /// An image doesn't need a scan any more.
    fn release(&mut self, id: &ScanId, image: &NamedImage) {
        if let Some(scan) = self.scans.get_mut(id) {
            scan.users.remove(image);
            scan.lacking.remove(image);
        }
    }

    fn judged(&mut self, named: &NamedImage, judgement: Judgement, now: Timestamp) {
        self.judging = self.judging.saturating_sub(1);
        if let Some(host) = named.registry() {
            let registry = self.registry(&host);
            registry.end();
        }
        // It may be gone in the meantime.
        let Some(image) = self.images.get_mut(named) else { return };
        image.is_being_judged = false;
        if let Judgement::Failed { down, until } = judgement {
            image.failures += 1;
            self.counted.registry_failures += 1;
            image.due = after(now, wait(LOOK_UP, image.failures, &named.image));
            if let Some(host) = down {
                self.registry(&host).fail(&host, until, now);
            }
            return;
        }
        let was_told = image.impossible;
        let is_first = !std::mem::replace(&mut image.was_judged, true);
        image.failures = 0;
        image.impossible = None;
        let was_looked_up = judgement != Judgement::NotAsked;
        let (scans, told) = match judgement {
            Judgement::NotAsked | Judgement::Failed { .. } => (Vec::new(), None),
            Judgement::Impossible(why) => {
                image.impossible = Some(why);
                (Vec::new(), (was_told != Some(why)).then_some(Happened::ScanFailed(why)))
            }
            Judgement::Known(scans) => (scans, None),
        };
        let before = std::mem::replace(
            &mut image.scans,
            scans.iter().map(|(id, _, presence)| (id.clone(), *presence)).collect(),
        );
        let lacks = image.lacks();
        let again = if lacks { JUDGED_AGAIN_SOON } else { JUDGED_AGAIN };
        if image.due == NEVER {
            image.due = after(now, again + spread(&named.image, again / 5));
        }
        if was_looked_up && let Some(host) = named.registry() {
            self.succeed(&host, now);
        }
        for id in before.keys().filter(|id| !scans.iter().any(|(own, _, _)| own == *id)) {
            self.release(id, named);
        }
        let mut is_news = false;
        for (id, target, presence) in scans {
            is_news |= self.set_presence(id, target, presence, named, now);
        }
        if let Some(told) = told {
            self.tell(named, &told, now);
        }
        if is_news {
            self.tell(named, &Happened::ImageScanned, now);
        }
        if (is_news || is_first) && !lacks && self.settings.wake {
            self.wake_users(named, now);
        }
    }

    /// Notes whether a scan is there. Returns whether it has come since it was last looked for.
    fn set_presence(
        &mut self,
        id: ScanId,
        target: Target,
        presence: Presence,
        image: &NamedImage,
        now: Timestamp,
    ) -> bool {
        let scan = self.scans.entry(id).or_default();
        let has_moved = scan.target.as_ref().is_some_and(|before| before.digest != target.digest);
        scan.target = Some(target);
        scan.users.insert(image.clone());
        scan.is_reported = presence == Presence::Reported;
        if presence != Presence::Reported {
            scan.lack(image, has_moved, now);
            return false;
        }
        let is_news = scan.lacking.remove(image);
        if scan.lacking.is_empty() && scan.succeed() {
            self.counted.reported += 1;
            // Others with this scan find it now.
            let others: BTreeSet<NamedImage> = scan.users.iter().filter(|user| *user != image).cloned().collect();
            self.judge_now(&others, now);
        } else if is_news {
            let others = scan.lacking.clone();
            self.judge_now(&others, now);
        }
        is_news
    }

    fn judge_now(&mut self, images: &BTreeSet<NamedImage>, now: Timestamp) {
        for image in images {
            if let Some(image) = self.images.get_mut(image) {
                image.due = now;
            }
        }
    }

    fn see(&mut self, request: Request, now: Timestamp) {
        let id = request.id.clone();
        let makes_evidence = self.scanner.as_ref().is_some_and(Scanner::makes_evidence);
        let scan = self.scans.entry(id.clone()).or_default();
        let end = scan.see(request, makes_evidence, self.started, now);
        let users = scan.users.clone();
        let digest = scan.target.as_ref().map(|target| target.digest.clone());
        match end {
            Some(End::Failed(why)) => self.fail(&id, why, now),
            Some(End::Complete) => {
                let copied = digest.filter(|_| makes_evidence);
                self.actions.extend(copied.map(Action::Copy));
                self.judge_now(&users, now);
            }
            None => {}
        }
    }

    /// Evidence has come, or is gone. Reports may be in it, and whoever waits for a signature tries again.
    fn see_evidence(&mut self, digest: &str, images: &BTreeSet<String>, now: Timestamp) {
        if self.scanner.as_ref().is_some_and(Scanner::makes_evidence) {
            let is_about = |scan: &&ScanProgress| scan.target.as_ref().is_some_and(|target| target.digest == digest);
            let users: BTreeSet<NamedImage> =
                self.scans.values().filter(is_about).flat_map(|scan| scan.users.clone()).collect();
            self.judge_now(&users, now);
        }
        if self.settings.wake && !images.is_empty() {
            let is_named = |named: &&NamedImage| named.name().is_some_and(|name| images.contains(&name));
            let named: Vec<NamedImage> = self.images.keys().filter(is_named).cloned().collect();
            for image in &named {
                self.wake_users(image, now);
            }
        }
    }

    fn asked(&mut self, id: &ScanId, attempt: u32, result: Result<(), ScanFailure>, now: Timestamp) {
        if let Err(refusal) = result
            && self.scans.get_mut(id).is_some_and(|scan| scan.refuse(attempt))
        {
            self.fail(id, refusal, now);
        }
    }

    fn fail(&mut self, id: &ScanId, failure: ScanFailure, now: Timestamp) {
        let retry = self.settings.scans.retry;
        let Some(scan) = self.scans.get_mut(id) else { return };
        if scan.lacking.is_empty() {
            return;
        }
        scan.fail(id, retry, now);
        let lacking = scan.lacking.clone();
        *self.counted.failed.entry(failure).or_default() += 1;
        for image in lacking.iter().take(TOLD_OF_ONE) {
            self.tell(image, &Happened::ScanFailed(failure), now);
        }
    }

    /// Tells those who look at the workloads of an image.
    fn tell(&mut self, named: &NamedImage, happened: &Happened, now: Timestamp) {
        let Some(image) = self.images.get(named) else { return };
        let workloads = image.users.iter().filter_map(|uid| self.workloads.get(uid)).filter(|of| !of.is_owned);
        let of_one = || Budget::new(most_of_one(TOLD_PER_MINUTE));
        let own = self.tells_of.entry(named.namespace.clone()).or_insert_with(of_one);
        for workload in workloads.take(TOLD_OF_ONE) {
            if !own.is_left(false, now) || !self.tells.spend(now) {
                return;
            }
            own.spend(now);
            let (workload, image) = (workload.reference.clone(), named.image.clone());
            self.actions.push(Action::Tell { workload, image, happened: happened.clone() });
        }
    }

    /// Makes the controllers try again soon that use this image.
    fn wake_users(&mut self, named: &NamedImage, now: Timestamp) {
        let Some(image) = self.images.get(named) else { return };
        let users = image.users.iter().filter_map(|uid| self.workloads.get(uid)).filter(|of| of.lacks_pods);
        for of in users.take(TOLD_OF_ONE) {
            self.wakes.begin(of.reference.uid.clone(), now);
        }
    }

    /// Makes controllers try again that still lack Pods, and none of whose images lacks a report.
    fn wake(&mut self, now: Timestamp) {
        for due in self.wakes.take_due(now) {
            let waits = |of: &&Workload| of.lacks_pods && of.images.iter().all(|image| !self.lacks(of, image));
            if let Some(workload) = self.workloads.get(&due.uid).filter(waits) {
                self.actions.push(Action::Wake(workload.reference.clone()));
                self.wakes.woken(due, now);
            }
        }
    }

    fn lacks(&self, workload: &Workload, image: &str) -> bool {
        let named = NamedImage { namespace: workload.reference.namespace.clone(), image: image.to_owned() };
        self.images.get(&named).is_some_and(Image::lacks)
    }

    /// Ends requests that took too long, and takes away those that nobody waits for.
    fn end_requests(&mut self, now: Timestamp) {
        let is_settled = self.is_settled(now);
        let Some(scanner) = &self.scanner else { return };
        let (kind, keeps_dependents) = (scanner.request_kind(), scanner.keeps_dependents());
        let mut failed = Vec::new();
        for (id, scan) in &mut self.scans {
            let (failures, withdrawn) = scan.end_requests(is_settled, scanner, &self.settings.scans, now);
            failed.extend(failures.into_iter().map(|failure| (id.clone(), failure)));
            for Request { name, uid, .. } in withdrawn {
                self.actions.push(Action::Delete { kind, name, uid, keeps_dependents });
            }
        }
        for (id, failure) in failed {
            self.fail(&id, failure, now);
        }
    }

    /// Takes away what requests shared, if nobody has used it for a day.
    fn end_shared(&mut self, now: Timestamp) {
        let Some((scanner, kind)) = self.scanner.as_ref().and_then(|of| Some((of, of.shared_kind()?))) else { return };
        if self.shared_due > now {
            return;
        }
        self.shared_due = after(now, SHARED);
        let unused: Vec<&mut ScanProgress> =
            self.scans.values_mut().filter_map(|scan| scan.is_shared_unused(now).then_some(scan)).collect();
        if unused.is_empty() {
            return;
        }
        // Images that couldn't be looked up yet, and those that are too many, use something all the same.
        let unknown = self.images.iter().filter(|(_, image)| !image.was_judged).map(|(named, _)| &named.image);
        let too_many = self.workloads.values().filter(|_| self.has_too_many).flat_map(|workload| &workload.images);
        let used: BTreeSet<ScanId> = unknown.chain(too_many).filter_map(|image| scanner.scan_by_name(image)).collect();
        for scan in unused {
            if let Some(Shared { name, uid, .. }) = scan.end_shared(&used, now) {
                self.actions.push(Action::Delete { kind, name, uid, keeps_dependents: false });
            }
        }
    }

    /// Whether each image was judged, so that what nobody lacks is known. An image that can't be looked up keeps nothing for long.
    fn is_settled(&self, now: Timestamp) -> bool {
        now.0 - self.started.0 >= LOOK_UP.most.0 || self.images.values().all(|image| image.was_judged)
    }

    /// Asks for scans whose turn it is.
    fn ask(&mut self, now: Timestamp) {
        let is_awaited = |scan: &&ScanProgress| scan.is_under_way() && !scan.is_reported;
        let mut under_way = self.scans.values().filter(is_awaited).count();
        while under_way < self.settings.scans.at_once {
            let Some((id, namespace)) = self.next(now) else { return };
            let Some(scanner) = &self.scanner else { return };
            if !self.asks.spend(now) {
                return;
            }
            self.asked.take(&namespace);
            let Some(scan) = self.scans.get_mut(&id) else { return };
            let Some(target) = &scan.target else { return };
            let target = target.clone();
            let attempt = scan.begin(namespace, now);
            let objects = scanner.request(&id, &target, attempt);
            let lacking: Vec<NamedImage> = scan.lacking.iter().take(TOLD_OF_ONE).cloned().collect();
            let name = objects.last().map(NewObject::shown).unwrap_or_default();
            self.counted.requested += 1;
            under_way += 1;
            self.actions.push(Action::Ask { id, attempt, objects });
            for image in lacking {
                self.tell(&image, &Happened::ScanRequested(name.clone()), now);
            }
        }
    }

    /// The scan whose turn it is: of the namespace that was served the longest ago, the one that has waited longest.
    fn next(&self, now: Timestamp) -> Option<(ScanId, String)> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for scan in self.scans.values().filter(|scan| scan.is_under_way() && !scan.is_reported) {
            *places.entry(scan.turn_of.as_deref().unwrap_or_default()).or_default() += 1;
        }
        let most = most_of_one(self.settings.scans.at_once);
        let has_place = |image: &&NamedImage| places.get(image.namespace.as_str()).is_none_or(|taken| *taken < most);
        let mut first: Option<(Option<u64>, Timestamp, &ScanId, &String)> = None;
        for (id, scan) in &self.scans {
            let Some(since) = scan.since.filter(|_| scan.is_to_be_asked(now)) else { continue };
            // What is pending longer than any scan of ours takes waits for nothing: its ScanJob may be gone.
            let is_late = now.0 - since.0 >= self.settings.scans.deadline.0;
            let is_missing = |image: &&NamedImage| {
                is_late || self.images.get(*image).is_some_and(|image| image.scans.get(id) == Some(&Presence::Missing))
            };
            for image in scan.lacking.iter().filter(is_missing).filter(has_place) {
                let candidate = (self.asked.of(&image.namespace), since, id, &image.namespace);
                if first.is_none_or(|first| candidate < first) {
                    first = Some(candidate);
                }
            }
        }
        first.map(|(_, _, id, namespace)| (id.clone(), namespace.clone()))
    }

    /// Judges images that are due, those first that a controller waits for.
    fn judge(&mut self, now: Timestamp) {
        if self.judging >= JUDGED_AT_ONCE {
            return;
        }
        let lacks_pods = |uid: &String| self.workloads.get(uid).is_some_and(|workload| workload.lacks_pods);
        let due = self.images.iter().filter(|(_, image)| image.due <= now && !image.is_being_judged);
        let mut due: Vec<(Timestamp, bool, &NamedImage, Option<&String>)> = due
            .map(|(named, image)| (image.due, !image.users.iter().any(lacks_pods), named, image.registry.as_ref()))
            .collect();
        due.sort();
        // Of namespaces, that first which was looked at the longest ago.
        let mut queues: BTreeMap<(bool, Option<u64>, String), VecDeque<NamedImage>> = BTreeMap::new();
        for (_, has_time, named, registry) in due {
            let is_open =
                |host| self.registries.get_mut(host).is_none_or(|of: &mut Registry| of.is_open(has_time, now));
            if registry.is_none_or(is_open) {
                let turn = self.looked_up.of(&named.namespace);
                let queue = queues.entry((has_time, turn, named.namespace.clone())).or_default();
                queue.push_back(named.clone());
            }
        }
        while self.judging < JUDGED_AT_ONCE {
            let Some(((has_time, turn, namespace), mut queue)) = queues.pop_first() else { return };
            let Some(named) = queue.pop_front() else { continue };
            if let Some(host) = self.images.get(&named).and_then(|image| image.registry.clone()) {
                let registry = self.registry(&host);
                if !registry.is_open(has_time, now) {
                    queues.insert((has_time, turn, namespace), queue);
                    continue;
                }
                registry.begin(now);
            }
            let turn = self.looked_up.take(&namespace);
            queues.insert((has_time, Some(turn), namespace), queue);
            if let Some(image) = self.images.get_mut(&named) {
                image.is_being_judged = true;
                // What happens from now on may not be in the answer, and makes it due again.
                image.due = NEVER;
                self.judging += 1;
                self.actions.push(Action::Judge(named));
            }
        }
    }

    fn registry(&mut self, host: &str) -> &mut Registry {
        let per_minute = self.settings.registries.per_minute;
        self.registries.entry(host.to_owned()).or_insert_with(|| Registry::new(per_minute))
    }

    /// A registry answers. If it didn't before, what failed there is tried again.
    fn succeed(&mut self, host: &str, now: Timestamp) {
        if !self.registry(host).succeed() {
            return;
        }
        for (named, image) in &mut self.images {
            if image.failures > 0 && image.registry.as_deref() == Some(host) {
                image.due = after(now, spread(&named.image, LOOK_UP.first.0));
            }
        }
    }

    /// Forgets scans that nobody uses and that nothing in the cluster is left of, and registries without images.
    fn forget(&mut self) {
        self.scans.retain(|_, scan| !scan.is_over());
        if self.asked.len().max(self.looked_up.len()).max(self.tells_of.len()) > self.images.len() {
            let namespaces: BTreeSet<&str> = self.images.keys().map(|image| image.namespace.as_str()).collect();
            self.asked.keep(&namespaces);
            self.looked_up.keep(&namespaces);
            self.tells_of.retain(|namespace, _| namespaces.contains(namespace.as_str()));
        }
        if self.registries.len() > self.images.len() {
            let used: BTreeSet<String> = self.images.values().filter_map(|image| image.registry.clone()).collect();
            self.registries.retain(|host, registry| registry.is_busy() || used.contains(host));
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn after(now: Timestamp, seconds: i64) -> Timestamp {
    Timestamp(now.0.saturating_add(seconds))
}
