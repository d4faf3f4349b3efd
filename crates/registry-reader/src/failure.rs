//! Why something can't be read. Nothing that a registry answered is in it, except for numbers of HTTP.

use std::time::SystemTime;

/// Why a registry doesn't give what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// There is no such repository, manifest or blob.
    #[error("the registry doesn't have it")]
    NotFound,
    /// Reading it isn't allowed with the login that there is. Some registries say this of what they don't have, too.
    #[error("the registry doesn't have it, or doesn't allow reading it; check the login")]
    Refused,
    /// There were too many requests (status 429).
    #[error("the registry takes no more requests for now")]
    RateLimited {
        /// When to ask again, by `Retry-After`: at most an hour from now.
        until: Option<SystemTime>,
    },
    /// It can't be reached, or fails.
    #[error("the registry can't be asked: {0}")]
    Outage(Outage),
    /// It answers something that the specification doesn't allow, or that is too large.
    #[error("the registry's answer can't be used: {0}")]
    Invalid(Flaw),
}

/// How a registry is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outage {
    /// The answer isn't complete in time.
    #[error("timeout")]
    Timeout,
    /// No connection, no TLS, no HTTP, or an answer that ends early.
    #[error("connection")]
    Connection,
    /// A status from 500 on.
    #[error("status {0}")]
    Status(u16),
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There are more bytes than this.
    #[error("it has more than {0} bytes")]
    TooLarge(u64),
    /// The bytes, or what the registry says of them, don't have the digest.
    #[error("its digest is another one")]
    Digest,
    /// The bytes are more or fewer than their descriptor says.
    #[error("its size is another one")]
    Size,
    /// It isn't JSON of the kind that was asked for.
    #[error("it isn't the JSON that was asked for")]
    Json,
    /// It is no manifest by its media type, or its two media types differ.
    #[error("its media type is another one")]
    MediaType,
    /// A status without a meaning here.
    #[error("status {0}")]
    Status(u16),
    /// A redirect that leads nowhere, to plain HTTP, or to another redirect once too often.
    #[error("it redirects in a way that isn't followed")]
    Redirect,
    /// It leads to an address that isn't public, from a registry that isn't there itself.
    #[error("it leads to an address that isn't public")]
    Address,
    /// `WWW-Authenticate` asks for a login in a way that isn't known, or at a realm that isn't HTTPS.
    #[error("it asks for a login in a way that isn't known")]
    Challenge,
    /// The realm gives no token that can be sent.
    #[error("its token can't be used")]
    Token,
    /// The next page of a list is elsewhere.
    #[error("its list goes on elsewhere")]
    Page,
}
