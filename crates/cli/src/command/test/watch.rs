//! Waiting for a change of files.
//!
//! Files are looked at again and again, since nothing tells of changes everywhere: not in every file system that a
//! container mounts, and not on every system. Looking is cheap, and takes a tenth of the time at most.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::command::files::entries;

/// How long to wait before looking again.
const EVERY: Duration = Duration::from_millis(500);
/// How long files must stay as they are: who saves one may remove it first, or write it piece by piece.
const QUIET: Duration = Duration::from_millis(100);
/// How many times longer than looking takes to wait.
const REST: u32 = 10;

/// What tells versions of a file apart; none if it isn't there.
pub(super) type Stamp = Option<(SystemTime, u64)>;

/// Files and folders, as they were when they were first looked at.
#[derive(Debug, Default)]
pub(super) struct Watched {
    roots: BTreeSet<PathBuf>,
    seen: BTreeMap<PathBuf, Stamp>,
}

impl Watched {
    /// Looks at further files, and folders with everything below them that isn't hidden.
    pub(super) fn add(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.roots.insert(path.clone()) {
                let mut found = BTreeMap::new();
                look(&path, &mut found);
                for (path, stamp) in found {
                    self.seen.entry(path).or_insert(stamp);
                }
            }
        }
    }

    /// Waits until something has changed, and nothing changes any more. Returns the first path that did.
    pub(super) fn wait(&self) -> PathBuf {
        loop {
            let start = Instant::now();
            let now = self.now();
            if let Some(changed) = difference(&self.seen, &now) {
                self.settle(now);
                return changed;
            }
            thread::sleep(EVERY.max(start.elapsed() * REST));
        }
    }

    fn settle(&self, mut before: BTreeMap<PathBuf, Stamp>) {
        loop {
            thread::sleep(QUIET);
            let now = self.now();
            if now == before {
                return;
            }
            before = now;
        }
    }

    fn now(&self) -> BTreeMap<PathBuf, Stamp> {
        let mut found = BTreeMap::new();
        self.roots.iter().for_each(|root| look(root, &mut found));
        found
    }
}

/// What a file is like now.
pub(super) fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Takes in a file, or all files below a folder. Links may lead back: a folder that is there already is passed over.
fn look(path: &Path, found: &mut BTreeMap<PathBuf, Stamp>) {
    let mut folders = BTreeSet::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            if fs::canonicalize(&path).is_ok_and(|real| folders.insert(real)) {
                waiting.extend(entries(&path).unwrap_or_default());
            }
        } else {
            found.insert(path.clone(), stamp(&path));
        }
    }
}

/// The first path that is new, gone or another.
fn difference(before: &BTreeMap<PathBuf, Stamp>, now: &BTreeMap<PathBuf, Stamp>) -> Option<PathBuf> {
    let changed = now.iter().find(|(path, stamp)| before.get(*path) != Some(stamp));
    let gone = || before.iter().find(|(path, _)| !now.contains_key(*path));
    changed.or_else(gone).map(|(path, _)| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn what_is_new_gone_or_another_is_a_change() {
        let folder = TempDir::new().unwrap();
        let (below, file) = (folder.path().join("below"), folder.path().join("below/file"));
        fs::create_dir(&below).unwrap();
        let missing = folder.path().join("missing");
        let watch = || {
            let mut watched = Watched::default();
            watched.add([folder.path().to_owned(), missing.clone()]);
            watched
        };
        let empty = watch();
        assert_eq!(difference(&empty.seen, &empty.now()), None);
        fs::write(&file, "a").unwrap();
        assert_eq!(difference(&empty.seen, &empty.now()), Some(file.clone()));
        let written = watch();
        fs::write(&file, "ab").unwrap();
        assert_eq!(difference(&written.seen, &written.now()), Some(file.clone()));
        let again = watch();
        fs::remove_file(&file).unwrap();
        assert_eq!(difference(&again.seen, &again.now()), Some(file));
        fs::write(&missing, "").unwrap();
        assert_eq!(difference(&empty.seen, &empty.now()), Some(missing.clone()));
        // What was there when it was first looked at counts.
        let mut early = watch();
        fs::write(&missing, "more").unwrap();
        early.add([missing.clone()]);
        assert_eq!(difference(&early.seen, &early.now()), Some(missing));
    }
}
