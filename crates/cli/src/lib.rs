//! The command line, as a library: `main.rs` runs it on a machine, and `crates/playground` in a browser.
//!
//! ```text
//! command ── one file for each command
//!    │
//! runtime ── the policy's module, a clean instance for each request (in a browser the engine, which it is made of)
//!    │
//! answers ── what its host calls are answered: from files, a recording, or a live registry and cluster
//! ```
//! `runtime` and `answers` are at the level of the wire: JSON bytes in, JSON bytes or an error text out. `disk` finds and reads files in a
//! browser too; `host_options` are the flags that say who answers.

pub mod answers;
pub mod command;
pub mod disk;
pub mod host_options;
pub mod runtime;
