//! CEL as in Kubernetes: the functions of its libraries, and expressions with bounds. It is made for a module that starts anew for
//! each request.
//!
//! ```text
//! expression ── functions (one file for each library)
//!     │
//! operators (as people write them)
//! ```
//!
//! The evaluator is the crate `cel`. The caller adds the variables, and its own functions that call the host. This crate never
//! calls anybody: it knows no host, no image and no signature.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod expression;
pub mod functions;
pub mod operators;
