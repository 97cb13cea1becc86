//! The loop around a node: one task owns it, tells it what happens, and does what it wants done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Leadership;
use super::guard::Lessee;
use super::order::{Order, RequestError, What};
use super::watch::Watch;
use crate::clock::Clock;
use crate::protocol::{
    Core, Event, Input, Membership as _, Node, NodeId, Output, Reason, Request, Role, Status, Time,
};
use crate::storage::{Storage, StorageError};
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// The longest sleep. The timers of the runtime stop while the machine sleeps, the deadlines of the
/// core do not: after a sleep a passed deadline is noticed at most this much later.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How long a leader that leaves waits until what it said last is with the network.
const LONGEST_FLUSH: Duration = Duration::from_millis(500);

/// A node and its hands.
pub(super) struct Actor<C: Core, K: Clock> {
    pub(super) node: Node<C>,
    pub(super) links: Links<C::Message>,
    /// `None` while it is in use, and for protocols without durable state.
    pub(super) storage: Option<Box<dyn Storage<C::Durable>>>,
    /// `None` for protocols that detect failures by themselves.
    pub(super) watch: Option<Watch>,
    pub(super) publisher: Publisher,
    pub(super) lessee: Lessee,
    pub(super) ignored: Arc<AtomicU64>,
    pub(super) incarnation: u64,
    pub(super) clock: K,
    pub(super) wake: Option<Time>,
}

impl<C: Core, K: Clock> Actor<C, K> {
    /// Takes part until it is told to stop, or nothing can arrive any more.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when something could not be made durable. What depends on it is not sent.
    pub(super) async fn run(
        mut self,
        mut arrivals: mpsc::Receiver<Arrival<C::Message>>,
        mut orders: mpsc::Receiver<Order>,
        stop: CancellationToken,
    ) -> Result<(), StorageError> {
        self.step(Input::Boot).await?;
        loop {
            let input = tokio::select! {
                biased;
                () = stop.cancelled() => return self.retire().await,
                Some(order) = orders.recv() => {
                    self.obey(order).await?;
                    None
                }
                // However many arrive, no deadline is missed: the node looks at them first.
                arrival = arrivals.recv() => match arrival {
                    Some(arrival) => self.hear(arrival),
                    None => return Ok(()),
                },
                () = tokio::time::sleep(self.until_wake()) => Some(Input::Wake),
            };
            // Before any node is suspected: this is where a pause of this process is noticed.
            self.beat();
            if let Some(input) = input {
                self.step(input).await?;
            }
            // A heartbeat that has arrived counts before the silence that it ends.
            while arrivals.is_empty()
                && let Some(suspect) = self.suspect()
            {
                self.step(Input::Suspect(suspect)).await?;
            }
        }
    }

    /// Does what it is asked, and answers.
    pub(super) async fn obey(&mut self, Order { what, answer }: Order) -> Result<(), StorageError> {
        // A node that leads no longer, and has not noticed yet, refuses.
        self.step(Input::Wake).await?;
        let result = match self.refusal(what) {
            Some(refusal) => Err(refusal),
            None => {
                let (request, next) = what.request(self.node.successor());
                self.step(Input::Request(request)).await?;
                Ok(next)
            }
        };
        // One that does not wait for the answer any more needs none.
        let _ = answer.send(result);
        Ok(())
    }

    /// Why the node cannot do what it is asked.
    fn refusal(&self, what: What) -> Option<RequestError> {
        let Status { id: node, role, .. } = self.node.status();
        let other = |to: NodeId| to != node && self.node.config().hears(to);
        match what {
            _ if !C::REQUESTS => Some(RequestError::Unsupported { protocol: C::NAME }),
            What::HandOver(_) if role != Role::Leader => Some(RequestError::NotLeading { node }),
            What::HandOver(Some(to)) if !other(to) => Some(RequestError::NoSuccessor { node, to }),
            What::HandOver(_) | What::StepDown(_) | What::Healthy(_) => None,
        }
    }

    /// The last that it does: a leader hands over, so that no node waits for its lease to run out.
    async fn retire(mut self) -> Result<(), StorageError> {
        if C::REQUESTS && self.node.status().role == Role::Leader {
            let next = self.node.successor();
            self.step(Input::Request(Request::Yield(next))).await?;
            self.links.flush(LONGEST_FLUSH).await;
        }
        Ok(())
    }

    pub(super) fn until_wake(&self) -> Duration {
        let deadline = self.watch.as_ref().map(Watch::deadline);
        let next = self.wake.into_iter().chain(deadline).min();
        let wait = next.map(|next| next.since(self.clock.now()));
        wait.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
    }

    /// One input, and every effect it has, in the order in which they come: what must be durable
    /// is so before anything later is carried out.
    pub(super) async fn step(&mut self, input: Input<C::Message>) -> Result<(), StorageError> {
        self.node.handle(self.clock.now(), input);
        // First: when others are told that this node leads no longer, its program knows.
        self.lessee.hold(self.node.lease());
        while let Some(output) = self.node.poll() {
            match output {
                Output::Persist(state) => self.persist(state).await?,
                Output::Send { to, message } => self.links.send(to, message),
                Output::Event(event) => self.tell(event),
                Output::WakeAt(wake) => self.wake = wake,
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.look(self.node.watched(), self.clock.now());
        }
        Ok(())
    }

    /// Returns when `state` is durable. The disk keeps a thread of its own busy meanwhile.
    async fn persist(&mut self, state: C::Durable) -> Result<(), StorageError> {
        let mut storage = self.storage.take().ok_or(StorageError::Missing)?;
        let saved = tokio::task::spawn_blocking(move || (storage.save(&state), storage)).await;
        let (result, storage) = saved.map_err(|_| StorageError::Panicked)?;
        self.storage = Some(storage);
        result
    }

    /// A message is for the node, a heartbeat for its detector.
    fn hear(&mut self, arrival: Arrival<C::Message>) -> Option<Input<C::Message>> {
        let Arrival { from, incarnation, frame } = arrival;
        match frame {
            Frame::Message(message) => Some(Input::Receive { from, message }),
            Frame::Heartbeat => {
                let now = self.clock.now();
                self.watch.as_mut()?.heard(from, incarnation, now);
                None
            }
        }
    }

    /// Sends a heartbeat if one is due.
    fn beat(&mut self) {
        let now = self.clock.now();
        if self.watch.as_mut().is_some_and(|watch| watch.beats(now)) {
            self.links.heartbeat();
        }
    }

    fn suspect(&mut self) -> Option<NodeId> {
        let now = self.clock.now();
        let suspect = self.watch.as_mut()?.suspect(now)?;
        let node = self.node.status().id.get();
        tracing::debug!(node, peer = suspect.get(), "silent for too long");
        Some(suspect)
    }

    fn tell(&mut self, event: Event) {
        let node = self.node.status().id.get();
        let incarnation = self.incarnation;
        match event {
            Event::RoleChanged { from: was, to: role, leader, reason } => {
                let seq = self.publisher.publish(role, leader, Some(reason));
                let leader = leader.map(NodeId::get);
                let epoch = self.node.lease().map(|lease| lease.epoch.number());
                tracing::info!(
                    node, incarnation, seq, %was, %role, leader, epoch, reason = reason.name(),
                    "role changed: {reason}"
                );
            }
            Event::Ignored { from, cause } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                let (peer, reason) = (from.get(), cause.name());
                tracing::debug!(node, incarnation, peer, reason, "message ignored: {cause}");
            }
        }
    }
}

/// The one place where the program learns which node leads.
pub(super) struct Publisher(watch::Sender<Leadership>);

impl Publisher {
    pub(super) fn new(node: NodeId) -> (Self, watch::Receiver<Leadership>) {
        let (role, since) = (Role::NotStarted, Instant::now());
        let none = Leadership { node, role, leader: None, reason: None, seq: 0, since };
        let (sender, receiver) = watch::channel(none);
        (Self(sender), receiver)
    }

    /// Publishes a change, and returns its number.
    pub(super) fn publish(
        &self,
        role: Role,
        leader: Option<NodeId>,
        reason: Option<Reason>,
    ) -> u64 {
        self.0.send_modify(|now| {
            let seq = now.seq + 1;
            *now = Leadership { node: now.node, role, leader, reason, seq, since: Instant::now() };
        });
        self.0.borrow().seq
    }
}

/// Whatever ends the actor, be it a panic: a program must not go on believing that it leads.
impl Drop for Publisher {
    fn drop(&mut self) {
        self.publish(Role::NotStarted, None, None);
    }
}
