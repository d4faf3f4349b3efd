//! Files that nobody has on a disk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

thread_local! {
    static FILES: RefCell<BTreeMap<PathBuf, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    /// What stood in the files that were written, before they were.
    static BEFORE: RefCell<BTreeMap<PathBuf, Option<Vec<u8>>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Has these files, by their paths, instead of those before.
pub fn mount(files: BTreeMap<PathBuf, Vec<u8>>) {
    let files = files.into_iter().map(|(path, bytes)| (plain(&path), bytes)).collect();
    FILES.with_borrow_mut(|all| *all = files);
    BEFORE.with_borrow_mut(BTreeMap::clear);
}

/// The files that aren't as they were mounted, by their paths from the root, without detours.
pub fn changed() -> BTreeMap<PathBuf, Vec<u8>> {
    BEFORE.with_borrow(|before| {
        FILES.with_borrow(|files| {
            let now = before.iter().filter_map(|(path, before)| Some((path, before, files.get(path)?)));
            let changed = now.filter(|(_, before, now)| before.as_ref() != Some(now));
            changed.map(|(path, _, now)| (path.clone(), now.clone())).collect()
        })
    })
}

pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    FILES.with_borrow(|files| files.get(&plain(path)).cloned()).ok_or_else(missing)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = plain(path);
    let before = FILES.with_borrow_mut(|files| files.insert(path.clone(), bytes.to_vec()));
    BEFORE.with_borrow_mut(|all| {
        all.entry(path).or_insert(before);
    });
    Ok(())
}

pub(super) fn entries(folder: &Path) -> io::Result<Vec<OsString>> {
    let folder = plain(folder);
    let mut names: Vec<OsString> = FILES.with_borrow(|files| {
        let below = files.keys().filter_map(|path| path.strip_prefix(&folder).ok());
        below.filter_map(|path| path.components().next()).map(|first| first.as_os_str().to_owned()).collect()
    });
    names.dedup();
    if names.is_empty() { Err(missing()) } else { Ok(names) }
}

pub(super) fn is_folder(path: &Path) -> io::Result<bool> {
    let path = plain(path);
    FILES.with_borrow(|files| {
        if files.contains_key(&path) {
            return Ok(false);
        }
        if path.as_os_str().is_empty() || files.keys().any(|file| file.starts_with(&path)) {
            return Ok(true);
        }
        Err(missing())
    })
}

pub(super) fn real(path: &Path) -> io::Result<PathBuf> {
    is_folder(path).map(|_| plain(path))
}

/// A path from the root, without detours: there is no working directory.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    plain
}

fn missing() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "No such file or directory")
}
