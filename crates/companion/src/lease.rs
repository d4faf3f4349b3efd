//! Leader election: what to do about the Lease, and whether this instance leads. I/O and clocks are the caller's.
//!
//! The rules are those of client-go's `leaderelection`. A Lease counts as old when this instance saw no change of it for its
//! duration: nobody's clock is compared with another's. The API server refuses a write with an outdated `resourceVersion`.
//!
//! **Invariant**: of all instances with identities of their own, at most one leads. A leader counts from the moment it *sent* its
//! last successful renewal, and stops after [`Timing::lead`]. Another counts from the moment it *received* that renewal or a later
//! one, and waits for [`Timing::duration`], which is longer. Clocks may run at different speeds, by less than a fifth.
//! The invariant doesn't hold when somebody deletes the Lease: then two may lead for up to [`Timing::lead`].

use image_admission_untrusted::time::Timestamp;
use std::time::Duration;

/// The durations of leader election.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long the Lease holds after a renewal. Whole seconds.
    pub duration: Duration,
    /// How long an instance leads after its last renewal. It is shorter than `duration`, so that requests under way can end.
    pub lead: Duration,
    /// The time between two renewals.
    pub renew: Duration,
    /// The time before the next try after a failure, and between two looks at another's Lease.
    pub retry: Duration,
}

/// 30 s, of which 20 s are led; renewed each 10 s, retried each 2 s.
impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(30),
            lead: Duration::from_secs(20),
            renew: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// What the `spec` of a Lease says, as `coordination.k8s.io/v1` defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSpec {
    /// `holderIdentity`. It is empty when the Lease was given back.
    pub holder: String,
    /// `leaseDurationSeconds`.
    pub seconds: u32,
    /// `acquireTime`.
    pub acquired: Option<Timestamp>,
    /// `renewTime`. It is for people: no decision reads it.
    pub renewed: Option<Timestamp>,
    /// `leaseTransitions`: how often the holder changed.
    pub transitions: u32,
}

/// A Lease as the API server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Its `spec`.
    pub spec: LeaseSpec,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing until this time of the monotonic clock.
    Wait(Duration),
    /// Read the Lease.
    Read,
    /// Create the Lease.
    Create(LeaseSpec),
    /// Replace the Lease, if its `resourceVersion` is still this one.
    Replace(Lease),
}

/// How a [`Step`] ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The Lease was read.
    Found(Lease),
    /// There is no Lease.
    Absent,
    /// The Lease was created or replaced. It is the answer's, with its new `resourceVersion`.
    Written(Lease),
    /// Something else, such as a conflict or a time-out. A write may have happened all the same.
    Failed,
}

/// Leader election as one instance sees it. Times are those of its monotonic clock.
#[derive(Debug, Clone)]
pub struct Election {
    identity: String,
    timing: Timing,
    seen: Option<Seen>,
    /// When the request was sent that renewed the Lease last. `None` if this instance doesn't hold the Lease.
    renewed: Option<Duration>,
    next: Next,
    /// The time of the next request.
    at: Duration,
}

/// The Lease as it was seen last.
#[derive(Debug, Clone)]
struct Seen {
    lease: Lease,
    /// When this instance first saw this version.
    since: Duration,
}

/// The next request.
#[derive(Debug, Clone, Copy)]
enum Next {
    Read,
    Create,
    Replace,
}

impl Election {
    /// An instance that knows nothing yet. No other process that is alive may have its identity.
    #[must_use]
    pub fn new(identity: String, timing: Timing) -> Self {
        Self { identity, timing, seen: None, renewed: None, next: Next::Read, at: Duration::ZERO }
    }

    /// Until when this instance leads, or `None` if it doesn't hold the Lease. The time may be over.
    #[must_use]
    pub fn leads_until(&self) -> Option<Duration> {
        self.renewed.map(|renewed| renewed.saturating_add(self.timing.lead))
    }

    /// Whether this instance leads.
    #[must_use]
    pub fn leads(&self, now: Duration) -> bool {
        self.leads_until().is_some_and(|until| now < until)
    }

    /// What to do now. `clock` is the time that is written into the Lease.
    #[must_use]
    pub fn step(&self, now: Duration, clock: Timestamp) -> Step {
        if now < self.at {
            return Step::Wait(self.at);
        }
        match (self.next, &self.seen) {
            (Next::Create, _) => Step::Create(self.claim(clock, 0)),
            (Next::Replace, Some(Seen { lease, .. })) => {
                let spec = if lease.spec.holder == self.identity {
                    LeaseSpec { acquired: lease.spec.acquired, ..self.claim(clock, lease.spec.transitions) }
                } else {
                    self.claim(clock, lease.spec.transitions.saturating_add(1))
                };
                Step::Replace(Lease { version: lease.version.clone(), spec })
            }
            (Next::Read, _) | (Next::Replace, None) => Step::Read,
        }
    }

    /// Takes in how a step ended that was sent at `sent` and answered at `now`. A write that was given up counts as
    /// [`Outcome::Failed`].
    pub fn observe(&mut self, outcome: Outcome, sent: Duration, now: Duration) {
        match outcome {
            Outcome::Found(lease) => {
                if lease.spec.holder != self.identity {
                    self.renewed = None;
                }
                let since =
                    self.seen.as_ref().filter(|seen| seen.lease.version == lease.version).map(|seen| seen.since);
                let seen = Seen { lease, since: since.unwrap_or(now) };
                if self.is_free(&seen, now) {
                    self.plan(Next::Replace, now);
                } else {
                    self.plan(Next::Read, now.saturating_add(self.timing.retry));
                }
                self.seen = Some(seen);
            }
            Outcome::Absent => {
                self.renewed = None;
                self.plan(Next::Create, now);
            }
            Outcome::Written(lease) => {
                self.seen = Some(Seen { lease, since: now });
                self.renewed = Some(sent);
                self.plan(Next::Replace, sent.saturating_add(self.timing.renew));
            }
            Outcome::Failed => self.plan(Next::Read, now.saturating_add(self.timing.retry)),
        }
    }

    /// Stops leading, and gives the Lease back: the Lease to write, if this instance holds it. Whatever a leader does must have
    /// ended before. No step may follow.
    #[must_use]
    pub fn release(&mut self, clock: Timestamp) -> Option<Lease> {
        self.renewed.take()?;
        let Lease { version, spec } = self.seen.take()?.lease;
        let spec = LeaseSpec { holder: String::new(), seconds: 1, renewed: Some(clock), ..spec };
        Some(Lease { version, spec })
    }

    /// Whether this instance may take or renew the Lease. A shorter duration than ours isn't believed: its holder may lead for
    /// as long as we would.
    fn is_free(&self, seen: &Seen, now: Duration) -> bool {
        let LeaseSpec { holder, seconds, .. } = &seen.lease.spec;
        let duration = self.timing.duration.max(Duration::from_secs(u64::from(*seconds)));
        holder.is_empty() || *holder == self.identity || now >= seen.since.saturating_add(duration)
    }

    fn claim(&self, clock: Timestamp, transitions: u32) -> LeaseSpec {
        LeaseSpec {
            holder: self.identity.clone(),
            seconds: u32::try_from(self.timing.duration.as_secs()).unwrap_or(u32::MAX),
            acquired: Some(clock),
            renewed: Some(clock),
            transitions,
        }
    }

    fn plan(&mut self, next: Next, at: Duration) {
        self.next = next;
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLOCK: Timestamp = Timestamp(1_793_534_400);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn spec(holder: &str, transitions: u32) -> LeaseSpec {
        LeaseSpec { holder: holder.to_owned(), seconds: 30, acquired: Some(CLOCK), renewed: Some(CLOCK), transitions }
    }

    fn lease(version: &str, holder: &str) -> Lease {
        Lease { version: version.to_owned(), spec: spec(holder, 4) }
    }

    /// What an instance `a` does at the time of the last answer, or at a later one, after answers at these seconds. Requests
    /// take no time.
    #[track_caller]
    fn check(answers: &[(u64, Outcome)], at: u64, step: &Step, leads: bool) {
        let mut election = Election::new("a".to_owned(), Timing::default());
        for (at, outcome) in answers {
            election.observe(outcome.clone(), seconds(*at), seconds(*at));
        }
        assert_eq!(election.step(seconds(at), CLOCK), *step, "{answers:?}, {at}");
        assert_eq!(election.leads(seconds(at)), leads, "{answers:?}, {at}");
    }

    #[test]
    fn what_follows_what_was_seen() {
        use Outcome::{Absent, Failed, Found, Written};
        let ours = || lease("2", "a");
        let others = || lease("1", "b");
        let taken = |version: &str| Lease { version: version.to_owned(), spec: spec("a", 5) };
        let wait = |at| Step::Wait(seconds(at));
        let replace = |version| Step::Replace(lease(version, "a"));
        let take = |version| Step::Replace(taken(version));
        let long = || {
            let mut long = others();
            long.spec.seconds = 60;
            long
        };
        let short = || {
            let mut short = others();
            short.spec.seconds = 1;
            short
        };
        for (answers, at, step, leads) in [
            (&[][..], 0, Step::Read, false),
            (&[(0, Absent)], 0, Step::Create(spec("a", 0)), false),
            (&[(0, Absent), (0, Failed)], 1, wait(2), false),
            (&[(0, Absent), (0, Failed)], 2, Step::Read, false),
            (&[(0, Written(ours()))], 0, wait(10), true),
            (&[(0, Written(ours()))], 10, replace("2"), true),
            // A renewal fails: it is read whose the Lease is, and renewed again.
            (&[(0, Written(ours())), (10, Failed)], 10, wait(12), true),
            (&[(0, Written(ours())), (10, Failed)], 12, Step::Read, true),
            (&[(0, Written(ours())), (10, Failed), (12, Found(ours()))], 12, replace("2"), true),
            // The renewal that failed was written, or somebody edited the Lease.
            (&[(0, Written(ours())), (10, Failed), (12, Found(lease("3", "a")))], 12, replace("3"), true),
            (&[(0, Written(ours())), (10, Failed), (12, Found(lease("3", "b")))], 12, wait(14), false),
            (&[(0, Written(ours())), (10, Failed), (12, Found(lease("3", "")))], 12, take("3"), false),
            (&[(0, Written(ours())), (10, Failed), (12, Absent)], 12, Step::Create(spec("a", 0)), false),
            // Nobody leads longer than 20 seconds after a renewal.
            (&[(0, Written(ours())), (10, Failed)], 19, Step::Read, true),
            (&[(0, Written(ours())), (10, Failed)], 20, Step::Read, false),
            (&[(0, Written(ours())), (19, Found(ours()))], 20, replace("2"), false),
            // Another's Lease is looked at until it is old.
            (&[(5, Found(others()))], 5, wait(7), false),
            (&[(5, Found(others()))], 7, Step::Read, false),
            (&[(5, Found(others())), (34, Found(others()))], 34, wait(36), false),
            (&[(5, Found(others())), (35, Found(others()))], 35, take("1"), false),
            // Its age counts from the last change that was seen, and only looking shows that there was none.
            (&[(5, Found(others())), (60, Found(lease("2", "b")))], 60, wait(62), false),
            (&[(5, Found(others()))], 60, Step::Read, false),
            (&[(5, Found(others())), (30, Failed), (35, Found(others()))], 35, take("1"), false),
            // Its duration is the longer one of its own and ours.
            (&[(5, Found(long())), (64, Found(long()))], 64, wait(66), false),
            (&[(5, Found(long())), (65, Found(long()))], 65, take("1"), false),
            (&[(5, Found(short())), (34, Found(short()))], 34, wait(36), false),
            (&[(5, Found(short())), (35, Found(short()))], 35, take("1"), false),
            // A Lease that was given back is free at once. So is our own, after this process was started anew.
            (&[(5, Found(lease("3", "")))], 5, take("3"), false),
            (&[(5, Found(ours()))], 5, replace("2"), false),
        ] {
            check(answers, at, &step, leads);
        }
    }

    #[test]
    fn who_renews_keeps_the_time_of_acquiring_it() {
        let mut election = Election::new("a".to_owned(), Timing::default());
        election.observe(Outcome::Written(lease("2", "a")), seconds(0), seconds(0));
        let Step::Replace(renewed) = election.step(seconds(10), Timestamp(CLOCK.0 + 10)) else { panic!("no renewal") };
        assert_eq!((renewed.spec.acquired, renewed.spec.renewed), (Some(CLOCK), Some(Timestamp(CLOCK.0 + 10))));
    }

    #[test]
    fn a_leader_counts_from_when_it_sent_the_request() {
        let mut election = Election::new("a".to_owned(), Timing::default());
        election.observe(Outcome::Written(lease("2", "a")), seconds(5), seconds(9));
        assert_eq!(election.leads_until(), Some(seconds(25)));
    }

    #[test]
    fn the_lease_is_given_back_by_its_holder_alone() {
        let mut election = Election::new("a".to_owned(), Timing::default());
        assert_eq!(election.release(CLOCK), None);
        election.observe(Outcome::Found(lease("1", "b")), seconds(0), seconds(0));
        assert_eq!(election.release(CLOCK), None);
        election.observe(Outcome::Written(lease("2", "a")), seconds(40), seconds(40));
        let released = election.release(CLOCK).unwrap();
        assert_eq!(released, Lease { version: "2".to_owned(), spec: LeaseSpec { seconds: 1, ..spec("", 4) } });
        assert!(!election.leads(seconds(40)));
        assert_eq!(election.release(CLOCK), None);
    }

    /// What happens in a run, to an instance by its number.
    #[derive(Debug, Clone, Copy)]
    enum Happening {
        /// Milliseconds pass.
        Pass(u64),
        /// An instance whose time has come sends its request.
        Send(usize),
        /// The API server carries out a request, and keeps the answer.
        Serve(usize),
        /// The answer arrives.
        Answer(usize),
        /// The instance gives the request up, or is told of an error; the API server may carry it out later.
        GiveUp(usize),
        /// The API server carries out a request that was given up.
        ServeLate(usize),
        /// The process is killed and started anew, with the same identity.
        Restart(usize),
        /// The process ends as it should, and is started anew.
        Release(usize),
    }

    /// A while in which only these instances are heard of.
    fn while_heard_of(instances: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Happening>> {
        let instance = || instances.clone();
        let one = prop_oneof![
            6 => (0_u64..3_000).prop_map(Happening::Pass),
            1 => (3_000_u64..35_000).prop_map(Happening::Pass),
            4 => instance().prop_map(Happening::Send),
            4 => instance().prop_map(Happening::Serve),
            4 => instance().prop_map(Happening::Answer),
            2 => instance().prop_map(Happening::GiveUp),
            2 => (0_usize..8).prop_map(Happening::ServeLate),
            1 => instance().prop_map(Happening::Restart),
            1 => instance().prop_map(Happening::Release),
        ];
        let some = prop_oneof![
            2 => one.prop_map(|happening| vec![happening]),
            1 => instance().prop_map(|of| round(of).to_vec()),
        ];
        prop::collection::vec(some, 1..60).prop_map(|parts| parts.concat())
    }

    /// A request that is answered at once, and a second.
    fn round(of: usize) -> [Happening; 4] {
        [Happening::Send(of), Happening::Serve(of), Happening::Answer(of), Happening::Pass(1_000)]
    }

    fn happenings() -> impl Strategy<Value = Vec<Happening>> {
        let part = prop_oneof![while_heard_of(0..1), while_heard_of(1..2), while_heard_of(0..2)];
        prop::collection::vec(part, 1..10).prop_map(|parts| parts.concat())
    }

    /// The API server: one Lease, and a number that counts its versions.
    #[derive(Debug, Default)]
    struct Server {
        lease: Option<Lease>,
        version: u64,
    }

    impl Server {
        fn serve(&mut self, request: &Step) -> Outcome {
            let spec = match (request, &self.lease) {
                (Step::Read, Some(lease)) => return Outcome::Found(lease.clone()),
                (Step::Read, None) => return Outcome::Absent,
                (Step::Create(spec), None) => spec,
                (Step::Replace(lease), Some(current)) if lease.version == current.version => &lease.spec,
                _ => return Outcome::Failed,
            };
            self.version += 1;
            let lease = Lease { version: self.version.to_string(), spec: spec.clone() };
            Outcome::Written(self.lease.insert(lease).clone())
        }
    }

    struct Instance {
        name: &'static str,
        /// Its clock: what it showed at the start, and how many milliseconds it counts in a second.
        clock: (u64, u64),
        election: Election,
        /// The request under way, when it was sent, and the answer once there is one.
        request: Option<(Step, Duration, Option<Outcome>)>,
    }

    impl Instance {
        fn start(name: &'static str, clock: (u64, u64)) -> Self {
            Self { name, clock, election: Election::new(name.to_owned(), Timing::default()), request: None }
        }

        fn now(&self, real: u64) -> Duration {
            let (start, speed) = self.clock;
            Duration::from_millis(start + real * speed / 1_000)
        }
    }

    /// How often another took the Lease over, in a run in which never two led at once.
    fn run(happenings: &[Happening], clocks: [(u64, u64); 2]) -> Result<u32, TestCaseError> {
        let [first, second] = clocks;
        let mut instances = [Instance::start("a", first), Instance::start("b", second)];
        let (mut server, mut given_up, mut real) = (Server::default(), Vec::new(), 0);
        for happening in happenings {
            match *happening {
                Happening::Pass(time) => real += time,
                Happening::Send(of) => {
                    let instance = &mut instances[of];
                    let now = instance.now(real);
                    let clock = Timestamp(i64::try_from(now.as_secs()).unwrap());
                    let step = instance.election.step(now, clock);
                    if instance.request.is_none() && !matches!(step, Step::Wait(_)) {
                        instance.request = Some((step, now, None));
                    }
                }
                Happening::Serve(of) => {
                    if let Some((step, _, answer @ None)) = &mut instances[of].request {
                        *answer = Some(server.serve(step));
                    }
                }
                Happening::Answer(of) => {
                    let instance = &mut instances[of];
                    let now = instance.now(real);
                    if let Some((_, sent, Some(answer))) = instance.request.take_if(|(.., answer)| answer.is_some()) {
                        instance.election.observe(answer, sent, now);
                    }
                }
                Happening::GiveUp(of) => {
                    let instance = &mut instances[of];
                    let now = instance.now(real);
                    if let Some((step, sent, answer)) = instance.request.take() {
                        given_up.extend(answer.is_none().then_some(step));
                        instance.election.observe(Outcome::Failed, sent, now);
                    }
                }
                Happening::ServeLate(which) => {
                    if which < given_up.len() {
                        server.serve(&given_up.swap_remove(which));
                    }
                }
                Happening::Restart(of) | Happening::Release(of) => {
                    let instance = &mut instances[of];
                    given_up.extend(instance.request.take().map(|(step, ..)| step));
                    if matches!(happening, Happening::Release(_)) {
                        given_up.extend(instance.election.release(CLOCK).map(Step::Replace));
                    }
                    *instance = Instance::start(instance.name, instance.clock);
                }
            }
            let leaders = instances.iter().filter(|instance| instance.election.leads(instance.now(real))).count();
            prop_assert!(leaders <= 1, "two lead after {happening:?} at {real} ms");
        }
        Ok(server.lease.map_or(0, |lease| lease.spec.transitions))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn never_two_lead(
            happenings in happenings(),
            clocks in prop::array::uniform2((0_u64..1_000_000, prop_oneof![Just(801_u64), 801_u64..1_200, Just(1_199)])),
        ) {
            run(&happenings, clocks)?;
        }
    }

    #[test]
    fn the_lease_is_taken_over_when_its_holder_is_silent() {
        // `a` reads, creates the Lease, and is never heard of again.
        let mut happenings: Vec<Happening> = [round(0), round(0)].concat();
        happenings.extend((0..60).flat_map(|_| round(1)));
        assert_eq!(run(&happenings, [(0, 1_000), (500_000, 1_000)]).unwrap(), 1);
    }
}
