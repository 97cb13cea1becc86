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
mod tests;
