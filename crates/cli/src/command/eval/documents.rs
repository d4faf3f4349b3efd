//! What the policy's rules see of a request: the input, the data, and the rules themselves. The engine decides the request
//! as it would for a cluster, and says what its rules saw on the way.

use image_admission_engine::decide;
use image_admission_host::Host;
use image_admission_settings::{KindPattern, RegoPolicy, RegoVersion as SettingsVersion, Settings};
use regorus::Value;
use serde_json::value::RawValue;

use super::Phase;
use crate::command::policy::now;
use crate::command::rego::{Module, RegoVersion, start_clock};

/// What stands for a policy where the settings have none.
const QUERY: &str = "query";
/// It sees everything that a policy may see, and says nothing.
const QUERY_SEES_ALL: &str = "package query\ndeny[\"\"] { false; data.kubernetes; data.inventory }";

/// What rules see.
#[derive(Debug)]
pub(super) struct Documents {
    /// The `input`.
    pub(super) input: Value,
    /// The part of `data` that no rule makes.
    pub(super) data: Value,
    /// The rules.
    pub(super) modules: Vec<Module>,
}

/// Which rules are meant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Whose.
    pub(super) phase: Phase,
    /// Of [`Phase::Policies`], the policy's name; not needed where there is only one.
    pub(super) policy: Option<&'a str>,
}

impl Documents {
    /// Without a policy.
    pub(super) fn of_input(input: Value) -> Self {
        Self { input, data: Value::new_object(), modules: Vec::new() }
    }
}

/// The documents for a request, an AdmissionRequest; without settings, those of the defaults.
pub(super) fn documents(
    request: &RawValue,
    settings: Option<&RawValue>,
    host: &dyn Host,
    wanted: &Wanted<'_>,
) -> Result<Documents, DocumentsError> {
    let mut settings = read(settings)?;
    settings.verbose_log = true;
    // A query needs no policy to see what policies would see.
    if settings.rego.policies.is_empty() && wanted.policy.is_none() {
        settings.rego.policies.push(RegoPolicy {
            name: QUERY.to_owned(),
            kinds: vec![KindPattern::Any],
            rego: QUERY_SEES_ALL.to_owned(),
            parameters: None,
            version: SettingsVersion::V0,
        });
    }
    let by = match wanted.phase {
        Phase::PreScan => "preCustomRules".to_owned(),
        Phase::Scan => "customRules".to_owned(),
        Phase::Policies => policy(&settings, wanted.policy)?,
    };
    start_clock();
    let decision = decide(Some(request), &settings, host, now());
    let Some(seen) = decision.seen.into_iter().find(|seen| seen.by == by) else {
        let failed = decision.policies.into_iter().find(|policy| policy.name == by).and_then(|policy| policy.error);
        return Err(DocumentsError::NothingSeen { by, why: failed.map(|why| format!(": {why}")).unwrap_or_default() });
    };
    let module = |module: image_admission_engine::SeenModule| Module {
        name: module.name,
        text: module.rego,
        version: if module.version == SettingsVersion::V0 { RegoVersion::V0 } else { RegoVersion::V1 },
    };
    Ok(Documents {
        input: Value::from(seen.input),
        data: Value::from(seen.data),
        modules: seen.rules.into_iter().filter(|module| module.name != QUERY).map(module).collect(),
    })
}

/// The settings; without any, every default.
pub(super) fn read(settings: Option<&RawValue>) -> Result<Settings, DocumentsError> {
    let settings = match settings {
        Some(settings) => {
            serde_json::from_str(settings.get()).map_err(|error| DocumentsError::InvalidSettings(error.to_string()))?
        }
        None => serde_json::Value::Null,
    };
    Settings::read(&settings).map_err(|error| DocumentsError::InvalidSettings(error.to_string()))
}

/// The name of the policy that is meant.
fn policy(settings: &Settings, wanted: Option<&str>) -> Result<String, DocumentsError> {
    let policies = &settings.rego.policies;
    let names = || policies.iter().map(|policy| policy.name.as_str()).collect::<Vec<_>>().join(", ");
    match (wanted, policies.as_slice()) {
        (None, []) => Ok(QUERY.to_owned()),
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => Err(DocumentsError::SeveralPolicies(names())),
        (Some(name), _) if policies.iter().any(|policy| policy.name == name) => Ok(name.to_owned()),
        (Some(name), _) => Err(DocumentsError::NoPolicy { name: name.to_owned(), there_are: names() }),
    }
}

/// Why rules see nothing.
#[derive(Debug, thiserror::Error)]
pub(in crate::command) enum DocumentsError {
    /// The settings are not valid: one problem a line.
    #[error("the settings are not valid:\n{0}")]
    InvalidSettings(String),
    /// No rule was evaluated for the request.
    #[error("the rules of `{by}` see nothing of this request{why}")]
    NothingSeen {
        /// Whose rules.
        by: String,
        /// What kept them from it, after a colon.
        why: String,
    },
    /// There are several policies.
    #[error("`regoPolicies` has several policies, name one with `--policy`: {0}")]
    SeveralPolicies(String),
    /// There is no such policy.
    #[error("`regoPolicies` has no policy `{name}`; there are: {there_are}")]
    NoPolicy {
        /// What was asked for.
        name: String,
        /// What there is.
        there_are: String,
    },
}
