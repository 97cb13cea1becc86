//! What travels on a connection, and how it is read from bytes that any process may have sent.
//!
//! A connection is a sequence of frames, each a length (four bytes, big endian, at most
//! [`MAX_FRAME`]) and that many bytes. The first frame in each direction opens with a magic number
//! and a version that will never move, so that any two versions can tell each other apart; the
//! rest of it, and every later frame, is [postcard](https://postcard.jamesmunns.com/wire-format).
//!
//! The side that calls sends an [`Opening`] and gets one [`Reply`]. After a pair of `Hello`s the
//! caller sends [`Frame`]s and the other side is silent; after a status report both hang up.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::codec::LengthDelimitedCodec;

use crate::config::ClusterId;
use crate::protocol::NodeId;
use crate::status::StatusReport;

/// The largest frame that is read or written, in bytes: the status of a node with 254 peers, each
/// with the longest address and the longest problem, fits.
pub(crate) const MAX_FRAME: usize = 128 * 1024;

/// The largest frame after the first, in bytes: they are all tiny.
pub(crate) const MAX_MESSAGE: usize = 256;

/// The version of everything in this file. Two nodes talk only if theirs are the same.
pub(crate) const VERSION: u16 = 3;

const MAGIC: [u8; 4] = *b"BLWR";
const HEADER: usize = MAGIC.len() + 2;

/// The first frame of the side that calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Opening {
    /// "I am a node, and messages follow."
    Hello(Hello),
    /// "Tell me how you are."
    StatusRequest,
}

/// The first frame of the side that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// "So am I. Go on."
    Hello(Hello),
    /// "Not with you", and why.
    Refused(Refusal),
    /// The answer to a status request.
    Status(Box<StatusReport>),
}

/// Every later frame of the side that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Frame<M> {
    /// A message of the protocol.
    Message(M),
    /// "I am up." For the failure detector; no core sees it.
    Heartbeat,
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
    /// Which run of the node this is: different after every start.
    pub(crate) incarnation: u64,
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
    /// Another process with the caller's id is connected.
    #[error(
        "two nodes with one id: another process runs as node {node} (incarnation {incarnation}); \
         stop one of them, or give it another `node`"
    )]
    Duplicate {
        /// The id that both have.
        node: NodeId,
        /// The run that is connected.
        incarnation: u64,
    },
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    /// The other side is something else altogether.
    #[error("what speaks there is not bellwether: check the address")]
    NotBellwether,
    /// The other side is another release.
    #[error(
        "it speaks version {theirs} of the wire format, this node version {VERSION}: upgrade one"
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
pub(crate) fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME).new_codec()
}

/// The bytes of a first frame.
pub(crate) fn encode_first(frame: &impl Serialize) -> Result<Bytes, FrameError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_be_bytes());
    let bytes = postcard::to_extend(frame, bytes).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_FRAME { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads a first frame: an [`Opening`] or a [`Reply`].
pub(crate) fn decode_first<F: DeserializeOwned>(bytes: &[u8]) -> Result<F, FrameError> {
    let (header, body) = bytes.split_at_checked(HEADER).ok_or(FrameError::NotBellwether)?;
    let (magic, version) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(FrameError::NotBellwether);
    }
    let theirs = version.iter().fold(0, |number, &byte| number << 8 | u16::from(byte));
    if theirs != VERSION {
        return Err(FrameError::Version { theirs });
    }
    decode_whole(body)
}

/// The bytes of a later frame.
pub(crate) fn encode_frame(frame: &Frame<impl Serialize>) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(frame).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_MESSAGE { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads a later frame.
pub(crate) fn decode_frame<M: DeserializeOwned>(bytes: &[u8]) -> Result<Frame<M>, FrameError> {
    if bytes.len() > MAX_MESSAGE { Err(FrameError::Malformed) } else { decode_whole(bytes) }
}

/// Reads a value that must take up all of the bytes.
fn decode_whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(FrameError::Malformed),
    }
}

#[cfg(test)]
mod tests;
