//! Evidence: verifies signatures and attestations that anybody may bring, since they carry their own proof.
//!
//! ```text
//! key ── certificate ── timestamp
//!  │          └──────── sigstore (bundles, by a key or by a certificate of a trust root)
//!  │          └──────── notary (envelopes of Notary Project)
//!  └── dsse (in-toto statements in envelopes)
//! ```
//!
//! Bytes and trust go in; what was signed, by whom and when comes out. It asks no host, no network and no clock: where a time counts,
//! it is an argument, or is proven by a timestamp. It never decides whether a signer is the wanted one: that is its caller's. Every
//! number of bytes and every number of signatures, certificates and entries is bounded.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod certificate;
pub mod dsse;
pub mod key;
pub mod notary;
pub mod sigstore;
pub mod timestamp;
