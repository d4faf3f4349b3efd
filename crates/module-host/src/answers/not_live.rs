//! What stands in the place of live answers where the command line was built without the feature `live`: nobody to ask, and
//! the words for it.

use std::collections::BTreeSet;

use image_admission_untrusted::time::Timestamp;
use serde_json::value::RawValue;

use super::{AnswerSource, Request};

/// Nobody.
#[derive(Debug)]
pub enum Live {}

/// Where one would ask.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// The file that says how to reach the cluster.
    pub kubeconfig: Option<std::path::PathBuf>,
    /// Registries that are asked over plain HTTP.
    pub insecure_registries: Vec<String>,
}

impl Live {
    /// Always fails.
    pub fn new(_: &LiveOptions) -> Result<Self, LiveError> {
        Err(LiveError)
    }

    /// Is never called: there is nobody to call it on.
    pub fn everything(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: &mut dyn FnMut(usize),
    ) -> Result<Vec<Box<RawValue>>, String> {
        match *self {}
    }

    /// As [`Live::everything`].
    pub fn fields_of_everything(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: &BTreeSet<String>,
    ) -> Result<Vec<Box<RawValue>>, String> {
        match *self {}
    }

    /// As [`Live::everything`].
    pub fn clock(&self) -> Result<Option<Timestamp>, String> {
        match *self {}
    }
}

impl AnswerSource for Live {
    fn answer(&self, _: &Request) -> Result<Vec<u8>, String> {
        match *self {}
    }
}

/// Why there is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error(
    "this command line can't ask registries and clusters; one that can is built by `cargo install --locked --path crates/cli`"
)]
pub struct LiveError;
