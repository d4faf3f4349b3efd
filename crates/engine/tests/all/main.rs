//! Tests of the engine from outside, in one binary.

mod cases;
mod clock;
mod generated_rules;
mod purity;
mod rego_pitfalls;
mod two_phases;
mod verification;
mod verification_time;
