//! Declares the module's maximum of memory to the linker: a request that would need more ends in a rejection, not in
//! the memory of the server.

/// 128 MiB, half of what hosts allow. Decisions take 112 MiB at most (`src/room.rs`); the rest is for writing the answer.
const MOST_MEMORY: usize = 128 * 1024 * 1024;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MOST_MEMORY}");
    }
}
