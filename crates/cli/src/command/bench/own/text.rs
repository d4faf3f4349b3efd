//! What requests cost, for people: all of it, or a line for each of several.

use std::fmt::Write;

use super::{CallsOfKind, Cost, Number, RuleCost, Unmeasured};
use crate::command::terminal::{Paint, in_one_line};

/// All of it: of one request, or of each; without `is_verbose` a line for each of several.
pub(super) fn text(costs: &[Cost], is_verbose: bool, paint: Paint) -> String {
    if costs.len() > 1 && !is_verbose {
        return table(costs, paint);
    }
    let details: Vec<String> = costs.iter().map(|cost| detail(cost, is_verbose, paint)).collect();
    details.join("\n\n")
}

fn detail(cost: &Cost, is_verbose: bool, paint: Paint) -> String {
    let verdict = if cost.allowed { paint.green("allowed") } else { paint.red("denied") };
    let mut text = format!("{}: {verdict}", paint.bold(&in_one_line(&cost.request)));
    if let Some(reason) = &cost.reason {
        let _ = write!(text, ", {}", in_one_line(reason));
    }
    let _ = write!(text, "\n\n{:<26} {:>5} {:>5} {:>5}\n", "calls to the host", "all", "cold", "warm");
    for CallsOfKind { kind, number } in &cost.calls {
        number_line(&mut text, &kind.to_string(), *number);
    }
    number_line(&mut text, &format!("of {} allowed", cost.max_host_calls), cost.all_calls);
    if cost.registry_requests > 0 {
        let _ = write!(text, "\ncold, registries get {} requests at least\n", cost.registry_requests);
    }
    let _ = write!(
        text,
        "\nfuel    {} k\ntime    {} of the module alone, the median of {}\nmemory  {} KiB\n",
        thousands(cost.fuel),
        time(cost.microseconds),
        cost.timed,
        cost.memory / 1024
    );
    rules(&mut text, cost, is_verbose);
    text
}

fn number_line(text: &mut String, name: &str, Number { made, cold, warm }: Number) {
    let _ = writeln!(text, "{name:<26} {made:>5} {cold:>5} {warm:>5}");
}

fn rules(text: &mut String, cost: &Cost, is_verbose: bool) {
    if is_verbose && !cost.rules.is_empty() {
        let wide =
            cost.rules.iter().map(|rule| in_one_line(&rule.shown).chars().count()).max().unwrap_or_default().max(5);
        let _ = write!(text, "\n{:<wide$} {:>9} {:>6}\n", "rules", "fuel, k", "share");
        for rule in &cost.rules {
            let (shown, share) = (in_one_line(&rule.shown), format!("{} %", share(rule, cost)));
            let _ = writeln!(text, "{shown:<wide$} {:>9} {share:>6}", signed_thousands(rule.fuel));
        }
    } else if let Some(rule) = cost.slowest() {
        let (shown, fuel) = (in_one_line(&rule.shown), signed_thousands(rule.fuel));
        let _ = write!(text, "\nthe slowest rule is {shown}: {fuel} k, {} % of the fuel\n", share(rule, cost));
    }
    match cost.unmeasured.as_slice() {
        [] => {}
        all if is_verbose => {
            text.push_str("\nnot measured:\n");
            for Unmeasured { path, why } in all {
                let _ = writeln!(text, "  {}: {}", in_one_line(path), in_one_line(why));
            }
        }
        all => {
            let paths: Vec<_> = all.iter().map(|rule| in_one_line(&rule.path)).collect();
            let _ = writeln!(text, "not measured, `-v` says why: {}", paths.join(", "));
        }
    }
}

fn table(costs: &[Cost], paint: Paint) -> String {
    let names: Vec<_> = costs.iter().map(|cost| in_one_line(&cost.request)).collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or_default().max(6);
    let heading = format!(
        "{:<wide$}  {:7} {:>5} {:>5} {:>5} {:>8} {:>9} {:>11}  {}",
        "OBJECT", "VERDICT", "CALLS", "COLD", "WARM", "FUEL, K", "TIME", "MEMORY, KIB", "SLOWEST RULE"
    );
    let mut text = format!("{}\n", paint.bold(&heading));
    for (cost, name) in costs.iter().zip(names) {
        let verdict = if cost.allowed { paint.green("allowed") } else { paint.red("denied ") };
        let Number { made, cold, warm } = cost.all_calls;
        let rule = cost.slowest().map(|rule| format!("{}, {} %", in_one_line(&rule.shown), share(rule, cost)));
        let line = format!(
            "{name:<wide$}  {verdict} {made:>5} {cold:>5} {warm:>5} {:>8} {:>9} {:>11}  {}",
            thousands(cost.fuel),
            time(cost.microseconds),
            cost.memory / 1024,
            rule.unwrap_or_default()
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let unmeasured = costs.iter().map(|cost| cost.unmeasured.len()).max().unwrap_or_default();
    if unmeasured > 0 {
        let _ = writeln!(text, "\nrules that aren't measured: {unmeasured}; `-v` says why");
    }
    text
}

impl Cost {
    /// The slowest rule; none if no rule costs anything.
    fn slowest(&self) -> Option<&RuleCost> {
        self.rules.first().filter(|rule| rule.fuel > 0)
    }
}

/// A rule's share of the fuel, in hundredths.
fn share(rule: &RuleCost, cost: &Cost) -> i64 {
    let all = i64::try_from(cost.fuel).unwrap_or(i64::MAX).max(1);
    rule.fuel.saturating_mul(100) / all
}

fn thousands(fuel: u64) -> u64 {
    fuel.div_ceil(1000)
}

fn signed_thousands(fuel: i64) -> i64 {
    fuel / 1000
}

fn time(microseconds: u64) -> String {
    format!("{}.{:02} ms", microseconds / 1000, microseconds % 1000 / 10)
}
