//! Every frame survives a round trip; everything else is refused.

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use tokio_util::codec::{Decoder, Encoder};

use super::*;
use crate::protocol::bully::Message;
use crate::protocol::{Members, Role, list_ring};
use crate::status::{Counters, Link, MemberReport};

fn id() -> impl Strategy<Value = NodeId> {
    any::<u16>().prop_filter_map("not zero", NodeId::new)
}

fn cluster() -> impl Strategy<Value = ClusterId> {
    "[A-Za-z0-9._-]{1,64}".prop_map(|name| name.parse().expect("a name"))
}

fn hello() -> impl Strategy<Value = Hello> {
    (cluster(), "[a-z]{0,20}", id(), any::<u64>()).prop_map(
        |(cluster, protocol, node, incarnation)| Hello { cluster, protocol, node, incarnation },
    )
}

fn opening() -> impl Strategy<Value = Opening> {
    prop_oneof![hello().prop_map(Opening::Hello), Just(Opening::StatusRequest)]
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        cluster().prop_map(Refusal::Cluster),
        "[a-z]{0,20}".prop_map(Refusal::Protocol),
        id().prop_map(Refusal::UnknownNode),
        id().prop_map(Refusal::SameId),
        (id(), any::<u64>())
            .prop_map(|(node, incarnation)| Refusal::Duplicate { node, incarnation }),
    ]
}

fn member() -> impl Strategy<Value = MemberReport> {
    let link = prop_oneof![Just(Link::Connected), Just(Link::Connecting), Just(Link::Refused)];
    (id(), any::<u16>(), link, proptest::option::of(".{0,50}"), any::<[u64; 3]>()).prop_map(
        |(node, port, link, problem, [sent, received, dropped])| {
            let address = format!("10.0.0.1:{}", port.max(1)).parse().expect("an address");
            MemberReport { node, address, link, problem, sent, received, dropped }
        },
    )
}

fn report() -> impl Strategy<Value = StatusReport> {
    let members = proptest::collection::vec(member(), 0..8);
    (hello(), proptest::option::of(id()), members, any::<[u64; 6]>()).prop_map(
        |(hello, leader, members, [seq, uptime_ms, in_role_ms, refused, bad, ignored])| {
            let Hello { cluster, protocol, node, incarnation } = hello;
            let counters = Counters {
                refused_handshakes: refused,
                bad_frames: bad,
                ignored_messages: ignored,
                dropped_log_lines: ignored,
            };
            let role = if leader == Some(node) { Role::Leader } else { Role::Waiting };
            StatusReport {
                cluster,
                protocol,
                node,
                incarnation,
                role,
                leader,
                seq,
                uptime_ms,
                in_role_ms,
                members,
                counters,
            }
        },
    )
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        hello().prop_map(Reply::Hello),
        refusal().prop_map(Reply::Refused),
        report().prop_map(|report| Reply::Status(Box::new(report))),
    ]
}

proptest! {
    #[test]
    fn first_frames_survive_a_round_trip(opening in opening(), reply in reply()) {
        let bytes = encode_first(&opening).expect("fits");
        prop_assert_eq!(decode_first::<Opening>(&bytes), Ok(opening));
        let bytes = encode_first(&reply).expect("fits");
        prop_assert_eq!(decode_first::<Reply>(&bytes), Ok(reply));
    }

    #[test]
    fn a_truncated_or_lengthened_first_frame_is_refused(
        opening in opening(), cut in any::<prop::sample::Index>(), more in any::<u8>(),
    ) {
        let bytes = encode_first(&opening).expect("fits");
        let cut = cut.index(bytes.len());
        prop_assert!(decode_first::<Opening>(&bytes[..cut]).is_err());
        let longer = [&bytes[..], &[more]].concat();
        prop_assert_eq!(decode_first::<Opening>(&longer), Err(FrameError::Malformed));
    }

    #[test]
    fn garbage_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode_first::<Opening>(&bytes).is_err());
        // Behind a good header it may mean something by chance; it must not panic.
        let behind_header = [&MAGIC[..], &VERSION.to_be_bytes(), &bytes].concat();
        let _ = decode_first::<Opening>(&behind_header);
        let _ = decode_first::<Reply>(&behind_header);
        let frame = decode_frame::<Message>(&bytes);
        prop_assert_eq!(frame.is_ok(), matches!(bytes[..], [1] | [0, 0..3]));
    }

    #[test]
    fn another_version_is_told_apart(opening in opening(), theirs in any::<u16>()) {
        let mut bytes = encode_first(&opening).expect("fits").to_vec();
        bytes[4..6].copy_from_slice(&theirs.to_be_bytes());
        let decoded = decode_first::<Opening>(&bytes);
        prop_assert_eq!(decoded.is_ok(), theirs == VERSION);
        if theirs != VERSION {
            prop_assert_eq!(decoded, Err(FrameError::Version { theirs }));
        }
    }

    #[test]
    fn frames_survive_the_stream_however_it_is_cut(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut stream = BytesMut::new();
        for frame in &frames {
            codec().encode(Bytes::from(frame.clone()), &mut stream).expect("fits");
        }
        let rest = stream.split_off(cut.index(stream.len() + 1));
        let (mut reader, mut read, mut buffer) = (codec(), Vec::new(), BytesMut::new());
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

#[test]
fn every_frame_survives_a_round_trip() {
    let messages = [Message::Election, Message::Ok, Message::Coordinator].map(Frame::Message);
    for frame in messages.into_iter().chain([Frame::Heartbeat]) {
        let bytes = encode_frame(&frame).expect("fits");
        assert_eq!(decode_frame(&bytes), Ok(frame));
        assert_eq!(decode_frame::<Message>(&[]), Err(FrameError::Malformed));
    }
}

#[test]
fn the_longest_list_of_a_ring_fits_into_a_frame() {
    let ids: Vec<_> = (0..32).filter_map(|less| NodeId::new(u16::MAX - less)).collect();
    let list = list_ring::List::new(&ids).expect("as long as may be");
    assert_eq!(ids.len(), list_ring::List::MAX);
    assert!(encode_frame(&Frame::Message(list_ring::Message::Election(list))).is_ok());
}

#[test]
fn oversized_frames_are_refused_before_they_are_read() {
    let announced = u32::try_from(MAX_FRAME + 1).expect("fits").to_be_bytes();
    assert!(codec().decode(&mut BytesMut::from(&announced[..])).is_err());
    assert!(codec().encode(Bytes::from(vec![0; MAX_FRAME + 1]), &mut BytesMut::new()).is_err());
    assert!(decode_frame::<Message>(&[0; MAX_MESSAGE + 1]).is_err());
}

#[test]
fn a_message_that_is_too_long_is_neither_sent_nor_read_though_it_makes_sense() {
    let frame = |length| Frame::Message("x".repeat(length));
    // The kind of the frame is one byte, and the length of such a text two.
    let bytes = postcard::to_stdvec(&frame(MAX_MESSAGE - 3)).expect("a value");
    assert_eq!(bytes.len(), MAX_MESSAGE);
    assert_eq!(decode_frame(&bytes), Ok(frame(MAX_MESSAGE - 3)));
    assert_eq!(encode_frame(&frame(MAX_MESSAGE - 3)), Ok(bytes.into()));
    let bytes = postcard::to_stdvec(&frame(MAX_MESSAGE - 2)).expect("a value");
    assert_eq!(decode_frame::<String>(&bytes), Err(FrameError::Malformed));
    assert_eq!(encode_frame(&frame(MAX_MESSAGE - 2)), Err(FrameError::Malformed));
}

#[test]
fn the_largest_status_report_fits_into_a_frame() {
    let id = |number| NodeId::new(number).expect("not zero");
    let host = "h".repeat(255 - ":65535".len());
    let member = MemberReport {
        node: id(u16::MAX),
        address: format!("{host}:65535").parse().expect("an address"),
        link: Link::Connecting,
        problem: None,
        sent: u64::MAX,
        received: u64::MAX,
        dropped: u64::MAX,
    };
    let problem = Some("p".repeat(crate::transport::peer::LONGEST_PROBLEM));
    let members = vec![MemberReport { problem, ..member }; Members::MAX - 1];
    let report = StatusReport {
        cluster: "c".repeat(64).parse().expect("a name"),
        protocol: "bully".to_owned(),
        node: id(u16::MAX),
        incarnation: u64::MAX,
        role: Role::Leader,
        leader: Some(id(u16::MAX)),
        seq: u64::MAX,
        uptime_ms: u64::MAX,
        in_role_ms: u64::MAX,
        members,
        counters: Counters::default(),
    };
    assert!(encode_first(&Reply::Status(Box::new(report))).is_ok());
}
