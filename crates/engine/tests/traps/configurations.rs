//! What images are: each platform counts, and nothing of what is missing, odd, of another or still to come is fine.

use super::world::{NOW, World, digest};
use super::{IMAGE, stop_the_clock, trap};
use image_admission_untrusted::remedy::Remedy;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

/// The repository of [`IMAGE`].
const REPOSITORY: &str = "reg.io/team/app";

/// The configuration of an image that starts as nobody in particular, and was made some weeks ago.
fn configuration(user: &str) -> Value {
    json!({"architecture": "amd64", "os": "linux", "created": "2026-10-20T08:00:00.5+02:00", "config": {"User": user, "Labels": {"team": "web"},
           "Entrypoint": ["/app"], "Env": ["PATH=/bin"], "ExposedPorts": {"8080/tcp": {}}, "WorkingDir": "/"},
           "rootfs": {"type": "layers", "diff_ids": [digest('1'), digest('2')]}})
}

/// The manifest of an image, whose configuration has a type. No two letters have the same.
fn manifest(letter: char, kind: &str, annotations: &Value) -> Value {
    let mut manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
           "config": {"mediaType": kind, "digest": digest('9'), "size": u32::from(letter)}, "layers": []});
    if !annotations.is_null() {
        manifest["annotations"] = annotations.clone();
    }
    manifest
}

const OCI: &str = "application/vnd.oci.image.config.v1+json";

fn at(letter: char) -> String {
    format!("{REPOSITORY}@{}", digest(letter))
}

/// What stands at a digest of the repository: the manifest of an image, and its configuration.
fn with(world: World, letter: char, configuration: Value) -> World {
    of_type(world, letter, OCI, configuration)
}

fn of_type(world: World, letter: char, kind: &str, configuration: Value) -> World {
    world.and(|host| host.artifact(&at(letter), manifest(letter, kind, &Value::Null), configuration)).proven(letter)
}

/// An image for one platform.
fn alone(configuration: Value) -> World {
    with(World::default().image(IMAGE, 'a'), 'a', configuration)
}

/// An image for two.
fn two(amd64: Value, arm64: Value) -> World {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'b')]);
    with(with(world, 'a', amd64), 'b', arm64).proven('f')
}

/// One expression has to be true; nothing is scanned.
fn by_expression(text: &str) -> Value {
    json!({"preScanPolicies": {"defaultPolicy": "accept"},
           "imageVerification": [{"name": "x", "verifyPreScanAccepted": true, "verifications": [{"expression": text}]}]})
}

/// The same by a rule, which is given the list of one image's configurations as `all`.
fn by_rule(denies: &str) -> Value {
    stop_the_clock();
    let rule = format!("package x\ndeny[\"no\"] {{ some image; all := input.imageConfigs[image]; {denies} }}");
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "x", "kinds": ["Pod"], "rego": rule}]})
}

const NOT_ROOT: &str = "images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot))";
const YOUNG: &str = "images.all.all(i, imageConfigs(i).all(c, timestamp(c.created) > now - duration('2160h')))";

/// A trap for the expression and for the rule that say the same.
#[track_caller]
fn traps(remedy: Remedy, world: &World, expression: &str, rule: &str) {
    trap(remedy, world, IMAGE, &by_expression(expression), "denied ", "allowed ");
    trap(remedy, world, IMAGE, &by_rule(rule), "denied ", "allowed ");
}

#[test]
fn one_platform_that_starts_as_root_is_enough() {
    let world = two(configuration("1000"), configuration("0:0"));
    assert!(!world.decide(IMAGE, &by_expression(NOT_ROOT)).allowed);
    assert!(!world.decide(IMAGE, &by_rule("all[_].runsAsRoot")).allowed);
    // Of those that the settings ask for.
    let mut settings = by_expression(NOT_ROOT);
    settings["reports"] = json!({"platforms": ["linux/amd64"]});
    assert!(world.decide(IMAGE, &settings).allowed);
    settings["reports"] = json!({"platforms": ["linux/arm64"]});
    assert!(!world.decide(IMAGE, &settings).allowed);
    let world = two(configuration("1000"), configuration("app"));
    assert!(world.decide(IMAGE, &by_expression(NOT_ROOT)).allowed);
    assert!(world.decide(IMAGE, &by_rule("all[_].runsAsRoot")).allowed);
}

#[test]
fn a_platform_that_cant_be_read_isnt_left_out() {
    for broken in [
        json!("x"),
        json!({"config": 7}),
        json!(null),
        json!({"os": "linux", "architecture": "arm64", "config": {"User": 0}}),
    ] {
        let world = two(configuration("1000"), broken);
        traps(Remedy::EveryConfigurationCounts, &world, NOT_ROOT, "all[_].runsAsRoot");
    }
    let world = two(configuration("1000"), configuration("1000")).and(|host| host.down(&at('b')));
    traps(Remedy::EveryConfigurationCounts, &world, NOT_ROOT, "all[_].runsAsRoot");
    let index = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'b')]);
    let world = with(index, 'a', configuration("1000")).proven('f');
    traps(Remedy::EveryConfigurationCounts, &world, NOT_ROOT, "all[_].runsAsRoot");
}

#[test]
fn the_configuration_of_another_digest_doesnt_count() {
    let other =
        json!({"manifest": manifest('a', OCI, &Value::Null), "digest": digest('c'), "config": configuration("1000")});
    let world = alone(configuration("0")).and(|host| host.artifact_says(&at('a'), other));
    // With the manifest that was asked for: the digest alone is another.
    traps(Remedy::MatchConfiguredDigest, &world, NOT_ROOT, "all[_].runsAsRoot");
}

#[test]
fn an_artifact_is_no_image() {
    for kind in
        ["application/vnd.oci.empty.v1+json", "application/vnd.cncf.helm.config.v1+json", "application/json", ""]
    {
        let world = of_type(
            World::default().image(IMAGE, 'a'),
            'a',
            kind,
            json!({"os": "linux", "architecture": "amd64", "config": {"User": "1000"}}),
        );
        traps(Remedy::ArtifactsAreNoImages, &world, NOT_ROOT, "all[_].runsAsRoot");
    }
    // Of the type of an image's, and none: cosign's signatures are.
    for nothing in
        [json!({"architecture": "", "os": "", "config": {"User": "1000"}}), json!({"config": {"User": "1000"}})]
    {
        traps(Remedy::ArtifactsAreNoImages, &alone(nothing), NOT_ROOT, "all[_].runsAsRoot");
    }
}

#[test]
fn a_key_that_others_take_for_a_field_is_refused() {
    let root = |key: &str| {
        let mut configuration = configuration("1000");
        configuration["config"][key] = json!("0");
        configuration
    };
    for key in ["user", "USER", "u_ser"] {
        traps(Remedy::OneSpelling, &alone(root(key)), NOT_ROOT, "all[_].runsAsRoot");
    }
    for (key, value) in [("labels", json!({"team": "other"})), ("Lab-els", json!({}))] {
        let mut twice = configuration("1000");
        twice["config"][key] = value;
        let expression = "images.all.all(i, imageConfigs(i).all(c, c.labels['team'] == 'web'))";
        traps(Remedy::OneSpelling, &alone(twice), expression, "all[_].labels.team != \"web\"");
    }
    let mut created = configuration("1000");
    created["Created"] = json!("2020-01-01T00:00:00Z");
    traps(Remedy::OneSpelling, &alone(created), YOUNG, "time.parse_rfc3339_ns(all[_].created) < 1700000000000000000");
    // Labels are anybody's: two of another spelling are two.
    let mut labels = configuration("1000");
    labels["config"]["Labels"] = json!({"team": "web", "Team": "other"});
    let expression = "images.all.all(i, imageConfigs(i).all(c, c.labels['team'] == 'web' && c.labels.Team == 'other'))";
    assert!(alone(labels).decide(IMAGE, &by_expression(expression)).allowed);
}

#[test]
fn an_image_of_tomorrow_isnt_young() {
    let made = |at: Value| {
        let mut configuration = configuration("1000");
        configuration["created"] = at;
        alone(configuration)
    };
    let old = "not data.x.young(all)\n}\nyoung(all) { count([c | c := all[_]; time.parse_rfc3339_ns(c.created) > time.now_ns() - 7776000000000000]) == count(all)";
    traps(Remedy::NothingIsMadeTomorrow, &made(json!("2026-12-24T00:00:00Z")), YOUNG, old);
    // Clocks differ by some minutes.
    assert!(made(json!("2026-11-20T12:05:00Z")).decide(IMAGE, &by_expression(YOUNG)).allowed);
    assert!(made(json!("2026-10-20T08:00:00Z")).decide(IMAGE, &by_rule(old)).allowed);
    // What says nothing, or no time, isn't young.
    for nothing in [
        json!(null),
        json!(""),
        json!("yesterday"),
        json!("1970-01-01T00:00:00Z"),
        json!("0000-00-00T00:00:00Z"),
        json!("2026-08-22T11:59:59Z"),
    ] {
        let world = made(nothing);
        assert!(!world.decide(IMAGE, &by_expression(YOUNG)).allowed);
        assert!(!world.decide(IMAGE, &by_rule(old)).allowed);
    }
    for no_text in [json!(1_795_176_000), json!({})] {
        let answer = made(no_text).decide(IMAGE, &by_expression("images.all.all(i, imageConfigs(i).size() > 0)"));
        assert!(
            !answer.allowed && answer.response["message"].to_string().contains("invalid type"),
            "{}",
            answer.response
        );
    }
    // It ages, and nothing else decides.
    let world = made(json!("2026-10-20T08:00:00Z"));
    assert!(world.decide_at(IMAGE, &by_expression(YOUNG), NOW).allowed);
    assert!(!world.decide_at(IMAGE, &by_expression(YOUNG), Timestamp(NOW.0 + 90 * 24 * 3600)).allowed);
}

#[test]
fn who_is_nobody_is_root() {
    for user in ["", ":0", ":"] {
        traps(Remedy::NobodyIsRoot, &alone(configuration(user)), NOT_ROOT, "all[_].runsAsRoot");
    }
    for nothing in [json!(null), json!({}), json!({"User": null})] {
        let mut without = configuration("");
        without["config"] = nothing;
        traps(Remedy::NobodyIsRoot, &alone(without), NOT_ROOT, "all[_].runsAsRoot");
    }
    for root in ["0", "root", "0:1000", "root:nobody", "00", " 0", "4294967296", "-1"] {
        assert!(!alone(configuration(root)).decide(IMAGE, &by_expression(NOT_ROOT)).allowed, "{root}");
    }
    for other in ["1000", "1000:0", "nobody", "65532:65532"] {
        assert!(alone(configuration(other)).decide(IMAGE, &by_expression(NOT_ROOT)).allowed, "{other}");
    }
}

/// Runtimes don't trim: they look for `1000 ` in the image's own list of users, in which it may have any number.
#[test]
fn whitespace_in_a_user_may_stand_for_root() {
    for user in [" ", "1000 ", " 1000", "1000\t", "1000 :0", "app\n", "10 00", "\u{a0}1000", "1000: 0"] {
        traps(Remedy::OddUsersMayBeRoot, &alone(configuration(user)), NOT_ROOT, "all[_].runsAsRoot");
        let told = format!("images.all.all(i, imageConfigs(i).all(c, c.user == {user:?} && !has(c.uid)))");
        let told = told.replace("\\u{a0}", "\u{a0}");
        assert!(alone(configuration(user)).decide(IMAGE, &by_expression(&told)).allowed, "{user:?}");
    }
}

#[test]
fn a_manifest_that_may_hide_another_configuration_doesnt_count() {
    let world = alone(configuration("1000")).unproven();
    traps(Remedy::ProveIndexes, &world, NOT_ROOT, "all[_].runsAsRoot");
    let mut settings = by_expression(NOT_ROOT);
    settings["reports"] = json!({"unprovenIndexes": "warn"});
    assert!(world.decide(IMAGE, &settings).allowed);
}

#[test]
fn what_is_told_of_an_image() {
    let world = two(configuration("1000:0"), configuration("nobody"));
    let told = json!({
        "platform": "linux/amd64", "digest": digest('a'), "created": "2026-10-20T06:00:00Z", "user": "1000:0", "uid": 1000, "runsAsRoot": false,
        "labels": {"team": "web"}, "entrypoint": ["/app"], "cmd": [], "env": ["PATH=/bin"], "exposedPorts": ["8080/tcp"], "workingDir": "/",
        "layers": [digest('1'), digest('2')], "annotations": {},
    });
    // The digests are proven ones, and told by their letters.
    for key in told.as_object().unwrap().keys().filter(|key| *key != "digest") {
        let value = told[key].to_string().replace('"', "'");
        let expression = format!("imageConfigs(images.all[0])[0].{key} == {value}");
        let answer = world.decide(IMAGE, &by_expression(&expression));
        assert!(answer.allowed, "{expression}: {}", answer.response);
        let rule = by_rule(&format!("not all[0].{key} == {}", told[key]));
        assert!(world.decide(IMAGE, &rule).allowed, "{key}");
    }
    for expression in [
        "imageConfigs(images.all[0]).map(c, c.platform) == ['linux/amd64', 'linux/arm64']",
        "imageConfigs(images.all[0]).map(c, c.digest).all(d, d.startsWith('sha256:'))",
        "!has(imageConfigs(images.all[0])[1].uid) && !has(imageConfigs(images.all[0])[0].base)",
        "now == timestamp('2026-11-20T12:00:00Z') && string(now) == '2026-11-20T12:00:00Z' && int(now) == 1795176000",
        "'%s'.format([now]) == '2026-11-20T12:00:00Z' && now.getFullYear() == 2026",
    ] {
        let answer = world.decide(IMAGE, &by_expression(expression));
        assert!(answer.allowed, "{expression}: {}", answer.response);
    }
    let alone = alone(json!({"architecture": "arm", "os": "linux", "variant": "v6"}));
    for expression in [
        "imageConfigs(images.all[0])[0].platform == 'linux/arm/v6' && imageConfigs(images.all[0])[0].runsAsRoot",
        "!has(imageConfigs(images.all[0])[0].created) && imageConfigs(images.all[0])[0].labels.size() == 0",
    ] {
        let answer = alone.decide(IMAGE, &by_expression(expression));
        assert!(answer.allowed, "{expression}: {}", answer.response);
    }
}

/// The nearest place that says anything says all: nothing is put together of two.
#[test]
fn what_an_image_was_built_from() {
    let key = |end: &str| format!("org.opencontainers.image.base.{end}");
    let said = |name: &str, of: char| json!({key("name"): name, key("digest"): digest(of)});
    let annotated = |world: World, annotations: &Value, labels: Value| {
        let mut configuration = configuration("1000");
        configuration["config"]["Labels"] = labels;
        world.and(|host| host.artifact(&at('a'), manifest('a', OCI, annotations), configuration)).proven('a')
    };
    let index = |annotations: &Value| {
        let entry = json!({"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}});
        let index = json!({"schemaVersion": 2, "manifests": [entry], "annotations": annotations});
        World::default().and(|host| host.tag(IMAGE, &digest('f')).manifest(&at('f'), index))
    };
    let of = |world: &World, expected: &Value| {
        let expression = format!("imageConfigs(images.all[0])[0].base == {}", expected.to_string().replace('"', "'"));
        let answer = world.decide(IMAGE, &by_expression(&expression));
        assert!(answer.allowed, "{expression}: {}", answer.response);
    };
    let all = annotated(index(&said("of.index", '7')), &said("of.manifest", '6'), said("of.label", '8')).proven('f');
    of(&all, &json!({"from": "manifest", "name": "of.manifest", "digest": digest('6')}));
    let world = annotated(index(&said("of.index", '7')), &json!({"other": "x"}), said("of.label", '8')).proven('f');
    of(&world, &json!({"from": "index", "name": "of.index", "digest": digest('7')}));
    let world = annotated(index(&json!({"other": "x"})), &Value::Null, said("of.label", '8')).proven('f');
    of(&world, &json!({"from": "labels", "name": "of.label", "digest": digest('8')}));
    let world =
        annotated(index(&json!({key("name"): ""})), &json!({key("name"): "of.manifest"}), said("of.label", '8'))
            .proven('f');
    of(&world, &json!({"from": "manifest", "name": "of.manifest"}));
}

#[test]
fn each_platform_is_asked_for_once_and_only_where_it_is_mentioned() {
    let world = two(configuration("1000"), configuration("1000"));
    let asked = |settings: &Value| {
        assert!(world.decide(IMAGE, settings).allowed);
        world.host.count("v1/oci_manifest_config")
    };
    assert_eq!(asked(&by_expression("true")), 0);
    assert_eq!(asked(&by_expression("now > timestamp('2026-01-01T00:00:00Z')")), 0);
    assert_eq!(asked(&by_rule("false")), 2);
    assert_eq!(
        asked(
            &json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "x", "kinds": ["Pod"], "rego": "package x\ndeny[\"x\"] { input.spec.hostNetwork }"}]})
        ),
        0
    );
    let twice = "images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot)) && imageConfigs(images.all[0]).size() == 2";
    let mut settings = by_expression(twice);
    settings["regoPolicies"] = by_rule("all[_].runsAsRoot")["regoPolicies"].clone();
    settings["imageVerification"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "y", "verifyPreScanAccepted": true, "verifications": [{"expression": NOT_ROOT}]}));
    assert_eq!(asked(&settings), 2);
    // The tag, the index, and two platforms.
    assert_eq!(world.host.calls().len(), 4);
    settings["maxHostCalls"] = json!(3);
    assert!(!world.decide(IMAGE, &settings).allowed);
}

/// In the scan phase rules see those of the image that they are asked about.
#[test]
fn custom_rules_see_the_configurations_of_their_image() {
    let rules = "deny_image[\"starts as root\"] { input.ImageConfigs[_].runsAsRoot }";
    let settings = json!({"scanPolicies": {"reportPending": "accept"}, "customRules": rules});
    stop_the_clock();
    assert!(two(configuration("1000"), configuration("1000")).decide(IMAGE, &settings).allowed);
    let answer = two(configuration("1000"), configuration("root")).decide(IMAGE, &settings);
    assert!(answer.response["message"].to_string().contains("starts as root"), "{}", answer.response);
    let answer = two(configuration("1000"), json!({})).decide(IMAGE, &settings);
    assert!(!answer.allowed);
    let message = answer.response["message"].to_string();
    assert!(message.contains("Evaluation error: the configuration of reg.io/team/app@"), "{message}");
    assert!(message.contains("names no operating system and no architecture"), "{message}");
}

/// Whoever pushes an image chooses how large its configuration is.
#[test]
fn configurations_are_bounded() {
    let mut large = configuration("1000");
    large["config"]["Env"] = json!(["x".repeat(1 << 20)]);
    let answer = alone(large).decide(IMAGE, &by_expression(NOT_ROOT));
    assert!(
        !answer.allowed && answer.response["message"].to_string().contains("more than 1048576 bytes"),
        "{}",
        answer.response
    );
    let mut half = configuration("1000");
    half["config"]["Env"] = json!(["x".repeat((1 << 20) - 4096)]);
    let letters = ['a', 'b', 'c', 'd', 'e'];
    let platforms: Vec<(String, char)> = letters.iter().map(|letter| (format!("linux/{letter}"), *letter)).collect();
    let platforms: Vec<(&str, char)> = platforms.iter().map(|(name, letter)| (name.as_str(), *letter)).collect();
    let world = letters
        .iter()
        .fold(World::default().index(IMAGE, 'f', &platforms), |world, letter| with(world, *letter, half.clone()));
    let answer = world.proven('f').decide(IMAGE, &by_expression(NOT_ROOT));
    assert!(
        !answer.allowed && answer.response["message"].to_string().contains("more than 4194304 bytes together"),
        "{}",
        answer.response
    );
}
