//! What requests cost, counted and not timed: what else the machine does makes no difference.

use std::io::Write;

use super::BenchError;
use super::scene::{Scene, counted};
use image_admission_module_host::runtime::PolicyModule;

/// How often pages are counted: the first times the runtime's own are among them.
const TIMES: u32 = 8;

/// What one request costs.
struct Cost {
    /// Units of fuel.
    fuel: u64,
    /// Pages that the system brought. None where nobody counts them.
    faults: Option<u64>,
    /// The most memory that the instance had, in bytes.
    memory: usize,
    /// Questions to the host, and the bytes of them with their answers.
    calls: usize,
    bytes: usize,
}

/// Counts what every scene costs, and writes a line for each.
pub(super) fn count(module: &PolicyModule, output: &mut impl Write) -> Result<(), BenchError> {
    writeln!(
        output,
        "{:<48} {:>8} {:>7} {:>12} {:>6} {:>9}",
        "", "fuel, k", "faults", "memory, KiB", "calls", "bytes"
    )?;
    line(output, "an instance that only tells its version", &cost(module, &Scene::nothing())?)?;
    for scene in counted() {
        line(output, scene.name, &cost(module, &scene)?)?;
    }
    writeln!(output, "the module's table has {} functions", module.functions_in_table())?;
    Ok(())
}

/// What a scene costs, the time that it took the fewest pages.
fn cost(module: &PolicyModule, scene: &Scene) -> Result<Cost, BenchError> {
    let mut least = once(module, scene)?;
    for _ in 1..TIMES {
        let next = once(module, scene)?;
        if next.faults < least.faults {
            least = next;
        }
    }
    Ok(least)
}

fn once(module: &PolicyModule, scene: &Scene) -> Result<Cost, BenchError> {
    let before = faults_of_this_thread();
    let reply = scene.ask(module);
    let faults = faults_of_this_thread().zip(before).map(|(after, before)| after - before);
    scene.expects(&reply.response?)?;
    let bytes = |answer: &Result<Vec<u8>, String>| answer.as_ref().map_or_else(String::len, Vec::len);
    let exchanged = reply.exchanges.iter().map(|exchange| exchange.call.payload.len() + bytes(&exchange.answer));
    Ok(Cost {
        fuel: reply.fuel.unwrap_or_default(),
        faults,
        memory: reply.memory.answered,
        calls: reply.exchanges.len(),
        bytes: exchanged.sum(),
    })
}

/// The page faults of this thread that took no disk, as Linux counts them.
fn faults_of_this_thread() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // After the name in brackets, which may have any character: the state, five ids, the flags, and the faults.
    stat.rsplit(')').next()?.split_whitespace().nth(7)?.parse().ok()
}

fn line(output: &mut impl Write, name: &str, cost: &Cost) -> std::io::Result<()> {
    let Cost { fuel, faults, memory, calls, bytes } = cost;
    let faults = faults.map_or_else(|| "-".to_owned(), |faults| faults.to_string());
    let (fuel, memory) = (fuel.div_ceil(1000), memory / 1024);
    writeln!(output, "{name:<48} {fuel:>8} {faults:>7} {memory:>12} {calls:>6} {bytes:>9}")
}
