//! Frames that only one who knows the secret of the cluster can have written, now, to this node,
//! and that no other can read.
//!
//! The handshake and the ciphers are `Noise_NNpsk0_25519_ChaChaPoly_SHA256` of the [Noise Protocol
//! Framework](https://noiseprotocol.org/noise.html), by the crate `snow`. The side that was called
//! is Noise's initiator. So it proves itself first, and the caller says nothing before that but its
//! greeting. The prologue is both greetings: if one of them was altered on its way, the two sides
//! have different keys. Each greeting has a nonce, so a message of a handshake is worth nothing on
//! another connection. The keys of a connection end with it, and come from keys that both sides
//! have chosen for it. Who has recorded a connection, and learns the secret later, cannot read it.
//!
//! After the handshake each direction has a key, and each message of it a number that is not sent.
//! A message of another connection, of the other direction or out of its order is not read.
//!
//! The key of the pattern is a SHA-256 of the secret. It is as hard to guess as the secret, up to
//! 256 bits, and no harder: who has heard a proof can try likely secrets, and nothing makes that
//! slow. So the secret must be random, like those of `bellwether keys secret`. [`Secret`] refuses
//! what is shorter than 32 bytes; whether something longer is random cannot be seen.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, TransportState};
use zeroize::Zeroizing;

use crate::config::Secret;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";

/// What stands before the secret where it is hashed, so that no other use of it has this hash.
const KEY: &[u8] = b"bellwether key of secret\n";

/// What every prologue begins with.
const PROLOGUE: &[u8] = b"bellwether greetings\n";

/// How much longer a message is than what it says, in bytes.
const TAG: usize = 16;

/// The longest message of Noise, in bytes.
const MESSAGE: usize = 65_535;

/// The most that one message says, in bytes.
const PIECE: usize = MESSAGE - TAG;

/// How long a message of the handshake is, in bytes: a public key, and the tag of nothing.
const HANDSHAKE: usize = 32 + TAG;

/// The length of a frame of so many bytes when it is sealed.
pub(crate) const fn sealed(length: usize) -> usize {
    length + TAG * (length / PIECE + 1)
}

/// The side that was called, until the caller has proved itself.
pub(crate) struct Offer(HandshakeState);

/// The keys of one side of a connection on which both have proved themselves.
pub(crate) struct Seal(TransportState);

impl Offer {
    /// The side that was called, and its proof. The greeting of the caller is the first.
    pub(crate) fn new(secret: &Secret, greetings: [&[u8]; 2]) -> (Self, Bytes) {
        let mut state = begin(secret, greetings, true);
        let proof = write(&mut state);
        (Self(state), proof)
    }

    /// The keys, if this is the proof of a caller that knows the secret.
    pub(crate) fn accept(mut self, proof: &[u8]) -> Option<Seal> {
        read(&mut self.0, proof)?;
        Some(Seal::new(self.0))
    }
}

impl Seal {
    /// The keys of the caller and its own proof, if that of the other side is one of this secret.
    pub(crate) fn answer(
        secret: &Secret,
        greetings: [&[u8]; 2],
        proof: &[u8],
    ) -> Option<(Self, Bytes)> {
        let mut state = begin(secret, greetings, false);
        read(&mut state, proof)?;
        let own = write(&mut state);
        Some((Self::new(state), own))
    }

    fn new(state: HandshakeState) -> Self {
        Self(state.into_transport_mode().expect("both have said their part"))
    }

    /// Encrypts the next frame of this side.
    pub(crate) fn close(&mut self, frame: &[u8]) -> Bytes {
        let (mut all, mut length) = (vec![0; sealed(frame.len())], 0);
        // Full pieces, and a last one that is not full: it shows where the frame ends.
        let full = frame.chunks_exact(PIECE);
        let last = full.remainder();
        for piece in full.chain([last]) {
            let written = self.0.write_message(piece, &mut all[length..]);
            length += written.expect("it fits, and no connection has 2^64 messages");
        }
        all.into()
    }

    /// Decrypts a frame; none if it is not the next one of the other side.
    pub(crate) fn open(&mut self, sealed: &[u8]) -> Option<Bytes> {
        // The length of a frame is not encrypted. Who shortens it to full pieces is noticed here.
        if sealed.len().is_multiple_of(MESSAGE) {
            return None;
        }
        let (mut frame, mut length) = (vec![0; sealed.len()], 0);
        for message in sealed.chunks(MESSAGE) {
            length += self.0.read_message(message, &mut frame[length..]).ok()?;
        }
        frame.truncate(length);
        Some(frame.into())
    }
}

/// A handshake of which nothing was said so far.
fn begin(secret: &Secret, greetings: [&[u8]; 2], initiates: bool) -> HandshakeState {
    let (key, said) = (key(secret), prologue(greetings));
    let pattern: NoiseParams = PATTERN.parse().expect("a pattern of Noise");
    let builder = Builder::new(pattern).psk(0, &key).and_then(|builder| builder.prologue(&said));
    let state = builder.and_then(|builder| {
        if initiates { builder.build_initiator() } else { builder.build_responder() }
    });
    state.expect("it has what the pattern needs")
}

/// The key that both sides have before they talk.
fn key(secret: &Secret) -> Zeroizing<[u8; 32]> {
    let hash = Sha256::new_with_prefix(KEY).chain_update(secret.bytes()).finalize();
    Zeroizing::new(hash.into())
}

/// What both sides must have heard alike. The length of a greeting tells it from the next one.
fn prologue(greetings: [&[u8]; 2]) -> Vec<u8> {
    let mut said = PROLOGUE.to_vec();
    for greeting in greetings {
        said.extend_from_slice(&(greeting.len() as u64).to_be_bytes());
        said.extend_from_slice(greeting);
    }
    said
}

/// The next message of a handshake. It says nothing: what counts is that it can be written.
fn write(state: &mut HandshakeState) -> Bytes {
    let mut message = [0; HANDSHAKE];
    let length = state.write_message(&[], &mut message).expect("the system has random numbers");
    Bytes::copy_from_slice(&message[..length])
}

/// Reads the next message of a handshake; none if it is another one, or says anything.
fn read(state: &mut HandshakeState, message: &[u8]) -> Option<()> {
    state.read_message(message, &mut []).is_ok().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::frame::MAX_FRAME;

    const GREETINGS: [&[u8]; 2] = [b"caller's", b"listener's"];

    fn secret() -> Secret {
        Secret::new(&[7; 32])
    }

    /// The caller and the side that was called, each with its secret and what it said and heard.
    fn pair_with(secrets: [&[u8]; 2], greetings: [[&[u8]; 2]; 2]) -> Option<(Seal, Seal)> {
        let (offer, proof) = Offer::new(&Secret::new(secrets[1]), greetings[1]);
        let (caller, proof) = Seal::answer(&Secret::new(secrets[0]), greetings[0], &proof)?;
        Some((caller, offer.accept(&proof)?))
    }

    fn pair() -> (Seal, Seal) {
        pair_with([&[7; 32]; 2], [GREETINGS; 2]).expect("the same secret")
    }

    /// The ways in which a message may be damaged: a bit is another, its end is lost, or it has
    /// more.
    fn damaged(message: &[u8]) -> Vec<Vec<u8>> {
        let flipped = (0..message.len()).map(|at| {
            let mut other = message.to_vec();
            other[at] ^= 1 << (at % 8);
            other
        });
        let cut = (0..message.len()).map(|at| message[..at].to_vec());
        flipped.chain(cut).chain([[message, &[0]].concat()]).collect()
    }

    #[test]
    fn a_replayed_skipped_or_reflected_frame_or_one_of_another_connection_is_none() {
        let (mut caller, mut listener) = pair();
        for frame in [&b""[..], b"one", b"two", b"two"] {
            let sealed = caller.close(frame);
            assert_eq!(listener.open(&sealed).as_deref(), Some(frame));
            assert!(listener.open(&sealed).is_none(), "replayed");
            assert_eq!(caller.open(&listener.close(frame)).as_deref(), Some(frame));
        }

        let (first, second) = (caller.close(b"one"), caller.close(b"two"));
        assert!(listener.open(&second).is_none(), "skipped, or out of order");
        assert!(caller.open(&first).is_none(), "reflected");
        // The secret and the greetings are the same, and the keys are not.
        assert!(pair().1.open(&first).is_none(), "of another connection");
        assert!(listener.open(&first).is_some() && listener.open(&second).is_some());
    }

    #[test]
    fn a_damaged_frame_is_none_and_no_frame_can_be_read_without_the_keys() {
        let (mut caller, mut listener) = pair();
        let sealed = caller.close(b"node 3 leads");
        assert!(!sealed.windows(4).any(|part| b"node 3 leads".windows(4).any(|word| word == part)));
        for other in damaged(&sealed) {
            assert!(listener.open(&other).is_none(), "{other:?}");
        }
        assert!(listener.open(&sealed).is_some());
    }

    #[test]
    fn a_frame_of_any_length_is_read_as_a_whole_or_not_at_all() {
        let (mut caller, mut listener) = pair();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, MAX_FRAME] {
            let frame = vec![7; length];
            let closed = caller.close(&frame);
            assert_eq!(closed.len(), sealed(length));
            assert!(listener.open(&closed).is_some_and(|opened| opened == frame), "{length}");
        }
        // The length that is written before a frame can be altered.
        for length in [PIECE, PIECE + 1, 2 * PIECE + 1] {
            let (mut caller, mut listener) = pair();
            let long = caller.close(&vec![7; length]);
            for at in (MESSAGE..long.len()).step_by(MESSAGE) {
                assert!(listener.open(&long[..at]).is_none(), "{length}, cut at {at}");
            }
            assert!(listener.open(&long[MESSAGE..]).is_none(), "{length}, without its beginning");
            let two = [&long[..], &caller.close(b"two")].concat();
            assert!(listener.open(&two).is_none(), "{length}, and the next one");
        }
    }

    #[test]
    fn keys_depend_on_the_secret_and_on_both_greetings() {
        let fresh: [&[u8]; 2] = [b"caller's", b"another"];
        let shifted: [&[u8]; 2] = [b"caller'", b"slistener's"];
        let turned: [&[u8]; 2] = [b"listener's", b"caller's"];
        for (secrets, greetings) in [
            ([&[7; 32][..], &[8; 32]], [GREETINGS; 2]),
            ([&[7; 32][..], &[7; 33]], [GREETINGS; 2]),
            ([&[7; 32], &[7; 32]], [GREETINGS, fresh]),
            ([&[7; 32], &[7; 32]], [GREETINGS, shifted]),
            ([&[7; 32], &[7; 32]], [GREETINGS, turned]),
        ] {
            assert!(pair_with(secrets, greetings).is_none(), "{secrets:?} {greetings:?}");
        }
    }

    #[test]
    fn a_proof_counts_once_and_for_the_side_that_it_was_made_for() {
        let (offer, proof) = Offer::new(&secret(), GREETINGS);
        let (_, own) = Seal::answer(&secret(), GREETINGS, &proof).expect("the same secret");
        assert!(offer.accept(&proof).is_none(), "reflected");
        // The node is called once more, and hears what an earlier caller has said.
        let (again, _) = Offer::new(&secret(), GREETINGS);
        assert!(again.accept(&own).is_none(), "replayed to the side that was called");
        // A caller hears what the node has said to another one, which had another nonce.
        let later: [&[u8]; 2] = [b"later caller's", b"listener's"];
        assert!(Seal::answer(&secret(), later, &proof).is_none(), "replayed to a caller");
        assert!(Seal::answer(&secret(), GREETINGS, &own).is_none(), "of a caller");
        // The caller says nothing to a side that knows another secret.
        let (_, other) = Offer::new(&Secret::new(&[8; 32]), GREETINGS);
        assert!(Seal::answer(&secret(), GREETINGS, &other).is_none(), "of another secret");
    }

    #[test]
    fn a_damaged_proof_is_none() {
        let (offer, proof) = Offer::new(&secret(), GREETINGS);
        for other in damaged(&proof) {
            assert!(Seal::answer(&secret(), GREETINGS, &other).is_none(), "{other:?}");
        }
        let (_, own) = Seal::answer(&secret(), GREETINGS, &proof).expect("the same secret");
        assert!(offer.accept(&own).is_some());
        for nth in 0..damaged(&own).len() {
            let (offer, proof) = Offer::new(&secret(), GREETINGS);
            let (_, own) = Seal::answer(&secret(), GREETINGS, &proof).expect("the same secret");
            let other = damaged(&own).swap_remove(nth);
            assert!(offer.accept(&other).is_none(), "{other:?}");
        }
    }

    /// The pattern, the key, the prologue and the lengths are part of the wire format.
    #[test]
    fn the_handshake_is_that_of_version_7() {
        let key: [u8; 32] =
            Sha256::digest([&b"bellwether key of secret\n"[..], &[7; 32]].concat()).into();
        let said = b"bellwether greetings\n\0\0\0\0\0\0\0\x08caller's\0\0\0\0\0\0\0\x0alistener's";
        let pattern = "Noise_NNpsk0_25519_ChaChaPoly_SHA256".parse::<NoiseParams>().expect("known");
        let builder = Builder::new(pattern).psk(0, &key).expect("one").prologue(said).expect("one");
        let mut listener = builder.build_initiator().expect("complete");
        let mut proof = [0; 48];
        assert_eq!(listener.write_message(&[], &mut proof), Ok(48));
        let (mut caller, own) = Seal::answer(&secret(), GREETINGS, &proof).expect("a proof");
        assert_eq!((own.len(), listener.read_message(&own, &mut [])), (48, Ok(0)));
        let mut listener = listener.into_transport_mode().expect("complete");
        let mut frame = vec![0; 65_535];
        assert_eq!(listener.read_message(&caller.close(b"one"), &mut frame), Ok(3));
        assert_eq!(frame[..3], *b"one");
        let long = caller.close(&[7; 65_519]);
        assert_eq!(long.len(), 65_535 + 16);
        assert_eq!(listener.read_message(&long[..65_535], &mut frame), Ok(65_519));
        assert_eq!(listener.read_message(&long[65_535..], &mut frame), Ok(0));
    }
}
