//! The loop around a core: one task owns it, tells it what happens, and does what it wants done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::Leadership;
use super::clock::Clock;
use crate::protocol::{
    Core, Event, Input, Node, NodeId, Nothing, Output, Reason, Role, Status, Time,
};
use crate::transport::Links;

/// The longest sleep. The timers of the runtime stop while the machine sleeps, the deadlines of the
/// core do not: after a sleep a passed deadline is noticed at most this much later.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// A core and its hands.
pub(super) struct Actor<C: Core> {
    pub(super) core: Node<C>,
    pub(super) links: Links<C::Message>,
    pub(super) publisher: Publisher,
    pub(super) ignored: Arc<AtomicU64>,
    pub(super) incarnation: u64,
    pub(super) clock: Clock,
    pub(super) wake: Option<Time>,
}

impl<C: Core<Durable = Nothing>> Actor<C> {
    /// Takes part until it is told to stop, or nothing can arrive any more.
    pub(super) async fn run(
        mut self,
        mut arrivals: mpsc::Receiver<(NodeId, C::Message)>,
        stop: CancellationToken,
    ) {
        self.step(Input::Boot);
        loop {
            let input = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // However many arrive, no deadline is missed: the core looks at them first.
                arrival = arrivals.recv() => match arrival {
                    Some((from, message)) => Input::Receive { from, message },
                    None => return,
                },
                () = tokio::time::sleep(self.until_wake()) => Input::Wake,
            };
            self.step(input);
        }
    }

    fn until_wake(&self) -> Duration {
        let wait = self.wake.map(|wake| wake.since(self.clock.now()));
        wait.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
    }

    /// One input, and every effect it has, in the order in which they come: what must be durable
    /// would be made so before anything later is carried out.
    fn step(&mut self, input: Input<C::Message>) {
        self.core.handle(self.clock.now(), input);
        while let Some(output) = self.core.poll() {
            match output {
                Output::Persist(nothing) => match nothing {},
                Output::Send { to, message } => self.links.send(to, message),
                Output::Event(event) => self.tell(event),
                Output::WakeAt(wake) => self.wake = wake,
            }
        }
    }

    fn tell(&mut self, event: Event) {
        let Status { id: node, .. } = self.core.status();
        let incarnation = self.incarnation;
        match event {
            Event::RoleChanged { from, to, leader, reason } => {
                let seq = self.publisher.publish(to, leader, Some(reason));
                let leader = leader.map(NodeId::get);
                tracing::info!(
                    %node, incarnation, seq, %from, %to, leader, reason = ?reason,
                    "role changed: {reason}"
                );
            }
            Event::Ignored { from, cause } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%node, incarnation, %from, %cause, "message ignored");
            }
        }
    }
}

/// The one place where the program learns who leads.
pub(super) struct Publisher(watch::Sender<Leadership>);

impl Publisher {
    pub(super) fn new(node: NodeId) -> (Self, watch::Receiver<Leadership>) {
        let (role, since) = (Role::NotStarted, Instant::now());
        let nobody = Leadership { node, role, leader: None, reason: None, seq: 0, since };
        let (sender, receiver) = watch::channel(nobody);
        (Self(sender), receiver)
    }

    /// Publishes a change, and returns its number.
    fn publish(&self, role: Role, leader: Option<NodeId>, reason: Option<Reason>) -> u64 {
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
