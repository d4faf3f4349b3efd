//! Kubescape's reports, in a cluster that masks fields as the host does.

use super::{KubescapeReports, slug};
use crate::acceptance::{Judge, Judgement, Verdict};
use crate::report::source::{Knowledge, Source as _, Statement, WantedPlatform};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_host::WireHost;
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_settings::{Kubescape, ReportSource, Settings};
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp(1_700_000_000);

fn sha(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// A cluster with these objects. It fails every other request: lists have no contents, and whole objects are large.
fn cluster_of(objects: impl IntoIterator<Item = Value>) -> StubHost {
    let cluster = StubHost::default().answer_with(|call| {
        let asked = (call.operation.as_str(), call.field("api_version"), call.field("namespace"));
        assert_eq!(asked, ("get_resource", "spdx.softwarecomposition.kubescape.io/v1beta1", "kubescape"));
        assert!(call.masks().next().is_some(), "contents are large: {call}");
        None
    });
    cluster.objects(objects)
}

/// The requested objects, by kind and name.
fn asked(cluster: &StubHost) -> Vec<String> {
    let calls = cluster.calls();
    calls.iter().map(|call| format!("{} {}", call.field("kind"), call.field("name"))).collect()
}

/// An object of Kubescape's about an image by this id, under a name.
fn object(kind: &str, name: &str, image_id: &str) -> Value {
    json!({
        "apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1",
        "kind": kind,
        "metadata": {
            "name": name, "asked-as": name, "namespace": "kubescape", "asked-in": "kubescape", "creationTimestamp": "2023-11-01T00:00:00Z",
            "annotations": {
                "kubescape.io/image-id": image_id, "kubescape.io/image-tag": "ghcr.io/team/app:1.0",
                "kubescape.io/status": "ready"
            },
            "labels": {"kubescape.io/context": "non-filtered"}
        }
    })
}

/// A report with these matches, about the image of [`Question::new`].
fn report(matches: Value) -> Value {
    let mut report =
        object("VulnerabilityManifest", "ghcr.io-team-app-1.0-111111", &format!("ghcr.io/team/app@{}", sha('1')));
    report["spec"] = json!({
        "metadata": {
            "withRelevancy": false, "tool": {"name": "", "version": "v0.94.0", "databaseVersion": "x"},
            "report": {"createdAt": null}
        },
        "payload": {
            "matches": matches,
            "source": {"type": "image", "target": {"userInput": "", "architecture": "", "os": "", "layers": null}},
            "distro": {"name": "debian", "version": "12", "idLike": null},
            "descriptor": {"name": "", "version": ""}
        }
    });
    report
}

fn critical() -> Value {
    json!([{
        "vulnerability": {
            "id": "CVE-2026-1", "severity": "Critical", "namespace": "debian:distro:debian:12", "cvss": null,
            "urls": null, "fix": {"versions": ["1.2"], "state": "fixed"}
        },
        "relatedVulnerabilities": [{"id": "CVE-2026-1", "namespace": "nvd:cpe", "severity": "High", "cvss": [
            {"version": "3.1", "vector": "…", "metrics": {"baseScore": 9.8}}
        ]}],
        "artifact": {"name": "zlib", "version": "1.1", "purl": "pkg:deb/debian/zlib@1.1"}
    }])
}

fn bom(status: &str) -> Value {
    let mut bom = object("SBOMSyft", "ghcr.io-team-app-1.0-111111", &format!("ghcr.io/team/app@{}", sha('1')));
    bom["metadata"]["annotations"]["kubescape.io/status"] = json!(status);
    bom["spec"] = json!({"syft": {"artifacts": ["many"]}});
    bom
}

struct Question {
    settings: Settings,
    reference: ImageReference,
    image: ResolvedImage,
}

impl Question {
    /// About `ghcr.io/team/app:1.0`, which stands alone, with digest `1`.
    fn new() -> Self {
        Self::with(json!({}))
    }

    fn with(more: Value) -> Self {
        let mut settings = json!({"reports": {"sources": [{"kubescape": {}}]}});
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

    fn kubescape(&self) -> &Kubescape {
        match self.settings.reports.sources.as_slice() {
            [ReportSource::Kubescape(kubescape)] => kubescape,
            _ => panic!("one source"),
        }
    }

    /// The statements about each platform, as strings.
    fn ask(&self, cluster: &StubHost) -> Vec<Vec<String>> {
        let judge = Judge::new(&self.settings, &self.reference, "shop", NOW);
        let host = WireHost(cluster.wire());
        let mut source = KubescapeReports::new(self.kubescape(), &host);
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

    /// The one statement about an image that stands alone; empty if there is none.
    #[track_caller]
    fn says(&self, cluster: &StubHost, expected: &str) {
        let expected: Vec<String> = Some(expected.to_owned()).filter(|text| !text.is_empty()).into_iter().collect();
        assert_eq!(self.ask(cluster), vec![expected]);
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
        Knowledge::OfAnotherImage(which) => format!("other image: {which}"),
        Knowledge::NotScanned(why) => format!("not scanned: {why}"),
        Knowledge::Pending(what) => format!("pending: {what}"),
        Knowledge::Failed(words) => format!("failed: {words}"),
        Knowledge::Provoked(words) => format!("provoked: {words}"),
        Knowledge::LookUpFailed(words) => format!("look-up failed: {words}"),
    };
    let time = statement.time.map_or(String::new(), |time| format!(" of {time}"));
    let name = statement.by.replace(" kubescape/ghcr.io-team-app-", " …");
    format!("{name}{time} {what}").trim_start().to_owned()
}

const ACCEPTED: &str = "VulnerabilityManifest …1.0-111111 accepted";

#[test]
fn names_are_made_as_kubescape_makes_them() {
    let long = format!("ghcr.io/{}:1", "a".repeat(300));
    for (image, name) in [
        ("docker.io/library/nginx:latest", Some("docker.io-library-nginx-latest-a3ac8c")),
        ("quay.io/some_team/my__app:RC_1", Some("quay.io-some-team-my--app-rc-1-a3ac8c")),
        ("localhost:5000/app@sha256:12", Some("localhost-5000-app-sha256-12-a3ac8c")),
        (long.as_str(), Some(&*format!("ghcr.io-{}-a3ac8c", "a".repeat(238)))),
        ("[::1]:5000/app:1", None),
        ("", None),
    ] {
        assert_eq!(slug(image, &format!("{}a3ac8c", sha('1'))).as_deref(), name, "{image}");
    }
    assert_eq!(slug("app", "3ac8c"), None);
    assert_eq!(slug("app", ":3ac8c"), None);
}

#[test]
fn every_name_that_it_can_have_is_asked_for_once() {
    let cluster = cluster_of([]);
    let pin = format!("sha256-{}", "1".repeat(64));
    assert_eq!(Question::new().ask(&cluster), [[""; 0]]);
    let names = |digit: &str| {
        let six = digit.repeat(6);
        ["1.0".to_owned(), format!("1.0-{pin}"), pin.clone()].map(|tag| format!("ghcr.io-team-app-{tag}-{six}"))
    };
    let of_kind = |kind: &str, names: &[String]| names.iter().map(|name| format!("{kind} {name}")).collect::<Vec<_>>();
    let expected = [of_kind("VulnerabilityManifest", &names("1")), of_kind("SBOMSyft", &names("1"))].concat();
    assert_eq!(asked(&cluster), expected);
    // Platforms that Kubescape doesn't scan are not requested by their own digests.
    let cluster = cluster_of([]);
    let index = Question::new().index(&[('2', Some("linux/amd64")), ('3', Some("linux/arm64")), ('4', None)]);
    assert_eq!(index.ask(&cluster), [[""; 0], [""; 0], [""; 0]]);
    let (one, two, four) = (names("1"), names("2"), names("4"));
    let expected = [
        of_kind("VulnerabilityManifest", &[one.clone(), two.clone()].concat()),
        of_kind("SBOMSyft", &[one, two].concat()),
        of_kind("VulnerabilityManifest", &four),
        of_kind("SBOMSyft", &four),
    ];
    assert_eq!(asked(&cluster), expected.concat());
    // What was named without a tag was scanned as `latest`, and was pinned without one.
    let cluster = cluster_of([]);
    Question::new().of(&format!("ghcr.io/team/app@{}", sha('1'))).ask(&cluster);
    let names = ["latest", &pin].map(|tag| format!("ghcr.io-team-app-{tag}-111111"));
    assert_eq!(asked(&cluster), [of_kind("VulnerabilityManifest", &names), of_kind("SBOMSyft", &names)].concat());
}

#[test]
fn a_clean_image_is_told_from_one_without_contents() {
    let question = Question::new();
    question.says(&cluster_of([report(json!([]))]), ACCEPTED);
    question.says(&cluster_of([report(json!(null))]), ACCEPTED);
    let failed = "VulnerabilityManifest …1.0-111111 failed: it has no `matches`, and doesn't say what was scanned: it \
                  may lack its contents";
    let mut older = report(json!(null));
    older["spec"]["payload"]["source"] = json!(null);
    question.says(&cluster_of([older.clone()]), failed);
    older["spec"]["payload"]["descriptor"]["name"] = json!("grype");
    question.says(&cluster_of([older]), ACCEPTED);
    for key in ["spec", "spec/payload", "spec/payload/source"] {
        let mut bare = report(json!(null));
        *bare.pointer_mut(&format!("/{key}")).unwrap() = json!(null);
        question.says(&cluster_of([bare]), failed);
    }
    let mut wrong = report(json!({}));
    let said = question.ask(&cluster_of([wrong.clone()])).concat().join("; ");
    assert!(said.starts_with("look-up failed: its answer can't be read: invalid type: map"), "{said}");
    wrong["spec"]["payload"]["matches"] = json!([{}]);
    question.says(&cluster_of([wrong.clone()]), ACCEPTED);
    Question::with(json!({"acceptance": {"maxSeverity": {"unknown": {"total": 0}}}})).says(
        &cluster_of([wrong]),
        "VulnerabilityManifest …1.0-111111 rejected: 1 unknown finding, at most 0 accepted",
    );
}

#[test]
fn what_rejects_is_explained() {
    let cluster = cluster_of([report(critical())]);
    let rejected = "VulnerabilityManifest …1.0-111111 rejected: 1 critical finding, at most 0 accepted: CVE-2026-1 in \
                    zlib (fixed in 1.2)";
    Question::new().says(&cluster, rejected);
    let asked = asked(&cluster);
    let reads = asked.iter().filter(|asked| asked.ends_with("app-1.0-111111"));
    assert_eq!(reads.count(), 2);
}

#[test]
fn each_setting_gets_the_fields_that_it_needs() {
    let cluster = || cluster_of([report(critical())]);
    for (settings, expected) in [
        (
            json!({"acceptance": {"cvssScore": {"threshold": 9.0}}}),
            "rejected: 1 finding with a CVSS score from 9.0, at most 0 accepted: CVE-2026-1 in zlib (fixed in 1.2)",
        ),
        (json!({"acceptance": {"cvssScore": {"threshold": 9.9}}}), "accepted"),
        (json!({"acceptance": {"maxSeverity": {"critical": {"totalWithoutFixes": 0}}}}), "accepted"),
        (json!({"acceptance": {"allowAlways": ["CVE-2026-1"]}}), "accepted"),
        (
            json!({"acceptance": {"maxSeverity": {"low": {"total": 0}}, "denyAlways": ["cve-2026-1"]}}),
            "rejected: `denyAlways` names CVE-2026-1 in zlib (fixed in 1.2)",
        ),
        (
            json!({"exemptions": [{
                "vulnerability": "CVE-*", "packages": ["pkg:deb/debian/zlib"], "reason": "x", "expires": "2030-01-01"
            }]}),
            "accepted",
        ),
    ] {
        Question::with(settings).says(&cluster(), &format!("VulnerabilityManifest …1.0-111111 {expected}"));
    }
}

#[test]
fn only_the_whole_digest_makes_it_this_images() {
    let question = Question::new();
    let with = |key: &str, value: Value| {
        let mut report = report(json!([]));
        *report["metadata"].pointer_mut(key).unwrap() = value;
        cluster_of([report])
    };
    let id = "/annotations/kubescape.io~1image-id";
    let tag = "/annotations/kubescape.io~1image-tag";
    let docker = format!("docker-pullable://ghcr.io/team/app@{}", sha('1'));
    question.says(&with(id, json!(docker)), ACCEPTED);
    // The same digest under another name of the same node.
    question.says(&with(id, json!(format!("ghcr.io/other/app@{}", sha('1')))), ACCEPTED);
    question.says(&with(tag, json!("other")), ACCEPTED);
    let collision = format!("ghcr.io/team/app@sha256:{}111111", "2".repeat(58));
    for (key, value, whose) in [
        (id, json!(collision), collision.as_str()),
        (id, json!("ghcr.io/team/app:1.0"), "ghcr.io/team/app:1.0"),
        (id, json!("ghcr.io/team/app@111111"), "ghcr.io/team/app@111111"),
        (id, json!(sha('1')), &sha('1')),
        (id, json!(""), "ghcr.io/team/app:1.0"),
        ("/namespace", json!("shop"), &format!("ghcr.io/team/app@{}", sha('1'))),
        ("/name", json!("another"), &format!("ghcr.io/team/app@{}", sha('1'))),
        ("/annotations", json!(null), "one that it doesn't name"),
    ] {
        question.says(&with(key, value), &format!("VulnerabilityManifest …1.0-111111 other image: {whose}"));
    }
    let mut elsewhere = report(json!([]));
    elsewhere["metadata"]["annotations"]["kubescape.io/image-id"] = json!(format!("ghcr.io/other/app@{}", sha('1')));
    elsewhere["metadata"]["annotations"]["kubescape.io/image-tag"] = json!("quay.io/team/app:1.0");
    let whose = format!("other image: ghcr.io/other/app@{}", sha('1'));
    question.says(&cluster_of([elsewhere]), &format!("VulnerabilityManifest …1.0-111111 {whose}"));
    let filtered = with("/labels/kubescape.io~1context", json!("filtered"));
    let why = "not scanned: it lists only what one workload uses of the image";
    question.says(&filtered, &format!("VulnerabilityManifest …1.0-111111 {why}"));
}

#[test]
fn an_index_is_known_for_one_platform() {
    let question =
        Question::new().index(&[('2', Some("linux/amd64")), ('3', Some("linux/arm64")), ('4', Some("linux/s390x"))]);
    assert_eq!(question.ask(&cluster_of([report(json!([]))])), [vec![ACCEPTED], vec![], vec![]]);
    // The report's own platform comes before the setting.
    let mut arm = report(json!([]));
    arm["spec"]["payload"]["source"]["target"] =
        json!({"os": "linux", "architecture": "arm64", "architectureVariant": "v8"});
    assert_eq!(question.ask(&cluster_of([arm])), [vec![], vec![ACCEPTED], vec![]]);
    // A platform's own digest needs none. With the index's digest, it is unknown whether the entry without a platform was scanned.
    let question = Question::new().index(&[('2', Some("linux/amd64")), ('3', Some("linux/arm64")), ('4', None)]);
    assert!(question.ask(&cluster_of([report(json!([]))]))[0][0].contains("other image"));
    let mut own = report(json!([]));
    own["metadata"]["name"] = json!("ghcr.io-team-app-1.0-444444");
    own["metadata"]["asked-as"] = own["metadata"]["name"].clone();
    own["metadata"]["annotations"]["kubescape.io/image-id"] = json!(format!("ghcr.io/team/app@{}", sha('4')));
    let accepted = ACCEPTED.replace("111111", "444444");
    assert_eq!(question.ask(&cluster_of([own])), [vec![], vec![], vec![accepted.as_str()]]);
}

#[test]
fn only_what_is_wanted_is_read() {
    // The findings don't matter in a report of another image or platform.
    let unreadable = report(json!([{"vulnerability": "CVE-1"}]));
    let mut of_another = unreadable.clone();
    let id = format!("ghcr.io/team/app@{}", sha('2'));
    of_another["metadata"]["annotations"]["kubescape.io/image-id"] = json!(id);
    let other = format!("VulnerabilityManifest …1.0-111111 other image: {id}");
    Question::new().says(&cluster_of([of_another]), &other);
    let index = Question::new().index(&[('2', Some("linux/amd64")), ('4', Some("linux/s390x"))]);
    let said = index.ask(&cluster_of([unreadable]));
    assert!(said[0][0].starts_with("look-up failed: its answer can't be read: invalid type: string"), "{said:?}");
    assert_eq!(said[1], [""; 0]);
}

#[test]
#[expect(clippy::disallowed_types, reason = "a test of how long something takes")]
fn findings_are_read_once_for_all_platforms() {
    let matches = vec![critical()[0].clone(); 20_000];
    let platforms = vec![('1', Some("linux/amd64")); 64];
    let question = Question::new().index(&platforms);
    let cluster = cluster_of([report(json!(matches))]);
    let start = std::time::Instant::now();
    let said = question.ask(&cluster);
    // Quadratic work takes minutes here; everything else takes a tenth of a second.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    assert_eq!(said.len(), 64);
    for said in said {
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("VulnerabilityManifest …1.0-111111 rejected: 1 critical finding"), "{said:?}");
    }
    assert_eq!(asked(&cluster).iter().filter(|asked| asked.ends_with("app-1.0-111111")).count(), 2);
}

#[test]
fn each_image_gets_the_fields_that_its_judge_needs() {
    let question = Question::with(json!({"exemptions": [{
        "images": ["ghcr.io/team/app:1.0"], "vulnerability": "CVE-2026-1", "packages": ["pkg:deb/debian/zlib"],
        "reason": "x", "expires": "2030-01-01"
    }]}));
    let by_tag = &question.reference;
    let by_digest = ImageReference::parse(&format!("ghcr.io/team/app:1.0@{}", sha('1'))).unwrap();
    let cluster = cluster_of([report(critical())]);
    let host = WireHost(cluster.wire());
    let mut source = KubescapeReports::new(question.kubescape(), &host);
    let mut ask = |reference: &ImageReference| -> Vec<String> {
        let judge = Judge::new(&question.settings, reference, "shop", NOW);
        let wanted = WantedPlatform {
            at_mirror: None,
            is_tag_certain: true,
            may_be_down: true,
            reference,
            image: &question.image,
            manifest: &question.image.platforms[0],
            containers: &[],
            max_age: None,
            now: NOW,
        };
        source.find(&wanted, &judge).iter().map(shown).collect()
    };
    // The same object for both, judged by what holds for each.
    let rejected = "VulnerabilityManifest …1.0-111111 rejected: 1 critical finding, at most 0 accepted: CVE-2026-1 in \
                    zlib (fixed in 1.2)";
    assert_eq!(ask(&by_digest), [rejected]);
    assert_eq!(ask(by_tag), [ACCEPTED]);
    assert_eq!(ask(&by_digest), [rejected]);
}

#[test]
fn without_a_report_the_list_of_packages_says_how_far_it_is() {
    let question = Question::new();
    for (status, expected) in [
        ("initializing", "pending: Kubescape is listing its packages"),
        ("ready", "pending: its packages are listed, their vulnerabilities are not matched yet"),
        ("incomplete", "failed: the list of its packages is `incomplete`"),
        ("too-large", "failed: the list of its packages is `too-large`"),
        ("unauthorize", "failed: the list of its packages is `unauthorize`"),
        ("something new", "failed: the list of its packages is `something new`"),
    ] {
        question.says(&cluster_of([bom(status)]), &format!("SBOMSyft …1.0-111111 {expected}"));
    }
    question.says(&cluster_of([bom("")]), "");
    let mut reasoned = bom("too-large");
    reasoned["metadata"]["annotations"]["kubescape.io/status-reason"] = json!("scanner-oom");
    let words = "failed: the list of its packages is `too-large` (scanner-oom)";
    question.says(&cluster_of([reasoned]), &format!("SBOMSyft …1.0-111111 {words}"));
    let mut other = bom("too-large");
    other["metadata"]["annotations"]["kubescape.io/image-id"] = json!(format!("ghcr.io/team/app@{}", sha('2')));
    question.says(&cluster_of([other]), "");
    // A report comes before it; another image's report doesn't.
    question.says(&cluster_of([bom("too-large"), report(json!([]))]), ACCEPTED);
    let mut collision = report(json!([]));
    collision["metadata"]["annotations"]["kubescape.io/image-id"] = json!(format!("ghcr.io/team/app@{}", sha('2')));
    let pending = "SBOMSyft …1.0-111111 pending: Kubescape is listing its packages";
    question.says(&cluster_of([collision, bom("initializing")]), pending);
    // In an index, it is the image of the platform that Kubescape scans.
    let index = Question::new().index(&[('2', Some("linux/amd64")), ('3', Some("linux/arm64"))]);
    assert_eq!(index.ask(&cluster_of([bom("initializing")])), [vec![pending], vec![]]);
}

#[test]
fn a_look_up_that_fails_is_no_absence() {
    let question = Question::new();
    for broken in ["VulnerabilityManifest", "SBOMSyft"] {
        question.says(&cluster_of([]).broken(broken), "look-up failed: no route to host");
    }
    question.says(&cluster_of([report(json!([]))]).broken("SBOMSyft"), ACCEPTED);
}

#[test]
fn a_report_that_does_not_say_when_is_too_old() {
    let question = Question::with(json!({"maxAge": "30d"}));
    let stale = "stale: it doesn't say when it was scanned, so that it counts as older than 30d";
    question.says(&cluster_of([report(json!([]))]), &format!("VulnerabilityManifest …1.0-111111 {stale}"));
    let mut dated = report(json!([]));
    dated["spec"]["metadata"]["report"]["createdAt"] = json!("2023-11-10T00:00:00Z");
    let accepted = "VulnerabilityManifest …1.0-111111 of 2023-11-10T00:00:00Z accepted";
    question.says(&cluster_of([dated.clone()]), accepted);
    Question::new().says(&cluster_of([dated]), accepted);
}

#[test]
fn it_says_where_it_looks() {
    let question = Question::new();
    let cluster = cluster_of([]);
    assert_eq!(
        KubescapeReports::new(question.kubescape(), &WireHost(cluster.wire())).whereabouts().to_string(),
        "from Kubescape in namespace kubescape"
    );
}
