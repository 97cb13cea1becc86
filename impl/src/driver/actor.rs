//! The loop around a node: one task owns it, tells it what happens, and does what it wants done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::gate::Gate;
use super::guard::Lessee;
use super::leadership::{News, Publisher};
use super::order::{Answer, Order, RequestError, What};
use super::pause::Awake;
use super::unsaved::{Now, Unsaved};
use super::watch::Watch;
use crate::clock::Clock;
use crate::protocol::{
    Core, Epoch, Event, Input, Lease, Membership as _, Node, NodeId, Reason, Request, Role, Status,
    Time,
};
use crate::storage::StorageError;
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// The longest sleep. The timers of the runtime stop while the machine sleeps, the deadlines of the
/// core do not: after a sleep a passed deadline is noticed at most this much later.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How long a node that leaves waits for its storage, and a leader then until what it said last is
/// with the network.
const LONGEST_FLUSH: Duration = Duration::from_millis(500);

/// An answer that waits, and the node that is next.
pub(super) type Handover = (Answer, Option<NodeId>);

/// A node and its hands.
pub(super) struct Actor<C: Core, K: Clock> {
    pub(super) node: Node<C>,
    pub(super) links: Links<C::Message>,
    pub(super) disk: Disk<C::Durable>,
    /// What waits for that.
    pub(super) unsaved: Unsaved<C::Durable, C::Message>,
    /// Whether the program says that the machine is fit to lead.
    pub(super) healthy: bool,
    /// `None` for protocols that detect failures by themselves.
    pub(super) watch: Option<Watch>,
    pub(super) publisher: Publisher,
    pub(super) lessee: Lessee,
    pub(super) ignored: Arc<AtomicU64>,
    pub(super) incarnation: u64,
    /// Answers that are given once it leads no longer.
    pub(super) handovers: Vec<Handover>,
    pub(super) clock: K,
    pub(super) wake: Option<Time>,
    pub(super) awake: Awake,
    /// It leads, and was paused: until it says again that it does.
    pub(super) resume: Option<Time>,
    /// It leads, and is not to run again before that once it does not.
    pub(super) frozen: Option<Time>,
    /// What keeps the program from knowing that the node leads before it is prepared.
    pub(super) gate: Option<Gate>,
}

/// What ends a wait of the loop.
enum Happened<M> {
    Stopped,
    Asked(Order),
    Answered(Result<bool, StorageError>),
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
        self.step(Input::Boot).await?;
        let mut leaves = false;
        loop {
            self.answer();
            if leaves && !self.leads() {
                self.close().await?;
                self.links.flush(LONGEST_FLUSH).await;
                return Ok(());
            }
            // What it did took its time.
            self.look();
            let longest = self.until_wake();
            self.awake.waits(self.clock.now(), longest);
            let happened = tokio::select! {
                biased;
                () = stop.cancelled(), if !leaves => Happened::Stopped,
                Some(order) = orders.recv() => Happened::Asked(order),
                // However many arrive, no deadline is missed: the node looks at them first.
                arrival = arrivals.recv() => match arrival {
                    Some(arrival) => Happened::Arrived(arrival),
                    None => return Ok(()),
                },
                answered = self.disk.answered() => Happened::Answered(answered),
                () = self.links.news_of_one_gone() => Happened::Nothing,
                () = tokio::time::sleep(longest) => Happened::Nothing,
            };
            // Before anything else: this is where a pause of this process is noticed.
            self.look();
            self.beat();
            let input = match happened {
                Happened::Stopped if !C::REQUESTS || !self.leads() => return self.close().await,
                // No node is to wait for its lease to run out.
                Happened::Stopped => {
                    leaves = true;
                    Some(Input::Request(Request::Yield(self.node.successor())))
                }
                Happened::Asked(order) => {
                    self.obey(order).await?;
                    None
                }
                // Its deadlines come first, before it is told that it leads.
                Happened::Answered(answered) => {
                    self.note(answered)?;
                    Some(Input::Wake)
                }
                Happened::Arrived(arrival) => self.hear(arrival),
                Happened::Nothing => Some(Input::Wake),
            };
            if let Some(input) = input {
                self.step(input).await?;
            }
            // A heartbeat that has arrived counts before the silence that it ends.
            while arrivals.is_empty()
                && let Some(suspect) = self.suspect()
            {
                self.step(Input::Suspect(suspect)).await?;
            }
            if arrivals.is_empty() {
                self.wait_in_vain().await?;
            }
            self.look_at_disk().await?;
        }
    }

    /// The node leaves. What its storage has not acknowledged soon may be lost, and what depends on
    /// that is not sent.
    async fn close(&mut self) -> Result<(), StorageError> {
        let saved = tokio::time::timeout(LONGEST_FLUSH, self.save_all()).await;
        saved.unwrap_or_else(|_| {
            let node = self.node.status().id.get();
            tracing::warn!(node, "leaves without its storage, which does not answer");
            Ok(())
        })
    }

    /// Lets a timer expire that only waits for nodes that are gone, and whatever waits for them
    /// after that. All that they have sent has arrived.
    async fn wait_in_vain(&mut self) -> Result<(), StorageError> {
        for _ in C::TIMERS {
            let waits = self.node.waits_for();
            let vain =
                waits.filter(|(_, nodes)| nodes.iter().all(|&node| self.links.is_gone(node)));
            let Some((timer, nodes)) = vain else { break };
            let (node, gone) = (self.node.status().id.get(), nodes.len());
            tracing::debug!(node, "waits no longer for {gone} nodes that are gone");
            self.node.bring_forward(timer, self.clock.now());
            self.step(Input::Wake).await?;
        }
        Ok(())
    }

    /// Does what it is asked, and answers.
    pub(super) async fn obey(&mut self, Order { what, answer }: Order) -> Result<(), StorageError> {
        // A node that leads no longer, and has not noticed yet, refuses.
        self.step(Input::Wake).await?;
        let result = match (self.refusal(what), what) {
            (Some(refusal), _) => Err(refusal),
            (None, What::Freeze(time)) if self.leads() => {
                self.frozen = Some(self.clock.now() + time);
                Ok(None)
            }
            (None, What::Healthy(healthy)) => {
                self.healthy = healthy;
                self.step(self.fitness()).await?;
                Ok(None)
            }
            (None, What::Prepared(number)) => {
                self.open(number);
                Ok(None)
            }
            (None, What::Unprepared(number, _)) if !self.gives_up(number) => Ok(None),
            (None, _) => {
                // What was asked last counts.
                self.frozen = self.frozen.filter(|_| !matches!(what, What::StepDown(_)));
                let (request, next) = what.request(self.node.successor());
                if let Some(request) = request {
                    self.step(Input::Request(request)).await?;
                }
                if matches!(what, What::HandOver(_) | What::StepDown(_)) {
                    self.handovers.push((answer, next));
                    self.answer();
                    return Ok(());
                }
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
            What::Answer | What::Prepared(_) | What::Unprepared(..) => None,
            _ if !C::REQUESTS => Some(RequestError::Unsupported { protocol: C::NAME }),
            What::HandOver(_) if role != Role::Leader => Some(RequestError::NotLeading { node }),
            What::HandOver(Some(to)) if !other(to) => Some(RequestError::NoSuccessor { node, to }),
            What::HandOver(Some(to)) if !C::may_lead(self.node.config(), to) => {
                Some(RequestError::Observer { to })
            }
            What::HandOver(_) | What::StepDown(_) | What::Freeze(_) | What::Healthy(_) => None,
        }
    }

    /// The program is prepared: it is told that its node leads.
    fn open(&mut self, number: u64) {
        let gate = self.gate.as_mut().filter(|gate| gate.is_held(number));
        if let Some(reason) = gate.and_then(Gate::open) {
            let Status { role, leader, .. } = self.node.status();
            self.lessee.hold(self.lease());
            self.announce(role, leader, reason);
        }
    }

    /// The program cannot prepare itself. Whether the node steps down.
    fn gives_up(&mut self, number: u64) -> bool {
        let Some(gate) = self.gate.as_mut().filter(|gate| gate.is_held(number)) else {
            return false;
        };
        gate.give_up();
        if !C::REQUESTS {
            let (node, protocol) = (self.node.status().id.get(), C::NAME);
            tracing::error!(
                node,
                protocol,
                "leads without its program, which is not prepared: nodes of this \
                 protocol cannot step down"
            );
        }
        C::REQUESTS
    }

    /// The lease that the node has, as its program may know it: one whose epoch is not durable yet
    /// may be lost.
    fn lease(&self) -> Option<Lease> {
        let lease = self.node.lease().filter(|_| self.gate.as_ref().is_none_or(Gate::is_open));
        let told = self.publisher.latest();
        self.unsaved.lease(lease, told.epoch.filter(|_| told.is_self()))
    }

    /// Notices a pause. The others may follow another leader by now, also where the protocol does
    /// not tell this one: its program is told that it leads no longer. If it leads still when the
    /// others have had the time to hear so, it is told that.
    pub(super) fn look(&mut self) {
        let now = self.clock.now();
        let again = now + self.awake.silence();
        if self.awake.runs(now) {
            if self.publisher.latest().is_self() {
                self.announce(Role::Waiting, None, Reason::PAUSED);
                self.resume = Some(again);
            }
            self.resume = self.resume.map(|_| again);
        }
        if self.resumes().is_some_and(|resume| resume <= now) {
            self.resume = None;
            let Status { role, leader, .. } = self.node.status();
            self.announce(role, leader, Reason::RESUMED);
        }
    }

    /// When its program is told that it leads still: not before the others can be.
    fn resumes(&self) -> Option<Time> {
        self.resume.filter(|_| !self.is_behind())
    }

    /// Answers those that have asked it to lead no longer, once it does not.
    pub(super) fn answer(&mut self) {
        if !self.leads() {
            for (answer, next) in self.handovers.drain(..) {
                let _ = answer.send(Ok(next));
            }
        }
    }

    fn leads(&self) -> bool {
        self.node.status().role == Role::Leader
    }

    pub(super) fn until_wake(&self) -> Duration {
        let deadline = self.watch.as_ref().map(Watch::deadline);
        let next = self.wake.into_iter().chain(deadline).chain(self.resumes());
        let next = next.chain(self.disk_deadline()).min();
        let wait = next.map(|next| next.since(self.clock.now()));
        wait.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP)
    }

    /// One input, and every effect it has. A leader that was frozen, and leads no longer, does not
    /// run until the time is over.
    pub(super) async fn step(&mut self, input: Input<C::Message>) -> Result<(), StorageError> {
        self.carry_out(input).await?;
        if self.node.status().role != Role::Leader
            && let Some(until) = self.frozen.take()
        {
            let rest = until.since(self.clock.now());
            self.carry_out(Input::Request(Request::StepDown(None, rest))).await?;
        }
        Ok(())
    }

    /// The effects: what is sent waits in its order for what must be durable before it, and the
    /// program is told at once whatever does not depend on that.
    async fn carry_out(&mut self, input: Input<C::Message>) -> Result<(), StorageError> {
        let led = self.lease();
        self.node.handle(self.clock.now(), input);
        let leads = self.lease().map(|lease| lease.epoch);
        if let Some(lease) = led.filter(|led| leads != Some(led.epoch)) {
            self.end_work(lease).await;
        }
        let now = self.clock.now();
        let mut events = Vec::new();
        while let Some(output) = self.node.poll() {
            match self.unsaved.sort(now, output) {
                Some(Now::Tell(event)) => events.push(event),
                Some(Now::WakeAt(wake)) => self.wake = wake,
                None => {}
            }
        }
        // First: when others are told that this node leads no longer, its program knows.
        self.lessee.hold(self.lease());
        for event in events {
            self.tell(event);
        }
        self.catch_up()?;
        if let Some(watch) = &mut self.watch {
            watch.look(self.node.watched(), self.clock.now());
        }
        Ok(())
    }

    /// What the program may know of the epoch and the lease.
    pub(super) fn publish(&mut self) {
        self.lessee.hold(self.lease());
        // Of its own epoch it is told when that is durable.
        if !self.leads() || !self.is_behind() {
            self.compare_epochs();
        }
        self.publisher.renew(self.lease());
    }

    /// Tells the program of a leader that leads another epoch.
    fn compare_epochs(&mut self) {
        let epoch = self.node.epoch();
        if self.gate.as_ref().is_some_and(|gate| !gate.is_for(epoch)) {
            let Status { role, leader, .. } = self.node.status();
            return self.change(role, leader, Reason::NEXT_EPOCH);
        }
        let now = self.publisher.latest();
        if now.leader.is_some() && now.epoch != self.epoch(now.leader) {
            self.change(now.role, now.leader, Reason::NEXT_EPOCH);
        }
    }

    /// The node sees another role, leader or epoch. If there is a gate, its program is not told
    /// before it is prepared that it leads.
    fn change(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let epoch = self.epoch(leader);
        match &mut self.gate {
            Some(gate) if role == Role::Leader => {
                gate.approach(epoch, reason);
                self.lessee.hold(None);
                self.announce(Role::Waiting, None, Reason::PREPARING);
            }
            gate => {
                if let Some(gate) = gate {
                    gate.withdraw();
                }
                self.announce(role, leader, reason);
            }
        }
    }

    /// A message is for the node, a heartbeat for its detector.
    fn hear(&mut self, arrival: Arrival<C::Message>) -> Option<Input<C::Message>> {
        let Arrival { from, incarnation, frame } = arrival;
        match frame {
            Frame::Message(message) => Some(Input::Receive { from, message }),
            Frame::Quiet => None,
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
        let due = self.watch.as_mut().is_some_and(|watch| watch.beats(now));
        // One that can say nothing else is as good as gone.
        if due && !self.is_silenced() {
            self.links.heartbeat();
        }
    }

    fn suspect(&mut self) -> Option<NodeId> {
        let now = self.clock.now();
        let links = &self.links;
        let suspect = self.watch.as_mut()?.suspect(now, |node| links.is_gone(node))?;
        let node = self.node.status().id.get();
        tracing::debug!(node, peer = suspect.get(), "silent for too long");
        Some(suspect)
    }

    pub(super) fn tell(&mut self, event: Event) {
        match event {
            Event::RoleChanged { to, leader, reason, .. } => {
                self.resume = None;
                self.disk.withdrawn = false;
                self.change(to, leader, self.unfit(reason));
            }
            Event::Ignored { from, cause } => {
                self.ignored.fetch_add(1, Ordering::Relaxed);
                let (node, incarnation) = (self.node.status().id.get(), self.incarnation);
                let (peer, reason) = (from.get(), cause.name());
                tracing::debug!(node, incarnation, peer, reason, "message ignored: {cause}");
            }
        }
    }

    /// The epoch of this leader; it is known of the one that the node follows now, or is.
    fn epoch(&self, leader: Option<NodeId>) -> Option<Epoch> {
        leader.filter(|_| self.node.status().leader == leader).and_then(|_| self.node.epoch())
    }

    /// Tells the program and the log what is so from now on.
    pub(super) fn announce(&self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let (node, incarnation) = (self.node.status().id.get(), self.incarnation);
        let was = self.publisher.latest().role;
        let epoch = self.epoch(leader);
        let lease = self.node.lease();
        let seq = self.publisher.publish(News { role, leader, epoch, lease, reason });
        let (leader, epoch) = (leader.map(NodeId::get), epoch.map(Epoch::number));
        tracing::info!(
            node, incarnation, seq, %was, %role, leader, epoch, reason = reason.name(),
            "role changed: {reason}"
        );
    }
}
