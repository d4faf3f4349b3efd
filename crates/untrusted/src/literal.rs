//! Characters of a string as Go's `%q` writes them in a literal.

/// Writes a character of such a literal, escaped if it must be; with `ascii`, only in ASCII.
pub fn escape(sign: char, ascii: bool, to: &mut String) {
    match sign {
        '\\' | '"' => to.extend(['\\', sign]),
        ' '..='~' => to.push(sign),
        '\x07' => to.push_str("\\a"),
        '\x08' => to.push_str("\\b"),
        '\x0B' => to.push_str("\\v"),
        '\x0C' => to.push_str("\\f"),
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        '\0'..='\x1F' | '\x7F' => to.push_str(&format!("\\x{:02x}", u32::from(sign))),
        sign if !ascii && is_printable(sign) => to.push(sign),
        '\0'..='\u{FFFF}' => to.push_str(&format!("\\u{:04x}", u32::from(sign))),
        _ => to.push_str(&format!("\\U{:08x}", u32::from(sign))),
    }
}

/// Whether a character is a letter, a mark, a number, punctuation, a symbol or the ASCII space.
fn is_printable(sign: char) -> bool {
    if sign.is_ascii() {
        return (' '..='~').contains(&sign);
    }
    if sign.is_alphanumeric() {
        return true;
    }
    // At the start of a string marks are escaped too, because there is no character before them.
    let mut text = String::from("a");
    text.push(sign);
    text.escape_debug().eq(text.chars())
}
