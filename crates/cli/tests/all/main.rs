//! Tests of the command line, in one binary: each of its own would link the runtime and the clients once more.
//!
//! `libraries` stands beside it, since it runs for long: `make test-libraries`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that can't go on must fail"
)]

mod support;

mod attach;
mod audit;
mod bad_input;
mod bench;
mod cases;
mod clockless;
mod cluster_files;
mod companion;
mod companion_bounds;
mod completions;
mod contained;
mod costs;
mod deploy;
mod digests;
mod doctor;
mod examples;
mod exempt;
mod explain;
mod field_mask;
mod gate;
mod generated_worlds;
mod guides;
mod help;
mod host_options;
mod image_file;
mod init;
mod install;
mod lint;
mod live;
mod log;
mod memory;
mod monitoring;
mod package;
mod picture;
mod readme;
mod recorded;
mod registry;
mod registry_answers;
mod rego_test;
mod reports;
mod restart;
mod run;
mod runtime;
mod scan;
mod selector;
mod signatures;
mod stub_host;
mod suites;
mod threat_model;
mod toolchain;
mod versions;
mod workflows;
