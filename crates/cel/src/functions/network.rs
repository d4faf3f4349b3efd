//! The functions on addresses and networks, `ip` and `cidr`.
//!
//! Kubernetes parses with Go's `net/netip`, and refuses zones and IPv4 addresses that are written as IPv6.

use super::{Answer, Call, CowVal, ExecutionError, Kind, Val, give_bool, give_int, quoted};
use cel::common::types::Type;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `ip(text)`, and `cidr.ip()`: the address as written, without the prefix length.
pub(super) fn ip<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.is_member {
        return Ok(CowVal::owned(Address(network(&call)?.address)));
    }
    Ok(CowVal::owned(Address(parsed_address(&call, call.text(0)?)?)))
}

/// `isIP(text)`.
pub(super) fn is_ip<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(address(call.text(0)?).is_some())
}

/// `ip.isCanonical(text)`: whether an address is in its canonical form.
pub(super) fn is_canonical<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    give_bool(parsed_address(&call, text)?.to_string() == text)
}

/// `ip.family()`: 4 or 6.
pub(super) fn family<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_int(if receiver(&call)?.is_ipv4() { 4 } else { 6 })
}

/// `ip.isUnspecified()`.
pub(super) fn is_unspecified<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(receiver(&call)?.is_unspecified())
}

/// `ip.isLoopback()`.
pub(super) fn is_loopback<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(receiver(&call)?.is_loopback())
}

/// `ip.isLinkLocalMulticast()`.
pub(super) fn is_link_local_multicast<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(match receiver(&call)? {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    })
}

/// `ip.isLinkLocalUnicast()`.
pub(super) fn is_link_local_unicast<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(is_link_local(receiver(&call)?))
}

/// `ip.isGlobalUnicast()`: true for private addresses too, as in Go.
pub(super) fn is_global_unicast<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let address = receiver(&call)?;
    let is_own = address.is_unspecified() || address.is_loopback() || is_link_local(address);
    give_bool(!is_own && !address.is_multicast() && address != IpAddr::V4(Ipv4Addr::BROADCAST))
}

/// `cidr(text)`.
pub(super) fn cidr<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    Ok(CowVal::owned(parsed_network(&call, call.text(0)?)?))
}

/// `isCIDR(text)`.
pub(super) fn is_cidr<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(Network::parse(call.text(0)?).is_some())
}

/// `cidr.containsIP(address)`; the address may be a string.
pub(super) fn contains_ip<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let network = network(&call)?;
    let address = match call.argument(1)?.downcast_ref::<Address>() {
        Some(address) => address.0,
        None => parsed_address(&call, call.text(1)?)?,
    };
    give_bool(network.has(address))
}

/// `cidr.containsCIDR(network)`; the network may be a string.
pub(super) fn contains_cidr<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let network = network(&call)?;
    let inner = match call.argument(1)?.downcast_ref::<Network>() {
        Some(inner) => *inner,
        None => parsed_network(&call, call.text(1)?)?,
    };
    give_bool(network.bits <= inner.bits && network.has(inner.address))
}

/// `cidr.prefixLength()`.
pub(super) fn prefix_length<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_int(i64::from(network(&call)?.bits))
}

/// `cidr.masked()`: the network with zeros after its prefix.
pub(super) fn masked<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let network = network(&call)?;
    Ok(CowVal::owned(Network { address: cut(network.address, network.bits), bits: network.bits }))
}

/// `string(x)` of an address or a network; none for any other value.
pub(super) fn shown(value: &dyn Val) -> Option<String> {
    let address = value.downcast_ref::<Address>().map(|address| address.0.to_string());
    address.or_else(|| {
        let network = value.downcast_ref::<Network>()?;
        Some(format!("{}/{}", network.address, network.bits))
    })
}

/// An address as a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Address(IpAddr);

opaque!(Address, "net.IP");

/// A network as a value. Two are equal only if their addresses are equal after the prefix too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

opaque!(Network, "net.CIDR");

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (before, length) = text.rsplit_once('/')?;
        let address = address(before)?;
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let bits: u8 = length.parse().ok().filter(|_| is_number && (length == "0" || !length.starts_with('0')))?;
        (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some(Self { address, bits })
    }

    fn has(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && cut(self.address, self.bits) == cut(address, self.bits)
    }
}

/// The address with zeros after its first bits.
fn cut(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits.into())).unwrap_or_default();
            IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or_default();
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    (!is_mapped).then_some(address)
}

fn parsed_address(call: &Call<'_, '_>, text: &str) -> Result<IpAddr, ExecutionError> {
    address(text).ok_or_else(|| call.error(format!("not an IP address: {}", quoted(text))))
}

fn parsed_network(call: &Call<'_, '_>, text: &str) -> Result<Network, ExecutionError> {
    Network::parse(text).ok_or_else(|| call.error(format!("not a CIDR: {}", quoted(text))))
}

/// The address that a method is called on.
fn receiver(call: &Call<'_, '_>) -> Result<IpAddr, ExecutionError> {
    call.argument(0)?.downcast_ref::<Address>().map(|address| address.0).ok_or_else(|| call.mismatch())
}

/// The network that a method is called on.
fn network(call: &Call<'_, '_>) -> Result<Network, ExecutionError> {
    call.argument(0)?.downcast_ref::<Network>().copied().ok_or_else(|| call.mismatch())
}
