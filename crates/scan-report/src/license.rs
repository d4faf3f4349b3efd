//! Licences as SPDX writes them, judged by a list of denied or allowed ones.
//!
//! `A OR B` is as good as the better of both, `A AND B` as bad as the worse. An id that SPDX doesn't list, like `GPLv3`, is an
//! unknown licence, unless the list names it.

use image_admission_untrusted::glob;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use spdx::identifiers::{EXCEPTIONS, LICENSES};
use std::collections::BTreeMap;
use std::iter::Peekable;

/// The longest and the deepest expression that is read: publishers of packages write them.
const MAX_LENGTH: usize = 4096;
const MAX_DEPTH: usize = 32;

/// The verdict on a licence, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It isn't denied, or is allowed.
    Fine,
    /// The licence is unknown.
    Unknown,
    /// It is denied, or isn't allowed.
    Denied,
}

/// A list of denied licences, or of the only allowed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicenseList {
    is_allowed: bool,
    patterns: Vec<LicensePattern>,
}

/// A licence of a list: an id, in which `*` stands for any string and `?` for one letter, or a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicensePattern {
    /// In lower case, for comparison.
    id: String,
    /// Its exception, `Classpath-exception-2.0`; none: any exception, or none at all.
    exception: Option<String>,
    written: String,
}

impl LicensePattern {
    /// Parses a licence of a list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("a licence like `GPL-3.0-only` is missing".to_owned());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.iter().any(|word| is_word(word, "AND") || is_word(word, "OR"))
            && read(text, &mut |_| Standing::Fine).is_some()
        {
            return Err(format!("`{text}` is an expression; list its licences one by one"));
        }
        if text == "*" {
            return Err("`*` is every licence".to_owned());
        }
        let (id, exception) = match words.as_slice() {
            [id, with, exception] if is_word(with, "WITH") => (*id, Some(exception.to_ascii_lowercase())),
            _ => (text, None),
        };
        let (id, has_plus) = id.strip_suffix('+').map_or((id, false), |id| (id, true));
        let id = if id.contains(['*', '?']) { id.to_ascii_lowercase() } else { compared(id, has_plus) };
        Ok(Self { id, exception, written: text.to_owned() })
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether it matches an id that SPDX lists, or a `LicenseRef-…`. Otherwise it is compared with the names of licences.
    pub fn is_of_spdx(&self) -> bool {
        self.id.starts_with("licenseref-") || listed().any(|id| self.is_id(&compared(id, false)))
    }

    fn is_id(&self, id: &str) -> bool {
        glob::matches(&self.id, id, |own, other| own == other)
    }

    /// Whether this pattern may allow an id. With `*` or `?` it allows only ids that SPDX lists, or `LicenseRef-…` if it begins with that.
    /// Any other id is free text, which may mean any licence.
    fn may_allow(&self, id: &str) -> bool {
        let is_own = |text: &str| text.to_ascii_lowercase().starts_with("licenseref-");
        !self.id.contains(['*', '?'])
            || is_known(id)
            || (is_own(&self.id) && is_own(id) && is_id(id) && !id.contains(':'))
            || !is_on(Remedy::OnlyListedIdsAreAllowed)
    }

    /// Whether it matches a licence, whose id is given as it is compared.
    fn matches(&self, term: &Term<'_>, id: &str) -> bool {
        let is_exception = || match (&self.exception, term.exception) {
            (None, _) => true,
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            (Some(_), None) => false,
        };
        self.is_id(id) && is_exception()
    }
}

impl LicenseList {
    /// A list of denied licences.
    pub fn denied(patterns: Vec<LicensePattern>) -> Self {
        Self { is_allowed: false, patterns }
    }

    /// A list of the only allowed licences.
    pub fn allowed(patterns: Vec<LicensePattern>) -> Self {
        Self { is_allowed: true, patterns }
    }

    /// Whether it is a list of allowed licences.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Its licences.
    #[must_use]
    pub fn patterns(&self) -> &[LicensePattern] {
        &self.patterns
    }

    /// The verdict on a licence, an expression or a name. `names` are those of licences that the document describes itself.
    pub fn standing(&self, text: &str, names: &BTreeMap<JsonString<'_>, JsonString<'_>>) -> Standing {
        let text = text.trim();
        if text.len() > MAX_LENGTH {
            return Standing::Unknown;
        }
        // A name may look like an expression.
        if let Some(standing) = self.named(text, false) {
            return standing;
        }
        let mut judge = |term: &Term<'_>| {
            // What is the same for all patterns isn't made for each: publishers choose how many terms there are.
            let id = compared(term.id, term.has_plus);
            let is_allowing = |pattern: &&LicensePattern| !self.is_allowed || pattern.may_allow(term.id);
            let mut patterns =
                self.patterns.iter().filter(|pattern| pattern.matches(term, &id)).filter(is_allowing).peekable();
            if patterns.peek().is_some() {
                // An unknown exception may be a restriction. It counts only if this list or SPDX has it.
                let is_told = term.exception.is_none_or(is_known_exception)
                    || patterns.any(|pattern| pattern.exception.is_some())
                    || !is_on(Remedy::UnknownExceptions);
                return if self.is_allowed && !is_told { Standing::Unknown } else { self.of_listed() };
            }
            let name = names.get(&JsonString::from(term.id)).map(JsonString::as_str);
            // Each of many packages may have many times the same licence.
            let name = name.filter(|name| name.len() <= MAX_LENGTH);
            if let Some(standing) = name.and_then(|name| self.named(name, true)) {
                return standing;
            }
            match is_known(term.id) {
                true if self.is_allowed => Standing::Denied,
                true => Standing::Fine,
                false if is_on(Remedy::UnknownLicenses) => Standing::Unknown,
                false => Standing::Fine,
            }
        };
        read(text, &mut judge).unwrap_or(if is_on(Remedy::UnknownLicenses) {
            Standing::Unknown
        } else {
            Standing::Fine
        })
    }

    /// The verdict on a name, if it is listed. `is_own`: the document describes the licence itself, so it isn't one of SPDX's.
    fn named(&self, name: &str, is_own: bool) -> Option<Standing> {
        let name = name.trim().to_ascii_lowercase();
        let (id, has_plus) = name.strip_suffix('+').map_or((name.as_str(), false), |id| (id, true));
        let id = compared(id, has_plus);
        if self.is_allowed && is_own && (is_known(&name) || is_known(&id)) && is_on(Remedy::OwnLicensesAreOwn) {
            return None;
        }
        let is_named = |pattern: &&LicensePattern| pattern.is_id(&name) || pattern.is_id(&id);
        let mut patterns = self.patterns.iter().filter(|pattern| pattern.exception.is_none()).filter(is_named);
        (patterns.any(|pattern| !self.is_allowed || pattern.may_allow(&name)) && is_single(&name))
            .then(|| self.of_listed())
    }

    fn of_listed(&self) -> Standing {
        if self.is_allowed { Standing::Fine } else { Standing::Denied }
    }
}

/// A licence of an expression.
struct Term<'a> {
    id: &'a str,
    has_plus: bool,
    exception: Option<&'a str>,
}

/// Whether a string isn't an expression of several licences, which a pattern with `*` would match as one.
fn is_single(text: &str) -> bool {
    !text.split_whitespace().any(|word| is_word(word.trim_matches(['(', ')']), "AND") || is_word(word, "OR"))
}

fn is_word(text: &str, word: &str) -> bool {
    text.eq_ignore_ascii_case(word)
}

/// The form of an id for comparison. GNU's licences were called `GPL-2.0` and `GPL-2.0+` before `-only` and `-or-later`.
fn compared(id: &str, has_plus: bool) -> String {
    let id = id.to_ascii_lowercase();
    let is_gnu = ["gpl-", "lgpl-", "agpl-", "gfdl-"].iter().any(|family| id.starts_with(family));
    if !is_gnu || id.ends_with("-only") || id.ends_with("-or-later") || !is_known(&id) {
        return id;
    }
    let id = id.split_once("-with-").map_or(id.as_str(), |(id, _)| id);
    [id, if has_plus { "-or-later" } else { "-only" }].concat()
}

/// Whether an id of the library is in SPDX's list. The library also has `NOASSERTION`, which is no licence, `GPL-2.0+` beside
/// `GPL-2.0`, and GNU's documentation licences without `-only` or `-or-later`.
fn is_of_list(id: &str) -> bool {
    id != "NOASSERTION" && !id.ends_with('+') && !id.ends_with("-invariants")
}

/// The ids that SPDX lists.
fn listed() -> impl Iterator<Item = &'static str> {
    LICENSES.iter().map(|license| license.name).filter(|id| is_of_list(id))
}

/// Whether SPDX lists an id, in any case. The library's ids are sorted, so those with the same first letter are together.
fn is_known(id: &str) -> bool {
    let initial = |text: &str| text.bytes().next();
    let begins_with = |first: u8| {
        let start = LICENSES.partition_point(|license| initial(license.name) < Some(first));
        LICENSES.iter().skip(start).take_while(move |license| initial(license.name) == Some(first))
    };
    let in_either_case =
        initial(id).into_iter().flat_map(|first| [first.to_ascii_uppercase(), first.to_ascii_lowercase()]);
    let mut alike = in_either_case.flat_map(begins_with).filter(|license| license.name.eq_ignore_ascii_case(id));
    alike.any(|license| is_of_list(license.name))
}

/// Whether SPDX lists an exception.
fn is_known_exception(exception: &str) -> bool {
    EXCEPTIONS.iter().any(|known| known.name.eq_ignore_ascii_case(exception))
}

/// Whether a string has only characters of ids.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b':'))
}

/// The verdict on an expression, where `judge` decides on each licence; none where it isn't an expression.
fn read<'t>(text: &'t str, judge: &mut impl FnMut(&Term<'t>) -> Standing) -> Option<Standing> {
    let mut tokens = Tokens { rest: text }.peekable();
    let standing = any_of(&mut tokens, judge, 0)?;
    tokens.next().is_none().then_some(standing)
}

/// The words and the parentheses of an expression.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let end = match rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')) {
            Some(0) => 1,
            Some(end) => end,
            None => rest.len(),
        };
        let (token, rest) = rest.split_at_checked(end)?;
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }
}

/// `A OR B`
fn any_of<'t>(
    tokens: &mut Peekable<Tokens<'t>>,
    judge: &mut impl FnMut(&Term<'t>) -> Standing,
    depth: usize,
) -> Option<Standing> {
    let mut best = all_of(tokens, judge, depth)?;
    while tokens.next_if(|token| is_word(token, "OR")).is_some() {
        best = best.min(all_of(tokens, judge, depth)?);
    }
    Some(best)
}

/// `A AND B`
fn all_of<'t>(
    tokens: &mut Peekable<Tokens<'t>>,
    judge: &mut impl FnMut(&Term<'t>) -> Standing,
    depth: usize,
) -> Option<Standing> {
    let mut worst = one(tokens, judge, depth)?;
    while tokens.next_if(|token| is_word(token, "AND")).is_some() {
        let next = one(tokens, judge, depth)?;
        worst = if is_on(Remedy::EveryLicenseCounts) { worst.max(next) } else { worst.min(next) };
    }
    Some(worst)
}

/// `(A OR B)`, `A+`, `A WITH exception`
fn one<'t>(
    tokens: &mut Peekable<Tokens<'t>>,
    judge: &mut impl FnMut(&Term<'t>) -> Standing,
    depth: usize,
) -> Option<Standing> {
    let token = tokens.next()?;
    if token == "(" {
        let inner = (depth < MAX_DEPTH).then(|| any_of(tokens, judge, depth + 1))??;
        return (tokens.next()? == ")").then_some(inner);
    }
    let (id, has_plus) = token.strip_suffix('+').map_or((token, false), |id| (id, true));
    let is_operator = ["AND", "OR", "WITH"].iter().any(|word| is_word(id, word));
    if !is_id(id) || is_operator {
        return None;
    }
    let exception = match tokens.next_if(|token| is_word(token, "WITH")) {
        Some(_) => Some(tokens.next().filter(|exception| is_id(exception))?),
        None => None,
    };
    Some(judge(&Term { id, has_plus, exception }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::in_time;

    fn list(is_allowed: bool, patterns: &[&str]) -> LicenseList {
        let patterns = patterns.iter().map(|pattern| LicensePattern::parse(pattern).unwrap()).collect();
        LicenseList { is_allowed, patterns }
    }

    #[track_caller]
    fn check(list: &LicenseList, cases: &[(&str, Standing)]) {
        for (text, standing) in cases {
            let names = BTreeMap::from([
                ("LicenseRef-named".into(), "Foo Public License".into()),
                ("LicenseRef-evil".into(), "MIT".into()),
                ("LicenseRef-old".into(), "GPL-2.0".into()),
            ]);
            assert_eq!(list.standing(text, &names), *standing, "{text}");
        }
    }

    #[test]
    fn ids_are_those_that_spdx_lists() {
        assert!(listed().count() > 700 && listed().all(|id| is_known(id) && is_known(&id.to_ascii_lowercase())));
        for id in ["MIT", "mit", "0BSD", "zlib-acknowledgement", "GPL-2.0", "gpl-2.0-ONLY", "ZPL-2.1"] {
            assert!(is_known(id), "{id}");
        }
        for id in ["", "NOASSERTION", "noassertion", "NONE", "GPLv3", "MIT OR", "Classpath-exception-2.0", "m\u{131}t"]
        {
            assert!(!is_known(id), "{id}");
        }
        for id in ["GFDL-1.1-invariants", "gfdl-1.3-no-invariants", "GPL-2.0+", "LGPL-3.0+"] {
            assert!(!is_known(id), "{id}");
        }
        assert!(is_known_exception("Classpath-exception-2.0") && is_known_exception("classpath-EXCEPTION-2.0"));
        assert!(!is_known_exception("") && !is_known_exception("MIT"));
    }

    #[test]
    fn what_is_denied() {
        use Standing::{Denied, Fine, Unknown};
        let denied =
            list(false, &["AGPL-3.0-only", "gpl-3.0-*", "GPL-2.0", "LGPL-2.1+", "Foo Public License", "CDDL-1.0"]);
        check(
            &denied,
            &[
                ("MIT", Fine),
                ("mit", Fine),
                ("AGPL-3.0-only", Denied),
                ("agpl-3.0-ONLY", Denied),
                ("AGPL-3.0", Denied),
                ("AGPL-3.0-or-later", Fine),
                ("GPL-3.0", Denied),
                ("GPL-3.0+", Denied),
                ("GPL-3.0-or-later", Denied),
                ("GPL-2.0-only", Denied),
                ("GPL-2.0-or-later", Fine),
                ("GPL-2.0+", Fine),
                ("GPL-2.0-with-classpath-exception", Denied),
                ("GPL-2.0-only WITH Classpath-exception-2.0", Denied),
                ("LGPL-2.1-or-later", Denied),
                ("CDDL-1.0+", Denied),
                ("MIT OR GPL-3.0-only", Fine),
                ("GPL-3.0-only OR MIT", Fine),
                ("MIT AND GPL-3.0-only", Denied),
                ("MIT AND(GPL-3.0-only)", Denied),
                ("MIT and (Apache-2.0 or GPL-3.0-only)", Fine),
                ("(MIT OR GPL-3.0-only) AND AGPL-3.0-only", Denied),
                ("MIT OR GPL-3.0-only AND AGPL-3.0-only", Fine),
                ("GPL-3.0-only AND MIT OR AGPL-3.0-only", Denied),
                ("", Unknown),
                ("NOASSERTION", Unknown),
                ("NONE", Unknown),
                ("GPLv3", Unknown),
                ("GPL-3", Unknown),
                ("BSD", Unknown),
                ("LicenseRef-foo", Unknown),
                ("LicenseRef-named", Denied),
                ("LicenseRef-old", Denied),
                ("DocumentRef-x:LicenseRef-y", Unknown),
                ("foo public license", Denied),
                ("MIT OR LicenseRef-foo", Fine),
                ("MIT AND LicenseRef-foo", Unknown),
                ("GPL-3.0-only AND LicenseRef-foo", Denied),
                ("GPL-3.0-only OR LicenseRef-foo", Unknown),
                ("Apache License, Version 2.0", Unknown),
                ("MIT AND", Unknown),
                ("MIT MIT", Unknown),
                ("(MIT", Unknown),
                ("MIT)", Unknown),
                ("()", Unknown),
                ("AND", Unknown),
                ("MIT WITH", Unknown),
                ("MIT WITH (MIT)", Unknown),
            ],
        );
    }

    #[test]
    fn what_is_allowed() {
        use Standing::{Denied, Fine, Unknown};
        let allowed =
            list(true, &["MIT", "Apache-*", "GPL-2.0-only WITH Classpath-exception-2.0", "LicenseRef-own", "BSD"]);
        check(
            &allowed,
            &[
                ("MIT", Fine),
                ("Apache-2.0", Fine),
                ("BSD", Fine),
                ("BSD-3-Clause", Denied),
                ("GPL-2.0-only", Denied),
                ("GPL-2.0-only WITH Classpath-exception-2.0", Fine),
                ("GPL-2.0 with classpath-exception-2.0", Fine),
                ("GPL-2.0-only WITH GCC-exception-2.0", Denied),
                ("MIT WITH anything", Unknown),
                ("MIT WITH Classpath-exception-2.0", Fine),
                ("Apache-2.0 WITH LLVM-exception", Fine),
                ("Apache-2.0 WITH Commons-Clause", Unknown),
                ("BSD-3-Clause WITH Commons-Clause", Denied),
                ("LicenseRef-evil", Unknown),
                ("Apache-2.0,AGPL-3.0-only", Unknown),
                ("Apache-2.0/GPL-3.0-only", Unknown),
                ("Apache-2.0;GPL-3.0", Unknown),
                ("Apache-2.0:AGPL-3.0-only", Unknown),
                ("Apache-2.0|GPL-3.0", Unknown),
                ("Apache-9.0", Unknown),
                ("LicenseRef-own", Fine),
                ("LicenseRef-other", Unknown),
                ("MIT AND Apache-2.0", Fine),
                ("Apache-2.0 AND GPL-2.0-only", Denied),
                ("Apache-2.0 OR GPL-2.0-only", Fine),
                ("MIT AND GPLv2", Unknown),
                ("Apache-2.0, and a beer for everybody", Unknown),
                ("NOASSERTION", Unknown),
                ("", Unknown),
            ],
        );
    }

    /// Whoever publishes a package chooses how long the names of its licences are, and how often it has them.
    #[test]
    fn a_long_name_is_not_compared_again_and_again() {
        let names = BTreeMap::from([("LicenseRef-long".into(), JsonString::from("a ".repeat(1 << 19)))]);
        let many = vec!["LicenseRef-long"; 200].join(" OR ");
        for list in [list(false, &["GPL-3.0-*"]), list(true, &["MIT"])] {
            let standings = in_time(|| (0..200).map(|_| list.standing(&many, &names)).max());
            assert_eq!(standings, Some(Standing::Unknown));
        }
    }

    #[test]
    fn several_may_be_allowed_at_once() {
        use Standing::{Denied, Fine, Unknown};
        check(
            &list(true, &["BSD-*", "LicenseRef-acme-*", "MIT WITH Acme-exception", "Zlib-?"]),
            &[
                ("BSD-3-Clause", Fine),
                ("bsd-2-clause", Fine),
                ("BSD-3-Clause/GPL-3.0-only", Unknown),
                ("BSD-like", Unknown),
                ("Zlib-x", Unknown),
                ("LicenseRef-acme-1", Fine),
                ("LicenseRef-acme-1 AND BSD-2-Clause", Fine),
                ("LicenseRef-acme-1,GPL-3.0-only", Unknown),
                ("LicenseRef-other", Unknown),
                ("MIT WITH Acme-exception", Fine),
                ("MIT", Denied),
            ],
        );
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_unknown() {
        let allowed = list(true, &["MIT"]);
        let nested = |depth: usize| format!("{}MIT{}", "(".repeat(depth), ")".repeat(depth));
        check(
            &allowed,
            &[(&nested(32), Standing::Fine), (&nested(33), Standing::Unknown), (&nested(2000), Standing::Unknown)],
        );
        check(
            &allowed,
            &[(&vec!["MIT"; 500].join(" OR "), Standing::Fine), (&vec!["MIT"; 1000].join(" OR "), Standing::Unknown)],
        );
    }

    #[test]
    fn what_can_stand_in_a_list() {
        for (text, why) in [
            ("", "a licence like `GPL-3.0-only` is missing"),
            ("*", "`*` is every licence"),
            ("MIT OR Apache-2.0", "`MIT OR Apache-2.0` is an expression; list its licences one by one"),
        ] {
            assert_eq!(LicensePattern::parse(text).unwrap_err(), why);
        }
        let is_of_spdx = |text: &str| LicensePattern::parse(text).unwrap().is_of_spdx();
        for text in
            ["MIT", "GPL-3.0-*", "gpl-2.0", "GPL-2.0+", "GPL-2.0-only WITH Classpath-exception-2.0", "LicenseRef-x"]
        {
            assert!(is_of_spdx(text), "{text}");
        }
        for text in ["GPLv3", "Apache 2.0", "Mitt", "GPL-9*"] {
            assert!(!is_of_spdx(text), "{text}");
        }
    }
}
