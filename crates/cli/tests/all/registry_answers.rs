//! What the host's client makes of what registries answer: each row of the engine's table, served on loopback.

use image_admission_module_host::answers::live::{Live, LiveOptions};
use image_admission_module_host::answers::{AnswerSource, Request};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

const ANSWERS: &str = include_str!("../../../host/tests/registries/answers.yaml");

#[derive(Deserialize)]
struct Row {
    registry: String,
    case: String,
    /// Whether the server of tokens answers so; then the registry is asked without a token.
    #[serde(default)]
    token: bool,
    status: u16,
    body: String,
    host: String,
}

#[test]
fn the_hosts_client_says_what_the_table_says() {
    let rows: Arc<Vec<Row>> = Arc::new(yaml_serde::from_str(ANSWERS).unwrap());
    let address = serve(Arc::clone(&rows));
    let live = Live::new(&LiveOptions { kubeconfig: None, insecure_registries: Vec::new() }).unwrap();
    for (number, row) in rows.iter().enumerate() {
        let image = format!("{address}/row{number}/app:1.0");
        let url = format!("http://{address}/v2/row{number}/app/manifests/1.0");
        let error = row.host.replace("$URL", &url).replace("$BODY", &row.body);
        let expected = Err(format!("Fail to interact with OCI registry: {error}"));
        let name = format!("{}, {}", row.registry, row.case);
        assert_eq!(live.answer(&Request::OciManifestDigest { image: image.clone() }), expected, "{name}");
        assert_eq!(live.answer(&Request::OciManifest { image }), expected, "{name}");
    }
}

/// Serves a repository for each row, `row0/app` and so on, and gives tokens to all but those whose row denies one.
fn serve(rows: Arc<Vec<Row>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let own = address.clone();
    thread::spawn(move || {
        for connection in listener.incoming() {
            respond(connection.unwrap(), &own, &rows);
        }
    });
    address
}

fn respond(mut connection: TcpStream, address: &str, rows: &[Row]) {
    let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let row = path.split("row").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let row = row.and_then(|number| number.parse::<usize>().ok()).and_then(|number| rows.get(number));
    let (status, body) = match row {
        Some(row) if path.starts_with("/token") == row.token => (row.status, row.body.as_str()),
        Some(_) if path.starts_with("/token") => (200, r#"{"token":"t"}"#),
        _ => (401, ""),
    };
    let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"s\"\r\n");
    let shown = if method == "HEAD" { "" } else { body };
    let length = body.len();
    let _ = write!(
        connection,
        "HTTP/1.1 {status} x\r\n{challenge}Content-Length: {length}\r\nConnection: close\r\n\r\n{shown}"
    );
}
