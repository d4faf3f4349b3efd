//! Evidence, in a cluster and with registries that are played.

use image_admission_companion::evidence::{
    Evidence, EvidenceAction, EvidenceObservation, FetchFailure, KnownObject, NewPiece, Place,
};
use image_admission_companion::{AttestedImages, CompanionSettings, CopiedEvidence, GithubAttestations, UsedImages};
use image_admission_settings::Evidence as PolicyEvidence;
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const WEB: &str = "ghcr.io/team/web:1.0";
const HOUR: i64 = 3_600;
/// How long everything takes.
const TAKES: i64 = 2;

/// What will have happened at a time.
enum Ends {
    Action(EvidenceAction),
    Seen(EvidenceObservation),
}

struct World {
    evidence: Evidence,
    now: Timestamp,
    used: UsedImages,
    /// What registries have beside a digest.
    pieces: BTreeMap<String, Vec<NewPiece>>,
    /// What a stranger's repository has, by its number; others have nothing.
    strangers: BTreeMap<String, NewPiece>,
    failure: Option<FetchFailure>,
    refuses_writes: bool,
    /// When GitHub was asked.
    asked_github: Vec<Timestamp>,
    /// What images with this in their name answer.
    failure_at: Option<(String, FetchFailure)>,
    /// A host that takes a minute.
    slow: Option<String>,
    /// By digest.
    objects: BTreeMap<String, Value>,
    created: u64,
    pending: Vec<(Timestamp, Ends)>,
    /// When what was done.
    log: Vec<(i64, String)>,
}

fn settings() -> CompanionSettings {
    CompanionSettings { evidence: Some(CopiedEvidence::default()), ..CompanionSettings::default() }
}

fn policy(max_age: Option<&str>) -> PolicyEvidence {
    PolicyEvidence {
        from_cluster: true,
        max_age: max_age.and_then(WrittenDuration::parse),
        ..PolicyEvidence::default()
    }
}

/// The digest of each tag.
fn digest_of(image: &str) -> String {
    let number = image.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("sha256:{number:064x}")
}

fn piece(text: &str) -> NewPiece {
    NewPiece { media_type: "application/vnd.dev.sigstore.bundle.v0.3+json".to_owned(), bytes: text.into() }
}

impl World {
    fn new(max_age: Option<&str>) -> Self {
        Self {
            evidence: Evidence::new(&settings(), &policy(max_age)).unwrap(),
            now: Timestamp(1_800_000_000),
            used: UsedImages::new(),
            pieces: BTreeMap::new(),
            strangers: BTreeMap::new(),
            failure: None,
            refuses_writes: false,
            asked_github: Vec::new(),
            failure_at: None,
            slow: None,
            objects: BTreeMap::new(),
            created: 0,
            pending: Vec::new(),
            log: Vec::new(),
        }
    }

    /// A world in which [`WEB`] is used, signed and copied.
    fn copied(max_age: Option<&str>) -> Self {
        let mut world = Self::new(max_age);
        world.sign(WEB, "a");
        world.run(WEB);
        world.pass(20);
        world.take_log();
        world
    }

    fn run(&mut self, image: &str) {
        self.run_in("shop", image);
    }

    fn run_in(&mut self, namespace: &str, image: &str) {
        self.used.entry(image.to_owned()).or_default().insert(namespace.to_owned());
    }

    fn stop(&mut self, image: &str) {
        self.used.remove(image);
    }

    fn sign(&mut self, image: &str, text: &str) {
        self.pieces.insert(digest_of(image), vec![piece(text)]);
    }

    fn object(&self, image: &str) -> Option<&Value> {
        self.objects.get(&digest_of(image))
    }

    /// Somebody does something to an object.
    fn edit(&mut self, image: &str, edit: impl FnOnce(&mut Value)) {
        let object = self.objects.get_mut(&digest_of(image)).unwrap();
        edit(object);
        let seen = EvidenceObservation::Object(KnownObject::read(object).unwrap());
        self.evidence.observe(seen, self.now);
    }

    fn delete(&mut self, image: &str) {
        if let Some(object) = self.objects.remove(&digest_of(image)) {
            let seen = EvidenceObservation::ObjectGone(KnownObject::read(&object).unwrap());
            self.evidence.observe(seen, self.now);
        }
    }

    /// Another companion takes over.
    fn restart(&mut self, max_age: Option<&str>) {
        self.restart_with(Evidence::new(&settings(), &policy(max_age)).unwrap());
    }

    fn restart_with(&mut self, evidence: Evidence) {
        self.pending.retain(|(_, ends)| matches!(ends, Ends::Seen(_)));
        self.evidence = evidence;
        for object in self.objects.values() {
            let seen = EvidenceObservation::Object(KnownObject::read(object).unwrap());
            self.evidence.observe(seen, self.now);
        }
    }

    fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log).into_iter().map(|(_, done)| done).collect()
    }

    fn pass(&mut self, seconds: i64) {
        // Days pass in larger steps.
        let step = if seconds > HOUR { 10 } else { 1 };
        for _ in 0..seconds / step {
            self.now.0 += step;
            let (ended, pending) = std::mem::take(&mut self.pending).into_iter().partition(|(at, _)| *at <= self.now);
            self.pending = pending;
            for (_, ends) in ended {
                match ends {
                    Ends::Seen(observation) => self.evidence.observe(observation, self.now),
                    Ends::Action(action) => {
                        let observation = self.end(action);
                        self.evidence.observe(observation, self.now);
                    }
                }
            }
            self.evidence.observe(EvidenceObservation::Used(self.used.clone()), self.now);
            for action in self.evidence.due(self.now) {
                self.log.push((self.now.0, name(&action)));
                let is_github = |place: &Place| matches!(place, Place::Github(_));
                if matches!(&action, EvidenceAction::Fetch { places, .. } if places.iter().any(is_github)) {
                    self.asked_github.push(self.now);
                }
                let is_slow = |host: &String| format!("{action:?}").contains(host.as_str());
                let takes = if self.slow.as_ref().is_some_and(is_slow) { 60 } else { TAKES };
                self.pending.push((Timestamp(self.now.0 + takes), Ends::Action(action)));
            }
            self.check();
        }
    }

    /// What never is.
    fn check(&self) {
        let (mut asked, mut written) = (0, Vec::new());
        for (_, ends) in &self.pending {
            match ends {
                Ends::Action(EvidenceAction::Resolve(_) | EvidenceAction::Fetch { .. }) => asked += 1,
                Ends::Action(EvidenceAction::Write { digest, .. } | EvidenceAction::Delete { digest, .. }) => {
                    written.push(digest);
                }
                Ends::Action(EvidenceAction::LeaveOut(_)) | Ends::Seen(_) => {}
            }
        }
        assert!(asked <= 8, "{asked} at once");
        assert_eq!(written.iter().collect::<BTreeSet<_>>().len(), written.len(), "{written:?}");
    }

    fn end(&mut self, action: EvidenceAction) -> EvidenceObservation {
        match action {
            EvidenceAction::Resolve(image) => {
                let result = self.failure_of(&image).map_or_else(|| Ok(digest_of(&image)), Err);
                EvidenceObservation::Resolved { image, result }
            }
            EvidenceAction::Fetch { digest, places } => {
                let mut pieces = Vec::new();
                let mut answers = Vec::new();
                for place in places {
                    let (failure, found) = match &place {
                        Place::Image(image) => (self.failure_of(image), self.pieces_at(image, &digest)),
                        Place::Github(repository) => (self.failure_of(repository.host()), Vec::new()),
                    };
                    let answer = failure.map_or(Ok(!found.is_empty()), Err);
                    pieces.extend(found.into_iter().filter(|_| answer.is_ok()));
                    answers.push((place, answer));
                }
                EvidenceObservation::Fetched { digest, pieces, answers }
            }
            EvidenceAction::Write { digest, replaces, object } => {
                let is_done = !self.refuses_writes && self.write(&digest, replaces.as_deref(), Some(object));
                EvidenceObservation::Written { digest, is_done }
            }
            EvidenceAction::LeaveOut(digest) => EvidenceObservation::Written { digest, is_done: false },
            EvidenceAction::Delete { digest, uid } => {
                let is_done = !self.refuses_writes && self.write(&digest, Some(&uid), None);
                EvidenceObservation::Written { digest, is_done }
            }
        }
    }

    fn pieces_at(&self, image: &str, digest: &str) -> Vec<NewPiece> {
        match image.split_once("/stranger-") {
            Some((_, number)) => {
                let number = number.split('@').next().unwrap_or_default();
                self.strangers.get(number).cloned().into_iter().collect()
            }
            None => self.pieces.get(digest).cloned().unwrap_or_default(),
        }
    }

    /// Whether the object of an image has a piece.
    fn has(&self, image: &str, text: &str) -> bool {
        let data = json!(data_encoding::BASE64.encode(text.as_bytes()));
        let pieces = self.object(image).and_then(|object| object["spec"]["evidence"].as_array());
        pieces.is_some_and(|pieces| pieces.iter().any(|piece| piece["data"] == data))
    }

    fn failure_of(&self, image: &str) -> Option<FetchFailure> {
        let own = self.failure.clone().filter(|failure| match failure {
            FetchFailure::Registry { host, .. } => image.starts_with(host.as_str()),
            FetchFailure::Image => true,
        });
        let strangers = self.failure_at.as_ref().filter(|(part, _)| image.contains(part.as_str()));
        own.or_else(|| strangers.map(|(_, failure)| failure.clone()))
    }

    /// What the API server does. It is seen a second later.
    fn write(&mut self, digest: &str, replaces: Option<&str>, object: Option<Value>) -> bool {
        let seen_at = Timestamp(self.now.0 + 1);
        if let Some(old) = self.objects.get(digest).filter(|old| old["metadata"]["uid"].as_str() == replaces) {
            let gone = EvidenceObservation::ObjectGone(KnownObject::read(old).unwrap());
            self.pending.push((seen_at, Ends::Seen(gone)));
            self.objects.remove(digest);
        }
        let Some(mut object) = object else { return true };
        if self.objects.contains_key(digest) {
            return false;
        }
        self.created += 1;
        object["metadata"]["uid"] = json!(self.created.to_string());
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!(self.now.to_string());
        self.pending.push((seen_at, Ends::Seen(EvidenceObservation::Object(KnownObject::read(&object).unwrap()))));
        self.objects.insert(digest.to_owned(), object);
        true
    }
}

fn name(action: &EvidenceAction) -> String {
    match action {
        EvidenceAction::Resolve(_) => "resolve",
        EvidenceAction::Fetch { .. } => "fetch",
        EvidenceAction::Write { replaces: None, .. } => "create",
        EvidenceAction::Write { replaces: Some(_), .. } => "replace",
        EvidenceAction::LeaveOut(_) => "leave out",
        EvidenceAction::Delete { .. } => "delete",
    }
    .to_owned()
}

#[test]
fn it_is_off_unless_both_settings_ask_for_it() {
    let (on, off) = (settings(), CompanionSettings::default());
    assert!(Evidence::new(&on, &policy(None)).is_some());
    assert!(Evidence::new(&off, &policy(None)).is_none());
    assert!(Evidence::new(&on, &PolicyEvidence::default()).is_none());
}

#[test]
fn what_is_used_is_copied_at_first_sight() {
    let mut world = World::new(None);
    world.sign(WEB, "a");
    world.run(WEB);
    world.pass(20);
    assert_eq!(world.take_log(), ["resolve", "fetch", "create"]);
    let object = world.object(WEB).unwrap();
    assert_eq!(object["metadata"]["name"], digest_of(WEB).replace(':', "-"));
    assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/managed-by"], "image-admission-companion");
    let data = json!([{"mediaType": piece("a").media_type, "data": "YQ=="}]);
    assert_eq!(object["spec"], json!({"evidence": data}));
    // By its digest, nothing has to be looked up.
    let digest = format!("ghcr.io/team/web@{}", digest_of("other"));
    world.run(&digest);
    world.pass(20);
    assert_eq!(world.take_log(), ["fetch"]);
}

#[test]
fn an_image_without_evidence_is_looked_at_again_soon() {
    let mut world = World::new(None);
    world.run(WEB);
    world.pass(HOUR);
    let fetches = |world: &World| world.log.iter().filter(|(_, done)| done == "fetch").count();
    // At once, and after 1, 3, 7, 15 and 31 minutes, with up to a fifth more.
    assert_eq!(fetches(&world), 6, "{:?}", world.log);
    world.sign(WEB, "a");
    world.pass(HOUR / 2);
    assert!(world.object(WEB).is_some());
    // From now on as often as the settings say; and one that stays without isn't asked for more often than that.
    world.take_log();
    world.pass(5 * HOUR);
    assert_eq!(fetches(&world), 0);
    let mut world = World::new(None);
    world.run(WEB);
    world.pass(48 * HOUR);
    world.take_log();
    world.pass(24 * HOUR);
    assert!((3..=4).contains(&fetches(&world)), "{:?}", world.log);
}

/// Whoever may create a workload names the digest of another's image in repositories of theirs.
#[test]
fn a_stranger_keeps_nothing_from_being_copied() {
    for failure in [FetchFailure::Image, FetchFailure::Registry { host: "evil.example".to_owned(), until: None }] {
        let mut world = World::new(Some("24h"));
        world.failure_at = Some(("/stranger".to_owned(), failure.clone()));
        let strangers: Vec<String> =
            (0..9).map(|number| format!("evil.example/stranger-{number}@{}", digest_of(WEB))).collect();
        for stranger in &strangers {
            world.run_in("evil", stranger);
        }
        world.pass(30);
        // It is found wherever it is, however many there are.
        world.sign(WEB, "a");
        world.run(WEB);
        world.pass(300);
        let first = world.object(WEB).cloned();
        assert!(first.is_some(), "{failure:?}: {:?}", world.log);
        // It is replaced, and renewed.
        world.sign(WEB, "b");
        world.pass(8 * HOUR);
        let second = world.object(WEB).cloned();
        assert_ne!(second, first, "{failure:?}");
        world.pass(14 * HOUR);
        assert_ne!(world.object(WEB).cloned(), second, "{failure:?}: older than half of a day");
        // What the image's own registry doesn't hand out stays.
        let third = world.object(WEB).cloned();
        world.failure = Some(FetchFailure::Registry { host: "ghcr.io".to_owned(), until: None });
        world.pass(4 * HOUR);
        assert_eq!(world.object(WEB).cloned(), third, "{failure:?}");
    }
}

/// A digest is public. Whoever names it in repositories of theirs, before its own image is used or later, takes nobody's place in the
/// object, however many they name, and whatever they put there or take away.
#[test]
fn what_strangers_put_beside_a_digest_takes_nobodys_place() {
    for is_before in [true, false] {
        let mut world = World::new(Some("24h"));
        if !is_before {
            world.sign(WEB, "a");
            world.run(WEB);
            world.pass(60);
        }
        for number in 0..50 {
            // In front of the image's own registry, in the order of names.
            world.run_in("evil", &format!("aaa.example/stranger-{number}@{}", digest_of(WEB)));
            world.strangers.insert(number.to_string(), piece(&format!("junk {number}")));
        }
        world.pass(300);
        world.sign(WEB, "a");
        world.run(WEB);
        world.pass(300);
        assert!(world.has(WEB, "a"), "{is_before}: {:?}", world.log);
        // A new signature is copied, too, and the object is renewed.
        world.sign(WEB, "b");
        world.pass(8 * HOUR);
        assert!(world.has(WEB, "b"), "{is_before}");
        let before = world.object(WEB).cloned();
        world.pass(14 * HOUR);
        assert_ne!(world.object(WEB).cloned(), before, "{is_before}: older than half of a day");
        // Where there was something, nobody answers any more.
        world.failure_at = Some(("/stranger-".to_owned(), FetchFailure::Image));
        let before = world.object(WEB).cloned();
        world.pass(23 * HOUR);
        assert!(world.has(WEB, "b") && world.object(WEB).cloned() != before, "{is_before}: older than a day");
    }
}

/// Whoever may push and name images would fill the cluster's own database.
#[test]
fn all_objects_together_are_bounded_and_no_namespace_takes_all_the_room() {
    const MOST: usize = 1 << 20;
    let evidence = Some(CopiedEvidence { mebibytes: MOST >> 20, ..CopiedEvidence::default() });
    let settings = CompanionSettings { evidence, ..CompanionSettings::default() };
    let mut world = World::new(None);
    world.restart_with(Evidence::new(&settings, &policy(None)).unwrap());
    let size = |world: &World| -> usize {
        let all =
            world.objects.values().map(|object| object["spec"]["evidence"][0]["data"].as_str().unwrap().len() / 4 * 3);
        all.sum()
    };
    for namespace in ["evil-1", "evil-2"] {
        for number in 0..20 {
            let image = format!("ghcr.io/{namespace}/web-{number}:1");
            world.sign(&image, &"x".repeat(1 << 16));
            world.run_in(namespace, &image);
        }
    }
    world.pass(HOUR);
    assert!((MOST / 2..MOST).contains(&size(&world)), "{}", size(&world));
    world.sign(WEB, "a");
    world.run(WEB);
    world.pass(120);
    assert!(world.has(WEB, "a"));
    // What is there is known again by another companion.
    world.restart_with(Evidence::new(&settings, &policy(None)).unwrap());
    world.pass(2 * HOUR);
    assert!(size(&world) < MOST, "{}", size(&world));
    // Where there is room again, it is used.
    let of = |world: &World, namespace: &str| {
        let image = |number| format!("ghcr.io/{namespace}/web-{number}:1");
        (0..20).filter(|number| world.object(&image(*number)).is_some()).count()
    };
    let before = of(&world, "evil-2");
    for number in 0..20 {
        world.stop(&format!("ghcr.io/evil-1/web-{number}:1"));
    }
    world.pass(34 * HOUR);
    assert_eq!(of(&world, "evil-1"), 0);
    assert!(of(&world, "evil-2") > before, "{before}");
}

#[test]
fn what_was_added_while_a_fetch_fails_is_fetched_at_once() {
    let mut world = World::copied(None);
    world.failure = Some(FetchFailure::Image);
    world.evidence.observe(EvidenceObservation::Added(digest_of(WEB)), world.now);
    world.pass(1);
    world.evidence.observe(EvidenceObservation::Added(digest_of(WEB)), world.now);
    world.pass(TAKES);
    world.failure = None;
    world.sign(WEB, "b");
    world.pass(10);
    assert_eq!(world.take_log(), ["fetch", "fetch", "replace"]);
}

#[test]
fn an_object_that_is_shown_again_is_no_news() {
    let mut world = World::copied(None);
    let known = KnownObject::read(world.object(WEB).unwrap()).unwrap();
    assert!(!world.evidence.is_news(&known));
    let mut changed = world.object(WEB).unwrap().clone();
    changed["metadata"]["generation"] = json!(2);
    assert!(world.evidence.is_news(&KnownObject::read(&changed).unwrap()));
    world.delete(WEB);
    assert!(world.evidence.is_news(&known));
}

#[test]
fn what_somebody_waits_for_is_fetched_first() {
    let mut world = World::new(None);
    for number in 0..600 {
        world.run(&format!("ghcr.io/team/app-{number}:1"));
    }
    world.pass(10);
    world.sign(WEB, "a");
    world.run(&format!("ghcr.io/team/web@{}", digest_of(WEB)));
    world.pass(10);
    assert!(world.object(WEB).is_some(), "tags that have time leave half of what their registry takes");
}

#[test]
fn a_slow_registry_leaves_room_for_others() {
    let mut world = World::new(None);
    for number in 0..50 {
        world.run(&format!("slow.example/app-{number}:1"));
    }
    world.slow = Some("slow.example".to_owned());
    world.pass(5);
    world.sign(WEB, "a");
    world.run(WEB);
    world.pass(20);
    assert!(world.object(WEB).is_some(), "{:?}", world.log);
}

#[test]
fn an_object_stays_while_the_registry_of_a_tag_is_down() {
    let mut world = World::copied(None);
    world.restart(None);
    world.failure = Some(FetchFailure::Registry { host: "ghcr.io".to_owned(), until: None });
    world.pass(40 * HOUR);
    assert!(world.object(WEB).is_some(), "the tag may still be this digest");
    world.failure = None;
    world.stop(WEB);
    world.pass(26 * HOUR);
    assert!(world.object(WEB).is_none());
}

/// Whoever names a tag that no registry answers for would keep all objects there, however many digests were used before.
#[test]
fn a_tag_that_cant_be_looked_up_keeps_no_object_of_another_repository() {
    for (tag, is_kept) in [("ghcr.io/evil/web:1.0", false), ("ghcr.io/team/web:2.0", true)] {
        let mut world = World::copied(None);
        world.stop(WEB);
        world.failure = Some(FetchFailure::Registry { host: "ghcr.io".to_owned(), until: None });
        world.run_in("evil", tag);
        world.pass(30 * HOUR);
        assert_eq!(world.object(WEB).is_some(), is_kept, "{tag}");
    }
}

#[test]
fn an_object_is_as_its_registry_is() {
    type Change = fn(&mut World);
    let cases: [(&str, Change, &[&str]); 8] = [
        ("nothing", |_| {}, &["fetch"]),
        ("another piece", |world| world.sign(WEB, "b"), &["fetch", "replace"]),
        ("none any more", |world| world.pieces.clear(), &["fetch", "delete"]),
        (
            "edited",
            |world| world.edit(WEB, |object| object["metadata"]["generation"] = json!(2)),
            &["fetch", "replace"],
        ),
        ("deleted", |world| world.delete(WEB), &["fetch", "create"]),
        (
            "somebody's own",
            |world| {
                world.pieces.clear();
                world.edit(WEB, |object| object["metadata"]["labels"] = json!({}));
            },
            &[],
        ),
        (
            "another hash",
            |world| world.edit(WEB, |object| object["metadata"]["annotations"] = json!({})),
            &["fetch", "replace"],
        ),
        (
            "the registry fails",
            |world| {
                world.pieces.clear();
                world.failure = Some(FetchFailure::Image);
            },
            &["fetch"],
        ),
    ];
    for (name, change, expected) in cases {
        let mut world = World::copied(None);
        world.pass(HOUR / 2);
        change(&mut world);
        // Once within the refresh of six hours with its jitter, and at once for what others did to the object.
        let limit = world.now.0 + 8 * HOUR;
        while world.now.0 < limit {
            world.pass(10);
            world.log.retain(|(_, done)| done != "resolve");
            if world.log.iter().any(|(_, done)| Some(done.as_str()) == expected.last().copied()) {
                break;
            }
        }
        assert_eq!(world.take_log(), expected, "{name}");
        let is_there = name != "none any more";
        world.pass(10);
        assert_eq!(world.object(WEB).is_some(), is_there, "{name}");
    }
}

#[test]
fn what_others_do_is_seen_at_once_and_not_each_time() {
    let mut world = World::copied(None);
    world.pass(HOUR / 2);
    world.delete(WEB);
    world.pass(10);
    assert_eq!(world.take_log(), ["fetch", "create"]);
    for _ in 0..30 {
        world.delete(WEB);
        world.pass(10);
    }
    assert!(world.log.len() <= 2 * 6, "{:?}", world.log);
}

#[test]
fn what_is_added_is_fetched_at_once() {
    let mut world = World::copied(None);
    let added = || EvidenceObservation::Added(digest_of(WEB));
    world.sign(WEB, "b");
    world.pass(60);
    assert_eq!(world.take_log(), [""; 0]);
    world.evidence.observe(added(), world.now);
    world.pass(1);
    assert_eq!(world.take_log(), ["fetch"]);
    // The answer that is under way may not have what is added now.
    world.evidence.observe(added(), world.now);
    world.pass(20);
    assert_eq!(world.take_log(), ["replace", "fetch"]);
    // An image that nobody uses isn't fetched.
    world.evidence.observe(EvidenceObservation::Added(digest_of("ghcr.io/team/other:1.0")), world.now);
    world.pass(60);
    assert_eq!(world.take_log(), [""; 0]);
}

#[test]
fn an_object_is_written_anew_before_the_policy_finds_it_too_old() {
    let mut world = World::copied(Some("2h"));
    let written = world.now.0;
    world.pass(HOUR - 60);
    assert_eq!(world.take_log(), [""; 0]);
    world.pass(70);
    assert_eq!(world.take_log().last().unwrap(), "replace");
    assert!(world.now.0 - written < 2 * HOUR);
}

#[test]
fn what_is_unused_goes_after_a_day() {
    let mut world = World::copied(None);
    world.stop(WEB);
    world.pass(24 * HOUR - 10);
    assert_eq!(world.take_log(), [""; 0]);
    world.pass(20);
    assert_eq!(world.take_log(), ["delete"]);
    // So does what one before this one made, and not what is somebody else's.
    let mut world = World::copied(None);
    world.stop(WEB);
    world.restart(None);
    world.pass(24 * HOUR + 10);
    assert_eq!(world.take_log(), ["delete"]);
    let mut world = World::copied(None);
    world.stop(WEB);
    world.edit(WEB, |object| object["metadata"]["labels"] = json!({}));
    world.pass(30 * HOUR);
    assert_eq!(world.take_log(), [""; 0]);
    // Used again in time, it stays.
    let mut world = World::copied(None);
    world.stop(WEB);
    world.pass(23 * HOUR);
    world.run(WEB);
    world.pass(30 * HOUR);
    assert!(world.object(WEB).is_some());
    assert!(!world.take_log().contains(&"delete".to_owned()));
}

#[test]
fn a_registry_is_asked_again_when_it_says() {
    let mut world = World::new(None);
    world.sign(WEB, "a");
    world.run(WEB);
    let until = Timestamp(world.now.0 + 2_000);
    world.failure = Some(FetchFailure::Registry { host: "ghcr.io".to_owned(), until: Some(until) });
    world.run("ghcr.io/team/api:1");
    world.run("quay.io/team/api:1");
    world.sign("quay.io/team/api:1", "b");
    world.pass(30);
    world.failure = None;
    // That of the other registry goes on.
    assert_eq!(world.take_log(), ["resolve", "resolve", "resolve", "fetch", "create"]);
    world.pass(1_900);
    assert_eq!(world.take_log(), [""; 0]);
    world.pass(HOUR);
    assert!(world.object(WEB).is_some());
}

/// The names of the repositories of GitHub that are asked.
fn asked_at_github(actions: &[EvidenceAction]) -> Vec<Vec<String>> {
    let github = actions.iter().filter_map(|action| match action {
        EvidenceAction::Fetch { places, .. } => Some(places),
        _ => None,
    });
    let name = |place: &'_ Place| match place {
        Place::Github(repository) => Some(repository.name.clone()),
        Place::Image(_) => None,
    };
    github.map(|places| places.iter().filter_map(name).collect()).collect()
}

fn used(images: &[String]) -> EvidenceObservation {
    let of = |image: &String| (image.clone(), BTreeSet::from(["shop".to_owned()]));
    EvidenceObservation::Used(images.iter().map(of).collect())
}

fn with_github() -> Evidence {
    let repositories =
        vec![AttestedImages { images: "ghcr.io/team/web".to_owned(), repository: "team/web".to_owned() }];
    let github = Some(GithubAttestations { repositories, ..GithubAttestations::default() });
    let evidence = Some(CopiedEvidence { github, ..CopiedEvidence::default() });
    Evidence::new(&CompanionSettings { evidence, ..CompanionSettings::default() }, &policy(None)).unwrap()
}

#[test]
fn github_is_asked_about_images_that_the_settings_name() {
    let now = Timestamp(1_800_000_000);
    let at = |repository: &str| format!("{repository}@{}", digest_of("a"));
    for (images, expected) in [
        (vec![at("ghcr.io/team/web")], vec![vec!["team/web"]]),
        (vec![at("ghcr.io/team/api")], vec![vec![]]),
        // The same digest, from two registries.
        (vec![at("ghcr.io/team/api"), at("ghcr.io/team/web"), at("quay.io/team/web")], vec![vec!["team/web"]]),
    ] {
        let mut evidence = with_github();
        evidence.observe(used(&images), now);
        assert_eq!(asked_at_github(&evidence.due(now)), expected, "{images:?}");
    }
    // The digest is used in another repository before.
    let mut evidence = with_github();
    evidence.observe(used(&[at("ghcr.io/team/api")]), now);
    evidence.observe(used(&[at("ghcr.io/team/web")]), now);
    assert_eq!(asked_at_github(&evidence.due(now)), [["team/web"]]);
}

/// One that takes no more requests is left alone until it says. What isn't asked there goes on.
#[test]
fn github_is_asked_again_when_it_says() {
    let mut world = World::copied(None);
    let object = world.object(WEB).cloned();
    world.restart_with(with_github());
    let until = Timestamp(world.now.0 + 2_000);
    world.failure = Some(FetchFailure::Registry { host: "api.github.com".to_owned(), until: Some(until) });
    world.pieces.clear();
    world.pass(10);
    assert_eq!(world.take_log(), ["resolve", "fetch"]);
    // The object keeps what GitHub may still have.
    assert_eq!(world.object(WEB).cloned(), object);
    world.run("ghcr.io/team/api:1");
    world.sign("ghcr.io/team/api:1", "b");
    world.run(&format!("ghcr.io/team/web@{}", digest_of("other")));
    world.asked_github.clear();
    world.pass(1_900);
    assert!(world.object("ghcr.io/team/api:1").is_some());
    assert_eq!(world.object(WEB).cloned(), object);
    assert!(world.asked_github.is_empty(), "{:?}", world.asked_github);
    world.failure = None;
    world.take_log();
    world.pass(2 * HOUR);
    let log = world.take_log();
    assert!(log.contains(&"delete".to_owned()), "{log:?}");
}

/// While GitHub takes no more requests, images that wait for it don't use up what their registry may be asked.
#[test]
fn images_that_wait_for_github_leave_their_registry_to_others() {
    let mut world = World::new(None);
    world.evidence = with_github();
    let until = Timestamp(world.now.0 + 4_000);
    world.failure = Some(FetchFailure::Registry { host: "api.github.com".to_owned(), until: Some(until) });
    for number in 0..50 {
        world.run(&format!("ghcr.io/team/web@{}", digest_of(&format!("{number}"))));
    }
    world.pass(300);
    world.take_log();
    for number in 0..20 {
        world.run(&format!("ghcr.io/team/api@{}", digest_of(&format!("api {number}"))));
    }
    world.pass(60);
    assert_eq!(world.take_log(), ["fetch"; 20]);
}

#[derive(Clone, Debug)]
enum Happens {
    Run(u8),
    Stop(u8),
    Sign(u8, u8),
    Unsign(u8),
    Delete(u8),
    Edit(u8),
    Fails(bool),
    Refuses(bool),
    Restart,
    Pass(u16),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => (0..8_u8).prop_map(Happens::Run),
        1 => (0..8_u8).prop_map(Happens::Stop),
        3 => (0..8_u8, 0..3_u8).prop_map(|(image, text)| Happens::Sign(image, text)),
        1 => (0..8_u8).prop_map(Happens::Unsign),
        1 => (0..8_u8).prop_map(Happens::Delete),
        1 => (0..8_u8).prop_map(Happens::Edit),
        1 => any::<bool>().prop_map(Happens::Fails),
        1 => any::<bool>().prop_map(Happens::Refuses),
        1 => Just(Happens::Restart),
        4 => (1..400_u16).prop_map(Happens::Pass),
    ]
}

/// Two registries, by tags and by digests.
fn image(number: u8) -> String {
    let host = if number.is_multiple_of(2) { "ghcr.io" } else { "quay.io" };
    let tagged = format!("{host}/team/web-{number}:1");
    if number < 4 { tagged } else { format!("{host}/team/web-{number}@{}", digest_of(&tagged)) }
}

fn digest(number: u8) -> String {
    let image = image(number);
    image.split_once('@').map_or_else(|| digest_of(&image), |(_, digest)| digest.to_owned())
}

fn play(max_age: Option<&str>, all: &[Happens]) -> World {
    let mut world = World::new(max_age);
    for happens in all {
        match happens {
            Happens::Run(number) => world.run(&image(*number)),
            Happens::Stop(number) => world.stop(&image(*number)),
            Happens::Sign(number, text) => {
                world.pieces.insert(digest(*number), vec![piece(&text.to_string())]);
            }
            Happens::Unsign(number) => {
                world.pieces.remove(&digest(*number));
            }
            Happens::Delete(number) => {
                if let Some(object) = world.objects.remove(&digest(*number)) {
                    let gone = EvidenceObservation::ObjectGone(KnownObject::read(&object).unwrap());
                    world.evidence.observe(gone, world.now);
                }
            }
            Happens::Edit(number) => {
                if let Some(object) = world.objects.get_mut(&digest(*number)) {
                    object["metadata"]["generation"] = json!(2);
                    let seen = EvidenceObservation::Object(KnownObject::read(object).unwrap());
                    world.evidence.observe(seen, world.now);
                }
            }
            Happens::Fails(fails) => {
                let failure = FetchFailure::Registry { host: "ghcr.io".to_owned(), until: None };
                world.failure = fails.then_some(failure);
            }
            Happens::Refuses(refuses) => world.refuses_writes = *refuses,
            Happens::Restart => world.restart(max_age),
            Happens::Pass(seconds) => world.pass(i64::from(*seconds)),
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn what_is_used_and_signed_has_an_object_in_the_end_and_nothing_else(
        is_short in any::<bool>(),
        all in prop::collection::vec(happens(), 0..30),
    ) {
        let max_age = is_short.then_some("8h");
        let mut world = play(max_age, &all);
        prop_assert_eq!(&world.log, &play(max_age, &all).log);
        // In the end everything works again.
        (world.failure, world.refuses_writes) = (None, false);
        world.pass(34 * HOUR);
        for number in 0..8 {
            let wanted = world.pieces.get(&digest(number)).filter(|_| world.used.contains_key(&image(number)));
            let wanted = wanted.map(|pieces| data_encoding::BASE64.encode(&pieces[0].bytes));
            let there = world.objects.get(&digest(number));
            let there = there.map(|object| object["spec"]["evidence"][0]["data"].as_str().unwrap().to_owned());
            prop_assert_eq!(there, wanted, "{}", image(number));
        }
    }
}
