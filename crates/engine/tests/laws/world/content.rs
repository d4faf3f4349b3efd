//! What is at the names of images: an image or an index, and what scanners, signers and builders found and said of it.

use super::signers::{OTHER_KEY, TEAM_KEY};
use image_admission_stub_host::{digest_of, manifest};
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// A name, and the spellings of its registry and repository.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) host: &'static str,
    pub(crate) repository: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) names: &'static [&'static str],
    /// The digits of which the digests of its platforms are made.
    digits: [char; 2],
}

const fn image(
    (host, repository, tag): (&'static str, &'static str, &'static str),
    digits: [char; 2],
    names: &'static [&'static str],
) -> Image {
    Image { host, repository, tag, names, digits }
}

const NGINX: [&str; 6] = [
    "nginx",
    "docker.io/library/nginx",
    "index.docker.io/nginx",
    "DOCKER.IO/nginx",
    "registry-1.docker.io/library/nginx",
    "docker.io:443/nginx",
];
const APP: [&str; 4] = ["team/app", "docker.io/team/app", "index.docker.io/team/app", "Docker.io:443/team/app"];

pub(crate) const IMAGES: [Image; 5] = [
    image(("docker.io", "library/nginx", "1.0"), ['0', '1'], &NGINX),
    image(("docker.io", "team/app", "1"), ['2', '3'], &APP),
    image(
        ("ghcr.io", "team/app", "1.0"),
        ['4', '5'],
        &["ghcr.io/team/app", "GHCR.IO/team/app", "ghcr.io:443/team/app"],
    ),
    image(("reg.io:5000", "team/web", "2"), ['6', '7'], &["reg.io:5000/team/web", "Reg.IO:5000/team/web"]),
    image(("ghcr.io", "other/tool", "latest"), ['8', '9'], &["ghcr.io/other/tool", "GHCR.io:443/other/tool"]),
];

/// What a scanner has of an image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Progress {
    Unknown,
    Going,
    Failed,
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) id: &'static str,
    /// In lower case.
    pub(crate) severity: &'static str,
    pub(crate) package: &'static str,
    pub(crate) fixed_in: Option<&'static str>,
    /// In tenths.
    pub(crate) score: u8,
    /// For how many hours it is known.
    pub(crate) known_for: i64,
    pub(crate) is_exploited: bool,
    /// In hundredths.
    pub(crate) epss: Option<u8>,
    /// By the scanner's own VEX.
    pub(crate) is_suppressed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Content {
    /// For two platforms: linux/amd64 and linux/arm64.
    pub(crate) is_index: bool,
    /// Whether its tag is there.
    pub(crate) is_there: bool,
    pub(crate) is_down: bool,
    pub(crate) progress: Progress,
    pub(crate) findings: Vec<Finding>,
    /// How many hours ago it was scanned.
    pub(crate) scanned: i64,
    /// Which of the sources have its report, in the order of `SOURCES`.
    pub(crate) kept_by: Vec<bool>,
    pub(crate) is_past_end_of_life: bool,
    /// Its packages, where there is an SBOM.
    pub(crate) packages: Option<Vec<(&'static str, &'static str)>>,
    /// The ids that a signed VEX document says it isn't affected by.
    pub(crate) cleared: Vec<&'static str>,
    pub(crate) signers: Vec<&'static str>,
    pub(crate) is_built_by_us: bool,
    /// Whether evidence is in the cluster, and not beside the image.
    pub(crate) is_in_cluster: bool,
    /// For how many hours a Pod runs it.
    pub(crate) runs_for: Option<i64>,
}

impl Image {
    /// The digests of its platforms' manifests.
    pub(super) fn platform_digest(&self, platform: usize) -> String {
        format!("sha256:{}", self.digits[platform].to_string().repeat(64))
    }

    /// `registry/repository`
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }
}

impl Content {
    /// The manifest, or the index, with the digest that its tag has.
    pub(super) fn manifest(&self, image: &Image) -> (String, Value) {
        if !self.is_index {
            return (image.platform_digest(0), manifest());
        }
        let entry = |(platform, architecture)| {
            json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": image.platform_digest(platform), "size": 1,
                   "platform": {"architecture": architecture, "os": "linux"}})
        };
        let entries: Vec<Value> = [(0, "amd64"), (1, "arm64")].into_iter().map(entry).collect();
        let index =
            json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries});
        (digest_of(&index.to_string()), index)
    }

    pub(crate) fn digest(&self, image: &Image) -> String {
        self.manifest(image).0
    }

    /// Its platforms, with their digests.
    pub(super) fn platforms(&self, image: &Image) -> Vec<(&'static str, String)> {
        let all = [("amd64", image.platform_digest(0)), ("arm64", image.platform_digest(1))];
        all.into_iter().take(if self.is_index { 2 } else { 1 }).collect()
    }
}

const IDS: [&str; 5] = ["CVE-2026-1", "CVE-2026-2", "CVE-2026-3", "CVE-2026-4", "CVE-2026-5"];
const LOG4J: &str = "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1";

pub(crate) fn finding() -> impl Strategy<Value = Finding> {
    let severity = select(vec!["critical", "high", "high", "medium", "medium", "low", "low", "unknown"]);
    let fixed_in = prop::option::of(Just("3.1"));
    let epss = prop::option::weighted(0.8, 0..60_u8);
    let known_for = select(vec![10_i64, 100, 300, 2_000]);
    (
        select(&IDS),
        severity,
        select(vec!["openssl", "curl"]),
        fixed_in,
        0..100_u8,
        known_for,
        weighted(0.1),
        epss,
        weighted(0.1),
    )
        .prop_map(|(id, severity, package, fixed_in, score, known_for, is_exploited, epss, is_suppressed)| {
            Finding { id, severity, package, fixed_in, score, known_for, is_exploited, epss, is_suppressed }
        })
}

/// Most are there, and most were scanned.
pub(super) fn content() -> impl Strategy<Value = Content> {
    let progress = prop_oneof![
        14 => Just(Progress::Done), 1 => Just(Progress::Unknown), 1 => Just(Progress::Going), 1 => Just(Progress::Failed)
    ];
    let registry = (weighted(0.3), weighted(0.97), weighted(0.03));
    let findings = prop_oneof![2 => Just(Vec::new()), 3 => vec(finding(), 1..4)];
    let scan = (progress, findings, select(vec![1_i64, 20, 20, 100, 900]), vec(weighted(0.9), 6), weighted(0.1));
    let package = select(vec![
        ("pkg:npm/lodash@4.17.21", "MIT"),
        ("pkg:deb/debian/bash@5.2", "GPL-3.0-only"),
        (LOG4J, "Apache-2.0"),
        ("pkg:pypi/x@1.0", "MIT"),
    ]);
    let packages = prop::option::weighted(0.85, vec(package, 1..3));
    let cleared = prop_oneof![2 => Just(Vec::new()), 1 => vec(select(&IDS), 1..3)];
    let signers = prop_oneof![4 => Just(vec![TEAM_KEY]), 1 => Just(vec![OTHER_KEY]), 1 => Just(vec![TEAM_KEY, OTHER_KEY]), 2 => Just(vec![])];
    let runs_for = prop::option::weighted(0.4, select(vec![5_i64, 200, 3_000]));
    (registry, scan, packages, cleared, signers, weighted(0.7), any::<bool>(), runs_for).prop_map(
        |(registry, scan, packages, cleared, signers, is_built_by_us, is_in_cluster, runs_for)| {
            let (is_index, is_there, is_down) = registry;
            let (progress, findings, scanned, kept_by, is_past_end_of_life) = scan;
            Content {
                is_index,
                is_there,
                is_down,
                progress,
                findings,
                scanned,
                kept_by,
                is_past_end_of_life,
                packages,
                cleared,
                signers,
                is_built_by_us,
                is_in_cluster,
                runs_for,
            }
        },
    )
}
