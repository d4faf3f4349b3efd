//! Points in time and durations, as reports and settings write them.

use chrono::{DateTime, SecondsFormat, Utc};
use std::fmt;

/// Seconds.
const DAY: i64 = 24 * 3600;
/// How many seconds other clocks may be ahead.
const CLOCK_SKEW: i64 = 600;

/// Seconds since the Unix epoch. Expiry dates and the ages of reports are compared with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// A duration, as written and in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenDuration {
    written: String,
    seconds: i64,
}

impl Timestamp {
    /// Reads a time as RFC 3339 has it, `2026-11-01T12:00:00Z`. Scanners leave empty strings where they know none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // The parser would also take a minus sign of Unicode.
        let time = text.is_ascii().then(|| DateTime::parse_from_rfc3339(text).ok())??;
        Some(Self(time.timestamp()))
    }

    /// Reads a time as the header `Date` of HTTP has it, `Sun, 29 Nov 2026 12:10:13 GMT`.
    #[must_use]
    pub fn of_http(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc2822(text).ok().map(|time| Self(time.timestamp()))
    }

    /// The last second of a day in UTC, `2027-01-31`.
    #[must_use]
    pub fn end_of_day(text: &str) -> Option<Self> {
        Self::parse(&[text, "T23:59:59Z"].concat())
    }

    /// The day in UTC: `2027-01-31`.
    #[must_use]
    pub fn day(self) -> String {
        self.in_calendar().map_or_else(|| self.to_string(), |time| time.date_naive().to_string())
    }

    fn in_calendar(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp(self.0, 0)
    }

    /// Whether its day begins later than a duration after `start`; it is the last second of that day.
    pub fn is_day_beyond(self, duration: &WrittenDuration, start: Self) -> bool {
        self.0.saturating_sub(DAY - 1).saturating_sub(start.0) > duration.seconds
    }

    /// The time a duration later.
    pub fn after(self, duration: &WrittenDuration) -> Self {
        Self(self.0.saturating_add(duration.seconds))
    }

    /// Whether it lies after `now`, by more than clocks differ.
    pub fn is_ahead_of(self, now: Self) -> bool {
        self.0 > now.0.saturating_add(CLOCK_SKEW)
    }

    /// Whether it lies before `now` by more than a duration.
    pub fn is_older_than(self, duration: &WrittenDuration, now: Self) -> bool {
        now.0.saturating_sub(self.0) > duration.seconds
    }
}

/// `2026-11-01T12:00:00Z`
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.in_calendar() {
            Some(time) => f.write_str(&time.to_rfc3339_opts(SecondsFormat::Secs, true)),
            None => write!(f, "second {}", self.0),
        }
    }
}

impl WrittenDuration {
    /// How long it is.
    #[must_use]
    pub fn seconds(&self) -> i64 {
        self.seconds
    }

    /// Whether the other duration is longer.
    pub fn is_shorter_than(&self, other: &Self) -> bool {
        self.seconds < other.seconds
    }

    /// Reads `72h`, `14d`, `1h30m`: numbers with the units `w`, `d`, `h`, `m` and `s`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut seconds: i64 = 0;
        let mut number: Option<i64> = None;
        for c in text.chars() {
            let unit = match c {
                '0'..='9' => {
                    let digit = i64::from(c.to_digit(10)?);
                    number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
                    continue;
                }
                'w' => 7 * 24 * 3600,
                'd' => 24 * 3600,
                'h' => 3600,
                'm' => 60,
                's' => 1,
                _ => return None,
            };
            seconds = seconds.checked_add(number.take()?.checked_mul(unit)?)?;
        }
        (number.is_none() && seconds > 0).then(|| Self { written: text.to_owned(), seconds })
    }
}

/// As written.
impl fmt::Display for WrittenDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_servers_write_them() {
        assert_eq!(Timestamp::of_http("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Timestamp(784_111_777)));
        for text in ["", "1994-11-06T08:49:37Z", "Sunday, 06-Nov-94 08:49:37 GMT"] {
            assert_eq!(Timestamp::of_http(text), None, "{text}");
        }
    }

    #[test]
    fn times_as_scanners_write_them() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2023-03-23T16:23:01Z", Some(1_679_588_581)),
            ("2023-03-23T16:23:01.123456789Z", Some(1_679_588_581)),
            ("2023-03-23T16:23:01.1234567890123Z", Some(1_679_588_581)),
            ("2023-03-23T18:23:01+02:00", Some(1_679_588_581)),
            ("2023-03-23T16:23:01-00:00", Some(1_679_588_581)),
            ("2023-03-23t16:23:01z", Some(1_679_588_581)),
            ("2023-03-23 16:23:01Z", Some(1_679_588_581)),
            // A leap second is the second before it, as clocks without leap seconds have it.
            ("2016-12-31T23:59:60Z", Some(1_483_228_799)),
            ("1969-12-31T23:59:59.9Z", Some(-1)),
            ("0000-01-01T00:00:00Z", Some(-62_167_219_200)),
            ("0001-01-01T00:00:00Z", Some(-62_135_596_800)),
            ("9999-12-31T23:59:59Z", Some(253_402_300_799)),
            ("9999-12-31T23:59:59-23:59", Some(253_402_387_139)),
            ("", None),
            ("yesterday", None),
            ("2023-03-23", None),
            ("2023-13-23T16:23:01Z", None),
            ("2023-02-29T16:23:01Z", None),
            ("2023-03-23T24:00:00Z", None),
            ("2016-12-31T23:59:61Z", None),
            ("2023-03-23T16:23:01", None),
            ("2023-03-23T16:23Z", None),
            ("2023-03-23T16:23:01.Z", None),
            ("2023-03-23T16:23:01,5Z", None),
            ("20230323T162301Z", None),
            ("2023-03-23T16:23:01+0200", None),
            ("2023-03-23T16:23:01+24:00", None),
            ("2023-03-23T16:23:01+02:60", None),
            ("2023-03-23T16:23:01\u{2212}02:00", None),
            ("2023-03-23T16:23:01Z[UTC]", None),
            ("+10000-01-01T00:00:00Z", None),
            ("-0001-01-01T00:00:00Z", None),
            (" 2023-03-23T16:23:01Z", None),
            ("2023-03-23T16:23:01Z ", None),
        ] {
            assert_eq!(Timestamp::parse(text), seconds.map(Timestamp), "{text}");
        }
        assert_eq!(Timestamp(1_679_588_581).to_string(), "2023-03-23T16:23:01Z");
        assert_eq!(Timestamp(253_402_300_799).to_string(), "9999-12-31T23:59:59Z");
        assert_eq!(Timestamp(i64::MAX).to_string(), "second 9223372036854775807");
    }

    #[test]
    fn a_day_ends_with_its_last_second() {
        assert_eq!(Timestamp::end_of_day("2027-01-31").map(|t| t.to_string()).as_deref(), Some("2027-01-31T23:59:59Z"));
        let never = Timestamp::end_of_day("9999-12-31");
        assert_eq!(never.map(Timestamp::day).as_deref(), Some("9999-12-31"));
        assert!(never > Timestamp::end_of_day("9999-12-30"));
        assert_eq!(Timestamp(-1).day(), "1969-12-31");
        assert_eq!(Timestamp(i64::MIN).day(), "second -9223372036854775808");
        assert_eq!(Timestamp::end_of_day("2027-01-31").map(Timestamp::day).as_deref(), Some("2027-01-31"));
        for text in [
            "",
            "2027-02-30",
            "2027-1-31",
            " 2027-1-31",
            "2027- 1-31",
            "+2027-1-31",
            "-001-01-01",
            "31.01.2027",
            "2027-01-31T00:00:00Z",
            "20270131",
            "9999999999",
        ] {
            assert_eq!(Timestamp::end_of_day(text), None, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("72h", Some(259_200)),
            ("14d", Some(1_209_600)),
            ("1w", Some(604_800)),
            ("1h30m", Some(5_400)),
            ("90s", Some(90)),
            ("", None),
            ("0h", None),
            ("72", None),
            ("h", None),
            ("-1h", None),
            ("1.5h", None),
            ("99999999999999999999d", None),
            ("9999999999999999w", None),
        ] {
            assert_eq!(WrittenDuration::parse(text).map(|duration| duration.seconds), seconds, "{text}");
        }
    }

    #[test]
    fn a_duration_is_over_after_its_last_second() {
        let duration =
            WrittenDuration::parse("1m").unwrap_or_else(|| WrittenDuration { written: String::new(), seconds: 0 });
        assert!(!Timestamp(0).is_older_than(&duration, Timestamp(60)));
        assert!(Timestamp(0).is_older_than(&duration, Timestamp(61)));
        assert!(!Timestamp(i64::MAX).is_older_than(&duration, Timestamp(0)));
    }
}
