//! Asks for scans as a person does: by a Job that the companion sees. What is waited for is the policy's own word about a Pod with
//! this image; Events only show how far the companion is.

use crate::objects::{objects, resource};
use crate::run::{RunError, client};
use crate::shutdown;
use image_admission_companion::event::Told;
use image_admission_companion::on_demand::{job, pod};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::DynamicObject;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long one request to the API server may take: webhooks have 30 s at most.
const REQUEST: Duration = Duration::from_secs(40);
/// What the API server says before the words of a webhook.
const DENIED: (&str, &str) = ("admission webhook ", " denied the request");

/// What is to be scanned, and how.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The images, as a Pod would name them.
    pub images: Vec<String>,
    /// The namespace of the Jobs; none: that of the kubeconfig's context.
    pub namespace: Option<String>,
    /// How long to wait for reports; none: not at all.
    pub wait: Option<Duration>,
    /// How to reach the cluster; none: as `kubectl` would.
    pub kubeconfig: Option<PathBuf>,
    /// How often to look.
    pub timing: ScanTiming,
}

/// How often to look, while a scan is waited for.
#[derive(Clone, Copy, Debug)]
pub struct ScanTiming {
    /// The time between two looks at the Events.
    pub look: Duration,
    /// After how long without an Event the companion may not be there. After the same time a Pod is tried again, whatever Events say.
    pub silence: Duration,
}

impl Default for ScanTiming {
    fn default() -> Self {
        Self { look: Duration::from_secs(2), silence: Duration::from_secs(30) }
    }
}

/// What became of an image, in the order in which it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// This Job asks for its scan.
    Created {
        /// The Job's namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// What the companion says.
    Told(Told),
    /// The companion says nothing.
    Silence,
    /// Something can't be asked now. It is asked again.
    Trouble(String),
    /// The end: a Pod with this image is admitted.
    Admitted,
    /// The end: a Pod with this image is denied, in these words.
    Denied(String),
    /// The end: the time is over, and this was the last denial.
    TimedOut(String),
    /// The end: it can't be asked for.
    Failed(String),
    /// The end: nobody waits for it any more.
    Interrupted,
    /// After the end: its Job is still there, and why.
    Left {
        /// The Job's namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why it can't be deleted.
        why: String,
    },
}

/// Why a request wasn't answered with an object.
enum Refusal {
    /// A policy denies it.
    Denied(String),
    /// Anything else.
    Failed(String),
}

/// A scan that was asked for.
struct Asked {
    image: String,
    job: String,
    uid: String,
    /// What was told already.
    told: BTreeSet<Told>,
    troubles: BTreeSet<String>,
    is_silence_told: bool,
    /// When an Event said that there is a report.
    scanned: Option<Instant>,
    /// When a Pod was last tried, and how it was denied.
    tried: Instant,
    denial: String,
    is_done: bool,
}

struct Cluster {
    client: Client,
    namespace: String,
    timing: ScanTiming,
}

/// Asks for scans, and waits for them if the options say so: then no Job is left in the end, also when the process is told to end.
/// `tell` gets each image with its news.
///
/// # Errors
/// There is no cluster that can be asked. What fails later is among the news.
pub fn scan(options: &ScanOptions, tell: &mut dyn FnMut(&str, News)) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    runtime.block_on(async {
        let client = client(options.kubeconfig.as_deref()).await.map_err(RunError::Cluster)?;
        let namespace = options.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
        let cluster = Cluster { client, namespace, timing: options.timing };
        // Without waiting nothing is to be tidied up.
        let Some(limit) = options.wait else {
            for image in &options.images {
                cluster.ask(image, tell).await;
            }
            return Ok(());
        };
        let stop = shutdown::requested().map_err(RunError::System)?;
        let mut asked = Vec::new();
        for image in &options.images {
            asked.extend(cluster.ask(image, tell).await);
        }
        tokio::select! {
            () = stop => {}
            () = cluster.wait(&mut asked, limit, tell) => {}
        }
        for one in &asked {
            if !one.is_done {
                tell(&one.image, News::Interrupted);
            }
            cluster.delete(one, tell).await;
        }
        Ok(())
    })
}

/// What the API server says to a Pod that is created as a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It would be created.
    Admitted,
    /// A webhook denies it, in these words.
    Denied(String),
    /// Nobody knows, and why.
    Failed(String),
}

/// Tries a Pod with an image as a dry run, in a namespace.
///
/// # Errors
/// There is no cluster that can be asked.
pub fn try_image(image: &str, namespace: &str, kubeconfig: Option<&Path>) -> Result<Tried, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RunError::System)?;
    runtime.block_on(async {
        let client = client(kubeconfig).await.map_err(RunError::Cluster)?;
        let cluster = Cluster { client, namespace: namespace.to_owned(), timing: ScanTiming::default() };
        Ok(match cluster.try_pod(image).await {
            Ok(()) => Tried::Admitted,
            Err(Refusal::Denied(words)) => Tried::Denied(words),
            Err(Refusal::Failed(why)) => Tried::Failed(why),
        })
    })
}

impl Cluster {
    /// Asks for the scan of an image; none if there is nothing to wait for.
    async fn ask(&self, image: &str, tell: &mut dyn FnMut(&str, News)) -> Option<Asked> {
        let ends = match self.try_pod(image).await {
            Ok(()) => News::Admitted,
            Err(Refusal::Failed(why)) => News::Failed(why),
            Err(Refusal::Denied(denial)) => match self.create("batch/v1", "Job", job(image), false).await {
                Ok(created) => {
                    let name = created.metadata.name.unwrap_or_default();
                    tell(image, News::Created { namespace: self.namespace.clone(), name: name.clone() });
                    return Some(Asked {
                        image: image.to_owned(),
                        job: name,
                        uid: created.metadata.uid.unwrap_or_default(),
                        told: BTreeSet::new(),
                        troubles: BTreeSet::new(),
                        is_silence_told: false,
                        scanned: None,
                        tried: Instant::now(),
                        denial,
                        is_done: false,
                    });
                }
                // A workload is denied for what is known of its image, and a Pod also for what isn't.
                Err(Refusal::Denied(denial)) => News::Denied(denial),
                Err(Refusal::Failed(why)) => News::Failed(why),
            },
        };
        tell(image, ends);
        None
    }

    /// Waits until each scan has come to its end.
    async fn wait(&self, asked: &mut [Asked], limit: Duration, tell: &mut dyn FnMut(&str, News)) {
        let began = Instant::now();
        while asked.iter().any(|one| !one.is_done) {
            sleep(self.timing.look).await;
            let is_over = began.elapsed() >= limit;
            for one in asked.iter_mut().filter(|one| !one.is_done) {
                self.look(one, began, tell).await;
                if is_over && !one.is_done {
                    one.end(News::TimedOut(one.denial.clone()), tell);
                }
            }
        }
    }

    /// Looks how far a scan is.
    async fn look(&self, one: &mut Asked, began: Instant, tell: &mut dyn FnMut(&str, News)) {
        match self.events(&one.uid).await {
            Ok(events) => {
                for told in events {
                    if told == Told::Scanned {
                        one.scanned.get_or_insert_with(Instant::now);
                    }
                    if one.told.insert(told.clone()) {
                        tell(&one.image, News::Told(told));
                    }
                }
            }
            Err(why) => one.trouble(why, tell),
        }
        if one.told.is_empty() && !one.is_silence_told && began.elapsed() >= self.timing.silence {
            one.is_silence_told = true;
            tell(&one.image, News::Silence);
        }
        // An Event may be missing, and the policy may see the report later than the companion.
        if one.scanned.is_some() || one.tried.elapsed() >= self.timing.silence {
            self.try_again(one, tell).await;
        }
    }

    async fn try_again(&self, one: &mut Asked, tell: &mut dyn FnMut(&str, News)) {
        one.tried = Instant::now();
        match self.try_pod(&one.image).await {
            Ok(()) => return one.end(News::Admitted, tell),
            Err(Refusal::Denied(denial)) => one.denial = denial,
            Err(Refusal::Failed(why)) => return one.trouble(why, tell),
        }
        match self.create("batch/v1", "Job", job(&one.image), true).await {
            Err(Refusal::Denied(denial)) => one.end(News::Denied(denial), tell),
            Err(Refusal::Failed(why)) => one.trouble(why, tell),
            // It isn't the report for which the Pod is denied.
            Ok(_) if one.scanned.is_some_and(|since| since.elapsed() >= self.timing.silence) => {
                one.end(News::Denied(one.denial.clone()), tell);
            }
            Ok(_) => {}
        }
    }

    async fn try_pod(&self, image: &str) -> Result<(), Refusal> {
        self.create("v1", "Pod", pod(image), true).await.map(|_| ())
    }

    async fn create(
        &self,
        api_version: &str,
        kind: &str,
        object: Value,
        dry_run: bool,
    ) -> Result<DynamicObject, Refusal> {
        let failed = |error: kube::Error| Refusal::Failed(format!("cannot create a {kind}: {error}"));
        let object = serde_json::from_value(object).map_err(kube::Error::SerdeError).map_err(failed)?;
        let how = PostParams { dry_run, ..PostParams::default() };
        match within(self.api(api_version, kind).create(&how, &object)).await? {
            Err(kube::Error::Api(status))
                if status.message.starts_with(DENIED.0) && status.message.contains(DENIED.1) =>
            {
                Err(Refusal::Denied(status.message.clone()))
            }
            answered => answered.map_err(failed),
        }
    }

    /// What the companion says about a Job, in no order.
    async fn events(&self, uid: &str) -> Result<Vec<Told>, String> {
        let of_job = ListParams::default().fields(&format!("regarding.uid={uid}"));
        let api = self.api("events.k8s.io/v1", "Event");
        let events = match within(api.list(&of_job)).await {
            Ok(answered) => answered.map_err(|error| format!("cannot list Events: {error}"))?,
            Err(Refusal::Denied(why) | Refusal::Failed(why)) => return Err(why),
        };
        Ok(events.items.iter().filter_map(|event| Told::read(&event.data)).collect())
    }

    async fn delete(&self, one: &Asked, tell: &mut dyn FnMut(&str, News)) {
        let api = self.api("batch/v1", "Job");
        let why = match within(api.delete(&one.job, &DeleteParams::background())).await {
            Ok(Ok(_)) => return,
            // Somebody else has.
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => return,
            Ok(Err(error)) => error.to_string(),
            Err(Refusal::Denied(why) | Refusal::Failed(why)) => why,
        };
        tell(&one.image, News::Left { namespace: self.namespace.clone(), name: one.job.clone(), why });
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        objects(&self.client, &resource(api_version, kind), Some(&self.namespace))
    }
}

impl Asked {
    fn trouble(&mut self, why: String, tell: &mut dyn FnMut(&str, News)) {
        if self.troubles.insert(why.clone()) {
            tell(&self.image, News::Trouble(why));
        }
    }

    fn end(&mut self, news: News, tell: &mut dyn FnMut(&str, News)) {
        self.is_done = true;
        tell(&self.image, news);
    }
}

/// The answer to a request, if it comes in time.
async fn within<T>(request: impl Future<Output = Result<T, kube::Error>>) -> Result<Result<T, kube::Error>, Refusal> {
    let late = || Refusal::Failed(format!("the API server doesn't answer within {} s", REQUEST.as_secs()));
    timeout(REQUEST, request).await.map_err(|_| late())
}
