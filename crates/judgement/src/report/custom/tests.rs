//! Reports of any kind, against a cluster that masks fields as the host does.

use super::CustomObjects;
use crate::acceptance::{Judge, Judgement, Verdict};
use crate::reason::OtherImage;
use crate::report::source::{Knowledge, Source as _, Statement, WantedPlatform};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_host::WireHost;
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_settings::{CustomReports, ReportSource, Settings};
use image_admission_stub_host::{Call, StubHost};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_700_000_000);

fn sha(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// A cluster with these objects. It fails a request for a whole object or for all objects of a kind.
fn cluster_of(objects: impl IntoIterator<Item = Value>) -> StubHost {
    let cluster = StubHost::default().answer_with(|call| {
        assert!(["get_resource", "list_resources_by_namespace"].contains(&call.operation.as_str()), "{call}");
        assert!(call.payload["field_masks"].is_array(), "no rule is there that would see all of it: {call}");
        None
    });
    cluster.objects(objects)
}

/// The requests, with their fields.
fn asked(cluster: &StubHost) -> Vec<String> {
    let asked = |call: &Call| {
        let (namespace, fields) = (call.field("namespace"), call.masks().collect::<Vec<_>>().join(" "));
        match call.operation.as_str() {
            "get_resource" => format!("get {namespace}/{} {fields}", call.field("name")),
            _ => {
                let selector = call.payload["label_selector"].as_str().unwrap_or("everything");
                format!("list {namespace} {selector} {fields}")
            }
        }
    };
    cluster.calls().iter().map(asked).collect()
}

fn object(name: &str, rest: Value) -> Value {
    let mut object = json!({
        "apiVersion": "scans.example.com/v1",
        "kind": "Scan",
        "metadata": {"name": name, "namespace": "scans", "creationTimestamp": "2023-01-01T00:00:00Z",
                     "labels": {"app": "scanner"}},
    });
    let more = rest.as_object().unwrap().clone();
    for (key, value) in more {
        match (key.as_str(), &value) {
            ("metadata", Value::Object(more)) => {
                object["metadata"].as_object_mut().unwrap().extend(more.clone());
            }
            _ => object[key] = value,
        }
    }
    object
}

/// The image to look up, and the settings.
struct Question {
    settings: Settings,
    reference: ImageReference,
    image: ResolvedImage,
}

impl Question {
    /// About an image that stands alone, with digest `1`.
    fn new(custom: Value) -> Self {
        Self::with(custom, json!({}))
    }

    fn with(custom: Value, more: Value) -> Self {
        let mut source = json!({
            "apiVersion": "scans.example.com/v1",
            "kind": "Scan",
            "namespaces": ["scans"],
            "name": "{digestHex}",
        });
        let custom = custom.as_object().unwrap().clone();
        if custom.contains_key("selector") {
            source.as_object_mut().unwrap().remove("name");
        }
        source.as_object_mut().unwrap().extend(custom);
        let mut settings = json!({"reports": {"sources": [{"custom": source}]}});
        for (key, value) in more.as_object().unwrap() {
            match key.as_str() {
                "maxAge" => settings["reports"]["maxAge"] = value.clone(),
                _ => settings[key] = value.clone(),
            }
        }
        Self {
            settings: Settings::read(&settings).unwrap(),
            reference: ImageReference::parse("ghcr.io/team/app:1.0").unwrap(),
            image: ResolvedImage {
                digest: sha('1'),
                platforms: vec![manifest('1', None)],
                pin: sha('1'),
                is_unproven: false,
                speaks_for_platforms: true,
                others: Vec::new(),
                base: None,
            },
        }
    }

    fn of(mut self, reference: &str) -> Self {
        self.reference = ImageReference::parse(reference).unwrap();
        self
    }

    /// About an index with digest `1`, of these platforms.
    fn index(mut self, platforms: &[(char, Option<&str>)]) -> Self {
        self.image.platforms = platforms.iter().map(|(digit, platform)| manifest(*digit, *platform)).collect();
        self
    }

    fn custom(&self) -> &CustomReports {
        match self.settings.reports.sources.as_slice() {
            [ReportSource::Custom(custom)] => custom,
            _ => panic!("one source"),
        }
    }

    /// The statements about each platform, as strings, for a workload in `shop`.
    fn ask(&self, cluster: &StubHost) -> Vec<Vec<String>> {
        let namespace = "shop";
        let judge = Judge::new(&self.settings, &self.reference, namespace, NOW);
        let host = WireHost(cluster.wire());
        let mut source = CustomObjects::new(self.custom(), &host, namespace);
        let of_platform = self.image.platforms.iter().map(|manifest| {
            let wanted = WantedPlatform {
                at_mirror: None,
                is_tag_certain: true,
                may_be_down: true,
                reference: &self.reference,
                image: &self.image,
                manifest,
                containers: &[],
                max_age: self.settings.reports.max_age.as_ref(),
                now: NOW,
            };
            source.find(&wanted, &judge).iter().map(shown).collect()
        });
        of_platform.collect()
    }

    /// The one statement about an image that stands alone.
    #[track_caller]
    fn says(&self, cluster: &StubHost, expected: &str) {
        assert_eq!(self.ask(cluster), vec![vec![expected.to_owned()]]);
    }
}

fn manifest(digit: char, platform: Option<&str>) -> PlatformManifest {
    PlatformManifest {
        digest: sha(digit),
        platform: platform.map(|text| Platform::parse(text).unwrap()),
        is_odd: false,
        is_plain: platform.is_some(),
        unjudgeable: None,
    }
}

fn shown(statement: &Statement<'_>) -> String {
    let what = match &statement.known {
        Knowledge::Fresh(Judgement { verdict: Verdict::Accepted, .. }) => "accepted".to_owned(),
        Knowledge::Fresh(Judgement { verdict: Verdict::Rejected(broken), .. }) => {
            let texts: Vec<String> = broken.iter().map(ToString::to_string).collect();
            format!("rejected: {}", texts.join("; "))
        }
        Knowledge::Fresh(Judgement { verdict: Verdict::Unreadable(why), .. }) => format!("unreadable: {why}"),
        Knowledge::Fresh(Judgement { verdict: Verdict::Incomparable(why), .. }) => format!("unreadable: {why}"),
        Knowledge::Stale(why) => format!("stale: {why}"),
        Knowledge::OfAnotherImage(which @ OtherImage::OnlyTag { .. }) => format!("only the tag: {which}"),
        Knowledge::OfAnotherImage(which) => format!("other image: {which}"),
        Knowledge::NotScanned(why) => format!("not scanned: {why}"),
        Knowledge::Pending(what) => format!("pending: {what}"),
        Knowledge::Failed(words) => format!("failed: {words}"),
        Knowledge::Provoked(words) => format!("provoked: {words}"),
        Knowledge::LookUpFailed(words) => format!("look-up failed: {words}"),
    };
    let time = statement.time.map_or(String::new(), |time| format!(" of {time}"));
    format!("{}{time} {what}", statement.by).trim_start().to_owned()
}

/// The fewest fields that a source with findings needs.
fn fields() -> Value {
    json!({"fields": {"digest": "spec.digest", "findings": "report.items", "id": "id", "severity": "severity"}})
}

/// A report of this kind about digest `1`, with these entries.
fn report(items: Value) -> Value {
    object(&"1".repeat(64), json!({"spec": {"digest": sha('1')}, "report": {"items": items}}))
}

fn named() -> String {
    format!("Scan scans/{}", "1".repeat(64))
}

#[test]
fn a_report_by_name_is_judged() {
    let question = Question::new(fields());
    let clean = cluster_of([report(json!([]))]);
    question.says(&clean, &format!("{} accepted", named()));
    let digits = "1".repeat(64);
    assert_eq!(asked(&clean), [format!("get scans/{digits} report.items.id report.items.severity spec.digest")]);
    let bad =
        cluster_of([report(json!([{"id": "CVE-1", "severity": "CRITICAL"}, {"id": "CVE-2", "severity": "low"}]))]);
    question.says(&bad, &format!("{} rejected: 1 critical finding, at most 0 accepted: CVE-1 (no fix)", named()));
    // There is nothing more to know about it, so it isn't read again.
    assert_eq!(bad.calls().len(), 1);
    assert_eq!(question.ask(&cluster_of([])), vec![Vec::<String>::new()]);
}

#[test]
fn what_rejects_is_read_again_to_be_explained() {
    let question = Question::new(json!({"fields": {
        "digest": "spec.digest", "time": "report.time", "findings": "report.items", "id": "id", "severity": "severity",
        "package": "package.name", "fixedVersion": "fix.versions",
    }}));
    let mut object = report(json!([{
        "id": "CVE-1", "severity": "Critical", "package": {"name": "openssl"}, "fix": {"versions": ["", "3.1"]},
    }]));
    object["report"]["time"] = json!("2023-11-14T00:00:00Z");
    let cluster = cluster_of([object]);
    question.says(
        &cluster,
        &format!(
            "{} of 2023-11-14T00:00:00Z rejected: 1 critical finding, at most 0 accepted: CVE-1 in openssl (fixed in 3.1)",
            named()
        ),
    );
    let asked = asked(&cluster);
    assert!(
        !asked[0].contains("report.time") && !asked[0].contains("fix") && !asked[0].contains("package"),
        "{asked:?}"
    );
    assert!(asked[1].contains("report.time") && asked[1].contains("report.items.fix.versions"), "{asked:?}");
}

#[test]
fn what_is_not_there_is_never_clean() {
    let question = Question::new(fields());
    let digits = "1".repeat(64);
    let spec = json!({"digest": sha('1')});
    for rest in [json!({"spec": spec}), json!({"spec": spec, "report": null}), json!({"spec": spec, "report": {}})] {
        let cluster = cluster_of([object(&digits, rest)]);
        question.says(&cluster, &format!("{} failed: it has no `report.items`", named()));
    }
    let says = |items: Value, expected: &str| {
        question.says(&cluster_of([report(items)]), &format!("{} {expected}", named()));
    };
    says(json!(null), "failed: it has no `report.items`");
    says(json!({}), "failed: its `report.items` is not a list");
    says(json!("none"), "failed: its `report.items` is not a list");
    says(json!(["CVE-1"]), "failed: `report.items` has an entry that is not an object");
    says(json!([null]), "failed: `report.items` has an entry that is not an object");
    says(json!([{}]), "failed: none of its findings has `severity`");
    says(json!([{"id": "CVE-1", "severity": 9}]), "failed: none of its findings has `severity`");
    says(json!([{"severity": "high"}]), "failed: none of its findings has `id`");
    // Some scanners omit what they don't know.
    says(json!([{"id": "CVE-1"}, {"id": "CVE-2", "severity": "low"}]), "accepted");
    // With every field missing, it doesn't even say whose it is.
    question
        .says(&cluster_of([object(&digits, json!({}))]), &format!("{} other image: one that it doesn't name", named()));
}

#[test]
fn lists_are_passed_through() {
    let question = Question::new(json!({"fields": {
        "digest": "spec.digest", "findings": "report.results.vulnerabilities", "id": "id", "severity": "severity",
    }}));
    let says = |results: Value, expected: &str| {
        let object = object(&"1".repeat(64), json!({"spec": {"digest": sha('1')}, "report": {"results": results}}));
        question.says(&cluster_of([object]), &format!("{} {expected}", named()));
    };
    says(json!([]), "accepted");
    says(json!([{}, {"vulnerabilities": null}, {"vulnerabilities": []}]), "accepted");
    says(
        json!([{"vulnerabilities": null}, {"vulnerabilities": [[{"id": "CVE-1", "severity": "critical"}]]}]),
        "rejected: 1 critical finding, at most 0 accepted: CVE-1 (no fix)",
    );
    says(
        json!([{"vulnerabilities": "none"}]),
        "failed: `report.results.vulnerabilities` has an entry that is not an object",
    );
    says(json!(["none"]), "failed: `report.results.vulnerabilities` has an entry that is not an object");
    says(json!({}), "failed: it has no `report.results.vulnerabilities`");
}

#[test]
fn a_foreign_object_under_the_computed_name() {
    let question = Question::new(json!({"fields": {
        "image": "spec.image", "digest": "spec.digest", "findings": "report.items", "id": "id", "severity": "severity",
    }}));
    let digits = "1".repeat(64);
    let of = |image: Value, digest: Value| {
        object(&digits, json!({"spec": {"image": image, "digest": digest}, "report": {"items": []}}))
    };
    let says = |object: Value, expected: &str| {
        question.says(&cluster_of([object]), &format!("{} {expected}", named()));
    };
    says(of(json!("ghcr.io/team/app:1.0"), json!(sha('1'))), "accepted");
    says(of(json!(format!("ghcr.io/team/app@{}", sha('1'))), json!(null)), "accepted");
    // The more exact digest wins.
    let other = sha('2');
    says(
        of(json!(format!("ghcr.io/team/app@{}", sha('1'))), json!(other)),
        &format!("other image: ghcr.io/team/app@{other}"),
    );
    says(
        of(json!("ghcr.io/team/other:1.0"), json!(sha('1'))),
        &format!("other image: ghcr.io/team/other:1.0@{}", sha('1')),
    );
    says(of(json!("app"), json!("sha256:1")), "other image: docker.io/library/app:latest@sha256:1");
    says(of(json!(null), json!(sha('1'))), &format!("other image: {}", sha('1')));
    says(of(json!("ghcr.io/team/app:1.0"), json!(null)), "only the tag: ghcr.io/team/app:1.0");
    // An answer with another object is nobody's report.
    let mut renamed = of(json!("ghcr.io/team/app:1.0"), json!(sha('1')));
    renamed["metadata"]["name"] = json!("another");
    renamed["metadata"]["asked-as"] = json!(digits);
    says(renamed, "other image: one that it doesn't name");
    let mut of_another_kind = of(json!("ghcr.io/team/app:1.0"), json!(sha('1')));
    of_another_kind["kind"] = json!("Scam");
    let cluster = cluster_of([]).says("get_resource", of_another_kind.to_string());
    question.says(&cluster, &format!("{} other image: one that it doesn't name", named()));
}

#[test]
fn digests_in_their_spellings() {
    let question = Question::new(fields());
    let says = |digest: Value, expected: &str| {
        let object = object(&"1".repeat(64), json!({"spec": {"digest": digest}, "report": {"items": []}}));
        let said = question.ask(&cluster_of([object]));
        assert!(said[0][0].contains(expected), "{said:?}");
    };
    says(json!(sha('1')), "accepted");
    says(json!("1".repeat(64)), "accepted");
    says(json!(format!("ghcr.io/team/app@{}", sha('1'))), "accepted");
    says(json!([sha('2'), sha('1')]), "accepted");
    says(json!("1".repeat(63)), "other image");
    says(json!([]), "other image");
    says(json!(1), "other image");
}

#[test]
fn names_are_made_from_templates() {
    let name = |template: &str, reference: &str| {
        let question = Question::new(json!({"name": template, "fields": fields()["fields"]}));
        let question = question.of(reference).index(&[('2', Some("linux/amd64"))]);
        let cluster = cluster_of([]);
        assert_eq!(question.ask(&cluster), vec![Vec::<String>::new()]);
        let asked = asked(&cluster);
        asked.first().map(|text| text.split(' ').nth(1).unwrap().strip_prefix("scans/").unwrap().to_owned())
    };
    let (ones, twos) = ("1".repeat(64), "2".repeat(64));
    let app = "ghcr.io:5000/team/my_app:V1_0";
    assert_eq!(name("{digest}", app), Some(format!("sha256-{ones}")));
    assert_eq!(name("sha256.{digestHex}", app), Some(format!("sha256.{ones}")));
    assert_eq!(name("x-{platformDigestHex}", app), Some(format!("x-{twos}")));
    assert_eq!(name("{platformDigest}", app), Some(format!("sha256-{twos}")));
    assert_eq!(name("{registry}-{repository}-{tag}", app), Some("ghcr.io-5000-team-my-app-v1-0".to_owned()));
    assert_eq!(name("{registry}-{tag}", "nginx"), Some("docker.io-latest".to_owned()));
    assert_eq!(name("{namespace}-{tag}", "nginx"), Some("shop-latest".to_owned()));
    // There is no tag, or no name that an object could have.
    assert_eq!(name("{repository}-{tag}", &format!("nginx@{}", sha('1'))), None);
    assert_eq!(name("{repository}-{digest}", &format!("ghcr.io/{}", "a".repeat(250))), None);
}

#[test]
fn every_trusted_namespace_is_asked() {
    let custom =
        json!({"namespaces": ["scans", "broken", "more"], "workloadNamespace": true, "fields": fields()["fields"]});
    let question = Question::new(custom);
    let mut elsewhere = report(json!([{"id": "CVE-1", "severity": "critical"}]));
    elsewhere["metadata"]["namespace"] = json!("more");
    let cluster = cluster_of([report(json!([])), elsewhere]).broken("broken");
    let digits = "1".repeat(64);
    assert_eq!(
        question.ask(&cluster),
        vec![vec![
            format!("Scan scans/{digits} accepted"),
            "look-up failed: no route to host".to_owned(),
            format!("Scan more/{digits} rejected: 1 critical finding, at most 0 accepted: CVE-1 (no fix)"),
        ]]
    );
    let asked = asked(&cluster);
    assert!(asked.last().unwrap().starts_with("get shop/"), "{asked:?}");
    assert_eq!(
        CustomObjects::new(question.custom(), &WireHost(cluster.wire()), "shop").whereabouts().to_string(),
        "from Scan in namespaces scans, broken, more, shop"
    );
}

#[test]
fn a_report_speaks_of_its_platform_only() {
    let custom = |more: Value| {
        let mut custom = json!({"fields": {
            "digest": "spec.digest", "platform": "spec.platform", "findings": "report.items", "id": "id", "severity": "severity",
        }});
        custom.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Question::new(custom).index(&[
            ('2', Some("linux/amd64")),
            ('3', Some("linux/arm64")),
            ('4', Some("linux/s390x")),
        ])
    };
    let of = |digest: char, platform: Value| {
        cluster_of([object(
            &"1".repeat(64),
            json!({"spec": {"digest": sha(digest), "platform": platform}, "report": {"items": []}}),
        )])
    };
    let by = named();
    let (accepted, amd64) = (format!("{by} accepted"), format!("{by} not scanned: {by} is for linux/amd64"));
    let unknown =
        format!("{by} not scanned: {by} doesn't say for which platform it is; the source's setting `platform` can");
    let other = |digit| format!("{by} other image: {}", sha(digit));
    let check = |question: &Question, cluster: &StubHost, expected: [&String; 3]| {
        assert_eq!(question.ask(cluster), expected.map(|text| vec![text.clone()]));
    };
    let question = custom(json!({}));
    let cluster = of('1', json!("linux/amd64"));
    check(&question, &cluster, [&accepted, &amd64, &amd64]);
    assert_eq!(cluster.calls().len(), 1, "one object is asked for once");
    check(&question, &of('1', json!(null)), [&unknown; 3]);
    check(&question, &of('1', json!("amd64")), [&unknown; 3]);
    // The digest of one manifest identifies its platform.
    check(&question, &of('3', json!(null)), [&other('3'), &accepted, &other('3')]);
    check(&question, &of('3', json!("amd64")), [&other('3'), &accepted, &other('3')]);
    check(&question, &of('3', json!("linux/amd64")), [&other('3'), &amd64, &other('3')]);
    // An image's builder may have chosen these strings, so its findings count.
    let found = json!([{"id": "CVE-1", "severity": "critical"}]);
    let spec = json!({"digest": sha('3'), "platform": "linux/amd64"});
    let critical = object(&"1".repeat(64), json!({"spec": spec, "report": {"items": found}}));
    assert!(question.ask(&cluster_of([critical]))[1][0].contains(" rejected: 1 critical finding"));
    check(&question, &of('4', json!(null)), [&other('4'), &other('4'), &accepted]);
    // The settings apply to reports that don't say it.
    let question = custom(json!({"platform": "linux/amd64"}));
    check(&question, &of('1', json!(null)), [&accepted, &amd64, &amd64]);
    check(&question, &of('3', json!(null)), [&other('3'), &accepted, &other('3')]);
    check(
        &question,
        &of('1', json!("linux/arm64/v8")),
        [
            &format!("{by} not scanned: {by} is for linux/arm64/v8"),
            &accepted,
            &format!("{by} not scanned: {by} is for linux/arm64/v8"),
        ],
    );
    check(&question, &of('1', json!("amd64")), [&unknown; 3]);
}

#[test]
fn a_list_tells_names_and_nothing_else() {
    let question = Question::new(json!({"selector": "app=scanner", "fields": {
        "repository": "spec.repository", "registry": "spec.registry", "digest": "spec.digest",
        "findings": "report.items", "id": "id", "severity": "severity",
    }}));
    let of = |name: &str, repository: &str, items: Value| {
        let spec = json!({"registry": "GHCR.io", "repository": repository, "digest": sha('1')});
        object(name, json!({"spec": spec, "report": {"items": items}}))
    };
    let critical = json!([{"id": "CVE-1", "severity": "critical"}]);
    let there = [
        of("b", "team/app", json!([])),
        of("a", "team/app", critical.clone()),
        of("c", "team/other", critical.clone()),
        of("changed", "team/other", critical.clone()),
    ];
    let mut listed = there.to_vec();
    listed[3] = of("changed", "team/app", json!([]));
    listed.push(of("gone", "team/app", critical.clone()));
    let mut elsewhere = of("elsewhere", "team/app", critical);
    elsewhere["metadata"]["namespace"] = json!("other");
    listed.push(elsewhere);
    let cluster = cluster_of(there).listed(listed).unfiltered();
    assert_eq!(
        question.ask(&cluster),
        vec![vec![
            "Scan scans/a rejected: 1 critical finding, at most 0 accepted: CVE-1 (no fix)".to_owned(),
            "Scan scans/b accepted".to_owned(),
        ]]
    );
    let asked = asked(&cluster);
    assert!(asked[0].starts_with("get scans/image-admission"), "a GET must have answered: {asked:?}");
    assert_eq!(asked[1], "list scans app=scanner spec.digest spec.registry spec.repository");
    assert_eq!(asked.len(), 6, "{asked:?}");
}

#[test]
fn one_list_serves_all_platforms() {
    let question = Question::new(json!({"selector": "", "fields": fields()["fields"]}));
    let question = question.index(&[('2', Some("linux/amd64")), ('3', Some("linux/arm64"))]);
    let of = |name: &str, digest: char| object(name, json!({"spec": {"digest": sha(digest)}, "report": {"items": []}}));
    let cluster = cluster_of([of("a", '1'), of("b", '1'), of("c", '2')]);
    let unknown = "Scan scans/a not scanned: Scan scans/a doesn't say for which platform it is; the source's setting `platform` can";
    assert_eq!(
        question.ask(&cluster),
        vec![vec![unknown.to_owned(), "Scan scans/c accepted".to_owned()], vec![unknown.to_owned()]]
    );
    assert_eq!(cluster.count("list"), 1);
    let broken = cluster_of([]).broken("scans");
    assert_eq!(question.ask(&broken), vec![vec!["look-up failed: no route to host".to_owned()]; 2]);
    assert_eq!(broken.calls().len(), 1, "a list is never asked for where a GET had no answer");
}

#[test]
fn where_a_tag_may_identify() {
    let custom = |identity: &str| {
        json!({"identity": identity, "name": "of-{namespace}", "fields": {
            "image": "spec.image", "tag": "spec.tags", "findings": "report.items", "id": "id", "severity": "severity",
        }})
    };
    let of = |image: &str, tags: Value| {
        let spec = json!({"image": image, "tags": tags});
        cluster_of([object("of-shop", json!({"spec": spec, "report": {"items": []}}))])
    };
    let ask = |identity: &str, reference: &str, cluster: &StubHost| {
        let said = Question::new(custom(identity)).of(reference).ask(cluster);
        said[0][0].strip_prefix("Scan scans/of-shop ").unwrap().to_owned()
    };
    let app = "ghcr.io/team/app:1.0";
    assert_eq!(ask("tag", app, &of("ghcr.io/team/app", json!(["0.9", "1.0"]))), "accepted");
    assert_eq!(ask("tag", app, &of("ghcr.io/team/app:1.0", json!([]))), "accepted");
    assert_eq!(ask("digest", app, &of("ghcr.io/team/app:1.0", json!([]))), "only the tag: ghcr.io/team/app:1.0");
    assert_eq!(ask("digest", app, &of("ghcr.io/team/app:2.0", json!([]))), "other image: ghcr.io/team/app:2.0");
    assert_eq!(ask("tag", app, &of("ghcr.io/team/app", json!("2.0"))), "other image: ghcr.io/team/app:2.0");
    // `latest` is implied, and nobody wrote it.
    assert_eq!(ask("tag", "ghcr.io/team/app", &of("ghcr.io/team/app", json!([]))), "other image: ghcr.io/team/app");
    // Beside a digest, the tag is a claim.
    for identity in ["tag", "digest"] {
        let said = ask(identity, &format!("{app}@{}", sha('1')), &of("ghcr.io/team/app:1.0", json!([])));
        assert!(said.starts_with("other image"), "{said}");
    }
}

/// A list shows that a tag might do, and no report is read for that.
#[test]
fn a_listed_report_of_the_tag_alone() {
    let custom = json!({"selector": "", "fields": {
        "image": "spec.image", "findings": "report.items", "id": "id", "severity": "severity",
    }});
    let of = |name: &str, image: &str| object(name, json!({"spec": {"image": image}, "report": {"items": []}}));
    let app = "ghcr.io/team/app:1.0";
    let cluster = cluster_of([of("a", "ghcr.io/team/app:2.0"), of("b", app), of("c", app)]);
    let question = Question::new(custom).of(app);
    assert_eq!(question.ask(&cluster), vec![vec!["Scan scans/b only the tag: ghcr.io/team/app:1.0".to_owned()]]);
    let reads = asked(&cluster).iter().filter(|text| text.starts_with("get scans/b")).count();
    assert_eq!(reads, 0);
}

#[test]
fn how_old_a_report_is() {
    let says = |time: Value, path: &str, expected: &str| {
        let mut custom = fields();
        if !path.is_empty() {
            custom["fields"]["time"] = json!(path);
        }
        let question = Question::with(custom, json!({"maxAge": "24h"}));
        let mut object = report(json!([]));
        object["status"] = json!({"scanned": time});
        object["metadata"]["annotations"] = json!({"scanner.example.com/last-scan": "1699990000"});
        question.says(&cluster_of([object]), &format!("{}{expected}", named()));
    };
    let fresh = " of 2023-11-14T19:26:40Z accepted";
    says(json!("2023-11-14T19:26:40Z"), "status.scanned", fresh);
    says(json!(1_699_990_000), "status.scanned", fresh);
    says(json!(1_699_990_000.5), "status.scanned", fresh);
    says(json!("1699990000"), "status.scanned", fresh);
    says(json!(null), "metadata.annotations.scanner.example.com/last-scan", fresh);
    says(
        json!(["2023-11-14T19:26:40Z", "2023-11-01T00:00:00Z"]),
        "status.scanned",
        " of 2023-11-01T00:00:00Z stale: it is of 2023-11-01T00:00:00Z, older than 24h",
    );
    let stale = |why: &str| format!(" stale: {why}, so that it counts as older than 24h");
    says(json!(null), "status.scanned", &stale("`status.scanned` has no time"));
    says(json!(""), "status.scanned", &stale("`status.scanned` has no time"));
    says(json!("last week"), "status.scanned", &stale("`status.scanned` is no time but \"last week\""));
    says(json!(null), "", &stale("the setting `fields.time` is not set"));
}

#[test]
fn the_scanner_s_own_words() {
    let custom = |findings: bool| {
        let mut custom = fields();
        custom["fields"]["verdict"] = json!("status.verdict");
        custom["fields"]["error"] = json!("status.error");
        if !findings {
            for key in ["findings", "id", "severity"] {
                custom["fields"].as_object_mut().unwrap().remove(key);
            }
        }
        custom
    };
    let says = |findings: bool, status: Value, expected: &str| {
        let mut object = report(json!([{"id": "CVE-1", "severity": "critical"}]));
        object["status"] = status;
        Question::with(custom(findings), json!({})).says(&cluster_of([object]), &format!("{} {expected}", named()));
    };
    says(false, json!({"verdict": "pass"}), "accepted");
    says(false, json!({"verdict": "Failed"}), "rejected: the report's own verdict is `fail`");
    says(
        false,
        json!({"verdict": ["pass", "maybe", "pass"]}),
        "unreadable: its own verdict `maybe` is neither `pass` nor `fail`",
    );
    says(false, json!({"verdict": ["maybe", "fail", "pass"]}), "rejected: the report's own verdict is `fail`");
    says(false, json!({"verdict": true}), "unreadable: its own verdict `true` is neither `pass` nor `fail`");
    says(false, json!({"verdict": null}), "failed: `status.verdict` is missing");
    says(false, json!(null), "failed: `status.verdict` is missing");
    says(true, json!({"verdict": "pass"}), "accepted");
    says(true, json!({}), "rejected: 1 critical finding, at most 0 accepted: CVE-1 (no fix)");
    says(true, json!({"verdict": "pass", "error": "can't\npull"}), "failed: can't\\u{a}pull");
    says(true, json!({"verdict": "pass", "error": {"code": 5}}), "failed: `status.error` is {\"code\":5}");
    says(true, json!({"verdict": "pass", "error": true}), "failed: `status.error` is true");
    for none in [json!(null), json!(""), json!(false), json!(0), json!([]), json!({})] {
        says(true, json!({"verdict": "pass", "error": none}), "accepted");
    }
    // An accepted image is still checked for findings that are never accepted.
    let question = Question::with(custom(true), json!({"acceptance": {"denyAlways": ["CVE-1"]}}));
    let mut object = report(json!([{"id": "CVE-1", "severity": "low"}]));
    object["status"] = json!({"verdict": "pass"});
    question.says(&cluster_of([object.clone()]), &format!("{} rejected: `denyAlways` names CVE-1 (no fix)", named()));
    // And without them it would be unknown.
    object["report"] = json!(null);
    question.says(&cluster_of([object]), &format!("{} failed: it has no `report.items`", named()));
}

#[test]
fn what_a_finding_says() {
    let mut custom = fields();
    let more = json!({"score": "cvss.score", "suppressed": "vex.suppressed", "fixedVersion": "fixed", "purl": "purl",
        "published": "published"});
    custom["fields"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let says = |acceptance: Value, item: Value, rejected: bool| {
        let mut item = item;
        item["id"] = json!("CVE-1");
        if item.get("severity").is_none() {
            item["severity"] = json!("high");
        }
        let question = Question::with(custom.clone(), json!({"acceptance": acceptance}));
        let said = question.ask(&cluster_of([report(json!([item.clone()]))]));
        assert_eq!(said[0][0].contains("rejected"), rejected, "{item} {said:?}");
        assert_eq!(said[0][0].ends_with("accepted") && !rejected, !rejected, "{item} {said:?}");
    };
    let cvss = json!({"cvssScore": {"threshold": 7.0, "maxCount": 0}});
    for (score, rejected) in [
        (json!(7.5), true),
        (json!("7.5"), true),
        (json!([1.0, "9.8"]), true),
        (json!(6.9), false),
        (json!("0"), false),
        (json!("NaN"), false),
        (json!("inf"), false),
        (json!("high"), false),
        (json!(null), false),
    ] {
        says(cvss.clone(), json!({"cvss": {"score": score}}), rejected);
    }
    for (word, severity) in [
        ("Negligible", "low"),
        ("Important", "high"),
        ("moderate", "medium"),
        ("Defcon1", "critical"),
        ("CRITICAL", "critical"),
        ("untriaged", "unknown"),
    ] {
        for limited in ["critical", "high", "medium", "low", "unknown"] {
            let mut limits = json!({});
            limits[limited] = json!({"total": 0});
            says(json!({"maxSeverity": limits}), json!({"severity": word}), limited == severity);
        }
    }
    says(json!({"maxSeverity": {"critical": {"total": 0}}}), json!({"severity": ["low", "critical"]}), true);
    let without_fixes = json!({"maxSeverity": {"high": {"totalWithoutFixes": 0}}});
    for (fixed, rejected) in
        [(json!("1.2"), false), (json!(["", "1.2"]), false), (json!(2), false), (json!(" "), true), (json!([]), true)]
    {
        says(without_fixes.clone(), json!({"fixed": fixed}), rejected);
    }
    let all = json!({"maxSeverity": {"high": {"total": 0}}});
    for (suppressed, rejected) in
        [(json!(true), false), (json!(false), true), (json!("yes"), true), (json!([true, false]), true)]
    {
        says(all.clone(), json!({"vex": {"suppressed": suppressed}}), rejected);
    }
    let grace = json!({"maxSeverity": {"high": {"total": 0}}, "fixGracePeriod": "7d"});
    for (published, rejected) in [
        (json!("2023-11-14T00:00:00Z"), false),
        (json!("2023-11-01T00:00:00Z"), true),
        (json!(["2023-11-14T00:00:00Z", "2023-11-01T00:00:00Z"]), true),
        (json!(1_699_990_000), false),
        (json!(""), true),
    ] {
        says(grace.clone(), json!({"fixed": "1.2", "published": published}), rejected);
    }
}

#[test]
fn quay_s_image_manifest_vuln() {
    let question = Question::with(
        json!({
            "apiVersion": "secscan.quay.redhat.com/v1alpha1", "kind": "ImageManifestVuln",
            "namespaces": [], "workloadNamespace": true, "name": "sha256.{digestHex}",
            "fields": {
                "digest": "spec.manifest", "findings": "spec.features.vulnerabilities", "id": "name",
                "severity": "severity", "fixedVersion": "fixedby",
            },
        }),
        json!({"acceptance": {"maxSeverity": {"critical": {"total": 0}, "high": {"totalWithoutFixes": 0}}}}),
    );
    let vuln = |features: Value| {
        json!({
            "apiVersion": "secscan.quay.redhat.com/v1alpha1",
            "kind": "ImageManifestVuln",
            "metadata": {"name": format!("sha256.{}", "1".repeat(64)), "namespace": "shop"},
            "spec": {"image": "quay.io/team/app", "manifest": sha('1'), "features": features},
            "status": {"lastUpdate": "2020-02-05 14:40:14.3 +0000 UTC", "highestSeverity": "Defcon1"},
        })
    };
    let by = format!("ImageManifestVuln shop/sha256.{}", "1".repeat(64));
    let features = json!([
        {"name": "musl", "vulnerabilities": [{"name": "CVE-1", "severity": "High", "fixedby": "1.2"}]},
        {"name": "zlib", "vulnerabilities": [{"name": "CVE-2", "severity": "Defcon1", "fixedby": ""}]},
        {"name": "bash"},
    ]);
    question.says(
        &cluster_of([vuln(features)]),
        &format!("{by} rejected: 1 critical finding, at most 0 accepted: CVE-2 (no fix)"),
    );
    question.says(&cluster_of([vuln(json!([{"name": "musl", "vulnerabilities": []}]))]), &format!("{by} accepted"));
    question.says(&cluster_of([vuln(json!(null))]), &format!("{by} failed: it has no `spec.features.vulnerabilities`"));
}

#[test]
fn statnett_s_container_image_scan() {
    let question = Question::with(
        json!({
            "apiVersion": "stas.statnett.no/v1alpha1", "kind": "ContainerImageScan",
            "namespaces": [], "workloadNamespace": true, "selector": "", "platform": "linux/amd64",
            "fields": {
                "image": "spec.name", "tag": "spec.tag", "digest": "spec.digest", "time": "status.lastSuccessfulScanTime",
                "findings": "status.vulnerabilities", "id": "vulnerabilityID", "severity": "severity",
                "package": "pkgName", "fixedVersion": "fixedVersion",
            },
        }),
        json!({"maxAge": "48h"}),
    )
    .of("nginx:1.25")
    .index(&[('2', Some("linux/amd64"))]);
    let scan = |name: &str, digest: char, status: Value| {
        json!({
            "apiVersion": "stas.statnett.no/v1alpha1",
            "kind": "ContainerImageScan",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"name": "docker.io/library/nginx", "tag": "1.25", "digest": sha(digest), "workload": {"name": "web"}},
            "status": status,
        })
    };
    let clean = json!({"lastSuccessfulScanTime": "2023-11-14T00:00:00Z", "vulnerabilities": []});
    let bad = json!({"lastSuccessfulScanTime": "2023-11-14T00:00:00Z", "vulnerabilities": [
        {"vulnerabilityID": "CVE-1", "severity": "CRITICAL", "pkgName": "openssl", "fixedVersion": "3.1"},
    ]});
    let pending = json!({"conditions": [{"type": "Reconciling", "status": "True"}]});
    let cluster = cluster_of([
        scan("d", '1', clean.clone()),
        scan("b", '2', bad),
        scan("c", '3', clean),
        scan("a", '1', pending),
    ]);
    assert_eq!(
        question.ask(&cluster),
        vec![vec![
            "ContainerImageScan shop/a failed: it has no `status.vulnerabilities`".to_owned(),
            "ContainerImageScan shop/b of 2023-11-14T00:00:00Z rejected: 1 critical finding, at most 0 accepted: CVE-1 in openssl (fixed in 3.1)".to_owned(),
            "ContainerImageScan shop/d of 2023-11-14T00:00:00Z accepted".to_owned(),
        ]]
    );
}

#[test]
fn keys_with_dots() {
    let question = Question::new(json!({"selector": "", "fields": {
        "image": "metadata.annotations.scanner.example.com/image", "verdict": "metadata.labels.scanner.example.com/verdict",
    }}));
    let image = format!("ghcr.io/team/app@{}", sha('1'));
    let object = object(
        "a",
        json!({"metadata": {
            "annotations": {"scanner": "x", "scanner.example.com/image": image},
            "labels": {"scanner.example.com/verdict": "pass"},
        }}),
    );
    let cluster = cluster_of([object]);
    question.says(&cluster, "Scan scans/a accepted");
    let asked = asked(&cluster);
    // Metadata is always returned, and without a mask the whole object would be.
    assert!(asked[1..].iter().all(|text| text.ends_with(" metadata")), "{asked:?}");
}

#[test]
fn a_misspelt_step_below_a_list_is_not_clean() {
    let says = |path: &str, results: Value| {
        let mut all = fields()["fields"].clone();
        all["findings"] = json!(path);
        let report = object(&"1".repeat(64), json!({"spec": {"digest": sha('1')}, "report": {"results": results}}));
        Question::new(json!({"fields": all})).ask(&cluster_of([report])).concat().concat()
    };
    let clean = json!([{"target": "a", "vulnerabilities": null}, {"target": "b"}]);
    assert_eq!(says("report.results.vulnerabilities", clean.clone()), format!("{} accepted", named()));
    let wrong = says("report.results.vulnerabilitys", clean);
    assert_eq!(wrong, format!("{} failed: nothing in it has `report.results.vulnerabilitys`", named()));
    assert_eq!(says("report.results.vulnerabilities", json!([])), format!("{} accepted", named()));
}
