//! When certificates expire, and what is said of one that expires soon.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore};
use serde::{Deserialize, Serialize};

use super::tls;
use crate::config::Error;

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
    /// Reads a file of certificates.
    pub(in crate::config) fn read(which: CertificateUse, file: &Path) -> Result<Vec<Self>, Error> {
        Ok(Self::all(which, file, &tls::certificates(file)?))
    }

    /// Those of the certificates of one file. One that is older than version 3 of X.509 is left
    /// out: the library reads no end of it.
    pub(super) fn all(
        which: CertificateUse,
        file: &Path,
        certificates: &[CertificateDer<'_>],
    ) -> Vec<Self> {
        let expiry = |(number, certificate): (u32, &CertificateDer<'_>)| {
            let not_after = not_after(certificate)?;
            Some(Self { which, file: file.to_owned(), number, not_after })
        };
        (1..).zip(certificates).filter_map(expiry).collect()
    }

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
        Some(format!("{self} {what}: renew it: docs/daemon.md#certificates"))
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

/// The end of the validity of a certificate. The library tells it in the error of a verification at
/// a later time. The validity is what a verification looks at first, so nothing else matters.
fn not_after(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let late = UnixTime::since_unix_epoch(Duration::from_secs(u64::MAX));
    let roots = RootCertStore::empty();
    let verified = verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], late, &[]);
    match verified.err()? {
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext {
            not_after, ..
        }) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(not_after.as_secs())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn expiry(not_after: SystemTime) -> Expiry {
        Expiry { which: CertificateUse::Node, file: "node.pem".into(), number: 1, not_after }
    }

    /// The end is read from what the library says of a certificate: of those of authorities, too,
    /// of both ways in which a time is written, and whether the certificate is valid or not.
    #[test]
    fn the_end_of_a_certificate_is_read() {
        for (year, seconds) in [
            (2001, 978_307_200),
            (2049, 2_493_072_000),
            (2050, 2_524_608_000),
            (2100, 4_102_444_800),
        ] {
            for is_ca in [
                IsCa::NoCa,
                IsCa::ExplicitNoCa,
                IsCa::Ca(BasicConstraints::Unconstrained),
                IsCa::Ca(BasicConstraints::Constrained(0)),
            ] {
                let mut about = CertificateParams::default();
                about.not_before = date_time_ymd(2000, 1, 1);
                about.not_after = date_time_ymd(year, 1, 1);
                about.is_ca = is_ca;
                let key = KeyPair::generate().expect("a key");
                let certificate = about.self_signed(&key).expect("a certificate");
                let end = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
                assert_eq!(not_after(certificate.der()), Some(end), "{year}");
            }
        }
        assert_eq!(not_after(&CertificateDer::from(vec![0x30, 0])), None);
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
