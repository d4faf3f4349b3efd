//! What several tests need.

pub(crate) mod lease_server;
