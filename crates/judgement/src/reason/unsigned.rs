//! Why an image, or an artifact beside one, counts as unsigned: nobody signed it, or none of the wanted signers.

use image_admission_attestors::Refusal;
use image_admission_host::{HostFailure, Untrusted};
use image_admission_settings::{Attestor, Identity, TextMatch};
use image_admission_untrusted::message::{cut, join_at_most};
use std::fmt;

/// The most attestors that a message names.
const ATTESTORS_SHOWN: usize = 4;
/// The longest name of an attestor, and the longest subject of a certificate.
const MAX_NAME_LENGTH: usize = 64;
const MAX_SUBJECT_LENGTH: usize = 160;

/// The most pieces of evidence whose reasons a message has, and the longest reason.
const REASONS_SHOWN: usize = 4;
const MAX_REASON_LENGTH: usize = 400;

/// The message if neither a signature nor evidence was found.
const NOWHERE: &str =
    "not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)";

/// What messages call a document that should be an attestation, before `repository@digest` of its image.
pub const ATTESTATION_OF: &str = "the attestation of ";

/// What a policy of `imageVerification` requires and lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unverified {
    /// A signature of an image.
    Image {
        /// As expressions name it.
        image: String,
        /// What must be signed, `repository@digest`.
        artifact: String,
        /// Why no signature counts.
        unsigned: Unsigned,
    },
    /// An attestation of an image, and why there is none.
    Attestation(String),
}

/// Why no signature counts. The artifact comes before the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    /// What the host says.
    pub why: Untrusted,
    /// The wanted signers; several identities of one attestor have the same name.
    pub asked_for: Vec<Attestor>,
    /// What is stored where signatures are kept.
    pub beside: Beside,
}

/// What is stored where the signatures of an artifact are kept, if somebody looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// Nobody looked: the host's words are all that is known.
    NotLookedUp,
    /// A signature in the old form, at a tag that ends with `.sig`.
    Signature,
    /// Evidence, and why each piece doesn't count.
    Evidence(Vec<String>),
    /// Neither of them. A registry with a referrers API may have a bundle that only this API knows.
    Nothing,
    /// No signature of the index itself. But a wanted signer signed the manifest of one of its platforms.
    Platform {
        /// `linux/amd64`
        platform: String,
        /// The digest of its manifest.
        digest: String,
    },
    /// The registry couldn't be called. Hosts report that as no signature.
    Failed(HostFailure),
}

/// `'ghcr.io/team/app:1': signed, but not by team (GitHub Actions of `team`)`
impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image { image, artifact, unsigned } => {
                write!(f, "'{}': ", cut(image, 256))?;
                unsigned.write(f, &cut(artifact, 300))
            }
            Self::Attestation(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "it")
    }
}

impl Beside {
    /// What refusals say of evidence, each reason once.
    #[must_use]
    pub fn of<'r>(refusals: impl IntoIterator<Item = &'r Refusal>) -> Self {
        let mut reasons: Vec<String> = Vec::new();
        for Refusal { evidence, .. } in refusals {
            match evidence {
                Err(failure) if failure.is_outage() => return Self::Failed(failure.clone()),
                // An index that can't be read proves nothing.
                Err(_) => {}
                Ok(own) => {
                    for reason in own {
                        if !reasons.contains(reason) {
                            reasons.push(reason.clone());
                        }
                    }
                }
            }
        }
        if reasons.is_empty() { Self::Nothing } else { Self::Evidence(reasons) }
    }
}

impl Unsigned {
    /// Why an artifact counts as unsigned that nothing more is looked up for.
    #[must_use]
    pub fn of(refusal: &Refusal, asked_for: Vec<Attestor>) -> Self {
        let beside = match Beside::of([refusal]) {
            // The host's words tell more.
            Beside::Nothing if refusal.why != Untrusted::Unsigned => Beside::NotLookedUp,
            beside => beside,
        };
        Self { why: refusal.why, asked_for, beside }
    }

    /// Why evidence counts for nothing, where hosts can say nothing of it.
    #[must_use]
    pub fn by_evidence(reasons: Vec<String>, asked_for: Vec<Attestor>) -> Self {
        Self { why: Untrusted::Unsigned, asked_for, beside: Beside::Evidence(reasons) }
    }

    /// The same artifact for two attestors: what tells more.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let is_evidence = |of: &Self| matches!(of.beside, Beside::Evidence(_) | Beside::Failed(_));
        match (is_evidence(&self), is_evidence(&other)) {
            (true, false) => self,
            (false, true) => other,
            _ if other.why < self.why => other,
            _ => self,
        }
    }

    /// Writes why no signature of `artifact` counts.
    fn write(&self, f: &mut fmt::Formatter<'_>, artifact: &str) -> fmt::Result {
        let asked_for = AskedFor(&self.asked_for);
        let is_one = self.asked_for.windows(2).all(|pair| matches!(pair, [one, next] if one.name == next.name));
        let must_sign = |f: &mut fmt::Formatter<'_>, why: &str| write!(f, "{why}; {asked_for} must sign {artifact}");
        match &self.beside {
            Beside::Failed(failure) => {
                let why = format!("its signatures can't be looked up, which hosts take for none: {failure}");
                return must_sign(f, &why);
            }
            Beside::Platform { platform, digest } => {
                let why = format!(
                    "its index isn't signed, and its platform {platform} ({digest}) is, which doesn't count for the index \
                     (`cosign sign --recursive` signs both)"
                );
                return must_sign(f, &why);
            }
            Beside::Evidence(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(|reason| cut(reason, MAX_REASON_LENGTH)).collect();
                let reasons = join_at_most(reasons.iter().map(String::as_str), "; ", REASONS_SHOWN);
                return write!(f, "not signed by {asked_for}: {reasons}");
            }
            // The host's words are about others' signatures.
            Beside::Nothing if self.why == Untrusted::SignedByOthers => return must_sign(f, NOWHERE),
            Beside::Nothing | Beside::Signature | Beside::NotLookedUp => {}
        }
        match self.why {
            Untrusted::Unsigned => must_sign(f, NOWHERE),
            Untrusted::SignedByOthers if is_one => write!(f, "signed, but not by {asked_for}"),
            Untrusted::SignedByOthers => write!(f, "signed, but by nobody who was asked for: {asked_for}"),
            Untrusted::NoneOfThisDigest => {
                write!(f, "signed, but no signature is of this digest and can be verified; asked for: {asked_for}")
            }
            Untrusted::CertificateExpired => write!(f, "not signed by {asked_for}: the certificate has expired"),
            Untrusted::Unsaid => write!(f, "not signed by {asked_for}"),
        }
    }
}

/// `team (GitHub Actions of `team`) or release (its key)`
#[derive(Debug)]
pub struct AskedFor<'a>(pub &'a [Attestor]);

impl fmt::Display for AskedFor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(shown).collect();
        f.write_str(&join_at_most(names.iter().map(String::as_str), " or ", ATTESTORS_SHOWN))
    }
}

fn shown(attestor: &Attestor) -> String {
    let subject = |text: &str| cut(text, MAX_SUBJECT_LENGTH);
    let mut how = match &attestor.identity {
        Identity::Key(_) => "its key".to_owned(),
        Identity::KeyInCluster(key) => {
            format!("the key `{}` of {} {}/{}", key.key, key.kind, key.namespace, key.name)
        }
        Identity::Certificate { .. } => "its certificate".to_owned(),
        Identity::Keyless { issuer, subject: own } => format!("`{}` of {}", subject(own), subject(issuer)),
        Identity::KeylessPrefix { issuer, subject_prefix } => {
            format!("`{}…` of {}", subject(subject_prefix), subject(issuer))
        }
        Identity::GithubActions { owner, repository: Some(repository) } => {
            format!("GitHub Actions of `{}/{}`", subject(owner), subject(repository))
        }
        Identity::GithubActions { owner, repository: None } => format!("GitHub Actions of `{}`", subject(owner)),
        Identity::KeylessMatching { issuer, subject: own } => {
            let matched = |text: &TextMatch| match text {
                TextMatch::Exactly(text) => subject(text),
                TextMatch::Matching(expression) => format!("/{}/", subject(expression)),
            };
            format!("`{}` of {}", matched(own), matched(issuer))
        }
        Identity::Notary(notary) => {
            let identities = notary.trusted_identities.iter().map(String::as_str);
            format!("Notary Project, `{}`", subject(&join_at_most(identities, "`, `", ATTESTORS_SHOWN)))
        }
    };
    if let Some(expression) = &attestor.certificate {
        how.push_str(&format!(", where {}", subject(&expression.text)));
    }
    for (key, value) in &attestor.annotations {
        how.push_str(&format!(", with `{}: {}`", subject(key), subject(value)));
    }
    format!("{} ({how})", cut(&attestor.name, MAX_NAME_LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn attestor(name: &str, identity: Identity) -> Attestor {
        Attestor { name: name.to_owned(), identity, annotations: BTreeMap::new(), trust_root: None, certificate: None }
    }

    #[test]
    fn nobodys_signature_and_somebody_elses_are_told_apart() {
        let ci = attestor("ci", Identity::Key(String::new()));
        let team = attestor("team", Identity::GithubActions { owner: "team".to_owned(), repository: None });
        let image = |why, asked_for: &[&Attestor]| Unverified::Image {
            image: "app:1".to_owned(),
            artifact: "docker.io/library/app@sha256:1".to_owned(),
            unsigned: Unsigned {
                why,
                asked_for: asked_for.iter().map(|of| (*of).clone()).collect(),
                beside: Beside::NotLookedUp,
            },
        };
        for (why, asked_for, words) in [
            (
                Untrusted::Unsigned,
                [&ci].as_slice(),
                "not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); ci (its key) must sign docker.io/library/app@sha256:1",
            ),
            (Untrusted::SignedByOthers, &[&ci], "signed, but not by ci (its key)"),
            (
                Untrusted::SignedByOthers,
                &[&ci, &team],
                "signed, but by nobody who was asked for: ci (its key) or team (GitHub Actions of `team`)",
            ),
            (
                Untrusted::NoneOfThisDigest,
                &[&ci],
                "signed, but no signature is of this digest and can be verified; asked for: ci (its key)",
            ),
            (Untrusted::CertificateExpired, &[&ci], "not signed by ci (its key): the certificate has expired"),
            (Untrusted::Unsaid, &[&team], "not signed by team (GitHub Actions of `team`)"),
        ] {
            assert_eq!(image(why, asked_for).to_string(), format!("'app:1': {words}"));
        }
    }

    #[test]
    fn what_stands_beside_it_says_what_to_do() {
        let ci = attestor("ci", Identity::Key(String::new()));
        let team = attestor("team", Identity::GithubActions { owner: "team".to_owned(), repository: None });
        let said = |why, beside, asked_for: &Attestor| {
            Unsigned { why, asked_for: vec![asked_for.clone()], beside }.to_string()
        };
        let down = || Beside::Failed(HostFailure::Failed("the registry answers 503".to_owned()));
        let (by_key, by_team) = ("ci (its key)", "team (GitHub Actions of `team`)");
        use Untrusted::{SignedByOthers, Unsigned as Nobody};
        for (why, beside, asked_for, words) in [
            // A host before 1.36, which looks only for the old form.
            (Nobody, Beside::Nothing, &ci, format!("{NOWHERE}; {by_key} must sign it")),
            (SignedByOthers, Beside::Signature, &ci, format!("signed, but not by {by_key}")),
            // A later one, which reports every signature that doesn't count in this way.
            (SignedByOthers, Beside::Nothing, &team, format!("{NOWHERE}; {by_team} must sign it")),
            (
                SignedByOthers,
                Beside::Evidence(vec!["a@sha256:1 is refused".to_owned(), "b".repeat(500)]),
                &team,
                format!("not signed by {by_team}: a@sha256:1 is refused; {}…", "b".repeat(399)),
            ),
            (
                Nobody,
                Beside::Platform { platform: "linux/amd64".to_owned(), digest: "sha256:1".to_owned() },
                &ci,
                format!(
                    "its index isn't signed, and its platform linux/amd64 (sha256:1) is, which doesn't count for the index (`cosign sign --recursive` signs both); {by_key} must sign it"
                ),
            ),
            // Both take a registry that fails for one without signatures.
            (
                Nobody,
                down(),
                &ci,
                format!(
                    "its signatures can't be looked up, which hosts take for none: the registry answers 503; {by_key} must sign it"
                ),
            ),
            (
                SignedByOthers,
                down(),
                &team,
                format!(
                    "its signatures can't be looked up, which hosts take for none: the registry answers 503; {by_team} must sign it"
                ),
            ),
        ] {
            assert_eq!(said(why, beside, asked_for), words);
        }
    }

    #[test]
    fn who_was_asked_for_is_named_with_what_the_signature_must_say() {
        let mut ci = attestor("ci", Identity::Key(String::new()));
        ci.annotations.insert("env".to_owned(), "prod\nx".to_owned());
        assert_eq!(AskedFor(&[ci]).to_string(), "ci (its key, with `env: prod\\u{a}x`)");
    }
}
