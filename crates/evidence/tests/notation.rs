//! The test data of notation-go, Notary Project's own verifier, answered as its tests expect at the level `strict`, and the tokens of
//! its reader of timestamps, tspclient-go. Their texts are not here: `NOTATION_GO` and `TSPCLIENT_GO` name the folders of these Go
//! modules, of the versions 1.3.2 and 1.0.0.
//!
//! Two things differ, and are in the table as they are here. Critical attributes of plugins reject, since there are no plugins. And a
//! signature without a timestamp is good while its certificates are valid, though authorities of timestamps are trusted.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that can't go on must fail")]
#![expect(clippy::disallowed_methods, reason = "the ban is the crate's, this reads what it is tested with")]

use std::fs;
use std::path::PathBuf;

use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::notary::{COSE, Envelope, JWS, NotaryError, Store, Trust, TrustedIdentity};
use image_admission_evidence::timestamp::{Authority, verify};
use image_admission_untrusted::time::Timestamp;

const NOW: &str = "2026-11-01T00:00:00Z";
const ROOT: &str = "CN=Notation Test Root,O=Notary,L=Seattle,ST=WA,C=US";
const ALPINE: &str = "CN=alpine,O=Notary,L=Seattle,ST=WA,C=US";
const CA: &str = "ca/valid-trust-store";
const AUTHORITY: &str = "signingAuthority/valid-trust-store";
const TSA: &str = "tsa/test-timestamp";

#[test]
#[ignore = "needs the Go module notation-go: NOTATION_GO"]
fn mocks_are_answered_as_by_notation() {
    let critical = |name: &str| format!("the critical attribute `{name}` isn't supported");
    let refused = |reason: &str| Err(reason.to_owned());
    let (valid, signing) = ("ca_valid_sig_env", "sa_valid_sig_env");
    let anybody = "*";
    for (name, store, identity, expected) in [
        (valid, CA, anybody, Ok((ROOT, None))),
        (signing, AUTHORITY, anybody, Ok((ROOT, Some("2020-11-09T07:00:00Z")))),
        (valid, CA, "x509.subject:CN=Notation Test Root,O=Notary,L=Seattle,ST=WA,C=US", Ok((ROOT, None))),
        (
            valid,
            CA,
            "x509.subject:CN=LOL,O=DummyOrg,L=Hyderabad,ST=TG,C=IN",
            refused("the signature is by `CN=Notation"),
        ),
        (signing, AUTHORITY, "x509.subject:O=DummyOrg,ST=TG,C=IN", refused("the signature is by `CN=Notation")),
        (valid, "ca/valid-trust-store-2", anybody, refused("the signature leads to the root `CN=Notation")),
        (signing, "signingAuthority/valid-trust-store-2", anybody, refused("the signature leads to the root")),
        (valid, AUTHORITY, anybody, refused("the signature is of the scheme `notary.x509`")),
        (signing, CA, anybody, refused("the signature is of the scheme `notary.x509.signingAuthority`")),
        ("ca_invalid_sig_env", CA, anybody, refused("`payload` is no base64")),
        ("sa_invalid_sig_env", AUTHORITY, anybody, refused("`payload` is no base64")),
        ("ca_expired_sig_env", CA, anybody, refused("the signature expired at `2022-07-29T23:59:00Z`")),
        ("sa_expired_sig_env", AUTHORITY, anybody, refused("the signature expired at `2022-07-29T23:59:00Z`")),
        ("ca_plugin_sig_env", CA, anybody, Err(critical("SomeKey"))),
        ("sa_plugin_sig_env", AUTHORITY, anybody, Err(critical("SomeKey"))),
        (
            "ca_compatible_pluginver_sig_env_1.0.0",
            CA,
            anybody,
            Err(critical("io.cncf.notary.verificationPluginMinVersion")),
        ),
    ] {
        let bytes = read(&format!("internal/mock/testdata/{name}.json"));
        let roots = store_of(store);
        let identities = [TrustedIdentity::parse(identity).unwrap()];
        let kind = if store.starts_with("ca/") { Store::CertificateAuthority } else { Store::SigningAuthority };
        let trust =
            Trust { roots: &roots, timestamp_authorities: &[], identities: &identities, revoked: &[], store: kind };
        check(name, &answer(JWS, &bytes, &trust), expected);
    }
    let unsupported = Envelope::read("application/unsupported+json", &[]).map(|_| ());
    assert_eq!(unsupported, Err(NotaryError::MediaType("application/unsupported+json".to_owned())));
}

#[test]
#[ignore = "needs the Go module notation-go: NOTATION_GO"]
fn timestamps_are_answered_as_by_notation() {
    let test_tsa = "CN=testTSA,O=Notary,L=Seattle,ST=WA,C=US";
    for (name, media_type, tsa, expected) in [
        ("jwsWithTimestamp", JWS, Some(TSA), Ok((ALPINE, Some("2024-06-18T06:29:37Z")))),
        ("coseWithTimestamp", COSE, Some(TSA), Ok((ALPINE, Some("2024-06-18T06:27:16Z")))),
        ("coseWithTimestamp", COSE, None, Ok((ALPINE, None))),
        ("withoutTimestamp", JWS, Some(TSA), Ok((ALPINE, None))),
        ("jwsExpiredWithTimestamp", JWS, Some(TSA), Ok((test_tsa, Some("2024-06-18T07:21:42Z")))),
        ("coseExpiredWithTimestamp", COSE, Some(TSA), Ok((test_tsa, Some("2024-06-18T07:21:12Z")))),
        (
            "coseExpiredWithTimestamp",
            COSE,
            None,
            Err("to `2024-06-18T07:30:31Z`, and not at `2026-11-01T00:00:00Z`".to_owned()),
        ),
        (
            "coseWithTimestamp",
            COSE,
            Some("tsa/test-mismatch"),
            Err("the timestamp's authority isn't trusted: the issuer of the certificate".to_owned()),
        ),
        ("timestampBeforeNotBefore", JWS, Some(TSA), Err("is valid from `2099-09-18T11:54:34Z`".to_owned())),
        ("timestampAfterNotAfter", COSE, Some(TSA), Err("to `2001-09-18T11:54:34Z`, and not at `2024".to_owned())),
    ] {
        let bytes = read(&format!("verifier/testdata/timestamp/sigEnv/{name}.sig"));
        // Its tests look at the times of some certificates alone, which are no trusted ones.
        let mut roots = store_of(CA);
        roots.extend(inside(media_type, &bytes));
        let authorities = tsa.map(store_of).unwrap_or_default();
        let trust = Trust {
            roots: &roots,
            timestamp_authorities: &authorities,
            identities: &[TrustedIdentity::Anybody],
            revoked: &[],
            store: Store::CertificateAuthority,
        };
        check(name, &answer(media_type, &bytes, &trust), expected);
    }
}

#[test]
#[ignore = "needs the Go module tspclient-go: TSPCLIENT_GO"]
fn tokens_are_answered_as_by_notation() {
    let folder = PathBuf::from(std::env::var_os("TSPCLIENT_GO").unwrap()).join("testdata");
    let roots = certificates(&fs::read(folder.join("GlobalSignRootCA.crt")).unwrap());
    let authority = Authority { roots, ..Authority::default() };
    let attribute = "the timestamp's signed attribute `1.2.840.113549.1.9.16.2.47`";
    let broken = "the timestamp is no DER";
    for (name, expected) in [
        ("TimeStampToken.p7s", Ok("2021-09-17T14:09:10Z")),
        ("granted.tsq", Ok("2021-09-18T11:54:34Z")),
        ("rejection.tsq", Err("the timestamp was refused with the status `2`")),
        ("malformed.tsq", Err(broken)),
        ("SHA1TimeStampToken.p7s", Err("the timestamp's algorithm `1.2.840.113549.1.1.5`")),
        ("TimeStampTokenWithInvalidSignature.p7s", Err("the timestamp isn't signed with the key")),
        ("TimeStampTokenWithInvalidSigningCertificateV2.p7s", Err(broken)),
        ("TimeStampTokenWithInvalidTSTInfo.p7s", Err(broken)),
        ("TimeStampTokenWithInvalideContentType.p7s", Err("the timestamp's content is of type `1.2.840.113549.1.7.1`")),
        ("TimeStampTokenWithMismatchCertHash.p7s", Err(attribute)),
        ("TimeStampTokenWithSHA1CertHash.p7s", Err("the timestamp's algorithm `1.3.14.3.2.26`")),
        ("TimeStampTokenWithSigningCertificateV2NoCert.p7s", Err(attribute)),
        ("TimeStampTokenWithTSTInfoVersion2.p7s", Err(broken)),
        ("TimeStampTokenWithoutCertificate.p7s", Err("the timestamp is by none of the trusted")),
        ("TimeStampTokenWithoutSigningCertificate.p7s", Err(attribute)),
        // Here one signer is all that a token may have; there one good one of several is enough.
        ("TimeStampTokenWithValidAndInvalidSignerInfos.p7s", Err("the timestamp has `2` signers")),
    ] {
        let token = fs::read(folder.join(name)).unwrap();
        let found = verify(&token, b"notation", std::slice::from_ref(&authority));
        match (found, expected) {
            (Ok(time), Ok(expected)) => assert_eq!(time.to_string(), expected, "{name}"),
            (Err(error), Err(part)) => assert!(error.to_string().starts_with(part), "{name}: {error}"),
            (found, expected) => assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}"),
        }
    }
}

/// Who signed, and when.
type Answer<'a> = Result<(&'a str, Option<&'a str>), String>;

fn check(name: &str, found: &Result<(String, Option<String>), String>, expected: Answer<'_>) {
    match (found, expected) {
        (Ok((subject, at)), Ok(expected)) => assert_eq!((subject.as_str(), at.as_deref()), expected, "{name}"),
        (Err(reason), Err(part)) => assert!(reason.contains(&part), "{name}: {reason}"),
        (found, expected) => assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name}"),
    }
}

fn answer(media_type: &str, bytes: &[u8], trust: &Trust<'_>) -> Result<(String, Option<String>), String> {
    let envelope = Envelope::read(media_type, bytes).map_err(|error| error.to_string())?;
    let digest = envelope.claims().digest.to_owned();
    let signed = envelope.verify(trust, &digest, Timestamp::parse(NOW).unwrap()).map_err(|error| error.to_string())?;
    Ok((signed.subject, signed.signed_at.map(|time| time.to_string())))
}

fn read(path: &str) -> Vec<u8> {
    let folder = PathBuf::from(std::env::var_os("NOTATION_GO").unwrap());
    fs::read(folder.join(path)).unwrap()
}

/// The certificates of a trust store, each in a file of PEM or DER.
fn store_of(path: &str) -> Vec<Certificate> {
    let folder = PathBuf::from(std::env::var_os("NOTATION_GO").unwrap());
    let files = fs::read_dir(folder.join("verifier/testdata/truststore/x509").join(path)).unwrap();
    files.flat_map(|file| certificates(&fs::read(file.unwrap().path()).unwrap())).collect()
}

fn certificates(bytes: &[u8]) -> Vec<Certificate> {
    match std::str::from_utf8(bytes) {
        Ok(pem) => Certificate::all_from_pem(pem).unwrap(),
        Err(_) => vec![Certificate::from_der(bytes).unwrap()],
    }
}

/// The certificates in an envelope, wherever they are.
fn inside(media_type: &str, bytes: &[u8]) -> Vec<Certificate> {
    if media_type == JWS {
        let document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        let chain = document["header"]["x5c"].as_array().unwrap().clone();
        let decode = |text: &serde_json::Value| base64_of(text.as_str().unwrap());
        return chain.iter().map(|text| Certificate::from_der(&decode(text)).unwrap()).collect();
    }
    let starts = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&[0x30, 0x82]));
    let certificates = starts.filter_map(|at| {
        let length = usize::from(*bytes.get(at + 2)?) * 256 + usize::from(*bytes.get(at + 3)?);
        Certificate::from_der(bytes.get(at..at + 4 + length)?).ok()
    });
    certificates.collect()
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}
