//! What the program is told of which node leads, and until when its own does. Everything that a
//! program learns of a leadership goes through [`Member::announce`] and [`Member::renew`].
//!
//! The program is also told of the nodes that led at the same time as its own: without a quorum,
//! after a cut or a pause, there can be some. A core reports each message that shows a rival. In
//! most protocols the node that gives way gets one, and the node that goes on to lead may get none.
//! So a node that has heard of a rival says so to the rival: no core needs that, and no core sees
//! it.

use std::collections::BTreeSet;

use super::Member;
use super::event::Action;
use super::gate::Gate;
use super::view::ViewUpdate;
use crate::protocol::{Core, Epoch, Event, Lease, NodeId, Reason, Role, Status, Time};

impl<C: Core> Member<C> {
    /// Whether the node leads, whatever its program knows.
    pub(super) fn leads(&self) -> bool {
        self.node.status().role == Role::Leader
    }

    /// The node has come to lead, and all before that is durable.
    pub(super) fn on_leadership_durable(&mut self, now: Time, event: Event) {
        let Event::RoleChanged { to, leader, reason, .. } = event else { return };
        if self.gate.is_some() {
            self.on_change(to, leader, reason);
        } else {
            self.announce_leadership(now, reason);
        }
    }

    /// Nothing but the time keeps the program from knowing that its node leads: it is told so, or
    /// once the others can have heard that, if the node was silent since.
    pub(super) fn announce_leadership(&mut self, now: Time, reason: Reason) {
        if self.disk.withdrawn || self.resume.is_some_and(|resume| now < resume) {
            self.unannounced = Some(reason);
            return;
        }
        self.cancel_announcement();
        let Status { role, leader, .. } = self.node.status();
        self.announce(role, leader, reason);
    }

    /// The node sees another role, leader or epoch. If there is a gate, its program is not told
    /// before it is prepared that it leads.
    pub(super) fn on_change(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let epoch = self.epoch(leader);
        match &mut self.gate {
            Some(gate) if role == Role::Leader => {
                let request = gate.request_preparation(epoch, reason);
                self.actions.push(Action::Prepare(Some(request)));
                self.announce(Role::Waiting, None, Reason::PREPARING);
            }
            gate => {
                if gate.as_mut().is_some_and(Gate::withdraw) {
                    self.actions.push(Action::Prepare(None));
                }
                self.announce(role, leader, reason);
            }
        }
    }

    /// Tells the program what is so from now on.
    pub(super) fn announce(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let (epoch, lease) = (self.epoch(leader), self.node.lease());
        self.view.apply(ViewUpdate { role, leader, epoch, lease, reason });
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
        let epoch = self.node.epoch();
        if self.gate.as_ref().is_some_and(|gate| !gate.is_for(epoch)) {
            let Status { role, leader, .. } = self.node.status();
            return self.on_change(role, leader, Reason::NEXT_EPOCH);
        }
        let (role, leader) = (self.view.role(), self.view.leader());
        if leader.is_some() && self.view.epoch() != self.epoch(leader) {
            self.on_change(role, leader, Reason::NEXT_EPOCH);
        }
    }

    /// The epoch of this leader; it is known of the one that the node follows now, or is.
    fn epoch(&self, leader: Option<NodeId>) -> Option<Epoch> {
        leader.filter(|_| self.node.status().leader == leader).and_then(|_| self.node.epoch())
    }
}

/// The rivals of which the program was told in the last of its own terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rivals {
    term: u64,
    told: BTreeSet<NodeId>,
}

impl Rivals {
    /// Notes the rival. Returns whether it is the first time in this term.
    fn note(&mut self, term: u64, rival: NodeId) -> bool {
        if self.term != term {
            *self = Self { term, told: BTreeSet::new() };
        }
        self.told.insert(rival)
    }

    /// The rivals of this term that were told.
    pub(super) fn of(&self, term: u64) -> impl Iterator<Item = NodeId> + '_ {
        self.told.iter().copied().filter(move |_| self.term == term)
    }
}

impl<C: Core> Member<C> {
    /// Tells the program once in a term of its own that this node led at the same time. Returns
    /// whether it did. A program that was never told that its node leads has done nothing as a
    /// leader, and one that leads no longer has done it in its last term.
    pub(super) fn report_rival(&mut self, rival: NodeId) -> bool {
        let term = self.view.terms();
        let is_news = term > 0 && self.rivals.note(term, rival);
        if is_news {
            self.view.note_rival(rival);
            self.actions.push(Action::Publish(self.view));
        }
        is_news
    }
}
