//! What a member does one after the other: inputs of its node, and what follows from each.

use super::Member;
use super::event::{Action, Event, Line};
use super::orders::What;
use super::unsaved::{Now, Step};
use crate::protocol::{self, Core, Input, NodeId, Request, Time};

/// Something to do. What follows from it is done before the next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task<M> {
    /// To give the node this input.
    Step(Input<M>),
    /// To do what is asked.
    Obey(u64, What),
    /// To answer that this node is next.
    Answer(u64, Option<NodeId>),
    /// To answer so once the node leads no longer.
    HandOver(u64, Option<NodeId>),
    /// To tell the program that its node leads still.
    Resume,
    /// To report nodes that are silent.
    Suspect,
    /// To wait no longer for nodes that are gone; so often at most.
    Forget(usize),
    /// To look whether the storage answers.
    Disk,
    /// To tell the program if it does not, and to ask it.
    Silence,
}

impl<C: Core> Member<C> {
    /// What is to be done about something that happens.
    pub(super) fn plan(&mut self, now: Time, event: Event<C::Message>) {
        match event {
            Event::Boot => self.todo.push_back(Task::Step(Input::Boot)),
            Event::Woke => self.todo.push_back(Task::Step(Input::Wake)),
            Event::Received { from, message } => {
                self.todo.push_back(Task::Step(Input::Receive { from, message }));
            }
            Event::Heard { from, incarnation } => {
                if let Some(watch) = &mut self.watch {
                    watch.heard(from, incarnation, now);
                }
            }
            Event::Idle { gone } => {
                self.gone = gone;
                self.todo.push_back(Task::Suspect);
                self.todo.push_back(Task::Forget(C::TIMERS.len()));
            }
            // Its deadlines come first, before it is told that it leads.
            Event::Stored(answer) => {
                if self.stored(now, answer) {
                    self.todo.push_back(Task::Step(Input::Wake));
                }
            }
            // A node that leads no longer, and has not noticed yet, refuses.
            Event::Asked { ticket, what } => {
                self.todo.push_back(Task::Step(Input::Wake));
                self.todo.push_back(Task::Obey(ticket, what));
            }
            Event::Stop => self.stop(now),
            Event::WorkEnded => {}
        }
        self.todo.push_back(Task::Disk);
    }

    /// Does one thing after the other, until there is none, or work has to end first.
    pub(super) fn go_on(&mut self, now: Time) {
        while self.takes_part() && !self.awaits_work() {
            if let Some(task) = self.todo.pop_front() {
                self.perform(now, task);
            } else if let Some(event) = self.later.pop_front() {
                self.plan(now, event);
            } else {
                self.answer();
                self.leave_if_it_may(now);
                break;
            }
        }
    }

    fn perform(&mut self, now: Time, task: Task<C::Message>) {
        match task {
            Task::Step(input) => self.step(now, input),
            Task::Obey(ticket, what) => self.obey(now, ticket, what),
            Task::Answer(ticket, next) => self.actions.push(Action::Answer(ticket, Ok(next))),
            Task::HandOver(ticket, next) => self.answers_once_over(ticket, next),
            Task::Resume => self.resume(now),
            Task::Suspect => self.suspect(now),
            Task::Forget(most) => self.forget(now, most),
            Task::Disk => self.look_at_disk(now),
            Task::Silence => self.look_at_silence(now),
        }
    }

    /// One input. If the node gives up its leadership by it, nothing of that leaves it before the
    /// work of the leadership has ended.
    fn step(&mut self, now: Time, input: Input<C::Message>) {
        let lent = self.lent();
        self.node.handle(now, input);
        let leads = self.node.lease().map(|lease| lease.epoch);
        match lent.filter(|lent| leads != Some(lent.epoch)) {
            Some(lease) => self.end_work(lease),
            None => self.follow(now),
        }
    }

    /// What follows from an input: what is sent waits in its order for what must be durable before
    /// it, and the program is told at once whatever does not depend on that.
    pub(super) fn follow(&mut self, now: Time) {
        let mut events = Vec::new();
        while let Some(output) = self.node.poll() {
            match self.unsaved.sort(now, output) {
                Some(Now::Tell(event)) => events.push(event),
                Some(Now::WakeAt(wake)) => self.wake = wake,
                None => {}
            }
        }
        // First: when others are told that this node leads no longer, its program knows.
        for event in events {
            self.tell(event);
        }
        self.renew();
        self.catch_up(now);
        if let Some(watch) = &mut self.watch {
            watch.look(self.node.watched(), now);
        }
        self.thaw(now);
    }

    /// The program is told something that is no promise.
    fn tell(&mut self, event: protocol::Event) {
        match event {
            protocol::Event::RoleChanged { to, leader, reason, .. } => {
                self.begin_anew();
                self.change(to, leader, self.unfit(reason));
            }
            protocol::Event::Ignored { from, cause } => {
                self.actions.push(Action::Log(Line::Ignored { from, cause }));
            }
        }
    }

    /// Does what waits for no save, and begins the next one.
    pub(super) fn catch_up(&mut self, now: Time) {
        while let Some(step) = self.unsaved.next(now) {
            match step {
                Step::Send(to, message) => self.actions.push(Action::Send(to, message)),
                Step::Lead(event) => self.come_to_lead(now, event),
            }
        }
        self.save_next(now);
        self.publish();
    }

    /// A leader that was frozen, and leads no longer, does not run until the time is over.
    fn thaw(&mut self, now: Time) {
        if !self.leads()
            && let Some(until) = self.frozen.take()
        {
            let rest = until.since(now);
            self.todo.push_front(Task::Step(Input::Request(Request::StepDown(None, rest))));
        }
    }
}
