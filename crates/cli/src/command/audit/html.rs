//! What was found, as one page for a browser: charts, and a table to sort and to look through. It needs nothing but itself.
//!
//! Every word in it may come from somebody who wants to run a script in the reader's browser: all text goes through
//! [`escaped`], and the page allows no script and no style but its own, by their hashes.

mod chart;

use std::collections::BTreeSet;
use std::fmt::Write;

use super::judgement::Reason;
use super::report::{Change, Report, Told, Warning, Workload};
use super::table::number;
use crate::command::terminal::printable;
use chart::{Bar, chart};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The SHA-256 of the style and the script, as `Content-Security-Policy` has them. A test says what they are.
const STYLE_HASH: &str = "4K/zqL9fzVPj6TNy2KwDYZtdBHOpY0mLHpWsTWqd2Bw=";
const SCRIPT_HASH: &str = "FH31qchzzjbGu3ddi7DSWsY7PEdIcrq91s2UC/REVOU=";

/// The whole page.
pub(super) fn page(report: &Report) -> String {
    let mut page = String::new();
    // Writing to a text never fails.
    let _ = write_page(&mut page, report);
    page
}

fn write_page(page: &mut String, report: &Report) -> std::fmt::Result {
    let title =
        if report.against.is_some() { "What these settings would change" } else { "What these settings would do" };
    writeln!(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    let policy = format!("default-src 'none'; style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'");
    writeln!(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
    writeln!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(page, "<title>image-admission audit</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>")?;
    writeln!(page, "<h1>{title}</h1>")?;
    let settings = report.settings.as_deref().map_or_else(|| "every default".to_owned(), code);
    let against = report.against.as_deref().map(|file| format!(", compared with {}", code(file))).unwrap_or_default();
    let time = escaped(&report.decided_at);
    writeln!(
        page,
        "<p class=\"dim\">Settings: {settings}{against}. Decided for {time}, by image-admission {}.</p>",
        report.version()
    )?;
    problems(page, report)?;
    cards(page, report)?;
    charts(page, report)?;
    table(page, report)?;
    not_judged(page, report)?;
    writeln!(page, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>")
}

fn problems(page: &mut String, report: &Report) -> std::fmt::Result {
    if report.problems.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "<section class=\"panel problems\"><h2 class=\"denied\">Not everything could be read, or answered</h2><ul>"
    )?;
    for problem in &report.problems {
        writeln!(page, "<li>{}</li>", escaped(problem))?;
    }
    writeln!(page, "</ul></section>")
}

fn cards(page: &mut String, report: &Report) -> std::fmt::Result {
    let summary = &report.summary;
    writeln!(page, "<section class=\"cards\">")?;
    // What there is none of needs no card.
    let mut card = |class: &str, number: usize, what: &str| match number {
        0 => Ok(()),
        _ => writeln!(
            page,
            "<div class=\"panel\"><div class=\"number {class}\">{number}</div><div class=\"dim\">{what}</div></div>"
        ),
    };
    match summary.changes {
        Some(changes) => {
            card("denied", changes.newly_denied, "workloads newly denied")?;
            card("admitted", changes.newly_admitted, "workloads newly admitted")?;
            card("warned", changes.other_warnings, "workloads with other warnings")?;
        }
        None => {
            card("denied", summary.denied_workloads, "workloads denied")?;
            card("denied", summary.denied_pods, "Pods denied")?;
            card("warned", summary.warned_workloads, "workloads admitted with warnings")?;
        }
    }
    card("", summary.workloads, "workloads looked at")?;
    card("", summary.pods, "Pods")?;
    card("", summary.images, "images")?;
    writeln!(page, "</section>")
}

fn charts(page: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(page, "<section class=\"charts\">")?;
    let namespaces = report.namespaces.iter().map(|count| Bar {
        label: &count.namespace,
        words: &count.namespace,
        some: count.denied_workloads,
        rest: count.workloads - count.denied_workloads,
    });
    chart(
        page,
        "Workloads by namespace",
        "<span class=\"denied\">■</span> denied <span class=\"admitted\">■</span> admitted",
        namespaces,
    )?;
    let rules: Vec<(String, &str, usize)> = report
        .rules
        .iter()
        .map(|count| {
            let because = count.rule.words().because;
            let label =
                count.setting.as_ref().map_or_else(|| because.to_owned(), |setting| format!("{because}: {setting}"));
            (label, count.setting.as_deref().unwrap_or(because), count.workloads)
        })
        .collect();
    let denials = if report.against.is_some() { "Newly denied" } else { "Denied" };
    let rules = rules.iter().map(|(label, words, some)| Bar { label, words, some: *some, rest: 0 });
    chart(page, &format!("{denials} workloads by rule"), "The setting that decided", rules)?;
    let findings =
        report.findings.iter().map(|count| Bar { label: &count.id, words: &count.id, some: count.workloads, rest: 0 });
    chart(
        page,
        &format!("{denials} workloads by finding"),
        "Vulnerabilities over a limit, the 20 worst of an image",
        findings,
    )?;
    writeln!(page, "</section>")
}

fn table(page: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(page, "<section class=\"panel\">\n<div class=\"tools\">")?;
    writeln!(page, "<input id=\"words\" type=\"search\" placeholder=\"Filter\" aria-label=\"Filter\">")?;
    writeln!(page, "<select id=\"verdict\" aria-label=\"Verdict\"><option value=\"\">every verdict</option>")?;
    let verdicts: &[Verdict] = match report.against {
        Some(_) => &[Verdict::NewlyDenied, Verdict::NewlyAdmitted, Verdict::OtherWarnings],
        None => &[Verdict::Denied, Verdict::Warned, Verdict::Admitted],
    };
    for verdict in verdicts {
        writeln!(page, "<option value=\"{0}\">{0}</option>", verdict.word())?;
    }
    writeln!(page, "</select>\n<span class=\"dim\" id=\"shown\">{}</span>\n</div>", report.workloads.len())?;
    writeln!(page, "<div class=\"scroll\">\n<table>\n<thead><tr>")?;
    let columns = ["Namespace", "Workload", "Pods", "Verdict", "Why", "What to do"];
    for column in columns.into_iter().filter(|column| *column != "Pods" || report.summary.pods > 0) {
        writeln!(page, "<th scope=\"col\"><button type=\"button\">{column}</button></th>")?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    // What is denied is what the page is opened for.
    for verdict in verdicts {
        for workload in report.workloads.iter().filter(|workload| Verdict::of(workload) == *verdict) {
            row(page, workload, report.summary.pods > 0)?;
        }
    }
    writeln!(page, "</tbody>\n</table>\n</div>\n</section>")
}

fn row(page: &mut String, workload: &Workload, has_pods: bool) -> std::fmt::Result {
    let verdict = Verdict::of(workload);
    let name = escaped(&workload.name.short());
    let findings: BTreeSet<&str> =
        workload.reasons.iter().flat_map(|told| &told.what.findings).map(String::as_str).collect();
    let findings = escaped(&findings.into_iter().collect::<Vec<_>>().join(" "));
    writeln!(page, "<tr data-verdict=\"{}\" data-findings=\"{findings}\">", verdict.word())?;
    writeln!(
        page,
        "<td class=\"name\">{}</td><td class=\"name\" title=\"{}\">{name}</td>",
        escaped(&workload.name.namespace),
        escaped(&workload.source)
    )?;
    let pods = match (workload.denied_pods, workload.pods) {
        (0, pods) => pods.to_string(),
        (denied, pods) if denied == pods => pods.to_string(),
        (denied, pods) => format!("{denied} of {pods}"),
    };
    if has_pods {
        writeln!(page, "<td class=\"short\">{pods}</td>")?;
    }
    writeln!(page, "<td class=\"short mark {}\">{}</td>\n<td class=\"why\">", verdict.class(), verdict.word())?;
    reasons(page, "", &workload.reasons)?;
    if let Some(before) = &workload.before {
        reasons(page, "before: ", &before.reasons)?;
        warnings(page, "no longer: ", &before.warnings)?;
    }
    warnings(page, "", &workload.warnings)?;
    writeln!(page, "<details><summary>{}</summary><ul>", number(workload.images.len(), "image"))?;
    for image in &workload.images {
        let digest = image.digest.as_deref().map(|digest| format!("<br>{}", code(digest))).unwrap_or_default();
        writeln!(page, "<li>{}{digest}</li>", code(&image.image))?;
    }
    writeln!(page, "</ul></details></td>\n<td class=\"advice\">")?;
    advice(page, &workload.reasons)?;
    writeln!(page, "</td></tr>")
}

/// What to do about a workload, each advice once.
fn advice(page: &mut String, reasons: &[Told<Reason>]) -> std::fmt::Result {
    let mut all: Vec<&str> = Vec::new();
    for advice in reasons.iter().flat_map(|told| &told.what.advice) {
        if !all.contains(&advice.as_str()) {
            all.push(advice);
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    writeln!(page, "<ul>")?;
    for advice in all {
        writeln!(page, "<li>{}</li>", prose(advice))?;
    }
    writeln!(page, "</ul>")
}

fn reasons(page: &mut String, before: &str, reasons: &[Told<Reason>]) -> std::fmt::Result {
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(page, "<ul>")?;
    for Told { what, objects } in reasons {
        let image = what.image.as_deref().map(|image| format!("{}<br>", code(image))).unwrap_or_default();
        let settings: Vec<String> = what.settings.iter().map(|path| code(path)).collect();
        let settings = if settings.is_empty() { String::new() } else { format!(" (by {})", settings.join(", ")) };
        let of: Vec<String> = objects.iter().map(|(kind, count)| number(*count, &escaped(kind))).collect();
        let (message, because, of) = (prose(&what.message), what.rule.words().because, of.join(", "));
        writeln!(
            page,
            "<li>{image}{before}{message}<br><span class=\"dim\">{of} denied because {because}{settings}</span></li>"
        )?;
    }
    writeln!(page, "</ul>")
}

fn warnings(page: &mut String, before: &str, warnings: &[Told<Warning>]) -> std::fmt::Result {
    if warnings.is_empty() {
        return Ok(());
    }
    writeln!(page, "<ul>")?;
    for Told { what, .. } in warnings {
        writeln!(page, "<li><span class=\"warned\">warning</span> {before}{}</li>", prose(&what.message))?;
    }
    writeln!(page, "</ul>")
}

fn not_judged(page: &mut String, report: &Report) -> std::fmt::Result {
    let not_judged = &report.not_judged;
    let all = not_judged.at_rest.iter().chain(&not_judged.kinds);
    let all = all.map(|(what, number)| format!("{number} {what}"));
    let mut rest: Vec<String> = not_judged.left_out().chain(all).map(|words| escaped(&words)).collect();
    if not_judged.documents > 0 {
        rest.push(number(not_judged.documents, "document") + " without an object");
    }
    if rest.is_empty() { Ok(()) } else { writeln!(page, "<p class=\"dim\">Not judged: {}.</p>", rest.join(", ")) }
}

/// What a row says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Denied,
    Warned,
    Admitted,
    NewlyDenied,
    NewlyAdmitted,
    OtherWarnings,
}

impl Verdict {
    fn of(workload: &Workload) -> Self {
        match workload.change {
            Some(Change::NewlyDenied) => Self::NewlyDenied,
            Some(Change::NewlyAdmitted) => Self::NewlyAdmitted,
            Some(Change::OtherWarnings) => Self::OtherWarnings,
            None if workload.denied => Self::Denied,
            None if workload.warnings.is_empty() => Self::Admitted,
            None => Self::Warned,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Warned => "warned",
            Self::Admitted => "admitted",
            Self::NewlyDenied => "newly denied",
            Self::NewlyAdmitted => "newly admitted",
            Self::OtherWarnings => "other warnings",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Denied | Self::NewlyDenied => "denied",
            Self::Warned | Self::OtherWarnings => "warned",
            Self::Admitted | Self::NewlyAdmitted => "admitted",
        }
    }
}

/// A message as HTML: what stands between backticks is code.
fn prose(text: &str) -> String {
    let mut parts: Vec<&str> = text.split('`').collect();
    // A backtick without a second one is a character like any other.
    let last = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    let html = |(position, part): (usize, &&str)| if position.is_multiple_of(2) { escaped(part) } else { code(part) };
    let mut html: String = parts.iter().enumerate().map(html).collect();
    if let Some(last) = last {
        html.push_str(&escaped(&format!("`{last}")));
    }
    html
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// A text that is nothing but text, between tags and in a quoted attribute, and that shows what is in it.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_page_allows_its_own_script_and_style_alone() {
        for (text, hash) in [(STYLE, STYLE_HASH), (SCRIPT, SCRIPT_HASH)] {
            assert_eq!(STANDARD.encode(Sha256::digest(text)), hash);
            // Either would end early.
            assert!(!text.contains("</"));
        }
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        for (text, html) in [
            ("", ""),
            ("a < b", "a &lt; b"),
            ("add `ghcr.io` to `registries`", "add <code>ghcr.io</code> to <code>registries</code>"),
            ("`<script>` and a `", "<code>&lt;script&gt;</code> and a `"),
        ] {
            assert_eq!(prose(text), html);
        }
    }

    #[test]
    fn text_is_nothing_but_text() {
        let hostile = "</td><script>alert('1')</script>\" onload=\"x&amp;\u{202e}\u{1b}[2K\0\n";
        let safe = "&lt;/td&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload=&quot;x&amp;amp;\\u{202e}\\u{1b}[2K\\u{0}\n";
        assert_eq!(escaped(hostile), safe);
    }
}
