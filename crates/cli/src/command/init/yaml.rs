//! Texts as they stand in what is written.

/// A text that every YAML parser reads as this text: plain where that is certain, else in quotes.
pub(super) fn text(text: &str) -> String {
    /// What YAML 1.1, which kustomize reads, takes for something else.
    const OTHERS: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
        && !OTHERS.contains(&text.to_ascii_lowercase().as_str());
    // A text in JSON is one in YAML.
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// A list in one line.
pub(super) fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|one| text(one)).collect();
    format!("[{}]", texts.join(", "))
}

/// A text of several lines, below a key at this depth.
pub(super) fn block(text: &str, depth: usize) -> String {
    let indent = " ".repeat(depth);
    text.lines().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
}

/// A word that a shell reads as this word.
pub(super) fn quoted_for_shell(word: &str) -> String {
    let is_plain = !word.is_empty()
        && !word.starts_with('-')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | ',' | '@'));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        for (given, written) in [
            ("ghcr.io", "ghcr.io"),
            ("kube-system", "kube-system"),
            ("localhost:5000", "\"localhost:5000\""),
            ("no", "\"no\""),
            ("Null", "\"Null\""),
            ("123", "\"123\""),
            ("1e3", "\"1e3\""),
            ("-", "\"-\""),
            ("", "\"\""),
            ("a b", "\"a b\""),
        ] {
            assert_eq!(text(given), written);
            let read: Vec<String> = yaml_serde::from_str(&list(&[given.to_owned()])).unwrap();
            assert_eq!(read, [given]);
        }
    }

    #[test]
    fn words_stay_words() {
        for (given, written) in [
            ("deploy/image-admission", "deploy/image-admission"),
            ("my folder", "'my folder'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted_for_shell(given), written);
        }
    }
}
