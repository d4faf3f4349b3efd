//! `install.sh`, with a server on loopback that has a release, or what somebody made of one: what isn't what was released is
//! not installed, and nothing that was downloaded is run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::support::root;

/// What the script needs of a system, beside a shell and `cosign`.
const SYSTEM: [&str; 14] =
    ["cat", "chmod", "cp", "curl", "cut", "grep", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "sha256sum", "env"];

const REPOSITORY: &str = "https://github.com/team/image-admission";

/// A program that would be noticed if it ran.
const PROGRAM: &str = "#!/bin/sh\n: >\"$MACHINE/it-ran\"\n";

/// A cosign that believes each bundle which names its file's checksum, as the real one does, and notes what it is asked.
const COSIGN: &str = r#"printf '%s\n' "$*" >>"$MACHINE/asked"
[ "$1 $2" = "verify-blob --bundle" ] || exit 9
bundle=$3
while [ $# -gt 1 ]; do shift; done
sum=$(sha256sum "$1" | cut -d ' ' -f 1)
grep -qx "$sum" "$bundle" || { echo "no matching signatures" >&2; exit 1; }"#;

/// What a server answers: files by their paths, each with the length that it promises.
type Files = BTreeMap<String, (Vec<u8>, usize)>;

/// A server on loopback that ends with the test's process.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(files: Files) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap().to_string(), asked: Arc::default() };
        let asked = Arc::clone(&server.asked);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                answer(connection, &files, &asked);
            }
        });
        server
    }
}

fn answer(mut connection: TcpStream, files: &Files, asked: &Mutex<Vec<String>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let answer = match files.get(&path) {
        Some((body, length)) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            [head.into_bytes(), body.clone()].concat()
        }
        None => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
    };
    asked.lock().unwrap().push(path);
    let _ = connection.write_all(&answer);
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files of a release of one version, for two platforms.
fn release(version: &str) -> Files {
    let mut files = Files::new();
    for (name, text) in [
        ("image-admission-linux-amd64", PROGRAM.to_owned()),
        ("image-admission-darwin-arm64", format!("{PROGRAM}# another\n")),
        ("policy.wasm", "the module".to_owned()),
    ] {
        let mut put = |name: String, text: String| {
            files.insert(format!("/v{version}/{name}"), (text.clone().into_bytes(), text.len()));
        };
        put(format!("{name}.sha256"), format!("{}  {name}\n", sum(text.as_bytes())));
        put(format!("{name}.bundle.sigstore"), format!("{}\n", sum(text.as_bytes())));
        put(name.to_owned(), text);
    }
    files
}

/// A machine with little on it.
struct Machine(TempDir);

impl Machine {
    fn new(system: &str, processor: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        fs::create_dir(machine.path("bin")).unwrap();
        for tool in SYSTEM {
            symlink(found(tool).unwrap_or_else(|| panic!("`{tool}` is not on PATH")), machine.path("bin").join(tool))
                .unwrap();
        }
        machine.program("uname", &format!("if [ \"$1\" = -s ]; then echo {system}; else echo {processor}; fi"));
        machine.program("cosign", COSIGN);
        machine
    }

    fn linux() -> Self {
        Self::new("Linux", "x86_64")
    }

    fn without_cosign() -> Self {
        let machine = Self::linux();
        fs::remove_file(machine.path("bin/cosign")).unwrap();
        machine
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.0.path().join(inside)
    }

    /// Written by another process: a file that this one had open for writing, other tests' children have open too, and it
    /// can't be run until they end.
    fn program(&self, name: &str, script: &str) {
        let mut write = Command::new("sh");
        write.args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\" && chmod 755 \"$1\"", "sh"]);
        assert!(write.arg(self.path("bin").join(name)).arg(script).status().unwrap().success());
    }

    /// The script as it runs here, in a shell.
    fn command(&self, shell: &Path, downloads: &str, arguments: &[&str]) -> Command {
        self.runs(shell, &root().join("install.sh"), downloads, arguments)
    }

    fn runs(&self, shell: &Path, script: &Path, downloads: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(shell);
        command.arg(script).args(arguments).env_clear();
        command.env("PATH", self.path("bin")).env("HOME", self.path("home")).env("MACHINE", self.0.path());
        command.env("IMAGE_ADMISSION_REPOSITORY", REPOSITORY).env("IMAGE_ADMISSION_DOWNLOADS", downloads);
        command
    }

    /// What the script says when it installs, and when it doesn't.
    fn installs(&self, server: &Server, arguments: &[&str]) -> Result<String, String> {
        said(&mut self.command(Path::new("sh"), &format!("http://{}", server.address), arguments))
    }

    /// The files in a folder, hidden ones too.
    fn files(&self, folder: &str) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path(folder)) else { return Vec::new() };
        let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Nothing is there that wasn't before, and nothing ran.
    fn is_untouched(&self) {
        assert_eq!(self.files("home/.local/bin"), Vec::<String>::new());
        assert!(!self.path("it-ran").exists());
    }
}

fn found(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|folder| folder.join(program))
        .find(|file| file.exists())
}

fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().unwrap();
    let said = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(said(output.stdout) + &said(output.stderr)) } else { Err(said(output.stderr)) }
}

#[test]
fn a_release_is_installed_by_each_shell() {
    for shell in ["sh", "dash", "bash", "busybox"].iter().filter_map(|name| found(name)) {
        let (server, machine) = (Server::start(release("1.2.3")), Machine::linux());
        // What busybox is to be, its name says.
        let name = machine.path("ash");
        symlink(&shell, &name).unwrap();
        let shell = if shell.ends_with("busybox") { name } else { shell };
        let mut command = machine.command(&shell, &format!("http://{}/", server.address), &["--version", "v1.2.3"]);
        let said = said(&mut command).unwrap_or_else(|error| panic!("{}: {error}", shell.display()));
        let folder = machine.path("home/.local/bin");
        assert!(said.contains(&format!("export IMAGE_ADMISSION_MODULE={}/policy.wasm\n", folder.display())), "{said}");
        assert_eq!(machine.files("home/.local/bin"), ["image-admission", "policy.wasm"]);
        assert_eq!(fs::read_to_string(folder.join("image-admission")).unwrap(), PROGRAM);
        assert_eq!(fs::metadata(folder.join("image-admission")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!machine.path("it-ran").exists(), "what was downloaded ran");
        // Who must have signed is the workflow at the tag, wherever the files come from.
        let asked = fs::read_to_string(machine.path("asked")).unwrap();
        let identity = format!("--certificate-identity {REPOSITORY}/.github/workflows/release.yml@refs/tags/v1.2.3 ");
        let issuer = "--certificate-oidc-issuer https://token.actions.githubusercontent.com ";
        assert_eq!(asked.lines().count(), 2, "{asked}");
        assert!(asked.lines().all(|line| line.contains(&identity) && line.contains(issuer)), "{asked}");
    }
}

#[test]
fn another_platform_version_and_folder() {
    let (server, machine) = (Server::start(release("2.0.0")), Machine::new("Darwin", "arm64"));
    let folder = machine.path("a folder");
    machine.installs(&server, &["--to", folder.to_str().unwrap(), "--version", "2.0.0"]).unwrap();
    assert_eq!(machine.files("a folder"), ["image-admission", "policy.wasm"]);
    assert!(fs::read_to_string(folder.join("image-admission")).unwrap().ends_with("# another\n"));
    let asked = server.asked.lock().unwrap();
    assert!(asked.contains(&"/v2.0.0/image-admission-darwin-arm64".to_owned()), "{asked:?}");
}

const COMMAND: &str = "/v1.2.3/image-admission-linux-amd64";

/// The command line, or a file beside it, says something else.
fn put(files: &mut Files, suffix: &str, said: &str) {
    files.insert(format!("{COMMAND}{suffix}"), text(said));
}

/// The command line comes in part, and the server promises so many bytes of it.
fn truncate(files: &mut Files, promised: usize) {
    files.insert(COMMAND.to_owned(), (PROGRAM.as_bytes()[..9].to_vec(), promised));
}

/// Each with what is wrong about the release, and what is said.
#[test]
fn what_is_not_what_was_released_is_not_installed() {
    const EVIL: &str = "#!/bin/sh\nevil\n";
    type Harm = fn(&mut Files);
    let cases: [(&str, Harm, &str); 9] = [
        ("a wrong checksum", |files| put(files, ".sha256", &format!("{}\n", "0".repeat(64))), "its checksum is `"),
        ("another file", |files| put(files, "", EVIL), "is not what was released"),
        (
            "another file with its checksum",
            |files| {
                put(files, "", EVIL);
                put(files, ".sha256", &format!("{}  x\n", sum(EVIL.as_bytes())));
            },
            "finds no signature of the release workflow of https://github.com/team/image-admission at v1.2.3 on",
        ),
        ("a missing checksum", |files| drop(files.remove(&format!("{COMMAND}.sha256"))), "cannot download"),
        ("a checksum that is none", |files| put(files, ".sha256", "<html>\n"), "linux-amd64.sha256 has no checksum"),
        (
            "a missing signature",
            |files| drop(files.remove(&format!("{COMMAND}.bundle.sigstore"))),
            "image-admission-linux-amd64.bundle.sigstore: is 1.2.3 released",
        ),
        ("a truncated download", |files| truncate(files, PROGRAM.len()), "cannot download"),
        ("a truncated file", |files| truncate(files, 9), "is not what was released"),
        (
            "another module",
            |files| drop(files.insert("/v1.2.3/policy.wasm".to_owned(), text("evil"))),
            "policy.wasm is not what was released",
        ),
    ];
    for (name, harm, wanted) in cases {
        let mut files = release("1.2.3");
        harm(&mut files);
        let (server, machine) = (Server::start(files), Machine::linux());
        let error = machine.installs(&server, &["--version", "1.2.3"]).expect_err(name);
        assert!(error.contains(wanted), "{name}: {error}");
        machine.is_untouched();
    }
}

fn text(text: &str) -> (Vec<u8>, usize) {
    (text.as_bytes().to_vec(), text.len())
}

#[test]
fn without_cosign_only_what_is_asked_for_is_installed() {
    let (server, machine) = (Server::start(release("1.2.3")), Machine::without_cosign());
    let error = machine.installs(&server, &["--version", "1.2.3"]).unwrap_err();
    assert!(error.starts_with("install.sh: cosign is not on PATH") && error.contains("--without-signature"), "{error}");
    assert!(server.asked.lock().unwrap().is_empty(), "it was downloaded all the same");
    machine.is_untouched();
    let said = machine.installs(&server, &["--version", "1.2.3", "--without-signature"]).unwrap();
    assert!(said.contains("who signed image-admission-linux-amd64 is not verified"), "{said}");
    assert_eq!(machine.files("home/.local/bin"), ["image-admission", "policy.wasm"]);
    // Checksums count all the same.
    let mut files = release("1.2.3");
    files.insert("/v1.2.3/policy.wasm".to_owned(), text("evil"));
    let (server, machine) = (Server::start(files), Machine::without_cosign());
    machine.installs(&server, &["--version", "1.2.3", "--without-signature"]).unwrap_err();
    machine.is_untouched();
}

#[test]
fn platforms_without_a_release_are_named() {
    for (system, processor, named) in [
        ("FreeBSD", "amd64", "`FreeBSD`"),
        ("Linux", "riscv64", "`riscv64`"),
        ("Linux", "i686", "`i686`"),
        ("MINGW64_NT-10.0", "x86_64", "`MINGW64_NT-10.0`"),
    ] {
        let (server, machine) = (Server::start(release("1.2.3")), Machine::new(system, processor));
        let error = machine.installs(&server, &["--version", "1.2.3"]).unwrap_err();
        assert!(error.starts_with(&format!("install.sh: there is no release for {named}: build it")), "{error}");
        assert!(server.asked.lock().unwrap().is_empty());
        machine.is_untouched();
    }
}

#[test]
fn arguments_that_are_none_are_named() {
    let server = Server::start(release("1.2.3"));
    for (arguments, wanted) in [
        (&["--version"][..], "`--version` needs a value"),
        (&["--to", ""], "`--to` needs a value"),
        (&["--version", "latest"], "`latest` is no version"),
        (&["--version", "1.2.3/../../v9.9.9"], "`1.2.3/../../v9.9.9` is no version"),
        (&["--version", "1.2.3\n9"], "is no version"),
        (&["--insecure"], "`--insecure` is no option"),
        (&["1.2.3"], "`1.2.3` is no option"),
        // A version that nobody released.
        (&["--version", "9.9.9"], "is 9.9.9 released, for this platform?"),
    ] {
        let machine = Machine::linux();
        let error = machine.installs(&server, arguments).unwrap_err();
        assert!(error.contains(wanted), "{arguments:?}: {error}");
        machine.is_untouched();
    }
}

#[test]
fn addresses_that_anybody_on_the_way_can_answer_for_are_refused() {
    for downloads in [
        "http://downloads.example.org/releases",
        "http://127.0.0.1.example.org",
        "http://localhost.example.org",
        "http://localhost@example.org",
        "http://127.0.0.1:80@example.org",
        "https://somebody@example.org",
        "ftp://127.0.0.1",
        "file:///tmp",
        "downloads.example.org",
    ] {
        let machine = Machine::linux();
        let error = said(&mut machine.command(Path::new("sh"), downloads, &["--version", "1.2.3"])).unwrap_err();
        assert_eq!(error, format!("install.sh: `{downloads}` is no address to download from: use https://\n"));
    }
}

/// The one that stands there is nobody's, until somebody publishes the project.
#[test]
fn the_repository_must_be_somebodys() {
    let (server, machine) = (Server::start(release("1.2.3")), Machine::linux());
    let mut command = machine.command(Path::new("sh"), &format!("http://{}", server.address), &["--version", "1.2.3"]);
    let error = said(command.env_remove("IMAGE_ADMISSION_REPOSITORY")).unwrap_err();
    assert!(error.contains("is nobody's repository: name the project's in IMAGE_ADMISSION_REPOSITORY"), "{error}");
    machine.is_untouched();
}

/// A script that came in part does nothing.
#[test]
fn a_part_of_the_script_does_nothing() {
    let whole = fs::read_to_string(root().join("install.sh")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for count in 0..lines.len() {
        let (server, machine) = (Server::start(release("1.2.3")), Machine::linux());
        let part = machine.path("part.sh");
        fs::write(&part, lines[..count].join("\n")).unwrap();
        let downloads = format!("http://{}", server.address);
        machine.runs(Path::new("sh"), &part, &downloads, &["--version", "1.2.3"]).output().unwrap();
        assert!(server.asked.lock().unwrap().is_empty(), "{count} lines");
        machine.is_untouched();
    }
}

fn yaml(file: &str) -> Value {
    yaml_serde::from_str(&fs::read_to_string(root().join(file)).unwrap()).unwrap()
}

/// A step of the action on a machine: whether it went well, and what it left in the job's files.
fn action(machine: &Machine, step: &str, inputs: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(found("bash").unwrap());
    command.arg(root().join(".ci/action")).arg(step).env_clear().envs(inputs.iter().copied());
    command.env("PATH", machine.path("bin")).env("MACHINE", machine.0.path()).env("RUNNER_TEMP", machine.path("job"));
    command.env("GITHUB_PATH", machine.path("path")).env("GITHUB_ENV", machine.path("env"));
    let output = command.output().unwrap();
    let left = ["path", "env", "ran"].map(|file| fs::read_to_string(machine.path(file)).unwrap_or_default());
    (output.status.success(), left.concat())
}

#[test]
fn the_action_installs_and_runs_what_its_inputs_say() {
    let (server, machine) = (Server::start(release("1.2.3")), Machine::linux());
    symlink(found("dirname").unwrap(), machine.path("bin/dirname")).unwrap();
    let downloads = format!("http://{}", server.address);
    let inputs =
        [("REPOSITORY", "team/image-admission"), ("VERSION", "1.2.3"), ("IMAGE_ADMISSION_DOWNLOADS", &downloads)];
    let folder = machine.path("job/image-admission").display().to_string();
    let left = format!("{folder}\nIMAGE_ADMISSION_MODULE={folder}/policy.wasm\n");
    assert_eq!(action(&machine, "install", &inputs), (true, left));
    assert!(fs::read_to_string(machine.path("asked")).unwrap().contains(&format!("{REPOSITORY}/.github/workflows/")));

    // Files and arguments with spaces and dashes stay what they are.
    let machine = Machine::linux();
    symlink(found("dirname").unwrap(), machine.path("bin/dirname")).unwrap();
    machine.program("image-admission", "printf '<%s>' \"$@\" >\"$MACHINE/ran\"");
    for (command, files, arguments, ran) in [
        (
            "lint",
            "a b.yaml\n\n-c.yaml\n",
            "--allow=any-registry",
            "<lint><--output><github><--allow=any-registry><--><a b.yaml><-c.yaml>",
        ),
        ("test", "tests", "", "<test><--output><github><--><tests>"),
    ] {
        let inputs = [("COMMAND", command), ("FILES", files), ("ARGUMENTS", arguments)];
        assert_eq!(action(&machine, "run", &inputs), (true, ran.to_owned()));
        fs::remove_file(machine.path("ran")).unwrap();
    }
    assert_eq!(action(&machine, "run", &[("COMMAND", "install")]), (true, String::new()));
    assert_eq!(action(&machine, "run", &[("COMMAND", "run; rm -rf /")]), (false, String::new()));
}

/// What the guide tells people to write is what the action and the hooks know.
#[test]
fn the_guide_uses_what_there_is() {
    let guide = fs::read_to_string(root().join("docs/install.md")).unwrap();
    let (action, hooks) = (yaml("action.yml"), yaml(".pre-commit-hooks.yaml"));
    for input in action["inputs"].as_object().unwrap().keys() {
        assert!(guide.contains(&format!("| `{input}` |")), "{input}");
    }
    for hook in hooks.as_array().unwrap() {
        let id = hook["id"].as_str().unwrap();
        assert!(guide.contains(&format!("- id: {id} ")), "{id}");
    }
    // Actions that it uses are pinned as those of workflows are, and inputs are no part of a script.
    let release = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    for step in action["runs"]["steps"].as_array().unwrap() {
        match (step["uses"].as_str(), step["run"].as_str()) {
            (Some(used), None) => assert!(release.contains(used), "{used}"),
            (None, Some(script)) => assert!(!script.contains("${{"), "{script}"),
            _ => panic!("{step}"),
        }
    }
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let Some(shellcheck) = found("shellcheck") else {
        // Past the test runner's capture: a skipped check says so.
        let _ = writeln!(std::io::stderr(), "SKIPPED: install.sh needs shellcheck on PATH to be checked");
        return;
    };
    for file in ["install.sh", ".ci/action"] {
        let output = Command::new(&shellcheck).arg(root().join(file)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
