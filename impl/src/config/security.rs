//! The section `[security]`: how the nodes of a cluster know each other, what a node proves itself
//! with while it runs, and what is open to others.

pub(super) mod expiry;
#[cfg(feature = "tls")]
mod purpose;
#[cfg_attr(not(feature = "tls"), path = "security/without_tls.rs")]
pub(crate) mod tls;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bellwether_stores::private_file::{self, Unusable};
use serde::Serialize;
use tokio::sync::watch;
use zeroize::Zeroizing;

use self::expiry::{CertificateUse, Expiry};
use self::tls::Tls;
use super::{Address, ClusterId, Config, Error, Runnable};
use crate::protocol::NodeId;

/// The smallest length of a secret, in bytes.
pub const SHORTEST_SECRET: usize = 32;

/// The security of a cluster: the way in which its nodes know each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Security {
    /// The nodes believe what is said: for one machine.
    Plain {
        /// Whether this is wanted with addresses of other machines, too.
        #[serde(rename = "allow_plain")]
        anywhere: bool,
    },
    /// The nodes prove that they know a secret, and what they say is encrypted.
    Secret {
        /// The path of the file with the secret.
        #[serde(rename = "secret_file")]
        file: PathBuf,
        /// The path of the file with a second secret that is believed as well, while the secret is
        /// changed.
        #[serde(rename = "second_secret_file")]
        second: Option<PathBuf>,
    },
    /// The nodes show each other certificates (mutual TLS 1.3), each for one node of one cluster.
    /// The program must be built with the feature `tls`.
    Tls {
        /// The path of the file with the certificates of the authorities.
        #[serde(rename = "ca_file")]
        ca: PathBuf,
        /// The path of the file with the certificate of this node.
        #[serde(rename = "certificate_file")]
        certificate: PathBuf,
        /// The path of the file with the private key of this node.
        #[serde(rename = "key_file")]
        key: PathBuf,
    },
}

/// The name of each kind of security.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain = 0,
    Secret = 1,
    Tls = 2,
}

impl Mode {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Secret, Self::Tls];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Secret => "secret",
            Self::Tls => "tls",
        }
    }

    /// How a greeting says it.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.number() == number)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Default for Security {
    /// Plain, on one machine only.
    fn default() -> Self {
        Self::Plain { anywhere: false }
    }
}

impl Security {
    /// Whether it suits these addresses of members and listeners.
    fn check<'a>(&self, mut addresses: impl Iterator<Item = &'a Address>) -> Result<(), Error> {
        let closed = *self == Self::Plain { anywhere: false };
        match addresses.find(|address| closed && !address.is_loopback()) {
            Some(address) => Err(Error::Unprotected { address: address.clone() }),
            None => Ok(()),
        }
    }

    /// Reads the credentials with which a node of the cluster proves itself.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when a file cannot be used, and for certificates when the program was
    /// built without the feature `tls`.
    pub fn load(&self, cluster: &ClusterId) -> Result<Credentials, Error> {
        Ok(Credentials::new(match self {
            Self::Plain { .. } => Kind::Plain,
            Self::Secret { file, second } => secrets(file, second.as_deref())?,
            Self::Tls { ca, certificate, key } => {
                Kind::Tls(Tls::load(cluster, ca, certificate, key)?)
            }
        }))
    }

    /// The files of certificates that it names.
    fn certificate_files(&self) -> impl Iterator<Item = (CertificateUse, &Path)> {
        let files = match self {
            Self::Plain { .. } | Self::Secret { .. } => None,
            Self::Tls { ca, certificate, .. } => {
                let own = (CertificateUse::Node, certificate.as_path());
                Some([own, (CertificateUse::Authority, ca.as_path())])
            }
        };
        files.into_iter().flatten()
    }

    /// The warning about a node that believes what other machines say; none if it does not.
    fn warning<'a>(&self, mut addresses: impl Iterator<Item = &'a Address>) -> Option<String> {
        let open = matches!(self, Self::Plain { anywhere: true });
        let address = addresses.find(|address| open && !address.is_loopback())?;
        Some(format!(
            "NOTHING IS PROTECTED: any process that reaches {address} can decide which node \
             leads; use `mode = \"tls\"` or `mode = \"secret\"` under [security]: \
             see `bellwether help keys`"
        ))
    }
}

pub(super) fn secrets(file: &Path, second: Option<&Path>) -> Result<Kind, Error> {
    Ok(Kind::Secret(Secret::read(file)?, second.map(Secret::read).transpose()?))
}

/// What only the nodes of a cluster know. Overwritten when dropped, and never printed.
#[derive(Clone)]
pub(crate) struct Secret(Arc<Zeroizing<Vec<u8>>>);

impl Secret {
    fn read(file: &Path) -> Result<Self, Error> {
        let mut bytes = read_private(file)?;
        // An editor ends the last line.
        let end = bytes.trim_ascii_end().len();
        bytes.truncate(end);
        if end < SHORTEST_SECRET {
            return Err(Error::Security {
                problem: format!(
                    "the secret in {} has {end} bytes: use at least {SHORTEST_SECRET}; \
                     `bellwether keys secret FILE` makes one",
                    file.display()
                ),
            });
        }
        Ok(Self(Arc::new(bytes)))
    }

    #[cfg(test)]
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(Arc::new(Zeroizing::new(bytes.to_vec())))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The content of a file that no other user can read.
pub(super) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    private_file::read(path).map_err(|error| unusable(&error))
}

fn unusable(error: &Unusable) -> Error {
    let problem = match error {
        Unusable::Unreadable { .. } => {
            format!("{error}; name a file that can be read, or make one with `bellwether keys`")
        }
        Unusable::Open { .. } => error.to_string(),
    };
    Error::Security { problem }
}

/// The credentials with which a node proves itself to others. It is not printed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Credentials {
    pub(crate) kind: Kind,
    /// Which node is asked, where only that one may answer.
    pub(crate) asked: Option<NodeId>,
    expiries: Arc<[Expiry]>,
}

impl Credentials {
    /// Returns the credentials of a process that has none: enough for nodes whose security is
    /// plain.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Kind::Plain)
    }

    pub(crate) fn new(kind: Kind) -> Self {
        let expiries = match &kind {
            Kind::Tls(tls) => Arc::clone(tls.expiries()),
            Kind::Plain | Kind::Secret(..) => Arc::default(),
        };
        Self { kind, asked: None, expiries }
    }

    /// Returns the same credentials, to ask this node. With certificates, no other one may answer.
    #[must_use]
    pub fn asking(self, node: NodeId) -> Self {
        Self { asked: Some(node), ..self }
    }

    /// The same, of a node that uses further certificates as well.
    pub(crate) fn with_expiries(self, further: impl IntoIterator<Item = Expiry>) -> Self {
        let expiries = self.expiries.iter().cloned().chain(further).collect();
        Self { expiries, ..self }
    }

    /// Returns the ends of the certificates that the node uses: its own and those of authorities,
    /// and those that its configuration names for HTTP.
    #[must_use]
    pub fn expiries(&self) -> &[Expiry] {
        &self.expiries
    }

    /// Whether the others will believe that this is node `node`.
    fn check(&self, node: NodeId) -> Result<(), Error> {
        match &self.kind {
            Kind::Tls(tls) => tls.check(node),
            Kind::Plain | Kind::Secret(..) => Ok(()),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        match &self.kind {
            Kind::Plain => Mode::Plain,
            Kind::Secret(..) => Mode::Secret,
            Kind::Tls(_) => Mode::Tls,
        }
    }
}

/// The credentials of a node that runs. They can be replaced: what begins later uses the new ones.
#[derive(Clone, Debug)]
pub(crate) struct Current(watch::Sender<Credentials>);

impl Current {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self(watch::Sender::new(credentials))
    }

    pub(crate) fn now(&self) -> Credentials {
        self.0.borrow().clone()
    }

    /// Tells of each replacement.
    pub(crate) fn watch(&self) -> watch::Receiver<Credentials> {
        self.0.subscribe()
    }

    /// From now on these count. Nothing happens if they are of another kind: that is the same on
    /// every node, and cannot change while they run.
    pub(crate) fn replace(&self, credentials: Credentials) {
        self.0.send_if_modified(|now| {
            let same = now.mode() == credentials.mode();
            if same {
                *now = credentials;
            }
            same
        });
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Plain,
    /// Its own, and another one that is believed as well.
    Secret(Secret, Option<Secret>),
    Tls(Tls),
}

impl<C: Runnable> Config<C> {
    /// Reads the credentials with which the node proves itself to others.
    ///
    /// # Errors
    ///
    /// As [`Config::check_security`], and [`Error::Security`] when a file cannot be used.
    pub fn credentials(&self) -> Result<Credentials, Error> {
        self.check_security()?;
        let credentials = self.security.load(&self.cluster)?;
        credentials.check(self.node)?;
        // What is wrong with these files, the server says that shows what is in them.
        let files = self.http.certificate_files();
        let further = files.filter_map(|(which, file)| tls::expiries(which, file).ok());
        Ok(credentials.with_expiries(further.flatten()))
    }

    /// Reads the ends of all certificates that the configuration names, file by file: those of
    /// nodes, of HTTP, and of their authorities. No private key is read.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] for each file that cannot be used; for all of them when the program was
    /// built without the feature `tls`.
    #[must_use]
    pub fn expiries(&self) -> Vec<Result<Vec<Expiry>, Error>> {
        let files = self.security.certificate_files().chain(self.http.certificate_files());
        files.map(|(which, file)| tls::expiries(which, file)).collect()
    }

    /// Checks whether the security suits the addresses.
    ///
    /// # Errors
    ///
    /// [`Error::Unprotected`] when nothing protects the nodes, and an address is that of another
    /// machine.
    pub fn check_security(&self) -> Result<(), Error> {
        self.security.check(self.all_addresses())
    }

    /// Returns the warning about a node that believes what other machines say; `None` if it does
    /// not.
    #[must_use]
    pub fn security_warning(&self) -> Option<String> {
        self.security.warning(self.all_addresses())
    }

    /// Returns the warning about a token that is sent over a network without encryption; `None` if
    /// none is.
    #[must_use]
    pub fn http_warning(&self) -> Option<String> {
        self.http.warning()
    }

    /// The addresses of all members, and the one at which the node listens.
    fn all_addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.values().chain(&self.listen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8], mode: u32) -> tempfile::NamedTempFile {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, bytes).expect("writable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("ours");
        file
    }

    #[test]
    fn a_secret_is_long_and_its_file_is_nobody_elses() {
        let good = file(b"0123456789abcdef0123456789abcdef\n", 0o600);
        let secret = Secret::read(good.path()).expect("good");
        assert_eq!(secret.bytes(), b"0123456789abcdef0123456789abcdef");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        let short = file(b"0123456789abcdef0123456789abcde\n\n", 0o600);
        let error = Secret::read(short.path()).expect_err("short").to_string();
        assert!(error.contains("31 bytes") && error.contains("keys secret"), "{error}");
        for mode in [0o640, 0o604, 0o620, 0o602] {
            let open = file(&[b'x'; 40], mode);
            let error = Secret::read(open.path()).expect_err("open").to_string();
            assert!(error.contains("chmod 600"), "{error}");
        }
        let error = Secret::read(Path::new("/no/such/file")).expect_err("none").to_string();
        assert!(error.contains("cannot read /no/such/file"), "{error}");
    }

    #[test]
    fn nodes_on_several_machines_need_security_or_a_word_that_they_do_not() {
        let addresses = |text: &str| -> Vec<Address> {
            text.split(' ').map(|address| address.parse().expect("an address")).collect()
        };
        let check =
            |anywhere, text: &str| Security::Plain { anywhere }.check(addresses(text).iter());
        assert!(check(false, "127.0.0.1:1 [::1]:2 localhost:3 127.3.2.1:4").is_ok());
        for other in ["10.0.0.1:1", "0.0.0.0:1", "[::]:1", "db-1:1", "localhost.evil.org:1"] {
            let error = check(false, &format!("127.0.0.1:1 {other}")).expect_err(other).to_string();
            for part in [other, "[security]", "secret", "tls", "allow_plain"] {
                assert!(error.contains(part), "{error}");
            }
            assert!(check(true, other).is_ok());
            let warning = |anywhere| Security::Plain { anywhere }.warning(addresses(other).iter());
            assert!(warning(true).is_some_and(|text| text.contains(other)));
            assert!(warning(false).is_none());
        }
    }
}
