//! What travels on a connection, and how it is read from bytes that any process may have sent.
//!
//! A connection is a sequence of frames, each a length (four bytes, big endian) and that many
//! bytes. The first one in each direction is a [`Greeting`]: a magic number, and the newest and the
//! oldest version that the side speaks. They will never move, so that any two versions can tell
//! each other apart. Both talk the newest version that both know: what is sent, and what is read,
//! is of that one. The rest, and every later frame, is
//! [postcard](https://postcard.jamesmunns.com/wire-format).
//!
//! After the greetings the side that has called sends an [`Opening`] and gets one [`Reply`]. After
//! a pair of `Hello`s the caller sends [`Frame`]s and the other side is silent; after any other
//! reply both hang up. Where the nodes share a secret, the side that was called sends the first
//! frame after the greetings and the caller the second, so that each proves itself, and every frame
//! after these is [sealed](super::seal).

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_util::codec::LengthDelimitedCodec;

use super::lists::KnownList;
use super::standing::Standing;
use crate::config::{Digest, Digests, Mode};
use crate::protocol::{ClusterId, LeaseTerms, NodeId};
use crate::report::{GroupsReport, StatusReport};

/// The largest frame that is read or written, in bytes: the status of a node with 254 peers, each
/// with the longest address, the longest problem and the longest error, fits.
pub(crate) const MAX_FRAME: usize = 192 * 1024;

/// The largest frame after the first, in bytes: they are all tiny.
pub(crate) const MAX_MESSAGE: usize = 256;

/// The largest frame that is read from a side that is not known yet, in bytes.
pub(crate) const MAX_OPENING: usize = 512;

/// The versions of everything in this file that this release speaks. A change of what a frame
/// looks like adds a version, and keeps the one before it: nodes are upgraded one after another.
/// Version 5 is the first that says the config epoch, and understands none before it. Version 6
/// says how long leases last. Version 7 encrypts with a secret; without, it is version 6. Version 8
/// has [pings](Frame::Ping) and tells [rivals](Frame::Rival). Version 9 tells the [standing of a
/// node](Frame::Standing) and its [lists of members](Opening::ListRequest), has groups, and has
/// another status. Version 10 [numbers](Frame::Numbered) the messages.
pub(crate) const VERSIONS: Versions = Versions { newest: 10, oldest: 5 };

/// The first version in which a [`Hello`] has `leases`.
const LEASES: u16 = 6;

/// The first version that is spoken with a secret: those before it had another handshake then.
pub(crate) const NOISE: u16 = 7;

/// The first version with the status of this release: it has grown in the middle, and one before it
/// is not understood.
pub(crate) const STATUS: u16 = 9;

/// The first version in which there are pings: a side that speaks one before is sent none.
pub(crate) const PINGS: u16 = 8;

/// The first version in which rivals are told: a side that speaks one before is not.
pub(crate) const RIVALS: u16 = 8;

/// The first version in which a [`Hello`] has `groups`. Nodes with groups talk only with nodes that
/// have the same, so a side that speaks one before is sent no message of a further group.
pub(crate) const GROUPS: u16 = 9;
/// The first version in which nodes tell their standing: a side that speaks one before is not told.
pub(crate) const STANDINGS: u16 = 9;

/// The first version in which messages have numbers: a side that speaks one before is sent none.
pub(crate) const NUMBERS: u16 = 10;

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

    /// Reads a greeting of a side with which this one has a version in common, and which that is. A
    /// later version may say more in it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, u16), FrameError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        if *magic != MAGIC {
            return Err(FrameError::NotBellwether);
        }
        let (newest, rest) = rest.split_first_chunk().ok_or(FrameError::NotBellwether)?;
        let newest = u16::from_be_bytes(*newest);
        // Versions before 4 have something else here, and need not be asked.
        let (oldest, rest) = rest.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let versions = Versions { newest, oldest: u16::from_be_bytes(*oldest) };
        let version = VERSIONS.common(versions).ok_or(FrameError::Version { theirs: newest })?;
        let (mode, rest) = rest.split_first().ok_or(FrameError::Malformed)?;
        let mode = Mode::numbered(*mode).ok_or(FrameError::Malformed)?;
        let (nonce, _) = rest.split_first_chunk().ok_or(FrameError::Malformed)?;
        Ok((Self { versions, mode, nonce: *nonce }, version))
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
    /// "Which is your list of members with this number?"
    ListRequest(u64),
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
    /// The list that was asked for, if the node has it.
    List(Option<Box<KnownList>>),
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
    /// "Answer this." For the [time there and back](super::round_trip); and "I am here", too.
    Ping(u8),
    /// The answer to the ping with this number, on the connection in the other direction.
    Pong(u8),
    /// "I led when I heard that you do." For the member; no core sees it.
    Rival,
    /// What the node says of itself beside its protocol; no core sees it.
    Standing(Standing),
    /// A message of the protocol, for the group with this number, big endian. That of the first
    /// group, 0, is a [`Frame::Message`]: a node without groups has no other.
    Grouped([u8; 2], M),
    /// A message of the protocol, for the group with this number, big endian, and with a number of
    /// its own: no two messages of a group and a run of the node have the same. For the
    /// [trace](crate::trace) of the node that gets it; no core sees the number.
    Numbered([u8; 2], u64, M),
}

impl<M> Frame<M> {
    /// A message for the group with this number.
    pub(crate) fn message(group: u16, message: M) -> Self {
        match group {
            0 => Self::Message(message),
            group => Self::Grouped(group.to_be_bytes(), message),
        }
    }

    /// The message with the number `id`, for the group with this number.
    pub(crate) fn numbered(group: u16, id: u64, message: M) -> Self {
        Self::Numbered(group.to_be_bytes(), id, message)
    }

    /// The same, without what this version does not say.
    pub(crate) fn said_in(self, version: u16) -> Self {
        match self {
            Self::Numbered(group, _, message) if version < NUMBERS => {
                Self::message(u16::from_be_bytes(group), message)
            }
            frame => frame,
        }
    }

    /// Whether it is a message of the protocol.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self, Self::Message(_) | Self::Grouped(..) | Self::Numbered(..))
    }

    /// The number of the group that it is for.
    pub(crate) fn group(&self) -> u16 {
        match self {
            Self::Grouped(group, _) | Self::Numbered(group, ..) => u16::from_be_bytes(*group),
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
    /// The number of its list of members.
    pub(crate) config_epoch: u64,
    /// What must be the same on every node.
    pub(crate) digests: Digests,
    /// How long its leases and promises last; none if it has none, or did not say so. Version 5
    /// ends before it.
    pub(crate) leases: Option<LeaseTerms>,
    /// A digest of the names of its groups; none if it has none. The last field: version 8 ends
    /// before it.
    pub(crate) groups: Option<Digest>,
}

impl Hello {
    /// Whether no lease of either node can outlast a promise of the other. One that does not say
    /// how long its leases are must have the same settings.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        match (self.leases, other.leases) {
            (Some(own), Some(theirs)) => own.fit(&theirs),
            (None, None) => true,
            _ => self.digests.settings == other.digests.settings,
        }
    }

    /// The same, without what this version does not say.
    fn said_in(&self, version: u16) -> Self {
        let leases = self.leases.filter(|_| version >= LEASES);
        let groups = self.groups.filter(|_| version >= GROUPS);
        Self { leases, groups, ..self.clone() }
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
    /// The bytes of it in this version.
    pub(crate) fn encode(&self, version: u16) -> Result<Bytes, FrameError> {
        match self {
            Self::Hello(hello) => Ok(cut(&encode(&Self::Hello(hello.said_in(version)))?, version)),
            _ => encode(self),
        }
    }

    /// Reads one in this version.
    pub(crate) fn decode(bytes: &[u8], version: u16) -> Result<Self, FrameError> {
        decode(&completed(bytes, version))
    }
}

impl Reply {
    /// The bytes of it in this version. Version 5 has no words for leases that do not fit, and none
    /// before 9 for groups, and for a status that it does not understand: each is told in those
    /// that it has for another protocol.
    pub(crate) fn encode(&self, version: u16) -> Result<Bytes, FrameError> {
        match self {
            Self::Hello(hello) => Ok(cut(&encode(&Self::Hello(hello.said_in(version)))?, version)),
            Self::Refused(Refusal::Leases(own)) if version < LEASES => {
                encode(&Self::Refused(Refusal::Protocol(format!("another: with {own}"))))
            }
            Self::Refused(Refusal::Groups | Refusal::UnknownGroup(_)) | Self::Groups(_)
                if version < GROUPS =>
            {
                let groups = "another: with groups; upgrade this side".to_owned();
                encode(&Self::Refused(Refusal::Protocol(groups)))
            }
            Self::Status(_) if version < STATUS => {
                let release = "another: ask with its own release".to_owned();
                encode(&Self::Refused(Refusal::Protocol(release)))
            }
            _ => encode(self),
        }
    }

    /// Reads one in this version.
    pub(crate) fn decode(bytes: &[u8], version: u16) -> Result<Self, FrameError> {
        decode(&completed(bytes, version))
    }
}

/// How many of the last bytes of a `Hello` are not there in this version. Each says that it lacks
/// one of the last fields: `leases` and `groups`.
fn missing(version: u16) -> usize {
    usize::from(version < LEASES) + usize::from(version < GROUPS)
}

/// A `Hello` without the bytes that are not there in this version.
fn cut(frame: &Bytes, version: u16) -> Bytes {
    frame.slice(..frame.len() - missing(version))
}

/// What was [`cut`], as a whole again. `Hello` is the first kind of opening and of reply.
fn completed(bytes: &[u8], version: u16) -> Cow<'_, [u8]> {
    match (bytes, missing(version)) {
        ([0, ..], missing @ 1..) => [bytes, &[0; 2][..missing]].concat().into(),
        _ => bytes.into(),
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
