//! The loop around a [member](crate::member): one task owns it, tells it what happens, and does
//! what it wants done. It decides nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::gate::Asks;
use super::guard::Lessee;
use super::leadership::Publisher;
use super::order::{Answer, Order};
use crate::clock::Clock;
use crate::member::{self, Action, End, Event, Line, Member, Told};
use crate::protocol::{Core, Epoch, NodeId};
use crate::storage::StorageError;
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// How long a leader that leaves waits until what it said last is with the network.
const LONGEST_FLUSH: Duration = Duration::from_millis(500);

/// A member and its hands.
pub(super) struct Actor<C: Core, K: Clock> {
    pub(super) member: Member<C>,
    pub(super) links: Links<C::Message>,
    pub(super) disk: Disk<C::Durable>,
    pub(super) publisher: Publisher,
    pub(super) lessee: Lessee,
    /// Where the program is asked to prepare itself, if it wants to.
    pub(super) asks: Option<Asks>,
    pub(super) ignored: Arc<AtomicU64>,
    pub(super) incarnation: u64,
    pub(super) clock: K,
    /// How often it was asked for something.
    pub(super) asked: u64,
    /// Where the answers go that are not given yet.
    pub(super) answers: BTreeMap<u64, Answer>,
    /// How it has ended.
    pub(super) end: Option<End>,
}

/// What ends a wait of the loop.
enum Happened<M> {
    Stopped,
    Asked(Order),
    Answered(member::Answer),
    Arrived(Arrival<M>),
    Nothing,
}

impl<C: Core, K: Clock> Actor<C, K> {
    /// Takes part until it is told to stop, or nothing can arrive any more. A leader that is told
    /// to stop hands over first.
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
        let mut stopped = false;
        self.take(Event::Boot).await;
        loop {
            // What it did took its time.
            self.take(Event::Woke).await;
            if self.member.leaves() {
                return self.close().await;
            }
            let longest = self.member.wait(self.clock.now());
            let happened = tokio::select! {
                biased;
                () = stop.cancelled(), if !stopped => Happened::Stopped,
                Some(order) = orders.recv() => Happened::Asked(order),
                // However many arrive, no deadline is missed: the node looks at them first.
                arrival = arrivals.recv() => match arrival {
                    Some(arrival) => Happened::Arrived(arrival),
                    None => return Ok(()),
                },
                answer = self.disk.answered() => Happened::Answered(answer),
                () = self.links.news_of_one_gone() => Happened::Nothing,
                () = tokio::time::sleep(longest) => Happened::Nothing,
            };
            let event = match happened {
                Happened::Stopped => {
                    stopped = true;
                    Event::Stop
                }
                Happened::Asked(order) => self.ask(order),
                Happened::Answered(answer) => Event::Stored(answer),
                Happened::Arrived(arrival) => read(arrival),
                Happened::Nothing => Event::Woke,
            };
            self.take(event).await;
            // A heartbeat that has arrived counts before the silence that it ends.
            if arrivals.is_empty() {
                let gone = self.gone();
                self.take(Event::Idle { gone }).await;
            }
        }
    }

    /// Waits for nothing but the storage, until the member has ended.
    async fn close(&mut self) -> Result<(), StorageError> {
        loop {
            match self.end {
                Some(End::Left) => return Ok(()),
                Some(End::HandedOver) => {
                    self.links.flush(LONGEST_FLUSH).await;
                    return Ok(());
                }
                Some(End::Failed) => return Err(self.disk.failure()),
                None => {}
            }
            let longest = self.member.wait(self.clock.now());
            let event = tokio::select! {
                biased;
                answer = self.disk.answered() => Event::Stored(answer),
                () = tokio::time::sleep(longest) => Event::Woke,
            };
            self.take(event).await;
        }
    }

    /// Tells the member what happens, and does what it wants done. If work has to end first, waits
    /// for that.
    pub(super) async fn take(&mut self, event: Event<C::Message>) {
        let mut events = VecDeque::from([event]);
        // However much else has happened: an answer that is there is not late.
        if self.disk.has_answered() {
            events.push_front(Event::Stored(self.disk.answered().await));
        }
        while let Some(event) = events.pop_front() {
            for action in self.member.handle(self.clock.now(), event) {
                if let Some(event) = self.carry_out(action) {
                    events.push_front(event);
                }
            }
            if self.member.awaits_work() && events.is_empty() {
                events.push_front(self.work_ends().await);
            }
        }
        self.lessee.works().await_it(false);
    }

    /// Does one thing, and returns what happens at once because of it.
    fn carry_out(&mut self, action: Action<C::Durable, C::Message>) -> Option<Event<C::Message>> {
        match action {
            Action::Send(to, message) => self.links.send(to, message),
            Action::Beat => self.links.heartbeat(),
            Action::Save(state) => return self.disk.save(state).map(Event::Stored),
            Action::Probe => return self.disk.probe().map(Event::Stored),
            Action::Tell(told) => self.tell(told),
            Action::Renew(lease) => {
                self.lessee.hold(lease);
                self.publisher.renew(lease);
            }
            Action::Prepare(ask) => {
                if let Some(asks) = &self.asks {
                    asks.ask(ask);
                }
            }
            Action::EndWork(epoch) => return self.end_work(epoch),
            Action::Answer(ticket, answer) => {
                if let Some(waits) = self.answers.remove(&ticket) {
                    // One that does not wait for the answer any more needs none.
                    let _ = waits.send(answer);
                }
            }
            Action::Stalled(problem) => self.stalled(problem),
            Action::Log(line) => self.log(line),
            Action::End(end) => self.end = Some(end),
        }
        None
    }

    /// Something is asked of the member.
    pub(super) fn ask(&mut self, Order { what, answer }: Order) -> Event<C::Message> {
        self.asked += 1;
        let ticket = self.asked;
        self.answers.insert(ticket, answer);
        Event::Asked { ticket, what }
    }

    /// The nodes that are gone, if it matters.
    pub(super) fn gone(&self) -> BTreeSet<NodeId> {
        if self.member.looks_for_gone() { self.links.gone() } else { BTreeSet::new() }
    }

    /// Tells the program and the log what is so from now on. The guards say so first.
    fn tell(&self, told: Told) {
        let (node, incarnation) = (told.node().get(), self.incarnation);
        let was = self.publisher.latest().role;
        self.lessee.hold(told.lease());
        self.publisher.publish(told);
        let Some(reason) = told.reason() else { return };
        let (seq, role) = (told.seq(), told.role());
        let (leader, epoch) = (told.leader().map(NodeId::get), told.epoch().map(Epoch::number));
        tracing::info!(
            node, incarnation, seq, %was, %role, leader, epoch, reason = reason.name(),
            "role changed: {reason}"
        );
    }

    /// The storage does not answer, or does again.
    fn stalled(&self, problem: Option<String>) {
        let node = self.id();
        self.disk.set_stalled(problem.is_some());
        match problem {
            Some(error) => tracing::error!(
                node,
                error,
                "the storage does not answer: what depends on it waits"
            ),
            None => tracing::info!(node, "the storage answers again"),
        }
    }

    fn log(&self, line: Line) {
        let (node, incarnation) = (self.id(), self.incarnation);
        match line {
            Line::Ignored { from, cause } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                let (peer, reason) = (from.get(), cause.name());
                tracing::debug!(node, incarnation, peer, reason, "message ignored: {cause}");
            }
            Line::Silent(peer) => {
                tracing::debug!(node, peer = peer.get(), "silent for too long");
            }
            Line::InVain(gone) => {
                tracing::debug!(node, "waits no longer for {gone} nodes that are gone");
            }
            Line::Unprepared => tracing::error!(
                node,
                protocol = C::NAME,
                "leads without its program, which is not prepared: nodes of this \
                 protocol cannot step down"
            ),
            Line::WorkLeft(epoch) => {
                let epoch = epoch.number();
                tracing::warn!(node, epoch, "the work has not ended, and the lease is over");
            }
            Line::Unsaved => {
                tracing::warn!(node, "leaves without its storage, which does not answer");
            }
        }
    }

    /// The number of the node.
    pub(super) fn id(&self) -> u16 {
        self.member.told().node().get()
    }
}

/// A message is for the node, a heartbeat for its detector.
fn read<M>(Arrival { from, incarnation, frame }: Arrival<M>) -> Event<M> {
    match frame {
        Frame::Message(message) => Event::Received { from, message },
        Frame::Heartbeat => Event::Heard { from, incarnation },
        Frame::Quiet => Event::Woke,
    }
}
