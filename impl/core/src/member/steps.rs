//! What a member does one after the other: inputs of its node, and what follows from each.

use super::Member;
use super::commands::Command;
use super::event::{Action, Event, LogLine};
use super::unsaved::{Deferred, Immediate};
use crate::protocol::{self, Core, Epoch, Input, NodeId, NodeStep, Request, Status, Time, Trigger};
use crate::trace::{After, Happened, LeaseUntil, Out, Received, Sent, Step};

/// Something to do. What follows from it is done before the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task<M> {
    /// To give the node this input.
    Step(Input<M>),
    /// To give it this message.
    Receive(Received<M>),
    /// To do what is asked.
    Command(u64, Command),
    /// To answer that this node is next.
    Reply(u64, Option<NodeId>),
    /// To answer so once the node leads no longer.
    ReplyAfterStepDown(u64, Option<NodeId>),
    /// To answer so once the node leads no longer, or that it leads on.
    ReplyAfterTransfer(u64, NodeId),
    /// To tell the program that its node leads still.
    Resume,
    /// To tell the program of a node that led at the same time.
    ReportRival(NodeId),
    /// To report nodes that are silent.
    Suspect,
    /// To wait no longer for nodes that are gone; so often at most.
    AbandonWaits(usize),
    /// To look whether the storage answers.
    CheckStorage,
    /// To tell the program if it does not, and to ask it.
    CheckStall,
}

impl<C: Core> Member<C> {
    /// What is to be done about something that happens.
    pub(super) fn schedule(&mut self, now: Time, event: Event<C::Message>) {
        match event {
            Event::Start => self.tasks.push_back(Task::Step(Input::Boot)),
            Event::Wake => self.tasks.push_back(Task::Step(Input::Wake)),
            Event::Received(received) => self.tasks.push_back(Task::Receive(received)),
            Event::Heartbeat { from, incarnation } => {
                if let Some(watch) = &mut self.watch {
                    watch.on_heartbeat(from, incarnation, now);
                }
            }
            Event::ToldOfRival { from } => {
                self.tasks.push_back(Task::Step(Input::Wake));
                self.tasks.push_back(Task::ReportRival(from));
            }
            Event::Drained { gone } => {
                self.gone = gone;
                self.tasks.push_back(Task::Suspect);
                self.tasks.push_back(Task::AbandonWaits(C::TIMERS.len()));
            }
            // Its deadlines come first, before it is told that it leads.
            Event::StorageAnswered(answer) => {
                if self.on_storage_answer(now, answer) {
                    self.tasks.push_back(Task::Step(Input::Wake));
                }
            }
            // A node that leads no longer, and has not noticed yet, refuses.
            Event::Command { ticket, command } => {
                self.tasks.push_back(Task::Step(Input::Wake));
                self.tasks.push_back(Task::Command(ticket, command));
            }
            Event::Request(request) => {
                self.tasks.push_back(Task::Step(Input::Request(request)));
            }
            Event::Stop => self.stop(now),
            Event::WorkEnded => {}
        }
        self.tasks.push_back(Task::CheckStorage);
    }

    /// Does one thing after the other, until there is none, or work has to end first.
    pub(super) fn run_tasks(&mut self, now: Time) {
        while self.takes_part() && !self.awaits_work() {
            if let Some(task) = self.tasks.pop_front() {
                self.run_task(now, task);
            } else if let Some(event) = self.deferred_events.pop_front() {
                self.schedule(now, event);
            } else {
                self.send_due_replies();
                self.close_after_step_down(now);
                break;
            }
        }
    }

    fn run_task(&mut self, now: Time, task: Task<C::Message>) {
        match task {
            Task::Step(input) => self.step(now, input, None),
            Task::Receive(received) => {
                let Received { from, message, .. } = received.clone();
                self.step(now, Input::Receive { from, message }, Some(received));
            }
            Task::Command(ticket, command) => self.handle_command(now, ticket, command),
            Task::Reply(ticket, next) => self.actions.push(Action::Reply(ticket, Ok(next))),
            Task::ReplyAfterStepDown(ticket, next) => self.pending.handovers.push((ticket, next)),
            Task::ReplyAfterTransfer(ticket, to) => self.pending.transfers.push((ticket, to)),
            Task::Resume => self.resume(now),
            Task::ReportRival(rival) => {
                self.report_rival(rival);
            }
            Task::Suspect => self.suspect(now),
            Task::AbandonWaits(most) => self.abandon_waits(now, most),
            Task::CheckStorage => self.check_storage(now),
            Task::CheckStall => self.check_stall(now),
        }
    }

    /// One input, and the message if it is one. If the node gives up its leadership by it, nothing
    /// of that leaves it before the work of the leadership has ended.
    fn step(
        &mut self,
        now: Time,
        input: Input<C::Message>,
        received: Option<Received<C::Message>>,
    ) {
        let given_up = self.work_lease();
        self.node.handle(now, input);
        self.write_steps(received);
        let leads = self.node.lease().map(|lease| lease.epoch);
        match given_up.filter(|given_up| leads != Some(given_up.epoch)) {
            Some(lease) => self.end_work(lease),
            None => self.drain_outputs(now),
        }
    }

    /// Has the steps written that the node has just taken, if it records them. Nothing of what they
    /// put out was looked at yet. If one of them is that a message arrived, it is this one.
    fn write_steps(&mut self, mut received: Option<Received<C::Message>>) {
        let mut number = self.unsaved.numbered;
        for taken in self.node.take_steps() {
            let step = traced_step(taken, &mut received, &mut number);
            self.actions.push(Action::Trace(Box::new(step)));
        }
    }

    /// What follows from an input: what is sent waits in its order for what must be durable before
    /// it, and the program is told at once whatever does not depend on that.
    pub(super) fn drain_outputs(&mut self, now: Time) {
        let mut events = Vec::new();
        while let Some(output) = self.node.poll() {
            match self.unsaved.push(now, output) {
                Some(Immediate::Report(event)) => events.push(event),
                Some(Immediate::WakeAt(wake)) => self.wake = wake,
                None => {}
            }
            // Behind the state that has them, and before what is sent.
            if let Some(lists) = self.node.lists()
                && lists.mark != self.told_mark
            {
                self.told_mark = lists.mark;
                self.unsaved.add(now, Deferred::Change(lists.clone()));
            }
        }
        // First: when others are told that this node leads no longer, its program knows.
        for event in events {
            self.on_node_event(event);
        }
        self.renew();
        self.flush_unsaved(now);
        if let Some(watch) = &mut self.watch {
            watch.set_watched(self.node.watched(), now);
        }
        self.apply_freeze(now);
    }

    /// The program is told something that is no promise.
    fn on_node_event(&mut self, event: protocol::Event) {
        match event {
            protocol::Event::RoleChanged { to, leader, reason, .. } => {
                self.cancel_announcement();
                self.on_change(to, leader, self.unfit_reason(reason));
            }
            protocol::Event::Ignored { from, cause } => {
                self.actions.push(Action::Log(LogLine::Ignored { from, cause }));
            }
            protocol::Event::RivalHeard { rival } => {
                if self.report_rival(rival) {
                    self.actions.push(Action::TellRival(rival));
                }
            }
        }
    }

    /// Does what waits for no save, and begins the next one.
    pub(super) fn flush_unsaved(&mut self, now: Time) {
        while let Some(step) = self.unsaved.next(now) {
            match step {
                Deferred::Send(sent) => self.actions.push(Action::Send(sent)),
                Deferred::Lead(event) => self.on_leadership_durable(now, event),
                Deferred::Change(lists) => self.actions.push(Action::Change(lists)),
            }
        }
        self.begin_save(now);
        self.update_view();
    }

    /// A leader that was frozen, and leads no longer, does not run until the time is over.
    fn apply_freeze(&mut self, now: Time) {
        if !self.leads()
            && let Some(until) = self.frozen_until.take()
        {
            let rest = until.since(now);
            self.tasks.push_front(Task::Step(Input::Request(Request::StepDown(None, rest))));
        }
    }
}

/// A step as a [trace](crate::trace) has it. Before it, messages had numbers up to this.
fn traced_step<C: Core>(
    taken: NodeStep<C>,
    received: &mut Option<Received<C::Message>>,
    number: &mut u64,
) -> Step<C::Durable, C::Message> {
    let NodeStep { trigger, persists, sends, events, status, epoch, lease, armed, watched } = taken;
    let happened = match trigger {
        Trigger::Boot(durable) => Happened::Boot(durable),
        Trigger::Receive { from, message } => {
            let unnumbered = || Received::unnumbered(from, message);
            Happened::Receive(received.take().unwrap_or_else(unnumbered))
        }
        Trigger::Expire(timer) => Happened::Expire(format!("{timer:?}")),
        Trigger::Suspect(node) => Happened::Suspect(node),
        Trigger::Request(request) => Happened::Request(request),
    };
    let sends = sends.into_iter().map(|(to, message)| {
        *number += 1;
        Out::Send(Sent { to, id: *number, message })
    });
    let out = persists.into_iter().map(Out::Persist).chain(sends);
    let out = out.chain(events.into_iter().map(Out::from)).collect();
    let Status { role, leader, .. } = status;
    let (epoch, lease) = (epoch.map(Epoch::number), lease.map(LeaseUntil::from));
    let armed = armed.into_iter().map(|(timer, at)| (format!("{timer:?}"), at.as_nanos()));
    let after = After { role, leader, epoch, lease, armed: Some(armed.collect()), watched };
    Step { happened, out, after }
}
