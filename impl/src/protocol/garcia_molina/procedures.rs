//! The paper's procedures: what a node answers when it is called, and what it does of its own accord.

use super::{Activity, GarciaMolina, Message, Phase, Task, Timer};
use crate::protocol::{NodeId, Reason, Role, Time};

/// What a node answers, at once and whatever it is doing.
impl GarciaMolina {
    /// Whoever is asked how it is tells its task, if it is at work.
    pub(super) fn on_are_you_normal(&mut self, from: NodeId) {
        let answer = match (self.knows.phase, self.knows.task) {
            (Phase::Normal, Some(task)) => Message::Normal(task),
            _ => Message::NotNormal,
        };
        self.send(from, answer);
    }

    /// A higher node is about to lead: this one stops everything, its own election too.
    pub(super) fn on_halt(&mut self, now: Time, from: NodeId) -> Reason {
        self.stop();
        self.knows.phase = Phase::Election;
        self.knows.halted_by = Some(from);
        self.send(from, Message::Halted);
        self.rest(now);
        Reason::Halted
    }

    /// The node that halted this one last leads it now. Anybody else is late.
    pub(super) fn on_new_coordinator(&mut self, now: Time, from: NodeId) -> Reason {
        self.send(from, Message::Noted);
        if self.knows.phase == Phase::Election && self.knows.halted_by == Some(from) {
            assert!(from > self.config.id, "only higher nodes halt");
            self.knows.coordinator = Some(from);
            self.knows.phase = Phase::Reorganization;
            self.rest(now);
        }
        Reason::Claimed
    }

    /// The coordinator of this node hands it its task: it is at work.
    pub(super) fn on_ready(&mut self, now: Time, from: NodeId, number: u64) -> Reason {
        self.send(from, Message::Started);
        if self.knows.phase == Phase::Reorganization && self.knows.coordinator == Some(from) {
            self.knows.task = Some(Task { coordinator: from, number });
            self.knows.phase = Phase::Normal;
            self.rest(now);
        }
        Reason::Claimed
    }
}

/// What a node does of its own accord: procedures that make one call after the other.
impl GarciaMolina {
    /// A node that restarts holds an election, once no answer to an earlier call can come.
    pub(super) fn boot(&mut self, now: Time) -> Reason {
        self.booted = true;
        self.activity = Some(Activity::Restart);
        self.arm(now, Timer::Restart);
        Reason::Booted
    }

    /// An election begins with the question whether a higher node is there. `after` has been asked.
    pub(super) fn ask(&mut self, now: Time, after: NodeId) {
        match self.config.members.above(after).first() {
            Some(&next) => self.call(now, Activity::Ask(next), next, Message::AreYouThere),
            None => self.stand(now),
        }
    }

    /// No higher node is there: this one stops what it is doing, and halts all lower ones, beginning
    /// with the highest.
    fn stand(&mut self, now: Time) {
        let me = self.config.id;
        assert!(self.booted);
        self.stop();
        self.knows.phase = Phase::Election;
        self.knows.halted_by = Some(me);
        self.halt(now, me);
    }

    fn halt(&mut self, now: Time, after: NodeId) {
        match self.config.members.below(after).last() {
            Some(&next) => self.call(now, Activity::Halt(next), next, Message::Halt),
            None => self.take_over(now),
        }
    }

    /// All lower nodes that are up have stopped: this node is the coordinator.
    fn take_over(&mut self, now: Time) {
        assert_eq!(self.knows.phase, Phase::Election);
        assert_eq!(self.knows.halted_by, Some(self.config.id));
        self.knows.coordinator = Some(self.config.id);
        self.knows.phase = Phase::Reorganization;
        self.announce(now, None);
    }

    fn announce(&mut self, now: Time, after: Option<NodeId>) {
        match self.next_halted(after) {
            Some(next) => self.call(now, Activity::Announce(next), next, Message::NewCoordinator),
            None => self.compute_task(now),
        }
    }

    /// Everybody knows the coordinator. Its new task is durable before anybody hears of it.
    fn compute_task(&mut self, now: Time) {
        self.computed = self.computed.next();
        self.persists.push_back(self.computed);
        let number = self.computed.count();
        self.knows.task = Some(Task { coordinator: self.config.id, number });
        self.hand_out(now, None);
    }

    fn hand_out(&mut self, now: Time, after: Option<NodeId>) {
        let ready = Message::Ready(self.computed.count());
        match self.next_halted(after) {
            Some(next) => self.call(now, Activity::HandOut(next), next, ready),
            None => {
                self.knows.phase = Phase::Normal;
                self.finish(now);
            }
        }
    }

    /// A coordinator at work asks everybody else, beginning with the lowest.
    pub(super) fn check(&mut self, now: Time, after: Option<NodeId>) {
        let me = self.config.id;
        let next = self.config.members.iter().find(|&node| node != me && Some(node) > after);
        match next {
            Some(next) => self.call(now, Activity::Check(next), next, Message::AreYouNormal),
            None => self.finish(now),
        }
    }

    /// It has been quiet for too long. A node that has a coordinator asks whether it is still there;
    /// any other holds an election.
    pub(super) fn on_quiet(&mut self, now: Time) {
        let me = self.config.id;
        let watched = self.knows.coordinator.filter(|&coordinator| coordinator != me);
        match (self.knows.phase, watched) {
            (Phase::Normal | Phase::Reorganization, Some(coordinator)) => {
                self.call(now, Activity::Probe(coordinator), coordinator, Message::AreYouThere);
            }
            _ => self.ask(now, me),
        }
    }

    /// The call is answered, and the procedure goes on. What answers another call says nothing.
    pub(super) fn on_answer(&mut self, now: Time, from: NodeId, answer: Message) -> Reason {
        match (self.activity, answer) {
            (Some(Activity::Probe(node)), Message::Here) if node == from => self.finish(now),
            (Some(Activity::Ask(node)), Message::Here) if node == from => {
                self.give_way(now);
                return Reason::Answered;
            }
            (Some(Activity::Halt(node)), Message::Halted) if node == from => {
                self.knows.halted.push(from);
                self.halt(now, from);
            }
            (Some(Activity::Announce(node)), Message::Noted) if node == from => {
                self.announce(now, Some(from));
            }
            (Some(Activity::HandOut(node)), Message::Started) if node == from => {
                self.hand_out(now, Some(from));
            }
            (Some(Activity::Check(node)), Message::Normal(task)) if node == from => {
                if self.knows.task == Some(task) {
                    self.check(now, Some(from));
                } else {
                    self.ask(now, self.config.id);
                }
                return Reason::CheckFailed;
            }
            (Some(Activity::Check(node)), Message::NotNormal) if node == from => {
                self.ask(now, self.config.id);
                return Reason::CheckFailed;
            }
            _ => {}
        }
        Reason::NobodyAnswered
    }

    /// The call is not answered in time: that node is down. A coordinator that loses one of those that
    /// it was reorganizing begins anew.
    pub(super) fn on_unanswered(&mut self, now: Time) {
        match self.activity {
            Some(Activity::Ask(node)) => self.ask(now, node),
            Some(Activity::Halt(node)) => self.halt(now, node),
            Some(Activity::Check(node)) => self.check(now, Some(node)),
            Some(Activity::Probe(_) | Activity::Announce(_) | Activity::HandOut(_)) => {
                self.ask(now, self.config.id);
            }
            Some(Activity::Restart) | None => {}
        }
    }

    /// A higher node is there and will lead. Only a coordinator at work goes on with its work;
    /// anybody else waits to be halted.
    fn give_way(&mut self, now: Time) {
        self.finish(now);
        if self.role() != Role::Leader {
            self.timers.cancel_all();
            self.arm(now, Timer::Election);
        }
    }

    fn finish(&mut self, now: Time) {
        self.activity = None;
        self.rest(now);
    }

    /// While no procedure is under way, a coordinator waits for its next check, and whoever has a
    /// coordinator for a sign of it.
    fn rest(&mut self, now: Time) {
        if self.activity.is_some() {
            return;
        }
        self.timers.cancel_all();
        let led = self.knows.coordinator.is_some_and(|node| node != self.config.id);
        let timer = match self.knows.phase {
            Phase::Normal if !led => Timer::Check,
            Phase::Normal | Phase::Reorganization if led => Timer::Silence,
            _ => Timer::Election,
        };
        self.arm(now, timer);
    }

    fn stop(&mut self) {
        self.activity = None;
        self.timers.cancel_all();
        self.knows.halted.clear();
    }

    fn call(&mut self, now: Time, activity: Activity, to: NodeId, message: Message) {
        self.activity = Some(activity);
        self.timers.cancel_all();
        self.send(to, message);
        self.arm(now, Timer::Call);
    }

    /// The node that was halted after this one; the first, after none.
    fn next_halted(&self, after: Option<NodeId>) -> Option<NodeId> {
        let mut halted = self.knows.halted.iter().copied();
        halted.find(|&node| after.is_none_or(|after| node < after))
    }
}
