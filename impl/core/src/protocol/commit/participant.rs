//! What every node does for a coordinator: it votes, tells what is in its log, and obeys.

use super::{Commit, Duty, Kind, Message, Outcome, Record, Timer};
use crate::protocol::{Context, Core as _, NodeId};

impl<K: Kind> Commit<K> {
    /// The vote. A node votes YES once; to any other coordinator it says NO, and so does one that
    /// is about to coordinate.
    pub(super) fn on_request(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        let vote = if self.record.is_some() {
            Outcome::Abort
        } else if cx.config().agrees && !self.leads(cx.config()) {
            self.log(cx, Record::Voted);
            self.heeds = Some(from);
            Outcome::Commit
        } else {
            self.give_up(cx);
            Outcome::Abort
        };
        cx.send(from, Message::Vote(vote));
    }

    /// A node that has not voted ends the transaction before it says so: it must not vote later.
    /// One that coordinates says nothing before it has decided.
    pub(super) fn on_poll(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if self.duty != Duty::None {
            return;
        }
        if self.record.is_none() {
            self.give_up(cx);
        }
        self.tell(cx, from);
    }

    /// A node that has voted YES, and is not prepared yet, gets prepared.
    pub(super) fn on_prepare(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        outcome: Outcome,
    ) {
        if self.record == Some(Record::Voted) && self.heeds == Some(from) {
            self.log(cx, Record::Prepared(outcome));
        }
        if self.record == Some(Record::Prepared(outcome)) || self.outcome().is_some() {
            self.tell(cx, from);
        }
    }

    /// The word. A coordinator passes it on.
    pub(super) fn on_decision(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome) {
        if self.outcome().is_some() {
            return;
        }
        if self.leads(cx.config()) {
            self.decide(cx, outcome);
        } else {
            self.log(cx, Record::Decided(outcome));
        }
    }

    /// It has waited for the word: it tells the coordinator what is in its log.
    pub(super) fn ask(&mut self, cx: &mut Context<'_, Self>) {
        let leader = self.belief(cx.config()).leader;
        if let (Some(leader), Some(record)) = (leader, self.record) {
            self.heeds = Some(leader);
            cx.send(leader, Message::State(record));
        }
    }

    fn tell(&mut self, cx: &mut Context<'_, Self>, to: NodeId) {
        match self.record {
            Some(Record::Decided(outcome)) => cx.send(to, Message::Decision(outcome)),
            Some(record) => {
                self.heeds = Some(to);
                cx.send(to, Message::State(record));
            }
            None => {}
        }
    }

    /// It has not voted, and aborts.
    fn give_up(&mut self, cx: &mut Context<'_, Self>) {
        self.log(cx, Record::Decided(Outcome::Abort));
        cx.cancel(Timer::Begin);
    }
}
