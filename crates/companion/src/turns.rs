//! Whose turn it is: of several namespaces, that which was served the longest ago.

use std::collections::{BTreeMap, BTreeSet};

/// The number of each namespace's last turn.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    last: u64,
    of: BTreeMap<String, u64>,
}

impl Turns {
    /// The number of a namespace's last turn: the lowest is the next, and none before all.
    pub(crate) fn of(&self, namespace: &str) -> Option<u64> {
        self.of.get(namespace).copied()
    }

    /// It is a namespace's turn. Returns its number.
    pub(crate) fn take(&mut self, namespace: &str) -> u64 {
        self.last += 1;
        self.of.insert(namespace.to_owned(), self.last);
        self.last
    }

    /// How many namespaces have had one.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// Forgets namespaces that aren't among these.
    pub(crate) fn keep(&mut self, used: &BTreeSet<&str>) {
        self.of.retain(|namespace, _| used.contains(namespace.as_str()));
    }
}
