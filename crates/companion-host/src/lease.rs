//! Leader election against a Kubernetes API server: carries out what [`Election`] decides.

use crate::clock::now;
use crate::log;
use image_admission_companion::lease::{Election, Lease, LeaseSpec, Outcome, Step, Timing};
use image_admission_companion::log::LogLevel;
use image_admission_companion::{COMPANION, MANAGED_BY};
use image_admission_untrusted::time::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease as Object, LeaseSpec as ObjectSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff;
use kube::api::PostParams;
use kube::{Api, Client, Error};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::sync::watch::error::RecvError;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// The time that giving the Lease back may take: the process ends within 5 seconds.
const RELEASE: Duration = Duration::from_secs(2);

/// Takes part in the election of a leader.
#[derive(Debug)]
pub struct Elector {
    api: Api<Object>,
    name: String,
    election: Election,
    /// The time that a request may take: four fit into the time of a lead.
    request: Duration,
    /// The Lease as the API server last gave it. What others wrote into it stays.
    last: Object,
    start: Instant,
    /// Until when this instance leads.
    leads: watch::Sender<Option<Instant>>,
}

/// Whether this instance leads.
#[derive(Debug, Clone)]
pub struct Leadership {
    until: watch::Receiver<Option<Instant>>,
    /// What [`Self::changed`] last said.
    told: bool,
}

impl Leadership {
    /// Whether it leads now. The clock is asked too: a process that was frozen doesn't lead when it wakes.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.until.borrow().is_some_and(|until| Instant::now() < until)
    }

    /// Waits until this instance begins or stops leading, compared to what was told last (at first: it doesn't lead), and says
    /// whether it leads. Fails when its [`Elector`] is gone.
    pub async fn changed(&mut self) -> Result<bool, RecvError> {
        while self.leads() == self.told {
            self.until.changed().await?;
        }
        self.told = !self.told;
        Ok(self.told)
    }
}

impl Elector {
    /// One that takes part once it runs. No other process that is alive may have the identity.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: String, timing: Timing) -> (Self, Leadership) {
        let (leads, until) = watch::channel(None);
        let elector = Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            election: Election::new(identity, timing),
            request: timing.lead / 4,
            last: Object::default(),
            start: Instant::now(),
            leads,
        };
        (elector, Leadership { until, told: false })
    }

    /// Acquires the Lease, and renews it, until `stop`. Then it gives the Lease back, which takes at most 2 seconds. `stop` must
    /// come only after all that a leader does has ended.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        loop {
            let sent = self.start.elapsed();
            // Who can't renew says in time that it no longer leads.
            let leads_until = self.election.leads_until().filter(|until| sent < *until).unwrap_or(Duration::MAX);
            match self.election.step(sent, now()) {
                Step::Wait(until) => tokio::select! {
                    () = &mut stop => break,
                    () = sleep_until(self.start + until.min(leads_until)) => (),
                },
                step => {
                    let give_up = self.start + (sent + self.request).min(leads_until);
                    let outcome = tokio::select! {
                        () = &mut stop => break,
                        outcome = timeout_at(give_up, self.carry_out(step)) => outcome,
                    };
                    let outcome = outcome.unwrap_or_else(|_| failed("the API server doesn't answer"));
                    self.election.observe(outcome, sent, self.start.elapsed());
                }
            }
            self.publish();
        }
        self.release().await;
    }

    async fn carry_out(&mut self, step: Step) -> Outcome {
        let answer = match step {
            Step::Wait(_) | Step::Read => match self.api.get_opt(&self.name).await {
                Ok(None) => return Outcome::Absent,
                Ok(Some(object)) => return Outcome::Found(self.read(object)),
                Err(error) => Err(error),
            },
            Step::Create(spec) => self.api.create(&PostParams::default(), &self.created(&spec)).await,
            Step::Replace(lease) => self.replace(&lease).await,
        };
        match answer {
            Ok(object) => Outcome::Written(self.read(object)),
            // Another was faster.
            Err(Error::Api(status)) if status.code == 409 => Outcome::Failed,
            Err(Error::Api(status)) => failed(&status.message),
            Err(error) => failed(&error.to_string()),
        }
    }

    fn read(&mut self, object: Object) -> Lease {
        let spec = object.spec.clone().unwrap_or_default();
        let number = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let time = |time: Option<MicroTime>| time.map(|time| Timestamp(time.0.as_second()));
        let lease = Lease {
            version: object.metadata.resource_version.clone().unwrap_or_default(),
            spec: LeaseSpec {
                holder: spec.holder_identity.unwrap_or_default(),
                seconds: number(spec.lease_duration_seconds),
                acquired: time(spec.acquire_time),
                renewed: time(spec.renew_time),
                transitions: number(spec.lease_transitions),
            },
        };
        self.last = object;
        lease
    }

    fn created(&self, spec: &LeaseSpec) -> Object {
        let labels = [(MANAGED_BY.to_owned(), COMPANION.to_owned())].into();
        let metadata = ObjectMeta { name: Some(self.name.clone()), labels: Some(labels), ..ObjectMeta::default() };
        Object { metadata, spec: Some(with(ObjectSpec::default(), spec)) }
    }

    async fn replace(&self, lease: &Lease) -> kube::Result<Object> {
        let mut object = self.last.clone();
        object.metadata.resource_version = Some(lease.version.clone());
        object.spec = Some(with(object.spec.unwrap_or_default(), &lease.spec));
        self.api.replace(&self.name, &PostParams::default(), &object).await
    }

    /// Says whether this instance leads, and writes it into the log if that is new.
    fn publish(&self) {
        let until = self.election.leads_until().map(|until| self.start + until);
        let until = until.filter(|until| Instant::now() < *until);
        let before = self.leads.send_replace(until);
        match (before, until) {
            (None, Some(_)) => log::write(&log::line(LogLevel::Info, "this instance leads")),
            (Some(_), None) => log::write(&log::line(LogLevel::Info, "this instance no longer leads")),
            _ => {}
        }
    }

    async fn release(mut self) {
        let released = self.election.release(now());
        self.publish();
        let Some(lease) = released else { return };
        match timeout(RELEASE, self.replace(&lease)).await {
            Ok(Ok(_)) => log::write(&log::line(LogLevel::Info, "the lease was given back")),
            _ => log::write(&log::line(LogLevel::Warning, "the lease wasn't given back: another leads once it is old")),
        }
    }
}

/// The spec with what an election writes, and the rest as it was.
fn with(object: ObjectSpec, spec: &LeaseSpec) -> ObjectSpec {
    let number = |number: u32| Some(i32::try_from(number).unwrap_or(i32::MAX));
    let time = |time: Option<Timestamp>| time.and_then(|time| jiff::Timestamp::from_second(time.0).ok()).map(MicroTime);
    ObjectSpec {
        holder_identity: Some(spec.holder.clone()),
        lease_duration_seconds: number(spec.seconds),
        acquire_time: time(spec.acquired),
        renew_time: time(spec.renewed),
        lease_transitions: number(spec.transitions),
        ..object
    }
}

fn failed(cause: &str) -> Outcome {
    log::write(&log::line(LogLevel::Warning, "the lease can't be read or written").with("cause", cause));
    Outcome::Failed
}
