//! Errors in the expressions of `imageVerification`, found when the policy is deployed: invalid CEL, unknown names, and wrong
//! types.

mod attestors;
mod infer;
mod signatures;
mod types;
mod written;

use super::questions;
use image_admission_cel::expression::{Program, References};
use image_admission_cel::functions;
use image_admission_image::ImageList;
use image_admission_settings::{
    Artifact, Evidence, Expression, IMAGE_LISTS, Lint, LintRule, Platforms, Settings, VerificationPolicy,
};
use image_admission_untrusted::message::nearest;
use infer::{Types, Wanted, infer};
use std::collections::BTreeSet;
use types::Type;

/// The function that returns an image's configuration on each of its platforms.
const CONFIGS: &str = "imageConfigs";
/// Variables that every expression sees.
const VARIABLES: [&str; 6] = ["object", "oldObject", "request", "namespaceObject", "exemptions", "now"];

/// Every problem of every policy, each with its path.
pub(crate) fn check(settings: &Settings) -> Vec<String> {
    let mut problems = Vec::new();
    let mut keys: BTreeSet<&str> = BTreeSet::new();
    attestors::check_evidence(&settings.evidence, &mut problems);
    for (path, attached) in settings.reports.attached() {
        let before = problems.len();
        attestors::check(&path, &attached.attestors, &settings.evidence, &mut problems);
        if matches!(attached.artifact, Artifact::Statement(_)) && problems.len() == before {
            attestors::check_documents(&path, &attached.attestors, &settings.evidence, &mut problems);
        }
    }
    for policy in &settings.verification {
        check_policy(policy, &settings.evidence, &mut problems);
        if settings.reports.sboms.is_empty() {
            check_contents(policy, &mut problems);
        }
        for annotation in &policy.audit_annotations {
            if !keys.insert(&annotation.name) {
                problems
                    .push(format!("{}.auditAnnotations: another policy writes `{}` too", policy.path, annotation.name));
            }
        }
    }
    problems
}

/// Expressions that decide by one platform of an image, although several are judged.
pub(crate) fn one_platform(settings: &Settings) -> Vec<Lint> {
    if matches!(&settings.reports.platforms, Platforms::Listed(listed) if listed.len() == 1) {
        return Vec::new();
    }
    let expressions = settings.verification.iter().flat_map(|policy| {
        let variables = policy.variables.iter().map(|named| &named.expression);
        variables.chain(policy.verifications.iter().map(|own| &own.expression))
    });
    let takes_one = |expression: &&Expression| Program::read(&expression.text).is_ok_and(|own| own.takes_one(CONFIGS));
    let remark = |expression: &Expression| {
        let why = format!("it looks at one platform of an image, and others may run: write `{CONFIGS}(…).all(c, …)`");
        Lint::new(LintRule::OnePlatform, expression.path.clone(), why)
    };
    expressions.filter(takes_one).map(remark).collect()
}

/// The variables that the expressions of a policy name.
pub(crate) fn names(policy: &VerificationPolicy) -> BTreeSet<String> {
    let programs = policy.expressions().into_iter().filter_map(|expression| Program::read(&expression.text).ok());
    programs.flat_map(|program| program.references.names).collect()
}

/// Every problem of one policy, each with its path.
pub(super) fn check_policy(policy: &VerificationPolicy, evidence: &Evidence, problems: &mut Vec<String>) {
    let names = |named: &[image_admission_settings::NamedExpression]| -> Vec<String> {
        named.iter().map(|named| named.name.clone()).collect()
    };
    let mut images: Vec<String> = IMAGE_LISTS.iter().map(|name| (*name).to_owned()).collect();
    images.extend(names(&policy.images));
    let mut known = KnownNames {
        images,
        attestors: policy.attestor_names.iter().cloned().collect(),
        attestations: policy.attestations.iter().map(|attestation| attestation.name.clone()).collect(),
        variables: Vec::new(),
        has_ref: false,
        has_images: false,
    };
    attestors::check(&policy.path, &policy.attestors, evidence, problems);
    let all = policy.expressions();
    let mut types = Types {
        has_other_functions: all
            .into_iter()
            .filter_map(|own| Program::read(&own.text).ok())
            .any(needs_standard_library),
        ..Types::default()
    };
    for expression in &policy.images_matched.expressions {
        let known = KnownNames { has_ref: true, ..known.clone() };
        if let Some((program, _)) = read(expression, &known, &types, Wanted::Verdict, problems) {
            no_question(&program, expression, "which images a policy is about", problems);
        }
    }
    for condition in &policy.conditions {
        if let Some((program, _)) = read(&condition.expression, &known, &types, Wanted::Verdict, problems) {
            no_question(&program, &condition.expression, "which requests a policy is about", problems);
        }
    }
    for named in &policy.images {
        if let Some((program, _)) = read(&named.expression, &known, &types, Wanted::TextOrTexts, problems) {
            no_question(&program, &named.expression, "which images there are", problems);
        }
    }
    known.has_images = true;
    for variable in &policy.variables {
        if let Some((_, given)) = read(&variable.expression, &known, &types, Wanted::Anything, problems) {
            types.variables.insert(variable.name.clone(), given);
        }
        known.variables.push(variable.name.clone());
    }
    for verification in &policy.verifications {
        if let Some((program, _)) = read(&verification.expression, &known, &types, Wanted::Verdict, problems) {
            attestors::check_statements(policy, evidence, &program, &verification.expression, problems);
        }
        if let Some(message) = &verification.message_expression {
            read(message, &known, &types, Wanted::Text, problems);
        }
    }
    for annotation in &policy.audit_annotations {
        read(&annotation.expression, &known, &types, Wanted::TextOrNull, problems);
    }
}

/// Whether an expression makes all expressions of its policy use the engine's own tables of functions.
fn needs_standard_library(program: Program) -> bool {
    program.references.functions.iter().any(|name| functions::needs_standard_library(name))
}

/// The names that an expression may use.
#[derive(Clone)]
struct KnownNames {
    images: Vec<String>,
    attestors: Vec<String>,
    attestations: Vec<String>,
    variables: Vec<String>,
    /// Whether it is about one image, which it calls `ref`.
    has_ref: bool,
    /// Whether the lists of images are known when it is evaluated.
    has_images: bool,
}

/// The expression and the type of its value; none if it is no CEL.
fn read(
    expression: &Expression,
    known: &KnownNames,
    types: &Types,
    wanted: Wanted,
    problems: &mut Vec<String>,
) -> Option<(Program, Type)> {
    match Program::read(&expression.text) {
        Ok(program) => {
            let (given, wrong) = infer(&program, types, wanted);
            for why in unknown(&program.references, &expression.text, known).into_iter().chain(wrong) {
                problems.push(format!("{}: {why}", expression.path));
            }
            Some((program, given))
        }
        Err(why) => {
            let hint = if expression.text.contains(".{") {
                "; CEL selects no several fields at once: write `images.all`, or lists joined by `+`"
            } else {
                ""
            };
            problems.push(format!("{}: {why}{hint}", expression.path));
            None
        }
    }
}

/// What CEL has for lists and maps, and is no function.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "filter", "has", "map"];

/// Unknown names in an expression.
fn unknown(references: &References, text: &str, known: &KnownNames) -> Vec<String> {
    let mut problems = Vec::new();
    for name in &references.names {
        let namespaces = [
            ("images", &known.images),
            ("attestors", &known.attestors),
            ("attestations", &known.attestations),
            ("variables", &known.variables),
        ];
        if let Some((namespace, field)) = name.split_once('.') {
            let there = namespaces.iter().find(|(own, _)| *own == namespace).map(|(_, there)| *there);
            if namespace == "images" && !known.has_images {
                problems.push("`images` can't be used here: its lists are made after this".to_owned());
            } else if let Some(there) = there.filter(|there| !there.iter().any(|own| own == field)) {
                problems.push(format!("there is no `{name}`{}", meant(field, there, namespace)));
            }
            continue;
        }
        let is_namespace = namespaces.iter().any(|(own, _)| own == name);
        let is_known = VARIABLES.contains(&name.as_str())
            || is_namespace && (name != "images" || known.has_images)
            || name == "ref" && known.has_ref
            || functions::TYPE_NAMES.contains(&name.as_str())
            // `optional.of(x)`
            || name == "optional" && references.functions.iter().any(|name| functions::needs_standard_library(name));
        if is_known {
            continue;
        }
        let all: Vec<String> =
            VARIABLES.iter().copied().chain(namespaces.iter().map(|(own, _)| *own)).map(str::to_owned).collect();
        let hint = if name == "ref" { String::new() } else { meant(name, &all, "") };
        problems.push(format!("unknown variable `{name}`{hint}"));
    }
    for name in &references.functions {
        if !functions::is_known(name) && !functions::needs_standard_library(name) && !questions::is_known(name) {
            let own = questions::names().chain(functions::names()).chain(MACROS);
            let own: Vec<String> = own.map(str::to_owned).collect();
            problems.push(format!("unknown function `{name}`{}", meant(name, &own, "")));
        }
    }
    for list in [ImageList::Container, ImageList::Init, ImageList::Ephemeral].map(ImageList::field) {
        if text.replace(' ', "").contains(&format!("spec.{list}.image")) {
            problems.push(format!(
                "`{list}` is a list and has no field `image`: `images.{list}` is there by itself; else write `….{list}.map(c, c.image)`"
            ));
        }
    }
    problems
}

/// A hint for an unknown name: the nearest name, or all names.
fn meant(name: &str, there: &[String], namespace: &str) -> String {
    let full = |own: &str| if namespace.is_empty() { own.to_owned() } else { format!("{namespace}.{own}") };
    match nearest(name, there.iter().map(String::as_str)) {
        Some(own) => format!("; did you mean `{}`?", full(own)),
        None if there.is_empty() => String::new(),
        None if namespace.is_empty() && there.len() > 12 => String::new(),
        None => format!("; there is {}", there.iter().map(|own| full(own)).collect::<Vec<_>>().join(", ")),
    }
}

/// Refuses functions that ask the registry, in an expression that is evaluated before their images are known.
fn no_question(program: &Program, expression: &Expression, what: &str, problems: &mut Vec<String>) {
    for name in questions::asking().filter(|name| program.references.functions.contains(*name)) {
        problems.push(format!("{}: `{name}` can't be asked here: it is not known yet {what}", expression.path));
    }
}

/// Expressions that read an image's packages, although no source of SBOMs is set.
fn check_contents(policy: &VerificationPolicy, problems: &mut Vec<String>) {
    let asks = |expression: &&Expression| {
        Program::read(&expression.text).is_ok_and(|program| program.references.functions.contains(questions::PACKAGES))
    };
    for expression in policy.expressions().into_iter().filter(asks) {
        problems.push(format!(
            "{}: nothing tells `{}` what an image is made of: name where SBOMs come from in `reports.sboms`",
            expression.path,
            questions::PACKAGES
        ));
    }
}
