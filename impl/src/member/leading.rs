//! What the program is told of which node leads, and until when its own does. Everything that a
//! program learns of a leadership goes through [`Member::announce`] and [`Member::renew`].

use super::Member;
use super::event::Action;
use super::gate::Gate;
use super::told::News;
use crate::protocol::{Core, Epoch, Event, Lease, NodeId, Reason, Role, Status, Time};

impl<C: Core> Member<C> {
    /// Whether the node leads, whatever its program knows.
    pub(super) fn leads(&self) -> bool {
        self.node.status().role == Role::Leader
    }

    /// The node has come to lead, and all before that is durable.
    pub(super) fn come_to_lead(&mut self, now: Time, event: Event) {
        let Event::RoleChanged { to, leader, reason, .. } = event else { return };
        if self.gate.is_some() {
            self.change(to, leader, reason);
        } else {
            self.lead(now, reason);
        }
    }

    /// Nothing but the time keeps the program from knowing that its node leads: it is told so, or
    /// once the others can have heard that, if the process stood still since.
    pub(super) fn lead(&mut self, now: Time, reason: Reason) {
        if self.resume.is_some_and(|resume| now < resume) {
            self.untold = Some(reason);
            return;
        }
        self.begin_anew();
        let Status { role, leader, .. } = self.node.status();
        self.announce(role, leader, reason);
    }

    /// The node sees another role, leader or epoch. If there is a gate, its program is not told
    /// before it is prepared that it leads.
    pub(super) fn change(&mut self, role: Role, leader: Option<NodeId>, reason: Reason) {
        let epoch = self.epoch(leader);
        match &mut self.gate {
            Some(gate) if role == Role::Leader => {
                let ask = gate.approach(epoch, reason);
                self.actions.push(Action::Prepare(Some(ask)));
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
        self.told.change(News { role, leader, epoch, lease, reason });
        self.actions.push(Action::Tell(self.told));
        self.lend();
    }

    /// Tells the program until when its node leads.
    pub(super) fn renew(&mut self) {
        if self.told.renew(self.node.lease()) {
            self.actions.push(Action::Renew(self.told.lease()));
            self.lend();
        }
    }

    /// Notes under which epoch the program may have work under way.
    fn lend(&mut self) {
        self.lent = self.told.lease().map(|lease| lease.epoch).or(self.lent);
    }

    /// The lease that the node has, if the program may have work under way under it.
    pub(super) fn lent(&self) -> Option<Lease> {
        self.node.lease().filter(|lease| self.lent == Some(lease.epoch))
    }

    /// What the program may know of the epoch and the lease.
    pub(super) fn publish(&mut self) {
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
            return self.change(role, leader, Reason::NEXT_EPOCH);
        }
        let (role, leader) = (self.told.role(), self.told.leader());
        if leader.is_some() && self.told.epoch() != self.epoch(leader) {
            self.change(role, leader, Reason::NEXT_EPOCH);
        }
    }

    /// The epoch of this leader; it is known of the one that the node follows now, or is.
    fn epoch(&self, leader: Option<NodeId>) -> Option<Epoch> {
        leader.filter(|_| self.node.status().leader == leader).and_then(|_| self.node.epoch())
    }
}
