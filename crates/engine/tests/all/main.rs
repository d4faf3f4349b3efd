//! Tests of the engine from outside, in one binary.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that can't go on must fail")]

mod attested;
mod cases;
mod clock;
mod generated_rules;
mod known_scan;
mod purity;
mod recorded_expressions;
mod refused_builtins;
mod rego_pitfalls;
mod sdk;
mod secrets_in_messages;
mod two_phases;
mod unreadable_objects;
mod verification;
mod verification_time;
