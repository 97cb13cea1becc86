//! Questions: a leader asks which processes follow it, and a process that has none which one leads.

use super::{
    Again, Answer, Elid, Ldr, Message, Process, Query, Status, Stoller, Timer, Unanswered, monitor,
};
use bellwether_engine::protocol::{Id, Ids, Local};

impl Stoller {
    /// The leader asks again who does not follow it. In stage 2 a HALT has not been answered. If it
    /// is sent again too early, the second one may come after a later election's, and be believed,
    /// because its receiver remembers only one.
    pub(super) fn ask(&self, p: &mut Local<'_, Self>) {
        let Some(elid) = p.state.elid else { return };
        if let Some(next) = p.state.pendack {
            if self.unanswered == Unanswered::Elects {
                p.because("unanswered");
                return self.begin(p);
            }
            p.send(next, Message::Halt(elid));
        } else {
            let asked = self.asked(p.state, p.id(), Id::all(p.nodes()));
            p.send_to_each(asked.iter(), Message::NormQ(elid));
        }
        p.arm(Timer::Ask);
    }

    /// NORM_Q: who does not follow says so.
    pub(super) fn on_norm_q(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if t.owner != from {
            return p.ignore("wrong_direction");
        }
        if self.says_no(p.state, p.id(), from, t) {
            if self.answer == Answer::GivesWay {
                self.halt(p, t);
            }
            p.send(from, Message::NotNorm(t));
        } else if from < p.id() {
            p.ignore("wrong_direction");
        }
    }

    /// NOT_NORM to the leader: a process does not follow it.
    pub(super) fn on_not_norm(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if !p.state.leads() || p.state.elid != Some(t) {
            return p.ignore("other_election");
        }
        p.because("check_failed");
        match self.again {
            Again::Halts => self.stage_two(p),
            Again::Elects => self.begin(p),
            Again::Announces => self.admit(p, from, t),
        }
    }

    /// A process follows from now on.
    fn admit(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        if self.query == Query::Down {
            p.state.down = p.state.down.without(from);
            monitor(p, from);
        }
        p.send(from, Message::Ldr(t));
    }

    /// HAS_LEADER: an election is not needed; the leader is asked whether it is one, and those that
    /// gave way are told too. Who hears that it led itself, in a life that it forgot, asks itself.
    pub(super) fn on_has_leader(&self, p: &mut Local<'_, Self>, t: Elid) {
        if p.state.status == Status::Norm {
            return;
        }
        p.send_to_each(p.state.acks.iter(), Message::HasLeader(t));
        if t.owner == p.id() {
            return self.begin(p);
        }
        self.halt(p, t);
        p.send(t.owner, Message::IsLeader(t));
    }

    /// IS_LEADER: who leads says so, whichever election was meant; who does not says that.
    pub(super) fn on_is_leader(&self, p: &mut Local<'_, Self>, from: Id, t: Elid) {
        match p.state.elid {
            Some(elid) if p.state.leads() => self.admit(p, from, elid),
            _ => p.send(from, Message::NotLeader(t)),
        }
    }

    /// NOT_LEADER: a process that waits for it starts an election.
    pub(super) fn on_not_leader(&self, p: &mut Local<'_, Self>, t: Elid) {
        if p.state.status == Status::Wait && p.state.elid == Some(t) {
            self.begin(p);
        }
    }
}

/// Who asks whom, and who says no.
impl Stoller {
    /// Whom a leader asks whether they follow it.
    pub(super) fn asked(&self, leader: &Process, me: Id, ids: impl Iterator<Item = Id>) -> Ids {
        let all: Ids = ids.collect();
        let highest = all.iter().last();
        match self.query {
            Query::None => Ids::NONE,
            Query::Down => leader.down.iter().filter(|&id| Some(id) != highest).collect(),
            Query::Lower => all.iter().filter(|&id| id < me).collect(),
        }
    }

    /// Whether process `me` says no when `leader` asks whether it follows it in election `t`.
    pub(super) fn says_no(&self, process: &Process, me: Id, leader: Id, t: Elid) -> bool {
        let led_by = led_by(process, me);
        match self.answer {
            Answer::NotNorm => process.status != Status::Norm,
            Answer::LedByLower => led_by < Some(leader),
            Answer::NotFollowing => {
                let follows = process.status == Status::Norm && process.elid == Some(t);
                !follows && led_by <= Some(leader)
            }
            Answer::GivesWay => match process.status {
                Status::Elec1 => true,
                Status::Wait => process.elid == Some(t),
                Status::Norm | Status::Elec2 => false,
            },
        }
    }
}

/// The process that one follows or waits for; itself while it leads or is in an election.
pub(super) fn led_by(process: &Process, me: Id) -> Option<Id> {
    match (process.status, process.ldr) {
        (Status::Norm, Ldr::Other(leader)) => Some(leader),
        (Status::Wait, _) => process.elid.map(|t| t.owner),
        _ => Some(me),
    }
}
