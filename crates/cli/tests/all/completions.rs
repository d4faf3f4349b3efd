//! `image-admission completions`: every shell's script knows every command.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn image_admission(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_image-admission")).args(arguments).output().unwrap()
}

#[test]
fn every_shell_knows_every_command() {
    let help = String::from_utf8(image_admission(&["--help"]).stdout).unwrap();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = lines.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(commands.contains(&"run") && commands.contains(&"completions"), "{help}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = image_admission(&["completions", shell]);
        let script = String::from_utf8(outcome.stdout).unwrap();
        assert!(outcome.status.success(), "{shell}");
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("settings") && script.contains("namespaces"), "{shell}");
    }
    let unknown = image_admission(&["completions", "cmd"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn bash_can_read_its_script() {
    let script = image_admission(&["completions", "bash"]).stdout;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(&script).unwrap();
    assert!(bash.wait().unwrap().success());
}
