//! Where nodes can be reached, as people write it, parsed into a type that cannot be wrong.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Error;

/// The address of a node: a host name or IP address, and a port other than 0. IPv6 addresses stand
/// in brackets. Names are resolved every time they are used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address(String);

impl Address {
    const LONGEST: usize = 255;

    /// Returns the address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the remedy for the case that the system does not let a program listen.
    #[must_use]
    pub fn remedy(cause: &io::Error) -> &'static str {
        use io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
        match cause.kind() {
            AddrInUse => "is another node running there? Stop it, or listen at another address",
            AddrNotAvailable => "no interface of this machine has this address: listen at another",
            PermissionDenied => "a port below 1024 takes a right of its own: take a higher one",
            // The errors of a resolver have no kind of their own.
            _ => "a name must resolve here: correct it, or give numbers",
        }
    }

    /// Returns whether only processes of this machine reach the address. A name other than
    /// `localhost` may be any machine's.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.host().parse::<std::net::IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => self.host().eq_ignore_ascii_case("localhost"),
        }
    }

    /// Returns the host name or the IP address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        let host = self.0.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let good = text.rsplit_once(':').is_some_and(|(host, port)| {
            let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let host = match bracketed {
                Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
                None => !host.is_empty() && host.chars().all(named),
            };
            let digits = port.chars().all(|c| c.is_ascii_digit());
            host && digits && port.parse::<std::num::NonZeroU16>().is_ok()
        });
        if good && text.len() <= Self::LONGEST {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Address { text: text.to_owned() })
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for Address {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_a_host_and_a_port() {
        for good in ["127.0.0.1:7001", "[::1]:7001", "db-3.example.org:1", "localhost:65535"] {
            assert!(good.parse::<Address>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "localhost",
            ":7001",
            "a:0",
            "a:65536",
            "::1:7001",
            "[x]:1",
            "a b:1",
            "a:-1",
            ":+7000",
            "a:+7000",
            "a: 7000",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
        assert!(format!("{}:1", "a".repeat(300)).parse::<Address>().is_err());
    }
}
