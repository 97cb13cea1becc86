//! What travels on a connection, and how it is read from bytes that any process may have sent.
//!
//! A connection is a sequence of frames, each a length (four bytes, big endian) and that many
//! bytes. The first one in each direction is a [`Greeting`]: a magic number, the version that the
//! side speaks, how it proves itself, and a nonce. The first two will never move, so that any two
//! versions can tell each other apart. A side refuses another version than its own. Every later
//! frame is [postcard](https://postcard.jamesmunns.com/wire-format).
//!
//! After the greetings the side that has called sends an [`Opening`] and gets one [`Reply`]. After
//! a pair of `Hello`s the caller sends [`Frame`]s and the other side is silent; after any other
//! reply both hang up. Where the nodes share a secret, the side that was called sends the first
//! frame after the greetings and the caller the second, so that each proves itself, and every frame
//! after these is [sealed](super::seal).

use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::codec::LengthDelimitedCodec;

use super::standing::Standing;
use crate::config::{Digest, Digests, Mode};
use crate::protocol::{ClusterId, LeaseTerms, NodeId};
use crate::report::{GroupsReport, StatusReport};

/// The largest frame that is read or written, in bytes: the status of a node with 254 peers, each
/// with the longest address, the longest problem and the longest error, fits.
pub(crate) const MAX_FRAME: usize = 192 * 1024;

/// The largest frame after the first, in bytes. Nearly all are tiny; a node tells another the lists
/// of members in one, and only a side that has proved itself gets so far.
pub(crate) const MAX_MESSAGE: usize = MAX_FRAME;

/// The largest frame that is read from a side that is not known yet, in bytes.
pub(crate) const MAX_OPENING: usize = 512;

/// The version of everything in this file. A change of what a frame looks like makes another one,
/// and a node talks only with nodes that speak the same.
pub(crate) const VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"BLWR";

/// How long the leases and promises of a node last that has none.
const NO_LEASES: LeaseTerms =
    LeaseTerms { lease: Duration::ZERO, promise: Duration::ZERO, drift_ppm: 0 };

/// The first frame in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// How the side proves itself.
    pub(crate) mode: Mode,
    /// Different in each connection.
    pub(crate) nonce: [u8; 32],
}

impl Greeting {
    /// A greeting with a fresh nonce.
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, nonce: rand::random() }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let header = [&MAGIC[..], &VERSION.to_be_bytes(), &[self.mode.number()]].concat();
        [&header[..], &self.nonce].concat().into()
    }

    /// Reads a greeting of a side that speaks the version of this one.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        if *magic != MAGIC {
            return Err(FrameError::NotBellwether);
        }
        let (version, rest) = rest.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        let theirs = u16::from_be_bytes(*version);
        if theirs != VERSION {
            return Err(FrameError::Version { theirs });
        }
        let (mode, nonce) = rest.split_first().ok_or(FrameError::Malformed)?;
        let mode = Mode::numbered(*mode).ok_or(FrameError::Malformed)?;
        let nonce: [u8; 32] = nonce.try_into().map_err(|_| FrameError::Malformed)?;
        Ok(Self { mode, nonce })
    }
}

/// The first frame after the handshake, of the side that calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Opening {
    /// "I am a node, and messages follow."
    Hello(Hello),
    /// "Tell me how you are."
    StatusRequest,
    /// "Are you this run of this node?"
    AreYou { node: NodeId, incarnation: u64 },
    /// "Tell me how you are in the group with this name."
    GroupStatusRequest(String),
}

/// The frame with which the side that was called answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// "So am I. Go on."
    Hello(Hello),
    /// "Not with you", and why.
    Refused(Refusal),
    /// The answer to a status request.
    Status(Box<StatusReport>),
    /// Whether it is the run of the node that it was asked for.
    Is(bool),
    /// The answer of a node with groups to a status request.
    Groups(Box<GroupsReport>),
}

/// Every later frame of the side that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Frame<M> {
    /// A message of the protocol without a number, as a service has that answers in place of a
    /// node.
    Message(M),
    /// "I am up." For the failure detector; no core sees it.
    Heartbeat,
    /// "Answer this." For the [time there and back](super::round_trip); and "I am here", too.
    Ping(u8),
    /// The answer to the ping with this number, on the connection in the other direction.
    Pong(u8),
    /// "I led when I heard that you do." For the member; no core sees it.
    Rival,
    /// What the node says of itself beside its protocol; no core sees it.
    Standing(Standing),
    /// A message of the protocol, for the group with this number, big endian, and with a number of
    /// its own: no two messages of a group and a run of the node have the same. For the
    /// [trace](crate::trace) of the node that gets it; no core sees the number. A node without
    /// groups has the first group alone, 0.
    Numbered([u8; 2], u64, M),
}

impl<M> Frame<M> {
    /// The message with the number `id`, for the group with this number.
    pub(crate) fn numbered(group: u16, id: u64, message: M) -> Self {
        Self::Numbered(group.to_be_bytes(), id, message)
    }

    /// Whether it is a message of the protocol.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Numbered(..))
    }

    /// The number of the group that it is for.
    pub(crate) fn group(&self) -> u16 {
        match self {
            Self::Numbered(group, ..) => u16::from_be_bytes(*group),
            _ => 0,
        }
    }
}

/// Who a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The cluster it belongs to.
    pub(crate) cluster: ClusterId,
    /// The protocol it runs.
    pub(crate) protocol: String,
    /// Its id.
    pub(crate) node: NodeId,
    /// Which run of the node this is: different after every start. 0 where it is not told: a node
    /// that answers a process that it does not know keeps it to itself.
    pub(crate) incarnation: u64,
    /// What must be the same on every node.
    pub(crate) digests: Digests,
    /// A digest of its list of members, if that is the first one.
    pub(crate) members: Option<Digest>,
    /// How long its leases and promises last; none if it has none.
    pub(crate) leases: Option<LeaseTerms>,
    /// A digest of the names of its groups; none if it has none.
    pub(crate) groups: Option<Digest>,
}

impl Hello {
    /// How long its leases and promises last.
    pub(crate) fn terms(&self) -> LeaseTerms {
        self.leases.unwrap_or(NO_LEASES)
    }

    /// Whether no lease of either node can outlast a promise of the other. A node without leases
    /// asks nothing of the other.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        self.leases.is_none_or(|own| own.fit(&other.terms()))
    }
}

/// Why a node does not talk to another. The text is for the log of the one that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
pub(crate) enum Refusal {
    /// The two belong to different clusters.
    #[error(
        "it belongs to cluster `{0}`: give both nodes the same `cluster`, or correct the address \
         under [members]"
    )]
    Cluster(ClusterId),
    /// The two run different protocols.
    #[error("it runs protocol `{0}`: give every node the same `protocol`")]
    Protocol(String),
    /// The caller's id is not among the members.
    #[error(
        "node {0} is no member there: list the same [members] on every node, or add it with \
         `bellwether members add`"
    )]
    UnknownNode(NodeId),
    /// The two begin with different lists of members.
    #[error("it has other members than this node: list the same [members] on every node")]
    Members,
    /// The caller has the id of the one it calls.
    #[error("two nodes with one id: it is node {0} as well; give one of them another `node`")]
    SameId(NodeId),
    /// The caller's certificate is not that of the node that it says it is.
    #[error(
        "it says that the certificate of this node is not that of node {0}: give each node its own"
    )]
    Certificate(NodeId),
    /// Another process with the caller's id is connected.
    #[error(
        "two nodes with one id: another process runs as node {0}; stop one of them, or give it \
         another `node`"
    )]
    Duplicate(NodeId),
    /// A lease of one of the two could outlast a promise of the other.
    #[error("it has {0}: promises must outlast leases; raise promises first, and cut them last")]
    Leases(LeaseTerms),
    /// The two have different groups.
    #[error("it has other groups than this node: list the same [groups] on every node")]
    Groups,
    /// There is no group with the name that was asked for.
    #[error("it has no group `{0}`: name one of those under [groups]")]
    UnknownGroup(String),
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    /// The other side is something else altogether.
    #[error("what speaks there is not bellwether: check the address")]
    NotBellwether,
    /// The other side is another release.
    #[error(
        "it speaks version {theirs} of the wire format, and this node version {}: run the same \
         release on every node",
        VERSION
    )]
    Version {
        /// The version in its header.
        theirs: u16,
    },
    /// Truncated, too long, or no value of the type.
    #[error("malformed frame")]
    Malformed,
}

/// Splits a stream of bytes into frames, and refuses those that are too large.
pub(crate) fn codec(longest: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(longest).new_codec()
}

fn encode(frame: &impl Serialize) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(frame).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_FRAME { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads a value, which must take up all of the bytes.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(FrameError::Malformed),
    }
}

impl Opening {
    /// The bytes of it.
    pub(crate) fn encode(&self) -> Result<Bytes, FrameError> {
        encode(self)
    }

    /// Reads one.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        decode(bytes)
    }
}

impl Reply {
    /// The bytes of it.
    pub(crate) fn encode(&self) -> Result<Bytes, FrameError> {
        encode(self)
    }

    /// Reads one.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        decode(bytes)
    }
}

/// The bytes of a later frame.
pub(crate) fn encode_frame(frame: &Frame<impl Serialize>) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(frame).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_MESSAGE { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads a later frame.
pub(crate) fn decode_frame<M: DeserializeOwned>(bytes: &[u8]) -> Result<Frame<M>, FrameError> {
    if bytes.len() > MAX_MESSAGE { Err(FrameError::Malformed) } else { decode(bytes) }
}

#[cfg(test)]
mod tests;
