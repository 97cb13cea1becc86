//! How long to wait before calling again a peer that did not answer.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Doubles from [`Backoff::FIRST`] to a cap, each wait shortened at random by up to half, so that
/// nodes that lost a peer together do not call it together.
///
/// The cap is short at first, and grows when the peer has not answered for a while: a member that
/// is down for a day is not called nine times a second. A member that starts calls by itself, and
/// is called back at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    cap: Duration,
    next: Duration,
    attempts: u32,
    random: StdRng,
}

impl Backoff {
    /// The first wait.
    pub(crate) const FIRST: Duration = Duration::from_millis(50);
    /// No wait is longer. It is how much longer two nodes that were cut off may stay so.
    pub(crate) const LONGEST: Duration = Duration::from_secs(1);
    /// How many waits have the short cap.
    pub(crate) const EAGER: u32 = 16;

    /// With a short cap of half of a message's lifetime (within `FIRST..=LONGEST`): a message that
    /// is queued while the peer cannot be reached sees at least one attempt before it is too old.
    pub(crate) fn new(lifetime: Duration, seed: u64) -> Self {
        let cap = (lifetime / 2).clamp(Self::FIRST, Self::LONGEST);
        Self { cap, next: Self::FIRST, attempts: 0, random: StdRng::seed_from_u64(seed) }
    }

    /// The peer answered: begin from the first wait again.
    pub(crate) fn reset(&mut self) {
        (self.next, self.attempts) = (Self::FIRST, 0);
    }

    /// How long to wait this time.
    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.attempts = self.attempts.saturating_add(1);
        let cap = if self.attempts < Self::EAGER { self.cap } else { Self::LONGEST };
        self.next = (wait * 2).min(cap);
        wait.mul_f64(self.random.random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;

    #[test]
    fn waits_grow_to_half_of_the_lifetime_of_a_message_and_start_again() {
        let mut backoff = Backoff::new(Duration::from_millis(600), 7);
        let waits: Vec<_> = (0..5).map(|_| backoff.next().as_millis()).collect();
        for (wait, most) in waits.into_iter().zip([50, 100, 200, 300, 300]) {
            assert!((most / 2..=most).contains(&wait), "{wait} of at most {most}");
        }
        backoff.reset();
        assert!(backoff.next() <= Backoff::FIRST);
    }

    #[test]
    fn a_peer_that_never_answers_is_called_less_and_less_often() {
        let mut backoff = Backoff::new(Duration::from_millis(300), 7);
        let mut waits = || backoff.next().as_millis();
        let eager: Vec<_> = (0..Backoff::EAGER).map(|_| waits()).collect();
        assert!(eager.iter().all(|&wait| wait <= 150), "{eager:?}");
        let later: Vec<_> = (0..10).map(|_| waits()).collect();
        for (wait, most) in later.iter().zip([300, 600, 1_000, 1_000, 1_000]) {
            assert!((most / 2..=most).contains(wait), "{later:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= Backoff::FIRST);
        assert!((1..Backoff::EAGER).all(|_| backoff.next() <= Duration::from_millis(150)));
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let waits = |seed| {
            let mut backoff = Backoff::new(Duration::from_secs(9), seed);
            [(); 6].map(|()| backoff.next())
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
