//! HTTP clients that connect to allowed addresses alone: the name is looked up once, and only what was checked is connected to.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use url::Host;

use crate::address::Reach;
use crate::failure::{Flaw, Outage, ReadFailure};

/// How long a connection is kept that nothing is asked on.
const IDLE: Duration = Duration::from_secs(30);

/// Clients for registries, and for the hosts that registries send to.
pub(crate) struct Clients {
    registry: Guarded,
    public: Guarded,
    private: Guarded,
    loopback: Guarded,
}

/// A client that reaches what its guard allows.
pub(crate) struct Guarded {
    client: Client,
    guard: Guard,
}

/// Which addresses may be connected to.
#[derive(Clone, Copy, Debug)]
enum Guard {
    /// A registry: it may be inside.
    Registry,
    /// A host that a registry sends to: on the internet, or where the registry itself is.
    SentFrom(Reach),
}

/// Why no client can be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up TLS: {0}")]
pub struct SetupError(#[from] reqwest::Error);

/// A name has no address that may be connected to.
#[derive(Debug, thiserror::Error)]
#[error("no address that may be connected to")]
struct ForbiddenAddress;

impl Clients {
    pub(crate) fn new() -> Result<Self, SetupError> {
        Ok(Self {
            registry: Guarded::new(Guard::Registry)?,
            public: Guarded::new(Guard::SentFrom(Reach::Public))?,
            private: Guarded::new(Guard::SentFrom(Reach::Private))?,
            loopback: Guarded::new(Guard::SentFrom(Reach::Loopback))?,
        })
    }

    /// The client that asks registries.
    pub(crate) fn of_registries(&self) -> &Guarded {
        &self.registry
    }

    /// The client that asks a host to which a registry sends that is itself reached like this.
    pub(crate) fn sent_from(&self, registry: Reach) -> &Guarded {
        match registry {
            Reach::Private => &self.private,
            Reach::Loopback => &self.loopback,
            Reach::Public | Reach::Nowhere => &self.public,
        }
    }
}

impl Guarded {
    fn new(guard: Guard) -> Result<Self, SetupError> {
        let client = Client::builder()
            .user_agent(concat!("image-admission/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .no_proxy()
            .pool_idle_timeout(IDLE)
            .dns_resolver(guard)
            .build()?;
        Ok(Self { client, guard })
    }

    /// The client for a URL. An address in the URL isn't looked up: so it is checked here.
    ///
    /// Fails when the address isn't allowed.
    pub(crate) fn towards(&self, url: &Url) -> Result<&Client, ReadFailure> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(&self.client),
        };
        if self.guard.allows(address) { Ok(&self.client) } else { Err(ReadFailure::Invalid(Flaw::Address)) }
    }
}

impl Guard {
    fn allows(self, address: IpAddr) -> bool {
        match (self, Reach::of(address)) {
            (_, Reach::Nowhere) => false,
            (Self::Registry, _) | (Self::SentFrom(_), Reach::Public) => true,
            (Self::SentFrom(registry), reach) => registry == reach,
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|address| guard.allows(address.ip())).collect();
            if allowed.is_empty() {
                return Err(ForbiddenAddress.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

/// What a request without an answer failed by.
pub(crate) fn failure(error: &reqwest::Error) -> ReadFailure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<ForbiddenAddress>() {
            return ReadFailure::Invalid(Flaw::Address);
        }
        cause = error.source();
    }
    ReadFailure::Outage(Outage::Connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Where another client would find somebody: nobody is connected to.
    #[tokio::test]
    async fn a_name_with_a_forbidden_address_is_not_connected_to() {
        let trap = TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let url: Url = format!("http://localhost:{}/", trap.local_addr().unwrap().port()).parse().unwrap();
        let clients = Clients::new().unwrap();
        for registry in [Reach::Public, Reach::Private] {
            let client = clients.sent_from(registry).towards(&url).unwrap();
            let error = client.get(url.clone()).timeout(Duration::from_secs(5)).send().await.unwrap_err();
            assert_eq!(failure(&error), ReadFailure::Invalid(Flaw::Address), "{registry:?}: {error:?}");
            assert!(trap.accept().is_err(), "{registry:?}");
        }
        // The trap works: where the registry itself is on this machine, it may send there.
        let client = clients.sent_from(Reach::Loopback).towards(&url).unwrap();
        let error = client.get(url.clone()).timeout(Duration::from_millis(200)).send().await.unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        assert!(trap.accept().is_ok());
    }

    #[test]
    fn addresses_in_urls() {
        let clients = Clients::new().unwrap();
        let is_allowed = |client: &Guarded, url: &str| client.towards(&url.parse().unwrap()).is_ok();
        for (url, from_registry, from_public, from_private, from_loopback) in [
            ("https://1.1.1.1/", true, true, true, true),
            ("https://10.0.0.1/", true, false, true, false),
            ("https://127.0.0.1/", true, false, false, true),
            // The same, spelled otherwise.
            ("https://0x7f.1/", true, false, false, true),
            ("https://2130706433/", true, false, false, true),
            ("https://[::ffff:127.0.0.1]/", true, false, false, true),
            ("https://169.254.169.254/", false, false, false, false),
            ("https://[::ffff:a9fe:a9fe]/", false, false, false, false),
            ("https://0/", false, false, false, false),
        ] {
            assert_eq!(is_allowed(clients.of_registries(), url), from_registry, "{url}");
            assert_eq!(is_allowed(clients.sent_from(Reach::Public), url), from_public, "{url}");
            assert_eq!(is_allowed(clients.sent_from(Reach::Private), url), from_private, "{url}");
            assert_eq!(is_allowed(clients.sent_from(Reach::Loopback), url), from_loopback, "{url}");
        }
    }
}
