//! Every frame survives a round trip; everything else is refused.

use crate::protocol::quorum::Mark;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use tokio_util::codec::{Decoder, Encoder};

use super::super::standing::Maintenance;
use super::*;
use crate::config::{CertificateUse, GroupName};
use crate::protocol::bully::Message;
use crate::protocol::{Epoch, Members, Role, list_ring};
use crate::report::{
    CertificateReport, Counters, GroupReport, LONGEST_FILE, LONGEST_PROBLEM, Link,
    MOST_CERTIFICATES, MemberReport,
};

fn id() -> impl Strategy<Value = NodeId> {
    any::<u16>().prop_filter_map("not zero", NodeId::new)
}

fn cluster() -> impl Strategy<Value = ClusterId> {
    "[A-Za-z0-9._-]{1,64}".prop_map(|name| name.parse().expect("a name"))
}

fn hello() -> impl Strategy<Value = Hello> {
    let parts = (cluster(), "[a-z]{0,20}", id(), any::<u64>(), any::<[[u8; 16]; 2]>(), leases());
    parts.prop_map(|(cluster, protocol, node, incarnation, digests, leases)| {
        let [settings, detection] = digests;
        let digests = Digests { settings, detection };
        let groups = Some(settings).filter(|settings| settings[0] % 2 == 0);
        let members = groups;
        Hello { cluster, protocol, node, incarnation, digests, members, leases, groups }
    })
}

fn leases() -> impl Strategy<Value = Option<LeaseTerms>> {
    proptest::option::of(
        any::<(Duration, Duration, u64)>().prop_map(|(lease, promise, drift_ppm)| LeaseTerms {
            lease,
            promise,
            drift_ppm,
        }),
    )
}

fn opening() -> impl Strategy<Value = Opening> {
    prop_oneof![
        hello().prop_map(Opening::Hello),
        Just(Opening::StatusRequest),
        (id(), any::<u64>()).prop_map(|(node, incarnation)| Opening::AreYou { node, incarnation }),
        "[a-z]{1,64}".prop_map(Opening::GroupStatusRequest),
    ]
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        cluster().prop_map(Refusal::Cluster),
        "[a-z]{0,20}".prop_map(Refusal::Protocol),
        id().prop_map(Refusal::UnknownNode),
        id().prop_map(Refusal::SameId),
        id().prop_map(Refusal::Certificate),
        id().prop_map(Refusal::Duplicate),
        leases().prop_filter_map("some", |leases| leases.map(Refusal::Leases)),
        Just(Refusal::Groups),
        "[a-z]{1,64}".prop_map(Refusal::UnknownGroup),
    ]
}

fn member() -> impl Strategy<Value = MemberReport> {
    let link = prop_oneof![Just(Link::Connected), Just(Link::Connecting), Just(Link::Refused)];
    (id(), any::<u16>(), link, proptest::option::of(".{0,50}"), any::<[u64; 3]>()).prop_map(
        |(node, port, link, problem, [sent, received, dropped])| {
            let address = format!("10.0.0.1:{}", port.max(1)).parse().expect("an address");
            let observes = sent % 2 == 0;
            let (heard, error) = (received % 2 == 0, problem.clone());
            let error_ms = error.as_ref().map(|_| dropped);
            MemberReport {
                node,
                address,
                observes,
                link,
                problem,
                heard,
                priority: heard.then_some(7),
                fit: heard.then_some(observes),
                error,
                error_ms,
                sent,
                received,
                dropped,
            }
        },
    )
}

fn certificate() -> impl Strategy<Value = CertificateReport> {
    let which = prop_oneof![Just(CertificateUse::Node), Just(CertificateUse::HttpAuthority)];
    (which, ".{0,50}", any::<u32>(), any::<i64>()).prop_map(|(which, file, number, days_left)| {
        let not_after = SystemTime::UNIX_EPOCH + Duration::from_secs(number.into());
        CertificateReport { which, file, number, not_after, days_left }
    })
}

fn report() -> impl Strategy<Value = StatusReport> {
    let members = proptest::collection::vec(member(), 0..8);
    let lists = (members, proptest::collection::vec(certificate(), 0..4));
    (hello(), proptest::option::of(id()), lists, any::<[u64; 6]>()).prop_map(
        |(hello, leader, lists, [seq, uptime_ms, in_role_ms, refused, bad, ignored])| {
            let (members, certificates) = lists;
            let Hello { cluster, protocol, node, incarnation, .. } = hello;
            let counters = Counters {
                attempts: seq,
                refused_handshakes: refused,
                bad_frames: bad,
                ignored_messages: ignored,
                rivals: bad,
                dropped_log_lines: ignored,
                late_renewals: bad,
            };
            let role = if leader == Some(node) { Role::Leader } else { Role::Waiting };
            StatusReport {
                cluster,
                protocol,
                node,
                incarnation: Some(incarnation).filter(|&number| number % 2 == 0),
                config_epoch: seq,
                observes: role == Role::Waiting,
                role,
                leader,
                epoch: leader.map(|_| Epoch::new(refused)),
                lease_ms: leader.map(|_| bad),
                margin_ms: leader.map(|_| refused),
                reason: leader.map(|_| "claimed".to_owned()),
                seq,
                uptime_ms,
                in_role_ms,
                problem: leader.map(|leader| format!("{leader} is wrong")),
                members,
                counters,
                certificates,
                witnesses: vec![node; usize::from(bad % 2 == 0)],
                awaited: vec![node; usize::from(bad % 3 == 0)],
                priority: seq.to_le_bytes()[0],
                maintenance: seq % 2 == 0,
            }
        },
    )
}

fn groups() -> impl Strategy<Value = GroupsReport> {
    let group = ("[a-z]{1,64}", proptest::option::of(id()), any::<u64>()).prop_map(
        |(name, leader, number)| {
            let epoch = leader.map(|_| Epoch::new(number));
            GroupReport { name, role: Role::Follower, leader, epoch }
        },
    );
    (cluster(), id(), proptest::collection::vec(group, 0..8)).prop_map(|(cluster, node, groups)| {
        GroupsReport { cluster, protocol: "quorum".to_owned(), node, groups }
    })
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        hello().prop_map(Reply::Hello),
        refusal().prop_map(Reply::Refused),
        report().prop_map(|report| Reply::Status(Box::new(report))),
        any::<bool>().prop_map(Reply::Is),
        groups().prop_map(|report| Reply::Groups(Box::new(report))),
    ]
}

proptest! {
    #[test]
    fn openings_and_replies_survive_a_round_trip(opening in opening(), reply in reply()) {
        let bytes = encode(&opening).expect("fits");
        prop_assert!(bytes.len() <= MAX_OPENING);
        prop_assert_eq!(decode::<Opening>(&bytes), Ok(opening));
        let bytes = encode(&reply).expect("fits");
        prop_assert_eq!(decode::<Reply>(&bytes), Ok(reply));
    }

    #[test]
    fn a_truncated_or_lengthened_opening_is_refused(
        opening in opening(), cut in any::<prop::sample::Index>(), more in any::<u8>(),
    ) {
        let bytes = encode(&opening).expect("fits");
        let cut = cut.index(bytes.len());
        prop_assert!(decode::<Opening>(&bytes[..cut]).is_err());
        let longer = [&bytes[..], &[more]].concat();
        prop_assert_eq!(decode::<Opening>(&longer), Err(FrameError::Malformed));
    }

    #[test]
    fn garbage_is_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
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
            [5, standing @ ..] => decode::<Standing>(standing).is_ok(),
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
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut stream = BytesMut::new();
        for frame in &frames {
            codec(MAX_FRAME).encode(Bytes::from(frame.clone()), &mut stream).expect("fits");
        }
        let rest = stream.split_off(cut.index(stream.len() + 1));
        let (mut reader, mut read, mut buffer) = (codec(MAX_FRAME), Vec::new(), BytesMut::new());
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
        assert_eq!(bytes[..6], *b"BLWR\0\x01");
        assert_eq!(Greeting::decode(&bytes), Ok(greeting));
        let longer = [&bytes[..], &[0]].concat();
        for wrong in [&longer[..], &bytes[..bytes.len() - 1], &bytes[..6]] {
            assert_eq!(Greeting::decode(wrong), Err(FrameError::Malformed));
        }
    }
}

#[test]
fn the_refusal_of_another_version_names_both_and_the_remedy() {
    let told = FrameError::Version { theirs: 7 }.to_string();
    for part in ["version 7", "this node version 1", "run the same release on every node"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn every_frame_survives_a_round_trip() {
    let messages = [Message::Election, Message::Ok, Message::Coordinator].map(Frame::Message);
    let others = [Frame::Heartbeat, Frame::Rival, Frame::Ping(0), Frame::Pong(u8::MAX)];
    let maintenance = Maintenance::default().decide(true);
    let mark = Mark { turn: 7, ..Mark::FIRST };
    let standing =
        Frame::Standing(Standing { priority: 9, fit: true, maintenance, mark, votes: true });
    let numbered = [(0, 1), (255, 1), (256, 1), (u16::MAX, u64::MAX)].map(|(group, id)| {
        let frame = Frame::numbered(group, id, Message::Election);
        assert_eq!((frame.group(), frame.is_message()), (group, true));
        frame
    });
    let all = messages.into_iter().chain(others).chain(numbered);
    for frame in all.chain([standing]) {
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
    let message = list_ring::Message::Election(list);
    assert!(encode_frame(&Frame::numbered(u16::MAX, u64::MAX, message)).is_ok());
}

#[test]
fn oversized_frames_are_refused_before_they_are_read() {
    let announced = u32::try_from(MAX_FRAME + 1).expect("fits").to_be_bytes();
    assert!(codec(MAX_FRAME).decode(&mut BytesMut::from(&announced[..])).is_err());
    assert!(
        codec(MAX_FRAME).encode(Bytes::from(vec![0; MAX_FRAME + 1]), &mut BytesMut::new()).is_err()
    );
    assert!(decode_frame::<Message>(&[0; MAX_MESSAGE + 1]).is_err());
}

#[test]
fn a_message_that_is_too_long_is_neither_sent_nor_read_though_it_makes_sense() {
    let frame = |length| Frame::Message("x".repeat(length));
    // The kind of the frame is one byte, and the length of such a text three.
    let bytes = postcard::to_stdvec(&frame(MAX_MESSAGE - 4)).expect("a value");
    assert_eq!(bytes.len(), MAX_MESSAGE);
    assert_eq!(decode_frame(&bytes), Ok(frame(MAX_MESSAGE - 4)));
    assert_eq!(encode_frame(&frame(MAX_MESSAGE - 4)), Ok(bytes.into()));
    let bytes = postcard::to_stdvec(&frame(MAX_MESSAGE - 3)).expect("a value");
    assert_eq!(decode_frame::<String>(&bytes), Err(FrameError::Malformed));
    assert_eq!(encode_frame(&frame(MAX_MESSAGE - 3)), Err(FrameError::Malformed));
}

#[test]
fn the_largest_report_of_groups_fits_into_a_frame() {
    let node = NodeId::new(u16::MAX).expect("not zero");
    let group = GroupReport {
        name: "g".repeat(64),
        role: Role::Leader,
        leader: Some(node),
        epoch: Some(Epoch::new(u64::MAX)),
    };
    let cluster = "c".repeat(64).parse().expect("a name");
    let groups = vec![group; GroupName::MOST];
    let report = GroupsReport { cluster, protocol: "quorum".to_owned(), node, groups };
    assert!(encode(&Reply::Groups(Box::new(report))).is_ok());
}

#[test]
fn the_largest_status_report_fits_into_a_frame() {
    let id = |number| NodeId::new(number).expect("not zero");
    let host = "h".repeat(255 - ":65535".len());
    let member = MemberReport {
        node: id(u16::MAX),
        address: format!("{host}:65535").parse().expect("an address"),
        observes: true,
        link: Link::Connecting,
        problem: None,
        heard: true,
        priority: Some(u8::MAX),
        fit: Some(true),
        error: None,
        error_ms: Some(u64::MAX),
        sent: u64::MAX,
        received: u64::MAX,
        dropped: u64::MAX,
    };
    let problem = Some("p".repeat(crate::transport::peer::LONGEST_PROBLEM));
    let error = problem.clone();
    let members = vec![MemberReport { problem, error, ..member }; Members::MAX - 1];
    let certificate = CertificateReport {
        which: CertificateUse::HttpAuthority,
        file: "\u{1f980}".repeat(LONGEST_FILE),
        number: u32::MAX,
        not_after: SystemTime::UNIX_EPOCH,
        days_left: i64::MIN,
    };
    let report = StatusReport {
        cluster: "c".repeat(64).parse().expect("a name"),
        protocol: "bully".to_owned(),
        node: id(u16::MAX),
        incarnation: Some(u64::MAX),
        config_epoch: u64::MAX,
        observes: true,
        role: Role::Leader,
        leader: Some(id(u16::MAX)),
        epoch: Some(Epoch::new(u64::MAX)),
        lease_ms: Some(u64::MAX),
        margin_ms: Some(u64::MAX),
        reason: Some("r".repeat(64)),
        seq: u64::MAX,
        uptime_ms: u64::MAX,
        in_role_ms: u64::MAX,
        problem: Some("p".repeat(LONGEST_PROBLEM)),
        members,
        counters: Counters { attempts: u64::MAX, ..Counters::default() },
        certificates: vec![certificate; MOST_CERTIFICATES],
        witnesses: vec![id(u16::MAX); Members::MAX - 1],
        awaited: vec![id(u16::MAX); Members::MAX - 1],
        priority: u8::MAX,
        maintenance: true,
    };
    assert!(encode(&Reply::Status(Box::new(report))).is_ok());
}
