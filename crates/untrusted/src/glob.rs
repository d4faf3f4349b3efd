//! Patterns in which `*` stands for any string and `?` for one byte, which is one character of ASCII.

/// Whether `pattern` matches the whole of `text`; `same` compares two bytes.
pub fn matches(pattern: &str, text: &str, same: impl Fn(u8, u8) -> bool) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // Where to go on when what follows the last star doesn't match: the star takes one byte more.
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, seen));
                at += 1;
            }
            Some(c) if *c == b'?' || text.get(seen).is_some_and(|other| same(*c, *other)) => {
                at += 1;
                seen += 1;
            }
            _ => match retry {
                Some((star, taken)) => {
                    retry = Some((star, taken + 1));
                    at = star + 1;
                    seen = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|c| *c == b'*'))
}
