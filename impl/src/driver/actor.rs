//! The loop around a [member](crate::member): one task owns it, tells it what happens, and does
//! what it wants done. It decides nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use humantime::format_duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::commands::{Command, CommandRequest, ReplySender};
use super::commit::Disk;
use super::guard::LeaseWriter;
use super::leadership::{Leadership, Publisher};
use super::lists;
use super::observed::Observed;
use super::trace::{self, Trace};
use super::work::PANIC_PAUSE;
use crate::clock::Clock;
use crate::config::Address;
use crate::member::{
    Action, End, Event, LogLine, Member, PreparationRequest, ProgramView, StorageAnswer,
};
use crate::protocol::quorum::{Lists, WaitsToVote};
use crate::protocol::{Core, Epoch, Members, NodeId, Reason, Role, Time};
use crate::storage::StorageError;
use crate::store::Holder;
use crate::trace::{Deed, Entry, Received};
use crate::transport::frame::Frame;
use crate::transport::{Arrival, Links};

/// How long a node that is no member any more has to hear that.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

/// How long a leader that leaves waits until what it said last is with the network.
const LONGEST_FLUSH: Duration = Duration::from_millis(500);

/// A member, and what carries out its actions.
pub(super) struct NodeLoop<C: Core, K: Clock> {
    pub(super) member: Member<C>,
    pub(super) links: Links<C::Message>,
    pub(super) lists: lists::LoopEnd,
    pub(super) disk: Disk<C::Durable>,
    pub(super) publisher: Publisher,
    pub(super) lease_writer: LeaseWriter,
    /// The request to the program to prepare itself, if there is one.
    pub(super) preparation: watch::Sender<Option<PreparationRequest>>,
    pub(super) seen: Arc<Observed>,
    pub(super) clock: K,
    /// How often it was asked for something.
    pub(super) tickets: u64,
    /// Where the answers go that are not given yet.
    pub(super) replies: BTreeMap<u64, ReplySender>,
    /// When the links to members that have left end.
    pub(super) cuts_off: Option<Instant>,
    /// How it has ended.
    pub(super) end: Option<End>,
    /// Where the steps of its node are written, if they are.
    pub(super) trace: Option<Trace<C::Durable, C::Message>>,
}

impl<C: Core, K: Clock> NodeLoop<C, K> {
    /// Takes part until it is told to stop, or nothing can arrive any more. A leader that is told
    /// to stop hands over first.
    ///
    /// # Errors
    ///
    /// A [`StorageError`] when something could not be made durable. What depends on it is not sent.
    pub(super) async fn run(
        mut self,
        mut arrivals: mpsc::Receiver<Arrival<C::Message>>,
        mut commands: mpsc::Receiver<CommandRequest>,
        stop: CancellationToken,
    ) -> Result<(), StorageError> {
        self.handle(Event::Start).await;
        let mut stopped = false;
        loop {
            // What it did took its time.
            self.handle(Event::Wake).await;
            if self.member.leaves() {
                return self.close().await;
            }
            let longest = self.member.wait(self.clock.now());
            let event = tokio::select! {
                biased;
                () = stop.cancelled(), if !stopped => {
                    stopped = true;
                    Event::Stop
                }
                () = self.lease_writer.work_tracker().panicked() => self.step_down_after_panic(),
                Some(request) = commands.recv() => self.accept_command(request),
                Some(request) = self.lists.asked.recv() => Event::Request(request),
                // However many arrive, no deadline is missed: the node looks at them first.
                arrival = arrivals.recv() => match arrival {
                    Some(arrival) => event_of(arrival),
                    None => return Ok(()),
                },
                answer = self.disk.answered() => Event::StorageAnswered(answer),
                () = self.links.peer_gone() => Event::Wake,
                () = sleep_until(self.cuts_off.unwrap_or_else(Instant::now)),
                    if self.cuts_off.is_some() => {
                        self.cut_off();
                        Event::Wake
                    }
                () = tokio::time::sleep(longest) => Event::Wake,
            };
            self.handle(event).await;
            // A heartbeat that has arrived counts before the silence that it ends.
            if arrivals.is_empty() {
                let gone = self.gone();
                self.handle(Event::Drained { gone }).await;
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
                answer = self.disk.answered() => Event::StorageAnswered(answer),
                () = tokio::time::sleep(longest) => Event::Wake,
            };
            self.handle(event).await;
        }
    }

    /// Tells the member what happens, and does what it wants done. If work has to end first, waits
    /// for that.
    pub(super) async fn handle(&mut self, event: Event<C::Message>) {
        let mut events = VecDeque::from([event]);
        // However much else has happened: an answer that is there is not late.
        if self.disk.has_answered() {
            events.push_front(Event::StorageAnswered(self.disk.answered().await));
        }
        while let Some(event) = events.pop_front() {
            let now = self.clock.now();
            self.trace_event(now, &event);
            for action in self.member.handle(now, event) {
                if let Some(event) = self.execute(now, action) {
                    events.push_front(event);
                }
            }
            if self.member.awaits_work() && events.is_empty() {
                events.push_front(self.wait_for_work().await);
            }
        }
        self.lease_writer.work_tracker().set_awaited(false);
        self.tell_vote();
    }

    /// Tells the program and the log whether the node waits for its vote.
    fn tell_vote(&self) {
        let (node, id) = (self.id(), self.member.view().node());
        let core = self.member.node().core();
        let waits = core.and_then(|core| core.waits_to_vote(id));
        let is_new = matches!(waits, Some(WaitsToVote::ToFound { .. }));
        let change = self.lists.tell_waits(waits);
        if let Some(votes) = change.filter(|_| !self.lists.is_by_file()) {
            self.links.cluster.change(|own| own.votes = votes);
        }
        match change {
            Some(false) if is_new => tracing::info!(
                node,
                "this node starts without a state, and does not vote before each other voter has \
                 met it or a leader lets it in"
            ),
            Some(false) => {
                tracing::info!(node, "this node has no vote before a leader lets it in");
            }
            Some(true) if core.and_then(C::lists).is_some_and(|lists| lists.latest().votes(id)) => {
                tracing::info!(node, "this node votes");
            }
            Some(true) | None => {}
        }
    }

    /// Does one thing that was decided at `now`, and returns what happens at once because of it.
    fn execute(
        &mut self,
        now: Time,
        action: Action<C::Durable, C::Message>,
    ) -> Option<Event<C::Message>> {
        match action {
            Action::Send(sent) => {
                self.trace_deed(Deed::Sent(sent.id));
                self.links.send(sent);
            }
            Action::SendHeartbeat => self.links.heartbeat(),
            Action::TellRival(rival) => self.links.tell_rival(rival),
            Action::Save(state) => {
                self.trace_deed(Deed::Saving);
                return self.disk.save(state).map(Event::StorageAnswered);
            }
            Action::Probe => return self.disk.probe().map(Event::StorageAnswered),
            Action::Publish(view) => {
                self.publish(view);
                self.trace_deed(trace::told(&view));
            }
            Action::RenewLease(lease) => {
                if let Some(left) = self.lease_writer.set(lease) {
                    let node = self.id();
                    tracing::warn!(
                        node,
                        left_ms = left.as_millis(),
                        "less than a third of the lease was left when it was renewed: the network \
                         or this machine is slow"
                    );
                }
                self.publisher.renew(lease);
            }
            Action::Change(lists) => self.change_lists(lists),
            Action::Prepare(request) => {
                self.preparation.send_replace(request);
            }
            Action::EndWork(epoch) => return self.end_work(epoch),
            Action::Reply(ticket, reply) => {
                if let Some(sender) = self.replies.remove(&ticket) {
                    // One that does not wait for the answer any more needs none.
                    let _ = sender.send(reply);
                }
            }
            Action::Stalled(problem) => self.stalled(problem),
            Action::Log(line) => self.log(line),
            Action::Trace(step) => {
                if let Some(trace) = &mut self.trace {
                    trace.add(now, Entry::Step(*step));
                }
            }
            Action::End(end) => {
                self.end = Some(end);
                self.trace_deed(Deed::Ended);
            }
        }
        None
    }

    /// Connects to the members of the lists from now on, and to no other, unless the file alone
    /// says which there are; and tells the program.
    fn change_lists(&mut self, lists: Lists) {
        let (node, id) = (self.id(), self.member.view().node());
        if !self.lists.is_by_file() {
            let before = self.lists.now();
            self.links.set_members(peers(&before, id).chain(peers(&lists, id)));
            self.links.cluster.change(|own| own.mark = lists.mark);
            // One that has left hears that first.
            self.cuts_off = Some(Instant::now() + LEFT_WITHIN);
        }
        let config_epoch = lists.latest().config_epoch();
        match &lists.pending {
            Some(next) => tracing::info!(node, config_epoch, "the next members are to be {next}"),
            None => tracing::info!(node, config_epoch, "the members are {}", lists.decided),
        }
        if !lists.each().any(|list| list.contains(id)) {
            tracing::warn!(node, "{}", lists::no_member(&lists));
        }
        self.lists.tell(lists);
    }

    /// A member that has left has had the time to hear that.
    fn cut_off(&mut self) {
        self.cuts_off = None;
        self.links.set_members(peers(&self.lists.now(), self.member.view().node()));
    }

    /// Something is asked of the member.
    pub(super) fn accept_command(
        &mut self,
        CommandRequest { command, reply }: CommandRequest,
    ) -> Event<C::Message> {
        let preparation = self.member.pending_preparation().map(|asked| asked.number);
        self.seen.eligibility.note(self.clock.now(), command, C::REQUESTS, preparation);
        self.tickets += 1;
        let ticket = self.tickets;
        self.replies.insert(ticket, reply);
        Event::Command { ticket, command }
    }

    /// The nodes that are gone, if it matters.
    pub(super) fn gone(&self) -> BTreeSet<NodeId> {
        if self.member.tracks_gone_nodes() { self.links.gone() } else { BTreeSet::new() }
    }

    /// Tells the program and the log what is so from now on. The guards say so first. An attempt to
    /// find a leader is a line for those who look for the cause, and no change.
    fn publish(&self, view: ProgramView) {
        let (node, incarnation) = (view.node().get(), self.seen.hello.incarnation);
        let Leadership { role: was, leader: before, .. } = self.publisher.latest();
        self.lease_writer.set(view.lease());
        let is_change = self.publisher.publish(view);
        let (seq, attempts, role) = (view.seq(), view.attempts(), view.role());
        if let Some(rival) = view.rival().filter(|_| is_change) {
            let (peer, reason) = (rival.get(), Reason::RIVAL_HEARD.name());
            return tracing::warn!(
                node,
                incarnation,
                seq,
                peer,
                reason,
                "node {peer} led at the same time as this one: what both have done as leaders may \
                 have to be reconciled"
            );
        }
        let Some(reason) = view.reason() else { return };
        if !is_change {
            return tracing::debug!(
                node, incarnation, attempts, %was, %role, reason = reason.name(),
                "no leader yet: {reason}"
            );
        }
        self.seen.eligibility.note_change();
        let (leader, epoch) = (view.leader().map(NodeId::get), view.epoch().map(Epoch::number));
        let lost = before.filter(|_| view.leader() != before);
        let links = lost.map(|lost| self.links.explain_loss(lost));
        // The name of a member is its id.
        let holder = self.links.store_view().filter(|_| leader.is_some()).and_then(|it| it.holder);
        let holder = holder.as_ref().map(Holder::name);
        let holder = holder.filter(|name| name.parse::<NodeId>().is_err());
        let fact = match (holder, leader) {
            _ if role == Role::Leader => "leads".to_owned(),
            (Some(holder), _) => format!("follows {holder}"),
            (None, Some(leader)) => format!("follows node {leader}"),
            (None, None) if role == Role::NotStarted => "takes part no longer".to_owned(),
            (None, None) if reason == Reason::PREPARING => "was elected".to_owned(),
            (None, None) if before == Some(view.node()) => "leads no longer".to_owned(),
            (None, None) if before.is_some() => "has lost its leader".to_owned(),
            (None, None) => "knows no leader".to_owned(),
        };
        let of_epoch = epoch.map(|epoch| format!(" (epoch {epoch})")).unwrap_or_default();
        tracing::info!(
            node, incarnation, seq, %was, %role, leader, holder, epoch, reason = reason.name(),
            links = links.as_deref(), "node {node} {fact}{of_epoch}: {reason}"
        );
    }

    /// The storage does not answer, or does again.
    fn stalled(&self, problem: Option<String>) {
        let node = self.id();
        self.seen.stalled.store(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(error) => tracing::error!(
                node,
                error,
                "the storage does not answer: what depends on it waits"
            ),
            None => tracing::info!(node, "the storage answers again"),
        }
    }

    fn log(&self, line: LogLine) {
        let (node, incarnation) = (self.id(), self.seen.hello.incarnation);
        match line {
            LogLine::Ignored { from, cause } => {
                self.seen.ignored.fetch_add(1, Ordering::Relaxed);
                let (peer, reason) = (from.get(), cause.name());
                tracing::debug!(node, incarnation, peer, reason, "message ignored: {cause}");
            }
            LogLine::Silent(peer) => {
                tracing::debug!(node, peer = peer.get(), "silent for too long");
            }
            LogLine::WaitAbandoned(gone) => {
                tracing::debug!(node, "waits no longer for {gone} nodes that are gone");
            }
            LogLine::Unprepared => tracing::error!(
                node,
                protocol = C::NAME,
                "leads without its program, which is not prepared: nodes of this \
                 protocol cannot step down"
            ),
            LogLine::WorkUnfinished(epoch) => {
                let epoch = epoch.number();
                tracing::warn!(node, epoch, "the work has not ended, and the lease is over");
            }
            LogLine::Unsaved => {
                tracing::warn!(node, "leaves without its storage, which does not answer");
            }
        }
    }

    /// Ends the work of this epoch. Returns that it has ended, if none is under way.
    fn end_work(&self, epoch: Epoch) -> Option<Event<C::Message>> {
        let work = self.lease_writer.work_tracker();
        if work.ask_to_end(epoch) {
            return Some(Event::WorkEnded);
        }
        let (node, epoch) = (self.id(), epoch.number());
        tracing::info!(node, epoch, "is to lead no longer, and waits until its work has ended");
        work.set_awaited(true);
        None
    }

    /// Work has panicked. Returns what the node is asked because of that.
    pub(super) fn step_down_after_panic(&mut self) -> Event<C::Message> {
        self.lease_writer.work_tracker().forget_panic();
        let (node, time) = (self.id(), format_duration(PANIC_PAUSE));
        tracing::error!(
            node,
            "the work of the leader has panicked: the node hands over, and does not stand for \
             election for {time}"
        );
        // No process waits for the answer.
        let (reply, _) = oneshot::channel();
        self.accept_command(CommandRequest { command: Command::StepDown(PANIC_PAUSE), reply })
    }

    /// Waits until the work has ended, for as long as the member says.
    async fn wait_for_work(&mut self) -> Event<C::Message> {
        let longest = self.member.wait(self.clock.now());
        tokio::select! {
            biased;
            () = self.lease_writer.work_tracker().ended() => Event::WorkEnded,
            () = tokio::time::sleep(longest) => Event::Wake,
        }
    }

    /// Adds to the trace that a state is saved, if the member is about to be told that.
    fn trace_event(&mut self, now: Time, event: &Event<C::Message>) {
        let is_done = matches!(event, Event::StorageAnswered(StorageAnswer::Done));
        if let Some(trace) = self.trace.as_mut().filter(|trace| trace.saving && is_done) {
            trace.saving = false;
            trace.add(now, Entry::Did(Deed::Saved));
        }
    }

    fn trace_deed(&mut self, deed: Deed) {
        if let Some(trace) = &mut self.trace {
            trace.saving |= deed == Deed::Saving;
            trace.add(self.clock.now(), Entry::Did(deed));
        }
    }

    /// The number of the node.
    fn id(&self) -> u16 {
        self.member.view().node().get()
    }
}

/// The other members of these lists, and where they are reached.
pub(super) fn peers(lists: &Lists, own: NodeId) -> impl Iterator<Item = (NodeId, Address)> + '_ {
    let all = lists.each().flat_map(Members::addresses);
    let others = all.filter(move |&(&id, _)| id != own);
    others.filter_map(|(&id, address)| Some((id, address.parse().ok()?)))
}

/// A message is for the node, a heartbeat for its detector.
fn event_of<M>(Arrival { from, incarnation, frame }: Arrival<M>) -> Event<M> {
    let received = |id, message| {
        Event::Received(Received { from, incarnation: Some(incarnation), id, message })
    };
    match frame {
        Frame::Message(message) => received(None, message),
        Frame::Numbered(_, id, message) => received(Some(id), message),
        Frame::Heartbeat => Event::Heartbeat { from, incarnation },
        Frame::Rival => Event::ToldOfRival { from },
        Frame::Ping(_) | Frame::Pong(_) | Frame::NodeFacts(_) => Event::Wake,
    }
}
