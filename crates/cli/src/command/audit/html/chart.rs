//! Charts of bars, as pictures that stand in the page itself.

use std::fmt::Write;

use super::escaped;

/// The most bars of a chart; the rest is counted.
const BARS: usize = 12;
/// The longest label.
const LABEL: usize = 58;
const WIDTH: usize = 400;
/// The width of the longest bar; its number stands behind it.
const BAR_WIDTH: usize = 310;
const ROW: usize = 36;

/// One row of a chart.
#[derive(Debug)]
pub(super) struct Bar<'t> {
    pub(super) label: &'t str,
    /// What is looked for in the table when somebody chooses it.
    pub(super) words: &'t str,
    /// The part that counts.
    pub(super) some: usize,
    /// What is there beside it.
    pub(super) rest: usize,
}

/// Writes a chart of the first bars, in a panel; nothing where there is none. `key` says what is seen, as HTML.
pub(super) fn chart<'t>(
    page: &mut String,
    title: &str,
    key: &str,
    bars: impl ExactSizeIterator<Item = Bar<'t>>,
) -> std::fmt::Result {
    let all = bars.len();
    let mut bars: Vec<Bar<'t>> = bars.collect();
    bars.sort_by_key(|bar| std::cmp::Reverse((bar.some, bar.rest)));
    let Some(longest @ 1..) = bars.iter().map(|bar| bar.some + bar.rest).max() else { return Ok(()) };
    bars.truncate(BARS);
    writeln!(page, "<div class=\"panel\"><h2>{title}</h2>")?;
    let height = bars.len() * ROW;
    writeln!(page, "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">")?;
    for (position, bar) in bars.iter().enumerate() {
        let Bar { label, words, some, rest } = bar;
        let top = position * ROW;
        // What isn't nothing is seen.
        let width = |number: usize| match (number * BAR_WIDTH).checked_div(longest) {
            Some(width) if number > 0 => width.max(2),
            _ => 0,
        };
        let numbers = if *rest > 0 { format!("{some} of {}", some + rest) } else { some.to_string() };
        writeln!(page, "<g class=\"row\" tabindex=\"0\" role=\"button\" data-words=\"{}\">", escaped(words))?;
        writeln!(page, "<title>{}: {numbers}</title>", escaped(label))?;
        writeln!(page, "<text x=\"0\" y=\"{}\">{}</text>", top + 13, escaped(&shortened(label)))?;
        let bar_top = top + 19;
        writeln!(
            page,
            "<rect class=\"some\" x=\"0\" y=\"{bar_top}\" width=\"{}\" height=\"9\" rx=\"2\"/>",
            width(*some)
        )?;
        let (start, rest) = (width(*some), width(*rest));
        writeln!(page, "<rect class=\"rest\" x=\"{start}\" y=\"{bar_top}\" width=\"{rest}\" height=\"9\" rx=\"2\"/>")?;
        writeln!(page, "<text class=\"count\" x=\"{WIDTH}\" y=\"{}\">{numbers}</text></g>", top + 28)?;
    }
    let more = match all.saturating_sub(BARS) {
        0 => String::new(),
        more => format!("; {more} more are not shown"),
    };
    writeln!(page, "</svg>\n<p class=\"key dim\">{key}{more}</p></div>")
}

/// A label that fits.
fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_owned();
    }
    let start: String = label.chars().take(LABEL - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_the_longest_bars() {
        let names: Vec<String> = (0..30).map(|number| format!("namespace-{number}")).collect();
        let bars = names.iter().enumerate().map(|(some, label)| Bar { label, words: label, some, rest: 1 });
        let mut page = String::new();
        chart(&mut page, "Workloads", "denied", bars).unwrap();
        assert_eq!(page.matches("<g ").count(), BARS);
        assert!(page.contains(">namespace-29</text>") && !page.contains(">namespace-0</text>"), "{page}");
        assert!(page.contains("denied; 18 more are not shown"), "{page}");
    }

    #[test]
    fn nothing_makes_no_chart() {
        let mut page = String::new();
        chart(&mut page, "Workloads", "", std::iter::empty()).unwrap();
        chart(&mut page, "Workloads", "", [Bar { label: "a", words: "a", some: 0, rest: 0 }].into_iter()).unwrap();
        assert_eq!(page, "");
    }

    #[test]
    fn labels_are_short_and_only_text() {
        let label = "<svg onload=x>".repeat(40);
        let mut page = String::new();
        chart(&mut page, "Workloads", "", [Bar { label: &label, words: "\"><script>", some: 1, rest: 0 }].into_iter())
            .unwrap();
        assert!(!page.contains("<svg onload") && !page.contains("<script>"), "{page}");
        assert!(page.contains("…</text>"), "{page}");
    }
}
