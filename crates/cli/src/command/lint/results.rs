//! What was found in settings, in the form that all commands' results have.

use image_admission_settings::{Lint as Remark, LintRule};

use super::{File, Looked, Severity, Spotted};
use image_admission_manifests::lines::Spot;

use crate::command::output::{Check, Finding, Level, Location, Results, Rule};

/// What makes settings useless, beside what the lint looks for.
pub(super) const INVALID: Rule =
    Rule { id: "invalid-settings", summary: "settings that are not valid", level: Level::Error };

/// Everything that was looked at.
pub(super) fn results(files: &[File], fail_on: Severity) -> Results {
    let rule = |rule: LintRule| Rule {
        id: rule.name(),
        summary: rule.summary(),
        level: Level::from(Severity::from(rule.severity())),
    };
    let rules = LintRule::ALL.into_iter().map(rule).chain([INVALID]).collect();
    let checks = files.iter().flat_map(|file| file.settings.iter().map(move |looked| check(file, looked)));
    Results { command: "lint", rules, checks: checks.collect(), fail_on: fail_on.into() }
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Note,
            Severity::Warning => Self::Warning,
            Severity::Error => Self::Error,
        }
    }
}

fn check(file: &File, looked: &Looked) -> Check {
    let name = file.path.display().to_string();
    let at = |Spotted { file, spot }, path: Option<&str>| Location {
        file: Some(file),
        line: spot.map(|spot: Spot| spot.line),
        object: None,
        field: path.map(str::to_owned),
    };
    let location = |path: Option<&str>| at(file.place(looked, path.unwrap_or_default()), path);
    let remark = |Remark { rule, severity, path, message, .. }: &Remark| Finding {
        rule: rule.name(),
        level: Severity::from(*severity).into(),
        title: None,
        message: format!("{path}: {message}"),
        location: location(Some(path)),
    };
    let problem = |(number, text): (usize, &String)| Finding {
        rule: INVALID.id,
        level: INVALID.level,
        title: None,
        message: text.clone(),
        location: {
            let path = text.split_once(": ").map(|(path, _)| path);
            at(file.place_of_problem(looked, number, path.unwrap_or_default()), path)
        },
    };
    let findings = match &looked.said {
        Ok(remarks) => remarks.iter().map(remark).collect(),
        Err(problems) => problems.0.iter().enumerate().map(problem).collect(),
    };
    let policy = looked.found.policy.as_ref().map(ToString::to_string);
    Check {
        group: name.clone(),
        name: policy.unwrap_or_else(|| "settings".to_owned()),
        location: location(None),
        findings,
        ..Check::default()
    }
}
