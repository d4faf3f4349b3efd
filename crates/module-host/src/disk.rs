//! Files and folders. They are the system's; in a browser they are those that the page has.

#[cfg(target_family = "wasm")]
mod memory;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_family = "wasm")]
pub use memory::{changed, mount};

/// The bytes of a file. Fails when there is none, or when it can't be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    #[cfg(target_family = "wasm")]
    return memory::read(path);
    #[cfg(not(target_family = "wasm"))]
    std::fs::read(path)
}

/// The text of a file. Fails as [`read`] does, and when it isn't UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    #[cfg(target_family = "wasm")]
    return String::from_utf8(memory::read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
    #[cfg(not(target_family = "wasm"))]
    std::fs::read_to_string(path)
}

/// Writes a file anew. Fails when it can't be written: a browser's page keeps its own files.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    #[cfg(target_family = "wasm")]
    return memory::write(path, bytes.as_ref());
    #[cfg(not(target_family = "wasm"))]
    std::fs::write(path, bytes)
}

/// The names of what is in a folder, in no order. Fails when there is none.
pub fn entries(folder: &Path) -> io::Result<Vec<OsString>> {
    #[cfg(target_family = "wasm")]
    return memory::entries(folder);
    #[cfg(not(target_family = "wasm"))]
    std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Whether it is a folder. Fails when there is nothing.
pub fn is_folder(path: &Path) -> io::Result<bool> {
    #[cfg(target_family = "wasm")]
    return memory::is_folder(path);
    #[cfg(not(target_family = "wasm"))]
    std::fs::metadata(path).map(|found| found.is_dir())
}

/// Whether it is something that reading may never end of: a pipe or a device, say. A browser has none.
pub fn is_special(path: &Path) -> bool {
    !cfg!(target_family = "wasm") && std::fs::metadata(path).is_ok_and(|found| !found.is_file())
}

/// The path without links and detours. Fails when there is nothing.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_family = "wasm")]
    return memory::real(path);
    #[cfg(not(target_family = "wasm"))]
    std::fs::canonicalize(path)
}
