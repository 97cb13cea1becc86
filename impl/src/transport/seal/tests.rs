//! Handshakes with a secret, and the frames after them, between two sides of this process.

use super::super::frame::MAX_FRAME;
use super::*;

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

/// What may become of a message on its way: one bit is another, its end is lost, or it has more.
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
fn what_one_side_seals_the_other_opens_in_the_same_order() {
    let (mut caller, mut listener) = pair();
    for frame in [&b""[..], b"one", b"two", b"two"] {
        assert_eq!(listener.open(&caller.close(frame)).as_deref(), Some(frame));
        assert_eq!(caller.open(&listener.close(frame)).as_deref(), Some(frame));
    }
}

#[test]
fn a_replayed_skipped_or_reflected_frame_or_one_of_another_connection_is_none() {
    let (mut caller, mut listener) = pair();
    let first = caller.close(b"one");
    assert!(listener.open(&first).is_some());
    assert!(listener.open(&first).is_none(), "replayed");

    let (mut caller, mut listener) = pair();
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
