//! What the companion decides: who leads, and what it says in metrics, log lines and Events.
//!
//! It is pure: what was read, the time and the identity are arguments. `companion-host` does the I/O.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod event;
pub mod lease;
pub mod log;
pub mod metrics;
pub mod scan_failure;
