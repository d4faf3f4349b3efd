//! Logins of registries, as Docker keeps them.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use data_encoding::BASE64;
use docker_credential::{DockerCredential, get_credential, get_credential_from_reader};
use reqwest::header::HeaderValue;
use tokio::task::spawn_blocking;

/// Where the logins of registries are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Logins {
    /// There are none.
    #[default]
    None,
    /// In the user's own configuration: `config.json` in `DOCKER_CONFIG`, or in `.docker` of the home directory.
    OfUser,
    /// In a file with the format of that `config.json`. It is read each time, so that it may change.
    File(PathBuf),
}

impl Logins {
    /// The login of a registry, by its canonical host with its port, as the value of `Authorization`. A registry without one that can
    /// be read is asked without; so is one with an identity token, which the policy's host can't use either.
    pub(crate) async fn of(&self, host: &str) -> Option<HeaderValue> {
        let (logins, host) = (self.clone(), host.to_owned());
        // A file, and perhaps a program that helps.
        let found = spawn_blocking(move || match logins {
            Self::None => None,
            Self::OfUser => get_credential(&host).ok(),
            Self::File(path) => get_credential_from_reader(BufReader::new(File::open(path).ok()?), &host).ok(),
        });
        match found.await.ok()? {
            Some(DockerCredential::UsernamePassword(name, password)) => {
                let encoded = BASE64.encode(format!("{name}:{password}").as_bytes());
                let mut header = HeaderValue::try_from(format!("Basic {encoded}")).ok()?;
                header.set_sensitive(true);
                Some(header)
            }
            Some(DockerCredential::IdentityToken(_)) | None => None,
        }
    }
}
