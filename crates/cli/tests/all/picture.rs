//! The picture of a terminal in README.md: what `explain` says of the Pod that the demo rejects, drawn as SVG. `BLESS=1` draws it
//! anew, to be looked at before it is committed.

use std::fs;
use std::process::{Command, Stdio};

use regex::Regex;

use crate::support::{module_path, root};

const PICTURE: &str = "docs/images/rejection.svg";

/// Characters in a line of the terminal.
const COLUMNS: usize = 110;
/// The place of a character, in the units of the picture.
const WIDTH: usize = 8;
const HEIGHT: usize = 19;
/// Between the window's edge and the text.
const MARGIN: usize = 18;
/// A label in front of what belongs to it.
const LABEL: usize = 16;
/// The window's title bar.
const BAR: usize = 32;

#[test]
fn the_picture_shows_what_the_demo_says() {
    let drawn = draw(&session());
    let path = root().join(PICTURE);
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &drawn).unwrap();
    }
    let picture = fs::read_to_string(&path).unwrap_or_default();
    assert!(picture == drawn, "{PICTURE} shows something else than the demo says: BLESS=1 draws it anew");
}

#[test]
fn text_is_escaped_and_wrapped() {
    let picture = draw("$ a <b> & c\n    why         x y\n");
    assert!(picture.contains("a &lt;b&gt; &amp; c") && !picture.contains("<b>"), "{picture}");
    let long = wrapped(&format!("    why         {}", "word ".repeat(40)));
    assert!(long.len() > 1 && long.iter().all(|line| line.chars().count() <= COLUMNS), "{long:?}");
    assert!(long[1].starts_with("                word"), "{long:?}");
    assert_eq!(wrapped(&"x".repeat(COLUMNS + 1))[1], "x", "a word that is too long is cut");
}

/// The command as a person types it, and everything that it writes.
fn session() -> String {
    let typed = "$ image-admission explain examples/demo/rejected.yaml --settings examples/demo/settings.yaml \\\n    \
                 --images examples/demo/images.yaml --cluster examples/demo/cluster\n";
    let arguments = typed.trim_start_matches("$ image-admission ").split_whitespace().filter(|word| *word != "\\");
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command.current_dir(root()).args(arguments).arg("--module").arg(module_path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    // What it proposes ends in a month.
    let day = Regex::new(r"(until|expires:) \d{4}-\d\d-\d\d").unwrap();
    typed.to_owned() + &day.replace_all(&String::from_utf8(output.stdout).unwrap(), "$1 2027-01-31")
}

/// A window with these lines, in the colours that the command has on a terminal.
fn draw(session: &str) -> String {
    let lines: Vec<(String, Part)> = session
        .lines()
        .flat_map(|line| {
            let part = Part::of(line);
            wrapped(line).into_iter().enumerate().map(move |(index, text)| (text, part.in_line(index)))
        })
        .collect();
    let (width, height) = (COLUMNS * WIDTH + 2 * MARGIN, BAR + lines.len() * HEIGHT + MARGIN);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>A Pod is denied: the image, the finding, the setting that decided, and what to do</title>\n\
         <style>text {{ font: 13.2px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }} \
         .bold {{ font-weight: bold; fill: #ffffff }} .dim {{ fill: #8795a6 }} .red {{ fill: #ff6b6b; font-weight: bold }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#161b26\"/>\n\
         <circle cx=\"20\" cy=\"16\" r=\"5\" fill=\"#ff5f57\"/><circle cx=\"38\" cy=\"16\" r=\"5\" fill=\"#febc2e\"/><circle cx=\"56\" cy=\"16\" r=\"5\" fill=\"#28c840\"/>\n"
    );
    for (row, (text, part)) in lines.iter().enumerate().filter(|(_, (text, _))| !text.is_empty()) {
        let y = BAR + row * HEIGHT + 14;
        let length = text.chars().count() * WIDTH;
        // Of fixed length, so that any font fits.
        picture.push_str(&format!(
            "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\" textLength=\"{length}\">{}</text>\n",
            part.painted(text)
        ));
    }
    picture + "</svg>\n"
}

/// A line in pieces that fit, each below where the first one's text begins.
fn wrapped(line: &str) -> Vec<String> {
    let own = line.chars().take_while(|character| *character == ' ').count();
    // Below a label comes what belongs to it.
    let indentation = if label(line).is_some() { LABEL } else { own + 2 };
    let mut pieces = vec![String::new()];
    for word in line.split_inclusive(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let piece = pieces.last_mut().unwrap();
            let room = COLUMNS.saturating_sub(piece.chars().count());
            let visible = word.trim_end().chars().count();
            if rest.len() <= room || (rest.len() == word.chars().count() && visible <= room) {
                piece.extend(rest.drain(..));
            } else if piece.trim().is_empty() {
                piece.extend(rest.drain(..room));
                pieces.push(" ".repeat(if indentation < COLUMNS / 2 && own > 0 { indentation } else { 0 }));
            } else {
                pieces.push(" ".repeat(indentation));
            }
        }
    }
    pieces.into_iter().map(|piece| piece.trim_end().to_owned()).collect()
}

/// The label that a line begins with, with the space behind it.
fn label(line: &str) -> Option<&str> {
    let label = line.get(..LABEL)?;
    ["where", "why", "decided by", "to do"].contains(&label.trim()).then_some(label)
}

/// What a line is, as the command paints it.
#[derive(Clone, Copy)]
enum Part {
    Plain,
    Bold,
    /// A label, and what belongs to it.
    Row,
    /// The object, and its verdict.
    Denied,
}

impl Part {
    fn of(line: &str) -> Self {
        match line {
            _ if line.starts_with("Pod ") => Self::Denied,
            _ if line.starts_with("  localhost") => Self::Bold,
            _ if label(line).is_some() => Self::Row,
            _ => Self::Plain,
        }
    }

    /// The same of a later piece of the line.
    fn in_line(self, index: usize) -> Self {
        if index == 0 || matches!(self, Self::Bold) { self } else { Self::Plain }
    }

    fn painted(self, text: &str) -> String {
        let span = |class: &str, text: &str| format!("<tspan class=\"{class}\">{}</tspan>", escaped(text));
        match self {
            Self::Plain => escaped(text),
            Self::Bold => span("bold", text),
            Self::Denied => {
                let (object, verdict) = text.rsplit_once(' ').unwrap_or((text, ""));
                format!("{} {}", span("bold", object), span("red", verdict))
            }
            Self::Row => {
                let (label, value) = text.split_at_checked(LABEL).unwrap_or((text, ""));
                span("dim", label) + &escaped(value)
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
