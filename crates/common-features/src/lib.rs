//! Nothing but dependencies, and their features.
//!
//! Cargo compiles a crate anew for each set of features. Without this crate, the command line that `make demo` builds (without
//! its clients) and everything that `make test` builds ask for other features of the same crates, and so the runtime's compiler
//! and all that stands on it would be compiled twice.
