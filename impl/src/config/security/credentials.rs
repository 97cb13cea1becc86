//! What a node proves itself with while it runs, and when its certificates expire.

use std::sync::Arc;

use tokio::sync::watch;

use super::expiry::Expiry;
use super::tls::Tls;
use super::{Mode, Secret};
use crate::config::Error;
use crate::protocol::NodeId;

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
    pub(in crate::config) fn check(&self, node: NodeId) -> Result<(), Error> {
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
