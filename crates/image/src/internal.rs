//! Hosts that may be inside of the policy server's network.

/// The last labels of names that public DNS doesn't have: of Services, multicast DNS, clouds, this machine, and networks of homes
/// and companies.
const INTERNAL: [&str; 11] =
    ["svc", "local", "internal", "localhost", "localdomain", "lan", "home", "corp", "intranet", "private", "arpa"];

/// Whether a registry's canonical host, with its port or without, may be inside of the policy server's network: an IP
/// address however it is written, a name without a dot, or one that public DNS doesn't have.
///
/// A public name may have an address inside too, and search domains may complete any name. Only a list of registries prevents calls
/// to those.
pub fn is_internal(host: &str) -> bool {
    if host.starts_with('[') {
        return true;
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    match name.rsplit_once('.') {
        Some((_, last)) => INTERNAL.contains(&last) || is_number(last),
        None => true,
    }
}

/// Whether the last label makes clients read the host as an IPv4 address, of any number of parts: `1`, `0177`, `0x7f`.
fn is_number(label: &str) -> bool {
    match label.strip_prefix("0x") {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => label.bytes().all(|b| b.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageReference;

    #[test]
    fn addresses_and_names_inside() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:5000",
            "10.0.0.1:443",
            "169.254.169.254",
            "127.1",
            "127.1:80",
            "0x7f.0.0.1",
            "0X7F.0.0.1",
            "1.2.3.0x4",
            "1.2.3.0x",
            "0177.0.0.01",
            "2130706433:80",
            "999.999.999.999",
            "registry.example.1",
            "[::1]",
            "[::1]:5000",
            "[::ffff:127.0.0.1]:5000",
            "[2001:DB8::1]:5000",
            "localhost",
            "localhost:5000",
            "LOCALHOST:5000",
            "a.localhost",
            "registry:5000",
            "Registry",
            "registry.shop.svc",
            "registry.shop.svc:5000",
            "Registry.Shop.SVC:5000",
            "registry.shop.svc.cluster.local",
            "registry.cluster.local:5000",
            "nas.local",
            "metadata.google.internal",
            "localhost.localdomain:5000",
            "nas.lan",
            "router.home.arpa",
            "registry.corp",
        ] {
            let reference = ImageReference::parse(&format!("{host}/team/app")).unwrap();
            assert!(is_internal(reference.host()), "{host}: {}", reference.host());
        }
    }

    #[test]
    fn names_of_the_public_dns() {
        for host in [
            "ghcr.io",
            "GHCR.IO:5000",
            "docker.io",
            "registry.k8s.io",
            "svc.example.com",
            "localhost.example.com",
            "local.dev",
            "internal.example.com",
            "mylocal.notlocal",
            "127.0.0.1.nip.io",
            "1.2.3.0xg",
            "1.2.3.4a",
            "1.example",
        ] {
            let reference = ImageReference::parse(&format!("{host}/team/app")).unwrap();
            assert!(!is_internal(reference.host()), "{host}");
        }
        assert!(!is_internal(ImageReference::parse("nginx").unwrap().host()));
    }
}
