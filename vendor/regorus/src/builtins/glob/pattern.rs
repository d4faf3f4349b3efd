//! Patterns of `glob.match`, as OPA's library reads them: `*`, `**`, `?`, `[abc]`, `[!a-z]`, `{a,b}` and `\`.
//!
//! A pattern becomes a list of steps, of which all that may be next are walked together: what a text costs is its length times
//! that of the pattern, whatever both are.

use alloc::vec;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::mem;
use core::str::Chars;

/// A pattern that was read.
#[derive(Debug)]
pub(super) struct Pattern {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// This character.
    Literal(char),
    /// `?`: one character that is no delimiter.
    One,
    /// `*`, and `**`, which goes on over delimiters: as many characters as there are.
    Many { over_delimiters: bool },
    /// `[…]`: one character, a delimiter or not.
    Class { not: bool, characters: Characters },
    /// `{…}`: where each of its alternatives begins.
    Fork(Vec<usize>),
    /// The end of an alternative: what stands behind the braces.
    Jump(usize),
}

#[derive(Debug)]
enum Characters {
    Range(char, char),
    Listed(Vec<char>),
}

/// Braces that are open.
struct Group {
    fork: usize,
    starts: Vec<usize>,
    jumps: Vec<usize>,
}

/// Whether a character means something else than itself.
pub(super) const fn is_special(c: char) -> bool {
    matches!(c, '*' | '?' | '\\' | '[' | ']' | '{' | '}')
}

impl Pattern {
    /// Reads a pattern; none when it is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut open: Vec<Group> = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '*' => {
                    let over_delimiters = rest.next_if_eq(&'*').is_some();
                    steps.push(Step::Many { over_delimiters });
                }
                '?' => steps.push(Step::One),
                '[' => steps.push(read_class(&mut rest)?),
                '\\' => steps.push(Step::Literal(rest.next()?)),
                '{' => {
                    let fork = steps.len();
                    steps.push(Step::Fork(Vec::new()));
                    open.push(Group {
                        fork,
                        starts: vec![fork + 1],
                        jumps: Vec::new(),
                    });
                }
                ',' | '}' => {
                    let Some(group) = open.last_mut() else {
                        steps.push(Step::Literal(c));
                        continue;
                    };
                    if c == ',' {
                        group.jumps.push(steps.len());
                        // Where to is known at the closing brace.
                        steps.push(Step::Jump(0));
                        group.starts.push(steps.len());
                    } else if let Some(group) = open.pop() {
                        let end = steps.len();
                        for jump in group.jumps {
                            *steps.get_mut(jump)? = Step::Jump(end);
                        }
                        *steps.get_mut(group.fork)? = Step::Fork(group.starts);
                    }
                }
                c => steps.push(Step::Literal(c)),
            }
        }
        open.is_empty().then_some(Self { steps })
    }

    /// Whether all of a text matches.
    pub(super) fn matches(&self, text: &str, delimiters: &[char]) -> bool {
        let mut now = Walk::new(self.steps.len());
        let mut next = Walk::new(self.steps.len());
        now.add(self, 0);
        for c in text.chars() {
            let is_delimiter = delimiters.contains(&c);
            for &at in &now.steps {
                match self.steps.get(at) {
                    Some(Step::Literal(literal)) if *literal == c => next.add(self, at + 1),
                    Some(Step::One) if !is_delimiter => next.add(self, at + 1),
                    Some(Step::Many { over_delimiters }) if *over_delimiters || !is_delimiter => {
                        next.add(self, at);
                    }
                    Some(Step::Class { not, characters }) if characters.contain(c) != *not => {
                        next.add(self, at + 1);
                    }
                    _ => {}
                }
            }
            if next.steps.is_empty() {
                return false;
            }
            now.clear();
            mem::swap(&mut now, &mut next);
        }
        now.has(self.steps.len())
    }
}

impl Characters {
    fn contain(&self, c: char) -> bool {
        match self {
            Self::Range(low, high) => (*low..=*high).contains(&c),
            Self::Listed(listed) => listed.contains(&c),
        }
    }
}

/// What stands between brackets, of which the first was read.
fn read_class(rest: &mut Peekable<Chars<'_>>) -> Option<Step> {
    let not = rest.next_if_eq(&'!').is_some();
    let first = rest.next()?;
    if rest.next_if_eq(&'-').is_some() {
        let last = rest.next()?;
        rest.next_if_eq(&']')?;
        let characters = Characters::Range(first, last);
        return (first <= last).then_some(Step::Class { not, characters });
    }
    let mut listed = Vec::new();
    let mut c = first;
    while c != ']' {
        listed.push(if c == '\\' { rest.next()? } else { c });
        c = rest.next()?;
    }
    (!listed.is_empty()).then_some(Step::Class {
        not,
        characters: Characters::Listed(listed),
    })
}

/// The steps that may be next, each once.
struct Walk {
    steps: Vec<usize>,
    is_there: Vec<bool>,
    /// Those that are yet to be added.
    waiting: Vec<usize>,
}

impl Walk {
    fn new(steps: usize) -> Self {
        Self {
            steps: Vec::new(),
            is_there: vec![false; steps + 1],
            waiting: Vec::new(),
        }
    }

    fn has(&self, step: usize) -> bool {
        self.is_there.get(step).copied().unwrap_or_default()
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.is_there.fill(false);
    }

    /// A step, and what may come in its place without a character.
    fn add(&mut self, pattern: &Pattern, step: usize) {
        self.waiting.push(step);
        while let Some(step) = self.waiting.pop() {
            match self.is_there.get_mut(step) {
                Some(is_there) if !*is_there => *is_there = true,
                _ => continue,
            }
            self.steps.push(step);
            match pattern.steps.get(step) {
                Some(Step::Many { .. }) => self.waiting.push(step + 1),
                Some(Step::Fork(starts)) => self.waiting.extend(starts),
                Some(Step::Jump(to)) => self.waiting.push(*to),
                _ => {}
            }
        }
    }
}
