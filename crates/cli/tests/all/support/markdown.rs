//! The fences of a Markdown page: its blocks of code, with what their first lines say of them.

/// A fenced block.
#[derive(Clone, Debug)]
pub(crate) struct Fence {
    /// Where its first line is in the page, from 1; its text begins on the next.
    pub(crate) line: usize,
    /// The first word of the info string, by which GitHub renders it.
    pub(crate) language: String,
    /// The other words: what it is to the tests.
    pub(crate) kind: String,
    /// Its text, without the indentation of the fence.
    pub(crate) text: String,
}

/// All fences of a page, in their order. What a reader of Markdown may take for a fence and this doesn't is an error, with
/// its line.
pub(crate) fn fences(page: &str) -> Result<Vec<Fence>, (usize, String)> {
    let mut fences = Vec::new();
    let mut lines = page.lines().zip(1..);
    while let Some((first, line)) = lines.next() {
        let Some((indentation, ticks, info)) = opening(first) else {
            let other = first.contains("```") || first.trim_start().starts_with("~~~");
            if other {
                return Err((line, "a fence begins with nothing but spaces and three backticks".to_owned()));
            }
            continue;
        };
        let mut text = String::new();
        loop {
            let Some((next, _)) = lines.next() else { return Err((line, "the fence isn't closed".to_owned())) };
            let trimmed = next.trim();
            if trimmed.len() >= ticks && trimmed.chars().all(|character| character == '`') {
                break;
            }
            let own = next.len() - next.trim_start_matches(' ').len();
            text.push_str(next.get(own.min(indentation)..).unwrap_or_default());
            text.push('\n');
        }
        let (language, kind) = info.split_once(' ').unwrap_or((info, ""));
        fences.push(Fence { line, language: language.to_owned(), kind: kind.trim().to_owned(), text });
    }
    Ok(fences)
}

/// The indentation of a fence's first line, how many backticks it has, and what follows them.
fn opening(line: &str) -> Option<(usize, usize, &str)> {
    let unindented = line.trim_start_matches(' ');
    let info = unindented.trim_start_matches('`');
    let ticks = unindented.len() - info.len();
    (ticks >= 3 && !info.contains('`')).then(|| (line.len() - unindented.len(), ticks, info.trim()))
}
