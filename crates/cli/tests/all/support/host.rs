//! Hosts for the module, of functions.

use image_admission_module_host::answers::{HostAnswers, HostCall};
use image_admission_stub_host::StubHost;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Answers by a function.
struct Answers<F> {
    answer: F,
    may_block: bool,
}

impl<F: Fn(&HostCall) -> Result<Vec<u8>, String> + Send + Sync> HostAnswers for Answers<F> {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        (self.answer)(call)
    }

    fn may_block(&self) -> bool {
        self.may_block
    }
}

/// A host that is told.
pub(crate) fn stub(host: StubHost) -> Arc<dyn HostAnswers> {
    let answer = move |call: &HostCall| host.call(&call.namespace, &call.operation, &call.payload);
    Arc::new(Answers { answer, may_block: false })
}

/// A host that answers with what it was asked, or with an error if that begins with `no`.
pub(crate) fn echo() -> Arc<dyn HostAnswers> {
    let answer = |call: &HostCall| match String::from_utf8_lossy(&call.payload) {
        text if text.starts_with("no") => Err(text.into_owned()),
        _ => Ok(call.payload.clone()),
    };
    Arc::new(Answers { answer, may_block: true })
}

/// A host that never answers.
pub(crate) fn silent() -> Arc<dyn HostAnswers> {
    let answer = |_: &HostCall| {
        thread::sleep(Duration::from_secs(60));
        Err("too late to be seen".to_owned())
    };
    Arc::new(Answers { answer, may_block: true })
}
