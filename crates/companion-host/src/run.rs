//! The companion's process: it leads or waits to, and ends when it is told to.

use crate::http::{self, Status};
use crate::lease::{Elector, Leadership};
use crate::log::{line, write};
use crate::policy::Policy;
use crate::shutdown;
use crate::work::Work;
use image_admission_companion::lease::Timing;
use image_admission_companion::log::LogLevel;
use image_admission_companion::metrics::Metrics;
use image_admission_companion::{COMPANION, CompanionSettings};
use image_admission_registry_reader::{ApiToken, Logins, RegistryReader, SetupError};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, interval, sleep, timeout};

/// How long to wait for another look at a policy that can't be used.
const POLICY: Duration = Duration::from_secs(10);
/// How long the API server may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How often one that waits to lead says that it is there.
const BEAT: Duration = Duration::from_secs(5);

/// How the companion runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its settings.
    pub settings: CompanionSettings,
    /// The namespace of its Lease.
    pub namespace: String,
    /// Who it is among those that want to lead.
    pub identity: String,
    /// Where it answers about its health: `:8081`, or with an address before the port.
    pub health_bind_address: String,
    /// How to reach the cluster; none: as the Pod it runs in, or as `kubectl` would.
    pub kubeconfig: Option<PathBuf>,
    /// Registries, and the API of a GitHub, that are asked over plain HTTP.
    pub insecure_registries: Vec<String>,
    /// The token with which GitHub is asked for attestations. Public ones need none.
    pub github_token: Option<ApiToken>,
}

/// Why the companion can't run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system gives no threads, or no signals.
    #[error("cannot start: {0}")]
    System(io::Error),
    /// The address is taken, or isn't one.
    #[error("cannot listen at `{address}`: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// There is no cluster, or its configuration can't be used.
    #[error("cannot use the configuration of the cluster: {0}")]
    Cluster(Box<dyn std::error::Error + Send + Sync>),
    /// Registries can't be asked.
    #[error("cannot ask registries: {0}")]
    Registries(#[from] SetupError),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// It can't begin. What fails later is logged, and tried again.
pub fn run(options: &Options) -> Result<(), RunError> {
    let registries = Arc::new(RegistryReader::new(image_admission_registry_reader::Options {
        logins: Logins::OfUser,
        plain_http: options.insecure_registries.clone(),
        ..image_admission_registry_reader::Options::default()
    })?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(RunError::System)?;
    let ended = runtime.block_on(serve(options, registries));
    // What a registry holds up isn't waited for.
    runtime.shutdown_background();
    ended
}

async fn serve(options: &Options, registries: Arc<RegistryReader>) -> Result<(), RunError> {
    let client = client(options.kubeconfig.as_deref()).await.map_err(RunError::Cluster)?;
    let address = &options.health_bind_address;
    let listener = http::bind(address).await.map_err(|source| RunError::Listen { address: address.clone(), source })?;
    let stop = shutdown::requested().map_err(RunError::System)?;
    let (status, told) = watch::channel(waiting());
    let health = tokio::spawn(http::serve(listener, told));
    let (elector, leadership) =
        Elector::new(client.clone(), &options.namespace, COMPANION, options.identity.clone(), Timing::default());
    let (release, released) = oneshot::channel::<()>();
    let election = tokio::spawn(elector.run(async {
        let _ = released.await;
    }));
    tokio::select! {
        () = stop => {}
        () = lead(&client, options, &registries, leadership, &status) => {}
    }
    // The work has ended by now, so that another may begin.
    let _ = release.send(());
    let _ = election.await;
    health.abort();
    Ok(())
}

/// Works while it leads, and waits otherwise.
async fn lead(
    client: &Client,
    options: &Options,
    registries: &Arc<RegistryReader>,
    mut leadership: Leadership,
    status: &watch::Sender<Status>,
) {
    let mut beat = interval(BEAT);
    loop {
        tokio::select! {
            _ = beat.tick() => {
                let _ = status.send(waiting());
                continue;
            }
            changed = leadership.changed() => match changed {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return,
            }
        }
        if !leadership.leads() {
            continue;
        }
        tokio::select! {
            () = work(client, options, registries, status) => {}
            changed = leadership.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

/// Works, and begins anew when the policy has changed.
async fn work(client: &Client, options: &Options, registries: &Arc<RegistryReader>, status: &watch::Sender<Status>) {
    loop {
        let reading = timeout(ANSWER, Policy::read(client, &options.settings)).await;
        match reading.unwrap_or_else(|_| Err("the policy can't be read: no answer from the API server".to_owned())) {
            Ok(policy) => {
                write(&match &policy.scanner {
                    Some(scanner) => line(LogLevel::Info, &format!("asks {scanner} for scans"))
                        .with("namespace", scanner.namespace()),
                    None => line(LogLevel::Info, "asks nobody for scans, and copies evidence"),
                });
                Work::run(client.clone(), options, policy, Arc::clone(registries), status).await;
            }
            Err(why) => {
                write(&line(LogLevel::Error, &why));
                let metrics = Metrics { leader: true, ..Metrics::default() };
                let _ = status.send(Status { beat: Instant::now(), ready: false, remark: why, metrics });
                sleep(POLICY).await;
            }
        }
    }
}

/// The status of one that waits to lead.
fn waiting() -> Status {
    Status { beat: Instant::now(), ready: true, remark: "waits to lead".to_owned(), metrics: Metrics::default() }
}

/// A client of the cluster that a kubeconfig names, or else of the Pod's or the user's own.
pub(crate) async fn client(kubeconfig: Option<&Path>) -> Result<Client, Box<dyn std::error::Error + Send + Sync>> {
    let config = match kubeconfig {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    Ok(Client::try_from(config)?)
}
