//! What a program was told last: which node leads, and whether that is its own. The one place where
//! a leadership of the node itself begins and ends for its program.

use crate::protocol::{Epoch, Lease, NodeId, Reason, Role};

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
    /// It does, for the so manieth time, from 1, and may do what only a leader may while this lease
    /// lasts.
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
