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

use super::facts::NodeFacts;
use crate::config::{Digest, Digests, Mode};
use crate::protocol::{ClusterId, LeaseTerms, NodeId};
use crate::report::{GroupsReport, StatusReport};

/// The largest frame that is read or written, in bytes: the status of a node with 254 peers, each
/// with the longest address, the longest problem and the longest error, fits. Nearly all frames are
/// tiny.
pub(crate) const MAX_FRAME: usize = 192 * 1024;

/// The largest frame that is read from a side that is not known yet, in bytes.
pub(crate) const MAX_OPENING: usize = 512;

/// The version of everything in this file. A change of what a frame looks like makes another one,
/// and a node talks only with nodes that speak the same.
pub(crate) const VERSION: u16 = 2;

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
    /// A message of the protocol without a number, as a store has that answers in place of a node.
    Message(M),
    /// "I am up." For the failure detector; no core sees it.
    Heartbeat,
    /// "Answer this." For the [time there and back](super::peer); and "I am here", too.
    Ping(u8),
    /// The answer to the ping with this number, on the connection in the other direction.
    Pong(u8),
    /// "I led when I heard that you do." For the member; no core sees it.
    Rival,
    /// What the node says of itself beside its protocol; no core sees it.
    NodeFacts(NodeFacts),
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

/// The bytes of any frame but a greeting.
pub(crate) fn encode(frame: &impl Serialize) -> Result<Bytes, FrameError> {
    let bytes = postcard::to_stdvec(frame).map_err(|_| FrameError::Malformed)?;
    if bytes.len() > MAX_FRAME { Err(FrameError::Malformed) } else { Ok(bytes.into()) }
}

/// Reads a value, which must take up all of the bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(FrameError::Malformed),
    }
}

/// Reads a later frame.
pub(crate) fn decode_frame<M: DeserializeOwned>(bytes: &[u8]) -> Result<Frame<M>, FrameError> {
    if bytes.len() > MAX_FRAME { Err(FrameError::Malformed) } else { decode(bytes) }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use bytes::BytesMut;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tokio_util::codec::{Decoder, Encoder};

    use super::super::facts::Maintenance;
    use super::super::peer;
    use super::super::tests::nothing_special;
    use super::*;
    use crate::config::{CertificateUse, GroupName};
    use crate::protocol::bully::Message;
    use crate::protocol::quorum::Mark;
    use crate::protocol::{Epoch, Members, Role, list_ring};
    use crate::report::{
        CertificateReport, Counters, GroupReport, LONGEST_FILE, LONGEST_PROBLEM, Link,
        MOST_CERTIFICATES, MemberReport,
    };
    use crate::store;

    /// The highest.
    fn id() -> NodeId {
        NodeId::new(u16::MAX).expect("not zero")
    }

    /// The longest.
    fn cluster() -> ClusterId {
        "c".repeat(64).parse().expect("a name")
    }

    fn leases() -> LeaseTerms {
        LeaseTerms { lease: Duration::MAX, promise: Duration::MAX, drift_ppm: u64::MAX }
    }

    fn hellos() -> [Hello; 2] {
        let hello = Hello {
            cluster: cluster(),
            protocol: "p".repeat(20),
            node: id(),
            incarnation: u64::MAX,
            digests: Digests { settings: [7; 16], detection: [8; 16] },
            members: Some([9; 16]),
            leases: Some(leases()),
            groups: Some([10; 16]),
        };
        [Hello { members: None, leases: None, groups: None, ..hello.clone() }, hello]
    }

    /// The status of a node of the largest cluster, in which all is as long as may be.
    fn largest() -> StatusReport {
        let problem = Some("p".repeat(peer::LONGEST_PROBLEM));
        let host = "h".repeat(255 - ":65535".len());
        let member = MemberReport {
            node: id(),
            address: format!("{host}:65535").parse().expect("an address"),
            observes: true,
            link: Link::Connecting,
            problem: problem.clone(),
            heard: true,
            priority: Some(u8::MAX),
            fit: Some(true),
            error: problem,
            error_ms: Some(u64::MAX),
            sent: u64::MAX,
            received: u64::MAX,
            dropped: u64::MAX,
        };
        let certificate = CertificateReport {
            which: CertificateUse::HttpAuthority,
            file: "\u{1f980}".repeat(LONGEST_FILE),
            number: u32::MAX,
            not_after: SystemTime::UNIX_EPOCH,
            days_left: i64::MIN,
        };
        StatusReport {
            cluster: cluster(),
            protocol: "bully".to_owned(),
            node: id(),
            incarnation: Some(u64::MAX),
            config_epoch: u64::MAX,
            observes: true,
            role: Role::Leader,
            leader: Some(id()),
            epoch: Some(Epoch::new(u64::MAX)),
            lease_ms: Some(u64::MAX),
            margin_ms: Some(u64::MAX),
            reason: Some("r".repeat(64)),
            seq: u64::MAX,
            uptime_ms: u64::MAX,
            in_role_ms: u64::MAX,
            problem: Some("p".repeat(LONGEST_PROBLEM)),
            members: vec![member; Members::MAX - 1],
            counters: Counters { attempts: u64::MAX, ..Counters::default() },
            certificates: vec![certificate; MOST_CERTIFICATES],
            witnesses: vec![id(); Members::MAX - 1],
            awaited: vec![id(); Members::MAX - 1],
            priority: u8::MAX,
            maintenance: true,
            holder: Some("h".repeat(store::LONGEST_NAME)),
        }
    }

    fn replies() -> Vec<Reply> {
        let epoch = Some(Epoch::new(u64::MAX));
        let group =
            GroupReport { name: "g".repeat(64), role: Role::Leader, leader: Some(id()), epoch };
        let groups = |groups| {
            let (cluster, protocol) = (cluster(), "quorum".to_owned());
            Reply::Groups(Box::new(GroupsReport { cluster, protocol, node: id(), groups }))
        };
        let refusals = [
            Refusal::Cluster(cluster()),
            Refusal::Protocol("p".repeat(20)),
            Refusal::UnknownNode(id()),
            Refusal::Members,
            Refusal::SameId(id()),
            Refusal::Certificate(id()),
            Refusal::Duplicate(id()),
            Refusal::Leases(leases()),
            Refusal::Groups,
            Refusal::UnknownGroup("g".repeat(64)),
        ];
        let others = [
            Reply::Status(Box::new(nothing_special())),
            Reply::Status(Box::new(largest())),
            Reply::Is(false),
            Reply::Is(true),
            groups(Vec::new()),
            groups(vec![group; GroupName::MOST]),
        ];
        let hellos = hellos().map(Reply::Hello);
        hellos.into_iter().chain(refusals.map(Reply::Refused)).chain(others).collect()
    }

    #[test]
    fn openings_and_replies_survive_a_round_trip_and_no_cut() {
        for reply in replies() {
            let bytes = encode(&reply).expect("the largest fits");
            assert_eq!(decode::<Reply>(&bytes), Ok(reply));
        }
        let others = [
            Opening::StatusRequest,
            Opening::AreYou { node: id(), incarnation: u64::MAX },
            Opening::GroupStatusRequest("g".repeat(64)),
        ];
        for opening in hellos().map(Opening::Hello).into_iter().chain(others) {
            let bytes = encode(&opening).expect("fits");
            assert!(bytes.len() <= MAX_OPENING);
            assert_eq!(decode::<Opening>(&bytes), Ok(opening));
            for cut in 0..bytes.len() {
                assert!(decode::<Opening>(&bytes[..cut]).is_err(), "{cut} of {bytes:?}");
            }
            let longer = [&bytes[..], &[7]].concat();
            assert_eq!(decode::<Opening>(&longer), Err(FrameError::Malformed));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_without_a_panic(bytes in vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(Greeting::decode(&bytes), Err(FrameError::NotBellwether));
            // Behind a good header it may mean something by chance; it must not panic.
            let header = [&MAGIC[..], &VERSION.to_be_bytes()].concat();
            let behind_header = Greeting::decode(&[&header[..], &bytes].concat());
            let mode = bytes.first().and_then(|&number| Mode::numbered(number));
            prop_assert_eq!(behind_header.is_ok(), bytes.len() == 33 && mode.is_some());
            let _ = decode::<Opening>(&bytes);
            let _ = decode::<Reply>(&bytes);
            let frame = decode_frame::<Message>(&bytes);
            let good = match &bytes[..] {
                [1 | 4] | [0, 0..3] | [2 | 3, _] => true,
                // A standing is a good one if its numbers are.
                [5, standing @ ..] => decode::<NodeFacts>(standing).is_ok(),
                [6, _, _, numbered @ ..] => decode::<(u64, Message)>(numbered).is_ok(),
                _ => false,
            };
            prop_assert_eq!(frame.is_ok(), good);
        }

        #[test]
        fn another_version_is_told_apart(theirs in any::<u16>(), rest in any::<[u8; 32]>()) {
            prop_assume!(theirs != VERSION);
            for length in [0, 1, 32] {
                let bytes = [&MAGIC[..], &theirs.to_be_bytes(), &rest[..length]].concat();
                prop_assert_eq!(Greeting::decode(&bytes), Err(FrameError::Version { theirs }));
            }
        }

        #[test]
        fn frames_survive_the_stream_however_it_is_cut(
            frames in vec(vec(any::<u8>(), 0..200), 1..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut stream = BytesMut::new();
            for frame in &frames {
                codec(MAX_FRAME).encode(Bytes::from(frame.clone()), &mut stream).expect("fits");
            }
            let rest = stream.split_off(cut.index(stream.len() + 1));
            let (mut reader, mut buffer) = (codec(MAX_FRAME), BytesMut::new());
            let mut read = Vec::new();
            for part in [stream, rest] {
                buffer.extend_from_slice(&part);
                while let Some(frame) = reader.decode(&mut buffer).expect("well-formed") {
                    read.push(frame);
                }
            }
            prop_assert!(buffer.is_empty(), "nothing is left over");
            prop_assert_eq!(read, frames);
        }
    }

    /// The next release looks there, too.
    #[test]
    fn a_greeting_begins_with_its_version_and_has_nothing_behind_its_nonce() {
        for mode in [Mode::Plain, Mode::Secret, Mode::Tls] {
            let greeting = Greeting::new(mode);
            let bytes = greeting.encode();
            assert_eq!(bytes[..6], *b"BLWR\0\x02");
            assert_eq!(Greeting::decode(&bytes), Ok(greeting));
            let longer = [&bytes[..], &[0]].concat();
            for wrong in [&longer[..], &bytes[..bytes.len() - 1], &bytes[..6]] {
                assert_eq!(Greeting::decode(wrong), Err(FrameError::Malformed));
            }
        }
    }

    #[test]
    fn the_refusal_of_another_version_names_both_and_the_remedy() {
        let told = "it speaks version 7 of the wire format, and this node version 2: run the same \
                    release on every node";
        assert_eq!(FrameError::Version { theirs: 7 }.to_string(), told);
    }

    #[test]
    fn every_frame_survives_a_round_trip() {
        let messages = [Message::Election, Message::Ok, Message::Coordinator].map(Frame::Message);
        let others = [Frame::Heartbeat, Frame::Rival, Frame::Ping(0), Frame::Pong(u8::MAX)];
        let maintenance = Maintenance::default().decide(true);
        let mark = Mark { turn: 7, ..Mark::FIRST };
        let standing =
            Frame::NodeFacts(NodeFacts { priority: 9, fit: true, maintenance, mark, votes: true });
        let numbered = [(0, 1), (255, 1), (256, 1), (u16::MAX, u64::MAX)].map(|(group, id)| {
            let frame = Frame::numbered(group, id, Message::Election);
            assert_eq!((frame.group(), frame.is_message()), (group, true));
            frame
        });
        let all = messages.into_iter().chain(others).chain(numbered);
        for frame in all.chain([standing]) {
            let bytes = encode(&frame).expect("fits");
            assert_eq!(decode_frame(&bytes), Ok(frame));
            assert_eq!(decode_frame::<Message>(&[]), Err(FrameError::Malformed));
        }
    }

    #[test]
    fn the_longest_list_of_a_ring_fits_into_a_frame() {
        let ids: Vec<_> = (0..32).filter_map(|less| NodeId::new(u16::MAX - less)).collect();
        let list = list_ring::List::new(&ids).expect("as long as may be");
        assert_eq!(ids.len(), list_ring::List::MAX);
        let message = list_ring::Message::Election(list);
        assert!(encode(&Frame::numbered(u16::MAX, u64::MAX, message)).is_ok());
    }

    #[test]
    fn oversized_frames_are_refused_before_they_are_read() {
        let announced = u32::try_from(MAX_FRAME + 1).expect("fits").to_be_bytes();
        assert!(codec(MAX_FRAME).decode(&mut BytesMut::from(&announced[..])).is_err());
        assert!(
            codec(MAX_FRAME)
                .encode(Bytes::from(vec![0; MAX_FRAME + 1]), &mut BytesMut::new())
                .is_err()
        );
        assert!(decode_frame::<Message>(&[0; MAX_FRAME + 1]).is_err());
    }

    #[test]
    fn a_message_that_is_too_long_is_neither_sent_nor_read_though_it_makes_sense() {
        let frame = |length| Frame::Message("x".repeat(length));
        // The kind of the frame is one byte, and the length of such a text three.
        let bytes = postcard::to_stdvec(&frame(MAX_FRAME - 4)).expect("a value");
        assert_eq!(bytes.len(), MAX_FRAME);
        assert_eq!(decode_frame(&bytes), Ok(frame(MAX_FRAME - 4)));
        assert_eq!(encode(&frame(MAX_FRAME - 4)), Ok(bytes.into()));
        let bytes = postcard::to_stdvec(&frame(MAX_FRAME - 3)).expect("a value");
        assert_eq!(decode_frame::<String>(&bytes), Err(FrameError::Malformed));
        assert_eq!(encode(&frame(MAX_FRAME - 3)), Err(FrameError::Malformed));
    }
}
