//! Declares the module's maximum of memory to the linker: a request that would need more ends in a rejection, not in
//! the memory of the server.

/// 128 MiB, half of what hosts allow: what decisions are promised to take at most (`src/room.rs`), and what is written once they are made.
const MOST_MEMORY: usize = 128 * 1024 * 1024;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MOST_MEMORY}");
    }
}
