//! Makes the JavaScript around the playground's module, and its types: `bindgen <module> <folder>`.

use std::env::args_os;
use std::path::Path;
use std::process::ExitCode;

use walrus::{Module, ModuleConfig, Result, passes::gc};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = args_os().skip(1);
    let (Some(module), Some(folder), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        eprintln!("error: name the module, and the folder to write into");
        return ExitCode::FAILURE;
    };
    let module = match without_wapc(Path::new(&module)) {
        Ok(module) => module,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let mut bindgen = Bindgen::new();
    // A page loads it with every visit: no list of tools, and no names.
    bindgen.input_module("image_admission_playground", module).remove_producers_section(true).typescript(true);
    let made = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The module without waPC's entry, which Kubewarden's SDK brings into everything that has its types. A page has no such host.
fn without_wapc(path: &Path) -> Result<Module> {
    let mut module = ModuleConfig::new().generate_name_section(false).parse_file(path)?;
    module.exports.remove("__guest_call")?;
    gc::run(&mut module);
    Ok(module)
}
