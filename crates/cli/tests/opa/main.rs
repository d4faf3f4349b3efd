//! OPA as the judge of what rules come to: its own conformance cases, and generated modules that it answers too. OPA's texts
//! are not here: `make test-opa` brings them with its Go module.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod alike;
mod cases;
mod differential;
mod found;
mod generator;
mod judge;
