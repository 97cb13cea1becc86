//! The node that a member surrounds: a baton. The process that has it may lead, and hands it on by
//! a message.

use super::{Member, Message, Process, Reason, Stable, Timer, Work};
use bellwether_engine::protocol::{Id, Local};

/// The process after this one, on a ring of all.
fn next(p: &Local<'_, Member>) -> Id {
    Id::at((p.id().index() + 1) % p.nodes())
}

impl Member {
    /// What a process starts with: what is on its disk, or that the highest has the baton.
    pub(super) fn boot(p: &mut Local<'_, Self>) {
        let Stable { epoch, holder } = p.stable();
        let holder = Some(holder.unwrap_or(p.highest()));
        *p.state = Process { epoch, holder, ..Process::default() };
        Self::report_belief(p);
    }

    /// It leads from here on. Its lease is renewed in rounds.
    fn lead(&self, p: &mut Local<'_, Self>, reason: Reason) {
        p.state.leads = true;
        p.cancel(Timer::Claim);
        p.arm(Timer::Lease);
        p.arm(Timer::Round);
        Self::save(p);
        self.on_gain(p, reason);
    }

    /// A process that has the baton, and does not lead, leads the next epoch. One whose disk is
    /// late waits on.
    pub(super) fn on_claim(&self, p: &mut Local<'_, Self>) {
        if p.state.late {
            p.arm(Timer::Claim);
        } else {
            p.state.epoch = p.state.epoch.saturating_add(1);
            self.lead(p, Reason::Claimed);
        }
    }

    /// "The baton is yours, and this epoch." A process that leads has it already.
    pub(super) fn on_entrust(&self, p: &mut Local<'_, Self>, Message::Entrust(epoch): Message) {
        if !p.state.leads && epoch > p.state.epoch {
            p.state.epoch = epoch;
            p.state.holder = Some(p.id());
            self.lead(p, Reason::Entrusted);
        }
    }

    /// A leader renews its lease. One whose disk is late hands over.
    pub(super) fn on_round(&self, p: &mut Local<'_, Self>) {
        if p.state.late {
            self.hand_over(p);
        } else {
            p.arm(Timer::Lease);
            p.arm(Timer::Round);
        }
    }

    /// The lease is over, and with it all that was done under it.
    pub(super) fn on_lease_over(p: &mut Local<'_, Self>) {
        p.cancel(Timer::Round);
        p.arm(Timer::Claim);
        p.state.leads = false;
        p.state.works = false;
        Self::on_loss(p);
    }

    /// It grants the next epoch to the next process, and leads no longer. Nothing of that leaves it
    /// before the work under its lease has ended.
    pub(super) fn hand_over(&self, p: &mut Local<'_, Self>) {
        let works = p.state.works;
        p.state.leads = false;
        p.state.epoch = p.state.epoch.saturating_add(1);
        p.state.holder = Some(next(p));
        if works {
            p.arm_since(Timer::Work, Timer::Lease);
        }
        p.cancel(Timer::Lease);
        p.cancel(Timer::Round);
        if works && self.work == Work::Awaited {
            p.state.ending = true;
        } else {
            self.give_up(p);
        }
    }

    /// What follows from handing over.
    fn give_up(&self, p: &mut Local<'_, Self>) {
        Self::save(p);
        Self::on_loss(p);
        if let Some(to) = p.state.holder {
            self.send_after_state(p, to, Message::Entrust(p.state.epoch));
        }
    }

    /// No work is under way any more: what was held back leaves, and then what has happened
    /// meanwhile is done.
    pub(super) fn on_work_over(&self, p: &mut Local<'_, Self>) {
        p.cancel(Timer::Work);
        p.state.works = false;
        if !std::mem::take(&mut p.state.ending) {
            return;
        }
        self.give_up(p);
        self.catch_up(p);
        for message in std::mem::take(&mut p.state.deferred).into_iter().flatten() {
            self.on_entrust(p, message);
            self.catch_up(p);
        }
    }

    /// A message that arrives while work ends waits.
    pub(super) fn defer(p: &mut Local<'_, Self>, message: Message) {
        if let Some(free) = p.state.deferred.iter_mut().find(|place| place.is_none()) {
            *free = Some(message);
        }
    }
}
