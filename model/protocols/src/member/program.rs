//! What the program of a node is told.

use super::{Gate, Gated, Member, Pause, Process, ProgramView, Reason, Resume, Timer};
use bellwether_engine::protocol::Local;

impl Member {
    /// The program of a node that does not lead is told what the node sees.
    pub(super) fn report_belief(p: &mut Local<'_, Self>) {
        p.state.program = match p.state.holder {
            Some(holder) if holder != p.id() => ProgramView::Follows(holder),
            _ => ProgramView::Undecided,
        };
    }

    /// "That it leads no longer waits for nothing."
    pub(super) fn on_loss(p: &mut Local<'_, Self>) {
        Self::forget_gain(p);
        Self::cancel_announcement(p);
        p.state.silent = false;
        p.state.gate = Gate::Away;
        Self::report_belief(p);
    }

    /// The node leads, and that is durable: its program prepares itself.
    pub(super) fn request_preparation(&self, p: &mut Local<'_, Self>, reason: Reason) {
        p.state.gate = Gate::Asked(reason);
        match self.gate {
            Gated::Waits => p.state.program = ProgramView::Prepares,
            Gated::Open => Self::report_leadership(p),
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
            Self::report_leadership(p);
        }
    }

    /// From here on the program may do what only a leader may, and does.
    fn report_leadership(p: &mut Local<'_, Self>) {
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
        Self::withdraw(p);
        if leads {
            Self::expect_resume(p);
        } else {
            Self::cancel_announcement(p);
        }
    }

    /// A program that knows that its node leads is told that it does not.
    pub(super) fn withdraw(p: &mut Local<'_, Self>) {
        if matches!(p.state.program, ProgramView::Leads(_)) {
            p.state.program = ProgramView::Paused;
        }
    }

    /// A silence is over: from now on the others can hear that the node leads still.
    pub(super) fn expect_resume(p: &mut Local<'_, Self>) {
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
    pub(super) fn resume_if_due(p: &mut Local<'_, Self>) {
        let Process { resume, ending, leads, gate, .. } = *p.state;
        if resume == Resume::Due && !ending && !p.state.is_behind() {
            Self::cancel_announcement(p);
            if leads && gate == Gate::Open {
                Self::report_leadership(p);
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
