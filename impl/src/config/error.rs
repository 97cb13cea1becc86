//! What can be wrong with a configuration.

use std::path::PathBuf;

use thiserror::Error;

use super::Address;
use crate::detector::SettingsError;
use crate::protocol::{MemberError, Members, NodeId};
use crate::store::HolderError;

/// The problem with a configuration, with the remedy.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error(
        "cannot read the configuration {path}: {cause}; name a file that can be read",
        path = path.display()
    )]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// The file does not say what it should.
    #[error("{path}: {problem}", path = path.display())]
    Parse {
        /// The path of the file.
        path: PathBuf,
        /// The problem, and its place in the file.
        problem: String,
    },
    /// A flag or a variable does not say what it should.
    #[error("{problem}")]
    Setting {
        /// The problem, and the flag or variable that has it.
        problem: String,
    },
    /// The file is for another protocol than the program runs.
    #[error("the configuration is for protocol `{asked}`, this program runs `{runs}`")]
    OtherProtocol {
        /// The protocol that the file names.
        asked: String,
        /// The protocol that the program runs.
        runs: &'static str,
    },
    /// The configuration does not say which node this is.
    #[error(
        "no node id: set `node` in the file, pass --node, or set the environment variable \
         BELLWETHER_NODE"
    )]
    NoNode,
    /// Nothing says where to keep durable state.
    #[error(
        "protocol {protocol} must remember things through restarts, and nothing says where: name a \
         directory with `Config::with_directory`"
    )]
    NoDirectory {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The trace cannot be written.
    #[error(
        "cannot write the trace {path}: {cause}; name a file in a folder that is there, which this \
         process may write",
        path = path.display()
    )]
    Trace {
        /// The path of the file.
        path: PathBuf,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// The protocol elects one of several.
    #[error(
        "protocol {protocol} needs at least 2 members: add one, or choose the protocol quorum, in \
         which one alone leads itself"
    )]
    Alone {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The protocol has no observers.
    #[error(
        "protocol {protocol} has no observers: remove `observers`, or choose the protocol quorum, \
         which has"
    )]
    NoObservers {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The protocol has no witnesses.
    #[error(
        "protocol {protocol} has no witnesses: remove `witnesses`, or choose the protocol quorum, \
         which has"
    )]
    NoWitnesses {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The nodes of the protocol wait for no others.
    #[error(
        "protocol {protocol} has no use for --new-cluster: its nodes wait for no others when they \
         start; start the node without it"
    )]
    NoNewCluster {
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The groups make no sense.
    #[error("groups: {problem}")]
    Groups {
        /// The problem, with the remedy.
        problem: String,
    },
    /// Nothing says which member is the store of the lease, or one that is no member.
    #[error(
        "protocol lease needs a store: set `store` under [lease] to one of the members \
         ({members}) or to the address of a database, on every node"
    )]
    NoStore {
        /// The members that are listed.
        members: Members,
    },
    /// The store of the lease cannot be had.
    #[error("lease.{key}: {problem}")]
    Store {
        /// The key of the section.
        key: &'static str,
        /// The problem with its value, with the remedy.
        problem: String,
    },
    /// The label can be the name of no holder.
    #[error(transparent)]
    Label(#[from] HolderError),
    /// The text is not an address.
    #[error("`{text}` is not an address: use HOST:PORT, as in 10.0.0.1:7000 or [::1]:7000")]
    Address {
        /// The text that was given instead.
        text: String,
    },
    /// Two members would have to share a port.
    #[error("members {first} and {second} have the same address {address}: give each its own")]
    SharedAddress {
        /// The first of the two members.
        first: NodeId,
        /// The second of the two members.
        second: NodeId,
        /// The address whose port they share.
        address: Address,
    },
    /// The settings of the failure detector make no sense.
    #[error("detector.{problem}")]
    Detector {
        /// The setting, and its problem.
        problem: String,
    },
    /// The addresses are those of several machines, and nothing protects the nodes.
    #[error(
        "{address} is not an address of this machine alone, and nothing protects the nodes: any \
         process that reaches them can decide which one leads. Set `mode` under [security] to \
         \"tls\" or \"secret\"; or, in a network that you trust, set `allow_plain = true`"
    )]
    Unprotected {
        /// The first address of another machine.
        address: Address,
    },
    /// The hooks make no sense.
    #[error("hooks.{problem}")]
    Hooks {
        /// The hook, and its problem.
        problem: String,
    },
    /// The check of the node makes no sense.
    #[error("health.{problem}")]
    Health {
        /// The key, and its problem.
        problem: String,
    },
    /// The security cannot be had.
    #[error("security: {problem}")]
    Security {
        /// The problem, with the remedy.
        problem: String,
    },
    /// The name of the cluster or its members make no sense.
    #[error(transparent)]
    Members(#[from] MemberError),
    /// The section of the protocol contradicts itself.
    #[error(transparent)]
    Contradiction(Box<dyn std::error::Error + Send + Sync>),
}

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::Detector { problem: error.to_string() }
    }
}
