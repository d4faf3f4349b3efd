//! A registry, or whoever else is asked, that answers what a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A server on loopback. Each connection has one request.
pub(crate) struct Stub {
    /// `host:port`
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<Request>>>,
    sent: Arc<Mutex<usize>>,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
}

/// What to do with a request.
pub(crate) enum Reply {
    /// A status, lines of headers, and a body with its length.
    Full(u16, Vec<String>, Vec<u8>),
    /// These bytes, and the end of the connection.
    Raw(Vec<u8>),
    /// These bytes, and then the same bytes for ever, each time after a pause.
    Endless(Vec<u8>, Vec<u8>, Duration),
    /// Nothing, for as long as somebody waits.
    Silence,
}

impl Reply {
    /// A status without more.
    pub(crate) fn status(status: u16) -> Self {
        Self::Full(status, Vec::new(), Vec::new())
    }

    pub(crate) fn redirect(status: u16, location: &str) -> Self {
        Self::Full(status, vec![format!("Location: {location}")], Vec::new())
    }
}

impl Stub {
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1", answer)
    }

    /// The same at another address of this machine.
    pub(crate) fn start_at(host: &str, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = format!("{host}:{}", listener.local_addr().unwrap().port());
        let (seen, sent) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<Mutex<usize>>::default());
        let (answer, all, bytes) = (Arc::new(answer), Arc::clone(&seen), Arc::clone(&sent));
        thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, answer) = (connection.unwrap(), Arc::clone(&answer));
                let (all, bytes) = (Arc::clone(&all), Arc::clone(&bytes));
                thread::spawn(move || {
                    let Some(request) = read(&connection) else { return };
                    all.lock().unwrap().push(request.clone());
                    respond(connection, &request.method, answer(&request), &bytes);
                });
            }
        });
        Self { address, seen, sent }
    }

    /// What was asked so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// How many bytes without an end were sent so far.
    pub(crate) fn sent(&self) -> usize {
        *self.sent.lock().unwrap()
    }
}

/// A request without a body; none where something else is sent.
fn read(connection: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut authorization = None;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("authorization") {
            authorization = Some(value.trim().to_owned());
        }
    }
    Some(Request { method, path, authorization })
}

fn respond(mut connection: TcpStream, method: &str, reply: Reply, sent: &Mutex<usize>) {
    // Whoever has enough closes early.
    match reply {
        Reply::Full(status, headers, body) => {
            let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            let length = body.len();
            let head = format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = connection.write_all(head.as_bytes());
            if method != "HEAD" {
                let _ = connection.write_all(&body);
            }
        }
        Reply::Raw(bytes) => drop(connection.write_all(&bytes)),
        Reply::Endless(first, again, pause) => {
            let mut bytes = first;
            while connection.write_all(&bytes).is_ok() {
                *sent.lock().unwrap() += bytes.len();
                bytes.clone_from(&again);
                thread::sleep(pause);
            }
        }
        Reply::Silence => drop(connection.read(&mut [0])),
    }
}
