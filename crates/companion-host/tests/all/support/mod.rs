//! What several tests need.

pub(crate) mod api_server;
pub(crate) mod evidence_server;
pub(crate) mod github_server;
pub(crate) mod lease_server;
