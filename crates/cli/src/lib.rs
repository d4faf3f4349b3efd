//! Runs a Kubewarden policy's module as the policy server does: a clean instance for each request, a deadline, and
//! answers to its host calls from a registry and a cluster, from files, or from a recording.
//!
//! Everything here is at the level of the wire: JSON bytes in, JSON bytes or an error text out. The policy's own
//! types play no part, so any waPC policy runs.

pub mod answers;
pub mod command;
pub mod disk;
pub mod host_options;
pub mod runtime;
