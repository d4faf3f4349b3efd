//! What is scanned: names and targets.

use data_encoding::HEXLOWER;
use image_admission_image::ImageReference;
use sha2::{Digest, Sha256};
use std::fmt;

/// How many hexadecimal digits of the hash a name has.
const ID_LENGTH: usize = 32;

/// The identity of a scan: the first half of a hash of what is scanned, in hexadecimal digits. Objects have it in their names, so that
/// nothing is asked for twice, by whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanId(String);

impl ScanId {
    /// The identity of what is scanned under this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let mut hash = HEXLOWER.encode(&Sha256::digest(name));
        hash.truncate(ID_LENGTH);
        Self(hash)
    }

    /// Takes a name of an object apart, which is a prefix, an identity, a hyphen and the number of the attempt.
    #[must_use]
    pub fn and_attempt(name: &str, prefix: &str) -> Option<(Self, u32)> {
        let (id, attempt) = name.strip_prefix(prefix)?.split_once('-')?;
        Some((Self::read(id)?, attempt.parse().ok()?))
    }

    /// Reads an identity.
    #[must_use]
    pub fn read(id: &str) -> Option<Self> {
        let is_id = id.len() == ID_LENGTH && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| Self(id.to_owned()))
    }
}

impl fmt::Display for ScanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a scanner is asked to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The image, with the tag under which it is known.
    pub reference: ImageReference,
    /// The digest that needs a report.
    pub digest: String,
}

impl fmt::Display for Target {
    /// `ghcr.io/team/web:1.0@sha256:…`, or without the tag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reference.name())?;
        if let Some(tag) = self.reference.tag() {
            write!(f, ":{tag}")?;
        }
        write!(f, "@{}", self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let id = ScanId::of("ghcr.io/team/web@sha256:1");
        assert_eq!(id.to_string().len(), ID_LENGTH);
        assert_eq!(ScanId::and_attempt(&format!("scan-{id}-12"), "scan-"), Some((id.clone(), 12)));
        for name in [
            format!("{id}-1"),
            format!("scan-{id}"),
            format!("scan-{id}-x"),
            "scan-12-1".to_owned(),
            format!("scan-{}-1", id.to_string().to_uppercase()),
            String::new(),
        ] {
            assert_eq!(ScanId::and_attempt(&name, "scan-"), None, "{name}");
        }
    }
}
