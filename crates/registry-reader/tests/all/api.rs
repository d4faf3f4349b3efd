//! An API that sends elsewhere, says too much, or nothing.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use image_admission_registry_reader::{
    ApiAnswer, ApiQuestion, ApiToken, Flaw, Options, Outage, ReadFailure, RegistryReader,
};

use crate::reader;
use crate::stub::{Reply, Request, Stub};

const TOKEN: &str = "Bearer secret";
const BODY: &[u8] = b"{}";

/// Asks an API for a list.
async fn ask(stub: &Stub) -> Result<ApiAnswer, ReadFailure> {
    let token = ApiToken::new("secret\n").unwrap();
    let url = format!("https://{}/repos/team/app?per_page=16", stub.address);
    reader().ask_api(&question(&url, Some(&token))).await
}

fn question<'a>(url: &'a str, token: Option<&'a ApiToken>) -> ApiQuestion<'a> {
    ApiQuestion { url, token, accept: "application/json", cursor: "after", most: 1_000 }
}

/// An API that always replies the same.
fn replies(reply: Reply) -> Stub {
    let once = Mutex::new(Some(reply));
    Stub::start(move |_| once.lock().unwrap().take().unwrap_or(Reply::Silence))
}

fn answers(headers: &[&str]) -> Reply {
    Reply::Full(200, headers.iter().map(|header| (*header).to_owned()).collect(), BODY.to_vec())
}

/// Somebody who answers everything.
fn elsewhere() -> Stub {
    Stub::start(|_| answers(&[]))
}

fn tokens(seen: &[Request]) -> Vec<Option<&str>> {
    seen.iter().map(|request| request.authorization.as_deref()).collect()
}

#[tokio::test]
async fn an_api_gets_its_token_and_says_where_its_list_goes_on() {
    let stub = replies(answers(&["Link: </repositories/1?after=b>; rel=\"next\""]));
    let answer = ask(&stub).await.unwrap();
    assert_eq!((answer.bytes.as_slice(), answer.next.as_deref()), (BODY, Some("b")));
    let seen = stub.seen();
    assert_eq!(seen[0].path, "/repos/team/app?per_page=16");
    assert_eq!(tokens(&seen), [Some(TOKEN)]);
    let stub = replies(answers(&[]));
    let url = format!("https://{}/", stub.address);
    assert_eq!(reader().ask_api(&question(&url, None)).await.unwrap().next, None);
    assert_eq!(tokens(&stub.seen()), [None]);
}

#[tokio::test]
async fn the_token_stays_at_the_api() {
    for status in [301, 302, 307, 308] {
        let trap = elsewhere();
        let stub = replies(Reply::redirect(status, &format!("http://{}/repos/team/app", trap.address)));
        assert_eq!(ask(&stub).await.unwrap().bytes, BODY, "{status}");
        assert_eq!((tokens(&stub.seen()), tokens(&trap.seen())), (vec![Some(TOKEN)], vec![None]), "{status}");
    }
    // A repository that was renamed is at the API itself.
    let stub = Stub::start(|request| match request.path.as_str() {
        "/repositories/1" => answers(&[]),
        _ => Reply::redirect(301, "/repositories/1"),
    });
    assert_eq!(ask(&stub).await.unwrap().bytes, BODY);
    assert_eq!(tokens(&stub.seen()), [Some(TOKEN), Some(TOKEN)]);
}

#[tokio::test]
async fn what_an_answer_names_is_asked_for_without_the_token() {
    let stub = elsewhere();
    let answer = ask(&stub).await.unwrap();
    let storage = elsewhere();
    let url = format!("http://{}/bundle?signature=a", storage.address);
    assert_eq!(reader().ask_where_sent(&answer, &url, 2).await.as_deref(), Ok(BODY));
    assert_eq!(tokens(&storage.seen()), [None]);
    // Nor does the API itself get it.
    let own = format!("http://{}/bundle", stub.address);
    assert_eq!(reader().ask_where_sent(&answer, &own, 2).await.as_deref(), Ok(BODY));
    assert_eq!(tokens(&stub.seen()), [Some(TOKEN), None]);
    assert_eq!(reader().ask_where_sent(&answer, &own, 1).await, Err(ReadFailure::Invalid(Flaw::TooLarge(1))),);
}

#[tokio::test]
async fn where_an_answer_may_not_send() {
    let (stub, trap) = (elsewhere(), elsewhere());
    let answer = ask(&stub).await.unwrap();
    let port = trap.address.rsplit_once(':').unwrap().1;
    for (url, flaw) in [
        ("http://169.254.169.254/latest/meta-data/".to_owned(), Flaw::Address),
        ("https://10.0.0.1/bundle".to_owned(), Flaw::Address),
        (format!("http://0.0.0.0:{port}/bundle"), Flaw::Address),
        (format!("http://name:password@127.0.0.1:{port}/bundle"), Flaw::Redirect),
        ("file:///etc/passwd".to_owned(), Flaw::Redirect),
        ("/bundle".to_owned(), Flaw::Redirect),
        (String::new(), Flaw::Redirect),
    ] {
        let read = reader().ask_where_sent(&answer, &url, 2).await;
        assert_eq!(read, Err(ReadFailure::Invalid(flaw)), "{url}");
    }
    // Whoever it sends to sends on to where it may not.
    let sends = replies(Reply::redirect(307, "http://169.254.169.254/latest/meta-data/"));
    let read = reader().ask_where_sent(&answer, &format!("http://{}/", sends.address), 2).await;
    assert_eq!(read, Err(ReadFailure::Invalid(Flaw::Address)));
    assert_eq!(trap.seen(), []);
}

#[tokio::test]
async fn addresses_of_no_api() {
    let stub = elsewhere();
    let url = format!("http://{}/", stub.address);
    let asked = reader().ask_api(&question(&url, None)).await;
    assert_eq!(asked.unwrap_err(), ReadFailure::Invalid(Flaw::Address));
    // It is HTTPS unless the options name it.
    let url = format!("https://{}/", stub.address);
    let options = Options { timeout: Duration::from_secs(1), ..Options::default() };
    let asked = RegistryReader::new(options).unwrap().ask_api(&question(&url, None)).await;
    assert!(matches!(asked, Err(ReadFailure::Outage(_))), "{asked:?}");
    assert_eq!(stub.seen(), []);
}

#[tokio::test]
async fn an_api_that_gives_nothing() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let reset = SystemTime::UNIX_EPOCH + Duration::from_secs(now + 120);
    let spent = vec!["x-ratelimit-remaining: 0".to_owned(), format!("x-ratelimit-reset: {}", now + 120)];
    let left = vec!["x-ratelimit-remaining: 1".to_owned(), format!("x-ratelimit-reset: {}", now + 120)];
    for (reply, expected) in [
        (Reply::status(404), ReadFailure::NotFound),
        (Reply::status(401), ReadFailure::Refused),
        // It isn't a registry's, so that nobody is asked for a token.
        (Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new()), ReadFailure::Refused),
        (Reply::Full(403, left, Vec::new()), ReadFailure::Refused),
        (Reply::Full(403, spent.clone(), Vec::new()), ReadFailure::RateLimited { until: Some(reset) }),
        (Reply::Full(429, spent, Vec::new()), ReadFailure::RateLimited { until: Some(reset) }),
        (Reply::status(429), ReadFailure::RateLimited { until: None }),
        (Reply::status(502), ReadFailure::Outage(Outage::Status(502))),
        (Reply::Full(200, Vec::new(), vec![b' '; 1_001]), ReadFailure::Invalid(Flaw::TooLarge(1_000))),
        (answers(&["Link: <?page=2>; rel=\"next\""]), ReadFailure::Invalid(Flaw::Page)),
        (Reply::Silence, ReadFailure::Outage(Outage::Timeout)),
        (
            Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), b" ".to_vec(), Duration::from_millis(50)),
            ReadFailure::Outage(Outage::Timeout),
        ),
    ] {
        let failure = ask(&replies(reply)).await.unwrap_err();
        match (&failure, &expected) {
            // Its pause is counted from another moment.
            (ReadFailure::RateLimited { until: Some(until) }, ReadFailure::RateLimited { until: Some(expected) }) => {
                assert!(expected.duration_since(*until).unwrap_or_default() < Duration::from_secs(1), "{until:?}");
                assert!(until.duration_since(*expected).unwrap_or_default() < Duration::from_secs(1), "{until:?}");
            }
            _ => assert_eq!(failure, expected),
        }
    }
}
