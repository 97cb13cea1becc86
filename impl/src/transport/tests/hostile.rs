//! Frames and connections that were altered at random: the decoder and the handshake neither panic
//! nor hang, and nothing grows.
//!
//! `BELLWETHER_TEST_FRAMES=1000000 cargo test -p bellwether --lib hostile` tries a million frames;
//! without it are a few thousand. Of whole connections in each mode there are a hundredth of that,
//! or `BELLWETHER_TEST_HANDSHAKES`.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng, SeedableRng};

use super::super::facts::NodeFacts;
use super::super::frame::Greeting;
use super::*;
use crate::protocol::quorum::{Lists, Message as Vote};
use crate::protocol::{Birth, Epoch, Members};

fn asked_for(variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

fn count() -> usize {
    asked_for("BELLWETHER_TEST_FRAMES").unwrap_or(20_000)
}

fn handshakes() -> usize {
    asked_for("BELLWETHER_TEST_HANDSHAKES").unwrap_or((count() / 100).max(1))
}

/// By how much this process may grow: other tests may run in it.
const GROWTH: usize = 64 << 20;

/// The memory of this process that is resident, in bytes.
fn resident() -> usize {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.expect("Linux says it in kB") << 10
}

/// How much there was when a tenth was done, and is at the end.
#[derive(Default)]
struct Memory(Option<usize>);

impl Memory {
    fn look(&mut self, done: usize, of: usize) {
        if done >= of / 10 {
            self.0.get_or_insert_with(resident);
        }
    }

    fn has_not_grown(&self) {
        let (before, after) = (self.0.expect("it has looked"), resident());
        println!("{} MiB resident after a tenth, {} MiB at the end", before >> 20, after >> 20);
        assert!(after <= before + GROWTH, "from {before} to {after} bytes");
    }
}

/// Every kind of message of the quorum bully.
fn votes() -> Vec<Vote> {
    let epoch = Epoch::new(300);
    let mark = Mark { epoch, turn: 2 };
    let members = Members::new([1, 2].map(id)).expect("two");
    let places = [(id(1), "10.0.0.1:7000".to_owned())];
    let lists = Lists::first(members.with_addresses(places.into()));
    let all = [Vote::Support, Vote::Outrank, Vote::Entrust, Vote::Invite];
    let rest = [
        Vote::Canvass(epoch, mark),
        Vote::Claim(epoch, mark, Birth::random(9)),
        Vote::Grant(epoch, Birth::random(9)),
        Vote::Meet(Birth::random(9), Some(Birth::FOUNDER), mark),
        Vote::Challenge(epoch, mark),
        Vote::Coordinator(epoch, 7, mark),
        Vote::Ack(epoch, u64::MAX, mark),
        Vote::Lists(Arc::new(lists)),
        Vote::Refuse(epoch, Some(id(2))),
        Vote::Yield(epoch, None),
    ];
    all.into_iter().map(|vote| vote(epoch)).chain(rest).collect()
}

/// Good frames of every kind, with their lengths, as they follow each other.
fn good() -> Vec<Vec<u8>> {
    let greetings = [Mode::Plain, Mode::Secret, Mode::Tls].map(|mode| Greeting::new(mode).encode());
    let openings = [
        Opening::Hello(hello(2)),
        Opening::StatusRequest,
        Opening::AreYou { node: id(1), incarnation: 7 },
    ]
    .map(|opening| encode(&opening).expect("fits"));
    let frames = [
        Frame::Message(Message::Coordinator),
        Frame::numbered(0, 300, Message::Ok),
        Frame::Heartbeat,
        Frame::Ping(7),
        Frame::Pong(7),
        Frame::Rival,
        Frame::NodeFacts(NodeFacts { priority: 200, fit: true, ..NodeFacts::default() }),
    ]
    .map(|frame| encode(&frame).expect("fits"));
    let votes = votes().into_iter().map(|vote| encode(&Frame::Message(vote)).expect("fits"));
    let framed = |bytes: Bytes| {
        let length = u32::try_from(bytes.len()).expect("short").to_be_bytes();
        [&length[..], &bytes].concat()
    };
    greetings.into_iter().chain(openings).chain(frames).chain(votes).map(framed).collect()
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
    let mut memory = Memory::default();
    for done in 0..count() {
        memory.look(done, count());
        let mut bytes = good.choose(&mut random).expect("some")[4..].to_vec();
        mutate(&mut bytes, &mut random);
        let _ = Greeting::decode(&bytes);
        let _ = frame::decode::<Reply>(&bytes);
        let again = [
            frame::decode::<Opening>(&bytes).map(|opening| encode(&opening)),
            frame::decode_frame::<Message>(&bytes).map(|frame| encode(&frame)),
            frame::decode_frame::<Vote>(&bytes).map(|frame| encode(&frame)),
        ];
        for encoded in again.into_iter().flatten() {
            assert!(encoded.expect("fits").len() <= bytes.len());
        }
    }
    memory.has_not_grown();
}

#[tokio::test]
async fn hostile_connections_end_and_leave_nothing_behind() {
    let (good, mut random) = (good(), StdRng::seed_from_u64(34));
    let mut node = Node::listening(with_limits(NOWHERE, SHORT)).await;
    let mut memory = Memory::default();
    for done in 0..handshakes() {
        memory.look(done, handshakes());
        let greeting = Greeting::new(Mode::Plain).encode();
        let mut said = [&[0, 0, 0, 39], &greeting[..]].concat();
        for _ in 0..random.random_range(1..4) {
            said.extend_from_slice(good.choose(&mut random).expect("some"));
        }
        mutate(&mut said, &mut random);
        let mut stream = TcpStream::connect(node.address).await.expect("it listens");
        let _ = stream.write_all(&said).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let end = timeout(LIMIT, stream.read_to_end(&mut answer)).await;
        assert!(end.is_ok(), "it hangs after {said:?}");
        assert!(answer.len() < 1024, "{}", answer.len());
        while !node.has_heard_nothing_more() {}
    }
    memory.has_not_grown();
    // It still knows a good one.
    speak(node.address, 2).await;
}

/// What becomes of the byte at a place of one direction of a connection.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flipped(u8),
    Doubled,
    Lost,
    /// It and all that comes after it is lost, and the connection ends.
    Cut,
}

/// Passes on one direction, with a byte that is damaged. True if it came so far.
async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    damage: Option<(usize, Damage)>,
) -> bool {
    let (mut passed, mut done) = (0, false);
    let mut piece = [0; 4_096];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let mut bytes = piece[..length].to_vec();
        let here = damage.filter(|(at, _)| (passed..passed + length).contains(at));
        passed += length;
        let mut ends = false;
        if let Some((at, damage)) = here {
            let at = at - (passed - length);
            done = true;
            match damage {
                Damage::Flipped(bit) => bytes[at] ^= 1 << bit,
                Damage::Doubled => bytes.insert(at, bytes[at]),
                Damage::Lost => drop(bytes.remove(at)),
                Damage::Cut => {
                    bytes.truncate(at);
                    ends = true;
                }
            }
        }
        if to.write_all(&bytes).await.is_err() || ends {
            break;
        }
    }
    let _ = to.shutdown().await;
    done
}

/// How long a caller waits for what a damaged length has announced.
const WAITS: Duration = Duration::from_millis(250);

/// A member calls, through a network that damages one of the first so many bytes of one direction.
/// What it is told, and whether the connection came so far.
async fn damaged(
    address: SocketAddr,
    credentials: &Credentials,
    longest: usize,
    random: &mut StdRng,
) -> (Option<Reply>, bool) {
    let (network, near) = bind().await;
    let flipped = Damage::Flipped(random.random_range(0..8));
    let damages = [flipped, Damage::Doubled, Damage::Lost, Damage::Cut];
    let damage = *damages.choose(random).expect("some");
    let place = Some((random.random_range(0..longest), damage));
    let (there, back) = if random.random() { (place, None) } else { (None, place) };
    let relay = tokio::spawn(async move {
        let (near, _) = network.accept().await.expect("a call");
        let far = TcpStream::connect(address).await.expect("it listens");
        let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
        let (there, back) =
            tokio::join!(pass(near_in, far_out, there), pass(far_in, near_out, back));
        there || back
    });
    let said = async {
        let (mut channel, reply) = say(near, credentials, Opening::Hello(hello(2))).await?;
        for _ in 0..8 {
            let frame = encode(&Frame::Message(Message::Coordinator)).expect("fits");
            channel.send(frame).await.map_err(Failure::Io)?;
        }
        Ok::<_, Failure>(reply)
    };
    let reply = timeout(WAITS, said).await.ok().and_then(Result::ok);
    let damaged = timeout(LIMIT, relay).await.expect("it hangs").expect("no panic");
    (reply, damaged)
}

/// Whatever is damaged, a node believes nothing that was not said, and the caller neither.
async fn survives_damage(own: Credentials, theirs: Credentials, longest: usize) {
    let mut context = with_credentials(own);
    context.limits = SHORT;
    let mut node = Node::listening(context).await;
    let mut random = StdRng::seed_from_u64(56);
    let (mut memory, mut reached, mut told, mut heard) = (Memory::default(), 0, 0, 0);
    for done in 0..handshakes() {
        memory.look(done, handshakes());
        let (reply, damaged) = damaged(node.address, &theirs, longest, &mut random).await;
        reached += usize::from(damaged);
        if let Some(reply) = reply {
            assert!(matches!(&reply, Reply::Hello(hello) if hello.node == id(1)), "{reply:?}");
            told += 1;
        }
        while let Ok(Arrival { from, frame, .. }) = node.arrivals.try_recv() {
            assert_eq!((from, frame), (id(2), Frame::Message(Message::Coordinator)));
            heard += 1;
        }
    }
    memory.has_not_grown();
    println!("{reached} of {} damaged, {told} answered, {heard} messages", handshakes());
    assert!(reached * 2 > handshakes(), "{reached}");
    assert!(handshakes() < 100 || heard > 0, "what is not damaged arrives");
    // It still knows a good one.
    let said = say(node.address, &theirs, Opening::Hello(hello(2))).await;
    assert!(matches!(said, Ok((_, Reply::Hello(_)))));
}

#[tokio::test]
async fn damaged_connections_with_a_secret_end_and_leave_nothing_behind() {
    survives_damage(secrets(7, None), secrets(7, None), 400).await;
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn damaged_connections_with_certificates_end_and_leave_nothing_behind() {
    let authority = certificates::Authority::new("the authority");
    let [own, theirs] = [1, 2].map(|node| authority.credentials("orders", node));
    survives_damage(own, theirs, 1_200).await;
}
