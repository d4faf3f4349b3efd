//! Who gives tokens for a registry, and who gets the registry's login for them.

use reqwest::Url;

use crate::failure::{Flaw, ReadFailure};

/// Where Docker Hub's tokens come from. Its registry and this are siblings.
const DOCKER_HUB_REALM: &str = "auth.docker.io";
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";

/// Second labels below which registries of countries give names to everybody, as in `co.uk`.
const SECOND_LEVEL: [&str; 8] = ["ac", "co", "com", "edu", "gov", "net", "or", "org"];

/// The URL that gives tokens for a registry. It is HTTPS, or plain where the registry itself is, and at the same host and port then.
///
/// Fails when it is another one.
pub(crate) fn parse(realm: &str, registry: &Url) -> Result<Url, ReadFailure> {
    let url = Url::parse(realm).ok().filter(|url| url.username().is_empty() && url.password().is_none());
    let is_safe = |url: &Url| url.scheme() == "https" || (url.scheme() == "http" && url.origin() == registry.origin());
    url.filter(is_safe).ok_or(ReadFailure::Invalid(Flaw::Challenge))
}

/// Whether a realm gets the login of a registry: it is the registry's own host, the domain right above it, or listed.
pub(crate) fn gets_login(realm: &Url, registry: &Url, listed: &[String]) -> bool {
    let (Some(realm), Some(registry)) = (realm.host_str(), registry.host_str()) else { return false };
    let is_docker_hub = registry == DOCKER_HUB_REGISTRY && realm == DOCKER_HUB_REALM;
    realm == registry
        || is_docker_hub
        || registry.split_once('.').is_some_and(|(_, parent)| parent == realm && is_owned(parent))
        || listed.iter().any(|host| host == realm)
}

/// Whether a domain is one somebody has, and nothing below which everybody may have one.
fn is_owned(domain: &str) -> bool {
    let mut labels = domain.rsplit('.');
    match (labels.next(), labels.next(), labels.next()) {
        // `0` is the last label of an address alone.
        (Some(top), _, _) if top.bytes().all(|b| b.is_ascii_digit()) => false,
        (Some(top), Some(second), None) => top.len() != 2 || !SECOND_LEVEL.contains(&second),
        (_, _, third) => third.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gets_the_login() {
        let listed = ["sso.example.net".to_owned()];
        for (registry, realm, expected) in [
            ("ghcr.io", "ghcr.io", true),
            ("ghcr.io:8443", "ghcr.io", true),
            ("registry.gitlab.com", "gitlab.com", true),
            ("a.registry.example.com", "registry.example.com", true),
            ("registry.k8s.io", "k8s.io", true),
            ("registry-1.docker.io", "auth.docker.io", true),
            ("ghcr.io", "sso.example.net", true),
            // Two labels above, a sibling, below, a name that only ends alike.
            ("a.registry.example.com", "example.com", false),
            ("registry.example.com", "auth.example.com", false),
            ("example.com", "auth.example.com", false),
            ("registry.example.com", "notexample.com", false),
            ("registry.example.com", "example.com.evil.test", false),
            // Everybody's.
            ("ghcr.io", "io", false),
            ("example.co.uk", "co.uk", false),
            ("registry.svc", "svc", false),
            // Docker Hub's realm is Docker Hub's alone, and other registries' realms aren't Docker Hub's.
            ("ghcr.io", "auth.docker.io", false),
            ("registry-1.docker.io", "ghcr.io", false),
            ("10.0.0.1", "0.0.1", false),
            ("127.0.0.1:5000", "127.0.0.1", true),
            ("127.0.0.1:5000", "127.0.0.2", false),
            ("ghcr.io", "sso.example.net.evil.test", false),
        ] {
            let url = |host| Url::parse(&format!("https://{host}/")).unwrap();
            assert_eq!(gets_login(&url(realm), &url(registry), &listed), expected, "{registry} {realm}");
        }
    }

    #[test]
    fn realms_that_nobody_asks() {
        for (registry, realm, expected) in [
            ("https://ghcr.io", "https://ghcr.io/token", true),
            ("https://ghcr.io", "https://elsewhere.test/token", true),
            ("http://127.0.0.1:5000", "http://127.0.0.1:5000/token", true),
            ("http://127.0.0.1:5000", "https://ghcr.io/token", true),
            ("http://127.0.0.1:5000", "http://127.0.0.1:5001/token", false),
            ("https://127.0.0.1:5000", "http://127.0.0.1:5000/token", false),
            ("https://ghcr.io", "http://ghcr.io/token", false),
            ("https://ghcr.io", "https://ghcr.io@elsewhere.test/token", false),
            ("https://ghcr.io", "https://:password@ghcr.io/token", false),
            ("https://ghcr.io", "file:///token", false),
            ("https://ghcr.io", "/token", false),
        ] {
            let parsed = parse(realm, &registry.parse().unwrap());
            let wrong = Err(ReadFailure::Invalid(Flaw::Challenge));
            assert_eq!(parsed, if expected { Ok(realm.parse().unwrap()) } else { wrong }, "{registry} {realm}");
        }
    }
}
