//! Answers to host calls, kept: what was asked once is answered the same again, by a recording too, and without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use image_admission_module_host::answers::{HostAnswers, HostCall};

/// A call's namespace, operation and payload.
type Asked = (String, String, Vec<u8>);
type Answer = Result<Vec<u8>, String>;

/// A host whose answers are kept.
pub(super) struct Kept {
    host: Arc<dyn HostAnswers>,
    said: Mutex<BTreeMap<Asked, Arc<OnceLock<Answer>>>>,
}

impl Kept {
    /// Keeps what `host` answers.
    pub(super) fn new(host: Arc<dyn HostAnswers>) -> Self {
        Self { host, said: Mutex::default() }
    }
}

/// A host that remembers what it was asked.
pub(super) struct Observed {
    host: Arc<dyn HostAnswers>,
    calls: Mutex<BTreeSet<String>>,
}

impl Observed {
    /// Remembers what `host` is asked from now on.
    pub(super) fn new(host: Arc<dyn HostAnswers>) -> Self {
        Self { host, calls: Mutex::default() }
    }

    /// The calls, as texts.
    pub(super) fn calls(&self) -> BTreeSet<String> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl HostAnswers for Observed {
    fn answer(&self, call: &HostCall) -> Answer {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{call:?}"));
        self.host.answer(call)
    }

    fn may_block(&self) -> bool {
        self.host.may_block()
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
        let said = Arc::clone(self.said.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        // Whoever asks the same waits for the answer; whoever asks something else doesn't.
        said.get_or_init(|| self.host.answer(call)).clone()
    }

    fn may_block(&self) -> bool {
        self.host.may_block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::parallel::in_parallel;
    use image_admission_module_host::answers::engine_calls;
    use std::num::NonZeroUsize;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Counting {
        asked: AtomicUsize,
        together: Barrier,
    }

    impl HostAnswers for Counting {
        fn answer(&self, call: &HostCall) -> Answer {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.together.wait();
            Ok(call.payload.clone())
        }
    }

    #[test]
    fn the_same_is_asked_once_and_different_calls_at_the_same_time() {
        let host = Arc::new(Counting { asked: AtomicUsize::new(0), together: Barrier::new(2) });
        let kept = Kept::new(Arc::clone(&host) as Arc<dyn HostAnswers>);
        let ask = |payload: &&str| engine_calls(&kept)("oci", "v1/manifest_digest", payload.as_bytes());
        // Neither answer comes before the other was asked for.
        let said = in_parallel(&["a", "b", "a", "b"], NonZeroUsize::new(4).unwrap(), ask).unwrap();
        assert_eq!(said, ["a", "b", "a", "b"].map(|text| Ok(text.as_bytes().to_owned())));
        assert_eq!(host.asked.load(Ordering::Relaxed), 2);
    }
}
