//! Ranges of addresses, `net.cidr_…`, as OPA has them by Go's `net`: a range needs its length, an address of IPv4 that is
//! written as one of IPv6 is one of IPv4.

use anyhow::bail;
use regorus::Value;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The most addresses that a range is expanded to, as a power of two.
const MAX_ADDRESS_BITS: u32 = 16;
/// The most pairs of ranges that are compared, and the most ranges that are merged.
const MOST_COMPARED: usize = 1 << 14;
/// The bits before those of an IPv4 address in one of IPv6.
const MAPPED_BITS: u32 = 96;
/// Where the addresses of IPv4 stand among those of IPv6.
const MAPPED: u128 = 0xffff_0000_0000;

/// A range of addresses, `10.0.0.0/8`. Its first address has no bits but those of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cidr {
    first: IpAddr,
    /// The bits that are the network's.
    prefix: u32,
}

impl Cidr {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (address, prefix) = (address.parse::<IpAddr>().ok()?, prefix.parse::<u32>().ok()?);
        let width = width(&address);
        (prefix <= width).then(|| Self::of(masked(&address, prefix), prefix))
    }

    /// The range in its canonical form: a mapped one is of IPv4.
    fn of(first: IpAddr, prefix: u32) -> Self {
        match first {
            IpAddr::V6(six) if prefix >= MAPPED_BITS => match six.to_ipv4_mapped() {
                Some(four) => Self { first: IpAddr::V4(four), prefix: prefix - MAPPED_BITS },
                None => Self { first, prefix },
            },
            _ => Self { first, prefix },
        }
    }

    fn contains(&self, address: &IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && masked(&address, self.prefix) == self.first
    }

    fn contains_all(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(&other.first)
    }

    /// The number of its addresses less one.
    fn rest(&self) -> u128 {
        let free = width(&self.first) - self.prefix;
        1_u128.checked_shl(free).map_or(u128::MAX, |count| count - 1)
    }
}

fn width(address: &IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: &IpAddr, prefix: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - prefix.min(32)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(*address) & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(*address) & mask))
        }
    }
}

/// An argument that is a string. None: the builtin is undefined.
fn text(arguments: &[Value], position: usize) -> Option<&str> {
    match arguments.get(position)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Whether a range contains an address or a range; none where either is neither.
fn contains(outer: &str, inner: &str) -> Option<bool> {
    let outer = Cidr::parse(outer)?;
    match inner.parse::<IpAddr>() {
        Ok(address) => Some(outer.contains(&address)),
        Err(_) => Cidr::parse(inner).map(|inner| outer.contains_all(&inner)),
    }
}

fn truth(value: Option<bool>) -> Value {
    value.map_or(Value::Undefined, Value::from)
}

/// `net.cidr_contains`, and `net.cidr_overlap`, its old name.
pub(super) fn cidr_contains(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let answer = || contains(text(&arguments, 0)?, text(&arguments, 1)?);
    Ok(truth(answer()))
}

/// `net.cidr_intersects`
pub(super) fn cidr_intersects(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let answer = || {
        let (one, other) = (Cidr::parse(text(&arguments, 0)?)?, Cidr::parse(text(&arguments, 1)?)?);
        Some(one.contains(&other.first) || other.contains(&one.first))
    };
    Ok(truth(answer()))
}

/// `net.cidr_is_valid`
pub(super) fn cidr_is_valid(arguments: Vec<Value>) -> anyhow::Result<Value> {
    Ok(Value::from(text(&arguments, 0).is_some_and(|text| Cidr::parse(text).is_some())))
}

/// `net.cidr_expand`: every address of a range.
pub(super) fn cidr_expand(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let Some(cidr) = text(&arguments, 0).and_then(Cidr::parse) else { return Ok(Value::Undefined) };
    let rest = cidr.rest();
    if rest >> MAX_ADDRESS_BITS != 0 {
        let bits = 128 - rest.leading_zeros();
        bail!("`net.cidr_expand` of 2^{bits} addresses: at most 2^{MAX_ADDRESS_BITS}, use `net.cidr_contains`");
    }
    let first = cidr.first;
    let addresses = (0..=rest).map(|step| match first {
        IpAddr::V4(first) => Ipv4Addr::from(u32::from(first) | u32::try_from(step).unwrap_or_default()).to_string(),
        IpAddr::V6(first) => Ipv6Addr::from(u128::from(first) | step).to_string(),
    });
    Ok(Value::from(addresses.map(Value::from).collect::<BTreeSet<_>>()))
}

/// `net.cidr_contains_matches`: which ranges contain which, as pairs of their keys.
pub(super) fn cidr_contains_matches(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let [outer, inner] = arguments.as_slice() else { return Ok(Value::Undefined) };
    let (Some(outer), Some(inner)) = (keyed(outer), keyed(inner)) else { return Ok(Value::Undefined) };
    let pairs = outer.len().saturating_mul(inner.len());
    if pairs > MOST_COMPARED {
        bail!("`net.cidr_contains_matches` of {pairs} pairs: at most {MOST_COMPARED}");
    }
    let mut found = BTreeSet::new();
    for (outer, outer_key) in &outer {
        for (inner, inner_key) in &inner {
            match contains(outer, inner) {
                Some(true) => {
                    found.insert(Value::from(vec![outer_key.clone(), inner_key.clone()]));
                }
                Some(false) => {}
                None => return Ok(Value::Undefined),
            }
        }
    }
    Ok(Value::from(found))
}

/// The ranges of a string or a collection, with their keys; none where one has no string.
fn keyed(value: &Value) -> Option<Vec<(String, Value)>> {
    let range = |item: &Value| match item {
        Value::String(text) => Some(text.to_string()),
        Value::Array(parts) => parts.first().and_then(|part| part.as_string().ok()).map(|text| text.to_string()),
        _ => None,
    };
    match value {
        Value::String(text) => Some(vec![(text.to_string(), value.clone())]),
        Value::Array(items) => {
            items.iter().enumerate().map(|(position, item)| Some((range(item)?, Value::from(position)))).collect()
        }
        Value::Set(items) => items.iter().map(|item| Some((range(item)?, item.clone()))).collect(),
        Value::Object(fields) => fields.iter().map(|(key, item)| Some((range(item)?, key.clone()))).collect(),
        _ => Some(Vec::new()),
    }
}

/// Addresses in a row, as numbers of IPv6, with the range that they were written as.
struct Row {
    first: u128,
    last: u128,
    written: Option<String>,
}

/// `net.cidr_merge`: as few ranges as have the same addresses.
pub(super) fn cidr_merge(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let ranges: Option<Vec<Row>> = match arguments.first() {
        Some(Value::Array(items)) => items.iter().map(row).collect(),
        Some(Value::Set(items)) => items.iter().map(row).collect(),
        _ => None,
    };
    let Some(mut ranges) = ranges else { return Ok(Value::Undefined) };
    if ranges.len() > MOST_COMPARED {
        bail!("`net.cidr_merge` of {} ranges: at most {MOST_COMPARED}", ranges.len());
    }
    ranges.sort_by_key(|range| (range.last, range.first));
    let mut merged: Vec<Row> = Vec::new();
    // From the last one on: one that touches or overlaps the one before is merged with it.
    while let Some(last) = ranges.pop() {
        let before = if last.first == 0 || last.first == MAPPED { last.first } else { last.first - 1 };
        match ranges.last_mut() {
            Some(previous) if before <= previous.last => {
                *previous = Row { first: previous.first.min(last.first), last: last.last, written: None };
            }
            _ => merged.push(last),
        }
    }
    let mut found = BTreeSet::new();
    for range in merged {
        match range.written {
            Some(written) => {
                found.insert(Value::from(written));
            }
            None => found.extend(blocks(range.first, range.last).map(Value::from)),
        }
    }
    Ok(Value::from(found))
}

fn row(value: &Value) -> Option<Row> {
    let text = value.as_string().ok()?;
    let (cidr, written) = match text.parse::<IpAddr>().map(|address| address.to_canonical()) {
        // For a bare address, Go takes its former class.
        Ok(address @ IpAddr::V4(four)) => {
            let prefix = match four.octets() {
                [0..=0x7f, ..] => 8,
                [0x80..=0xbf, ..] => 16,
                _ => 24,
            };
            (Cidr { first: masked(&address, prefix), prefix }, format!("{address}/{prefix}"))
        }
        Ok(IpAddr::V6(_)) => return None,
        Err(_) => {
            let cidr = Cidr::parse(text)?;
            (cidr, format!("{}/{}", cidr.first, cidr.prefix))
        }
    };
    let first = match cidr.first {
        IpAddr::V4(first) => MAPPED | u128::from(u32::from(first)),
        IpAddr::V6(first) => u128::from(first),
    };
    Some(Row { first, last: first | cidr.rest(), written: Some(written) })
}

/// The ranges that a row of addresses is made of.
fn blocks(first: u128, last: u128) -> impl Iterator<Item = String> {
    let is_four = first >> 32 == MAPPED >> 32 && last >> 32 == MAPPED >> 32;
    let mut next = Some(first);
    std::iter::from_fn(move || {
        let start = next?;
        let mut free = start.trailing_zeros().min(if is_four { 32 } else { 128 });
        let end = |free: u32| start | 1_u128.checked_shl(free).map_or(u128::MAX, |count| count - 1);
        while end(free) > last {
            free -= 1;
        }
        next = end(free).checked_add(1).filter(|next| *next <= last);
        Some(match u32::try_from(start & u128::from(u32::MAX)) {
            Ok(four) if is_four => format!("{}/{}", Ipv4Addr::from(four), 32 - free),
            _ => format!("{}/{}", Ipv6Addr::from(start), 128 - free),
        })
    })
}
