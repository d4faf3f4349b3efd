//! What requests cost: `tests/costs.txt` has a budget for each, and what costs more fails.

use crate::support::{module_path, root};
use std::collections::BTreeMap;
use std::process::Command;

/// By how much a figure may be over its budget, in hundredths, with the compiler that the budget was made with.
const ROOM: u64 = 3;
/// With any other, which makes other instructions of the same code.
const ROOM_OF_OTHER_COMPILERS: u64 = 20;
/// By how much it may be below: else what is won could be lost again unnoticed.
const SLACK: u64 = 10;
/// Pages more that a kernel may bring than another.
const PAGES: u64 = 2;
/// The most functions in the module's table: each instance gets a table of its own, of 8 bytes for each
/// (docs/decisions/build-nothing-before-it-is-needed.md).
const FUNCTIONS: u64 = 1_850;

/// The figures of each request, in the order of the table.
fn costs(table: &str) -> BTreeMap<&str, Vec<Option<u64>>> {
    let lines = table.lines().filter(|line| line.contains("  ")).skip(1);
    lines
        .map(|line| {
            let (name, figures) = line.split_at(48);
            (name.trim(), figures.split_whitespace().map(|figure| figure.parse().ok()).collect())
        })
        .collect()
}

fn compiler() -> String {
    let said = Command::new("rustc").arg("--version").output().unwrap().stdout;
    String::from_utf8(said).unwrap().split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn no_request_costs_more_than_its_budget() {
    let file = root().join("tests/costs.txt");
    let counting = Command::new(env!("CARGO_BIN_EXE_image-admission"))
        .args(["bench", "--cost", "--module"])
        .arg(module_path())
        .output()
        .unwrap();
    assert!(counting.status.success(), "{}", String::from_utf8_lossy(&counting.stderr));
    let table = String::from_utf8(counting.stdout).unwrap();
    let compiler = compiler();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, format!("{compiler}\n{table}")).unwrap();
        return;
    }
    let functions =
        table.lines().find_map(|line| line.strip_prefix("the module's table has ")?.strip_suffix(" functions"));
    let functions: u64 = functions.unwrap().parse().unwrap();
    assert!(functions <= FUNCTIONS, "the module's table has {functions} functions, and may have {FUNCTIONS}");
    let committed = std::fs::read_to_string(&file).unwrap();
    let (of_compiler, budgets) = committed.split_once('\n').unwrap();
    let is_same = of_compiler == compiler;
    let (counted, budgets) = (costs(&table), costs(budgets));
    assert_eq!(
        counted.keys().collect::<Vec<_>>(),
        budgets.keys().collect::<Vec<_>>(),
        "BLESS=1 writes {}",
        file.display()
    );
    let mut wrong = Vec::new();
    for (name, figures) in &counted {
        for (column, (figure, budget)) in figures.iter().zip(&budgets[name]).enumerate() {
            let (Some(figure), Some(budget)) = (figure, budget) else { continue };
            let what = ["fuel", "faults", "memory", "calls", "bytes"][column];
            let pages = if what == "faults" { PAGES } else { 0 };
            let room = match what {
                "calls" => 0,
                "fuel" if !is_same => ROOM_OF_OTHER_COMPILERS,
                _ => ROOM,
            };
            if *figure > budget + (budget * room).div_ceil(100).max(pages) {
                wrong.push(format!("{name}: {what} is {figure}, of a budget of {budget}"));
            } else if is_same && figure + (budget * SLACK).div_ceil(100).max(pages) < *budget {
                wrong.push(format!("{name}: {what} fell to {figure}, from a budget of {budget}: lower it"));
            }
        }
    }
    let help = "where that is meant, `BLESS=1` writes the budgets anew: say why in the commit";
    assert!(wrong.is_empty(), "{}\n{help}\n\n{table}", wrong.join("\n"));
}
