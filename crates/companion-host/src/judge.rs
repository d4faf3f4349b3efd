//! Asks the policy's engine what is known of an image.

use crate::clock::timestamp;
use crate::cluster::{Question, Watched};
use crate::log::{line, write};
use crate::policy::Policy;
use image_admission_companion::log::LogLevel;
use image_admission_companion::{Judgement, NamedImage};
use image_admission_engine::known_scan;
use image_admission_image::ImageReference;
use image_admission_registry_reader::ReadFailure;
use image_admission_untrusted::time::Timestamp;

/// What part of `maxAge` is left when a report counts as too old here, so that the next one is there in time: one of so many.
const LEFT: i64 = 5;

/// What a Pod with this image would find. It may take as long as a registry takes to answer.
pub(crate) fn judge(image: &NamedImage, policy: &Policy, watched: &Watched, now: Timestamp) -> Judgement {
    let Some(scanner) = &policy.scanner else { return Judgement::NotAsked };
    let age = policy.settings.reports.max_age.as_ref().map_or(0, |age| age.seconds() / LEFT);
    let soon = Timestamp(now.0.saturating_add(age));
    let reference = ImageReference::parse(&image.image).ok();
    let name = reference.as_ref().and_then(|reference| reference.repository().rsplit('/').next()).unwrap_or_default();
    let question = Question::new(watched, name);
    match known_scan(&image.image, &image.namespace, &policy.settings, &question, soon) {
        Some((reference, report)) => match scanner.judge(&reference, &report) {
            Judgement::Failed { down, .. } => {
                let failure = question.failure();
                let why = failure.as_ref().map_or_else(|| "an object can't be read".to_owned(), ToString::to_string);
                write(&line(LogLevel::Warning, &format!("cannot look up `{}`: {why}", image.image)));
                let until = match failure {
                    Some(ReadFailure::RateLimited { until }) => until.map(timestamp),
                    _ => None,
                };
                Judgement::Failed { down, until }
            }
            judgement => judgement,
        },
        None => Judgement::NotAsked,
    }
}

#[cfg(test)]
mod of_jobs;

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_companion::{CompanionSettings, Scanner};
    use image_admission_engine::check_settings;
    use image_admission_registry_reader::{Options, RegistryReader};
    use kube::Client;
    use serde_json::json;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn what_a_registry_says_of_its_limit_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4_096]).unwrap();
                let limit = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                stream.write_all(limit.as_bytes()).unwrap();
            }
        });
        let written = json!({
            "registries": [host],
            "reports": {"sources": [{"trivyOperator": {"namespaces": ["image-scans"]}}], "platforms": ["linux/amd64"]},
        });
        let (scanner, settings) =
            Scanner::of(&check_settings(&written).unwrap(), &CompanionSettings::default(), None).unwrap();
        let policy = Policy { written: (written, json!(null)), scanner: Some(scanner), settings };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _guard = runtime.enter();
        let options = Options { plain_http: vec![host.clone()], ..Options::default() };
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let watched = Watched::new(client, Arc::new(RegistryReader::new(options).unwrap()), &[]);
        let image = NamedImage { namespace: "shop".to_owned(), image: format!("{host}/team/web:1.0") };
        let now = crate::clock::now();
        let Judgement::Failed { down: Some(down), until: Some(until) } = judge(&image, &policy, &watched, now) else {
            panic!("not the registry's limit")
        };
        assert_eq!(down, host);
        assert!((now.0 + 120..now.0 + 180).contains(&until.0), "{now:?} {until:?}");
    }
}
