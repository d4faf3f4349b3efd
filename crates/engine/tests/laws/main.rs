//! Laws that hold whatever the settings, the object, the registries and the cluster are: on worlds that are generated, through the
//! whole engine.
//!
//! ```text
//! LAWS_CASES=20000 LAWS_SEED=7 cargo test --release --package image-admission-engine --test laws
//! ```
//! Both are read when this is compiled (cargo does that again when they change), so that nothing here reads the environment. What a
//! law fails for is shown as the smallest world that was found: its settings, its request, and what is there.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that can't go on must fail"
)]
#![expect(clippy::disallowed_macros, reason = "what was tried is printed")]

mod additions;
mod defaults;
mod limits;
mod messages;
mod order;
mod removals;
mod spellings;
mod time;
mod updates;
mod world;

use image_admission_untrusted::clock::{Clock, use_clock};
use image_admission_untrusted::time::Timestamp;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use serde_json::json;
use std::cell::Cell;
use std::time::Duration;
use world::{Answer, World, worlds};

/// The present of all worlds, unless a law goes on in time: 2026-11-20T12:00:00Z.
const NOW: Timestamp = Timestamp(1_795_176_000);
/// How many worlds each law is tried on, unless it is told otherwise.
const CASES: u32 = 150;
/// What hundredths of the worlds must be admissions, rejections, and rejections for a report that is pending.
const SHARES: [(&str, u32); 3] = [("admitted", 15), ("rejected", 30), ("pending", 3)];

/// The answers of one law, counted.
#[derive(Default)]
struct Asked {
    requests: Cell<u32>,
    /// Those of the worlds as they were generated; the shares are theirs.
    worlds: Cell<u32>,
    is_first: Cell<bool>,
    admitted: Cell<u32>,
    pending: Cell<u32>,
}

impl Asked {
    /// What the engine answers in a world.
    fn decide(&self, world: &World) -> Answer {
        let answer = world.decide();
        self.requests.set(self.requests.get() + 1);
        if self.is_first.replace(false) {
            self.worlds.set(self.worlds.get() + 1);
            self.admitted.set(self.admitted.get() + u32::from(answer.is_admitted()));
            self.pending.set(self.pending.get() + u32::from(answer.is_pending()));
        }
        answer
    }

    /// Prints the shares; none may be so small that the law says little.
    fn check(&self, law: &str, seed: u64) {
        let (requests, worlds, admitted) = (self.requests.get(), self.worlds.get(), self.admitted.get());
        let counts = [admitted, worlds - admitted, self.pending.get()];
        let shares = SHARES.iter().zip(counts).map(|((what, least), count)| (what, least, count * 100 / worlds.max(1)));
        let told: Vec<String> = shares.clone().map(|(what, _, share)| format!("{share} % {what}")).collect();
        println!("{law}: {requests} requests, {worlds} worlds ({}), seed {seed}", told.join(", "));
        for (what, least, share) in shares {
            assert!(share >= *least, "{law}: {share} % of the worlds are {what}, and {least} % must be");
        }
    }
}

/// A clock that stands still: no rule runs out of time.
struct NoTimeGoesBy;

impl Clock for NoTimeGoesBy {
    fn now(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

/// Tries a law on worlds. It says in which other world it is broken, and how.
fn law(name: &str, check: impl Fn(&World, &Asked) -> Result<(), Broken>) {
    let number = |written: Option<&str>| written.and_then(|number| number.parse::<u64>().ok());
    let cases = number(option_env!("LAWS_CASES")).and_then(|cases| u32::try_from(cases).ok());
    let seed = number(option_env!("LAWS_SEED")).unwrap_or(1);
    use_clock(&NoTimeGoesBy);
    let config = Config { cases: cases.unwrap_or(CASES), failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let asked = Asked::default();
    let result = TestRunner::new_with_rng(config, rng).run(&worlds(NOW), |world| {
        asked.is_first.set(true);
        check(&world, &asked).map_err(|broken| TestCaseError::fail(broken.told(&world)))
    });
    match result {
        Ok(()) => asked.check(name, seed),
        Err(TestError::Fail(reason, _) | TestError::Abort(reason)) => panic!("{name}, seed {seed}: {reason}"),
    }
}

/// How a law is broken.
#[derive(Debug)]
struct Broken {
    why: String,
    /// The other world.
    by: Option<Box<World>>,
}

impl Broken {
    fn here(why: impl Into<String>) -> Self {
        Self { why: why.into(), by: None }
    }

    fn told(&self, world: &World) -> String {
        let tell = |world: &World| {
            let payload: serde_json::Value = serde_json::from_str(&world.payload()).unwrap();
            format!("{payload:#}\n{:#}", world.decide().response)
        };
        let mut text = format!("{}\n{}\n", self.why, tell(world));
        let things = world.things();
        text += &format!("{:#}", json!(things.iter().map(|thing| format!("{thing:?}")).collect::<Vec<_>>()));
        if let Some(other) = &self.by {
            text += &format!("\n=== against ===\n{}\n", tell(other));
            let others = other.things();
            let differ = things.iter().filter(|thing| !others.contains(thing)).map(|thing| format!("\n- {thing:?}"));
            text.extend(
                differ
                    .chain(others.iter().filter(|thing| !things.contains(thing)).map(|thing| format!("\n+ {thing:?}"))),
            );
        }
        text
    }
}

/// Holds where a world that was rejected still is when it is changed.
fn admits_no_more(before: &Answer, other: impl FnOnce() -> World, what: &str, asked: &Asked) -> Result<(), Broken> {
    if before.is_admitted() {
        return Ok(());
    }
    let other = other();
    match asked.decide(&other).is_admitted() {
        true => Err(Broken { why: format!("{what} turns a rejection into an admission"), by: Some(Box::new(other)) }),
        false => Ok(()),
    }
}
