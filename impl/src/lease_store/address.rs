//! Where the store of the lease is, as people write it, and the files that go with that.

use std::fmt;
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

    fn problem(text: &str) -> String {
        text.parse::<StoreAddress>().expect_err(text)
    }

    #[test]
    fn a_store_is_a_member_or_at_an_address() {
        for (text, number) in [("3", 3), ("node:3", 3), ("65535", 65_535)] {
            assert_eq!(text.parse::<StoreAddress>(), Ok(node(number)), "{text}");
        }
        for text in [
            "sqlite:/var/lib/orders.db",
            "sqlite:orders.db",
            "postgres://orders@db-1.example.org:5432/orders?sslmode=require",
            "postgresql://db/orders",
            "redis://cache:6379/0",
            "rediss://user@cache",
            "etcd://10.0.0.1:2379,10.0.0.2:2379",
            "kubernetes",
            "kubernetes:default/orders",
            "kubernetes+https://10.0.0.1:6443/default/orders",
        ] {
            let parsed: StoreAddress = text.parse().expect(text);
            assert!(matches!(&parsed, StoreAddress::At(place) if place.as_str() == text));
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_remedy() {
        for text in ["0", "-1", "+3", "03", "65536", "node:0", "node:", "node:x", "node:3:4"] {
            assert!(problem(text).contains("is not a node id"), "{text}: {}", problem(text));
        }
        for text in ["", "db", "mysql://db/orders", "consul:x", "Sqlite:x", "//db", ":"] {
            assert!(problem(text).contains("is no store: write the id"), "{}", problem(text));
        }
        for text in ["sqlite:", "sqlite", "postgres://", "redis:", "etcd:///"] {
            assert!(problem(text).contains("does not say where"), "{text}: {}", problem(text));
        }
        assert!(problem("sqlite:a\nb").contains("control character"));
    }

    #[test]
    fn a_password_is_refused_and_never_shown() {
        for text in [
            "postgres://orders:hush@db/orders",
            "postgres://orders:hu/sh@db/orders",
            "postgres://orders:h@sh@db",
            "redis://:hush@cache",
            "mysql://root:hush@db",
            "postgres://db/orders?user=orders&password=hush",
            "postgres://db/orders?sslpassword=hush&x=y",
        ] {
            let problem = problem(text);
            assert!(problem.contains("set `store_password_file`"), "{problem}");
            for shown in [problem, without_password(text)] {
                assert!(!shown.contains("sh@") && !shown.contains("hush"), "{shown}");
            }
        }
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
}
