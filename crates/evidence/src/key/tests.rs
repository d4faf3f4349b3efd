//! Keys as people write them, and keys that are none.

use super::*;

pub(crate) const FIXTURE_P256_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8h/NevB08v1sHE8AMLnEaKTJwGuQ\n\
    ZEKqfFPdYworLtO3YpubvdaQP22XiUdy2/q36ShlfP3o9mlUk+nS2jJP3w==\n\
    -----END PUBLIC KEY-----\n";
pub(crate) const FIXTURE_P384_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEd9Ey8boWSX5O6I9YGSPPamD1ehqtcqnA\n\
    l8YnSc3uQbdiea4LOqthKJGukkpGFeUpbdxBNgSWTbtXrVo+5SMG8SDr/dNO4lAm\n\
    Y/JBgvVcE+iLl7AV+s7m1CZQUkAi5iZn\n\
    -----END PUBLIC KEY-----\n";
pub(crate) const FIXTURE_ED25519_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA5sEh9a51ieSO+/yv1J3Z29nY0L8nMBMj2LTErNiboTQ=\n\
    -----END PUBLIC KEY-----\n";

// `SubjectPublicKeyInfo` up to the key bytes, written out from RFC 5480 and RFC 8410.
pub(crate) const P256_PREFIX: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
pub(crate) const P384_PREFIX: &[u8] = &[
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
    0x22, 0x03, 0x62, 0x00,
];
pub(crate) const ED25519_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

pub(crate) fn p256_signer(seed: u8) -> p256::ecdsa::SigningKey {
    p256::ecdsa::SigningKey::from_slice(&[seed; 32]).unwrap()
}

pub(crate) fn p384_signer(seed: u8) -> p384::ecdsa::SigningKey {
    p384::ecdsa::SigningKey::from_slice(&[seed; 48]).unwrap()
}

pub(crate) fn ed25519_signer(seed: u8) -> ed25519_dalek::SigningKey {
    ed25519_dalek::SigningKey::from_bytes(&[seed; 32])
}

pub(crate) fn pem(prefix: &[u8], key: &[u8]) -> String {
    let body = base64([prefix, key].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
}

pub(crate) fn p256_pem(seed: u8) -> String {
    pem(P256_PREFIX, p256_signer(seed).verifying_key().to_sec1_point(false).as_bytes())
}

pub(crate) fn p384_pem(seed: u8) -> String {
    pem(P384_PREFIX, p384_signer(seed).verifying_key().to_sec1_point(false).as_bytes())
}

pub(crate) fn ed25519_pem(seed: u8) -> String {
    pem(ED25519_PREFIX, ed25519_signer(seed).verifying_key().as_bytes())
}

pub(crate) fn key(pem: &str) -> PublicKey {
    PublicKey::from_pem(pem).unwrap()
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_STANDARD.encode(bytes)
}

// Public keys that are refused, made with the same OpenSSL.
const RSA_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAnuZ731AkfnpejIpGIs/O\n\
    E32uOO4kFnfH+vnGoaE5uBflyZt4u0ncaTcG18dQD94MWK8I+LJqU9zL/xWNNXwo\n\
    fLDuYz44GN+qWlSX7o2TIKxxqmwavIJ+tntnufY3xuZ2BHms2uE8qePLBlMPFnD8\n\
    003kWG+nUmgddJ1Lb+LriD5DdFrVHbv2lVG6dXugYyer86urgCAU2t3ThueEGH+U\n\
    T+Nb45A6PpKLdDmFks3gE43KJmwfBElawUu2mmOl5hDk4fHtaTd9h1+1AfLZc8gB\n\
    HWTw5dFa1okcvb2AbHHWzh4rdA3uZJONS/yJTDuSKXxNqZibSKhiN5nvmVCjAQj5\n\
    FQIDAQAB\n\
    -----END PUBLIC KEY-----\n";
const RSA_PSS_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBAMnlvZtLiLO1BKCb9LUATHw4\n\
    3pefhGHjZntnDwl1zLcvp8kggZW5o4tQxj+JsAa4NwWwS4IXItxXBU2uGGiFwAgr\n\
    0HHkYj6gbUejuBfow7Uf+1Wgw3SYiG9oSahqL4X3cdIlGHQOhE7Pbo6ky7r8ismb\n\
    IouufVTImpM2Ru/sWGfeiIw+o9yis96lYYMaD6JqiZWp4LIq1phvWAJHoCiBH8Zv\n\
    lO2IiMeJfUxuctrG1B9aTOn63so8TcrHfhF3KG4mBgYnTfTBu3i+ZrTTtDcNQlbG\n\
    mAIok/hXpGKVX6JibaIkMe//qWBFlHd6BMUY8l3r9evUw9dK13OPfgwQ8YbiAs0C\n\
    AwEAAQ==\n\
    -----END PUBLIC KEY-----\n";
const P521_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MIGbMBAGByqGSM49AgEGBSuBBAAjA4GGAAQBTkHV9zQVwTSbL9nRAa7t4mYX+2Y7\n\
    NPbFHc0ivczy9D0d+PD7fZpCkMRoVuhxt0SeLBPqlNT623Kw5rD5DfLplz4ADKpP\n\
    re8XCamGSTAf6sZP8zCVDNEHgO7jLsUKNQAaVfeUM8URFS5bhIO6S81YdU1W7XPo\n\
    dMpDyxfWz11I/nWpt+o=\n\
    -----END PUBLIC KEY-----\n";
const SECP256K1_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAE/PX9qa2P25ekdzpnG9aNElrxgQluREdp\n\
    x2Vw2O3/pq8Q91HRVGubjV/7Fu6qfaB5BDmNSaYaUhrV/s03lfntmQ==\n\
    -----END PUBLIC KEY-----\n";
const EXPLICIT_P256_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MIIBSzCCAQMGByqGSM49AgEwgfcCAQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAA\n\
    AAAAAAAAAAAA////////////////MFsEIP////8AAAABAAAAAAAAAAAAAAAA////\n\
    ///////////8BCBaxjXYqjqT57PrvVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSd\n\
    NgiG5wSTamZ44ROdJreBn36QBEEEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5\n\
    RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA\n\
    //////////+85vqtpxeehPO5ysL8YyVRAgEBA0IABIY65HPlHmMBbyg247YKAVtd\n\
    X8Ky6LWRLp8+vA+P+Qgv4TuMyIGkfAseDvhddPfhEJXQsuLqdGFWKuX+HdS2c7k=\n\
    -----END PUBLIC KEY-----\n";
const ED448_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MEMwBQYDK2VxAzoAZ7DQZjLlNEgdxiBcovE/LTqp9DaKCbw6jceioxKY+8vDaBwc\n\
    q3GTWQCDcLaV/m54MOW3s8G7UgaA\n\
    -----END PUBLIC KEY-----\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
    MIIBbDCCAROgAwIBAgIUYGm+z9c5IlRr3capOSBu9mA3kgcwCgYIKoZIzj0EAwIw\n\
    DDEKMAgGA1UEAwwBYTAeFw0yNjExMjIwMDI4MTJaFw0zNjExMTkwMDI4MTJaMAwx\n\
    CjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARqJ8QvWcTbwlwJ\n\
    BW2v6+SSNmgWjsVXXShg0CIiEqZPcj29G9FLx+LNRpNnzHo1EY7g14bLdkiBfm/H\n\
    GhflkQ4Lo1MwUTAdBgNVHQ4EFgQUCpmQjWYCdbnxDSuO8AEwsf2yfq4wHwYDVR0j\n\
    BBgwFoAUCpmQjWYCdbnxDSuO8AEwsf2yfq4wDwYDVR0TAQH/BAUwAwEB/zAKBggq\n\
    hkjOPQQDAgNHADBEAiAoy5crs1OTbhys2rg73mNHLfZUT97MDg5u+wf6NW6o/AIg\n\
    esAQUqK7s9jnlpJrIHIFPBfmTTKHG4vVfbyv84mPptQ=\n\
    -----END CERTIFICATE-----\n";

#[test]
fn keys_are_read_however_their_pem_is_laid_out() {
    assert!(matches!(key(FIXTURE_P256_KEY), PublicKey::P256(_)));
    assert!(matches!(key(FIXTURE_P384_KEY), PublicKey::P384(_)));
    assert!(matches!(key(FIXTURE_ED25519_KEY), PublicKey::Ed25519(_)));
    assert!(matches!(key(RSA_KEY), PublicKey::Rsa(_)));
    assert!(matches!(key(P521_KEY), PublicKey::P521(_)));
    for text in [
        FIXTURE_P384_KEY.replace('\n', "\r\n"),
        format!("\n  {FIXTURE_P384_KEY}\n\n"),
        FIXTURE_P384_KEY.replace('\n', "\n    "),
        FIXTURE_P384_KEY.replace('\n', ""),
    ] {
        assert_eq!(key(&text), key(FIXTURE_P384_KEY));
    }
    assert_ne!(key(&p256_pem(1)), key(&p256_pem(2)));
    let compressed = p256_signer(1).verifying_key().to_sec1_point(true);
    let mut prefix = P256_PREFIX.to_vec();
    prefix[1] = 0x39;
    prefix[24] = 0x22;
    assert_eq!(key(&pem(&prefix, compressed.as_bytes())), key(&p256_pem(1)), "a compressed point");
}

#[test]
fn other_keys_are_refused() {
    let mut off_curve = p256_signer(1).verifying_key().to_sec1_point(false).as_bytes().to_vec();
    off_curve[64] ^= 1;
    let mut off_curve_384 = p384_signer(1).verifying_key().to_sec1_point(false).as_bytes().to_vec();
    off_curve_384[96] ^= 1;
    let mut not_decodable = [0; 32];
    not_decodable[0] = 2;
    let mut identity = [0; 32];
    identity[0] = 1;
    // The prefix again with a NULL for parameters.
    let with_parameters = [0x30, 0x2c, 0x30, 0x07, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x05, 0x00, 0x03, 0x21, 0x00];
    let short = &ED25519_PREFIX[..ED25519_PREFIX.len() - 1];
    let ed25519 = ed25519_signer(1).verifying_key().to_bytes();
    let private = FIXTURE_P256_KEY.replace("PUBLIC KEY", "EC PRIVATE KEY");
    let cases = [
        ("nothing", String::new(), KeyError::NotPem),
        ("a path", "/etc/cosign.pub".to_owned(), KeyError::NotPem),
        ("text before", format!("my key: {FIXTURE_P256_KEY}"), KeyError::NotPem),
        ("no end", FIXTURE_P256_KEY.replace("-----END", "END"), KeyError::NotPem),
        ("two keys", FIXTURE_P256_KEY.repeat(2), KeyError::MoreThanOneBlock),
        ("a certificate", CERTIFICATE.to_owned(), KeyError::Label("CERTIFICATE".to_owned())),
        ("a private key", private, KeyError::PrivateKey),
        ("RSA-PSS", RSA_PSS_KEY.to_owned(), KeyError::Algorithm("RSASSA-PSS".to_owned())),
        (
            "RSA of PKCS #1",
            RSA_KEY.replace("PUBLIC KEY", "RSA PUBLIC KEY"),
            KeyError::Label("RSA PUBLIC KEY".to_owned()),
        ),
        ("secp256k1", SECP256K1_KEY.to_owned(), KeyError::Curve("1.3.132.0.10".to_owned())),
        ("a curve in numbers", EXPLICIT_P256_KEY.to_owned(), KeyError::UnnamedCurve),
        ("Ed448", ED448_KEY.to_owned(), KeyError::Algorithm("1.3.101.113".to_owned())),
        ("no base64", FIXTURE_P256_KEY.replace("MFkw", "MF?w"), KeyError::Malformed),
        ("cut off", FIXTURE_P256_KEY.replace("jJP3w==", ""), KeyError::Malformed),
        ("a byte too many", pem(ED25519_PREFIX, &[ed25519.as_slice(), &[0]].concat()), KeyError::Malformed),
        ("unused bits", pem(&[short, &[1]].concat(), &[0; 32]), KeyError::Malformed),
        ("parameters", pem(&with_parameters, &ed25519), KeyError::Malformed),
        ("off P-256", pem(P256_PREFIX, &off_curve), KeyError::NotOnCurve("P-256")),
        ("off P-384", pem(P384_PREFIX, &off_curve_384), KeyError::NotOnCurve("P-384")),
        ("off Ed25519", pem(ED25519_PREFIX, &not_decodable), KeyError::NotOnCurve("Ed25519")),
        ("low order", pem(ED25519_PREFIX, &identity), KeyError::Weak),
    ];
    for (name, pem, expected) in cases {
        assert_eq!(PublicKey::from_pem(&pem), Err(expected), "{name}");
    }
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let error = PublicKey::from_pem(SECP256K1_KEY).unwrap_err().to_string();
    let expected = "the key is on the elliptic curve `secp256k1`, which isn't supported; use ECDSA P-256, P-384 or P-521, \
                    Ed25519, or RSA";
    assert_eq!(error, expected);
    assert_eq!(KeyError::RsaBits(1_024).to_string(), "the RSA key has `1024` bits; use one of 2048 to 4096");
}

#[test]
fn schemes_are_read_from_algorithm_identifiers() {
    use crate::certificate::tests::{oid, sequence, tlv};
    let null = || tlv(0x05, []);
    let pss = |hash: &str, mask: &str, generator: &str, salt: u8| {
        sequence(&[
            oid("1.2.840.113549.1.1.10"),
            sequence(&[
                tlv(0xa0, sequence(&[oid(hash), null()])),
                tlv(0xa1, sequence(&[oid(generator), sequence(&[oid(mask), null()])])),
                tlv(0xa2, tlv(0x02, [salt])),
            ]),
        ])
    };
    let (sha1, sha256, sha512) = ("1.3.14.3.2.26", "2.16.840.1.101.3.4.2.1", "2.16.840.1.101.3.4.2.3");
    let mgf1 = "1.2.840.113549.1.1.8";
    for (der, expected) in [
        (sequence(&[oid("1.2.840.10045.4.3.2")]), Some(Scheme::Ecdsa(Hash::Sha256))),
        (sequence(&[oid("1.2.840.10045.4.3.3")]), Some(Scheme::Ecdsa(Hash::Sha384))),
        (sequence(&[oid("1.2.840.10045.4.3.4")]), Some(Scheme::Ecdsa(Hash::Sha512))),
        (sequence(&[oid("1.2.840.113549.1.1.11"), null()]), Some(Scheme::RsaPkcs1(Hash::Sha256))),
        (sequence(&[oid("1.2.840.113549.1.1.12"), null()]), Some(Scheme::RsaPkcs1(Hash::Sha384))),
        (sequence(&[oid("1.2.840.113549.1.1.13")]), Some(Scheme::RsaPkcs1(Hash::Sha512))),
        (sequence(&[oid("1.3.101.112")]), Some(Scheme::Ed25519)),
        (pss(sha256, sha256, mgf1, 32), Some(Scheme::RsaPss(Hash::Sha256))),
        (pss(sha512, sha512, mgf1, 64), Some(Scheme::RsaPss(Hash::Sha512))),
        // SHA-1 with ECDSA and RSA, and as the default of RSASSA-PSS.
        (sequence(&[oid("1.2.840.10045.4.1")]), None),
        (sequence(&[oid("1.2.840.113549.1.1.5"), null()]), None),
        (sequence(&[oid("1.2.840.113549.1.1.10"), sequence(&[])]), None),
        (sequence(&[oid("1.2.840.113549.1.1.10")]), None),
        (pss(sha1, sha1, mgf1, 20), None),
        (pss(sha256, sha512, mgf1, 32), None),
        (pss(sha256, sha256, mgf1, 20), None),
        (pss(sha256, sha256, "1.2.840.113549.1.1.9", 32), None),
        (sequence(&[oid("1.2.840.113549.1.1.11"), tlv(0x02, [1])]), None),
    ] {
        assert_eq!(Scheme::of(&AlgorithmIdentifierRef::try_from(&der[..]).unwrap()), expected, "{der:?}");
    }
}
