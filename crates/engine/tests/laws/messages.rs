//! What an answer says happened is what the host was asked, and what it answered.

use crate::world::{Container, Content, IMAGES, OTHER_KEY, TEAM_KEY, World};
use crate::{Broken, law};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use serde_json::Value;
use std::cell::RefCell;

/// What the host was asked, and its answer; without one where it failed.
struct Exchange {
    operation: String,
    question: String,
    answer: Option<String>,
}

/// The answer's bytes, and what the host was asked for it.
fn recorded(world: &World) -> (String, Vec<Exchange>) {
    let host = world.host();
    let exchanges = RefCell::new(Vec::new());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let answered = WireHost(|namespace: &str, operation: &str, payload: &[u8]| {
        let answer = host.call(namespace, operation, payload);
        let (question, told) = (text(payload), answer.as_ref().ok().map(|bytes| text(bytes)));
        exchanges.borrow_mut().push(Exchange { operation: operation.to_owned(), question, answer: told });
        answer
    });
    let response = validate(world.payload().as_bytes(), &answered, world.now).response;
    (text(&response), exchanges.into_inner())
}

/// Every word of a text that begins so, up to the first character that such words don't have.
fn words<'t>(text: &'t str, beginning: &str) -> Vec<&'t str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':';
    let at = |(start, _): (usize, &str)| &text[start..start + text[start..].find(ends).unwrap_or(text.len() - start)];
    text.match_indices(beginning).map(at).map(|word| word.trim_end_matches(':')).collect()
}

#[test]
fn what_is_said_was_asked_and_answered() {
    law("what is said", |world, asked| {
        let answer = asked.decide(world);
        let (bytes, exchanges) = recorded(world);
        if bytes != answer.bytes {
            return Err(Broken::here("the same request has two answers"));
        }
        let wrong = |why: &str, what: &str| Err(Broken::here(format!("{why}: {what}")));
        let told: String = exchanges
            .iter()
            .flat_map(|one| [one.question.as_str(), one.answer.as_deref().unwrap_or_default()])
            .collect();
        let known = world.payload() + &told;
        // What evidence says is signed, and written in base64.
        for word in words(&bytes, "sha256:").into_iter().chain(words(&bytes, "CVE-2026-")) {
            if !known.contains(word) && !is_attested(world, word) {
                return wrong("nobody told of", word);
            }
        }
        for (position, container) in in_order(world).into_iter().enumerate() {
            let of =
                |what: &str| answer.response["audit_annotations"][format!("{}.{what}", key(world, position))].as_str();
            if let Some(digest) = of("digest")
                && !is_its_digest(world, container, digest, &exchanges)
            {
                return wrong("nobody was told this digest", digest);
            }
            for report in of("reports").into_iter().flat_map(|reports| reports.split(", ")) {
                if !is_read(report, &exchanges) {
                    return wrong("no such report was read", report);
                }
            }
            for used in of("exemptions").into_iter().flat_map(|used| used.split("; ")) {
                if let Some(object) =
                    used.split_once("(ImageExemption ").and_then(|(_, rest)| rest.split([')', ',']).next())
                    && !is_read(&format!("ImageExemption {object}"), &exchanges)
                {
                    return wrong("no such exemption was read", used);
                }
            }
            for attestor in of("verified-by").into_iter().flat_map(|by| by.split("), ")) {
                if !is_vouched_for(world, container, attestor, &exchanges) {
                    return wrong("nobody vouches so", attestor);
                }
            }
        }
        Ok(())
    });
}

/// The containers in the order of answers.
fn in_order(world: &World) -> Vec<&Container> {
    let lists = ["initContainers", "containers", "ephemeralContainers", "volumes"];
    lists.iter().flat_map(|list| world.workload.containers.iter().filter(move |own| own.list == *list)).collect()
}

/// `container-1`: the key of a container's audit annotations.
fn key(world: &World, position: usize) -> String {
    let all = in_order(world);
    let list = all[position].list;
    let number = all.iter().take(position + 1).filter(|own| own.list == list).count();
    let name = match list {
        "initContainers" => "init-container",
        "ephemeralContainers" => "ephemeral-container",
        "volumes" => "volume",
        _ => "container",
    };
    format!("{name}-{number}")
}

/// Whether a digest is the image's, and written in the object, or asked for by the image's tag.
fn is_its_digest(world: &World, container: &Container, digest: &str, exchanges: &[Exchange]) -> bool {
    let image = &IMAGES[container.image];
    let path = format!("{}:{}", image.repository.rsplit('/').next().unwrap_or_default(), image.tag);
    let is_asked = || exchanges.iter().any(|one| one.question.contains(&path) && one.answer.is_some());
    digest == world.contents[container.image].digest(image) && (container.text(world).contains(digest) || is_asked())
}

/// Whether what is named was asked for, and was there: `Kind namespace/name`, `Format repository@digest`, or
/// `Format evidence[0] of ImageEvidence name`.
fn is_read(named: &str, exchanges: &[Exchange]) -> bool {
    let (what, place) = named.rsplit_once(' ').unwrap_or_default();
    let kind = what.rsplit(' ').next();
    exchanges.iter().filter(|one| one.answer.is_some()).any(|one| {
        let asked: Value = serde_json::from_str(&one.question).unwrap();
        let is_called = |name: &str| asked["kind"].as_str() == kind && asked["name"] == name;
        match (place.split_once('@'), place.split_once('/')) {
            (Some((_, digest)), _) => one.operation == "v1/oci_manifest_config" && one.question.contains(digest),
            (None, Some((namespace, name))) => is_called(name) && asked["namespace"] == namespace,
            (None, None) => is_called(place),
        }
    })
}

/// Whether evidence about an image has a finding, which is signed there, in base64.
fn is_attested(world: &World, id: &str) -> bool {
    let has = |content: &Content| content.findings.iter().any(|finding| finding.id == id);
    world.sources().contains(&"attestation".to_owned()) && world.contents.iter().any(has)
}

/// `team (signed`, `own (built) (built`: whether who has that name signed this image, or a statement about it.
fn is_vouched_for(world: &World, container: &Container, by: &str, exchanges: &[Exchange]) -> bool {
    let content = &world.contents[container.image];
    let digest = content.digest(&IMAGES[container.image]);
    let is_verified =
        |one: &Exchange| one.operation == "v2/verify" && one.question.contains(&digest) && one.answer.is_some();
    let signed = |key: &str| content.signers.contains(&key) && exchanges.iter().any(is_verified);
    match by.split(' ').next() {
        Some("own") => content.is_built_by_us,
        Some("team") => signed(TEAM_KEY),
        Some("other") => signed(OTHER_KEY),
        _ => false,
    }
}
