//! The rules that the settings have, loaded as a request would load them.

mod asked;
pub mod generated;
mod image_question;
mod library;
mod phase;

pub use asked::{Asked, DENIES, WARNS, asked, suffix};
pub use image_question::ImageQuestion;
pub use library::{Pool, package, unmet};
pub use phase::{GENERATED, Modules, Phase, load_modules, mentions, with_package};
