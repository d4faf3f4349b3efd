//! Declares the module's maximum of memory to the linker: a request that would need more ends in a rejection, not in
//! the memory of the server.

/// 256 MiB, some fifty times what `make bench` measures for reports of 5,000 findings. Rules are stopped at 96 MiB: what
/// one of their builtins may take beyond, 49 MiB for the worst, and a list that doubles its size fit above that.
const MOST_MEMORY: usize = 256 * 1024 * 1024;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--max-memory={MOST_MEMORY}");
    }
}
