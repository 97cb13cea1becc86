//! Where the store of the lease is, as people write it, and the files that go with that.

use std::fmt;
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "redis"))]
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::Connect;
use crate::protocol::{MemberError, NodeId};

/// The kinds of addresses: how each begins, and the feature that has its adapter.
const SCHEMES: [(&str, &str); 11] = [
    ("sqlite", "sqlite"),
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("redis", "redis"),
    ("rediss", "redis"),
    ("redis+unix", "redis"),
    ("etcd", "etcd"),
    ("etcds", "etcd"),
    ("kubernetes", "kubernetes"),
    ("kubernetes+http", "kubernetes"),
    ("kubernetes+https", "kubernetes"),
];

/// How an address can be written.
const FORMS: &str = "write the id of a member, or sqlite:FILE, postgres://HOST/DATABASE, \
                     redis://HOST, etcd://HOST:PORT or kubernetes";

/// What the address alone does not say: files with what must not be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The file with the password.
    pub password: Option<PathBuf>,
    /// The file with the certificates of the authorities that have signed that of the store.
    pub ca: Option<PathBuf>,
    /// The file with the certificate that is shown to the store.
    pub certificate: Option<PathBuf>,
    /// The file with its private key.
    pub key: Option<PathBuf>,
    /// The file with the token that is shown to the store.
    pub token: Option<PathBuf>,
}

impl Files {
    /// Returns the same files for one node: in each path, `{node}` is its id.
    #[must_use]
    pub fn of(&self, node: NodeId) -> Self {
        let fill = |path: &Option<PathBuf>| {
            let path = path.as_deref()?;
            // A path that is no text has no such mark in it.
            let filled = path.to_str().map(|text| text.replace("{node}", &node.to_string()));
            Some(filled.map_or_else(|| path.to_owned(), PathBuf::from))
        };
        Self {
            password: fill(&self.password),
            ca: fill(&self.ca),
            certificate: fill(&self.certificate),
            key: fill(&self.key),
            token: fill(&self.token),
        }
    }

    /// Returns the files with the certificate that is shown and its key, if any are named.
    #[cfg(any(feature = "etcd", feature = "kubernetes", feature = "postgres", feature = "redis"))]
    pub(super) fn own(&self) -> Result<Option<(PathBuf, PathBuf)>, &'static str> {
        match (self.certificate.clone(), self.key.clone()) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (None, None) => Ok(None),
            _ => Err("a certificate for the store needs its key, and a key its certificate: name \
                      `store_certificate_file` and `store_key_file`, or neither"),
        }
    }

    /// Returns whether a path is another for each node.
    #[must_use]
    pub fn differ(&self) -> bool {
        let all = [&self.password, &self.ca, &self.certificate, &self.key, &self.token];
        all.into_iter().flatten().any(|path| path.to_string_lossy().contains("{node}"))
    }
}

/// The authorities that have signed the certificate of the store, and the certificate that is shown
/// to it. The files are read for each connection: certificates are replaced while the program runs.
#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "redis"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificates {
    ca: PathBuf,
    /// The certificate that is shown, and its key.
    own: Option<(PathBuf, PathBuf)>,
}

#[cfg(any(feature = "etcd", feature = "kubernetes", feature = "redis"))]
impl Certificates {
    /// The certificates that `files` name; with `ca` where these have no authorities.
    pub(super) fn of(files: &Files, ca: Option<PathBuf>) -> Result<Self, String> {
        let ca = files.ca.clone().or(ca).ok_or(
            "the store is spoken to by TLS: name the file with the authorities that have signed \
             its certificate, by `store_ca_file`",
        )?;
        Ok(Self { ca, own: files.own()? })
    }

    /// The file with the authorities, and the files with the certificate that is shown and its key.
    pub(super) fn paths(&self) -> (&Path, Option<(&Path, &Path)>) {
        let own = self.own.as_ref();
        (&self.ca, own.map(|(certificate, key)| (certificate.as_path(), key.as_path())))
    }
}

/// The store of the lease: a member, or what is no node.
#[derive(Clone, Debug)]
pub enum StoreAddress {
    /// The member with this id.
    Node(NodeId),
    /// A database or a service.
    At(Place),
    /// A store that the program brings.
    Own(Arc<dyn Connect>),
}

impl StoreAddress {
    /// Returns the way to the store; `None` if it is a member.
    ///
    /// # Errors
    ///
    /// What is wrong with the address, or the feature that this program was built without.
    pub fn connector(&self, files: &Files) -> Result<Option<Arc<dyn Connect>>, String> {
        match self {
            Self::Node(_) => Ok(None),
            Self::At(place) => place.connector(files).map(Some),
            Self::Own(connect) => Ok(Some(Arc::clone(connect))),
        }
    }
}

impl PartialEq for StoreAddress {
    /// A store that a program brings is only itself.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Node(one), Self::Node(other)) => one == other,
            (Self::At(one), Self::At(other)) => one == other,
            (Self::Own(one), Self::Own(other)) => Arc::ptr_eq(one, other),
            (Self::Node(_) | Self::At(_) | Self::Own(_), _) => false,
        }
    }
}

impl From<NodeId> for StoreAddress {
    fn from(node: NodeId) -> Self {
        Self::Node(node)
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::At(place) => place.fmt(f),
            Self::Own(_) => f.write_str("of the program"),
        }
    }
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let node = text.strip_prefix("node:").unwrap_or(text);
        if node.len() < text.len() || !text.is_empty() && !text.contains(|c: char| !is_of_id(c)) {
            let id = node.parse().map_err(|error: MemberError| error.to_string());
            return id.map(Self::Node);
        }
        text.parse().map(Self::At)
    }
}

/// What may be meant as the id of a node.
fn is_of_id(c: char) -> bool {
    c.is_ascii_digit() || "+-.".contains(c)
}

/// The address of a store that is no node, of a known kind, and without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    /// Returns the address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the way to the store.
    ///
    /// # Errors
    ///
    /// What is wrong with the address, or the feature that this program was built without.
    pub fn connector(&self, files: &Files) -> Result<Arc<dyn Connect>, String> {
        let (address, feature) = (self.as_str(), feature(scheme(&self.0)).unwrap_or_default());
        // Without any adapter they are of no use.
        let _ = (address, files);
        #[cfg(feature = "sqlite")]
        if feature == "sqlite" {
            return Ok(Arc::new(super::sqlite::Sqlite::parse(address, files)?));
        }
        #[cfg(feature = "postgres")]
        if feature == "postgres" {
            return Ok(Arc::new(super::postgres::Postgres::parse(address, files)?));
        }
        #[cfg(feature = "redis")]
        if feature == "redis" {
            return Ok(Arc::new(super::redis::Redis::parse(address, files)?));
        }
        #[cfg(feature = "etcd")]
        if feature == "etcd" {
            return Ok(Arc::new(super::etcd::Etcd::parse(address, files)?));
        }
        #[cfg(feature = "kubernetes")]
        if feature == "kubernetes" {
            return Ok(Arc::new(super::kubernetes::Kubernetes::parse(address, files)?));
        }
        Err(format!(
            "this program was built without the feature `{feature}`, which has this store: build \
             it with that, or choose another store"
        ))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let scheme = scheme(text);
        if without_password(text) != text {
            return Err(format!(
                "the address {scheme}:... has a password in it, which all that read the file or \
                 the log would see: write it into a file of its own, and set `store_password_file`"
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(format!("the address has a control character in it: {FORMS}"));
        }
        if feature(scheme).is_none() {
            return Err(format!("`{scheme}` is no store: {FORMS}"));
        }
        // All but one are found by what stands behind.
        if scheme != "kubernetes" && text[scheme.len()..].trim_matches([':', '/']).is_empty() {
            return Err(format!("`{text}` does not say where the store is: {FORMS}"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// What an address begins with.
fn scheme(text: &str) -> &str {
    text.split(':').next().unwrap_or_default()
}

/// The feature with the adapter for addresses that begin so, if there is one.
fn feature(scheme: &str) -> Option<&'static str> {
    let known = SCHEMES.iter().find(|(known, _)| *known == scheme);
    known.map(|&(_, feature)| feature)
}

/// Returns the way to the store at this address, which is no node.
///
/// # Errors
///
/// What is wrong with the address, or the feature that this program was built without.
pub fn connector(address: &str, files: &Files) -> Result<Arc<dyn Connect>, String> {
    address.parse::<Place>()?.connector(files)
}

/// Returns the address as it can be shown: in the place of a password, if one stands in it, there
/// are dots.
#[must_use]
pub fn without_password(text: &str) -> String {
    const HIDDEN: &str = "...";
    let (before, query) =
        text.split_once('?').map_or((text, None), |(before, query)| (before, Some(query)));
    let mut shown = before.to_owned();
    if let Some((scheme, rest)) = before.split_once("://") {
        let end = rest.find('/').unwrap_or(rest.len());
        // A password may have a slash in it that should have been written otherwise.
        let at = rest[..end].rfind('@').or_else(|| rest.rfind('@'));
        let user = at.map(|at| (&rest[..at], &rest[at..]));
        if let Some((user, after)) = user
            && let Some((name, _)) = user.split_once(':')
        {
            shown = format!("{scheme}://{name}:{HIDDEN}{after}");
        }
    }
    let hide = |pair: &str| match pair.split_once('=') {
        Some((key, _)) if key.to_ascii_lowercase().contains("pass") => format!("{key}={HIDDEN}"),
        _ => pair.to_owned(),
    };
    match query {
        Some(query) => {
            let pairs: Vec<_> = query.split('&').map(hide).collect();
            format!("{shown}?{}", pairs.join("&"))
        }
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u16) -> StoreAddress {
        StoreAddress::Node(NodeId::new(number).expect("not zero"))
    }

    #[test]
    fn a_store_is_a_member_or_at_an_address() {
        for (text, number) in [("3", 3), ("node:3", 3), ("65535", 65_535)] {
            assert_eq!(text.parse::<StoreAddress>(), Ok(node(number)), "{text}");
        }
        for text in ["sqlite:orders.db", "postgres://orders@db/orders?sslmode=require"] {
            let parsed: StoreAddress = text.parse().expect(text);
            assert!(matches!(&parsed, StoreAddress::At(place) if place.as_str() == text));
            assert_eq!(parsed.to_string(), text);
        }
        let problem = "sqlite:a\nb".parse::<StoreAddress>().expect_err("two lines");
        assert!(problem.contains("control character"), "{problem}");
    }

    /// The data has addresses, each with the files that are named, and below it what is said of it.
    #[cfg(feature = "daemon")]
    #[test]
    fn an_address_is_good_or_refused_with_the_remedy() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lease_store/testdata/addresses.txt");
        let kept = std::fs::read_to_string(path).expect("it can be read");
        let mut now = Vec::new();
        for line in kept.lines().filter(|line| !line.starts_with("  ")) {
            now.push(line.to_owned());
            let Some((_, rest)) = line.split_once('"') else { continue };
            let (address, names) = rest.split_once('"').expect("the end of the address");
            let file = |name: &str| {
                names.split(' ').any(|named| named == name).then(|| PathBuf::from(name))
            };
            let files = Files {
                password: file("password"),
                ca: file("ca"),
                certificate: file("certificate"),
                key: file("key"),
                token: file("token"),
            };
            let store = address.parse::<StoreAddress>();
            let said = store.and_then(|store| store.connector(&files)).err();
            let said = said.unwrap_or_else(|| "good".to_owned());
            for shown in [&said, &without_password(address)] {
                assert!(!shown.contains("sh@") && !shown.contains("hush"), "{shown}");
            }
            now.push(format!("  {said}"));
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, now.join("\n") + "\n").expect("it can be written");
        }
        for (number, (kept, now)) in (1..).zip(kept.lines().zip(&now)) {
            assert_eq!(kept, now, "{path}:{number}; with UPDATE=1 what is said now is written");
        }
        assert_eq!(kept.lines().count(), now.len(), "{path}");
    }

    #[test]
    fn a_password_is_not_shown_and_all_else_is() {
        assert_eq!(
            without_password("postgres://orders:hush@db/orders?x=y&password=z"),
            "postgres://orders:...@db/orders?x=y&password=..."
        );
        for plain in ["3", "sqlite:a:b@c", "postgres://orders@db:5432/orders?sslmode=require"] {
            assert_eq!(without_password(plain), plain);
        }
    }

    #[test]
    fn a_store_whose_adapter_was_left_out_names_the_feature() {
        for (text, feature, there) in [
            ("sqlite:orders.db", "sqlite", cfg!(feature = "sqlite")),
            ("postgres://orders@db/orders", "postgres", cfg!(feature = "postgres")),
            ("redis://cache", "redis", cfg!(feature = "redis")),
            ("etcd://db:2379", "etcd", cfg!(feature = "etcd")),
        ] {
            let left_out = format!("without the feature `{feature}`");
            let connector = connector(text, &Files::default());
            let is_left_out = connector.is_err_and(|problem| problem.contains(&left_out));
            assert_eq!(is_left_out, !there, "{text}");
        }
        assert!(node(3).connector(&Files::default()).expect("a member").is_none());
    }

    #[test]
    fn files_can_be_others_for_each_node() {
        let file = |name: &str| Some(PathBuf::from(name));
        let files = Files { key: file("node-{node}.key"), ca: file("ca.pem"), ..Files::default() };
        let own = files.of(NodeId::new(3).expect("not zero"));
        assert_eq!((own.key.clone(), own.ca.clone()), (file("node-3.key"), file("ca.pem")));
        assert_eq!((own.password.clone(), files.differ(), own.differ()), (None, true, false));
    }

    #[cfg(any(feature = "etcd", feature = "kubernetes", feature = "redis"))]
    #[test]
    fn certificates_come_in_pairs_with_their_authorities() {
        let file = |name: &str| Some(PathBuf::from(name));
        let ca = Files { ca: file("ca.pem"), ..Files::default() };
        let alone = Certificates::of(&ca, None).expect("authorities");
        assert_eq!(alone.paths(), (Path::new("ca.pem"), None));
        assert_eq!(Certificates::of(&Files::default(), file("ca.pem")), Ok(alone));
        let pair = "name `store_certificate_file` and `store_key_file`";
        for (files, part) in [
            (Files::default(), "authorities"),
            (Files { certificate: file("own.pem"), ..ca.clone() }, pair),
            (Files { key: file("own.key"), ..ca }, pair),
        ] {
            let problem = Certificates::of(&files, None).expect_err("refused");
            assert!(problem.contains(part), "{problem}");
        }
    }
}
