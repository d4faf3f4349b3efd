//! Scans that a person asks for, against a stub of an API server, with a hundredth of the usual times.

use crate::support::api_server::{ApiServer, DENIAL, Verdicts};
use image_admission_companion::event::Told;
use image_admission_companion_host::{News, ScanOptions, ScanTiming, scan};
use serde_json::{Value, json};
use std::time::Duration;

const IMAGE: &str = "ghcr.io/team/web:1.0";
const LOOK: Duration = Duration::from_millis(20);

fn denied(words: &str) -> Option<(u16, String)> {
    Some((403, format!("{DENIAL}{words}")))
}

/// An Event as the companion writes it.
fn event(reason: &str, note: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": reason, "namespace": "shop"},
        "reportingController": "image-admission-companion", "reason": reason, "note": note,
    })
}

fn requested() -> Value {
    event("ScanRequested", "asked for a scan of `ghcr.io/team/web:1.0`: CronJob `image-scans/scan-1`")
}

fn scanned() -> Value {
    event("ImageScanned", "`ghcr.io/team/web:1.0` has a scan report")
}

fn asked() -> News {
    News::Told(Told::Asked("CronJob `image-scans/scan-1`".to_owned()))
}

fn created() -> News {
    News::Created { namespace: "shop".to_owned(), name: "scan-x2x7k".to_owned() }
}

/// What is told of an image, and what was changed in the cluster. `silence` and `wait` are in looks.
#[track_caller]
fn news(verdicts: Verdicts, silence: u32, wait: Option<u32>) -> (Vec<News>, Vec<String>) {
    let server = ApiServer::start(verdicts);
    let options = ScanOptions {
        images: vec![IMAGE.to_owned()],
        namespace: None,
        wait: wait.map(|looks| LOOK * looks),
        kubeconfig: Some(server.kubeconfig.path().to_owned()),
        timing: ScanTiming { look: LOOK, silence: LOOK * silence },
    };
    let mut news = Vec::new();
    scan(&options, &mut |image, one| {
        assert_eq!(image, IMAGE);
        news.push(one);
    })
    .unwrap();
    (news, server.changes())
}

const SELDOM: u32 = 100_000;

#[test]
fn an_image_that_is_admitted_needs_no_job() {
    for wait in [None, Some(SELDOM)] {
        let verdicts = Verdicts { pods: vec![None], ..Verdicts::default() };
        assert_eq!(news(verdicts, SELDOM, wait), (vec![News::Admitted], vec![]));
    }
}

#[test]
fn an_image_whose_report_rejects_it_is_denied_with_the_job() {
    for wait in [None, Some(SELDOM)] {
        let verdicts = Verdicts { pods: vec![denied("pending")], job: denied("1 critical"), ..Verdicts::default() };
        let denied = News::Denied(format!("{DENIAL}1 critical"));
        assert_eq!(news(verdicts, SELDOM, wait), (vec![denied], vec!["create".to_owned()]));
    }
}

#[test]
fn who_doesnt_wait_leaves_the_job() {
    let verdicts = Verdicts { pods: vec![denied("pending")], ..Verdicts::default() };
    assert_eq!(news(verdicts, SELDOM, None), (vec![created()], vec!["create".to_owned()]));
}

#[test]
fn who_waits_hears_how_far_it_is_and_how_it_ends() {
    let told = vec![requested(), event("Suspended", "not the companion's"), scanned()];
    let both = vec!["create".to_owned(), "delete".to_owned()];
    let way = || vec![created(), asked(), News::Told(Told::Scanned)];
    // The policy sees the report a little later than the companion.
    let pods = vec![denied("pending"), denied("pending"), None];
    let verdicts = Verdicts { pods, told: told.clone(), ..Verdicts::default() };
    assert_eq!(news(verdicts, SELDOM, Some(SELDOM)), ([way(), vec![News::Admitted]].concat(), both.clone()));
    // The report rejects it.
    let (pods, job_again) = (vec![denied("pending")], denied("1 critical"));
    let verdicts = Verdicts { pods, job_again, told: told.clone(), ..Verdicts::default() };
    let end = News::Denied(format!("{DENIAL}1 critical"));
    assert_eq!(news(verdicts, SELDOM, Some(SELDOM)), ([way(), vec![end]].concat(), both.clone()));
    // Something else rejects Pods alone.
    let verdicts = Verdicts { pods: vec![denied("pending"), denied("no owner")], told, ..Verdicts::default() };
    let end = News::Denied(format!("{DENIAL}no owner"));
    assert_eq!(news(verdicts, 10, Some(SELDOM)), ([way(), vec![end]].concat(), both));
}

#[test]
fn events_of_others_are_no_news() {
    let mut others = scanned();
    others["reportingController"] = "job-controller".into();
    let verdicts = Verdicts { pods: vec![denied("pending")], told: vec![others], ..Verdicts::default() };
    let end = News::TimedOut(format!("{DENIAL}pending"));
    assert_eq!(news(verdicts, SELDOM, Some(5)).0, [created(), end]);
}

#[test]
fn a_failure_is_told_and_waited_out() {
    let failed = event("ScanFailed", "`ghcr.io/team/web:1.0` wasn't scanned: the scanner reported a failure");
    let verdicts = Verdicts { pods: vec![denied("pending")], told: vec![requested(), failed], ..Verdicts::default() };
    let failed = News::Told(Told::Failed("the scanner reported a failure".to_owned()));
    let end = News::TimedOut(format!("{DENIAL}pending"));
    let both = vec!["create".to_owned(), "delete".to_owned()];
    assert_eq!(news(verdicts, SELDOM, Some(10)), (vec![created(), asked(), failed, end], both));
}

#[test]
fn without_a_companion_its_silence_is_told_once() {
    let verdicts = Verdicts { pods: vec![denied("pending")], ..Verdicts::default() };
    let end = News::TimedOut(format!("{DENIAL}pending"));
    assert_eq!(news(verdicts, 3, Some(20)).0, [created(), News::Silence, end]);
}

#[test]
fn a_report_counts_without_an_event() {
    let no_right = (403, "events.events.k8s.io is forbidden".to_owned());
    let verdicts = Verdicts { pods: vec![denied("pending"), None], events: Some(no_right), ..Verdicts::default() };
    let (told, changes) = news(verdicts, 3, Some(SELDOM));
    let [first, News::Trouble(why), News::Silence, News::Admitted] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*first, created());
    assert!(why.starts_with("cannot list Events: ") && why.contains("is forbidden"), "{why}");
    assert_eq!(changes, ["create", "delete"]);
}

#[test]
fn what_isnt_the_policys_word_is_a_failure() {
    for (pod, job, changes) in [
        (Some((403, "pods is forbidden".to_owned())), None, 0),
        (Some((500, "failed calling webhook \"a\": denied the request".to_owned())), None, 0),
        (denied("pending"), Some((403, "jobs.batch is forbidden".to_owned())), 1),
    ] {
        let verdicts = Verdicts { pods: vec![pod.clone()], job, ..Verdicts::default() };
        let (told, changed) = news(verdicts, SELDOM, Some(SELDOM));
        assert!(matches!(&told[..], [News::Failed(_)]), "{pod:?}: {told:?}");
        assert_eq!(changed.len(), changes);
    }
}

#[test]
fn a_job_that_is_left_is_told() {
    for (code, is_left) in [(404, false), (403, true)] {
        let delete = Some((code, "jobs.batch \"scan-x2x7k\"".to_owned()));
        let pods = vec![denied("pending"), None];
        let verdicts = Verdicts { pods, told: vec![scanned()], delete, ..Verdicts::default() };
        let (told, _) = news(verdicts, SELDOM, Some(SELDOM));
        assert_eq!(matches!(told.last(), Some(News::Left { .. })), is_left, "{told:?}");
    }
}
