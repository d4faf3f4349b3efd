//! What is checked when the policy is deployed: rules that can't be evaluated, or that would end the module, are errors of the
//! settings. The modules are those that a request would load.
//!
//! ```text
//! compile ──┬── nesting: text that the parser must not see
//!           ├── variables: names without a value
//!           ├── recursion: rules in circles, and chains of rules ── needs ── scope (what names mean), stack
//!           └── growth: values that explode
//! ```

mod compile;
mod growth;
mod needs;
mod nesting;
mod recursion;
mod scope;
mod stack;
mod variables;

pub(crate) use compile::{check, load};
