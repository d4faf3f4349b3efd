//! What is checked when the policy is deployed: rules that can't be evaluated, or that would end the module, are errors of the
//! settings. The modules are those that a request would load.
//!
//! Two things are no errors: a denial that a missing field silences, and a rule that reads what it never sees. The log and
//! `image-admission lint` report them.
//!
//! ```text
//! compile ──┬── nesting: text that the parser must not see
//!           ├── refused: functions of OPA that aren't there
//!           ├── variables: names without a value
//!           ├── recursion: rules in circles, and chains of rules ── needs ── scope (what names mean), stack
//!           ├── growth: values that explode
//!           ├── forms: rules that can't give what is asked of them
//!           ├── silence: denials that a missing field silences
//!           └── unseen: rules that read what they never see
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
