//! Leader election against a stub of an API server, with a tenth of the usual times.

use crate::support::lease_server::{LeaseServer, Link, Mode, NAME};
use image_admission_companion::lease::Timing;
use image_admission_companion_host::lease::{Elector, Leadership};
use serde_json::json;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

const TIMING: Timing = Timing {
    duration: Duration::from_secs(3),
    lead: Duration::from_secs(2),
    renew: Duration::from_secs(1),
    retry: Duration::from_millis(200),
};
/// Long enough for anything that is to happen, on a slow machine too.
const SOON: Duration = Duration::from_secs(30);

struct Running {
    link: Link,
    leadership: Leadership,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn start(server: &LeaseServer, identity: &str) -> Running {
    let link = server.link().await;
    let (elector, leadership) = Elector::new(link.client.clone(), "kubewarden", NAME, identity.to_owned(), TIMING);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(elector.run(async {
        let _ = stopped.await;
    }));
    Running { link, leadership, stop, task }
}

impl Running {
    /// Waits until it begins or stops leading, which must be what is expected.
    #[track_caller]
    fn becomes(&mut self, leads: bool) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let changed = timeout(SOON, self.leadership.changed()).await;
            let changed = changed.unwrap_or_else(|_| panic!("no change, {caller}"));
            assert_eq!(changed.ok(), Some(leads), "{caller}");
        }
    }

    async fn end(self) -> Leadership {
        self.stop.send(()).unwrap();
        timeout(SOON, self.task).await.unwrap().unwrap();
        self.leadership
    }
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < end, "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_creates_the_lease_renews_it_and_gives_it_back() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    let created = server.lease();
    assert_eq!(created["metadata"]["labels"]["app.kubernetes.io/managed-by"], NAME);
    assert_eq!(created["spec"]["holderIdentity"], "a");
    assert_eq!(created["spec"]["leaseDurationSeconds"], 3);
    assert_eq!(created["spec"]["leaseTransitions"], 0);
    assert!(created["spec"]["renewTime"].as_str().is_some_and(|time| time.ends_with(".000000Z")), "{created}");
    until("renewed", || server.lease()["metadata"]["resourceVersion"] != created["metadata"]["resourceVersion"]).await;
    assert_eq!(server.lease()["spec"]["acquireTime"], created["spec"]["acquireTime"]);
    // On a slow machine a renewal may come late.
    until("leads", || first.leadership.leads()).await;
    let leadership = first.end().await;
    assert!(!leadership.leads());
    assert_eq!((server.holder(), server.lease()["spec"]["leaseDurationSeconds"].clone()), (String::new(), json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_leads_at_once_when_the_lease_is_given_back() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    let mut second = start(&server, "b").await;
    sleep(TIMING.duration + TIMING.renew).await;
    until("leads", || first.leadership.leads()).await;
    assert!(!second.leadership.leads());
    first.end().await;
    second.becomes(true).await;
    assert_eq!(server.holder(), "b");
    assert_eq!(server.lease()["spec"]["leaseTransitions"], 1);
}

/// Two start at once, and the link of the one that leads fails, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn never_two_lead() {
    let server = LeaseServer::default();
    let mut two = [start(&server, "a").await, start(&server, "b").await];
    let [a, b] = two.each_ref().map(|running| running.leadership.clone());
    let watch = tokio::spawn(async move {
        loop {
            // The first is asked twice: it may have stopped just before the second began.
            assert!(!(a.leads() && b.leads() && a.leads()), "two lead");
            sleep(Duration::from_millis(2)).await;
        }
    });
    until("one leads", || two.iter().any(|running| running.leadership.leads())).await;
    for mode in [Mode::Fails, Mode::Silent, Mode::LosesAnswers] {
        if two[1].leadership.leads() {
            two.swap(0, 1);
        }
        let [leader, other] = &two;
        leader.link.set(mode);
        until("the other leads", || other.leadership.leads()).await;
        assert!(!leader.leadership.leads(), "{mode:?}");
        leader.link.set(Mode::Works);
    }
    assert!(!watch.is_finished(), "{:?}", watch.await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_failure_changes_nothing() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    let version = || server.lease()["metadata"]["resourceVersion"].clone();
    for mode in [Mode::Fails, Mode::LosesAnswers] {
        let before = version();
        first.link.set(mode);
        sleep(TIMING.renew).await;
        first.link.set(Mode::Works);
        until("renewed", || version() != before).await;
        let renewed = version();
        until("renewed again", || version() != renewed).await;
        until("leads", || first.leadership.leads()).await;
        assert_eq!(server.lease()["spec"]["leaseTransitions"], 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_another_in_its_lease_stops_leading() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    server.edit(|lease| lease["spec"]["holderIdentity"] = json!("somebody"));
    first.becomes(false).await;
    // Somebody doesn't renew it.
    first.becomes(true).await;
    assert_eq!(server.lease()["spec"]["leaseTransitions"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_write_into_the_lease_stays() {
    let server = LeaseServer::default();
    server.edit(|lease| lease["metadata"]["annotations"] = json!({"team": "platform"}));
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    assert_eq!(server.lease()["metadata"]["annotations"], json!({"team": "platform"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn ending_takes_no_longer_for_a_silent_server() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    first.link.set(Mode::Silent);
    let began = Instant::now();
    first.end().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(server.holder(), "a");
}

/// A process that was frozen may act on what it knew, before its elector comes to run.
#[tokio::test]
async fn who_was_frozen_doesnt_lead_when_it_wakes() {
    let server = LeaseServer::default();
    let mut first = start(&server, "a").await;
    first.becomes(true).await;
    std::thread::sleep(TIMING.lead);
    assert!(!first.leadership.leads());
}
