//! Attestors whose keys, certificates or trust roots can't be used, and those that an expression names in vain.

use cel::IdedExpr;
use cel::common::ast::Expr;
use image_admission_cel::expression::{Program, References, each_child};
use image_admission_cel::functions::{self, regex::is_match};
use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::key::{KeyError, PublicKey};
use image_admission_evidence::notary::{Revoked, TrustedIdentity};
use image_admission_evidence::sigstore::TrustRoot;
use image_admission_settings::{
    AttestationKind, Attestor, Evidence, Expression, Identity, Notary, TextMatch, TextSource, VerificationPolicy,
};
use std::collections::BTreeSet;

/// Problems of the attestors at a path, `imageVerification[0]`.
pub(super) fn check(path: &str, attestors: &[Attestor], evidence: &Evidence, problems: &mut Vec<String>) {
    for attestor in attestors {
        let mut found = Vec::new();
        match &attestor.identity {
            Identity::Key(pem) => {
                if let Err(
                    why @ (KeyError::Malformed | KeyError::NotOnCurve(_) | KeyError::Weak | KeyError::MoreThanOneBlock),
                ) = PublicKey::from_pem(pem)
                {
                    problems.push(format!("{path}.attestors: the key of `{}`: {why}", attestor.name));
                }
            }
            Identity::KeylessMatching { issuer, subject } => {
                let expressions = [issuer, subject].into_iter().filter_map(|text| match text {
                    TextMatch::Matching(expression) => Some(expression),
                    TextMatch::Exactly(_) => None,
                });
                found.extend(expressions.filter_map(|expression| is_match("", expression).err()));
            }
            Identity::Notary(notary) => found.extend(of_notary(notary)),
            _ => {}
        }
        if let Some(expression) = &attestor.certificate {
            problems.extend(of_certificate(expression));
        }
        let is_keyless = !matches!(attestor.identity, Identity::Notary(_));
        if is_keyless && !attestor.is_known_to_hosts() && trust_root(attestor, evidence).is_none() {
            let why = "hosts compare no regular expressions and show no certificates, so only evidence counts, and there is no trust root to verify it with: set `cosign.trustRoot`, or `evidence.trustRoot`";
            found.push(why.to_owned());
        }
        if let Some(TextSource::Inline(json)) = &attestor.trust_root
            && let Err(why) = TrustRoot::read(json)
        {
            found.push(format!("its trust root: {why}"));
        }
        problems.extend(found.iter().map(|why| format!("{path}.attestors: `{}`: {why}", attestor.name)));
    }
}

/// Problems of the setting `evidence`.
pub(super) fn check_evidence(evidence: &Evidence, problems: &mut Vec<String>) {
    if let Some(TextSource::Inline(json)) = &evidence.trust_root
        && let Err(why) = TrustRoot::read(json)
    {
        problems.push(format!("evidence.trustRoot.data: {why}"));
    }
    for (position, text) in evidence.revoked.iter().enumerate() {
        if let Err(why) = Revoked::parse(text) {
            problems.push(format!("evidence.revoked[{position}]: {why}"));
        }
    }
}

/// Problems of an expression about a certificate.
fn of_certificate(expression: &Expression) -> Option<String> {
    let program = match Program::read(&expression.text) {
        Ok(program) => program,
        Err(why) => return Some(format!("{}: {why}", expression.path)),
    };
    let References { names, functions: called } = &program.references;
    let unknown = names.iter().find(|name| *name != CERTIFICATE && !functions::TYPE_NAMES.contains(&name.as_str()));
    let is_there = |name: &str| functions::is_known(name) || functions::needs_standard_library(name);
    if let Some(name) = unknown {
        return Some(format!("{}: unknown variable `{name}`; there is `{CERTIFICATE}`", expression.path));
    }
    let unknown = called.iter().find(|name| !is_there(name));
    unknown.map(|name| format!("{}: unknown function `{name}`", expression.path))
}

/// The one variable of expressions about certificates.
const CERTIFICATE: &str = "certificate";

fn of_notary(notary: &Notary) -> Vec<String> {
    let stores = [Some(&notary.certificates), notary.timestamp_certificates.as_ref()];
    let stores = stores.into_iter().flatten().filter_map(|source| match source {
        TextSource::Inline(pem) => Certificate::all_from_pem(pem).err().map(|why| why.to_string()),
        TextSource::InCluster(_) => None,
    });
    let identities = notary.trusted_identities.iter();
    stores.chain(identities.filter_map(|text| TrustedIdentity::parse(text).err().map(|why| why.to_string()))).collect()
}

/// The trust root that an attestor's certificates are verified with.
fn trust_root<'a>(attestor: &'a Attestor, evidence: &'a Evidence) -> Option<&'a TextSource> {
    attestor.trust_root.as_ref().or(evidence.trust_root.as_ref())
}

/// Attestors that can't vouch for statements, although an expression names them for one.
pub(super) fn check_statements(
    policy: &VerificationPolicy,
    evidence: &Evidence,
    program: &Program,
    expression: &Expression,
    problems: &mut Vec<String>,
) {
    for (attestation, attestor) in asked_attestations(program) {
        let is_statement = policy
            .attestations
            .iter()
            .any(|own| own.name == attestation && matches!(own.kind, AttestationKind::InToto(_)));
        for own in policy.attestors.iter().filter(|own| is_statement && own.name == attestor) {
            let Some(why) = why_no_statements(own, evidence) else { continue };
            problems.push(format!(
                "{}: `attestors.{attestor}` can't verify `attestations.{attestation}`: {why}",
                expression.path
            ));
        }
    }
}

/// Attestors of documents that are attestations, who can't vouch for such.
pub(super) fn check_documents(path: &str, attestors: &[Attestor], evidence: &Evidence, problems: &mut Vec<String>) {
    let unable = attestors.iter().filter_map(|own| Some((own, why_no_statements(own, evidence)?)));
    problems.extend(unable.map(|(own, why)| format!("{path}.attestors: `{}`: {why}", own.name)));
}

/// Why no statement by an attestor can be verified.
fn why_no_statements(attestor: &Attestor, evidence: &Evidence) -> Option<String> {
    let why = match &attestor.identity {
        _ if !attestor.annotations.is_empty() => "`annotations` are those of cosign's signatures; a statement has none",
        Identity::Key(pem) => return PublicKey::from_pem(pem).err().map(|why| why.to_string()),
        Identity::KeyInCluster(_) => return None,
        Identity::Keyless { .. }
        | Identity::KeylessPrefix { .. }
        | Identity::KeylessMatching { .. }
        | Identity::GithubActions { .. } => match trust_root(attestor, evidence) {
            Some(_) => return None,
            None => {
                "a statement by an identity is verified with a trust root: set `cosign.trustRoot`, or `evidence.trustRoot`"
            }
        },
        Identity::Certificate { .. } | Identity::Notary(_) => {
            "a statement is verified with a key or a trust root: use `key` or `keyless`"
        }
    };
    Some(why.to_owned())
}

/// The attestations that an expression names, each with its named attestors.
fn asked_attestations(program: &Program) -> BTreeSet<(String, String)> {
    let field = |tree: &IdedExpr, of: &str| match &tree.expr {
        Expr::Select(select) => match &select.operand.expr {
            Expr::Ident(name) if name == of => Some(select.field.clone()),
            _ => None,
        },
        _ => None,
    };
    let mut asked = BTreeSet::new();
    let mut rest = vec![&program.tree];
    while let Some(node) = rest.pop() {
        if let Expr::Call(call) = &node.expr
            && call.func_name == "verifyAttestationSignatures"
            && let [_, attestation, attestors] = call.args.as_slice()
            && let Some(attestation) = field(attestation, "attestations")
        {
            let attestors = match &attestors.expr {
                Expr::List(list) => list.elements.iter().collect(),
                _ => vec![attestors],
            };
            let names = attestors.into_iter().filter_map(|attestor| field(attestor, "attestors"));
            asked.extend(names.map(|name| (attestation.clone(), name)));
        }
        each_child(node, &mut |child| rest.push(child));
    }
    asked
}
