//! The documents that a file holds: its own, or those of the fences of a page.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// The texts that may be YAML: the file, or the fences of a page in Markdown.
pub(super) fn texts<'t>(path: &Path, text: &'t str) -> impl Iterator<Item = &'t str> {
    let is_page = path.extension().is_some_and(|extension| extension == "md");
    let page = is_page.then(|| fences(text));
    let file = (!is_page).then_some(text);
    page.into_iter().flatten().chain(file)
}

/// The values that can be read there. What is no YAML has none.
pub(super) fn of(path: &Path, text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for text in texts(path, text) {
        // Only objects with these are looked at, and files may be large.
        if !text.contains("imageMetadata") && !text.contains("kubescape.io/") {
            continue;
        }
        for document in yaml_serde::Deserializer::from_str(text) {
            let Ok(value) = Value::deserialize(document) else { break };
            values.push(value);
        }
    }
    values
}

/// The texts of the fences that say that they are YAML.
fn fences(page: &str) -> Vec<&str> {
    let mut fences = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let Some((kind, from)) = after.split_once('\n') else { break };
        let (text, next) = match from.find("\n```").filter(|_| !from.starts_with("```")) {
            Some(end) => from.split_at(end + 1),
            None => from.split_at(0),
        };
        if kind.starts_with("yaml") {
            fences.push(text);
        }
        // The closing line is no opening one.
        rest = next.trim_start_matches('`');
    }
    fences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_texts_of_its_yaml_fences() {
        let page = "a\n```yaml file x\nb: 1\n```\nc\n```console\n$ d\n```\n```yaml\n```\n\n```yaml\ne: 2\nf: 3\n```\n";
        assert_eq!(texts(Path::new("a.md"), page).collect::<Vec<_>>(), ["b: 1\n", "", "e: 2\nf: 3\n"]);
        assert_eq!(texts(Path::new("a.yaml"), "a: 1").collect::<Vec<_>>(), ["a: 1"]);
    }
}
