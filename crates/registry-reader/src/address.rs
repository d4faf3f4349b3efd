//! Whether an address is of the internet, or of a network that a registry's redirect must not reach.
//!
//! The ranges are those of IANA's special-purpose registries ([IPv4], [IPv6]).
//!
//! [IPv4]: https://www.iana.org/assignments/iana-ipv4-special-registry
//! [IPv6]: https://www.iana.org/assignments/iana-ipv6-special-registry

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who can be reached at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Somebody on the internet.
    Public,
    /// This machine.
    Loopback,
    /// Somebody in an own network: private and shared addresses, and those that are reserved for something else than the internet.
    Private,
    /// Nobody who runs a registry: this link, where clouds serve credentials, groups, and no address at all.
    Nowhere,
}

/// Where clouds serve credentials and settings of machines, besides the link-local addresses: Alibaba, Azure, AWS, Google.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

impl Reach {
    pub(crate) fn of(address: IpAddr) -> Self {
        if METADATA.contains(&address) {
            return Self::Nowhere;
        }
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                Some(inner) => Self::of(IpAddr::V4(inner)),
                None => of_v6(address),
            },
        }
    }
}

fn of_v4(address: Ipv4Addr) -> Reach {
    match address.octets() {
        [127, ..] => Reach::Loopback,
        [0, ..] | [169, 254, ..] | [224..=239, ..] | [255, 255, 255, 255] => Reach::Nowhere,
        [10, ..]
        | [100, 64..=127, ..]
        | [172, 16..=31, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [192, 168, ..]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Reach::Private,
        _ => Reach::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Reach {
    if address.is_loopback() {
        return Reach::Loopback;
    }
    match address.segments() {
        // Unspecified, and what stands for IPv4 addresses in a way that nobody uses.
        [0, 0, 0, 0, 0, 0, ..] => Reach::Nowhere,
        [0xfe80..=0xfebf | 0xff00..=0xffff, ..] => Reach::Nowhere,
        // Protocols and documentation, in the midst of the internet's addresses.
        [0x2001, ..=0x1ff | 0xdb8, ..] | [0x3fff, ..=0xfff, ..] => Reach::Private,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Private,
    }
}

/// The IPv4 address that an IPv6 one stands for: a mapped one, one behind a translator (RFC 6052), or one of 6to4 (RFC 3056).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Reach, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(Reach::of(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn the_internet() {
        check(
            Reach::Public,
            &[
                "1.1.1.1",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "2001:200::1",
                "2606:4700::1111",
                "2a00:1450:4001:831::200e",
                "3ffe::1",
                "::ffff:1.1.1.1",
                "64:ff9b::1.1.1.1",
                "2002:101:101::1",
            ],
        );
    }

    #[test]
    fn this_machine() {
        check(
            Reach::Loopback,
            &[
                "127.0.0.1",
                "127.255.255.255",
                "::1",
                "::ffff:127.0.0.1",
                "::ffff:7f00:1",
                "64:ff9b::127.0.0.1",
                "2002:7f00:1::1",
            ],
        );
    }

    #[test]
    fn own_networks() {
        check(
            Reach::Private,
            &[
                "10.0.0.0",
                "10.255.255.255",
                "100.64.0.1",
                "100.127.255.255",
                "172.16.0.0",
                "172.31.255.255",
                "192.0.0.192",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.0.0",
                "192.168.255.255",
                "198.18.0.0",
                "198.19.255.255",
                "198.51.100.1",
                "203.0.113.1",
                "240.0.0.1",
                "255.255.255.254",
                "64:ff9b:1::1",
                "100::1",
                "2001::1",
                "2001:1ff::1",
                "2001:db8::1",
                "3fff::1",
                "4000::1",
                "fc00::1",
                "fdff:ffff::1",
                "fec0::1",
                "::ffff:10.0.0.1",
                "64:ff9b::192.168.0.1",
                "2002:a00:1::1",
            ],
        );
    }

    #[test]
    fn where_nobody_runs_a_registry() {
        check(
            Reach::Nowhere,
            &[
                "0.0.0.0",
                "0.1.2.3",
                "169.254.0.0",
                "169.254.169.254",
                "169.254.255.255",
                "224.0.0.1",
                "239.255.255.255",
                "255.255.255.255",
                "100.100.100.200",
                "168.63.129.16",
                "::",
                "::7f00:1",
                "fe80::1",
                "febf::1",
                "ff02::1",
                "fd00:ec2::254",
                "fd20:ce::254",
                "::ffff:169.254.169.254",
                "::ffff:0.0.0.0",
                "::ffff:100.100.100.200",
                "64:ff9b::169.254.169.254",
                "64:ff9b::224.0.0.1",
                "2002:a9fe:a9fe::1",
            ],
        );
    }
}
