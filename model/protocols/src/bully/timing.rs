//! When, with perfect timing, a process has waited long enough.

use super::{Announce, Awaits, Bully, Challenged, Message, Role, Timer, Watch};
use bellwether_engine::protocol::{Id, View};

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out(rules: &Bully, view: &View<'_, Bully>, me: Id, timer: Timer) -> bool {
    match timer {
        Timer::Election => rules.no_answer_can_come(view, me),
        Timer::Coordinator => rules.no_coordinator_can_come(view, me),
        Timer::Watch => rules.leader_is_silent(view, me),
        Timer::Heartbeat => !view.in_flight(|from, _, m| from == me && m == Message::Coordinator),
        Timer::Answer => rules.no_process_says_who_leads(view, me),
    }
}

/// A heartbeat tells no process anything new: every process that it reaches follows this one.
pub(super) fn all_are_told(rules: &Bully, view: &View<'_, Bully>, me: Id) -> bool {
    view.ids().filter(|&id| id < me || rules.announce == Announce::All).all(|id| {
        let hears = id != me && view.up(id) && view.hears(id, me);
        !hears || view.process(id).leader == Some(me)
    })
}

impl Bully {
    /// `T_coord`: no COORDINATOR is on its way, and no higher process that is heard will send one:
    /// it neither is in an election nor is about to be asked to start one, nor repeats that it
    /// leads, nor is a follower whose watch expires within that time.
    fn no_coordinator_can_come(&self, view: &View<'_, Self>, me: Id) -> bool {
        let will_announce = |id: Id| {
            let own = view.rules_of(self, id);
            match view.process(id).role {
                Role::Candidate | Role::Asking => true,
                // One that waits for a COORDINATOR only may wait for ever.
                Role::Waiting => own.t_coord,
                Role::Leader => own.watch == Watch::Announcement,
                Role::Follower => view.armed(id, Timer::Watch) && own.will_miss_leader(view, id),
            }
        };
        let on_its_way = |from: Id, to: Id, m: Message| match m {
            Message::Election => from == me && self.may_answer(view, to),
            Message::Coordinator => to == me,
            // A late one does no harm, but where each T_coord may bring another they would pile up.
            Message::Ok => to == me && view.rules_of(self, from).challenged == Challenged::Answers,
            Message::ImBack | Message::WhoLeads => false,
        };
        !view.in_flight(on_its_way)
            && !view.ids().any(|id| id > me && view.hears(me, id) && will_announce(id))
    }

    /// Whether a follower's watch expires before a `T_coord` that begins now. Time-outs wait for a
    /// process that answers and does not elect as long as its own watch takes, which begins anew
    /// with the last COORDINATOR of a leader that is gone.
    fn will_miss_leader(&self, view: &View<'_, Self>, id: Id) -> bool {
        match self.challenged {
            Challenged::Elects => self.leader_is_silent(view, id),
            Challenged::Answers => self.no_leader_is_heard(view, id),
        }
    }

    /// A follower's watch: its leader gives no sign of life, or (with heartbeats) neither leads nor
    /// is about to: a leader that starts an election again ends it before a watch expires.
    fn leader_is_silent(&self, view: &View<'_, Self>, me: Id) -> bool {
        let known = view.process(me).leader;
        let on_its_way = |from: Id, to: Id, m: Message| {
            to == me && known.is_none_or(|leader| leader == from) && m == Message::Coordinator
        };
        self.no_leader_is_heard(view, me)
            && (self.watch != Watch::Announcement || !view.in_flight(on_its_way))
    }

    /// The same, whatever is still on its way.
    fn no_leader_is_heard(&self, view: &View<'_, Self>, me: Id) -> bool {
        let leads = |id: Id| {
            view.hears(me, id) && matches!(view.process(id).role, Role::Leader | Role::Candidate)
        };
        match (self.watch, view.process(me).leader) {
            (Watch::Answer, Some(leader)) => !(view.hears(me, leader) && view.hears(leader, me)),
            (Watch::Answer, None) => false,
            (Watch::Heartbeat | Watch::Announcement, Some(leader)) => !leads(leader),
            (Watch::Heartbeat | Watch::Announcement, None) => !view.ids().any(leads),
        }
    }

    /// `T_elec`: every ELECTION has reached each process that is up or may recover, and no OK is on
    /// its way.
    fn no_answer_can_come(&self, view: &View<'_, Self>, me: Id) -> bool {
        !view.in_flight(|from, to, m| match m {
            Message::Election => from == me && self.may_answer(view, to),
            Message::Ok => to == me,
            _ => false,
        })
    }

    /// Every "who leads?" has reached each process that is up or may recover, and no COORDINATOR is
    /// on its way.
    fn no_process_says_who_leads(&self, view: &View<'_, Self>, me: Id) -> bool {
        !view.in_flight(|from, to, m| match m {
            Message::WhoLeads => from == me && self.may_answer(view, to),
            Message::Coordinator => to == me,
            _ => false,
        })
    }

    /// Whether time-outs wait for what this process may answer.
    fn may_answer(&self, view: &View<'_, Self>, id: Id) -> bool {
        match self.awaits {
            Awaits::Live => view.up(id),
            Awaits::Recovering => view.may_answer(id),
        }
    }
}
