//! One call's dealings with its host: who answers, until when, and what was said.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Map;
use web_time::Instant;

use super::{HostExchange, LogEntry};
use crate::answers::{HostAnswers, HostCall};

/// How much later than the deadline the clock of the guest may tick.
const GRACE: Duration = Duration::from_millis(100);

/// The host's side of one call.
pub(super) struct Conversation {
    answers: Arc<dyn HostAnswers>,
    deadline: Instant,
    expired: AtomicBool,
    record: Mutex<(Vec<LogEntry>, Vec<HostExchange>)>,
}

impl Conversation {
    pub(super) fn new(answers: Arc<dyn HostAnswers>, deadline: Duration) -> Self {
        Self { answers, deadline: Instant::now() + deadline, expired: AtomicBool::new(false), record: Mutex::default() }
    }

    /// Whether the time is up, or was while a host call was still unanswered.
    pub(super) fn is_expired(&self) -> bool {
        self.expired.load(Ordering::SeqCst) || Instant::now() > self.deadline + GRACE
    }

    /// What was logged, and what was asked, until now.
    pub(super) fn take_record(&self) -> (Vec<LogEntry>, Vec<HostExchange>) {
        std::mem::take(&mut *self.record())
    }

    fn record(&self) -> MutexGuard<'_, (Vec<LogEntry>, Vec<HostExchange>)> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch does not interrupt a host call, so it is made on its own thread, which is left behind when time is up.
    fn wait_for_answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let answers = Arc::clone(&self.answers);
        let asked = call.clone();
        thread::Builder::new()
            .name("host-call".to_owned())
            .spawn(move || {
                // Nobody listens any more when the deadline has passed.
                let _ = sender.send(answers.answer(&asked));
            })
            .map_err(|e| format!("cannot start a thread for the host call: {e}"))?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).unwrap_or_else(|e| match e {
            RecvTimeoutError::Timeout => {
                self.expired.store(true, Ordering::SeqCst);
                Err("no answer before the policy's deadline".to_owned())
            }
            RecvTimeoutError::Disconnected => Err("Error obtaining response over callback channel".to_owned()),
        })
    }

    fn log(&self, payload: &[u8]) {
        // What isn't a log entry is kept as its message: it is there to be read by people.
        let entry = serde_json::from_slice(payload).unwrap_or_else(|_| LogEntry {
            level: "error".to_owned(),
            message: Some(String::from_utf8_lossy(payload).into_owned()),
            data: Map::new(),
        });
        self.record().0.push(entry);
    }
}

/// Answers each call within the deadline of the whole conversation.
impl HostAnswers for Conversation {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        if call.is_log() {
            self.log(&call.payload);
            return Ok(Vec::new());
        }
        let answer = if self.answers.may_block() { self.wait_for_answer(call) } else { self.answers.answer(call) };
        self.record().1.push(HostExchange { call: call.clone(), answer: answer.clone() });
        answer
    }
}
