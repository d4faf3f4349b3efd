//! The certificates of Notary Project's signers that no longer count: those of the settings, and those of a list in the cluster.
//!
//! A list that can't be read, is empty, cut off or too old clears nobody: it is a failed look-up.

use crate::cluster::{Text, named};
use crate::failure::Failure;
use crate::verifier::Verifier;
use image_admission_evidence::notary::Revoked;
use image_admission_settings::ListInCluster;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::rc::Rc;

/// The most entries of a list. Whoever writes it chooses how many there are, and each signature is compared with all of them.
const MAX_REVOKED: usize = 10_000;

impl Verifier<'_> {
    /// Those that the settings name.
    pub(crate) fn revoked(&self) -> Result<Vec<Revoked>, Failure> {
        // They were read when the policy was deployed, so this hardly ever fails.
        let all = self.settings.revoked.iter().map(|text| Revoked::parse(text));
        all.collect::<Result<_, _>>().map_err(|why| Failure::unusable(why.to_string()))
    }

    /// Those in the cluster's list; none without one.
    pub(crate) fn revoked_in_cluster(&self) -> Result<Rc<Vec<Revoked>>, Failure> {
        let Some(list) = &self.settings.revoked_from else { return Ok(Rc::default()) };
        self.revoked.get_or_init(|| self.read_revoked(list).map(Rc::new)).clone()
    }

    fn read_revoked(&self, list: &ListInCluster) -> Result<Vec<Revoked>, Failure> {
        let Text { value, annotations } = self.read_text(&list.place)?;
        let refreshed = annotations.get(ListInCluster::REFRESHED).and_then(|time| Timestamp::parse(time));
        let revoked = match list.why_too_old(refreshed, self.now) {
            Some(why) => Err(why),
            None => read_list(&value),
        };
        let place = || format!("the revoked certificates in {} can't be used", named(&list.place));
        revoked.map_err(|why| Failure::unusable(format!("{}: {why}", place())))
    }
}

/// One entry a line: a serial number or a SHA-256 fingerprint. A comment begins with `#`. A line `count: 12` says how many entries
/// there are.
fn read_list(text: &str) -> Result<Vec<Revoked>, String> {
    let mut revoked = Vec::new();
    let mut count = None;
    for line in text.lines() {
        let entry = line.split('#').next().unwrap_or_default().trim_ascii();
        if let Some(written) = entry.strip_prefix("count:") {
            let written = written.trim_ascii();
            let number = written.parse::<usize>();
            count = Some(number.map_err(|_| format!("its `count` is `{}`, which is no number", cut(written, 40)))?);
        } else if !entry.is_empty() {
            revoked.push(Revoked::parse(entry).map_err(|why| why.to_string())?);
        }
        if revoked.len() > MAX_REVOKED {
            return Err(format!("it names more than {MAX_REVOKED} certificates: take out those that expired"));
        }
    }
    match count {
        Some(count) if count != revoked.len() => {
            Err(format!("its `count` says {count}, but it lists {}", revoked.len()))
        }
        None if revoked.is_empty() => Err("it names no certificate: if none is revoked, write `count: 0`".to_owned()),
        _ => Ok(revoked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_an_entry_a_line() {
        let print = "F0:E8".repeat(16);
        for (text, expected) in [
            ("5f:3a", vec!["5f3a"]),
            ("# stolen\r\n\n 5F3A # in May\r\n0a", vec!["5f3a", "a"]),
            ("count: 2\n1\n2", vec!["1", "2"]),
            ("1\n2\ncount:2# both", vec!["1", "2"]),
            ("count: 0", vec![]),
        ] {
            let expected: Vec<Revoked> = expected.into_iter().map(|number| Revoked::parse(number).unwrap()).collect();
            assert_eq!(read_list(text).as_deref(), Ok(expected.as_slice()), "{text}");
        }
        assert!(matches!(read_list(&print.replace(":F0", ":f0")).as_deref(), Ok([Revoked::Fingerprint(_)])));
        assert_eq!(read_list(&"1\n".repeat(MAX_REVOKED)).map(|all| all.len()), Ok(MAX_REVOKED));
    }

    #[test]
    fn what_is_no_list_clears_nobody() {
        let cut_off = "F0E8".repeat(15);
        let neither = |text: &str| format!("`{text}` is neither a serial number nor a SHA-256 fingerprint");
        for (text, why) in [
            ("", "it names no certificate: if none is revoked, write `count: 0`".to_owned()),
            ("# nobody\n", "it names no certificate".to_owned()),
            ("1\nCN=team", neither("CN=team")),
            ("1, 2", neither("1, 2")),
            ("1 2", neither("1 2")),
            ("00", neither("00")),
            (cut_off.as_str(), neither(&cut_off)),
            ("<html>not found</html>", neither("<html>not found</html>")),
            ("{\"revoked\": [\"1\"]}", neither("{\"revoked\": [\"1\"]}")),
            ("count: 2\n1", "its `count` says 2, but it lists 1".to_owned()),
            ("count: 0\n1", "its `count` says 0, but it lists 1".to_owned()),
            ("count: two\n1", "its `count` is `two`, which is no number".to_owned()),
            ("count:", "its `count` is ``, which is no number".to_owned()),
        ] {
            let error = read_list(text).unwrap_err();
            assert!(error.starts_with(&why), "{text}: {error}");
        }
        let error = read_list(&"1\n".repeat(MAX_REVOKED + 1)).unwrap_err();
        assert_eq!(error, "it names more than 10000 certificates: take out those that expired");
    }
}
