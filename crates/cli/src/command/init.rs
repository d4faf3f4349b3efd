//! `init`: writes an overlay of the manifests to deploy by, with them in it, so that one command applies everything.

pub(super) mod base;
mod choices;
mod overlay;
mod questions;
mod running;
mod suite;
mod yaml;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::host_options::{HostError, HostOptions};
use clap::Args;
use image_admission_engine::check_settings;
use serde_json::Value;

use super::terminal::{StandardOutput, errors, in_one_line, without_commands};
use super::{Ending, complain, invalid_settings};
use choices::{Choices, Mode, Scanner, Signed, Signer, With};
use questions::{Question, QuestionError, Questions};
use running::Running;

const AFTER_HELP: &str = "\
In a terminal it asks for what isn't given. Elsewhere, or where `--scanner`, `--registries` and `--module` are given, it asks
nothing, and takes the defaults for the rest. What it writes needs no checkout and no network:

  base/                 the manifests of this version, with all components; they stay as they are
  kustomization.yaml    what is applied: the base, the components that were chosen, and what follows
  policy.yaml           the module, the namespaces that are left out, and the settings: all that is yours to say
  policy-server.yaml    the policy server's image, and where its credentials are
  rights.yaml           rights in other namespaces than the scanner's own, where reports are in such
  tests/                a suite, which says what the settings decide

Exit codes:
  0  everything is written
  1  something went wrong, and nothing was written unless the error says so
  3  the settings would not be valid, and nothing was written

Examples:
  image-admission init
  image-admission init --scanner sbomscanner --registries ghcr.io,docker.io --module registry.example.com/image-admission:v1.0.0
  image-admission init --scanner registry --signer ci.pub --registries ghcr.io --module registry.example.com/image-admission:v1.0.0";

/// Write everything that is applied to have the policy in a cluster
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Init {
    /// Where to write it
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Who scans images
    #[arg(long, value_name = "SCANNER", value_enum)]
    scanner: Option<Scanner>,

    /// The namespaces that the scanner's reports are in, and that are trusted with them [default: the scanner's own]
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', value_parser = choices::namespace)]
    report_namespaces: Vec<String>,

    /// Who signs reports in a registry: a file with a public key, `github:OWNER`, or `github:OWNER/REPOSITORY`
    #[arg(long, value_name = "SIGNER")]
    signer: Option<String>,

    /// The only registries that images may come from
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = choices::registry)]
    registries: Vec<String>,

    /// The namespaces that the policy leaves out beside `kube-system` and `kubewarden`; `-`: no others [default: those that the scanner
    /// needs]
    #[arg(long, value_name = "NAMESPACE", value_delimiter = ',', value_parser = choices::left_out)]
    leave_out: Vec<String>,

    /// Whether anything is rejected [default: monitor]
    #[arg(long, value_name = "MODE", value_enum)]
    mode: Option<Mode>,

    /// Judge once more, after all webhooks that change objects
    #[arg(long)]
    validating: bool,

    /// Components that are applied too
    #[arg(long, value_name = "COMPONENT", value_enum, value_delimiter = ',')]
    with: Vec<With>,

    /// Images that must be signed, and who signs them: the prefix of their names, and a file with a public key, `github:OWNER`, or
    /// `github:OWNER/REPOSITORY`
    #[arg(long, value_name = "PREFIX=SIGNER", value_parser = Signed::read)]
    signed_by: Option<Signed>,

    /// Write only `base/` anew: an upgrade, which changes no choice
    #[arg(long, conflicts_with_all = ["scanner", "registries", "module", "with", "signed_by", "mode", "validating", "leave_out", "report_namespaces", "signer", "policy_server_image", "companion_image", "live"])]
    base_only: bool,

    /// The policy's module, where it was pushed, with a tag or a digest
    #[arg(long, value_name = "REFERENCE", value_parser = choices::module)]
    module: Option<String>,

    /// The policy server's image, as `kubectl get policyserver default -o jsonpath='{.spec.image}'` says [default: that of the base]
    #[arg(long, value_name = "IMAGE", value_parser = choices::image)]
    policy_server_image: Option<String>,

    /// The companion's image, which is that of the command line [default: beside the module, with `-cli` behind its name, in this version]
    #[arg(long, value_name = "IMAGE", value_parser = choices::image)]
    companion_image: Option<String>,

    /// Look at what runs in the cluster that kubectl would ask: its registries are proposed, and what would be denied is told
    #[arg(long)]
    live: bool,

    /// How to reach the cluster, instead of as kubectl would
    #[arg(long, value_name = "FILE", requires = "live")]
    kubeconfig: Option<PathBuf>,

    /// Write files anew that are there already
    #[arg(long)]
    force: bool,
}

/// Why nothing was written, or not everything.
#[derive(Debug, thiserror::Error)]
pub(super) enum InitError {
    /// Nobody is there to be asked.
    #[error("{} missing: pass it, or run `init` in a terminal to be asked", listed(_0))]
    Missing(Vec<&'static str>),
    /// A question has no answer.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// Choices don't go together.
    #[error("{0}")]
    Unfit(String),
    /// There is no cluster to look at.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The cluster doesn't say what runs.
    #[error("`--live` lists the Pods of all namespaces, and can't: {0}")]
    Pods(String),
    /// What is there stays.
    #[error("{} there already: give another folder, or `--force` to write anew what is there", listed_paths(_0))]
    Exists(Vec<PathBuf>),
    /// There is nothing whose base could be written anew.
    #[error("there is no `{}`: `--base-only` is for a folder that `init` wrote", _0.display())]
    NoOverlay(PathBuf),
    /// A file can't be written.
    #[error("cannot write `{}`: {source}; what was written before stays", path.display())]
    Write {
        /// The file, or its folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

fn listed(names: &[&str]) -> String {
    let all: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match all.split_last() {
        Some((last, [])) => format!("{last} is"),
        Some((last, others)) => format!("{} and {last} are", others.join(", ")),
        None => "nothing is".to_owned(),
    }
}

/// Of many files the first ones say enough.
fn listed_paths(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = paths.iter().take(SHOWN).map(|path| format!("`{}`", path.display())).collect();
    let more = paths.len().saturating_sub(SHOWN);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest} {}", shown.join(", "), if paths.len() == 1 { "is" } else { "are" })
}

/// A file that is written, by its path below the folder.
#[derive(Debug)]
struct File {
    path: String,
    text: String,
}

/// Everything that is written, in the order in which it is told of: what is the user's first, the base at the end.
fn files(choices: &Choices) -> Vec<File> {
    let own = overlay::files(choices).into_iter().chain(suite::files(choices));
    own.map(|(name, text)| File { path: name.to_owned(), text }).chain(base_files()).collect()
}

/// The manifests of this version.
fn base_files() -> impl Iterator<Item = File> {
    base::FILES.iter().map(|(name, text)| File { path: format!("{BASE}/{name}"), text: (*text).to_owned() })
}

fn write_all(folder: &Path, files: &[File]) -> Result<(), InitError> {
    for file in files {
        let path = folder.join(&file.path);
        let written = match path.parent() {
            Some(parent) => fs::create_dir_all(parent).and_then(|()| fs::write(&path, &file.text)),
            None => fs::write(&path, &file.text),
        };
        written.map_err(|source| InitError::Write { path, source })?;
    }
    Ok(())
}

/// Where everything is written, unless somebody says otherwise.
const FOLDER: &str = "image-admission";

/// The folder that has the manifests as they are.
const BASE: &str = "base";

/// All that is ever written: files, and folders with others in them.
const WRITTEN: [&str; 6] =
    [overlay::KUSTOMIZATION, overlay::POLICY, overlay::POLICY_SERVER, overlay::RIGHTS, suite::FOLDER, BASE];

impl Init {
    /// Asks, if somebody is there and anything is missing, writes the files, and tells on `output` what to do with them.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, InitError> {
        if self.base_only {
            return self.write_base(output);
        }
        let stdin = io::stdin();
        let missing = self.missing();
        let mut questions = match missing.as_slice() {
            [] => None,
            _ if stdin.is_terminal() => Some(Questions::new(stdin.lock(), errors())),
            _ => return Err(InitError::Missing(missing)),
        };
        let running = self.running()?;
        let (choices, folder) = self.choices(questions.as_mut(), running.as_ref())?;
        if let Some(questions) = &mut questions {
            questions.tell(&summary(&choices, &folder))?;
        }
        let files = files(&choices);
        if let Err(problems) = settings_of(&files)
            .and_then(|settings| check_settings(&settings).map(drop).map_err(|problems| problems.to_string()))
        {
            complain(&invalid_settings(Some(&folder.join(overlay::POLICY)), &problems));
            return Ok(Ending::InvalidSettings);
        }
        write_all(&folder, &files)?;
        tell(&choices, running.as_ref(), &folder, &files, output)?;
        Ok(Ending::Done)
    }

    /// What runs in the cluster, if it is to be looked at.
    fn running(&self) -> Result<Option<Running>, InitError> {
        if !self.live {
            return Ok(None);
        }
        let host = HostOptions { live: true, kubeconfig: self.kubeconfig.clone(), ..HostOptions::default() };
        let live = host.network().map_err(HostError::from)?;
        Running::of(&live).map(Some).map_err(InitError::Pods)
    }

    /// The options that nothing stands in for.
    fn missing(&self) -> Vec<&'static str> {
        let signs = self.scanner == Some(Scanner::Registry);
        let wanted = [
            ("--scanner", self.scanner.is_none()),
            ("--signer", signs && self.signer.is_none()),
            ("--registries", self.registries.is_empty()),
            ("--module", self.module.is_none()),
        ];
        wanted.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
    }

    /// What was chosen by options, and by answers to the questions where there is somebody to ask; and where to write it.
    fn choices<R: io::BufRead, W: Write>(
        &self,
        mut questions: Asked<'_, R, W>,
        running: Option<&Running>,
    ) -> Result<(Choices, PathBuf), InitError> {
        let questions = &mut questions;
        // First of all: whoever has answered everything else must not hear that the folder is taken.
        let folder = |text: &str| self.free(PathBuf::from(text)).map_err(|error| error.to_string());
        let folder = match &self.folder {
            Some(folder) => self.free(folder.clone())?,
            None if questions.is_none() => self.free(PathBuf::from(FOLDER))?,
            None => chosen(None, questions, &questions::FOLDER, Some(FOLDER), folder)?,
        };
        let scanner = chosen(self.scanner, questions, &questions::SCANNER, None, choices::scanner)?;
        let signer = self.signer(scanner, questions)?;
        let namespaces = self.namespaces(scanner, questions)?;
        let mut with: BTreeSet<With> = self.with.iter().copied().collect();
        if self.has_companion(scanner, questions)? {
            with.insert(With::Companion);
        }
        let registries = |text: &str| choices::list(text, choices::registry);
        let found = running.map(|running| running.registries().join(", ")).filter(|found| !found.is_empty());
        let registries = chosen(
            some(&self.registries),
            questions,
            &questions::REGISTRIES,
            Some(&found.unwrap_or_else(|| choices::USUAL_REGISTRIES.to_owned())),
            registries,
        )?;
        let left_out = |text: &str| choices::list(text, choices::left_out);
        let own = match scanner.left_out(&namespaces).join(", ") {
            own if own.is_empty() => choices::NO_OTHERS.to_owned(),
            own => own,
        };
        let left_out = chosen(some(&self.leave_out), questions, &questions::LEFT_OUT, Some(&own), left_out)?;
        let mode = chosen(self.mode, questions, &questions::MODE, Some("monitor"), choices::mode)?;
        let given = self.validating.then_some(true);
        let is_validating = chosen(given, questions, &questions::VALIDATING, Some("no"), choices::yes_or_no)?;
        let module = chosen(self.module.clone(), questions, &questions::MODULE, None, choices::module)?;
        let (given, own) = (self.policy_server_image.clone(), base::server_image());
        let server_image = chosen(given, questions, &questions::SERVER, Some(&own), choices::image)?;
        let companion_image = match with.contains(&With::Companion) {
            true => {
                let (given, own) = (self.companion_image.clone(), choices::command_line_image(&module));
                Some(chosen(given, questions, &questions::COMPANION_IMAGE, Some(&own), choices::image)?)
            }
            false => None,
        };
        if let Some(signed) =
            self.signed_by.as_ref().filter(|signed| !registries.iter().any(|one| one == signed.registry()))
        {
            return Err(InitError::Unfit(format!(
                "`--signed-by` is about images of `{}`, which isn't one of the registries: add it to `--registries`",
                signed.registry()
            )));
        }
        let choices = Choices {
            scanner,
            namespaces,
            signer,
            registries: choices::once(registries),
            left_out: choices::all_left_out(left_out),
            mode,
            is_validating,
            with,
            signed: self.signed_by.clone(),
            module,
            server_image,
            companion_image,
        };
        Ok((choices, folder))
    }

    /// A folder that has nothing of what is written, unless it may be written anew.
    fn free(&self, folder: PathBuf) -> Result<PathBuf, InitError> {
        let own = WRITTEN.map(|name| folder.join(name));
        // A link that leads nowhere is there, too.
        let there: Vec<PathBuf> = own.into_iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect();
        if there.is_empty() || self.force { Ok(folder) } else { Err(InitError::Exists(there)) }
    }

    /// Writes the base of this version over the one that is there.
    fn write_base(&self, output: &mut impl StandardOutput) -> Result<Ending, InitError> {
        let folder = self.folder.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
        let own = [overlay::KUSTOMIZATION, overlay::POLICY, BASE].map(|name| folder.join(name));
        if let Some(missing) = own.into_iter().find(|path| !path.exists()) {
            return Err(InitError::NoOverlay(missing));
        }
        let files: Vec<File> = base_files().collect();
        write_all(&folder, &files)?;
        let base = folder.join(BASE);
        let line =
            format!("{}: {} files written; `git diff` shows what this version changes", base.display(), files.len());
        writeln!(output, "{}", without_commands(&in_one_line(&line)))?;
        Ok(Ending::Done)
    }

    /// Who signs reports in a registry. None for a scanner that has none there.
    fn signer<R: io::BufRead, W: Write>(
        &self,
        scanner: Scanner,
        questions: &mut Asked<'_, R, W>,
    ) -> Result<Option<Signer>, InitError> {
        match (scanner, &self.signer) {
            (Scanner::Registry, Some(signer)) => Ok(Some(Signer::read(signer).map_err(InitError::Unfit)?)),
            (Scanner::Registry, None) => Ok(Some(chosen(None, questions, &questions::SIGNER, None, Signer::read)?)),
            (_, Some(_)) => Err(unfit("--signer", "reports in a registry", scanner)),
            (_, None) => Ok(None),
        }
    }

    /// Whether the companion is applied too, if it can ask this scanner, or copies evidence.
    fn has_companion<R: io::BufRead, W: Write>(
        &self,
        scanner: Scanner,
        questions: &mut Asked<'_, R, W>,
    ) -> Result<bool, InitError> {
        let is_given = self.with.contains(&With::Companion);
        if is_given && scanner.companion().is_none() && !self.with.contains(&With::Evidence) {
            return Err(InitError::Unfit(format!(
                "the companion asks `sbomscanner` or `trivy-operator` for scans, and can't ask `{}`: leave `--with companion` out, or \
                 add `--with evidence`, which it copies without a scanner",
                scanner.name()
            )));
        }
        let has_companion = match scanner.companion() {
            Some(_) => {
                let given = is_given.then_some(true);
                chosen(given, questions, &questions::COMPANION, Some("no"), choices::yes_or_no)?
            }
            None => is_given,
        };
        match (has_companion, &self.companion_image) {
            (false, Some(_)) => Err(InitError::Unfit(
                "`--companion-image` is about the companion, which isn't chosen: add `--with companion`, or leave it out"
                    .to_owned(),
            )),
            _ => Ok(has_companion),
        }
    }

    /// The namespaces with the scanner's reports. None for a scanner that has none in the cluster.
    fn namespaces<R: io::BufRead, W: Write>(
        &self,
        scanner: Scanner,
        questions: &mut Asked<'_, R, W>,
    ) -> Result<Vec<String>, InitError> {
        match scanner.namespace() {
            Some(own) => {
                let read = |text: &str| scanner.namespaces(choices::list(text, choices::namespace)?);
                let given = some(&self.report_namespaces).map(|all| scanner.namespaces(all)).transpose();
                chosen(given.map_err(InitError::Unfit)?, questions, &questions::NAMESPACES, Some(own), read)
            }
            None if self.report_namespaces.is_empty() => Ok(Vec::new()),
            None => Err(unfit("--report-namespaces", "reports in the cluster", scanner)),
        }
    }
}

/// Somebody to ask, where there is somebody.
type Asked<'q, R, W> = Option<&'q mut Questions<R, W>>;

/// That an option is about something that a scanner doesn't have.
fn unfit(option: &str, what: &str, scanner: Scanner) -> InitError {
    InitError::Unfit(format!("`{option}` is about {what}, and `{}` has none there: leave it out", scanner.name()))
}

/// The values of an option, if it was given.
fn some<T: Clone>(values: &[T]) -> Option<Vec<T>> {
    (!values.is_empty()).then(|| values.to_vec())
}

/// What was given; else what is answered; else, where nobody is asked, the default.
fn chosen<T, R: io::BufRead, W: Write>(
    given: Option<T>,
    questions: &mut Asked<'_, R, W>,
    question: &Question,
    default: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, InitError> {
    match (given, questions) {
        (Some(given), _) => Ok(given),
        (None, Some(questions)) => Ok(questions.ask(question, default, read)?),
        (None, None) => read(default.unwrap_or_default()).map_err(InitError::Unfit),
    }
}

/// The settings as they are written.
fn settings_of(files: &[File]) -> Result<Value, String> {
    let policy = files.iter().find(|file| file.path == overlay::POLICY).map_or("", |file| &file.text);
    let policy: Value = yaml_serde::from_str(policy).map_err(|error| error.to_string())?;
    Ok(policy.pointer("/spec/settings").cloned().unwrap_or_default())
}

/// What was chosen, for somebody who answered questions.
fn summary(choices: &Choices, folder: &Path) -> Vec<String> {
    let list = |texts: &[String]| if texts.is_empty() { "none".to_owned() } else { texts.join(", ") };
    let mode = match choices.mode {
        Mode::Monitor => "monitor: everything gets in, and the log says what would be rejected",
        Mode::Enforce => "enforce",
    };
    let mut lines = vec![
        String::new(),
        format!("scanner     {}", choices.scanner.name()),
        format!("registries  {}", list(&choices.registries)),
        format!("left out    {}", list(&choices.left_out)),
        format!("mode        {mode}"),
        format!("module      {}", choices.module),
        format!("folder      {}", folder.display()),
        String::new(),
    ];
    if let Some(image) = &choices.companion_image {
        lines.insert(6, format!("companion   {image}"));
    }
    if !choices.namespaces.is_empty() {
        lines.insert(2, format!("reports in  {}", list(&choices.namespaces)));
    }
    lines
}

/// Says what was written, and the next commands in their order.
fn tell(
    choices: &Choices,
    running: Option<&Running>,
    folder: &Path,
    files: &[File],
    output: &mut impl Write,
) -> io::Result<()> {
    let mut lines = Vec::new();
    let is_of_base = |file: &&File| file.path.starts_with(&format!("{BASE}/"));
    for file in files.iter().filter(|file| !is_of_base(file)) {
        lines.push(format!("{}: written", folder.join(&file.path).display()));
    }
    let count = files.iter().filter(is_of_base).count();
    lines.push(format!("{}: {count} files written", folder.join(BASE).display()));
    let folder = yaml::quoted_for_shell(&folder.display().to_string());
    let logs = "kubectl logs --namespace kubewarden --selector app.kubernetes.io/instance=policy-server-image-admission --prefix --tail=-1";
    let rejections = match choices.mode {
        Mode::Monitor => " | grep 'monitor mode' | grep 'allowed: false'",
        Mode::Enforce => "",
    };
    if let Some(running) = running {
        lines.push(String::new());
        lines.extend(running.told(choices));
    }
    if choices.scanner == Scanner::TrivyOperator && !choices.with.contains(&With::Companion) {
        lines.extend([
            String::new(),
            "trivy-operator scans only what already has a Pod or a CronJob. Before you enforce, add `--with companion`, or give each new image".to_owned(),
            format!(
                "a suspended CronJob in {}. Otherwise its Pods wait for ever: docs/trivy-operator.md",
                choices.namespaces.join(" or ")
            ),
        ]);
    }
    lines.extend([
        String::new(),
        "Next:".to_owned(),
        format!("  image-admission test {folder}"),
        format!("  kubectl kustomize {folder} | image-admission lint -"),
        format!("  image-admission audit --live --settings {folder}      # what would be denied today"),
        format!("  kubectl apply -k {folder}"),
        "  kubectl rollout status --namespace kubewarden deployment/policy-server-image-admission".to_owned(),
    ]);
    if choices.with.contains(&With::Companion) {
        lines.push("  kubectl rollout status --namespace kubewarden deployment/image-admission-companion".to_owned());
    }
    lines.extend([
        format!("  kubectl wait --for=condition=PolicyUniquelyReachable {}", choices.policies()),
        format!("  {logs}{rejections}"),
    ]);
    let roles: Vec<&str> = choices.with.iter().filter_map(|with| with.binding()).collect();
    if !roles.is_empty() {
        lines.extend([
            String::new(),
            "Nobody has the rights of the components until you bind them, for example:".to_owned(),
        ]);
        lines.extend(roles.into_iter().map(|command| format!("  {command}")));
    }
    for line in lines {
        writeln!(output, "{}", without_commands(&in_one_line(&line)))?;
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        init: Init,
    }

    /// What is shown to somebody who gives these options and answers, with the answers where they are typed.
    fn session(options: &str, answers: &[&str]) -> (String, Result<(Choices, PathBuf), InitError>) {
        /// Types the next answer when a line of it is wanted.
        struct Typist<'a> {
            answers: std::slice::Iter<'a, &'a str>,
            shown: std::rc::Rc<std::cell::RefCell<String>>,
            line: Vec<u8>,
        }
        impl io::Read for Typist<'_> {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::Unsupported.into())
            }
        }
        impl io::BufRead for Typist<'_> {
            fn fill_buf(&mut self) -> io::Result<&[u8]> {
                if self.line.is_empty()
                    && let Some(answer) = self.answers.next()
                {
                    self.line = format!("{answer}\n").into_bytes();
                    self.shown.borrow_mut().push_str(&format!("<{answer}>\n"));
                }
                Ok(&self.line)
            }
            fn consume(&mut self, amount: usize) {
                self.line.drain(..amount);
            }
        }
        struct Screen(std::rc::Rc<std::cell::RefCell<String>>);
        impl Write for Screen {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.borrow_mut().push_str(std::str::from_utf8(bytes).unwrap());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let shown = std::rc::Rc::default();
        let typist = Typist { answers: answers.iter(), shown: std::rc::Rc::clone(&shown), line: Vec::new() };
        let mut questions = Questions::new(typist, Screen(std::rc::Rc::clone(&shown)));
        let init = Command::parse_from(["init"].into_iter().chain(options.split_whitespace())).init;
        let chosen = init.choices(Some(&mut questions), None);
        (shown.take(), chosen)
    }

    #[test]
    fn everything_is_asked_with_its_default_and_again_where_it_will_not_do() {
        let (shown, chosen) = session(
            "",
            &[
                "",
                "trivy",
                "1",
                "Shop",
                "",
                "yes",
                "ghcr.io/team",
                "ghcr.io, docker.io",
                "",
                "enforced",
                "?",
                "",
                "",
                "policy:v1",
                "ghcr.io/team/policy:v1",
                "",
                "",
            ],
        );
        assert_eq!(
            shown,
            "\
Write to which folder? [image-admission]: <>
  1) sbomscanner     Kubewarden's SBOMscanner
  2) trivy-operator  Aqua's trivy-operator
  3) kubescape       Kubescape
  4) registry        CI, which pushes signed reports beside the images
  5) none            no scanner yet: images of your registries run unscanned
Which scanner do you use? <trivy>
  `trivy` is none of `sbomscanner`, `trivy-operator`, `kubescape`, `registry`,
  `none`
Which scanner do you use? <1>
In which namespaces are the reports? [sbomscanner]: <Shop>
  `Shop` is not the name of a namespace: use at most 63 lower-case letters, digits
  and `-`, and none of these at an end
In which namespaces are the reports? [sbomscanner]: <>
Should the companion have images scanned that nobody scanned yet? yes or no
[no]: <yes>
Which registries may images come from? [docker.io, ghcr.io, quay.io,
registry.k8s.io]: <ghcr.io/team>
  `ghcr.io/team` is not a registry host; use a host like `ghcr.io` or
  `registry.example.com:5000`
Which registries may images come from? [docker.io, ghcr.io, quay.io,
registry.k8s.io]: <ghcr.io, docker.io>
Which namespaces are left out, besides kube-system and kubewarden? (-: none)
[sbomscanner, cert-manager, cnpg-system]: <>
  1) monitor         everything gets in, and the log says what would be rejected
  2) enforce         images that don't pass are rejected
Monitor or enforce? [monitor]: <enforced>
  `enforced` is none of `monitor`, `enforce`
Monitor or enforce? [monitor]: <?>
  Start with monitor. To enforce later, remove one line of kustomization.yaml.
Monitor or enforce? [monitor]: <>
Do other webhooks (such as Istio's) inject containers? Judge those too? yes or
no [no]: <>
Where is the policy's module? For example
registry.example.com/image-admission:v1.0.0: <policy:v1>
  `policy:v1` names no registry: write its host in front, like
  `registry.example.com/image-admission:v1.0.0`
Where is the policy's module? For example
registry.example.com/image-admission:v1.0.0: <ghcr.io/team/policy:v1>
Which image has your policy server?
[SERVER]: <>
Which image has the companion? [ghcr.io/team/policy-cli:vVERSION]: <>
"
            .replace("SERVER", &base::server_image())
            .replace("VERSION", env!("CARGO_PKG_VERSION"))
        );
        let (choices, folder) = chosen.unwrap();
        assert_eq!(
            (choices.scanner, choices.mode, choices.is_validating),
            (Scanner::Sbomscanner, Mode::Monitor, false)
        );
        assert_eq!(choices.with, BTreeSet::from([With::Companion]));
        assert_eq!(
            (choices.namespaces, choices.registries),
            (vec!["sbomscanner".to_owned()], ["ghcr.io", "docker.io"].map(str::to_owned).to_vec())
        );
        assert_eq!(choices.left_out, ["kube-system", "kubewarden", "sbomscanner", "cert-manager", "cnpg-system"]);
        assert_eq!(
            (choices.module.as_str(), folder),
            ("registry://ghcr.io/team/policy:v1", PathBuf::from("image-admission"))
        );
    }

    #[test]
    fn what_is_given_is_not_asked_and_what_a_scanner_does_not_have_neither() {
        let options =
            "--registries ghcr.io --mode enforce --module ghcr.io/team/policy:v1 --policy-server-image server:v1 here";
        let (shown, chosen) = session(options, &["registry", "", "github:team/app", "", "yes"]);
        let asked = |question: &str| shown.contains(question);
        let questions =
            ["Which scanner", "Who signs the reports", "Which namespaces are left out", "Do other webhooks"];
        assert!(questions.into_iter().all(asked), "{shown}");
        let others =
            ["which folder", "In which namespaces", "Which registries", "Monitor or", "policy's module", "Which image"];
        assert!(!others.into_iter().any(asked), "{shown}");
        let (choices, folder) = chosen.unwrap();
        assert_eq!(
            (choices.namespaces, choices.left_out),
            (Vec::new(), ["kube-system", "kubewarden"].map(str::to_owned).to_vec())
        );
        assert_eq!((choices.is_validating, folder), (true, PathBuf::from("here")));
    }

    #[test]
    fn answers_that_end_early_choose_nothing() {
        let (shown, chosen) = session("--scanner none", &[]);
        assert_eq!(shown, "Write to which folder? [image-admission]: \n");
        assert_eq!(chosen.unwrap_err().to_string(), "the answers ended, and nothing was written");
    }
}
