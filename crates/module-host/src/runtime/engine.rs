//! Where a module can't run another: the engine answers, which the module is made of.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use image_admission_engine::{Answer, validate, validate_settings};
use image_admission_host::WireHost;
use web_time::{SystemTime, UNIX_EPOCH};

use super::conversation::Conversation;
use super::{DEFAULT_DEADLINE, LogEntry, MemoryUse, Reply, RuntimeError};
use crate::answers::{HostAnswers, engine_calls};

/// What answers as the policy's module does.
#[derive(Debug)]
pub struct PolicyModule {
    deadline: Duration,
}

impl PolicyModule {
    /// The engine, whatever the file is called.
    ///
    /// Never fails; the module's does.
    pub fn from_file(_path: &Path) -> Result<Self, RuntimeError> {
        Ok(Self { deadline: DEFAULT_DEADLINE })
    }

    /// The same with another limit to what one call may take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// What the module would answer.
    pub fn call(&self, function: &str, payload: &[u8], answers: Arc<dyn HostAnswers>) -> Reply {
        let conversation = Conversation::new(answers, self.deadline);
        let answer = match function {
            "validate" => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let now = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
                Ok(validate(
                    payload,
                    &WireHost(engine_calls(&conversation)),
                    image_admission_untrusted::time::Timestamp(now),
                ))
            }
            "validate_settings" => Ok(validate_settings(payload)),
            other => Err(RuntimeError::Guest(format!("no function is called `{other}`"))),
        };
        let (_, exchanges) = conversation.take_record();
        let (response, logs) = match answer {
            _ if conversation.is_expired() => (Err(RuntimeError::Deadline), Vec::new()),
            Ok(Answer { response, log }) => (Ok(response), log),
            Err(error) => (Err(error), Vec::new()),
        };
        let entry = |line: image_admission_engine::LogLine| LogEntry {
            level: line.level.name().to_owned(),
            message: Some(line.message),
            data: serde_json::Map::new(),
        };
        let logs = logs.into_iter().map(entry).collect();
        Reply { response, logs, exchanges, memory: MemoryUse::default(), fuel: None }
    }
}
