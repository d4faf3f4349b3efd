//! Versions in the order of each kind's own tool: each line is less than the next, and versions on one line are equal.

use super::*;

#[track_caller]
fn ascend(order: VersionOrder, lines: &[&[&str]]) {
    let all: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .flat_map(|(line, versions)| versions.iter().map(move |version| (line, *version)))
        .collect();
    for (line, version) in &all {
        for (other_line, other) in &all {
            let compared = order.compare(version, other);
            assert_eq!(compared, Some(line.cmp(other_line)), "{version} {other}");
        }
    }
}

#[track_caller]
fn incomparable(order: VersionOrder, versions: &[&str]) {
    for version in versions {
        assert_eq!(order.compare(version, "1"), None, "{version}");
    }
}

#[test]
fn semantic_versions() {
    ascend(
        VersionOrder::Semantic,
        &[
            &["0.0.0-20230101000000-abcdef123456", "v0.0.0-20230101000000-abcdef123456"],
            &["0.0.0", "v0", "0"],
            &["0.9.9"],
            &["1.0.0-0"],
            &["1.0.0-2"],
            &["1.0.0-10"],
            &["1.0.0-alpha", "1.0.0-ALPHA"],
            &["1.0.0-alpha.1"],
            &["1.0.0-alpha.beta"],
            &["1.0.0-beta"],
            &["1.0.0-beta.2"],
            &["1.0.0-beta.11"],
            &["1.0.0-rc.1"],
            &["1.0.0", "1", "1.0", "v1.0.0", "1.0.0+build.5", "1.0.0.0", "v1.0.0+incompatible"],
            &["1.0.0.1"],
            &["1.0.1-a-b"],
            &["1.0.1"],
            &["1.2.0"],
            &["1.10.0"],
            &["18446744073709551616.0.0"],
        ],
    );
    incomparable(
        VersionOrder::Semantic,
        &["", "latest", "(devel)", "1.x", "1..0", "1.0-", "1.0-a..b", "1.0.0-ä", "1.0 0"],
    );
}

#[test]
fn gems() {
    ascend(
        VersionOrder::Gem,
        &[
            &["0.a"],
            &["0", "0.0"],
            &["0.9"],
            &["1.0.0.a", "1.a"],
            &["1.0.0.a.2", "1.a.2"],
            &["1.0.0.b1"],
            &["1.0.0.pre.1", "1.0.0-1", "1-1"],
            &["1.0.0.rc1"],
            &["1", "1.0", "1.0.0", "01"],
            &["1.0.1.pre"],
            &["1.0.1"],
            &["1.9.3"],
            &["1.10"],
        ],
    );
    incomparable(VersionOrder::Gem, &["", "a", "1..0", "1_0", "1.0.", "-1"]);
}

#[test]
fn python_versions() {
    ascend(
        VersionOrder::Python,
        &[
            &["1.0.dev0", "1.0dev"],
            &["1.0.dev456", "1.dev456"],
            // A separator may be there even if the number is missing.
            &["1.0a0", "1.0a", "1.0a.", "1.0-alpha_"],
            &["1.0a1", "1.0.alpha-1", "1.0-A_1", "v1.0a1"],
            &["1.0a2.dev456"],
            &["1.0a2"],
            &["1.0a12.dev456"],
            &["1.0a12"],
            &["1.0b1.dev456", "1.0beta1dev456"],
            &["1.0b2"],
            &["1.0b2.post345.dev456"],
            &["1.0b2.post345"],
            &["1.0rc1", "1.0c1", "1.0pre1", "1.0-preview_1"],
            &["1.0rc2"],
            &["1.0", "1", "1.0.0", "0!1.0"],
            &["1.0+abc.5"],
            &["1.0+abc.7"],
            &["1.0+5", "1.0+05"],
            &["1.0.post0", "1.0-0", "1.0post", "1.0-r0", "1.0.post."],
            &["1.0.post456.dev34"],
            &["1.0.post456", "1.0-456", "1.0.rev456"],
            &["1.1.dev1"],
            &["1.1"],
            &["1.10"],
            &["2013.10"],
            &["1!1.0"],
        ],
    );
    incomparable(
        VersionOrder::Python,
        &["", "a", "1.0.x", "1.0+", "1.0+a b", "1.0-", "1.0.postx", "!1", "1.0 beta", "1.*", "1.0\u{e4}"],
    );
    // More than 64 bits.
    assert_eq!(VersionOrder::Python.compare("18446744073709551615", "1"), Some(Ordering::Greater));
    incomparable(
        VersionOrder::Python,
        &["18446744073709551616", "1.post18446744073709551616", "18446744073709551616!1", "1.0+18446744073709551616"],
    );
}

#[test]
fn maven_versions() {
    ascend(
        VersionOrder::Maven,
        &[
            &["1.rc-1"],
            &["1-alpha", "1-ALPHA", "1.alpha"],
            &["1-alpha-1", "1-a1", "1-alpha1"],
            &["1-alpha-2"],
            &["1-beta-1", "1-b1"],
            &["1-milestone-1", "1-m1"],
            &["1-rc", "1-cr"],
            &["1-rc-1", "1-cr1", "1.0.0.RC1"],
            &["1-SNAPSHOT"],
            &["1", "1.0", "1.0.0", "1-ga", "1.final", "1-0", "1.0.0-RELEASE", "01"],
            &["1-sp", "1.0.sp"],
            &["1-foo"],
            &["1-xyz"],
            &["1-1-snapshot"],
            &["1-1"],
            &["1-2"],
            &["1.0.1"],
            &["1.1-SNAPSHOT"],
            &["1.1"],
            &["1.2"],
            &["1.10"],
            &["2.14.1"],
            &["2.17.1"],
            &["12345678901234567890"],
        ],
    );
    incomparable(
        VersionOrder::Maven,
        &["", "1 0", "1\u{e4}", "v2.14.1", "${log4j.version}", "unspecified", "-1", ".1", "RELEASE"],
    );
}

#[test]
fn debian_versions() {
    ascend(
        VersionOrder::Debian,
        &[
            &["0~~"],
            &["0~"],
            &["0", "00", "0-0", "0:0"],
            &["1.0~beta1~svn1245"],
            &["1.0~beta1"],
            &["1.0", "1.0-0"],
            &["1.0-1~bpo1"],
            &["1.0-1"],
            &["1.0-1+b1"],
            &["1.0-1.1"],
            &["1.0-10"],
            &["1.0a"],
            &["1.0+dfsg-1"],
            &["1.0.1-1"],
            &["1.2-3-4"],
            &["1.10-1"],
            &["7.88.1-10+deb12u5"],
            &["7.88.1-10+deb12u14"],
            &["1:0.1"],
            &["10:0"],
        ],
    );
    incomparable(VersionOrder::Debian, &["", ":1", "a:1", "1:", "1.0-", "1 0", "1_0", "abc", "1.0-1_2"]);
}

#[test]
fn rpm_versions() {
    ascend(
        VersionOrder::Rpm,
        &[
            &["1.0~rc1-1"],
            &["1.0~rc2-1"],
            &["1.0-0.1"],
            &["1.0-1", "1_0-1", "1.0.-1", "0:1.0-1"],
            &["1.0-1.el8"],
            &["1.0-1.el8_9"],
            &["1.0-1.el10"],
            &["1.0-2"],
            &["1.0-10"],
            &["1.0^git1-1"],
            &["1.0^git2~rc-1"],
            &["1.0^git2-1"],
            &["1.0a-1"],
            &["1.0.1-1", "1.0.01-1"],
            &["1.10-1"],
            &["1:0.1-1"],
            &["32:9.11-1"],
        ],
    );
    // Any release is equal.
    assert_eq!(VersionOrder::Rpm.compare("1.1.1k-7.el8", "1.1.1k"), Some(Ordering::Equal));
    assert_eq!(VersionOrder::Rpm.compare("1:1.1.1k-7.el8", "1.1.1k"), Some(Ordering::Greater));
    incomparable(VersionOrder::Rpm, &["", "x:1", ":1", "1:", "1-", "-1", "1-1-1", "1 0", "~", "1-1-ä"]);
}

#[test]
fn alpine_versions() {
    ascend(
        VersionOrder::Alpine,
        &[
            &["0.1_alpha_pre2"],
            &["0.1_alpha"],
            &["0.1_beta"],
            &["0.1_beta2"],
            &["0.1_rc1"],
            &["0.1"],
            &["0.1-r1"],
            &["0.1_git20240101"],
            &["0.1_p1"],
            &["0.1_p1-r2"],
            &["0.1a"],
            &["0.1.0"],
            &["0.1.05"],
            &["0.1.1"],
            &["0.1.9"],
            &["0.1.10"],
            &["1.36.1-r2"],
            &["1.36.1-r15"],
            &["1.36.1~ab-r0"],
        ],
    );
    incomparable(
        VersionOrder::Alpine,
        &["", "a", "1.0bc", "1.0_foo", "1.0-1", "1.0-r", "1.", "1.0_p1a", "1.0~", "1.0-r1-r2"],
    );
}

#[test]
fn ranges() {
    let has = |range: &str, version: &str| VersionRange::parse(range, VersionOrder::Semantic).unwrap().has(version);
    for (range, version, expected) in [
        ("<2.17.1", "2.14.1", Some(true)),
        ("<2.17.1", "2.17.1", Some(false)),
        ("<=2.17.1", "2.17.1", Some(true)),
        ("<2.17.1", "2.17.1-rc1", Some(true)),
        (">=2.0, < 2.3.2 || >=2.13,<2.17.1", "2.3.1", Some(true)),
        (">=2.0, < 2.3.2 || >=2.13,<2.17.1", "2.3.2", Some(false)),
        (">=2.0, < 2.3.2 || >=2.13,<2.17.1", "2.14", Some(true)),
        ("= 3.3.6", "3.3.6", Some(true)),
        ("= 3.3.6", "3.3.5", Some(false)),
        ("!=1.0", "1.0.0", Some(false)),
        (">1,!=1.5", "1.4", Some(true)),
        ("<1", "latest", None),
        ("<1 || >2", "latest", None),
        ("<1", "", None),
        ("<1", &"1.".repeat(200), None),
    ] {
        assert_eq!(has(range, version), expected, "{range} {version}");
    }
}

/// A bound without a local part ignores the version's local part.
#[test]
fn local_versions_of_python() {
    let has = |range: &str, version: &str| VersionRange::parse(range, VersionOrder::Python).unwrap().has(version);
    for (range, version, expected) in [
        ("=2.0.1", "2.0.1+cu118", Some(true)),
        ("<=2.0.1", "2.0.1+cu118", Some(true)),
        ("!=2.0.1", "2.0.1+cu118", Some(false)),
        (">2.0.1", "2.0.1+cu118", Some(false)),
        ("<2.0.1", "2.0.1+cu118", Some(false)),
        ("=2.0.1+cu118", "2.0.1+cu118", Some(true)),
        ("=2.0.1+cu117", "2.0.1+cu118", Some(false)),
        ("=2.0.1+cu117", "2.0.1", Some(false)),
        ("=2.0.1", "2.0.1+", None),
        ("=2.0.1", "2.0.1+a+b", None),
    ] {
        assert_eq!(has(range, version), expected, "{range} {version}");
    }
}

/// A bound without a revision is about all of them.
#[test]
fn revisions_of_distributions() {
    for (order, range, version, expected) in [
        (VersionOrder::Debian, "<=5.6.1", "5.6.1-1", Some(true)),
        (VersionOrder::Debian, "=5.6.1", "5.6.1-1+b2", Some(true)),
        (VersionOrder::Debian, "<5.6.1", "5.6.1-1", Some(false)),
        (VersionOrder::Debian, ">5.6.1", "5.6.1-1", Some(false)),
        (VersionOrder::Debian, "!=5.6.1", "5.6.1-1", Some(false)),
        (VersionOrder::Debian, "<=1:5.6.1", "1:5.6.1-1", Some(true)),
        (VersionOrder::Debian, "<=5.6.1", "1:5.6.1-1", Some(false)),
        (VersionOrder::Debian, "<=5.6.1", "5.6.1+really5.4.5-1", Some(false)),
        (VersionOrder::Debian, "<=5.6.1-1", "5.6.1-2", Some(false)),
        (VersionOrder::Debian, "=1.2-3", "1.2-3-4", Some(false)),
        (VersionOrder::Alpine, "<=5.6.1", "5.6.1-r1", Some(true)),
        (VersionOrder::Alpine, "=5.6.1", "5.6.1-r0", Some(true)),
        (VersionOrder::Alpine, "<5.6.1", "5.6.1-r0", Some(false)),
        (VersionOrder::Alpine, "<=5.6.1", "5.6.1_p1-r0", Some(false)),
        (VersionOrder::Alpine, "<5.6.1-r2", "5.6.1-r1", Some(true)),
        (VersionOrder::Alpine, "<=5.6.1", "5.6.1-1", None),
    ] {
        assert_eq!(VersionRange::parse(range, order).unwrap().has(version), expected, "{range} {version}");
    }
}

/// A gem that is built for a platform is of the release that its name begins with.
#[test]
fn platforms_of_gems() {
    let has = |range: &str, version: &str| VersionRange::parse(range, VersionOrder::Gem).unwrap().has(version);
    for platform in ["java", "x86_64-linux", "x64-mingw-ucrt", "aarch64-linux-gnu", "universal-java-11"] {
        let of = |release: &str| [release, "-", platform].concat();
        for (range, release, expected) in [
            ("=1.13.0", "1.13.0", Some(true)),
            ("<=1.13.0", "1.13.0", Some(true)),
            (">=1.13.0", "1.13.0", Some(true)),
            ("!=1.13.0", "1.13.0", Some(false)),
            ("<1.13.0", "1.13.0", Some(false)),
            (">1.13.0", "1.13.0", Some(false)),
            ("<1.13.0", "1.13.0.rc1", Some(true)),
            (">=1.13.0", "1.13.0.rc1", Some(false)),
            ("<1.13.0", "1.12", Some(true)),
            ("=1.13.0", "", None),
        ] {
            assert_eq!(has(range, &of(release)), expected, "{range} {release}-{platform}");
        }
    }
    // A bound may name a pre-release by a hyphen.
    assert_eq!(has("=1.13.0-rc1", "1.13.0.pre.rc1"), Some(true));
}

/// A version without a release may be any release of it.
#[test]
fn versions_of_rpm_without_a_release() {
    let has = |range: &str, version: &str| VersionRange::parse(range, VersionOrder::Rpm).unwrap().has(version);
    for (range, version, expected) in [
        ("<1.1.1k-7.el8", "1.1.1k", None),
        ("=1.1.1k-7.el8", "1.1.1k", None),
        ("<1.1.1k-7.el8", "1.1.1j", Some(true)),
        ("<1.1.1k-7.el8", "1.1.1l", Some(false)),
        ("=1.1.1k", "1.1.1k-7.el8", Some(true)),
    ] {
        assert_eq!(has(range, version), expected, "{range} {version}");
    }
}

#[test]
fn what_is_no_range() {
    for (range, why) in [
        ("", "a comparison like `<2.17.1` is missing"),
        ("<1,", "a comparison like `<2.17.1` is missing"),
        ("<1 ||", "a comparison like `<2.17.1` is missing"),
        ("2.17.1", "`2.17.1` has no comparison; write `=2.17.1`, or `<`, `<=`, `>`, `>=` or `!=`"),
        ("<x", "`x` is not a version of such a package"),
        ("==1", "`=1` is not a version of such a package"),
        ("<", "`` is not a version of such a package"),
        ("^1.0", "`^1.0` has no comparison"),
        ("<1 <2", "`1 <2` is not a version of such a package"),
        ("=1.0.0,=1.1.0", "no version is in `=1.0.0,=1.1.0`: `,` means both, and `||` either"),
        ("<1 || >2, <1", "no version is in `>2, <1`"),
        (">1,<=1.0.0", "no version is in `>1,<=1.0.0`"),
    ] {
        let error = VersionRange::parse(range, VersionOrder::Semantic).unwrap_err();
        assert!(error.starts_with(why), "{range}: {error}");
    }
    for range in [">=1,<2", "=1.0.0||=1.1.0", ">=1,<=1", ">1,<2,!=1.5", "=1,>=1,<2"] {
        assert!(VersionRange::parse(range, VersionOrder::Semantic).is_ok(), "{range}");
    }
    let long = vec!["<1"; 65].join("||");
    let error = VersionRange::parse(&long, VersionOrder::Semantic).unwrap_err();
    assert_eq!(error, "it has 65 comparisons, 64 are the most");
}
