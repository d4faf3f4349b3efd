//! What policies may refer to: the libraries, and the other policies of any kind. A module is parsed when another refers to its
//! package.

use crate::evaluation::ModuleText;
use crate::evaluation::module::Facts;
use image_admission_settings::{RegoLibrary, RegoPolicy};
use std::cell::OnceCell;

/// Modules that may be referred to.
#[derive(Debug)]
pub struct Pool<'s> {
    modules: Vec<Entry<'s>>,
}

#[derive(Debug)]
struct Entry<'s> {
    text: ModuleText<'s>,
    of: Of,
    /// The package that the text begins with. That of a policy is read only when a module refers to any.
    package: OnceCell<Option<Vec<&'s str>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Library,
    Policy,
}

impl<'s> Pool<'s> {
    /// All libraries, and all policies.
    pub fn new(libraries: &'s [RegoLibrary], policies: &[&'s RegoPolicy]) -> Self {
        let library =
            |l: &'s RegoLibrary| (ModuleText { name: &l.name, rego: &l.rego, version: l.version }, Of::Library);
        let policy = |p: &&'s RegoPolicy| (ModuleText { name: &p.name, rego: &p.rego, version: p.version }, Of::Policy);
        let modules = libraries
            .iter()
            .map(library)
            .chain(policies.iter().map(policy))
            .map(|(text, of)| Entry { text, of, package: OnceCell::new() })
            .collect();
        Self { modules }
    }
}

/// The first module of the pool that the loaded ones refer to, and that isn't loaded.
pub fn unmet<'s>(pool: &Pool<'s>, loaded: &[Facts], texts: &[ModuleText<'s>]) -> Option<ModuleText<'s>> {
    let own = &loaded.first()?.package;
    let is_loaded = |text: &ModuleText<'s>| texts.iter().any(|other| std::ptr::eq(other.rego, text.rego));
    let refers = loaded.iter().any(|facts| !facts.data.is_empty());
    pool.modules.iter().filter(|entry| refers || entry.of == Of::Library).find_map(
        |Entry { text, of, package: known }| {
            let package = known.get_or_init(|| package(text.rego)).as_ref()?;
            // A package of several libraries is one; a policy stands for itself, unless another asks for its package.
            let is_own = own.iter().map(String::as_str).eq(package.iter().copied());
            let is_needed = if is_own { *of == Of::Library } else { loaded.iter().any(|facts| facts.needs(package)) };
            (is_needed && !is_loaded(text)).then_some(*text)
        },
    )
}

/// The package that a module's text begins with, without parsing it: comments and empty lines come before it.
pub fn package(rego: &str) -> Option<Vec<&str>> {
    let mut lines = rego.trim_start_matches('\u{feff}').lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let name = line
        .strip_prefix("package")
        .filter(|rest| rest.starts_with(char::is_whitespace))?
        .trim_start()
        .split(|c: char| c.is_whitespace() || c == '#')
        .next()?;
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (part, after) = if let Some(bracket) = rest.strip_prefix("[\"") {
            bracket.split_once("\"]")?
        } else {
            let rest = rest.strip_prefix('.').unwrap_or(rest);
            rest.split_at_checked(rest.find(['.', '[']).unwrap_or(rest.len()))?
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part.trim());
        rest = after;
    }
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_known_by_the_first_line_that_says_something() {
        for (text, parts) in [
            ("package a", vec!["a"]),
            ("# METADATA\n# title: x\n\npackage lib.kubernetes # helpers\nimport rego.v1", vec!["lib", "kubernetes"]),
            ("\u{feff}package a.b.c\r\n", vec!["a", "b", "c"]),
            ("package a.b deny[x] { x := 1 }", vec!["a", "b"]),
            ("package a[\"b.c\"].d", vec!["a", "b.c", "d"]),
        ] {
            assert_eq!(package(text), Some(parts), "{text}");
        }
        for text in ["", "deny[x] { x }", "package", "package a..b", "package [\"a"] {
            assert_eq!(package(text), None, "{text}");
        }
    }
}
