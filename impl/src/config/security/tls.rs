//! Certificates: that a node is the one that it says, and what to do if one cannot be used.
//!
//! What nodes verify of each other. Without the feature `tls`, the file `without_tls.rs` is in the
//! place of this one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bellwether_stores::private_file;
use rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, ClientConfig, RootCertStore, ServerConfig, crypto, version};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::expiry::{CertificateUse, Expiry};
use super::{purpose, read_private, unusable};
use crate::config::{ClusterId, Error};
use crate::protocol::NodeId;

/// What is spoken inside, as far as TLS is concerned.
const INSIDE: &[u8] = b"bellwether";

/// What a node needs to show a certificate, and to check that of another.
#[derive(Clone)]
pub(crate) struct Tls {
    cluster: ClusterId,
    /// The certificate of this node, and where it is from.
    own: (CertificateDer<'static>, PathBuf),
    /// When this certificate expires, and those of the authorities.
    expiries: Arc<[Expiry]>,
    acceptor: TlsAcceptor,
    connector: TlsConnector,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(..)")
    }
}

/// Returns the name that the certificate of a node is for: `node-ID.CLUSTER.bellwether`.
///
/// # Errors
///
/// [`Error::Security`] when the name of the cluster cannot be a part of such a name.
pub fn certified_name(cluster: &ClusterId, node: NodeId) -> Result<String, Error> {
    let lower = !cluster.as_str().chars().any(|c| c.is_ascii_uppercase());
    let name = format!("node-{node}.{cluster}.bellwether");
    match ServerName::try_from(name.as_str()) {
        Ok(ServerName::DnsName(_)) if lower => Ok(name),
        _ => Err(Error::Security {
            problem: format!(
                "mode tls: `{cluster}` cannot be part of the name in a certificate; use a \
                 `cluster` of lower-case letters, digits, and dashes between them"
            ),
        }),
    }
}

impl Tls {
    pub(super) fn load(
        cluster: &ClusterId,
        ca: &Path,
        certificate: &Path,
        key: &Path,
    ) -> Result<Self, Error> {
        let (trusted, chain) = (certificates(ca)?, certificates(certificate)?);
        let roots = authorities(ca, &trusted)?;
        let own = (chain[0].clone(), certificate.to_owned());
        let expiries = [
            ends(CertificateUse::Node, certificate, &chain),
            ends(CertificateUse::Authority, ca, &trusted),
        ];
        let unfit = |error: &dyn fmt::Display| unfit(certificate, key, error);
        let provider = Arc::new(crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| wrong(ca, &error.to_string()))?;
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| unfit(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), private_key(key)?)
            .map_err(|error| unfit(&error))?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| unfit(&error))?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, private_key(key)?)
            .map_err(|error| unfit(&error))?;
        // Every connection is verified anew, and no process is told which node is called.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        client.resumption = Resumption::disabled();
        client.enable_sni = false;
        server.alpn_protocols = vec![INSIDE.to_vec()];
        client.alpn_protocols = vec![INSIDE.to_vec()];
        Ok(Self {
            cluster: cluster.clone(),
            own,
            expiries: expiries.concat().into(),
            acceptor: Arc::new(server).into(),
            connector: Arc::new(client).into(),
        })
    }

    pub(super) fn expiries(&self) -> &Arc<[Expiry]> {
        &self.expiries
    }

    /// Whether the own certificate is that of this node, so that the others will believe it.
    pub(crate) fn check(&self, node: NodeId) -> Result<(), Error> {
        let name = certified_name(&self.cluster, node)?;
        purpose::check(&self.own.0, &self.own.1)?;
        if self.is(&self.own.0, node) {
            return Ok(());
        }
        Err(Error::Security {
            problem: format!(
                "the certificate {} is not that of node {node} of cluster {}: it must be for the \
                 DNS name {name}; `bellwether keys node` makes one",
                self.own.1.display(),
                self.cluster
            ),
        })
    }

    /// Shows the certificate to the node that was called, which must show that of this node.
    pub(crate) async fn connect(
        &self,
        node: NodeId,
        stream: TcpStream,
    ) -> io::Result<client::TlsStream<TcpStream>> {
        let name = certified_name(&self.cluster, node).map_err(io::Error::other)?;
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        self.connector.connect(name, stream).await
    }

    /// Shows the certificate to a caller. Returns that of the caller, too.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(server::TlsStream<TcpStream>, Option<ShownCertificate>)> {
        let stream = self.acceptor.accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let shown = shown.map(|certificate| ShownCertificate {
            certificate: certificate.clone().into_owned(),
            tls: self.clone(),
        });
        Ok((stream, shown))
    }

    /// Whether a certificate, which a known authority has signed, is that of this node.
    fn is(&self, certificate: &CertificateDer<'_>, node: NodeId) -> bool {
        certified_name(&self.cluster, node).is_ok_and(|name| is_for(certificate, &name))
    }
}

/// Whether a certificate is for this name or address.
fn is_for(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let Ok(parsed) = ParsedCertificate::try_from(certificate) else { return false };
    ServerName::try_from(name).is_ok_and(|name| verify_server_name(&parsed, &name).is_ok())
}

/// A certificate that a caller has shown, and that a known authority has signed.
pub(crate) struct ShownCertificate {
    certificate: CertificateDer<'static>,
    tls: Tls,
}

impl ShownCertificate {
    /// Whether it is that of this node.
    pub(crate) fn is(&self, node: NodeId) -> bool {
        self.tls.is(&self.certificate, node)
    }
}

/// The certificate that a node shows by HTTP, and the certificates of others that it accepts. It is
/// not printed. It can only be had with the feature `tls`.
#[derive(Clone)]
pub struct Certificates {
    server: Arc<ServerConfig>,
    #[cfg(feature = "http")]
    own: CertificateDer<'static>,
}

impl Certificates {
    /// Returns the TLS configuration for a server of the program's own.
    #[must_use]
    pub fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server)
    }

    /// Shows the certificate to a process that has connected. Returns the name in the certificate
    /// that the process has shown, if it has.
    #[cfg(feature = "http")]
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(server::TlsStream<TcpStream>, Option<String>)> {
        let stream = TlsAcceptor::from(self.server()).accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let name = shown.map(|shown| common_name(shown).unwrap_or_else(|| "no name".to_owned()));
        Ok((stream, name))
    }

    #[cfg(feature = "http")]
    pub(crate) fn is_for(&self, name: &str) -> bool {
        is_for(&self.own, name)
    }
}

/// Returns the common name of the subject of a certificate. The library tells the subject of an
/// authority alone, and reads any certificate as that of one.
#[cfg(feature = "http")]
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    /// The object identifier 2.5.4.3, with its tag and length.
    const COMMON_NAME: &[u8] = &[6, 3, 0x55, 4, 3];
    let mut read = RootCertStore::empty();
    read.add(certificate.clone()).ok()?;
    let subject: &[u8] = read.roots.first()?.subject.as_ref();
    let at = subject.windows(COMMON_NAME.len()).position(|part| part == COMMON_NAME)?;
    // The tag of the text, then its length: it has at most 64 characters.
    let (&[_, length], text) = subject.get(at + COMMON_NAME.len()..)?.split_first_chunk()?;
    String::from_utf8(text.get(..usize::from(length))?.to_owned()).ok()
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates(..)")
    }
}

/// What a server shows that speaks HTTP. A client need not show a certificate; if it does, and
/// there are authorities for clients, one of these must have signed it.
pub(in crate::config) fn for_http(
    certificate: &Path,
    key: &Path,
    client_ca: Option<&Path>,
) -> Result<Certificates, Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let unfit = |error: &dyn fmt::Display| unfit(certificate, key, error);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| unfit(&error))?;
    let builder = match client_ca {
        Some(ca) => {
            let roots = authorities(ca, &certificates(ca)?)?;
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                .allow_unauthenticated()
                .build()
                .map_err(|error| wrong(ca, &error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let chain = certificates(certificate)?;
    #[cfg(feature = "http")]
    let own = chain[0].clone();
    let mut server =
        builder.with_single_cert(chain, private_key(key)?).map_err(|error| unfit(&error))?;
    // A certificate that is accepted no longer is not in a session either.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Certificates {
        server: Arc::new(server),
        #[cfg(feature = "http")]
        own,
    })
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::Security { problem: format!("{}: {problem}", path.display()) }
}

fn unfit(certificate: &Path, key: &Path, error: &dyn fmt::Display) -> Error {
    wrong(certificate, &format!("does not fit to {}: {error}", key.display()))
}

/// Reads when the certificates of a file expire.
pub(in crate::config) fn expiries(
    which: CertificateUse,
    file: &Path,
) -> Result<Vec<Expiry>, Error> {
    Ok(ends(which, file, &certificates(file)?))
}

/// When the certificates of one file expire. One that is older than version 3 of X.509 is left out:
/// the library reads no end of it.
fn ends(which: CertificateUse, file: &Path, certificates: &[CertificateDer<'_>]) -> Vec<Expiry> {
    let expiry = |(number, certificate): (u32, &CertificateDer<'_>)| {
        let not_after = not_after(certificate)?;
        Some(Expiry { which, file: file.to_owned(), number, not_after })
    };
    (1..).zip(certificates).filter_map(expiry).collect()
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

/// The certificates in a file; one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = private_file::read_public(path).map_err(|error| unusable(&error))?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    read.ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| wrong(path, "has no certificate in PEM format"))
}

fn authorities(
    path: &Path,
    certificates: &[CertificateDer<'_>],
) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for root in certificates {
        roots.add(root.clone()).map_err(|error| wrong(path, &error.to_string()))?;
    }
    Ok(Arc::new(roots))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(&read_private(path)?)
        .map_err(|_| wrong(path, "has no private key in PEM format"))
}

/// What is wrong with the certificate of the other side, and what to do; or what it says is wrong
/// with that of this side. `None` if it is something else, such as the end of the connection.
pub(crate) fn explain(error: &io::Error) -> Option<String> {
    use rustls::{AlertDescription as Alert, Error as Tls};
    const CA: &str = "give every node the same `ca_file`, and a certificate from it";
    const RENEW: &str = "replace it, or set the clocks right";
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(match error {
        Tls::InvalidCertificate(problem) => match problem {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("its certificate has expired: {RENEW}")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("its certificate is not valid yet: {RENEW}")
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("its certificate is from another authority: {CA}")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is that of another node or cluster: correct the addresses in \
                 [members], or give each node its own certificate"
                    .to_owned()
            }
            usage if purpose::is_of_usage(usage) => {
                format!("its certificate is not for both uses: {}", purpose::REMEDY)
            }
            other => format!("its certificate cannot be used: {other}"),
        },
        Tls::NoCertificatesPresented => {
            "it shows no certificate: give every node the same [security]".to_owned()
        }
        Tls::AlertReceived(alert) => match alert {
            Alert::CertificateExpired => {
                format!("it says that the certificate of this node has expired: {RENEW}")
            }
            Alert::UnknownCA | Alert::DecryptError => {
                format!("it says that the certificate of this node is from another authority: {CA}")
            }
            Alert::UnsupportedCertificate => {
                format!("the certificate of this node is not for both uses: {}", purpose::REMEDY)
            }
            Alert::CertificateRequired | Alert::NoApplicationProtocol => {
                "it asks for a certificate of the cluster".to_owned()
            }
            other => format!("it ended the TLS handshake: {other:?}"),
        },
        Tls::InvalidMessage(_) => {
            "it does not speak TLS: give every node the same [security]".to_owned()
        }
        other => format!("TLS: {other}"),
    })
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

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
}
