//! Frames that only one who knows the secret of the cluster can have written, now, to this node.
//!
//! Both sides of a connection choose a nonce. The secret, all that was said in the handshake and
//! the direction give a key, and the key, the number of the frame in its direction and the frame
//! give its code (HKDF and HMAC with SHA-256). So a frame of another connection, of the other
//! direction, or out of its order has another code. The handshake has keys of its own; those after
//! it depend on who the two nodes said they are.
//!
//! Nothing is encrypted: who listens on the network reads along.

use bytes::Bytes;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::config::Secret;

/// How long the code behind a frame is, in bytes.
pub(crate) const TAG: usize = 16;

/// Who of the two a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Caller,
    Listener,
}

type Key = Zeroizing<[u8; 32]>;

/// The keys of one side of a connection.
pub(crate) struct Seal {
    side: Side,
    /// What the keys of the next stage come from.
    chain: Key,
    /// All that was said so far.
    transcript: Sha256,
    sent: Direction,
    received: Direction,
}

/// Frames that go one way.
struct Direction {
    key: Key,
    next: u64,
}

impl Seal {
    /// The keys for the rest of the handshake, after both sides' greetings.
    pub(crate) fn new(secret: &Secret, side: Side, greetings: [&[u8]; 2]) -> Self {
        let mut transcript = Sha256::new();
        greetings.iter().for_each(|greeting| absorb(&mut transcript, greeting));
        let (chain, [sent, received]) = derive(secret.bytes(), &transcript, b"handshake", side);
        Self { side, chain, transcript, sent, received }
    }

    /// The keys for what follows the handshake. They depend on all that was said in it.
    pub(crate) fn advance(&mut self) {
        let (chain, [sent, received]) =
            derive(&self.chain[..], &self.transcript, b"session", self.side);
        (self.chain, self.sent, self.received) = (chain, sent, received);
    }

    /// The frame with its code.
    pub(crate) fn close(&mut self, frame: &[u8]) -> Bytes {
        absorb(&mut self.transcript, frame);
        let code = self.sent.next(frame).finalize().into_bytes();
        [frame, &code[..TAG]].concat().into()
    }

    /// The frame without its code; none if that is not the right one.
    pub(crate) fn open(&mut self, mut sealed: Bytes) -> Option<Bytes> {
        let code = sealed.split_off(sealed.len().checked_sub(TAG)?);
        // In constant time.
        self.received.next(&sealed).verify_truncated_left(&code).ok()?;
        absorb(&mut self.transcript, &sealed);
        Some(sealed)
    }
}

impl Direction {
    /// What the code of the next frame is read from.
    fn next(&mut self, frame: &[u8]) -> Hmac<Sha256> {
        let mut code = mac(&self.key);
        code.update(&self.next.to_be_bytes());
        code.update(frame);
        self.next += 1;
        code
    }
}

fn mac(key: &Key) -> Hmac<Sha256> {
    Hmac::new_from_slice(&key[..]).expect("any length will do")
}

/// Adds a frame to what was said. The length tells it from the next one.
fn absorb(transcript: &mut Sha256, frame: &[u8]) {
    transcript.update((frame.len() as u64).to_be_bytes());
    transcript.update(frame);
}

/// What the next stage begins with, and the keys of what this side sends and receives.
fn derive(from: &[u8], said: &Sha256, stage: &[u8], side: Side) -> (Key, [Direction; 2]) {
    let salt = said.clone().finalize();
    let source = Hkdf::<Sha256>::new(Some(&salt[..]), from);
    let key = |purpose: &[u8]| {
        let mut key = Key::default();
        let info = [b"bellwether ", stage, b" ", purpose];
        source.expand_multi_info(&info, &mut key[..]).expect("short enough");
        key
    };
    let way = |purpose| Direction { key: key(purpose), next: 0 };
    let (caller, listener) = (way(b"caller"), way(b"listener"));
    let ways = if side == Side::Caller { [caller, listener] } else { [listener, caller] };
    (key(b"next"), ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREETINGS: [&[u8]; 2] = [b"caller's", b"listener's"];

    fn pair_with(secrets: [&[u8]; 2], greetings: [[&[u8]; 2]; 2]) -> (Seal, Seal) {
        let seal = |at: usize, side| Seal::new(&Secret::new(secrets[at]), side, greetings[at]);
        (seal(0, Side::Caller), seal(1, Side::Listener))
    }

    fn pair() -> (Seal, Seal) {
        pair_with([&[7; 32]; 2], [GREETINGS; 2])
    }

    #[test]
    fn what_one_side_seals_the_other_opens_in_the_same_order() {
        let (mut caller, mut listener) = pair();
        for stage in 0..2 {
            for frame in [&b""[..], b"one", b"two", b"two"] {
                assert_eq!(listener.open(caller.close(frame)).as_deref(), Some(frame), "{stage}");
                assert_eq!(caller.open(listener.close(frame)).as_deref(), Some(frame), "{stage}");
            }
            caller.advance();
            listener.advance();
        }
    }

    #[test]
    fn a_replayed_skipped_reflected_altered_or_cut_frame_is_none() {
        let (mut caller, mut listener) = pair();
        let first = caller.close(b"one");
        assert!(listener.open(first.clone()).is_some());
        assert!(listener.open(first).is_none(), "replayed");

        let (mut caller, mut listener) = pair();
        let (_lost, second) = (caller.close(b"one"), caller.close(b"two"));
        assert!(listener.open(second).is_none(), "skipped");

        let (mut caller, _) = pair();
        let own = caller.close(b"one");
        assert!(caller.open(own).is_none(), "reflected");

        let sealed = pair().0.close(b"one");
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut altered = sealed.to_vec();
                altered[at] ^= 1 << bit;
                assert!(pair().1.open(altered.into()).is_none(), "byte {at}");
            }
            assert!(pair().1.open(sealed.slice(..at)).is_none(), "cut at {at}");
        }
        assert!(pair().1.open(sealed).is_some());
    }

    #[test]
    fn keys_depend_on_the_secret_and_on_everything_that_was_said() {
        let fresh: [&[u8]; 2] = [b"caller's", b"another"];
        let shifted: [&[u8]; 2] = [b"caller'", b"slistener's"];
        for (secrets, greetings) in [
            ([&[7; 32][..], &[8; 32]], [GREETINGS; 2]),
            ([&[7; 32], &[7; 32]], [GREETINGS, fresh]),
            ([&[7; 32], &[7; 32]], [GREETINGS, shifted]),
        ] {
            let (mut caller, mut listener) = pair_with(secrets, greetings);
            assert!(listener.open(caller.close(b"one")).is_none());
        }
        // The two were told different things in the handshake.
        let (mut caller, mut listener) = pair();
        caller.close(b"I am 1");
        listener.received.next(b"I am 2");
        caller.advance();
        listener.advance();
        assert!(listener.open(caller.close(b"one")).is_none());
    }

    /// The order of keys, codes and numbers is part of the wire format.
    #[test]
    fn the_code_is_the_one_that_the_page_describes() {
        let (mut caller, _) = pair();
        let mut said = Sha256::new();
        for greeting in GREETINGS {
            said.update((greeting.len() as u64).to_be_bytes());
            said.update(greeting);
        }
        let mut key = [0; 32];
        let source = Hkdf::<Sha256>::new(Some(&said.finalize()[..]), &[7; 32]);
        source.expand(b"bellwether handshake caller", &mut key).expect("short");
        let mut code = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        code.update(&[0; 8]);
        code.update(b"one");
        let expected = [b"one", &code.finalize().into_bytes()[..TAG]].concat();
        assert_eq!(caller.close(b"one"), expected);
    }
}
