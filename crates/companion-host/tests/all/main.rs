//! Tests of the companion's I/O on loopback, in one binary, but for the signals that end the process.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod evidence;
mod github;
mod http;
mod lease;
mod on_demand;
mod support;
