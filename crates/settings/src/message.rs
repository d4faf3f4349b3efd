//! `message`: what rejections say beside their reasons, and in which order they say it.

use super::read::{Choice, Problems, SettingsMap};
use image_admission_untrusted::message::is_one_line;

/// The placeholder in [`Message::docs`] for the name of what rejects.
pub const RULE: &str = "{rule}";

/// The most characters of a contact.
const MAX_CONTACT_LENGTH: usize = 200;
/// The most characters of a page's URL.
const MAX_DOCS_LENGTH: usize = 500;

/// How rejections are worded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Whom to ask.
    pub contact: Option<String>,
    /// The URL of a page with more, in which `{rule}` stands for the name of what rejects.
    pub docs: Option<String>,
    /// What comes first.
    pub style: MessageStyle,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"), schemars(extend("default" = "documented")))]
pub enum MessageStyle {
    /// The lines that Sysdig's admission controller documents and alerts look for, then each image's reason.
    #[default]
    Documented,
    /// Each image's reason, then its documented line.
    ReasonFirst,
}

impl Choice for MessageStyle {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("documented", Self::Documented), ("reason-first", Self::ReasonFirst)];
}

/// The setting `message`; none where it changes nothing.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Box<Message>> {
    if !settings.has("message") {
        return None;
    }
    let path = settings.path().key("message");
    let expected = "an object like `{contact: \"#platform\", docs: \"https://wiki.example/{rule}\"}`";
    let map = SettingsMap::named(settings.get("message"), &path, expected, problems)?;
    map.known(&["contact", "docs", "style"], &[], problems);
    let mut read = |key: &str, problem: fn(&str) -> Option<String>| {
        let text = map.text(key, problems)?;
        match problem(text) {
            None => Some(text.to_owned()),
            Some(why) => {
                problems.add(path.key(key), why);
                None
            }
        }
    };
    let (contact, docs) = (read("contact", problem_of_contact), read("docs", problem_of_docs));
    let style = map.choice("style", MessageStyle::default(), problems);
    Some(Message { contact, docs, style }).filter(|message| *message != Message::default()).map(Box::new)
}

/// What is wrong with a contact.
fn problem_of_contact(text: &str) -> Option<String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        Some("it is empty; say whom to ask, like `#platform-security`, or remove it".to_owned())
    } else if length > MAX_CONTACT_LENGTH {
        Some(format!("it has {length} characters, and {MAX_CONTACT_LENGTH} are the most"))
    } else if !is_one_line(text) {
        Some("it must be one line, without control characters".to_owned())
    } else if text.contains(['{', '}']) {
        Some(format!("`{RULE}` and the like are filled in in `docs` alone; write it without braces"))
    } else {
        None
    }
}

/// What is wrong with a page's URL.
fn problem_of_docs(text: &str) -> Option<String> {
    let length = text.chars().count();
    if length > MAX_DOCS_LENGTH {
        return Some(format!("it has {length} characters, and {MAX_DOCS_LENGTH} are the most"));
    }
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return Some(format!("it is no address of a page; write one like `https://wiki.example/{RULE}`"));
    };
    // RFC 3986 has no others. Braces are for the placeholder.
    let is_allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '|');
    if !rest.chars().all(is_allowed) {
        return Some("it has characters that no address has; write them percent-encoded".to_owned());
    }
    let (host, page) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if host.contains('@') {
        return Some("it has a user or a password, which everybody would read: remove it".to_owned());
    }
    if !is_host(host) {
        return Some(format!("it has no host; write an address like `https://wiki.example/{RULE}`"));
    }
    let filled = page.replace(RULE, "");
    let start = filled.find(['{', '}'])?;
    let wrong = filled.get(start..).unwrap_or_default();
    let wrong = wrong.split_inclusive('}').next().unwrap_or_default();
    Some(format!("`{wrong}` is nothing that is filled in; `{RULE}` is, the name of what rejects"))
}

/// Whether a string is a host, with or without a port: a name, or an address in brackets.
fn is_host(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_label = |label: &str| {
        let is_edge = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(is_edge) && label.ends_with(is_edge) && label.chars().all(|c| is_edge(c) || c == '-')
    };
    name.split('.').all(is_label) && port.is_none_or(is_port)
}
