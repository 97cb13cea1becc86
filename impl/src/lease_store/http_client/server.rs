//! Where a server listens, and what it takes to speak to it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU16;
use std::path::PathBuf;

use super::tls::Tls;
use crate::lease_store::StoreResult;
use crate::lease_store::address::Files;

/// Where a server listens, and the certificates if what is said is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lease_store) struct Server {
    /// A host and a port. IPv6 addresses stand in brackets.
    address: String,
    certificates: Option<Certificates>,
}

/// The files with which a server and this side prove themselves. They are read for each connection:
/// certificates are replaced while the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lease_store) struct Certificates {
    ca: PathBuf,
    /// The certificate that is shown, and its key.
    own: Option<(PathBuf, PathBuf)>,
}

impl Server {
    /// Parses `HOST:PORT`.
    pub(in crate::lease_store) fn parse(
        text: &str,
        certificates: Option<Certificates>,
    ) -> Result<Self, String> {
        let good = text.rsplit_once(':').is_some_and(|(host, port)| {
            let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let host = match bracketed {
                Some(inner) => inner.parse::<Ipv6Addr>().is_ok(),
                None => !host.is_empty() && host.chars().all(named),
            };
            let digits = port.chars().all(|c| c.is_ascii_digit());
            host && digits && port.parse::<NonZeroU16>().is_ok()
        });
        if good {
            Ok(Self { address: text.to_owned(), certificates })
        } else {
            Err(format!("`{text}` is no address of a server: write HOST:PORT"))
        }
    }

    /// The host and the port.
    pub(in crate::lease_store) fn address(&self) -> &str {
        &self.address
    }

    /// The host, without brackets.
    pub(super) fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(super) fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Whether what is said to it can be read in a network.
    pub(in crate::lease_store) fn is_exposed(&self) -> bool {
        let here = match self.host().parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.host().eq_ignore_ascii_case("localhost"),
        };
        self.certificates.is_none() && !here
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}

impl Certificates {
    /// The certificates that `files` name; with `ca` where these have no authorities.
    pub(in crate::lease_store) fn of(files: &Files, ca: Option<PathBuf>) -> Result<Self, String> {
        let ca = files.ca.clone().or(ca).ok_or(
            "the store is spoken to by TLS: name the file with the authorities that have signed \
             its certificate",
        )?;
        let own = match (files.certificate.clone(), files.key.clone()) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err("the certificate for the store needs its key".to_owned()),
            (None, Some(_)) => return Err("the key for the store needs its certificate".to_owned()),
        };
        Ok(Self { ca, own })
    }

    /// Reads the files.
    pub(super) fn load(&self) -> StoreResult<Tls> {
        let own =
            self.own.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
        Tls::load(&self.ca, own)
    }
}
