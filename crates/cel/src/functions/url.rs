//! The functions on URLs.
//!
//! Kubernetes parses with Go's `net/url`: `url.ParseRequestURI` decides what is a URL (an absolute one or an absolute
//! path), and `url.Parse`, which also cuts off the fragment, makes the value. This parser follows its rules. Where Go
//! keeps bytes that aren't UTF-8 (from `%80` in a host or a query), replacement characters stand here.

use super::{Answer, Call, CelList, CelString, CowVal, ExecutionError, Kind, MAX_ELEMENTS, Val, give_bool, quoted};
use cel::common::types::{CelMap, CelMapKey, Type};
use std::collections::BTreeMap;

/// `url(text)`.
pub(super) fn url<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    call.check_text(text.len())?;
    let url = Url::new(text).map_err(|reason| call.error(format!("not a URL: {}: {reason}", quoted(text))))?;
    Ok(CowVal::owned(url))
}

/// `isURL(text)`.
pub(super) fn is_url<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(Url::parse(call.text(0)?, Form::Request).is_ok())
}

/// `url.getScheme()`, in lower case.
pub(super) fn scheme<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(receiver(&call)?.scheme.as_str())
}

/// `url.getHost()`, with the port.
pub(super) fn host<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(receiver(&call)?.host.as_str())
}

/// `url.getHostname()`, without the port and without the brackets of an address.
pub(super) fn hostname<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(receiver(&call)?.hostname_and_port().0)
}

/// `url.getPort()`.
pub(super) fn port<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(receiver(&call)?.hostname_and_port().1)
}

/// `url.getEscapedPath()`.
pub(super) fn escaped_path<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(receiver(&call)?.escaped_path())
}

/// `url.getQuery()`: a map from each name to the list of its values.
pub(super) fn query<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let mut values: BTreeMap<String, Vec<Box<dyn Val + 'v>>> = BTreeMap::new();
    for (position, (name, value)) in receiver(&call)?.query_pairs().enumerate() {
        if position >= MAX_ELEMENTS {
            return Err(call.error(super::LONG_QUERY));
        }
        values.entry(name).or_default().push(Box::new(CelString::from(value)));
    }
    let entries = values.into_iter().map(|(name, list)| {
        let list: Box<dyn Val + 'v> = Box::new(CelList::from(list));
        (CelMapKey::from(name), list)
    });
    #[expect(clippy::disallowed_types, reason = "a map of the crate is made from a HashMap")]
    let entries: std::collections::HashMap<CelMapKey<'v>, Box<dyn Val + 'v>> = entries.collect();
    Ok(CowVal::owned(CelMap::from(entries)))
}

/// The URL that a method is called on.
fn receiver<'a>(call: &'a Call<'_, '_>) -> Result<&'a Url, ExecutionError> {
    call.argument(0)?.downcast_ref::<Url>().ok_or_else(|| call.mismatch())
}

/// A URL as a value: two are equal when all their parts are.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Url {
    scheme: String,
    /// The rest behind the scheme, where it doesn't begin with a slash (`mailto:someone`).
    opaque: String,
    /// The name and the password, as written.
    user: Option<String>,
    /// The host and the port, with escapes resolved.
    host: String,
    /// The path, as written.
    path: String,
    /// The query, as written.
    query: String,
    /// The fragment, as written.
    fragment: String,
}

opaque!(Url, "kubernetes.URL");

/// What a string is parsed as.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// An absolute URL or an absolute path, without a fragment.
    Request,
    /// Any URL that was parsed as a request before, so `//host/path` names a host.
    Reference,
}

impl Url {
    /// Parses a string, or tells why it is no URL.
    fn new(text: &str) -> Result<Self, &'static str> {
        Self::parse(text, Form::Request)?;
        // In a request, a fragment counts as part of the path or the query. So it is cut off for the value.
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse(text, Form::Reference)?;
        unescape(fragment, Part::Other)?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    /// Parses a string in one form, or tells why it is no URL.
    fn parse(text: &str, form: Form) -> Result<Self, &'static str> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("it has a control character");
        }
        if text.is_empty() && form == Form::Request {
            return Err("it is empty");
        }
        let mut url = Self::default();
        if text == "*" {
            text.clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.query);
        if !rest.starts_with('/') && !scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if !rest.starts_with('/') && form == Form::Request {
            return Err("it is neither absolute nor an absolute path");
        }
        let names_host = !scheme.is_empty() || (form == Form::Reference && !rest.starts_with("///"));
        let mut path = rest;
        if let Some(after) = rest.strip_prefix("//").filter(|_| names_host) {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, rest) = after.split_at_checked(end).unwrap_or((after, ""));
            path = rest;
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            url.host = parse_host(host)?;
            url.user = user.map(parse_user).transpose()?;
        }
        unescape(path, Part::Other)?;
        path.clone_into(&mut url.path);
        Ok(url)
    }

    /// The name or address of the host, and the port, which may be empty.
    fn hostname_and_port(&self) -> (&str, &str) {
        let colon = self.host.rfind(':').and_then(|colon| self.host.split_at_checked(colon));
        let split = colon.filter(|(_, port)| is_optional_port(port));
        let (name, port) = split.map_or((self.host.as_str(), ""), |(name, port)| (name, port.trim_start_matches(':')));
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        (address.unwrap_or(name), port)
    }

    /// The path as written if its escaping is valid, else escaped anew.
    fn escaped_path(&self) -> String {
        let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@[]%/".contains(&byte);
        if self.path.bytes().all(proper) {
            return self.path.clone();
        }
        let mut escaped = String::with_capacity(self.path.len());
        for byte in unescape(&self.path, Part::Other).unwrap_or_default() {
            if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
                escaped.push(char::from(byte));
            } else {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
        escaped
    }

    /// The names and values of the query, unescaped. Invalid ones are left out, as in Go.
    fn query_pairs(&self) -> impl Iterator<Item = (String, String)> {
        let proper = self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        proper.filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let resolve = |text| unescape(text, Part::Query).ok().map(|bytes| readable(&bytes));
            Some((resolve(name)?, resolve(value)?))
        })
    }
}

/// The part of a URL, which decides how escapes are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    /// A host: only some characters, and escapes only of non-ASCII bytes.
    Host,
    /// The zone of an address, where characters that a host may have can be escaped too.
    Zone,
    /// A plus is a space.
    Query,
    /// The user, the path, the fragment.
    Other,
}

/// Splits the scheme off; it is empty when there is none.
fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    let Some((scheme, rest)) = text.split_once(':') else { return Ok(("", text)) };
    if scheme.is_empty() {
        return Err("the scheme is missing");
    }
    let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(proper);
    Ok(if is_scheme { (scheme, rest) } else { ("", text) })
}

/// Checks the name and the password.
fn parse_user(user: &str) -> Result<String, &'static str> {
    let proper = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(proper) {
        return Err("the user is invalid");
    }
    unescape(user, Part::Other)?;
    Ok(user.to_owned())
}

/// Checks the host and the port and resolves the escapes.
fn parse_host(host: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(host.len());
    if host.starts_with('[') {
        let end = host.rfind(']').ok_or("`]` is missing in the host")?;
        let (address, rest) = host.split_at_checked(end).unwrap_or((host, ""));
        if !is_optional_port(rest.strip_prefix(']').unwrap_or(rest)) {
            return Err("the port is invalid");
        }
        let zone = address.find("%25").unwrap_or(address.len());
        let (address, zone) = address.split_at_checked(zone).unwrap_or((address, ""));
        bytes.extend(unescape(address, Part::Host)?);
        bytes.extend(unescape(zone, Part::Zone)?);
        bytes.extend(unescape(rest, Part::Host)?);
    } else {
        let colon = host.rfind(':').unwrap_or(host.len());
        if !is_optional_port(host.get(colon..).unwrap_or_default()) {
            return Err("the port is invalid");
        }
        bytes.extend(unescape(host, Part::Host)?);
    }
    Ok(readable(&bytes))
}

/// Whether the string is empty, or a colon with any number of digits.
fn is_optional_port(text: &str) -> bool {
    match text.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
        None => text.is_empty(),
    }
}

/// Whether a host may have the ASCII character unescaped.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
}

/// The bytes of a part with its escapes resolved.
fn unescape(text: &str, part: Part) -> Result<Vec<u8>, &'static str> {
    let in_host = matches!(part, Part::Host | Part::Zone);
    let mut resolved = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let escaped = hexadecimal(bytes.next()) << 4 | hexadecimal(bytes.next());
                let escaped = u8::try_from(escaped).map_err(|_not_digits| "an escape is invalid")?;
                let allowed = match part {
                    Part::Host => !escaped.is_ascii() || escaped == b'%',
                    Part::Zone => escaped == b'%' || escaped == b' ' || is_host_byte(escaped),
                    Part::Query | Part::Other => true,
                };
                if !allowed {
                    return Err("an escape is invalid in the host");
                }
                resolved.push(escaped);
            }
            b'+' if part == Part::Query => resolved.push(b' '),
            other if in_host && other.is_ascii() && !is_host_byte(other) => {
                return Err("a character is invalid in the host");
            }
            other => resolved.push(other),
        }
    }
    Ok(resolved)
}

/// The value of a hexadecimal digit, or one that no byte has.
fn hexadecimal(digit: Option<u8>) -> u32 {
    const NONE: u32 = 0x1000;
    digit.and_then(|digit| char::from(digit).to_digit(16)).unwrap_or(NONE)
}

/// The bytes as a string, with replacement characters for what isn't UTF-8.
fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
