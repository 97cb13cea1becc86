//! The address of the store of the lease, as people write it, and the files that go with it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bellwether_core::protocol::{MemberError, NodeId};
use bellwether_core::store::Connect;

/// The words with which an address begins.
const SCHEMES: [&str; 11] = [
    "sqlite",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "redis+unix",
    "etcd",
    "etcds",
    "kubernetes",
    "kubernetes+http",
    "kubernetes+https",
];

const FORMS: &str = "write the id of a member, or sqlite:FILE, postgres://HOST/DATABASE, \
                     redis://HOST, etcd://HOST:PORT or kubernetes";

/// The files with the password, the token and the certificates for a store: nothing of these stands
/// in an address.
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
    /// Returns the files with their keys in the section of the lease.
    pub fn keyed(&mut self) -> [(&'static str, &mut Option<PathBuf>); 5] {
        [
            ("store_password_file", &mut self.password),
            ("store_ca_file", &mut self.ca),
            ("store_certificate_file", &mut self.certificate),
            ("store_key_file", &mut self.key),
            ("store_token_file", &mut self.token),
        ]
    }

    /// Returns the same files for one node: in each path, `{node}` is its id.
    #[must_use]
    pub fn of(&self, node: NodeId) -> Self {
        let mut files = self.clone();
        for path in files.keyed().into_iter().filter_map(|(_, path)| path.as_mut()) {
            // A path that is no text has no such mark in it.
            if let Some(text) = path.to_str() {
                *path = text.replace("{node}", &node.to_string()).into();
            }
        }
        files
    }

    /// Returns whether a path is another for each node.
    #[must_use]
    pub fn differ(&self) -> bool {
        NodeId::new(1).is_some_and(|node| self.of(node) != *self)
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

impl TryFrom<&str> for StoreAddress {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        text.parse()
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
        if !SCHEMES.contains(&scheme) {
            return Err(format!("`{scheme}` is no store: {FORMS}"));
        }
        // All but one are found by what stands behind.
        if scheme != "kubernetes" && text[scheme.len()..].trim_matches([':', '/']).is_empty() {
            return Err(format!("`{text}` does not say where the store is: {FORMS}"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Returns the word with which an address begins.
pub(crate) fn scheme(text: &str) -> &str {
    text.split(':').next().unwrap_or_default()
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
    fn files_can_be_others_for_each_node() {
        let file = |name: &str| Some(PathBuf::from(name));
        let files = Files { key: file("node-{node}.key"), ca: file("ca.pem"), ..Files::default() };
        let own = files.of(NodeId::new(3).expect("not zero"));
        assert_eq!((own.key.clone(), own.ca.clone()), (file("node-3.key"), file("ca.pem")));
        assert_eq!((own.password.clone(), files.differ(), own.differ()), (None, true, false));
    }
}
