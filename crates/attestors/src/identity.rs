//! Whether the certificate that signed is one of an attestor.

use cel::Value;
use image_admission_cel::expression::{EvaluationError, Program, Scope, Time, map_of};
use image_admission_cel::functions::regex::is_match;
use image_admission_evidence::sigstore;
use image_admission_settings::{Attestor, Expression, Identity, TextMatch};
use image_admission_untrusted::message::cut;

/// The issuer of GitHub Actions.
const GITHUB: &str = "https://token.actions.githubusercontent.com";

/// The most characters of a certificate's text in a message.
const MAX_SHOWN: usize = 160;

/// Why the certificate isn't the attestor's; none if it is.
///
/// # Errors
/// There is no time or memory left to find that out. Whoever chooses what else is judged brings that about.
pub(crate) fn mismatch(
    attestor: &Attestor,
    signer: &sigstore::Identity,
    time: &Time,
) -> Result<Option<String>, String> {
    let (issuer, subject) = (signer.issuer.as_str(), signer.subject.as_str());
    // As hosts have it, so that `https://github.com/team` is not `https://github.com/team-of-others/`.
    let below = |prefix: &str| subject.starts_with(&[prefix, if prefix.ends_with('/') { "" } else { "/" }].concat());
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
            return Ok(Some(format!("is signed by an identity, and `{}` has none", cut(&attestor.name, 64))));
        }
    };
    let (own_issuer, own_subject) = wanted;
    if is_own {
        let Some(expression) = &attestor.certificate else { return Ok(None) };
        let why = unmet(expression, signer, time)?;
        return Ok(why.map(|why| format!("is by `{}`, and {why}", cut(subject, MAX_SHOWN))));
    }
    Ok(Some(format!(
        "is by `{}` of {}, and {} is `{}` of {}",
        cut(subject, MAX_SHOWN),
        cut(issuer, MAX_SHOWN),
        cut(&attestor.name, 64),
        cut(&own_subject, MAX_SHOWN),
        cut(&own_issuer, MAX_SHOWN)
    )))
}

/// Why an expression doesn't hold for a certificate, whose claims it sees as `certificate`.
///
/// # Errors
/// As for [`mismatch`].
fn unmet(expression: &Expression, signer: &sigstore::Identity, time: &Time) -> Result<Option<String>, String> {
    // It was read when the policy was deployed, so this hardly ever fails.
    let program = match Program::read(&expression.text) {
        Ok(program) => program,
        Err(why) => return Ok(Some(format!("{}: {why}", expression.path))),
    };
    let mut scope = Scope::new(std::iter::once(&program.references), time);
    let names = [("subject", &signer.subject), ("issuer", &signer.issuer)].into_iter();
    let claims = names.chain(signer.extensions.iter().map(|(name, value)| (*name, value)));
    scope.set("certificate", map_of(claims.map(|(name, value)| (name, Value::from(value.as_str())))));
    match program.evaluate(&scope) {
        Ok(Value::Bool(true)) => Ok(None),
        Ok(_) => Ok(Some(format!("`{}` is not true of its certificate", cut(&expression.text, MAX_SHOWN)))),
        Err(EvaluationError::Limit(why)) => Err(format!("{}: {why}", expression.path)),
        Err(why) => Ok(Some(format!("`{}` has no value for its certificate: {why}", cut(&expression.text, MAX_SHOWN)))),
    }
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
