//! Foreign input, read within bounds: strings, JSON and times of registries, scanners, Pod authors and settings.
//!
//! ```text
//! strings   message (as people read them) · literal (as Go quotes them) · glob (patterns) · json (strings in place)
//! JSON      spelling (no key that parsers disagree about) · pointer · unreadable (why not, without a word of it)
//! times     time
//! bounds    memory (how much may be read) · clock (how long may be computed)
//! remedy    what each of the policy's defences is against, so that a test can take one away
//! ```
//!
//! It never does I/O, and reads nothing of images, of Kubernetes or of this policy's settings. Only `remedy` names things of the
//! crates above: it is one list of all remedies, so that each has a test.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod clock;
pub mod glob;
pub mod json;
pub mod literal;
pub mod memory;
pub mod message;
pub mod pointer;
pub mod remedy;
pub mod spelling;
pub mod time;
pub mod unreadable;
