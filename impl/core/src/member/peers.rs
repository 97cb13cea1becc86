//! What a member does about the others: signs of life, silence, and nodes that are gone.

use super::Member;
use super::event::{Action, LogLine};
use super::steps::Task;
use crate::protocol::{Core, Input, Time};

impl<C: Core> Member<C> {
    /// Sends a sign of life if one is due.
    pub(super) fn send_due_heartbeat(&mut self, now: Time) {
        let due = self.watch.as_mut().is_some_and(|watch| watch.is_heartbeat_due(now));
        // One that can say nothing else is as good as gone.
        if due && !self.is_silenced() {
            self.actions.push(Action::SendHeartbeat);
        }
    }

    /// Reports the watched nodes that were silent for too long, one after the other.
    pub(super) fn suspect(&mut self, now: Time) {
        let gone = &self.gone;
        let watch = self.watch.as_mut();
        let suspect = watch.and_then(|watch| watch.suspect(now, |node| gone.contains(&node)));
        if let Some(node) = suspect {
            self.actions.push(Action::Log(LogLine::Silent(node)));
            self.tasks.push_front(Task::Suspect);
            self.tasks.push_front(Task::Step(Input::Suspect(node)));
        }
    }

    /// Lets a timer expire that only waits for nodes that are gone, and whatever waits for them
    /// after that, so often at most. All that they have sent has arrived.
    pub(super) fn abandon_waits(&mut self, now: Time, most: usize) {
        let waits = self.node.waits_for().filter(|_| most > 0);
        let vain = waits.filter(|(_, nodes)| nodes.iter().all(|node| self.gone.contains(node)));
        let Some((timer, nodes)) = vain else { return };
        self.actions.push(Action::Log(LogLine::WaitAbandoned(nodes.len())));
        self.node.bring_forward(timer, now);
        self.tasks.push_front(Task::AbandonWaits(most - 1));
        self.tasks.push_front(Task::Step(Input::Wake));
    }

    /// Returns whether it matters to the member which nodes are gone: whether it watches any, or
    /// waits for some.
    #[must_use]
    pub fn tracks_gone_nodes(&self) -> bool {
        self.watch.is_some() || self.node.waits_for().is_some()
    }
}
