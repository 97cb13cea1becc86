//! The paper's procedures, and what has to be said when each is one message or more.

use super::{
    Answered, Check, Coordinator, GarciaMolina, Halt, Message, Process, Status, Step, Task, Timer,
    Unfinished,
};
use bellwether_engine::protocol::{Belief, Id, Ids, Local, Protocol};

/// The immediate procedures: what a process does when it is called, at once and in any state.
impl GarciaMolina {
    /// Halt: the caller is about to become the coordinator; stop everything, and remember who it
    /// was. It is a call that only a higher process makes.
    pub(super) fn on_halt(&self, p: &mut Local<'_, Self>, from: Id) {
        if from < p.id() {
            return p.ignore("wrong_direction");
        }
        p.because("halted");
        if self.halt == Halt::Aborts {
            stop(p);
        }
        p.state.status = Status::Election;
        p.state.halter = Some(from);
        p.send(from, Message::Halted);
        self.rest(p);
    }

    /// NewCoordinator: if the caller was the last to halt this process, it is the coordinator.
    pub(super) fn on_new_coordinator(&self, p: &mut Local<'_, Self>, from: Id) {
        let halted = p.state.halter == Some(from) && p.state.status == Status::Election;
        p.send(from, Message::Noted);
        if halted || !self.guard {
            p.because("claimed");
            p.state.coordinator = Coordinator::Other(from);
            p.state.status = Status::Reorganization;
            self.rest(p);
        }
    }

    /// Ready: if the caller is the coordinator, and this process is reorganizing, it begins to work
    /// on the task.
    pub(super) fn on_ready(&self, p: &mut Local<'_, Self>, from: Id, task: Task) {
        let awaited = p.state.coordinator == Coordinator::Other(from)
            && p.state.status == Status::Reorganization;
        p.send(from, Message::Started);
        if awaited || !self.guard {
            p.because("claimed");
            p.state.task = Some(task);
            p.state.status = Status::Normal;
            self.rest(p);
        }
    }
}

/// The procedures: each goes on with its next call when the last one is answered, or not in time.
impl GarciaMolina {
    /// Election, first part: ask the higher processes, one after the other, whether they are there.
    pub(super) fn election(&self, p: &mut Local<'_, Self>) {
        self.ask_above(p, p.id());
    }

    fn ask_above(&self, p: &mut Local<'_, Self>, last: Id) {
        match p.higher().find(|&id| id > last) {
            Some(next) => call(p, Step::Asking(next), next, Message::AreYouThere),
            None => self.stand(p),
        }
    }

    /// Election, second part: none is there. Stop everything, and halt the lower ones.
    fn stand(&self, p: &mut Local<'_, Self>) {
        stop(p);
        p.state.status = Status::Election;
        p.state.halter = Some(p.id());
        self.halt_below(p, p.id());
    }

    fn halt_below(&self, p: &mut Local<'_, Self>, last: Id) {
        match p.lower().filter(|&id| id < last).last() {
            Some(next) => call(p, Step::Halting(next), next, Message::Halt),
            None => self.take_over(p),
        }
    }

    /// The election point: this process is the coordinator; tell those that were halted.
    fn take_over(&self, p: &mut Local<'_, Self>) {
        p.state.coordinator = Coordinator::Myself;
        p.state.status = Status::Reorganization;
        self.announce_below(p, p.id());
    }

    fn announce_below(&self, p: &mut Local<'_, Self>, last: Id) {
        match p.state.up.below(last) {
            Some(next) => call(p, Step::Announcing(next), next, Message::NewCoordinator),
            None => self.compute_task(p),
        }
    }

    /// Reorganization: compute a new task. It is new because its number is kept through crashes.
    fn compute_task(&self, p: &mut Local<'_, Self>) {
        let tasks = p.stable().next();
        p.persist(tasks);
        p.state.task = Some(Task { by: p.id(), number: tasks.0 });
        self.hand_out_below(p, p.id());
    }

    fn hand_out_below(&self, p: &mut Local<'_, Self>, last: Id) {
        match p.state.up.below(last) {
            Some(next) => {
                call(p, Step::HandingOut(next), next, Message::Ready(p.stable().0));
            }
            None => {
                p.because("unanswered");
                p.state.status = Status::Normal;
                self.end(p);
            }
        }
    }

    /// Timeout: if there is a coordinator, is it there? If it is not, or there is none, Election.
    pub(super) fn timeout(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        let has_one = matches!(p.state.status, Status::Normal | Status::Reorganization);
        match p.state.coordinator {
            Coordinator::Other(it) if has_one => {
                call(p, Step::Probing(it), it, Message::AreYouThere);
            }
            Coordinator::Myself if has_one && self.unfinished == Unfinished::AsksItself => {
                self.end(p);
            }
            _ => self.election(p),
        }
    }

    /// Check: the coordinator asks all others how they are; if one is not well, Election.
    pub(super) fn check_above(&self, p: &mut Local<'_, Self>, last: Option<Id>) {
        match p.others().find(|&id| Some(id) > last) {
            Some(next) => call(p, Step::Checking(next), next, Message::AreYouNormal),
            None => self.end(p),
        }
    }

    /// An answer: if it is the one that is waited for, the procedure goes on.
    pub(super) fn on_answer(&self, p: &mut Local<'_, Self>, from: Id, answer: Message) {
        match (p.state.step, answer) {
            (Step::Probing(asked), Message::Here) if asked == from => self.end(p),
            (Step::Asking(asked), Message::Here) if asked == from => self.give_way(p, from),
            (Step::Halting(called), Message::Halted) if called == from => {
                p.state.up = p.state.up.with(from);
                self.halt_below(p, from);
            }
            (Step::Announcing(called), Message::Noted) if called == from => {
                self.announce_below(p, from);
            }
            (Step::HandingOut(called), Message::Started) if called == from => {
                self.hand_out_below(p, from);
            }
            (Step::Checking(asked), Message::Normal(_) | Message::NotNormal) if asked == from => {
                if self.is_well(p.id(), p.state, answer) {
                    self.check_above(p, Some(from));
                } else {
                    p.because("check_failed");
                    self.election(p);
                }
            }
            _ => {}
        }
    }

    /// No answer within `T`: who was called has failed, and the procedure goes on without it;
    /// a reorganization begins anew, with an election.
    pub(super) fn on_no_answer(&self, p: &mut Local<'_, Self>) {
        match p.state.step {
            Step::Asking(asked) => {
                p.because("unanswered");
                self.ask_above(p, asked);
            }
            Step::Halting(called) => self.halt_below(p, called),
            Step::Checking(asked) => self.check_above(p, Some(asked)),
            Step::Probing(_) => {
                p.because("leader_silent");
                self.election(p);
            }
            Step::Announcing(_) | Step::HandingOut(_) => self.election(p),
            Step::Idle | Step::Recovering => {}
        }
    }

    /// A higher process is there: the election is left to it. It will halt this process, so
    /// that a process that is not a coordinator now waits for that.
    fn give_way(&self, p: &mut Local<'_, Self>, to: Id) {
        p.because("answered");
        if p.state.status == Status::Down && self.answered == Answered::Follows {
            p.state.coordinator = Coordinator::Other(to);
            p.state.status = Status::Normal;
            return self.end(p);
        }
        self.end(p);
        if Self::belief(p.state) != Belief::Leads {
            p.cancel_all();
            p.arm(Timer::Election);
        }
    }

    /// A procedure has come to its end.
    fn end(&self, p: &mut Local<'_, Self>) {
        p.state.step = Step::Idle;
        self.rest(p);
    }

    /// Whatever the coordinator sends is a sign of it.
    pub(super) fn on_sign_of_life(&self, p: &mut Local<'_, Self>, from: Id) {
        let watched = p.state.coordinator == Coordinator::Other(from);
        if watched && p.armed(Timer::Silence) {
            p.arm(Timer::Silence);
        }
    }

    /// Between procedures, a coordinator checks and the others watch.
    pub(super) fn rest(&self, p: &mut Local<'_, Self>) {
        if p.state.step != Step::Idle {
            return;
        }
        p.cancel_all();
        match (p.state.status, p.state.coordinator) {
            (Status::Normal, Coordinator::Myself) if self.check == Check::Never => {}
            (Status::Normal, Coordinator::Myself) => p.arm(Timer::Check),
            (Status::Normal | Status::Reorganization, Coordinator::Other(_)) => {
                p.arm(Timer::Silence);
            }
            _ => p.arm(Timer::Election),
        }
    }

    /// Whether a coordinator is content with an answer to AreYouNormal.
    pub(super) fn is_well(&self, me: Id, mine: &Process, answer: Message) -> bool {
        match (answer, self.check) {
            (Message::Normal(task), Check::SameTask) => task == mine.task,
            (Message::Normal(task), Check::LedByMe) => task.is_some_and(|task| task.by == me),
            (Message::Normal(_), Check::Normal | Check::Never) => true,
            _ => false,
        }
    }
}

/// AreYouNormal: yes or no.
pub(super) fn how(process: &Process) -> Message {
    match process.status {
        Status::Normal => Message::Normal(process.task),
        Status::Down | Status::Election | Status::Reorganization => Message::NotNormal,
    }
}

/// Stop: whatever the process was doing is over.
fn stop(p: &mut Local<'_, GarciaMolina>) {
    p.cancel_all();
    p.state.step = Step::Idle;
    p.state.up = Ids::NONE;
}

/// Calls `to`, and waits for the answer.
fn call(p: &mut Local<'_, GarciaMolina>, step: Step, to: Id, message: Message) {
    p.cancel_all();
    p.state.step = step;
    p.send(to, message);
    p.arm(Timer::Answer);
}
