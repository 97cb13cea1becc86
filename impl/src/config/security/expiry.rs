//! When certificates expire, and what is said of one that expires soon.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;
use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many days before its end there is a warning of a certificate. The last one is its end.
const WARNINGS: [u32; 4] = [30, 7, 1, 0];

/// The use that a node makes of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CertificateUse {
    /// The node shows it to other nodes.
    Node,
    /// It is that of an authority which may have signed those of other nodes.
    Authority,
    /// The node shows it by HTTP.
    Http,
    /// It is that of an authority which may have signed those of clients by HTTP.
    HttpAuthority,
}

impl CertificateUse {
    /// Returns the name, as the status, the log and the metrics have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Authority => "authority",
            Self::Http => "http",
            Self::HttpAuthority => "http_authority",
        }
    }

    /// What it is, for people.
    fn words(self) -> &'static str {
        match self {
            Self::Node => "the certificate of this node",
            Self::Authority => "the certificate of an authority of the nodes",
            Self::Http => "the certificate for HTTP",
            Self::HttpAuthority => "the certificate of an authority of the clients by HTTP",
        }
    }
}

/// The end of the validity of a certificate that a node uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expiry {
    /// The use that the node makes of the certificate.
    pub which: CertificateUse,
    /// The path of the file in which it is.
    pub file: PathBuf,
    /// The place of the certificate in that file, from 1.
    pub number: u32,
    /// The end of its validity.
    pub not_after: SystemTime,
}

impl Expiry {
    /// Returns the number of whole days that are left: 0 on the last day, and negative after it.
    #[must_use]
    pub fn days_left(&self, now: SystemTime) -> i64 {
        let days =
            |time: Duration| i64::try_from(time.as_secs() / DAY.as_secs()).unwrap_or(i64::MAX - 1);
        match self.not_after.duration_since(now) {
            Ok(left) => days(left),
            Err(over) => -1 - days(over.duration()),
        }
    }

    /// Returns whether the certificate has expired.
    #[must_use]
    pub fn is_over(&self, now: SystemTime) -> bool {
        self.not_after < now
    }

    /// Returns what is to be said of the certificate, with the remedy, if it has expired or will
    /// within 30 days.
    #[must_use]
    pub fn warning(&self, now: SystemTime) -> Option<String> {
        if self.due(now) == 0 {
            return None;
        }
        let end = format_rfc3339_seconds(self.not_after);
        let what = match self.days_left(now) {
            _ if self.is_over(now) => format!("has expired, at {end}"),
            0 => format!("expires within a day, at {end}"),
            1 => format!("expires in a day, at {end}"),
            days => format!("expires in {days} days, at {end}"),
        };
        Some(format!("{self} {what}: renew it (`bellwether help keys`), and send SIGHUP"))
    }

    /// Whether there is more to be said of it now than there was at an earlier moment.
    pub(crate) fn is_news(&self, before: SystemTime, now: SystemTime) -> bool {
        self.due(now) > self.due(before)
    }

    /// When there is more to be said of it next; none if all is said.
    pub(crate) fn next(&self, now: SystemTime) -> Option<SystemTime> {
        self.moments().find(|&moment| moment >= now)
    }

    /// How many of the moments have passed at which there is something to be said of it.
    fn due(&self, now: SystemTime) -> usize {
        self.moments().take_while(|&moment| moment < now).count()
    }

    /// When there is something to be said of it, the earliest first.
    fn moments(&self) -> impl Iterator<Item = SystemTime> {
        WARNINGS.into_iter().filter_map(|days| self.not_after.checked_sub(DAY * days))
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.which.words(), self.file.display())?;
        match self.number {
            1 => f.write_str(")"),
            number => write!(f, ", number {number})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiry(not_after: SystemTime) -> Expiry {
        Expiry { which: CertificateUse::Node, file: "node.pem".into(), number: 1, not_after }
    }

    #[test]
    fn a_certificate_is_warned_of_thirty_seven_and_one_days_ahead_and_when_it_has_expired() {
        let now = SystemTime::UNIX_EPOCH + DAY * 20_000;
        let second = Duration::from_secs(1);
        for (left, days, said) in [
            (DAY * 31, 31, None),
            (DAY * 30 + second, 30, None),
            (DAY * 30 - second, 29, Some("expires in 29 days")),
            (DAY * 2, 2, Some("expires in 2 days")),
            (DAY, 1, Some("expires in a day")),
            (second, 0, Some("expires within a day")),
        ] {
            let it = expiry(now + left);
            assert_eq!(it.days_left(now), days, "{left:?}");
            assert!(!it.is_over(now));
            let warning = it.warning(now);
            assert_eq!(warning.is_some(), said.is_some(), "{left:?}: {warning:?}");
            let text = warning.unwrap_or_default();
            assert!(text.contains(said.unwrap_or_default()), "{text}");
        }
        let over = expiry(now - DAY);
        assert_eq!((over.days_left(now), over.is_over(now)), (-2, true));
        assert_eq!(expiry(now - second).days_left(now), -1);
        let text = over.warning(now).expect("it is over");
        for part in ["the certificate of this node (node.pem)", "has expired, at 20", "renew it"] {
            assert!(text.contains(part), "{text}");
        }
    }

    /// One line at each crossing, and no other.
    #[test]
    fn each_crossing_is_news_once() {
        let end = SystemTime::UNIX_EPOCH + DAY * 20_000;
        let it = expiry(end);
        let mut now = end - DAY * 40;
        let mut news = Vec::new();
        while let Some(next) = it.next(now) {
            let before = now;
            now = next + Duration::from_secs(1);
            assert!(it.is_news(before, now) && !it.is_news(now, now));
            news.push(it.days_left(next));
        }
        assert_eq!(news, [30, 7, 1, 0]);
        assert!(!it.is_news(now, now + DAY * 1_000), "all is said");
        assert!(!it.is_news(end, end - DAY * 40), "a clock that goes back");
    }
}
