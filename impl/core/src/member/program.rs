//! The knowledge that a program has of its node: which node leads, whether that is its own, and until
//! when it may do what only a leader may.
//!
//! An [`Announcement`] says how far a leadership of the node itself is. A [`ProgramView`] is what the
//! program was told last. Everything that a program learns of a leadership goes through
//! [`Member::announce`] and [`Member::renew`].
//!
//! - A program that [prepares itself](PreparationRequest) first sees a node that waits. The other
//!   nodes see a leader, whose lease is renewed meanwhile, so no other leads. A program that cannot
//!   prepare itself refuses, and the node steps down.
//! - After a pause of the process, or of its machine, and after a save that took too long, the
//!   others may have elected another leader. The program is told that its node leads no longer, and
//!   is told that it leads still when the others have had the time to hear so.
//! - A core that stops leading before its lease is over has decided so, and nothing of that has left
//!   the node yet: no grant, no message. The member has all work ended then, and holds that back
//!   until it has ended. It renews nothing meanwhile, so the lease is the bound: once it is over, no
//!   guard is valid, and no node needs to be told anything.
//! - Without a quorum, another node can have led at the same time, after a cut or a pause. A core
//!   reports each message that shows such a rival. In most protocols the node that gives way gets
//!   one, and the node that goes on to lead may get none. So a node that has heard of a rival says
//!   so to the rival: no core needs that, and no core sees it.

use std::time::Duration;

use super::event::{Action, Event, LogLine};
use super::{LONGEST_SLEEP, Member, Task};
use crate::protocol::{Core, Epoch, Input, Lease, NodeId, Reason, Role, Status, Time};

/// A request to the program: to prepare itself for a leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparationRequest {
    /// The number of the request: how often the program was asked, this one included.
    pub number: u64,
    /// The epoch that the node leads, if its protocol has epochs.
    pub epoch: Option<Epoch>,
    /// The reason why the node has come to lead.
    pub reason: Reason,
}

/// A change of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewUpdate {
    /// The role of the node from now on.
    pub role: Role,
    /// The leader from now on, if there is one.
    pub leader: Option<NodeId>,
    /// The epoch of the leader, if its protocol has epochs.
    pub epoch: Option<Epoch>,
    /// The lease of the node itself. It counts only if the node leads, in the epoch of the lease.
    pub lease: Option<Lease>,
    /// The reason for the change.
    pub reason: Reason,
}

/// The view that a program has of the leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramView {
    node: NodeId,
    role: Role,
    leader: Option<NodeId>,
    epoch: Option<Epoch>,
    reason: Option<Reason>,
    seq: u64,
    attempts: u64,
    /// Which node led at the same time, if the last change is that the program is told so.
    rival: Option<NodeId>,
    rivals: u64,
    own: OwnLeadership,
    /// Which of its own leaderships ended last, and why.
    lost: Option<(u64, Reason)>,
}

/// Whether the node itself leads. One becomes the other only by [`ProgramView::lead`] and
/// [`ProgramView::lose`], so the two alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnLeadership {
    /// It does not, after so many leaderships.
    Away(u64),
    /// It does, in the term with this number, from 1, and may do what only a leader may while this
    /// lease lasts.
    Leads(u64, Option<Lease>),
}

impl ProgramView {
    /// Returns what the program of this node knows before it takes part: nothing.
    #[must_use]
    pub fn initial(node: NodeId) -> Self {
        Self {
            node,
            role: Role::NotStarted,
            leader: None,
            epoch: None,
            reason: None,
            seq: 0,
            attempts: 0,
            rival: None,
            rivals: 0,
            own: OwnLeadership::Away(0),
            lost: None,
        }
    }

    /// Notes an update, which is a change or an [attempt](ProgramView::attempts). A leadership of
    /// the node ends here if another node leads from now on, or none, or if it leads another epoch;
    /// and one begins if it leads from now on.
    pub fn apply(&mut self, update: ViewUpdate) {
        let ViewUpdate { role, leader, epoch, lease, reason } = update;
        let leads = leader == Some(self.node);
        if self.is_attempt(&update) {
            self.attempts += 1;
        } else {
            self.seq += 1;
        }
        if !leads || epoch != self.epoch {
            self.lose(reason);
        }
        (self.role, self.leader, self.epoch, self.reason) = (role, leader, epoch, Some(reason));
        self.rival = None;
        if leads {
            self.lead(lease);
        }
    }

    /// Whether the node only goes on to look for a leader: it took part without one, and does so
    /// still. A node whose program prepares itself leads for the others, so that such a leadership
    /// begins and ends is a change.
    fn is_attempt(&self, update: &ViewUpdate) -> bool {
        let looks = |role| matches!(role, Role::Follower | Role::Candidate | Role::Waiting);
        let prepares = |reason| reason == Some(Reason::PREPARING);
        self.leader.is_none()
            && update.leader.is_none()
            && looks(self.role)
            && looks(update.role)
            && !prepares(self.reason)
            && !prepares(Some(update.reason))
    }

    /// Notes that another node led at the same time. That is a change of neither role nor leader.
    pub(super) fn note_rival(&mut self, rival: NodeId) {
        self.rival = Some(rival);
        self.rivals += 1;
        self.seq += 1;
    }

    /// Notes until when the node's own leadership lasts. Returns whether that is another moment
    /// than before.
    pub(super) fn renew(&mut self, lease: Option<Lease>) -> bool {
        let before = self.lease();
        if self.leads() {
            self.lead(lease);
        }
        self.lease() != before
    }

    fn lose(&mut self, reason: Reason) {
        if let OwnLeadership::Leads(term, _) = self.own {
            self.own = OwnLeadership::Away(term);
            self.lost = Some((term, reason));
        }
    }

    /// A lease counts for the epoch that the program knows.
    fn lead(&mut self, lease: Option<Lease>) {
        let lease = lease.filter(|lease| self.epoch == Some(lease.epoch));
        let term = match self.own {
            OwnLeadership::Away(terms) => terms + 1,
            OwnLeadership::Leads(term, _) => term,
        };
        self.own = OwnLeadership::Leads(term, lease);
    }

    /// Returns the id of the node whose view this is.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the role of the node.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the leader, if there is one.
    #[must_use]
    pub fn leader(&self) -> Option<NodeId> {
        self.leader
    }

    /// Returns the epoch of the leader, if its protocol has epochs.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Returns the reason for this state; `None` before the node takes part.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// Returns the number of the last change, from 1.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the number of attempts to find a leader: of updates in which the node took part, and
    /// knew no leader before and after. They are no changes, and have no number among them.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Returns the node that led at the same time as this one, if the last change is that this was
    /// heard. The role, the leader and the reason are what they were before.
    #[must_use]
    pub fn rival(&self) -> Option<NodeId> {
        self.rival
    }

    /// Returns how often the program was told of a rival: once of each node in each term of its
    /// own.
    #[must_use]
    pub fn rivals(&self) -> u64 {
        self.rivals
    }

    /// Returns whether the node itself leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        matches!(self.own, OwnLeadership::Leads(..))
    }

    /// Returns the lease under which the program may do what only a leader may; `None` if the node
    /// does not lead, or leads without a lease.
    #[must_use]
    pub fn lease(&self) -> Option<Lease> {
        match self.own {
            OwnLeadership::Leads(_, lease) => lease,
            OwnLeadership::Away(_) => None,
        }
    }

    /// Returns how often the node has come to lead.
    #[must_use]
    pub fn terms(&self) -> u64 {
        match self.own {
            OwnLeadership::Leads(terms, _) | OwnLeadership::Away(terms) => terms,
        }
    }

    /// Returns which of these leaderships ended last, and why.
    #[must_use]
    pub fn lost(&self) -> Option<(u64, Reason)> {
        self.lost
    }
}

/// How far a leadership of the node is announced to its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// The node does not lead, or its leadership is not durable yet.
    Away(Silence),
    /// The node leads for this reason, and the program prepares itself. A program that cannot, and
    /// whose node cannot step down, is asked no more.
    Preparing { reason: Reason, request: Option<PreparationRequest>, silence: Silence },
    /// Only the silence keeps the program from being told, for this reason, that its node leads.
    Withheld(Reason, Silence),
    /// The program knows that its node leads.
    Announced,
    /// The node gives up this lease, and waits until the work under it has ended.
    Ending(Lease, Silence),
}

/// Why the others may not know that the node leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Silence {
    /// When they have had the time to hear so, as the node can speak again.
    pub(super) until: Option<Time>,
    /// The node can say nothing, as a save takes too long.
    pub(super) by_disk: bool,
}

impl Announcement {
    pub(super) const AWAY: Self = Self::Away(Silence { until: None, by_disk: false });

    /// The silence, which none has whose program knows that it leads.
    pub(super) fn silence_mut(&mut self) -> Option<&mut Silence> {
        match self {
            Self::Away(silence)
            | Self::Preparing { silence, .. }
            | Self::Withheld(_, silence)
            | Self::Ending(_, silence) => Some(silence),
            Self::Announced => None,
        }
    }

    pub(super) fn silence(mut self) -> Silence {
        self.silence_mut().copied().unwrap_or_default()
    }

    /// The lease that the node gives up.
    pub(super) fn ending(self) -> Option<Lease> {
        if let Self::Ending(lease, _) = self { Some(lease) } else { None }
    }

    /// The same, but for times, and for how often the program was asked.
    pub(super) fn timeless(mut self) -> Self {
        if let Some(silence) = self.silence_mut() {
            silence.until = silence.until.map(|_| Time::ZERO);
        }
        match &mut self {
            Self::Preparing { request: Some(request), .. } => request.number = 0,
            Self::Ending(lease, _) => lease.until = Time::ZERO,
            _ => {}
        }
        self
    }
}

/// When the member ran last, and when it was to run again.
#[derive(Clone, Debug)]
pub(super) struct PauseDetector {
    /// For how long a leader may do nothing.
    pub(super) silence: Duration,
    pub(super) last_run: Time,
    due: Time,
}

impl PauseDetector {
    pub(super) fn new(silence: Duration, now: Time) -> Self {
        Self { silence, last_run: now, due: now }
    }

    /// The member waits until its deadline, and for no longer than a process sleeps. That counts
    /// from when it ran last: a process may stand still before it begins to wait as well. Returns
    /// when the wait is over.
    pub(super) fn expect_wake(&mut self, deadline: Option<Time>) -> Time {
        let longest = self.last_run + LONGEST_SLEEP;
        self.due = deadline.map_or(longest, |deadline| deadline.min(longest));
        self.due
    }

    /// The member runs. Whether it did nothing for longer than it may, which is no wait that it
    /// chose itself.
    pub(super) fn check(&mut self, now: Time) -> bool {
        let (gap, late) = (now.since(self.last_run), now.since(self.due));
        self.last_run = now;
        gap >= self.silence && late >= self.silence / 2
    }
}

impl<C: Core> Member<C> {
    /// Notices a pause. The others may follow another leader by now, also where the protocol does
    /// not tell this node: its program is told that it leads no longer. If the node leads still
    /// when the others have had the time to hear so, its program is told that. So it is if it has
    /// not been told yet that the node leads, as that waits for the storage, or for the program.
    pub(super) fn check_pause(&mut self, now: Time) {
        if self.pause_detector.check(now) {
            self.withdraw(Reason::PAUSED);
            let until = self.leads().then_some(now + self.pause_detector.silence);
            if let Some(silence) = self.announcement.silence_mut() {
                silence.until = until;
            }
        }
        // A node that gives up its lease has nothing to resume.
        if !self.awaits_work() && self.may_resume(now) {
            // Its deadlines come first.
            self.tasks.push_back(Task::Step(Input::Wake));
            self.tasks.push_back(Task::Resume);
        }
    }

    /// Tells a program that knows that its node leads that the node does so no longer.
    pub(super) fn withdraw(&mut self, reason: Reason) {
        if self.announcement == Announcement::Announced {
            self.announcement = Announcement::Withheld(Reason::RESUMED, Silence::default());
        }
        if self.view.leads() {
            self.announce(Role::Waiting, None, reason);
        }
    }

    /// Ends the silence. Only a program that is prepared is told then that its node leads still.
    pub(super) fn resume(&mut self, now: Time) {
        if !self.may_resume(now) {
            return;
        }
        if let Announcement::Withheld(reason, _) = self.announcement {
            self.announce_leadership(reason);
        } else if let Some(silence) = self.announcement.silence_mut() {
            *silence = Silence::default();
        }
    }

    fn may_resume(&self, now: Time) -> bool {
        self.resume_deadline().is_some_and(|resume| resume <= now)
    }

    /// When its program is told that it leads still: not before the others can be.
    pub(super) fn resume_deadline(&self) -> Option<Time> {
        self.announcement.silence().until.filter(|_| !self.is_behind())
    }

    /// Whether the node leads, whatever its program knows.
    pub(super) fn leads(&self) -> bool {
        self.node.status().role == Role::Leader
    }

    /// The node has come to lead, and all before that is durable.
    pub(super) fn on_leadership_durable(&mut self, now: Time, reason: Reason) {
        if self.prepares {
            self.request_preparation(reason);
        } else {
            self.announce_unless_silent(now, reason);
        }
    }

    /// The program is to prepare itself, and not told before it has that its node leads.
    fn request_preparation(&mut self, reason: Reason) {
        self.preparations += 1;
        let (number, epoch) = (self.preparations, self.node.epoch());
        let request = Some(PreparationRequest { number, epoch, reason });
        let silence = self.announcement.silence();
        self.announcement = Announcement::Preparing { reason, request, silence };
        self.actions.push(Action::Prepare(request));
        self.announce(Role::Waiting, None, Reason::PREPARING);
    }

    /// The program has an answer to what it was asked by this number. Returns why the node leads,
    /// if that is what the program was asked last.
    pub(super) fn take_preparation(&mut self, number: u64) -> Option<Reason> {
        let Announcement::Preparing { reason, request, .. } = &mut self.announcement else {
            return None;
        };
        if self.preparations != number {
            return None;
        }
        *request = None;
        self.actions.push(Action::Prepare(None));
        Some(*reason)
    }

    /// Nothing but the time keeps the program from knowing that its node leads: it is told so, or
    /// once the others can have heard that, if the node was silent since.
    pub(super) fn announce_unless_silent(&mut self, now: Time, reason: Reason) {
        let silence = self.announcement.silence();
        if silence.by_disk || silence.until.is_some_and(|until| now < until) {
            self.announcement = Announcement::Withheld(reason, silence);
        } else {
            self.announce_leadership(reason);
        }
    }

    fn announce_leadership(&mut self, reason: Reason) {
        self.announcement = Announcement::Announced;
        let Status { role, leader, .. } = self.node.status();
        self.announce(role, leader, reason);
    }

    /// The node leads no longer, or sees another role or leader: whatever the program was to be
    /// told later, it is told this.
    pub(super) fn announce_loss(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        if self.pending_preparation().is_some() {
            self.actions.push(Action::Prepare(None));
        }
        self.announcement = Announcement::AWAY;
        let is_stalled = reason == Reason::UNFIT && self.disk.stalled;
        self.announce(role, leader, if is_stalled { Reason::STORAGE_STALLED } else { reason });
    }

    /// Tells the program what is so from now on.
    fn announce(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let (epoch, lease, terms) = (self.epoch(leader), self.node.lease(), self.view.terms());
        self.view.apply(ViewUpdate { role, leader, epoch, lease, reason });
        if self.view.terms() != terms {
            self.rivals.clear();
        }
        self.actions.push(Action::Publish(self.view));
        self.record_work_epoch();
    }

    /// Tells the program until when its node leads.
    pub(super) fn renew(&mut self) {
        if self.view.renew(self.node.lease()) {
            self.actions.push(Action::RenewLease(self.view.lease()));
            self.record_work_epoch();
        }
    }

    /// Notes under which epoch the program may have work under way.
    fn record_work_epoch(&mut self) {
        self.work_epoch = self.view.lease().map(|lease| lease.epoch).or(self.work_epoch);
    }

    /// The lease that the node has, if the program may have work under way under it.
    pub(super) fn work_lease(&self) -> Option<Lease> {
        self.node.lease().filter(|lease| self.work_epoch == Some(lease.epoch))
    }

    /// What the program may know of the epoch and the lease.
    pub(super) fn update_view(&mut self) {
        // Of its own epoch it is told when that is durable.
        if !self.leads() || !self.is_behind() {
            self.compare_epochs();
        }
        self.renew();
    }

    /// Tells the program of a leader that leads another epoch.
    fn compare_epochs(&mut self) {
        let asked = self.pending_preparation();
        let is_outdated = asked.is_some_and(|request| request.epoch != self.node.epoch());
        let (role, leader) = (self.view.role(), self.view.leader());
        let is_next = leader.is_some() && self.view.epoch() != self.epoch(leader);
        if is_outdated || (is_next && self.prepares && self.view.leads()) {
            self.request_preparation(Reason::NEXT_EPOCH);
        } else if is_next {
            self.announce(role, leader, Reason::NEXT_EPOCH);
        }
    }

    /// The epoch of this leader; it is known of the one that the node follows now, or is.
    fn epoch(&self, leader: Option<NodeId>) -> Option<Epoch> {
        leader.filter(|_| self.node.status().leader == leader).and_then(|_| self.node.epoch())
    }

    /// Tells the program once in a term of its own that this node led at the same time. Returns
    /// whether it did. A program that was never told that its node leads has done nothing as a
    /// leader, and one that leads no longer has done it in its last term.
    pub(super) fn report_rival(&mut self, rival: NodeId) -> bool {
        let is_news = self.view.terms() > 0 && self.rivals.insert(rival);
        if is_news {
            self.view.note_rival(rival);
            self.actions.push(Action::Publish(self.view));
        }
        is_news
    }

    /// The node gives up this lease: work ends first. Whether a node is silent is asked anew after
    /// that.
    pub(super) fn end_work(&mut self, lease: Lease) {
        self.announcement = Announcement::Ending(lease, self.announcement.silence());
        self.tasks.retain(|task| !matches!(task, Task::Suspect | Task::AbandonWaits(_)));
        self.actions.push(Action::EndWork(lease.epoch));
    }

    /// Something happens while the member waits for work: that it has ended, or that its lease is
    /// over. Anything else comes later.
    pub(super) fn wait_for_work(&mut self, now: Time, event: Event<C::Message>) {
        let Announcement::Ending(lease, silence) = self.announcement else { return };
        match event {
            Event::WorkEnded => {}
            event => {
                if !matches!(event, Event::Wake) {
                    self.deferred_events.push_back(event);
                }
                if now < lease.until {
                    return;
                }
                self.actions.push(Action::Log(LogLine::WorkUnfinished(lease.epoch)));
            }
        }
        self.announcement = if self.view.leads() {
            Announcement::Announced
        } else {
            Announcement::Withheld(Reason::RESUMED, silence)
        };
        self.drain_outputs(now);
    }

    /// Returns whether the member does nothing but wait until the work of a leadership has ended:
    /// until then, or until its [wait](Member::wait) is over, nothing else needs to be handed over.
    #[must_use]
    pub fn awaits_work(&self) -> bool {
        self.announcement.ending().is_some()
    }

    /// Returns the request that the program has not answered.
    #[must_use]
    pub fn pending_preparation(&self) -> Option<PreparationRequest> {
        if let Announcement::Preparing { request, .. } = self.announcement { request } else { None }
    }

    /// Returns whether the node leads, that is durable, and the program needs no more time to
    /// prepare itself.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        !matches!(self.announcement, Announcement::Away(_) | Announcement::Preparing { .. })
    }

    /// Returns why the node has come to lead, if its program has not been told so yet only because
    /// the node was silent.
    #[must_use]
    pub fn unannounced(&self) -> Option<Reason> {
        match self.announcement {
            Announcement::Withheld(reason, _) if reason != Reason::RESUMED => Some(reason),
            _ => None,
        }
    }

    /// Returns whether the node leads, and has said nothing for too long, as its storage does not
    /// answer.
    #[must_use]
    pub fn is_silenced_by_disk(&self) -> bool {
        self.announcement.silence().by_disk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    /// Until when it waits, if it does; when it runs then; and whether that is a pause.
    type Run = (Option<Option<u64>>, u64, bool);

    #[test]
    fn only_a_wait_that_was_not_chosen_is_a_pause() {
        let nothing = Some(None);
        let cases: [&[Run]; 3] = [
            &[
                (Some(Some(100)), 130, false), // It is a little late.
                (nothing, 1_150, false),       // It had nothing to do for a second.
                (Some(Some(1_250)), 1_550, true),
                (None, 1_551, false), // It is told once.
            ],
            // What it does takes too long, and the next wait has not begun.
            &[(Some(Some(100)), 100, false), (None, 600, true)],
            // It may stand still before it waits: the second counts from when it ran last.
            &[(nothing, 900, false), (nothing, 2_200, true)],
        ];
        for runs in cases {
            let mut detector = PauseDetector::new(Duration::from_millis(400), at(0));
            for &(waits, now, is_pause) in runs {
                if let Some(deadline) = waits {
                    let _ = detector.expect_wake(deadline.map(at));
                }
                assert_eq!(detector.check(at(now)), is_pause, "{now} ms: {runs:?}");
            }
        }
    }
}
