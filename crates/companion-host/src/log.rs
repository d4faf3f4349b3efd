//! Log lines.

pub(crate) fn warning(message: &str) {
    eprintln!("{message}");
}
