//! How far one scan is: who lacks it, which objects of ours ask for it, and how often it has failed.

use crate::backoff::wait;
use crate::image::NamedImage;
use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::scanner::{End, Request, Scanner, Shared};
use crate::settings::{Retry, Scans};
use image_admission_untrusted::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How long a request stays after its report is there. trivy-operator writes other reports after it, and the garbage collector must
/// know all of them before their owner goes.
const SETTLES: i64 = 30;
/// How long after the end of a scan its report may come.
const REPORT_COMES: i64 = 60;
/// The same for a report that is copied into the cluster: its registry may fail once or twice.
const REPORT_IS_COPIED: i64 = 180;
/// How long a request may take to appear after it was created, and to go after it was withdrawn.
const APPEARS: i64 = 60;
/// How long what requests share stays after nobody uses the image any more. The reports go with it.
const UNUSED: i64 = 24 * 3_600;

/// A scan that somebody needs, or that was asked for.
#[derive(Debug, Default)]
pub(crate) struct ScanProgress {
    /// What is scanned, as an image said that needs it.
    pub(crate) target: Option<Target>,
    /// The images that have it among their scans.
    pub(crate) users: BTreeSet<NamedImage>,
    /// Those of them without a report.
    pub(crate) lacking: BTreeSet<NamedImage>,
    /// Since when it is lacking.
    pub(crate) since: Option<Timestamp>,
    /// Whether its report was there when it was last looked for: then the scanner is done, whatever becomes of the request.
    pub(crate) is_reported: bool,
    /// The namespace in whose turn it was last asked for.
    pub(crate) turn_of: Option<String>,
    /// What our requests share, and when it was deleted.
    pub(crate) shared: Option<(Shared, Option<Timestamp>)>,
    /// Since when nobody lacks it.
    idle_since: Option<Timestamp>,
    /// The attempt whose request was created, or is being created, and hasn't been seen yet. Since when.
    asking: Option<(u32, Timestamp)>,
    /// Since when no workload uses it.
    unused_since: Option<Timestamp>,
    /// Our objects, by attempt.
    requests: BTreeMap<u32, KnownRequest>,
    /// The highest attempt that anything in the cluster has.
    attempts: u32,
    failures: u32,
    until: Option<Timestamp>,
}

/// One of our objects.
#[derive(Debug)]
struct KnownRequest {
    request: Request,
    /// When its end was seen.
    ended: Option<Timestamp>,
    /// Whether nothing more is expected of it.
    is_done: bool,
    /// When it was withdrawn.
    withdrawn: Option<Timestamp>,
}

impl ScanProgress {
    /// Whether it was asked for, and the scanner isn't done.
    pub(crate) fn is_under_way(&self) -> bool {
        self.asking.is_some() || self.requests.values().any(|known| !known.is_done)
    }

    /// Whether it may be asked for now, if somebody lacks it.
    pub(crate) fn is_to_be_asked(&self, now: Timestamp) -> bool {
        !self.is_under_way() && self.target.is_some() && self.until.is_none_or(|until| until <= now)
    }

    /// Whether it has failed, and isn't tried again yet.
    pub(crate) fn is_failed(&self, now: Timestamp) -> bool {
        !self.is_under_way() && self.until.is_some_and(|until| until > now)
    }

    /// Whether nobody uses it, and nothing in the cluster is left of it.
    pub(crate) fn is_over(&self) -> bool {
        self.users.is_empty() && self.requests.is_empty() && self.shared.is_none() && self.asking.is_none()
    }

    /// An image lacks it. What has failed under a tag that has moved was another digest's.
    pub(crate) fn lack(&mut self, image: &NamedImage, has_moved: bool, now: Timestamp) {
        if self.lacking.insert(image.clone()) && has_moved {
            (self.failures, self.until) = (0, None);
        }
        self.idle_since = None;
        self.since.get_or_insert(now);
    }

    /// Nobody lacks it any more. Returns whether somebody did.
    pub(crate) fn succeed(&mut self) -> bool {
        let did = self.since.take().is_some();
        if did {
            (self.failures, self.until) = (0, None);
        }
        did
    }

    /// It has failed, and is tried again after a while.
    pub(crate) fn fail(&mut self, id: &ScanId, retry: Retry, now: Timestamp) {
        self.failures += 1;
        self.until = Some(Timestamp(now.0.saturating_add(wait(retry, self.failures, &id.to_string()))));
    }

    /// Something in the cluster has this attempt in its name.
    pub(crate) fn note_attempt(&mut self, attempt: u32) {
        self.attempts = self.attempts.max(attempt);
    }

    /// Begins another attempt, and returns its number.
    pub(crate) fn begin(&mut self, turn_of: String, now: Timestamp) -> u32 {
        self.attempts = self.attempts.saturating_add(1);
        self.turn_of = Some(turn_of);
        self.asking = Some((self.attempts, now));
        self.attempts
    }

    /// The request of an attempt couldn't be created. Returns whether it hasn't been seen all the same.
    pub(crate) fn refuse(&mut self, attempt: u32) -> bool {
        self.asking.take_if(|(asked, _)| *asked == attempt).is_some()
    }

    /// A request as it is now. Returns how it ended, if it has just ended: whoever lacks the scan looks for its report then.
    pub(crate) fn see(
        &mut self,
        request: Request,
        makes_evidence: bool,
        started: Timestamp,
        now: Timestamp,
    ) -> Option<End> {
        let (attempt, end) = (request.attempt, request.end);
        self.note_attempt(attempt);
        self.asking.take_if(|(asked, _)| *asked == attempt);
        // One that ended before anything was seen of it says nothing of what is lacking now.
        let is_new = !self.requests.contains_key(&attempt);
        let may_be_old = match end {
            // Its evidence may not be copied yet.
            Some(End::Complete) => !makes_evidence,
            end => end.is_some(),
        };
        let is_old = is_new && may_be_old && request.created < started;
        let new = || KnownRequest { request: request.clone(), ended: None, is_done: is_old, withdrawn: None };
        let known = self.requests.entry(attempt).or_insert_with(new);
        known.request = request;
        let end = end.filter(|_| known.ended.is_none() && !known.is_done)?;
        known.ended = Some(now);
        known.is_done = matches!(end, End::Failed(_));
        Some(end)
    }

    /// Requests are gone.
    pub(crate) fn lose_requests(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.requests.retain(|_, known| !is_gone(&known.request.uid));
    }

    /// Ends requests that took too long, and those that nobody waits for once that `is_settled`. Returns why the first failed, and
    /// which are to be deleted.
    pub(crate) fn end_requests(
        &mut self,
        is_settled: bool,
        scanner: &Scanner,
        settings: &Scans,
        now: Timestamp,
    ) -> (Vec<ScanFailure>, Vec<Request>) {
        let takes_away = scanner.takes_requests_away();
        let (mut failures, mut withdrawn) = (Vec::new(), Vec::new());
        let is_wanted = !self.lacking.is_empty();
        if !is_wanted {
            self.idle_since.get_or_insert(now);
        }
        let is_idle = is_settled && self.idle_since.is_some_and(|since| now.0 - since.0 >= SETTLES);
        // It was created, and nobody has seen it: somebody deleted it, or the watch doesn't work.
        if self.asking.take_if(|(_, since)| now.0 - since.0 >= APPEARS).is_some() && is_wanted {
            failures.push(ScanFailure::Outage);
        }
        let report_comes = if scanner.makes_evidence() { REPORT_IS_COPIED } else { REPORT_COMES };
        let last = self.requests.keys().max().copied();
        for (attempt, known) in &mut self.requests {
            let has_ended = known.request.end.is_some();
            if !known.is_done {
                let is_late = !has_ended && now.0 - known.request.created.0 >= settings.deadline.0;
                let is_missing = known.ended.is_some_and(|ended| now.0 - ended.0 >= report_comes);
                if is_wanted && (is_late || is_missing) {
                    failures.push(if is_late { ScanFailure::Deadline } else { ScanFailure::NoReport });
                }
                known.is_done = is_late || (is_wanted && is_missing) || (is_idle && (takes_away || has_ended));
            }
            // Until the watch says that it is gone.
            let is_going = known.withdrawn.is_some_and(|withdrawn| now.0 - withdrawn.0 < APPEARS);
            let is_kept = scanner.keeps_failed_requests() && has_ended && !is_idle && Some(*attempt) == last;
            if known.is_done && (takes_away || !has_ended) && !is_going && !is_kept {
                known.withdrawn = Some(now);
                withdrawn.push(known.request.clone());
            }
        }
        (failures, withdrawn)
    }

    /// Whether requests shared something, and no image has been known to use it for a day.
    pub(crate) fn is_shared_unused(&mut self, now: Timestamp) -> bool {
        self.unused_since = self.users.is_empty().then(|| self.unused_since.unwrap_or(now));
        self.shared.is_some() && self.unused_since.is_some_and(|since| now.0 - since.0 >= UNUSED)
    }

    /// What requests share and no image is known to use, if it is to be deleted: unless one of these, which images of unknown scans
    /// have by their names, is it.
    pub(crate) fn end_shared(&mut self, used: &BTreeSet<ScanId>, now: Timestamp) -> Option<Shared> {
        let (shared, deleted) = self.shared.as_mut()?;
        if used.contains(&shared.id) {
            self.unused_since = None;
            return None;
        }
        if deleted.is_some_and(|deleted| now.0 - deleted.0 < APPEARS) {
            return None;
        }
        *deleted = Some(now);
        Some(shared.clone())
    }
}
