//! What people write in files: manifests, AdmissionRequests and settings, read with the places where things stand.
//!
//! ```text
//! document (a file with several) ── duplicates (keys that stand twice) ── lines (where a key stands)
//!    ├── manifest (a ClusterAdmissionPolicy and what is like it) ── fields
//!    ├── request (an AdmissionRequest, or an object to make one of)
//!    └── settings ── label_selector (whom the policy of the settings leaves out), kustomize (folders as the cluster gets them)
//! ```
//!
//! Nothing here decides: the command line gives what was read to the module.

pub mod document;
pub mod duplicates;
pub mod fields;
pub mod kustomize;
pub mod label_selector;
pub mod lines;
pub mod manifest;
pub mod request;
pub mod settings;
