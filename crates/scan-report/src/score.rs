//! CVSS scores: which of a finding's scores counts, the same in every format.

use crate::severity::Severity;
use image_admission_untrusted::remedy::{Remedy, is_on};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// The preferred sources, in this order, each with its names in scanners' documents.
const PREFERRED: [&[&str]; 4] = [
    &["nvd", "nvd@nist.gov"],
    &["redhat", "secalert@redhat.com"],
    &["ghsa", "security-advisories@github.com"],
    &["bitnami"],
];

/// The score of a finding that counts: that of the first preferred source, else the highest of the others. The first
/// valid score of a source counts, so callers give newer CVSS versions first.
pub fn best<'s>(scores: impl Iterator<Item = (&'s str, f64)>) -> Option<f64> {
    let mut preferred = [None; PREFERRED.len()];
    let mut others: BTreeMap<&str, f64> = BTreeMap::new();
    // Scanners write zero where there is no score.
    let is_score = |score: f64| score.is_finite() && (score > 0.0 || !is_on(Remedy::SkipZeroScores));
    for (source, score) in scores.filter(|(_, score)| is_score(*score)) {
        let is_of = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(source));
        match preferred.iter_mut().zip(PREFERRED).find(|(_, names)| is_of(names)) {
            Some((of_source, _)) => {
                of_source.get_or_insert(score);
            }
            None => {
                others.entry(source).or_insert(score);
            }
        }
    }
    let highest = others.into_values().max_by(f64::total_cmp);
    preferred.into_iter().flatten().next().or(highest)
}

/// The first valid score of one source, given by CVSS version, the newest first; 0 if there is none.
pub fn newest(scores: &[Number]) -> f64 {
    scores.iter().map(|number| number.0).find(|score| *score > 0.0 && score.is_finite()).unwrap_or(0.0)
}

/// The severity of a score according to CVSS.
pub fn severity(score: f64) -> Severity {
    if score >= 9.0 {
        Severity::Critical
    } else if score >= 7.0 {
        Severity::High
    } else if score >= 4.0 {
        Severity::Medium
    } else if score > 0.0 {
        Severity::Low
    } else {
        Severity::Unknown
    }
}

/// A number that may be written as a string, `9.1` or `"9.1"`; 0 for everything else.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.parse().or_else(|_| text.trim().parse()).unwrap_or(0.0)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number(0.0))
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number(0.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Number, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number(0.0))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::in_time;

    #[test]
    fn the_best_known_source_decides() {
        for (scores, expected) in [
            (&[][..], None),
            (&[("nvd", 0.0)], None),
            (&[("ghsa", 9.8), ("nvd", 5.3)], Some(5.3)),
            (&[("ghsa", 9.8), ("NVD", 5.3)], Some(5.3)),
            (&[("bitnami", 3.0), ("redhat", 4.8), ("ghsa", 9.8)], Some(4.8)),
            (&[("bitnami", 3.0), ("security-advisories@github.com", 7.1)], Some(7.1)),
            (&[("alma", 3.0), ("photon", 9.0), ("rocky", 5.0)], Some(9.0)),
            // Only valid scores count, and the first of each source.
            (&[("nvd", 0.0), ("redhat", f64::NAN), ("ghsa", -1.0), ("bitnami", f64::INFINITY), ("x", 2.0)], Some(2.0)),
            (&[("nvd", 0.0), ("nvd@nist.gov", 7.5), ("nvd", 9.0)], Some(7.5)),
            (&[("x", 7.5), ("x", 9.0)], Some(7.5)),
        ] {
            assert_eq!(best(scores.iter().copied()), expected, "{scores:?}");
        }
        // The author of the report decides how many sources it names.
        let sources: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        assert_eq!(in_time(|| best(sources.iter().map(|source| (source.as_str(), 5.0)))), Some(5.0));
        assert_eq!(newest(&[Number(0.0), Number(7.5), Number(5.0)]), 7.5);
        assert_eq!(newest(&[Number(f64::INFINITY), Number(f64::NAN), Number(7.5)]), 7.5);
        assert_eq!(newest(&[Number(0.0)]), 0.0);
    }

    #[test]
    fn numbers_in_every_spelling() {
        for (json, number) in [
            ("9.1", 9.1),
            ("9", 9.0),
            ("-1", -1.0),
            ("\"9.1\"", 9.1),
            ("\" 9.1 \"", 9.1),
            ("\"\"", 0.0),
            ("\"high\"", 0.0),
            ("null", 0.0),
            ("true", 0.0),
            ("[9.1, [1]]", 0.0),
            ("{\"a\": {\"b\": 9.1}}", 0.0),
        ] {
            assert_eq!(serde_json::from_str::<Number>(json).unwrap(), Number(number), "{json}");
        }
        assert!(serde_json::from_str::<Number>("[9.1").is_err());
    }

    #[test]
    fn scores_have_severities() {
        for (score, expected) in [
            (10.0, Severity::Critical),
            (9.0, Severity::Critical),
            (8.9, Severity::High),
            (6.9, Severity::Medium),
            (3.9, Severity::Low),
            (0.0, Severity::Unknown),
            (f64::NAN, Severity::Unknown),
        ] {
            assert_eq!(severity(score), expected, "{score}");
        }
    }
}
