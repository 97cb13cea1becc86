//! What is in the place of certificates in a program that was built without the feature `tls`: the
//! same functions, which say so, and the same types, of which there are no values.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;

use super::expiry::{CertificateUse, Expiry};
use crate::config::{ClusterId, Error};
use crate::protocol::NodeId;

/// What a node needs to show a certificate, and to check that of another.
#[derive(Debug)]
pub(crate) struct Tls(Infallible);

impl Clone for Tls {
    fn clone(&self) -> Self {
        match self.0 {}
    }
}

impl Tls {
    pub(super) fn load(_: &ClusterId, _: &Path, _: &Path, _: &Path) -> Result<Self, Error> {
        Err(missing("mode tls"))
    }

    pub(super) fn expiries(&self) -> &Arc<[Expiry]> {
        match self.0 {}
    }

    pub(super) fn check(&self, _: NodeId) -> Result<(), Error> {
        match self.0 {}
    }

    pub(crate) async fn connect(&self, _: NodeId, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }

    pub(crate) async fn accept(
        &self,
        _: TcpStream,
    ) -> io::Result<(TcpStream, Option<ShownCertificate>)> {
        match self.0 {}
    }
}

/// A certificate that a caller has shown.
pub(crate) struct ShownCertificate(Infallible);

impl ShownCertificate {
    pub(crate) fn is(&self, _: NodeId) -> bool {
        match self.0 {}
    }
}

/// The certificate that a node shows by HTTP, and the certificates of others that it accepts. It
/// can only be had with the feature `tls`.
#[derive(Debug)]
pub struct Certificates(Infallible);

impl Clone for Certificates {
    fn clone(&self) -> Self {
        match self.0 {}
    }
}

#[cfg(feature = "http")]
impl Certificates {
    pub(crate) async fn accept(&self, _: TcpStream) -> io::Result<(TcpStream, Option<String>)> {
        match self.0 {}
    }

    pub(crate) fn is_for(&self, _: &str) -> bool {
        match self.0 {}
    }
}

pub(in crate::config) fn for_http(
    certificate: &Path,
    _: &Path,
    _: Option<&Path>,
) -> Result<Certificates, Error> {
    Err(missing(&certificate.display().to_string()))
}

pub(in crate::config) fn expiries(_: CertificateUse, file: &Path) -> Result<Vec<Expiry>, Error> {
    Err(missing(&file.display().to_string()))
}

/// No error is about certificates.
pub(crate) fn explain(_: &io::Error) -> Option<String> {
    None
}

/// The error for one that asks for what is not there.
fn missing(what: &str) -> Error {
    Error::Security {
        problem: format!(
            "{what}: this program was built without certificates: build it with the feature `tls` \
             of the package bellwether, or use mode secret between nodes and no certificates for \
             HTTP"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Http, Security};

    #[test]
    fn certificates_are_refused_with_the_feature_that_is_missing() {
        let cluster = "orders".parse().expect("a name");
        let path = || "node.pem".into();
        let security = Security::Tls { ca: path(), certificate: path(), key: path() };
        let nodes = security.load(&cluster).expect_err("refused").to_string();
        let http =
            Http { certificate_file: Some(path()), key_file: Some(path()), ..Http::default() };
        let http = http.certificates().expect_err("refused").to_string();
        let end = expiries(CertificateUse::Node, Path::new("node.pem"));
        let end = end.expect_err("refused").to_string();
        for (text, what) in [(nodes, "mode tls"), (http, "node.pem"), (end, "node.pem")] {
            assert!(text.contains(what) && text.contains("feature `tls`"), "{text}");
        }
    }
}
