//! What is checked when the policy is deployed: rules that can't be evaluated, or that would end the module, are errors of the
//! settings. The modules are those that a request would load.
//!
//! A denial that a missing field silences is no error, nor is a rule that looks at what nobody shows it: the log and
//! `image-admission lint` tell of them.
//!
//! ```text
//! compile ──┬── nesting: text that the parser must not see
//!           ├── refused: functions of OPA that aren't there
//!           ├── variables: names without a value
//!           ├── recursion: rules in circles, and chains of rules ── needs ── scope (what names mean), stack
//!           ├── growth: values that explode
//!           ├── forms: rules that can't give what is asked of them
//!           ├── silence: denials that a missing field silences
//!           └── unseen: rules that look at what nobody shows them
//! ```

mod compile;
mod forms;
mod growth;
mod needs;
mod nesting;
mod recursion;
mod refused;
mod scope;
mod silence;
mod stack;
mod unseen;
mod variables;

pub(crate) use compile::load;
pub use compile::{check, silent_denials};
pub use unseen::unseen;
