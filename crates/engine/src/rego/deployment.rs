//! What is checked when the policy is deployed: rules that can't be evaluated, or that would end the module, are errors of the
//! settings. The modules are those that a request would load.
//!
//! ```text
//! compile ──┬── variables: names without a value
//!           ├── recursion: rules in circles, and chains of rules
//!           └── growth: values that explode
//! ```

mod compile;
mod growth;
mod recursion;
mod variables;

pub(crate) use compile::check;
