//! Reads registries, which may be anybody's: what they answer is bounded, checked, and never repeated in an error.
//!
//! ```text
//! reader (what can be read: digests, manifests, blobs, referrers) · api (pages of an API, and what they send to)
//!    │
//! exchange ── one request with its login and its redirects, within bounds of bytes and time
//!    ├── challenge (who asks for a login) ── realm (who gets it) ── login · token (kept until it expires)
//!    ├── client ── address (which addresses a redirect must not reach)
//!    └── failure (what went wrong)
//! document ── what is read, and the checks of its digest and its type
//! page ── where a list goes on
//! ```
//!
//! It never writes to a registry, never tries again, and keeps nothing but tokens. It uses no proxy: the addresses that it checks
//! must be those that it connects to.

mod address;
mod api;
mod challenge;
mod client;
mod document;
mod exchange;
mod failure;
mod login;
mod page;
mod reader;
mod realm;
mod token;

pub use api::{ApiAnswer, ApiQuestion, ApiToken, TokenError};
pub use client::SetupError;
pub use document::{Descriptor, Manifest};
pub use failure::{Flaw, Outage, ReadFailure};
pub use login::Logins;
pub use reader::{MAX_BLOB_BYTES, MAX_MANIFEST_BYTES, MAX_REFERRERS, Options, Referrers, RegistryReader};
