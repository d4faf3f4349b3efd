//! regorus with bounds: modules are read and evaluated, and no rule can take the server down.
//!
//! ```text
//! module (its syntax, read) ── evaluator ── builtins (those that regorus lacks) ── image_has_prefix, image_reference,
//!                                │ │   │                                          addresses, digests, deprecated, template_string
//!                                │ │   │
//!                            clock │ first_exceeded_bound
//!                                bounds (which builtin is bounded, and how)
//!                                  ├── checks ── sizes, weight: what is measured before regorus' builtin is called
//!                                  ├── patterns: what searches
//!                                  └── reimplemented ── document, sprintf: what is answered here
//! ```
//!
//! It knows no requests, and of the settings only the versions of modules and the comparison of names.

mod addresses;
mod bounds;
pub mod builtins;
mod clock;
pub mod deprecated;
mod digests;
pub mod document;
mod evaluator;
mod first_exceeded_bound;
pub mod image_has_prefix;
mod image_reference;
pub mod module;
mod sprintf;
pub mod template_string;
mod weight;

use image_admission_settings::ImageMatching;
use image_admission_untrusted::time::Timestamp;
use std::collections::BTreeSet;

pub use clock::use_clock_if_none;
pub use evaluator::{Budget, EvaluationError, Evaluator, ModuleText};
pub use weight::is_within;

/// Makes an engine of `image-admission`'s command line one like the policy's. It gets all builtins that are added or kept within
/// bounds here. As in OPA, a builtin without an answer is undefined.
///
/// # Errors
/// The engine has an extension of such a name already.
pub fn make_alike(engine: &mut regorus::Engine, now: Timestamp) -> anyhow::Result<()> {
    clock::tell_regorus();
    engine.set_strict_builtin_errors(false);
    let called: BTreeSet<&str> = builtins::names().collect();
    let exceeded = first_exceeded_bound::FirstExceededBound::default();
    builtins::install(engine, &called, now, ImageMatching::Canonical, &exceeded)?;
    bounds::install(engine, &called, &exceeded)
}
