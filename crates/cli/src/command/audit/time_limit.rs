//! A limit for each answer: a registry that takes connections and stays silent must not hold everything up for ever.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use image_admission_module_host::answers::{HostAnswers, HostCall};

/// What the engine takes for an outage that has to do with time.
const TIMED_OUT: &str = "Callback evaluation failure: operation timed out";

/// A host that is waited for so long and no longer.
pub(super) struct TimeLimited {
    host: Arc<dyn HostAnswers>,
    limit: Duration,
}

impl TimeLimited {
    /// Waits for `host` at most so long for each answer.
    pub(super) fn new(host: Arc<dyn HostAnswers>, limit: Duration) -> Self {
        Self { host, limit }
    }
}

impl HostAnswers for TimeLimited {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        if !self.host.may_block() {
            return self.host.answer(call);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let (host, call) = (Arc::clone(&self.host), call.clone());
        // A thread that nobody waits for any more is left behind, and ends with the command.
        let asking = thread::Builder::new().name("host-call".to_owned()).spawn(move || {
            let _ = sender.send(host.answer(&call));
        });
        asking.map_err(|error| format!("cannot start a thread for the host call: {error}"))?;
        receiver.recv_timeout(self.limit).unwrap_or_else(|_| Err(TIMED_OUT.to_owned()))
    }

    fn may_block(&self) -> bool {
        self.host.may_block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl HostAnswers for Silent {
        fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
            if call.payload.is_empty() {
                thread::sleep(Duration::from_secs(3600));
            }
            Ok(call.payload.clone())
        }
    }

    #[test]
    fn nobody_waits_for_a_host_that_stays_silent() {
        let host = TimeLimited::new(Arc::new(Silent), Duration::from_millis(50));
        let call = |payload: &[u8]| HostCall {
            binding: "kubewarden".to_owned(),
            namespace: "oci".to_owned(),
            operation: "v1/manifest_digest".to_owned(),
            payload: payload.to_owned(),
        };
        assert_eq!(host.answer(&call(b"a")), Ok(b"a".to_vec()));
        assert_eq!(host.answer(&call(b"")), Err(TIMED_OUT.to_owned()));
    }
}
