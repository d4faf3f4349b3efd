//! CEL as Kubernetes has it, for a module that starts anew at every request: the functions of its libraries, and expressions that
//! end within bounds.
//!
//! ```text
//! expression ── functions (one file for each library)
//!     │
//! operators (as people write them)
//! ```
//!
//! The evaluator is the crate `cel`. Whoever evaluates an expression gives it the variables, and functions of its own that ask somebody.
//! This crate never asks: it has no host, no image and no signature, and no function that tells of them.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod expression;
pub mod functions;
pub mod operators;
