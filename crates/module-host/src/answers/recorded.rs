//! Recorded sessions: the files of `kwctl run --record-host-capabilities-interactions`, replayed and written.
//!
//! `kwctl` replays strictly in order and only warns about what is left over. Here an exchange is found by its request,
//! so a policy may ask in another order; what was recorded and never asked for is reported, so that a recording can't
//! rot unnoticed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::{AnswerSource, Request};

/// A recorded session that answers.
///
/// Of several exchanges with the same request each is used once, in order, and the last one from then on: a policy that
/// asks again gets the host's cached answer.
#[derive(Debug)]
pub struct Recording {
    exchanges: Arc<[(Request, Result<String, String>)]>,
    used: Mutex<Vec<bool>>,
}

impl Recording {
    /// Reads the session in `path`.
    ///
    /// Fails when the file can't be read, and with the number of the first exchange that isn't one.
    pub fn from_file(path: &Path) -> Result<Self, RecordingError> {
        let yaml = crate::disk::read_to_string(path)
            .map_err(|source| RecordingError::Read { path: path.to_owned(), source })?;
        Self::from_yaml(&yaml).map_err(|problem| RecordingError::Format { path: path.to_owned(), problem })
    }

    /// Reads a session. Fails as [`Recording::from_file`] does.
    pub fn from_yaml(yaml: &str) -> Result<Self, String> {
        let entries: Vec<Entry> = yaml_serde::from_str(yaml).map_err(|e| e.to_string())?;
        let mut exchanges = Vec::new();
        for (index, Entry::Exchange { request, response }) in entries.into_iter().enumerate() {
            let request =
                yaml_serde::from_str(&request).map_err(|e| format!("exchange {}: not a request: {e}", index + 1))?;
            exchanges.push((request, response.into()));
        }
        Ok(Self { used: Mutex::new(vec![false; exchanges.len()]), exchanges: exchanges.into() })
    }

    /// The same session, of which nothing is used yet.
    #[must_use]
    pub fn unused(&self) -> Self {
        Self { used: Mutex::new(vec![false; self.exchanges.len()]), exchanges: Arc::clone(&self.exchanges) }
    }

    /// Whether the session has an answer to this.
    #[must_use]
    pub fn has(&self, request: &Request) -> bool {
        self.exchanges.iter().any(|(recorded, _)| recorded == request)
    }

    fn used(&self) -> MutexGuard<'_, Vec<bool>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerSource for Recording {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        let mut used = self.used();
        let mut answer = None;
        for ((recorded, response), used) in self.exchanges.iter().zip(used.iter_mut()) {
            if recorded == request {
                answer = Some(response);
                if !std::mem::replace(used, true) {
                    break;
                }
            }
        }
        match answer {
            Some(Ok(payload)) => Ok(payload.clone().into_bytes()),
            Some(Err(message)) => Err(message.clone()),
            None => Err(not_recorded(request)),
        }
    }

    fn can_answer(&self, request: &Request) -> bool {
        self.has(request)
    }

    fn leftovers(&self) -> Vec<String> {
        let used = self.used();
        let numbered = self.exchanges.iter().zip(used.iter()).enumerate();
        numbered
            .filter(|(_, (_, used))| !**used)
            .map(|(index, ((request, _), _))| {
                format!("exchange {} was never asked for: {}", index + 1, in_one_line(request))
            })
            .collect()
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// The first line says it all, since users see no more than that of a host's error; the others are ready to be pasted.
fn not_recorded(request: &Request) -> String {
    let placeholder = Exchanged { request: request.clone(), response: Response::Success { payload: "{}".to_owned() } };
    let entry = to_yaml(&[placeholder]).unwrap_or_default();
    format!(
        "not recorded: {}\nadd this to the recording, with the answer as its payload:\n{entry}",
        in_one_line(request)
    )
}

fn in_one_line(request: &Request) -> String {
    // JSON's form of `!Tag {fields}` is `{"Tag":{fields}}`.
    serde_json::to_string(request).unwrap_or_else(|_| format!("{request:?}"))
}

/// Passes requests on to another source and writes down what came back.
pub struct Recorder {
    source: Arc<dyn AnswerSource>,
    exchanges: Mutex<Vec<Exchanged>>,
}

impl Recorder {
    /// Records what `source` answers.
    #[must_use]
    pub fn new(source: Arc<dyn AnswerSource>) -> Self {
        Self { source, exchanges: Mutex::default() }
    }

    /// The session until now, in the format that [`Recording`] and `kwctl` read.
    pub fn to_yaml(&self) -> Result<String, String> {
        to_yaml(&self.exchanges())
    }

    /// What was asked until now, in its order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.exchanges().iter().map(|exchanged| exchanged.request.clone()).collect()
    }

    fn exchanges(&self) -> MutexGuard<'_, Vec<Exchanged>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerSource for Recorder {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        let answer = self.source.answer(request);
        let response = match &answer {
            Ok(payload) => Response::Success { payload: String::from_utf8_lossy(payload).into_owned() },
            Err(message) => Response::Error { message: message.clone() },
        };
        self.exchanges().push(Exchanged { request: request.clone(), response });
        answer
    }

    fn can_answer(&self, request: &Request) -> bool {
        self.source.can_answer(request)
    }

    fn leftovers(&self) -> Vec<String> {
        self.source.leftovers()
    }

    fn may_block(&self) -> bool {
        self.source.may_block()
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("exchanges", &self.exchanges).finish_non_exhaustive()
    }
}

/// A recording that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file can't be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file isn't a recorded session.
    #[error("`{}` is not a recorded session: {problem}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which exchange.
        problem: String,
    },
}

#[derive(Clone, Debug)]
struct Exchanged {
    request: Request,
    response: Response,
}

/// One element of the file. The request is YAML inside YAML.
#[derive(Deserialize, Serialize)]
#[serde(tag = "type")]
enum Entry {
    Exchange { request: String, response: Response },
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Response {
    Success { payload: String },
    Error { message: String },
}

impl From<Response> for Result<String, String> {
    fn from(response: Response) -> Self {
        match response {
            Response::Success { payload } => Ok(payload),
            Response::Error { message } => Err(message),
        }
    }
}

fn to_yaml(exchanges: &[Exchanged]) -> Result<String, String> {
    let entries = exchanges
        .iter()
        .map(|Exchanged { request, response }| {
            Ok(Entry::Exchange { request: request.to_yaml()?, response: response.clone() })
        })
        .collect::<Result<Vec<_>, String>>()?;
    yaml_serde::to_string(&entries).map_err(|e| format!("cannot write the session as yaml: {e}"))
}
