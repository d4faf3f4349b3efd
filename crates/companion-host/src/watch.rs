//! One watch of one kind, for as long as the companion leads.

use crate::objects::{objects_as, resource, resource_of};
use crate::sparse::{Outline, Sparse, WithoutFindings};
use crate::work::Heard;
use futures::{StreamExt, TryStreamExt};
use image_admission_image::workload::WorkloadKind;
use kube::api::{Api, ApiResource, ListParams};
use kube::core::{DynamicObject, DynamicResourceScope, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Error, Event, metadata_watcher, watcher};
use kube::{Client, Resource};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

/// How many objects a page has: reports are large, and a page is read whole.
const PAGE: u32 = 50;
/// The same of workloads: whoever may create one chooses how large it is, up to some megabytes.
const WORKLOADS_PAGE: u32 = 10;
/// The same where only metadata is read.
const METADATA_PAGE: u32 = 500;
/// The pause after an answer that can't be read.
const UNREADABLE: Duration = Duration::from_secs(2);

/// What a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Workloads of a kind.
    Workloads(WorkloadKind),
    /// The objects by which we ask for scans.
    Requests,
    /// What these objects share.
    Shared,
    /// What the engine reads: reports, and what belongs to them.
    Reports,
    /// Objects with evidence, without it.
    Evidence,
    /// Namespaces, with their labels.
    Namespaces,
}

/// What a watch has seen.
#[derive(Debug)]
pub(crate) enum Seen {
    /// An object as it is now.
    Applied(Box<DynamicObject>),
    /// An object as it was before it went.
    Deleted(Box<DynamicObject>),
    /// Everything was listed: these are the identities of all that is there.
    Listed(BTreeSet<String>),
    /// The watch failed. It goes on by itself.
    Failed(String),
}

/// A kind, and where it is watched.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) purpose: Purpose,
    pub(crate) resource: ApiResource,
    /// None: everywhere.
    pub(crate) namespace: Option<String>,
}

impl Subject {
    pub(crate) fn new(purpose: Purpose, api_version: &str, kind: &str, namespace: Option<&str>) -> Self {
        Self { purpose, resource: resource(api_version, kind), namespace: namespace.map(str::to_owned) }
    }

    /// Its `apiVersion` and kind.
    pub(crate) fn kind(&self) -> (&str, &str) {
        (&self.resource.api_version, &self.resource.kind)
    }

    fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        objects_as(client, &self.resource, self.namespace.as_deref())
    }

    pub(crate) fn workloads(kind: WorkloadKind) -> Self {
        Self { purpose: Purpose::Workloads(kind), resource: resource_of(kind), namespace: None }
    }
}

/// Watches until nobody listens. What comes while nobody takes it waits at the API server. After a failure it goes on where it was, or
/// lists anew if the API server doesn't know that any more.
///
/// `number` is the subject's place among all.
pub(crate) async fn watch(client: Client, number: usize, subject: Subject, heard: Sender<Heard>) {
    while follow(&client, number, &subject, &heard).await {
        sleep(UNREADABLE).await;
    }
}

/// Watches until what the API server says can't be read, or nobody listens. Returns whether somebody does.
async fn follow(client: &Client, number: usize, subject: &Subject, heard: &Sender<Heard>) -> bool {
    let config = |page: u32| Config::default().page_size(page);
    let mut events = match subject.purpose {
        // Each may have a MiB.
        Purpose::Evidence => {
            let metadata = metadata_watcher(subject.api::<DynamicObject>(client), config(PAGE));
            metadata.map_ok(|event| with(event, of_metadata)).default_backoff().boxed()
        }
        Purpose::Reports => {
            let reports = watcher(subject.api::<Sparse<WithoutFindings>>(client), config(PAGE));
            reports.map_ok(|event| with(event, |sparse| sparse.0)).default_backoff().boxed()
        }
        Purpose::Workloads(_) | Purpose::Requests | Purpose::Shared | Purpose::Namespaces => {
            let objects = watcher(subject.api::<Sparse<Outline>>(client), config(WORKLOADS_PAGE));
            objects.map_ok(|event| with(event, |sparse| sparse.0)).default_backoff().boxed()
        }
    };
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        let what = match event {
            Ok(Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed.extend(object.metadata.uid.clone());
                Seen::Applied(Box::new(of_kind(object, subject)))
            }
            Ok(Event::InitDone) => Seen::Listed(std::mem::take(&mut listed)),
            Ok(Event::Apply(object)) => Seen::Applied(Box::new(of_kind(object, subject))),
            Ok(Event::Delete(object)) => Seen::Deleted(Box::new(of_kind(object, subject))),
            Err(error) => {
                // A refusal of some lines, as while the storage of a new kind begins, would be read line by line, with a longer pause
                // after each.
                let is_unreadable = matches!(error, Error::WatchFailed(kube::Error::SerdeError(_)));
                let is_heard = heard.send(Heard::Seen(number, Seen::Failed(error.to_string()))).await.is_ok();
                if is_unreadable || !is_heard {
                    return is_heard;
                }
                continue;
            }
        };
        if heard.send(Heard::Seen(number, what)).await.is_err() {
            return false;
        }
    }
    false
}

/// The identities of all that is there, by their metadata alone.
///
/// # Errors
/// What the API server says.
pub(crate) async fn identities(client: Client, subject: &Subject) -> Result<BTreeSet<String>, kube::Error> {
    let api = subject.api::<DynamicObject>(&client);
    let (mut identities, mut page) = (BTreeSet::new(), ListParams::default().limit(METADATA_PAGE));
    loop {
        let list = api.list_metadata(&page).await?;
        identities.extend(list.items.into_iter().filter_map(|object| object.metadata.uid));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(identities),
        }
    }
}

/// An object of which the API server sent the metadata alone.
fn of_metadata(partial: PartialObjectMeta<DynamicObject>) -> DynamicObject {
    DynamicObject { types: None, metadata: partial.metadata, data: json!({}) }
}

/// The same event, of an object that was made of its own.
fn with<A, B>(event: Event<A>, object: impl Fn(A) -> B) -> Event<B> {
    match event {
        Event::Apply(of) => Event::Apply(object(of)),
        Event::Delete(of) => Event::Delete(object(of)),
        Event::Init => Event::Init,
        Event::InitApply(of) => Event::InitApply(object(of)),
        Event::InitDone => Event::InitDone,
    }
}

/// In a list, objects may leave it to the list to say what they are.
fn of_kind(mut object: DynamicObject, subject: &Subject) -> DynamicObject {
    object.types.get_or_insert_with(|| kube::core::TypeMeta {
        api_version: subject.resource.api_version.clone(),
        kind: subject.resource.kind.clone(),
    });
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_companion::evidence::{IMAGE_EVIDENCE, KnownObject};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    #[test]
    fn metadata_alone_says_whose_an_object_is() {
        let digest = format!("sha256:{}", "1".repeat(64));
        let sent = json!({
            "apiVersion": "meta.k8s.io/v1",
            "kind": "PartialObjectMetadata",
            "metadata": {
                "name": digest.replace(':', "-"),
                "uid": "7",
                "generation": 1,
                "creationTimestamp": "2026-11-28T18:00:00Z",
                "labels": {"app.kubernetes.io/managed-by": "image-admission-companion"},
            },
        });
        let subject = Subject::new(Purpose::Evidence, IMAGE_EVIDENCE.api_version, IMAGE_EVIDENCE.kind, None);
        assert_eq!(subject.resource.plural, "imageevidences");
        let object = of_kind(of_metadata(serde_json::from_value(sent.clone()).unwrap()), &subject);
        assert_eq!(object.types.as_ref().unwrap().kind, IMAGE_EVIDENCE.kind);
        let known = KnownObject::read(&serde_json::to_value(object).unwrap()).unwrap();
        assert_eq!((known.digest.as_str(), known.uid.as_str()), (digest.as_str(), "7"));
        // Nothing of it was lost on the way.
        assert_eq!(known, KnownObject::read(&sent).unwrap());
    }

    const POD: &str = r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","uid":"1","resourceVersion":"2"}}}
"#;

    /// An API server that lists no Pods, and whose first watch fails. Later ones have a Pod, and stay open.
    async fn server(listener: TcpListener, refusal: &'static str) {
        let mut watches = 0;
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            let length = stream.read(&mut request).await.unwrap();
            let is_watch = String::from_utf8_lossy(&request[..length]).contains("watch=true");
            watches += usize::from(is_watch);
            let (status, body) = match (is_watch, watches) {
                (false, _) => {
                    ("200 OK", r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#)
                }
                (true, 1) => ("429 Too Many Requests", refusal),
                (true, _) => ("200 OK", POD),
            };
            let length = if body == POD { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{length}\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body.as_bytes()).await.unwrap();
            if body == POD {
                open.push(stream);
            }
        }
    }

    #[tokio::test]
    async fn a_watch_that_failed_goes_on() {
        let status = r#"{"kind": "Status", "status": "Failure", "message": "", "reason": "", "code": 429}"#;
        assert_eq!(heard_of(status, 3).await, ["listed", "failed", "applied"]);
    }

    #[tokio::test]
    async fn a_refusal_of_some_lines_is_one_failure() {
        let status = "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"status\": \"Failure\"\n}";
        assert_eq!(heard_of(status, 4).await, ["listed", "failed", "listed", "applied"]);
    }

    /// What is heard of Pods whose first watch is refused like this.
    async fn heard_of(refusal: &'static str, count: usize) -> Vec<&'static str> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(server(listener, refusal));
        let client = Client::try_from(kube::Config::new(url)).unwrap();
        let (sender, mut hears) = mpsc::channel(8);
        tokio::spawn(watch(client, 0, Subject::workloads(WorkloadKind::Pod), sender));
        let mut heard = Vec::new();
        for _ in 0..count {
            match timeout(Duration::from_secs(20), hears.recv()).await {
                Ok(Some(Heard::Seen(0, Seen::Listed(_)))) => heard.push("listed"),
                Ok(Some(Heard::Seen(0, Seen::Failed(_)))) => heard.push("failed"),
                Ok(Some(Heard::Seen(0, Seen::Applied(_)))) => heard.push("applied"),
                other => panic!("{heard:?}, then {other:?}"),
            }
        }
        heard
    }
}
