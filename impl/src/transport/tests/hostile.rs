//! Frames that were altered at random: the decoder and the handshake neither panic nor hang, and
//! nothing grows.
//!
//! `BELLWETHER_TEST_FRAMES=1000000 cargo test -p bellwether hostile` tries a million; without it
//! are a few thousand, and a hundredth of that for whole connections.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng, SeedableRng};

use super::*;
use crate::config::Mode;

fn count() -> usize {
    let asked = std::env::var("BELLWETHER_TEST_FRAMES").ok();
    asked.map_or(20_000, |text| text.parse().expect("a number"))
}

/// Good frames of every kind, with their lengths, as they follow each other.
fn good() -> Vec<Vec<u8>> {
    let greetings =
        [Mode::Plain, Mode::Secret, Mode::Tls].map(|mode| frame::Greeting::new(mode).encode());
    let openings = [
        Opening::Hello(hello(2)),
        Opening::StatusRequest,
        Opening::AreYou { node: id(1), incarnation: 7 },
    ]
    .map(|opening| frame::encode(&opening).expect("fits"));
    let frames = [Frame::Message(Message::Coordinator), Frame::Heartbeat, Frame::Quiet]
        .map(|frame| frame::encode_frame(&frame).expect("fits"));
    let framed = |bytes: &Bytes| {
        let length = u32::try_from(bytes.len()).expect("short").to_be_bytes();
        [&length[..], bytes].concat()
    };
    greetings.iter().chain(&openings).chain(&frames).map(framed).collect()
}

/// One to four bytes are changed, dropped, doubled or put in.
fn mutate(bytes: &mut Vec<u8>, random: &mut StdRng) {
    for _ in 0..random.random_range(1..=4) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..4) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 => bytes.insert(at, random.random()),
            _ => bytes.truncate(at),
        }
    }
}

#[test]
fn hostile_frames_are_decoded_without_a_panic_to_values_that_are_no_larger() {
    let (good, mut random) = (good(), StdRng::seed_from_u64(12));
    for _ in 0..count() {
        let mut bytes = good.choose(&mut random).expect("some")[4..].to_vec();
        mutate(&mut bytes, &mut random);
        let _ = frame::Greeting::decode(&bytes);
        let _ = frame::decode::<Reply>(&bytes);
        if let Ok(opening) = frame::decode::<Opening>(&bytes) {
            assert!(frame::encode(&opening).expect("fits").len() <= bytes.len());
        }
        if let Ok(frame) = frame::decode_frame::<Message>(&bytes) {
            assert!(frame::encode_frame(&frame).expect("fits").len() <= bytes.len());
        }
    }
}

#[tokio::test]
async fn hostile_connections_end_and_leave_nothing_behind() {
    let (good, mut random) = (good(), StdRng::seed_from_u64(34));
    let (listener, address) = bind().await;
    let context = with_limits(address, SHORT);
    let (inbox, mut arrivals) = mpsc::channel(1024);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    for _ in 0..(count() / 100).max(1) {
        let greeting = frame::Greeting::new(Mode::Plain).encode();
        let mut said = [&[0, 0, 0, 41], &greeting[..]].concat();
        for _ in 0..random.random_range(1..4) {
            said.extend_from_slice(good.choose(&mut random).expect("some"));
        }
        mutate(&mut said, &mut random);
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let _ = stream.write_all(&said).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let end = timeout(LIMIT, stream.read_to_end(&mut answer)).await;
        assert!(end.is_ok(), "it hangs after {said:?}");
        assert!(answer.len() < 1024, "{}", answer.len());
        while arrivals.try_recv().is_ok() {}
    }
    // It still knows a good one.
    assert!(matches!(call(address, hello(2)).await.1, Reply::Hello(_)));
}
