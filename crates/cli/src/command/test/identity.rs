//! What a test is called, and where it is written.

/// One test's name and place.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// What the name is unique in.
    pub(super) scope: Scope,
    /// The rule's or the case's name.
    pub(super) name: String,
    /// The file, as messages call it.
    pub(super) file: String,
    /// Where in it, from 1.
    pub(super) line: usize,
}

/// What tests belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Rules to a package, with `data`.
    Package(String),
    /// Cases to a suite, by its file.
    Suite(String),
}

impl Scope {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        let (Self::Package(name) | Self::Suite(name)) = self;
        name
    }
}

impl Identity {
    /// `data.kubernetes.test_admission.test_image_safety`, `policies/team_test.yaml: an unscanned image waits`
    pub(super) fn full_name(&self) -> String {
        match &self.scope {
            Scope::Package(package) => format!("{package}.{}", self.name),
            Scope::Suite(file) => format!("{file}: {}", self.name),
        }
    }
}
