//! Makes the JavaScript around the playground's module, and its types: `bindgen <module> <folder>`.

use std::env::args_os;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = args_os().skip(1);
    let (Some(module), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        eprintln!("error: name the module, and the folder to write into");
        return ExitCode::FAILURE;
    };
    let mut bindgen = Bindgen::new();
    // A page loads it with every visit: no names, and no list of tools.
    bindgen.input_path(module).remove_name_section(true).remove_producers_section(true).typescript(true);
    let made = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
