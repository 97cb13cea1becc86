//! What travels on a connection, and how it is read from bytes that any process may have sent.
//!
//! A connection is a sequence of frames, each a length (four bytes, big endian) and that many
//! bytes. The first one in each direction is a [`Greeting`]: a magic number, and the newest and the
//! oldest version that the side speaks. They will never move, so that any two versions can tell
//! each other apart. Both talk the newest version that both know. The rest, and every later frame,
//! is [postcard](https://postcard.jamesmunns.com/wire-format).
//!
//! After the greetings the side that has called sends an [`Opening`] and gets one [`Reply`]. After
//! a pair of `Hello`s the caller sends [`Frame`]s and the other side is silent; after any other
//! reply both hang up. Where the nodes share a secret, the side that was called sends an empty
//! frame first, and every frame after the greetings is [sealed](super::seal).

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::codec::LengthDelimitedCodec;

use crate::config::{ClusterId, Digests, Mode};
use crate::protocol::NodeId;
use crate::status::StatusReport;

/// The largest frame that is read or written, in bytes: the status of a node with 254 peers, each
/// with the longest address and the longest problem, fits.
pub(crate) const MAX_FRAME: usize = 128 * 1024;

/// The largest frame after the first, in bytes: they are all tiny.
pub(crate) const MAX_MESSAGE: usize = 256;

/// The largest frame that is read from a side that is not known yet, in bytes.
pub(crate) const MAX_OPENING: usize = 512;

/// The versions of everything in this file that this release speaks. A change of what a frame
/// looks like adds a version, and keeps the one before it: nodes are upgraded one after another.
/// Version 5 is the first that says the config epoch, and understands none before it.
pub(crate) const VERSIONS: Versions = Versions { newest: 5, oldest: 5 };

const MAGIC: [u8; 4] = *b"BLWR";

/// A range of versions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) newest: u16,
    pub(crate) oldest: u16,
}

impl Versions {
    /// The newest version in both ranges.
    pub(crate) fn common(self, other: Self) -> Option<u16> {
        let newest = self.newest.min(other.newest);
        (newest >= self.oldest.max(other.oldest)).then_some(newest)
    }
}

/// The first frame in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) versions: Versions,
    /// How the side proves itself.
    pub(crate) mode: Mode,
    /// Different in each connection.
    pub(crate) nonce: [u8; 32],
}

impl Greeting {
    /// A greeting with a fresh nonce.
    pub(crate) fn new(mode: Mode) -> Self {
        Self { versions: VERSIONS, mode, nonce: rand::random() }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let Versions { newest, oldest } = self.versions;
        let header = [&MAGIC[..], &newest.to_be_bytes(), &oldest.to_be_bytes()].concat();
        [&header[..], &[self.mode.number()], &self.nonce].concat().into()
    }

    /// Reads a greeting of a side with which this one has a version in common. A later version may
    /// say more in it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        if *magic != MAGIC {
            return Err(FrameError::NotBellwether);
        }
        let (newest, rest) = rest.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        let newest = u16::from_be_bytes(*newest);
        // Versions before 4 have something else here, and need not be asked.
        let (oldest, rest) = rest.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let versions = Versions { newest, oldest: u16::from_be_bytes(*oldest) };
        VERSIONS.common(versions).ok_or(FrameError::Version { theirs: newest })?;
        let (mode, rest) = rest.split_first().ok_or(FrameError::Malformed)?;
        let mode = Mode::numbered(*mode).ok_or(FrameError::Malformed)?;
        let (nonce, _) = rest.split_first_chunk().ok_or(FrameError::Malformed)?;
        Ok(Self { versions, mode, nonce: *nonce })
    }
}

/// The second frame of the side that calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Opening {
    /// "I am a node, and messages follow."
    Hello(Hello),
    /// "Tell me how you are."
    StatusRequest,
    /// "Are you this run of this node?"
    AreYou { node: NodeId, incarnation: u64 },
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
}

/// Every later frame of the side that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Frame<M> {
    /// A message of the protocol.
    Message(M),
    /// "I am up." For the failure detector; no core sees it.
    Heartbeat,
    /// "I have nothing to say." For the connection, which would be taken for dead.
    Quiet,
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
    /// The number of its list of members.
    pub(crate) config_epoch: u64,
    /// What must be the same on every node.
    pub(crate) digests: Digests,
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
    #[error("it does not know node {0}: list the same [members] on every node")]
    UnknownNode(NodeId),
    /// The caller has the id of the one it calls.
    #[error("two nodes with one id: it is node {0} as well; give one of them another `node`")]
    SameId(NodeId),
    /// The two have lists of members with different numbers.
    #[error(
        "it has config_epoch {own}, and this node {theirs}: nodes talk only with the same list of \
         members; give every node the newest"
    )]
    ConfigEpoch {
        /// That of the node that was called.
        own: u64,
        /// That of the caller.
        theirs: u64,
    },
    /// The two have different members.
    #[error("it has other members than this node: list the same [members] on every node")]
    Members,
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
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    /// The other side is something else altogether.
    #[error("what speaks there is not bellwether: check the address")]
    NotBellwether,
    /// The other side is another release.
    #[error(
        "it speaks version {theirs} of the wire format, this node {} to {}: upgrade one",
        VERSIONS.oldest,
        VERSIONS.newest
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

/// The bytes of an [`Opening`] or a [`Reply`].
pub(crate) fn encode(frame: &impl Serialize) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(frame).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_FRAME { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads an [`Opening`] or a [`Reply`], which must take up all of the bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(FrameError::Malformed),
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
