//! The steps of a member: those of its node, those that wait for the disk, and those that tell the
//! program something.

use super::{
    Gate, Gated, Member, Message, Order, Pause, Process, ProgramView, Reason, Resume, Stable,
    Stall, Steps, Timer, Work,
};
use bellwether_engine::protocol::{Id, Local};

/// The node that a member surrounds: a baton. The process that has it may lead, and hands it on by
/// a message.
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
        } else {
            p.ignore("stale");
        }
    }

    /// A leader renews its lease. One whose disk is late hands over.
    pub(super) fn on_round(&self, p: &mut Local<'_, Self>) {
        if p.state.late {
            p.because("storage_stalled");
            self.hand_over(p);
        } else {
            p.arm(Timer::Lease);
            p.arm(Timer::Round);
        }
    }

    /// The lease is over, and with it all that was done under it.
    pub(super) fn on_lease_over(p: &mut Local<'_, Self>) {
        p.because("lease_over");
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
        p.because("asked");
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

/// The process after this one, on a ring of all.
fn next(p: &Local<'_, Member>) -> Id {
    Id::at((p.id().index() + 1) % p.nodes())
}

impl Process {
    /// Whether a state of the node is not on the disk yet.
    fn is_behind(&self) -> bool {
        self.saving.is_some() || self.next.is_some()
    }

    /// What comes after all states so far.
    fn last(&mut self) -> &mut Steps {
        if self.next.is_some() { &mut self.behind } else { &mut self.ready }
    }
}

/// The disk: states are saved one after the other, each before all that waits for it.
impl Member {
    /// The state of its node is to be durable; a later one says all that an earlier one said.
    fn save(p: &mut Local<'_, Self>) {
        let Process { epoch, holder, .. } = *p.state;
        p.state.next = Some(Stable { epoch, holder });
    }

    /// "Nothing leaves before it is durable."
    fn send_after_state(&self, p: &mut Local<'_, Self>, to: Id, message: Message) {
        match self.sends {
            Order::Durable => p.state.last().send = Some((to, message)),
            Order::AtOnce => p.send(to, message),
        }
    }

    /// Nor is the program told before it is durable that its node leads.
    fn on_gain(&self, p: &mut Local<'_, Self>, reason: Reason) {
        match self.leads {
            Order::Durable => p.state.last().lead = Some(reason),
            Order::AtOnce => self.request_preparation(p, reason),
        }
    }

    /// The node leads no longer: its program is not told that it came to.
    fn forget_gain(p: &mut Local<'_, Self>) {
        p.state.ready.lead = None;
        p.state.behind.lead = None;
    }

    /// Does what waits for no state any more, and begins to save the next.
    pub(super) fn catch_up(&self, p: &mut Local<'_, Self>) {
        if p.state.saving.is_none() {
            let Steps { send, lead } = std::mem::take(&mut p.state.ready);
            if let Some((to, message)) = send {
                p.send(to, message);
            }
            if let Some(reason) = lead {
                self.request_preparation(p, reason);
            }
            if let Some(next) = p.state.next.take() {
                p.state.saving = Some(next);
                p.state.ready = std::mem::take(&mut p.state.behind);
                p.arm(Timer::Late);
            }
        }
        Self::resume_if_due(p);
    }

    /// A leader that can say nothing, as what it says waits for a disk that is late: the others may
    /// follow another. Its program is told so at once, if it knows that the node leads.
    pub(super) fn check_stall(&self, p: &mut Local<'_, Self>) {
        let Process { late, leads, .. } = *p.state;
        if late && leads && p.state.is_behind() {
            p.state.silent = true;
            if self.stall == Stall::Withdrawn {
                Self::withdraw(p, "storage_stalled");
                p.state.withdrawn = true;
            }
        }
    }

    /// The disk has answered. One that was late is fit again. Where the node led in silence, its
    /// program learns that when the others can have heard of it.
    pub(super) fn on_saved(&self, p: &mut Local<'_, Self>) {
        if let Some(saved) = p.state.saving.take() {
            p.persist(saved);
            p.cancel(Timer::Late);
            if p.state.withdrawn && !p.state.is_behind() {
                p.state.withdrawn = false;
                Self::expect_resume(p);
            }
            self.catch_up(p);
            p.state.late = false;
        }
    }
}

/// The program, and all that it is told.
impl Member {
    /// The program of a node that does not lead is told what the node sees.
    fn report_belief(p: &mut Local<'_, Self>) {
        p.state.program = match p.state.holder {
            Some(holder) if holder != p.id() => ProgramView::Follows(holder),
            _ => ProgramView::Undecided,
        };
    }

    /// "That it leads no longer waits for nothing."
    fn on_loss(p: &mut Local<'_, Self>) {
        Self::forget_gain(p);
        Self::cancel_announcement(p);
        p.state.silent = false;
        p.state.gate = Gate::Away;
        Self::report_belief(p);
    }

    /// The node leads, and that is durable: its program prepares itself.
    fn request_preparation(&self, p: &mut Local<'_, Self>, reason: Reason) {
        p.state.gate = Gate::Asked(reason);
        match self.gate {
            Gated::Waits => {
                p.because("preparing");
                p.state.program = ProgramView::Prepares;
            }
            Gated::Open => Self::report_leadership(p, reason.name()),
        }
    }

    /// The program is prepared. If its node has been silent since it came to lead, the program is
    /// told so when the others have had the time to hear that.
    pub(super) fn on_prepared(p: &mut Local<'_, Self>) {
        let Gate::Asked(reason) = p.state.gate else { return };
        p.state.gate = Gate::Open;
        if p.state.resume != Resume::NotDue || p.state.withdrawn {
            p.state.unannounced = Some(reason);
        } else if !matches!(p.state.program, ProgramView::Leads(_)) {
            Self::report_leadership(p, reason.name());
        }
    }

    /// From here on the program may do what only a leader may, and does.
    fn report_leadership(p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        Self::cancel_announcement(p);
        p.state.program = ProgramView::Leads(p.state.epoch);
        p.state.works = true;
    }

    /// The process stood still for so long that the others may follow another leader.
    pub(super) fn on_pause(&self, p: &mut Local<'_, Self>) {
        let Process { leads, program, .. } = *p.state;
        let knows = matches!(program, ProgramView::Leads(_));
        p.state.silent = leads;
        if self.pause == Pause::Ignored || (self.pause == Pause::IfTold && !knows) {
            return;
        }
        Self::withdraw(p, "paused");
        if leads {
            Self::expect_resume(p);
        } else {
            Self::cancel_announcement(p);
        }
    }

    /// A program that knows that its node leads is told that it does not.
    fn withdraw(p: &mut Local<'_, Self>, reason: &'static str) {
        if matches!(p.state.program, ProgramView::Leads(_)) {
            p.because(reason);
            p.state.program = ProgramView::Paused;
        }
    }

    /// A silence is over: from now on the others can hear that the node leads still.
    fn expect_resume(p: &mut Local<'_, Self>) {
        p.state.resume = Resume::Waits;
        p.arm(Timer::Resume);
    }

    /// The others have had the time to hear that the node leads still.
    pub(super) fn on_resume(p: &mut Local<'_, Self>) {
        p.state.resume = Resume::Due;
        Self::resume_if_due(p);
    }

    /// The program is told that its node leads still, if that is durable and the program is
    /// prepared.
    fn resume_if_due(p: &mut Local<'_, Self>) {
        let Process { resume, ending, leads, gate, unannounced, .. } = *p.state;
        if resume == Resume::Due && !ending && !p.state.is_behind() {
            Self::cancel_announcement(p);
            if leads && gate == Gate::Open {
                Self::report_leadership(p, unannounced.map_or("resumed", Reason::name));
            }
        }
    }

    /// Whatever the program was to be told later, it is told something else. A silence that was
    /// noticed is over by that.
    fn cancel_announcement(p: &mut Local<'_, Self>) {
        p.cancel(Timer::Resume);
        p.state.silent &= p.state.resume == Resume::NotDue;
        p.state.resume = Resume::NotDue;
        p.state.unannounced = None;
        p.state.withdrawn = false;
    }
}
