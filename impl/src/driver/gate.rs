//! What a program does before it is told that its node leads: the side of the program. What the
//! node does is decided by its [member](crate::member).

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::order::{Order, What};
use crate::member::Ask;
use crate::protocol::{Epoch, Reason};

/// The side of the loop: where the program is asked.
#[derive(Debug)]
pub(super) struct Asks(watch::Sender<Option<Ask>>);

/// The side of the program: see [`Election::join_prepared`](super::Election::join_prepared).
#[derive(Debug)]
pub struct Preparation {
    asks: watch::Receiver<Option<Ask>>,
    orders: mpsc::Sender<Order>,
}

/// The node has come to lead, and its program is to prepare itself.
#[derive(Debug)]
pub struct Approach {
    ask: Ask,
    asks: watch::Receiver<Option<Ask>>,
    orders: mpsc::Sender<Order>,
}

impl Asks {
    pub(super) fn new(orders: mpsc::Sender<Order>) -> (Self, Preparation) {
        let (asks, asked) = watch::channel(None);
        (Self(asks), Preparation { asks: asked, orders })
    }

    /// The program is to prepare itself for this, or for nothing any more.
    pub(super) fn ask(&self, ask: Option<Ask>) {
        self.0.send_replace(ask);
    }
}

impl Preparation {
    /// Waits until the node has come to lead and its program is to prepare itself. `None` once the
    /// node takes part no longer.
    pub async fn next(&mut self) -> Option<Approach> {
        let wanted = self.asks.wait_for(Option::is_some).await.ok()?;
        let ask = (*wanted)?;
        drop(wanted);
        let (asks, orders) = (self.asks.clone(), self.orders.clone());
        Some(Approach { ask, asks, orders })
    }
}

impl Approach {
    /// The epoch that the node leads, if its protocol has epochs.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.ask.epoch
    }

    /// Why the node has come to lead.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.ask.reason
    }

    /// Waits until the preparation is in vain: the node leads no longer, or another epoch.
    pub async fn withdrawn(&mut self) {
        let ask = Some(self.ask);
        // If the node has ended, nothing is left to prepare for.
        let _ = self.asks.wait_for(|now| *now != ask).await;
    }

    /// The program is prepared: its node leads from here on. Returns when readers know, or when
    /// the node leads no longer.
    pub async fn ready(self) {
        self.answer(What::Prepared).await;
    }

    /// The program cannot prepare itself: the node steps down, and does not run for `time`. With a
    /// protocol without such a request it goes on to lead, and its program is never told.
    pub async fn refuse(self, time: Duration) {
        self.answer(|number| What::Unprepared(number, time)).await;
    }

    /// Returns when the next [`Preparation::next`] is not about this any more.
    async fn answer(mut self, what: impl FnOnce(u64) -> What) {
        let (answer, answered) = oneshot::channel();
        let order = Order { what: what(self.ask.number), answer };
        if self.orders.send(order).await.is_ok() {
            let _ = answered.await;
        }
        self.withdrawn().await;
    }
}
