//! What the leader does: it counts votes, and ends what another began.

use super::{Commit, Duty, Kind, Message, Outcome, Record, Records, Timer};
use crate::protocol::{Context, NodeId};

impl<K: Kind> Commit<K> {
    /// A leader reads its log: nothing was begun, or the transaction has ended, or it is to be
    /// ended by what the others know.
    pub(super) fn take_over(&mut self, cx: &mut Context<'_, Self>) {
        match self.record {
            None => cx.arm(Timer::Begin),
            Some(Record::Decided(outcome)) => Self::broadcast(cx, Message::Decision(outcome)),
            Some(Record::Voted | Record::Prepared(_)) => {
                self.heeds = None;
                self.duty = Duty::Polling(Records::new());
                cx.arm(Timer::Answers);
                Self::broadcast(cx, Message::Poll);
            }
        }
    }

    /// It coordinates no longer.
    pub(super) fn resign(&mut self, cx: &mut Context<'_, Self>) {
        self.duty = Duty::None;
        cx.cancel(Timer::Begin);
        cx.cancel(Timer::Answers);
    }

    /// The first phase: it votes, and asks for the votes of all others.
    pub(super) fn begin(&mut self, cx: &mut Context<'_, Self>) {
        if cx.config().agrees {
            self.log(cx, Record::Voted);
            self.duty = Duty::Voting(Records::new());
            cx.arm(Timer::Answers);
            Self::broadcast(cx, Message::Request);
        } else {
            self.decide(cx, Outcome::Abort);
        }
    }

    /// One NO decides; the last YES ends the first phase. Nothing else counts votes.
    pub(super) fn on_vote(&mut self, cx: &mut Context<'_, Self>, from: NodeId, vote: Outcome) {
        let Duty::Voting(votes) = &mut self.duty else { return };
        if vote == Outcome::Abort {
            return self.decide(cx, Outcome::Abort);
        }
        votes.insert(from, Record::Voted);
        if votes.len() < others(cx) {
            return;
        }
        if K::PREPARES {
            self.prepare(cx, Outcome::Commit, Records::new());
        } else {
            self.decide(cx, Outcome::Commit);
        }
    }

    /// A node says what is in its log, as an answer or because it waits.
    pub(super) fn on_state(&mut self, cx: &mut Context<'_, Self>, from: NodeId, record: Record) {
        if let Some(outcome) = self.outcome() {
            return cx.send(from, Message::Decision(outcome));
        }
        if let Record::Decided(outcome) = record {
            return self.on_decision(cx, outcome);
        }
        match &mut self.duty {
            Duty::None | Duty::Voting(_) => {}
            Duty::Polling(records) => {
                records.insert(from, record);
                if records.len() == others(cx) {
                    self.run_termination(cx);
                }
            }
            Duty::Preparing(outcome, records) => {
                if record == Record::Prepared(*outcome) {
                    records.insert(from, record);
                    self.end_if_prepared(cx);
                }
            }
            Duty::Blocked(records) => {
                records.insert(from, record);
                self.run_termination(cx);
            }
        }
    }

    /// Those that have not answered by now do not. A node that is blocked asks again, for as long
    /// as it is: the others may know more by now, or their answers were lost.
    pub(super) fn on_silence(&mut self, cx: &mut Context<'_, Self>) {
        match &mut self.duty {
            Duty::None => {}
            Duty::Voting(_) => self.decide(cx, Outcome::Abort),
            Duty::Polling(_) => self.run_termination(cx),
            Duty::Preparing(_, records) => {
                self.duty = Duty::Blocked(std::mem::take(records));
                cx.arm(Timer::Answers);
            }
            Duty::Blocked(_) => {
                cx.arm(Timer::Answers);
                Self::broadcast(cx, Message::Poll);
            }
        }
    }

    /// The termination protocol: what follows from what is known, if that is no decision.
    fn run_termination(&mut self, cx: &mut Context<'_, Self>) {
        let polls_again = matches!(self.duty, Duty::Blocked(_));
        let (Duty::Polling(records) | Duty::Blocked(records)) = &mut self.duty else { return };
        let records = std::mem::take(records);
        let known = || records.values().copied().chain(self.record);
        let prepared = |outcome| known().any(|record| record == Record::Prepared(outcome));
        let counts = |outcome| {
            let fits =
                |record: &Record| [Record::Voted, Record::Prepared(outcome)].contains(record);
            known().filter(fits).count() >= majority(cx)
        };
        let for_commit = prepared(Outcome::Commit) && counts(Outcome::Commit);
        match (K::PREPARES, records.len() == others(cx)) {
            (false, true) => self.decide(cx, Outcome::Abort),
            (true, _) if for_commit => self.prepare(cx, Outcome::Commit, records),
            (true, _) if counts(Outcome::Abort) => self.prepare(cx, Outcome::Abort, records),
            _ => {
                self.duty = Duty::Blocked(records);
                // Reports that come all the time must not put the next poll off.
                if !polls_again {
                    cx.arm(Timer::Answers);
                }
            }
        }
    }

    /// The phase before the decision: this node and the others promise not to be prepared for the
    /// other outcome.
    fn prepare(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome, mut records: Records) {
        if self.record == Some(Record::Voted) {
            self.log(cx, Record::Prepared(outcome));
        }
        records.retain(|_, record| *record == Record::Prepared(outcome));
        self.duty = Duty::Preparing(outcome, records);
        cx.arm(Timer::Answers);
        Self::broadcast(cx, Message::Prepare(outcome));
        self.end_if_prepared(cx);
    }

    /// With a majority that is prepared for it, the outcome is decided.
    fn end_if_prepared(&mut self, cx: &mut Context<'_, Self>) {
        let Duty::Preparing(outcome, records) = &self.duty else { return };
        let outcome = *outcome;
        let own = usize::from(self.record == Some(Record::Prepared(outcome)));
        if records.len() + own >= majority(cx) {
            self.decide(cx, outcome);
        }
    }

    /// The point of no return: the decision is durable before any node hears it.
    pub(super) fn decide(&mut self, cx: &mut Context<'_, Self>, outcome: Outcome) {
        self.resign(cx);
        self.log(cx, Record::Decided(outcome));
        Self::broadcast(cx, Message::Decision(outcome));
    }
}

fn others<K: Kind>(cx: &Context<'_, Commit<K>>) -> usize {
    cx.config().election.members.iter().count() - 1
}

fn majority<K: Kind>(cx: &Context<'_, Commit<K>>) -> usize {
    cx.config().election.members.iter().count() / 2 + 1
}
