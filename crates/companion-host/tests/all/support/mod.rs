//! What several tests need.

pub(crate) mod api_server;
#[expect(dead_code, reason = "the tests of judging use the rest of it")]
pub(crate) mod evidence_server;
pub(crate) mod github_server;
pub(crate) mod lease_server;
