//! Where a server listens, and what it takes to speak to it.

use std::fmt;
use std::net::Ipv6Addr;
use std::num::NonZeroU16;

use crate::lease_store::certificates::Certificates;
use crate::lease_store::secret;

/// Where a server listens, and the certificates if what is said is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lease_store) struct Server {
    /// A host and a port. IPv6 addresses stand in brackets.
    address: String,
    certificates: Option<Certificates>,
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
        self.certificates.is_none() && secret::is_exposed(self.host())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}
