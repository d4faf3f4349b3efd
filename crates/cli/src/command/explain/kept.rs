//! Answers to host calls, kept: what was asked once is answered the same again, by a recording too, and without a network.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use image_admission_cli::answers::{HostAnswers, HostCall};

/// A call's namespace, operation and payload.
type Asked = (String, String, Vec<u8>);
type Answer = Result<Vec<u8>, String>;

/// A host whose answers are kept.
pub(super) struct Kept {
    host: Arc<dyn HostAnswers>,
    said: Mutex<BTreeMap<Asked, Answer>>,
}

impl Kept {
    /// Keeps what `host` answers.
    pub(super) fn new(host: Arc<dyn HostAnswers>) -> Self {
        Self { host, said: Mutex::default() }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl HostAnswers for Kept {
    fn answer(&self, call: &HostCall) -> Answer {
        let key = (call.namespace.clone(), call.operation.clone(), call.payload.clone());
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.entry(key).or_insert_with(|| self.host.answer(call)).clone()
    }

    fn may_block(&self) -> bool {
        self.host.may_block()
    }
}
