//! The time that a frame takes to a peer, and its answer back.
//!
//! A connection carries frames in one direction. So a ping goes out on the connection to the peer,
//! and its answer arrives on the connection from the peer. Both pass through the queues and the
//! runtimes of both nodes, as messages do: it is what the protocol sees, not what the network alone
//! takes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The pings to one peer, and from it.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip {
    state: Mutex<State>,
    asked: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the latest ping to the peer.
    number: u8,
    /// When it was sent, until it is answered.
    sent: Option<Instant>,
    last: Option<Duration>,
    /// The ping of the peer that is to be answered. At most one waits, whatever the peer sends.
    owed: Option<u8>,
}

impl RoundTrip {
    /// Returns the number of the next ping, which is sent now.
    pub(super) fn ping(&self) -> u8 {
        let mut state = self.state();
        state.number = state.number.wrapping_add(1);
        state.sent = Some(Instant::now());
        state.number
    }

    /// The peer has answered a ping. Only the answer to the latest one counts.
    pub(super) fn answered(&self, number: u8) {
        let mut state = self.state();
        if state.number == number
            && let Some(sent) = state.sent.take()
        {
            state.last = Some(sent.elapsed());
        }
    }

    /// The peer has sent a ping.
    pub(super) fn asked(&self, number: u8) {
        self.state().owed = Some(number);
        self.asked.notify_one();
    }

    /// Returns the number of a ping of the peer as soon as there is one to be answered. None is
    /// lost when the future is dropped.
    pub(super) async fn owed(&self) -> u8 {
        loop {
            if let Some(number) = self.take_owed() {
                return number;
            }
            // A ping between the two lines leaves its permit behind, so this returns at once.
            self.asked.notified().await;
        }
    }

    /// The connection to the peer has ended: what was measured is over.
    pub(super) fn reset(&self) {
        let mut state = self.state();
        (state.sent, state.last) = (None, None);
    }

    /// Returns how long the latest answer took; or how long one is awaited, if that is longer. None
    /// if there was none on this connection.
    pub(super) fn last(&self) -> Option<Duration> {
        let state = self.state();
        let waiting = state.sent.map_or(Duration::ZERO, |sent| sent.elapsed());
        Some(state.last?.max(waiting))
    }

    fn take_owed(&self) -> Option<u8> {
        self.state().owed.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn the_latest_answer_counts_until_one_is_awaited_for_longer() {
        let round_trip = RoundTrip::default();
        let first = round_trip.ping();
        assert_eq!(round_trip.last(), None, "no answer yet");
        tokio::time::advance(30 * MS).await;
        round_trip.answered(first);
        assert_eq!(round_trip.last(), Some(30 * MS));
        let second = round_trip.ping();
        tokio::time::advance(10 * MS).await;
        assert_eq!(round_trip.last(), Some(30 * MS));
        tokio::time::advance(90 * MS).await;
        assert_eq!(round_trip.last(), Some(100 * MS), "the peer is paused, or cut off");
        round_trip.answered(second);
        round_trip.answered(second);
        assert_eq!(round_trip.last(), Some(100 * MS));
        round_trip.reset();
        assert_eq!(round_trip.last(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_to_an_older_ping_does_not_count() {
        let round_trip = RoundTrip::default();
        let first = round_trip.ping();
        tokio::time::advance(5_000 * MS).await;
        let second = round_trip.ping();
        round_trip.answered(first);
        assert_eq!(round_trip.last(), None);
        tokio::time::advance(MS).await;
        round_trip.answered(second);
        assert_eq!(round_trip.last(), Some(MS));
        for _ in 0..=u8::MAX {
            let _ = round_trip.ping();
        }
        assert_eq!(round_trip.ping(), second.wrapping_add(1), "numbers are used again");
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_pings_the_latest_is_answered_once() {
        let round_trip = RoundTrip::default();
        (0..100).for_each(|number| round_trip.asked(number));
        assert_eq!(round_trip.owed().await, 99);
        let more = tokio::time::timeout(10 * MS, round_trip.owed());
        assert!(more.await.is_err());
        let (number, ()) = tokio::join!(round_trip.owed(), async { round_trip.asked(7) });
        assert_eq!(number, 7);
    }
}
