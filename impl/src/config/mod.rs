//! The configuration of a node, parsed into types that cannot be wrong.
//!
//! A [`Config`] is complete and consistent, however it came about: built by a program with
//! [`Config::new`], or read with [`Config::load`]. Where several places say something, the first of
//! these counts: flags, environment, file, defaults.

mod file;
mod names;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use self::file::{Log, LogFormat, Overrides};
pub use self::names::{Address, ClusterId};
use crate::protocol::{
    Core, MemberError, Members, NodeId, Recommended, Settings, SettingsError, Timing,
};

/// Everything a node must know before it can take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    cluster: ClusterId,
    listen: Address,
    addresses: BTreeMap<NodeId, Address>,
    settings: Settings,
}

impl Config {
    /// The configuration of node `node` of the cluster `cluster`, with the default timing.
    ///
    /// `members` are the ids and addresses of all nodes, the node's own included.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "10.0.0.1:7000"), (2, "10.0.0.2:7000"), (3, "10.0.0.3:7000")];
    /// let config = Config::new("orders", 2, members)?;
    /// # Ok::<(), bellwether::config::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy.
    pub fn new<A: AsRef<str>>(
        cluster: &str,
        node: u16,
        members: impl IntoIterator<Item = (u16, A)>,
    ) -> Result<Self, Error> {
        let id = |number: u16| {
            let text = || MemberError::NotAnId { text: number.to_string() };
            NodeId::new(number).ok_or_else(text)
        };
        let parse = |(number, address): (u16, A)| Ok((id(number)?, address.as_ref().parse()?));
        let members: Result<Vec<(NodeId, Address)>, Error> =
            members.into_iter().map(parse).collect();
        Self::assemble(cluster.parse()?, id(node)?, members?, None, Timing::DEFAULT)
    }

    /// Reads the file at `path`; what `overrides` says counts more.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the place and the remedy.
    pub fn load(path: &Path, overrides: &Overrides) -> Result<(Self, Log), Error> {
        file::load(path, overrides)
    }

    /// The same configuration with another timing.
    ///
    /// # Errors
    ///
    /// A [`SettingsError`] when the timing contradicts itself.
    pub fn with_timing(mut self, timing: Timing) -> Result<Self, Error> {
        timing.validate().map_err(SettingsError::from)?;
        self.settings.timing = timing;
        Ok(self)
    }

    fn assemble(
        cluster: ClusterId,
        node: NodeId,
        members: Vec<(NodeId, Address)>,
        listen: Option<Address>,
        timing: Timing,
    ) -> Result<Self, Error> {
        let ids = Members::new(members.iter().map(|&(id, _)| id))?;
        let addresses: BTreeMap<_, _> = members.into_iter().collect();
        let mut owners = BTreeMap::new();
        for (&second, address) in &addresses {
            if let Some(first) = owners.insert(address, second) {
                return Err(Error::SharedAddress { first, second, address: address.clone() });
            }
        }
        let settings = Settings { id: node, members: ids, timing };
        // The protocol has the last word.
        Recommended::validate(&settings, None)?;
        let listen = match (listen, addresses.get(&node)) {
            (Some(listen), _) => listen,
            (None, Some(own)) => own.clone(),
            (None, None) => {
                return Err(MemberError::NotAMember { node, members: settings.members }.into());
            }
        };
        Ok(Self { cluster, listen, addresses, settings })
    }

    /// The cluster the node belongs to.
    #[must_use]
    pub fn cluster(&self) -> &ClusterId {
        &self.cluster
    }

    /// The node's own id.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.settings.id
    }

    /// Where the node listens: its own address, unless the configuration says otherwise.
    #[must_use]
    pub fn listen(&self) -> &Address {
        &self.listen
    }

    /// How long the node waits for what.
    #[must_use]
    pub fn timing(&self) -> &Timing {
        &self.settings.timing
    }

    /// What the protocol must know.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All members and where to reach them, ascending.
    pub fn addresses(&self) -> impl Iterator<Item = (NodeId, &Address)> {
        self.addresses.iter().map(|(&id, address)| (id, address))
    }
}

/// What is wrong with a configuration, with the remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the configuration {path}: {cause}", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file does not say what it should.
    #[error("{path}: {problem}", path = path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// Nothing says which node this is.
    #[error(
        "no node id: set `node` in the file, pass --node, or set the environment variable \
         BELLWETHER_NODE"
    )]
    NoNode,
    /// Not the name of a cluster.
    #[error(
        "`{text}` is not a cluster name: use 1 to 64 letters, digits, dots, dashes, underscores"
    )]
    Cluster {
        /// What was given instead.
        text: String,
    },
    /// Not an address.
    #[error("`{text}` is not an address: use HOST:PORT, as in 10.0.0.1:7000 or [::1]:7000")]
    Address {
        /// What was given instead.
        text: String,
    },
    /// Two members would have to share a port.
    #[error("members {first} and {second} have the same address {address}: give each its own")]
    SharedAddress {
        /// One of them.
        first: NodeId,
        /// The other.
        second: NodeId,
        /// What they share.
        address: Address,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    Contradiction(#[from] SettingsError),
}

impl From<MemberError> for Error {
    fn from(error: MemberError) -> Self {
        Self::Contradiction(error.into())
    }
}
