//! What a program does before it is told that its node leads.
//!
//! With a gate, a node that has come to lead says so to the other nodes, and to no reader of its
//! own program: those see it waiting until the program has prepared itself. The lease is renewed
//! meanwhile, so no other node leads. A program that cannot prepare itself refuses, and the node
//! steps down.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::order::{Order, What};
use crate::protocol::{Epoch, Reason};

/// The side of the loop.
#[derive(Debug)]
pub(super) struct Gate {
    asks: watch::Sender<Option<Ask>>,
    /// How often the node has come to lead.
    number: u64,
    state: State,
}

/// What the program was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The node does not lead.
    Away,
    /// It does, for this reason, and the program prepares itself.
    Held(Reason),
    /// The program is prepared.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ask {
    number: u64,
    epoch: Option<Epoch>,
    reason: Reason,
}

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

impl Gate {
    pub(super) fn new(orders: mpsc::Sender<Order>) -> (Self, Preparation) {
        let (asks, asked) = watch::channel(None);
        (Self { asks, number: 0, state: State::Away }, Preparation { asks: asked, orders })
    }

    /// The node has come to lead, or leads the next epoch.
    pub(super) fn approach(&mut self, epoch: Option<Epoch>, reason: Reason) {
        self.number += 1;
        self.state = State::Held(reason);
        self.asks.send_replace(Some(Ask { number: self.number, epoch, reason }));
    }

    /// The node leads no longer.
    pub(super) fn withdraw(&mut self) {
        self.state = State::Away;
        self.asks.send_replace(None);
    }

    /// Whether the program is to be told that its node leads.
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether the program prepares itself for what it was asked by this number.
    pub(super) fn is_held(&self, number: u64) -> bool {
        matches!(self.state, State::Held(_)) && self.number == number
    }

    /// The program is prepared. Why the node has come to lead.
    pub(super) fn open(&mut self) -> Option<Reason> {
        let State::Held(reason) = self.state else { return None };
        self.state = State::Open;
        self.asks.send_replace(None);
        Some(reason)
    }

    /// The program cannot prepare itself.
    pub(super) fn give_up(&mut self) {
        self.asks.send_replace(None);
    }

    /// Whether this is the epoch for which the program was asked.
    pub(super) fn is_for(&self, epoch: Option<Epoch>) -> bool {
        self.asks.borrow().is_none_or(|ask| ask.epoch == epoch)
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
