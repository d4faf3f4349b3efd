//! The command line, as a library: `main.rs` runs it on a machine, and `crates/playground` in a browser.
//!
//! ```text
//! command ── one file for each command
//!    │
//! host_options ── the flags that say who answers the module's calls
//! ```
//!
//! Nothing here decides: `module-host` runs the module, and `manifests` reads what people write.

pub mod command;
pub mod host_options;
