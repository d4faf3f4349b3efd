//! Whether the certificate that signed is one of an attestor.

use image_admission_cel::functions::regex::is_match;
use image_admission_evidence::sigstore;
use image_admission_settings::{Attestor, Identity, TextMatch};
use image_admission_untrusted::message::cut;

/// The issuer of GitHub Actions.
const GITHUB: &str = "https://token.actions.githubusercontent.com";

/// The most characters of a certificate's text in a message.
const MAX_SHOWN: usize = 160;

/// Why the certificate isn't the attestor's; none if it is.
pub(super) fn mismatch(attestor: &Attestor, signer: &sigstore::Identity) -> Option<String> {
    let (issuer, subject) = (signer.issuer.as_str(), signer.subject.as_str());
    let below = |prefix: &str| subject.starts_with(&[prefix.trim_end_matches('/'), "/"].concat());
    let (is_own, wanted) = match &attestor.identity {
        Identity::Keyless { issuer: own, subject: wanted } => {
            (own == issuer && wanted == subject, (own.clone(), wanted.clone()))
        }
        Identity::KeylessPrefix { issuer: own, subject_prefix } => {
            (own == issuer && below(subject_prefix), (own.clone(), format!("{subject_prefix}…")))
        }
        Identity::GithubActions { owner, repository } => {
            let of = [Some(owner), repository.as_ref()]
                .into_iter()
                .flatten()
                .fold("https://github.com".to_owned(), |url, part| [&url, "/", part].concat());
            (GITHUB == issuer && below(&of), (GITHUB.to_owned(), format!("{of}/…")))
        }
        Identity::KeylessMatching { issuer: own, subject: wanted } => {
            (matches(own, issuer) && matches(wanted, subject), (written(own), written(wanted)))
        }
        Identity::Key(_) | Identity::KeyInCluster(_) | Identity::Certificate { .. } | Identity::Notary(_) => {
            return Some(format!("is signed by an identity, and `{}` has none", cut(&attestor.name, 64)));
        }
    };
    let (own_issuer, own_subject) = wanted;
    (!is_own).then(|| {
        format!(
            "is by `{}` of {}, and {} is `{}` of {}",
            cut(subject, MAX_SHOWN),
            cut(issuer, MAX_SHOWN),
            cut(&attestor.name, 64),
            cut(&own_subject, MAX_SHOWN),
            cut(&own_issuer, MAX_SHOWN)
        )
    })
}

/// An expression that is none was refused when the policy was deployed; it matches nothing.
fn matches(wanted: &TextMatch, text: &str) -> bool {
    match wanted {
        TextMatch::Exactly(own) => own == text,
        TextMatch::Matching(expression) => is_match(text, expression) == Ok(true),
    }
}

/// As the settings have it.
fn written(wanted: &TextMatch) -> String {
    match wanted {
        TextMatch::Exactly(text) => text.clone(),
        TextMatch::Matching(expression) => ["/", expression, "/"].concat(),
    }
}
