//! The paper's procedures: what a node answers when it is called, and what it does of its own
//! accord.

use super::{
    ANSWERED, Activity, CHECK_FAILED, GarciaMolina, HALTED, Message, Phase, Task, Timer, UNANSWERED,
};
use crate::protocol::{Context, Core as _, NodeId, Reason, Role};

/// What a node answers, at once and whatever it is doing.
impl GarciaMolina {
    /// A node that is asked how it is tells its task, if it is at work. Only a coordinator at work
    /// asks that, so if this node is one, the other is its rival.
    pub(super) fn on_are_you_normal(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if self.leads(cx) {
            cx.rival_heard(from);
        }
        let answer = match (self.phase, self.task) {
            (Phase::Normal, Some(task)) => Message::Normal(task),
            _ => Message::NotNormal,
        };
        cx.send(from, answer);
    }

    /// A higher node is about to lead: this one stops everything, its own election too.
    pub(super) fn on_halt(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        self.stop(cx);
        self.phase = Phase::Election;
        self.halted_by = Some(from);
        cx.send(from, Message::Halted);
        self.rest(cx);
        cx.because(HALTED);
    }

    /// The node that halted this one last leads it now. Any other is late.
    pub(super) fn on_new_coordinator(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        cx.send(from, Message::Noted);
        if self.phase == Phase::Election && self.halted_by == Some(from) {
            assert!(from > cx.id(), "only higher nodes halt");
            self.coordinator = Some(from);
            self.phase = Phase::Reorganization;
            self.rest(cx);
            cx.because(Reason::CLAIMED);
        }
    }

    /// The coordinator of this node hands it its task: it is at work.
    pub(super) fn on_ready(&mut self, cx: &mut Context<'_, Self>, from: NodeId, number: u64) {
        cx.send(from, Message::Started);
        if self.phase == Phase::Reorganization && self.coordinator == Some(from) {
            self.task = Some(Task { coordinator: from, number });
            self.phase = Phase::Normal;
            self.rest(cx);
            cx.because(Reason::CLAIMED);
        }
    }
}

/// What a node does of its own accord: procedures that make one call after the other.
impl GarciaMolina {
    /// An election begins with the question whether a higher node is there. `after` has been asked.
    pub(super) fn ask(&mut self, cx: &mut Context<'_, Self>, after: NodeId) {
        match cx.config().members.above(after).first() {
            Some(&next) => self.call(cx, Activity::Ask(next), next, Message::AreYouThere),
            None => self.stand(cx),
        }
    }

    /// No higher node is there: this one stops what it is doing, and halts all lower ones,
    /// beginning with the highest.
    fn stand(&mut self, cx: &mut Context<'_, Self>) {
        let me = cx.id();
        self.phase = Phase::Election;
        self.stop(cx);
        self.halted_by = Some(me);
        self.halt(cx, me);
    }

    fn halt(&mut self, cx: &mut Context<'_, Self>, after: NodeId) {
        match cx.config().members.below(after).last() {
            Some(&next) => self.call(cx, Activity::Halt(next), next, Message::Halt),
            None => self.take_over(cx),
        }
    }

    /// All lower nodes that are up have stopped: this node is the coordinator.
    fn take_over(&mut self, cx: &mut Context<'_, Self>) {
        assert_eq!(self.phase, Phase::Election);
        assert_eq!(self.halted_by, Some(cx.id()));
        self.coordinator = Some(cx.id());
        self.phase = Phase::Reorganization;
        self.announce(cx, None);
    }

    fn announce(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        match self.next_halted(after) {
            Some(next) => self.call(cx, Activity::Announce(next), next, Message::NewCoordinator),
            None => self.compute_task(cx),
        }
    }

    /// Every node knows the coordinator. Its new task is durable before any other hears of it.
    fn compute_task(&mut self, cx: &mut Context<'_, Self>) {
        self.computed = self.computed.next();
        cx.persist(self.computed);
        let number = self.computed.count();
        self.task = Some(Task { coordinator: cx.id(), number });
        self.hand_out(cx, None);
    }

    fn hand_out(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        let ready = Message::Ready(self.computed.count());
        match self.next_halted(after) {
            Some(next) => self.call(cx, Activity::HandOut(next), next, ready),
            None => {
                self.phase = Phase::Normal;
                self.finish(cx);
            }
        }
    }

    /// A coordinator at work asks all other nodes, beginning with the lowest.
    pub(super) fn check(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        let me = cx.id();
        let next = cx.config().members.iter().find(|&node| node != me && Some(node) > after);
        match next {
            Some(next) => self.call(cx, Activity::Check(next), next, Message::AreYouNormal),
            None => self.finish(cx),
        }
    }

    /// It has been quiet for too long. A node that has a coordinator asks whether it is still
    /// there; any other starts an election.
    pub(super) fn on_quiet(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        cx.because(reason);
        let me = cx.id();
        let watched = self.coordinator.filter(|&coordinator| coordinator != me);
        match (self.phase, watched) {
            (Phase::Normal | Phase::Reorganization, Some(coordinator)) => {
                self.call(cx, Activity::Probe(coordinator), coordinator, Message::AreYouThere);
            }
            _ => self.ask(cx, me),
        }
    }

    /// The call is answered, and the procedure goes on. What answers another call says nothing.
    pub(super) fn on_answer(&mut self, cx: &mut Context<'_, Self>, from: NodeId, answer: Message) {
        if self.checks_rival(from, answer) {
            cx.rival_heard(from);
        }
        cx.because(UNANSWERED);
        match (self.activity, answer) {
            (Some(Activity::Probe(node)), Message::Here) if node == from => self.finish(cx),
            (Some(Activity::Ask(node)), Message::Here) if node == from => self.give_way(cx),
            (Some(Activity::Halt(node)), Message::Halted) if node == from => {
                self.halted.push(from);
                self.halt(cx, from);
            }
            (Some(Activity::Announce(node)), Message::Noted) if node == from => {
                self.announce(cx, Some(from));
            }
            (Some(Activity::HandOut(node)), Message::Started) if node == from => {
                self.hand_out(cx, Some(from));
            }
            (Some(Activity::Check(node)), Message::Normal(task))
                if node == from && self.task == Some(task) =>
            {
                self.check(cx, Some(from));
            }
            (Some(Activity::Check(node)), Message::Normal(_) | Message::NotNormal)
                if node == from =>
            {
                let me = cx.id();
                cx.because(CHECK_FAILED);
                self.ask(cx, me);
            }
            _ => {}
        }
    }

    /// Whether the answer to the check of a coordinator is that of another one: a node that works
    /// on a task of its own.
    fn checks_rival(&self, from: NodeId, answer: Message) -> bool {
        let own = matches!(answer, Message::Normal(task) if task.coordinator == from);
        own && self.activity == Some(Activity::Check(from))
    }

    /// Whether this node is a coordinator at work.
    fn leads(&self, cx: &Context<'_, Self>) -> bool {
        self.belief(cx.config()).role == Role::Leader
    }

    /// The call is not answered in time: that node is down. A coordinator that loses one of those
    /// that it was reorganizing begins anew.
    pub(super) fn on_unanswered(&mut self, cx: &mut Context<'_, Self>) {
        let me = cx.id();
        cx.because(match self.activity {
            Some(Activity::Probe(_)) => Reason::LEADER_SILENT,
            Some(Activity::Check(_)) => CHECK_FAILED,
            _ => UNANSWERED,
        });
        match self.activity {
            Some(Activity::Ask(node)) => self.ask(cx, node),
            Some(Activity::Halt(node)) => self.halt(cx, node),
            Some(Activity::Check(node)) => self.check(cx, Some(node)),
            Some(Activity::Probe(_) | Activity::Announce(_) | Activity::HandOut(_)) => {
                self.ask(cx, me);
            }
            Some(Activity::Restart) | None => {}
        }
    }

    /// A higher node is there and will lead. Only a coordinator at work goes on with its work;
    /// any other waits to be halted.
    fn give_way(&mut self, cx: &mut Context<'_, Self>) {
        cx.because(ANSWERED);
        self.finish(cx);
        if !self.leads(cx) {
            cx.cancel_all();
            cx.arm(Timer::Election);
        }
    }

    fn finish(&mut self, cx: &mut Context<'_, Self>) {
        self.activity = None;
        self.rest(cx);
    }

    /// While no procedure is under way, a coordinator waits for its next check, and a node that has
    /// one for a sign of it.
    fn rest(&mut self, cx: &mut Context<'_, Self>) {
        if self.activity.is_some() {
            return;
        }
        cx.cancel_all();
        let led = self.coordinator.is_some_and(|node| node != cx.id());
        let timer = match self.phase {
            Phase::Normal if !led => Timer::Check,
            Phase::Normal | Phase::Reorganization if led => Timer::Silence,
            _ => Timer::Election,
        };
        cx.arm(timer);
    }

    fn stop(&mut self, cx: &mut Context<'_, Self>) {
        self.activity = None;
        cx.cancel_all();
        self.halted.clear();
    }

    fn call(
        &mut self,
        cx: &mut Context<'_, Self>,
        activity: Activity,
        to: NodeId,
        message: Message,
    ) {
        self.activity = Some(activity);
        cx.cancel_all();
        cx.send(to, message);
        cx.arm(Timer::Answer);
    }

    /// The node that was halted after this one; the first, after none.
    fn next_halted(&self, after: Option<NodeId>) -> Option<NodeId> {
        let mut halted = self.halted.iter().copied();
        halted.find(|&node| after.is_none_or(|after| node < after))
    }
}
