//! An API that is asked with a token of its own, and the places that its answers send to.

use reqwest::header::HeaderValue;
use reqwest::{Method, Url};

use crate::address::Reach;
use crate::exchange::{Login, Question, may_send};
use crate::failure::{Flaw, ReadFailure};
use crate::page;
use crate::reader::RegistryReader;

/// A token that an API gave out. It isn't shown, also not by `{:?}`.
#[derive(Clone, Debug)]
pub struct ApiToken(HeaderValue);

/// Something is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has a character that no token has")]
pub struct TokenError;

/// What an API is asked.
#[derive(Clone, Debug)]
pub struct ApiQuestion<'a> {
    /// Where, with `https`. Hosts that the reader's options say so of are asked over plain HTTP.
    pub url: &'a str,
    /// Sent to this URL's host alone.
    pub token: Option<&'a ApiToken>,
    /// The media type of the answer.
    pub accept: &'a str,
    /// The parameter of the URL that says from where on a list is answered.
    pub cursor: &'a str,
    /// The most bytes of the answer.
    pub most: u64,
}

/// What an API answered.
#[derive(Clone, Debug)]
pub struct ApiAnswer {
    /// Its body.
    pub bytes: Vec<u8>,
    /// From where on the list goes on. None after its last page.
    pub next: Option<String>,
    url: Url,
    reach: Reach,
}

impl ApiToken {
    /// A token as it is written in a file, which may end with a line break.
    ///
    /// # Errors
    /// It is empty, or a header can't have it.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let mut value = HeaderValue::from_str(&format!("Bearer {text}")).ok().filter(|_| is_token).ok_or(TokenError)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl RegistryReader {
    /// Asks an API. It may be inside of the network.
    ///
    /// # Errors
    /// It doesn't answer this, or its list goes on without the cursor.
    pub async fn ask_api(&self, question: &ApiQuestion<'_>) -> Result<ApiAnswer, ReadFailure> {
        let url = self.url_of_api(question.url).ok_or(ReadFailure::Invalid(Flaw::Address))?;
        let login = Login::Token(question.token.map(|token| &token.0));
        let ApiQuestion { accept, cursor, most, .. } = *question;
        let asked = Question { method: Method::GET, url: url.clone(), accept, login, most };
        let answer = self.exchanges.ask(&asked).await?;
        let next = page::cursor(&url, &answer.headers, cursor)?;
        Ok(ApiAnswer { bytes: answer.bytes, next, url, reach: answer.reach })
    }

    /// What is at a URL that an answer names: without the token, and at an address that isn't public only where the API is at such a
    /// one. `most` is the most bytes.
    ///
    /// # Errors
    /// It isn't handed out, or the API may not send there.
    pub async fn ask_where_sent(&self, answer: &ApiAnswer, url: &str, most: u64) -> Result<Vec<u8>, ReadFailure> {
        let url = Url::parse(url).ok().filter(|url| may_send(&answer.url, url));
        let url = url.ok_or(ReadFailure::Invalid(Flaw::Redirect))?;
        let login = Login::SentFrom(answer.reach);
        Ok(self.exchanges.ask(&Question { method: Method::GET, url, accept: "*/*", login, most }).await?.bytes)
    }

    /// The URL at which an API is asked.
    fn url_of_api(&self, written: &str) -> Option<Url> {
        let mut url = Url::parse(written).ok().filter(|url| url.scheme() == "https")?;
        let host = url.host_str()?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        if self.is_plain(&host) {
            url.set_scheme("http").ok()?;
        }
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        for text in ["ghp_0123456789", " xyz\n", "xyz\r\n"] {
            let token = ApiToken::new(text).unwrap();
            assert_eq!(token.0, format!("Bearer {}", text.trim()).as_str());
            assert!(!format!("{token:?}").contains(text.trim()), "{token:?}");
        }
        for text in ["", "\n", "a b", "a\nb", "ä", "a\0"] {
            assert_eq!(ApiToken::new(text).unwrap_err(), TokenError, "{text:?}");
        }
    }
}
