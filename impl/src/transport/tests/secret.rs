//! Handshakes with a secret through a network that alters, keeps and plays back what it likes, and
//! with a node that speaks another version.

use super::super::frame::{FrameError, Greeting};
use super::*;

/// Two ends of a connection: that of the caller, and that of the side that was called.
async fn connection() -> (TcpStream, TcpStream) {
    let (listener, address) = bind().await;
    let here = TcpStream::connect(address).await.expect("it listens");
    let (there, _) = listener.accept().await.expect("a call");
    (here, there)
}

/// An end of a connection that is read and written as it is.
fn raw(stream: TcpStream) -> Channel {
    Channel::new(Box::new(stream), frame::MAX_FRAME)
}

/// The next frame as it is, if there is one.
async fn heard(channel: &mut Channel) -> Option<Bytes> {
    timeout(LIMIT, channel.next()).await.expect("in time").ok()
}

/// What becomes of a greeting on its way.
type Way = fn(&Bytes) -> Bytes;

/// A greeting with another nonce, which begins with its eighth byte. All else remains.
fn altered(greeting: &Bytes) -> Bytes {
    let mut other = greeting.to_vec();
    other[7] ^= 1;
    other.into()
}

/// What comes of a handshake in which the greetings of the caller and of the other side arrive so.
async fn through(network: [Way; 2]) -> (Result<(), Failure>, Result<Option<Opening>, Failure>) {
    let secret = secrets(7, None);
    let ((here, near), (far, there)) = (connection().await, connection().await);
    let (mut near, mut far) = (raw(near), raw(far));
    let call = async {
        let mut channel = handshake::call(&secret, None, here).await?;
        handshake::ask(&mut channel, &Opening::StatusRequest).await.map(drop)
    };
    let node = async {
        let accepted = handshake::accept(&secret, there).await?;
        let Some((mut channel, _, opening)) = accepted else { return Ok(None) };
        let reply = encode(&Reply::Is(true)).expect("fits");
        channel.send(reply).await.map_err(Failure::Io)?;
        Ok::<_, Failure>(Some(opening))
    };
    let relay = async move {
        let greeting = heard(&mut near).await?;
        far.send(network[0](&greeting)).await.ok()?;
        let greeting = heard(&mut far).await?;
        near.send(network[1](&greeting)).await.ok()?;
        // A proof, its answer, the question and the reply.
        for back in [true, false, false, true] {
            let (from, to) = if back { (&mut far, &mut near) } else { (&mut near, &mut far) };
            to.send(heard(from).await?).await.ok()?;
        }
        Some(())
    };
    let all = async { tokio::join!(call, node, relay) };
    let (called, accepted, _) = timeout(LIMIT, all).await.expect("in time");
    (called, accepted)
}

#[tokio::test]
async fn greetings_that_were_altered_on_the_way_make_no_connection() {
    let (called, opening) = through([Bytes::clone, Bytes::clone]).await;
    assert!(called.is_ok() && matches!(opening, Ok(Some(Opening::StatusRequest))));
    let ways: [[Way; 2]; 2] = [[altered, Bytes::clone], [Bytes::clone, altered]];
    for network in ways {
        let (called, opening) = through(network).await;
        assert!(matches!(called, Err(Failure::Secret)), "{called:?}");
        assert!(matches!(opening, Err(Failure::HungUp)), "nothing was said: {opening:?}");
    }
}

/// A node proves itself to any process that calls. Its proof is for that one only.
#[tokio::test]
async fn a_proof_that_is_played_back_to_another_caller_is_not_believed() {
    let secret = secrets(7, None);
    let (probe, there) = connection().await;
    let ask = async {
        let mut probe = raw(probe);
        probe.send(Greeting::new(Mode::Secret).encode()).await.expect("sent");
        [heard(&mut probe).await.expect("a greeting"), heard(&mut probe).await.expect("a proof")]
    };
    let accept = timeout(LIMIT, handshake::accept(&secret, there));
    let (said, accepted) = tokio::join!(ask, accept);
    assert!(matches!(accepted.expect("in time"), Err(Failure::HungUp)));

    let (here, there) = connection().await;
    let mut there = raw(there);
    for frame in said {
        there.send(frame).await.expect("sent");
    }
    let called = timeout(LIMIT, handshake::call(&secret, None, here)).await.expect("in time");
    assert!(matches!(called, Err(Failure::Secret)));
    assert!(heard(&mut there).await.is_some(), "its greeting");
    assert!(heard(&mut there).await.is_none(), "and nothing else");
}

#[tokio::test]
async fn another_version_is_refused_on_both_sides() {
    let mut other = Greeting::new(Mode::Secret).encode().to_vec();
    other[4..6].copy_from_slice(&7_u16.to_be_bytes());
    let other = Bytes::from(other);
    let secret = secrets(7, None);
    let is_told = |problem: Option<Failure>| {
        let problem = problem.expect("refused");
        let is_version = matches!(problem, Failure::Frame(FrameError::Version { theirs: 7 }));
        assert!(is_version && !problem.passes(), "{problem}");
    };

    let (here, there) = connection().await;
    let mut here = raw(here);
    here.send(other.clone()).await.expect("sent");
    is_told(timeout(LIMIT, handshake::accept(&secret, there)).await.expect("in time").err());
    assert!(heard(&mut here).await.is_some(), "a greeting, which every version understands");
    assert!(heard(&mut here).await.is_none(), "and no proof");

    let (here, there) = connection().await;
    let mut there = raw(there);
    for frame in [other, Bytes::from_static(&[7; 16])] {
        there.send(frame).await.expect("sent");
    }
    is_told(timeout(LIMIT, handshake::call(&secret, None, here)).await.expect("in time").err());
}
