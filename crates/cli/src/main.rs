//! `image-admission`: the policy on the command line.

fn main() -> std::process::ExitCode {
    image_admission_cli::command::main()
}
