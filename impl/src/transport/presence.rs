//! Whether the process of a peer is gone: it has ended the connection on which it spoke, and its
//! address refuses another one.
//!
//! One sign alone is none. A reset can come from a router that has forgotten the connection, and a
//! refusal from a process that is about to listen. Both together can still be wrong, behind a
//! firewall that refuses for example. So they are a reason not to wait for the peer any longer, and
//! never a proof that it does nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// What is known of the process of a peer.
#[derive(Debug)]
pub(crate) struct Presence {
    signs: Mutex<Signs>,
    /// Told when it is gone: one for each group.
    news: Arc<[Notify]>,
}

#[derive(Debug, Default)]
struct Signs {
    /// Since when it has had a connection to this node.
    heard: Option<Instant>,
    /// It has ended its latest connection, and that had lasted.
    ended: bool,
    /// Its address has refused the latest attempt.
    refused: bool,
}

impl Signs {
    fn is_gone(&self) -> bool {
        self.heard.is_none() && self.ended && self.refused
    }
}

impl Presence {
    /// Tells `news` when the peer is gone.
    pub(crate) fn new(news: Arc<[Notify]>) -> Self {
        Self { signs: Mutex::default(), news }
    }

    /// It has opened a connection to this node.
    pub(super) fn heard(&self) {
        *self.signs() = Signs { heard: Some(Instant::now()), ..Signs::default() };
    }

    /// It has ended the connection, after all that it had sent. That is a sign only if the
    /// connection had lasted for so long: a process that starts and fails again and again raises
    /// one alarm, and not one for each time.
    pub(super) fn ended(&self, steady: Duration) {
        let mut signs = self.signs();
        let lasted = signs.heard.take().is_some_and(|since| since.elapsed() >= steady);
        signs.ended |= lasted;
        self.notify_if_gone(&signs);
    }

    /// Its address has refused a connection.
    pub(super) fn refused(&self) {
        let mut signs = self.signs();
        let news = !signs.refused;
        signs.refused = true;
        if news {
            self.notify_if_gone(&signs);
        }
    }

    /// A process listens at its address.
    pub(super) fn reached(&self) {
        self.signs().refused = false;
    }

    /// Whether it is gone, as far as this node can see.
    pub(super) fn is_gone(&self) -> bool {
        self.signs().is_gone()
    }

    fn notify_if_gone(&self, signs: &Signs) {
        if signs.is_gone() {
            self.news.iter().for_each(Notify::notify_one);
        }
    }

    fn signs(&self) -> MutexGuard<'_, Signs> {
        self.signs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Default for Presence {
    fn default() -> Self {
        Self::new([Notify::new()].into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Duration = Duration::from_secs(1);

    /// A peer that has spoken for so long.
    async fn heard_for(time: Duration) -> Presence {
        let presence = Presence::default();
        presence.heard();
        tokio::time::sleep(time).await;
        presence
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_is_gone_once_it_has_hung_up_and_its_address_refuses() {
        let presence = heard_for(STEADY).await;
        presence.ended(STEADY);
        assert!(!presence.is_gone(), "a connection can be reset by a router");
        presence.refused();
        assert!(presence.is_gone());
        presence.news[0].notified().await;
        presence.reached();
        assert!(!presence.is_gone(), "a process listens again");
        presence.refused();
        assert!(presence.is_gone());
        presence.heard();
        assert!(!presence.is_gone(), "it has called");
    }

    #[tokio::test(start_paused = true)]
    async fn the_order_of_the_signs_is_not_known() {
        let presence = heard_for(STEADY).await;
        presence.refused();
        assert!(!presence.is_gone(), "it is still heard");
        presence.ended(STEADY);
        assert!(presence.is_gone());
        presence.news[0].notified().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_was_never_heard_is_not_gone() {
        let presence = Presence::default();
        presence.refused();
        presence.ended(STEADY);
        assert!(!presence.is_gone(), "it may be about to start");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_fails_again_and_again_raises_no_further_alarm() {
        let presence = heard_for(STEADY / 2).await;
        presence.ended(STEADY);
        presence.refused();
        assert!(!presence.is_gone());
    }
}
