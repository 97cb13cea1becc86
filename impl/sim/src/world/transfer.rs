//! An operator asks the leader to let another node lead, and gets an answer. The handle of the
//! daemon comes to it in the same way: the member says that its node leads no longer, and then the
//! node that is heard to lead counts.

use std::time::Duration;

use bellwether_core::member::{Command, Member, RequestError};
use bellwether_core::protocol::{Core, Epoch, Node, NodeId, Role};

use crate::clock::Moment;
use crate::faults::{Blow, Condition, Fault};
use crate::host::Host;
use crate::invariant::{Answer, Face, Fact};
use crate::subject::Subject;

use super::{Happening, World};

/// How long the operator asks for nothing after a transfer, and for how long all nodes must have
/// agreed so that it is known what the answer must be.
const REST: Duration = Duration::from_secs(1);

/// A request that is not answered yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// The place of the node that was asked.
    pub(super) node: usize,
    /// The number of the question.
    ticket: u64,
    /// The node that is to lead.
    to: NodeId,
    /// The epoch that the node led that was asked.
    epoch: Option<u64>,
    /// True if the other node can lead, so that the answer is known; none if that is unknown.
    able: Option<bool>,
    /// True if the node that was asked leads no longer.
    yielded: bool,
}

impl<S: Subject> World<S> {
    /// The leader is asked to let that node lead, which comes into this condition first. There is
    /// one transfer at a time.
    pub(super) fn ask_to_transfer(
        &mut self,
        place: usize,
        to: usize,
        condition: Condition,
        until: Moment,
    ) {
        let leads = |face: &Face| face.role == Role::Leader && face.leads(self.now).is_some();
        let leader = self.faces.iter().position(leads).filter(|&leader| leader != to);
        let Some(node) = leader.filter(|_| !self.is_transferring()) else { return };
        if self.hosts[to].member.is_none() {
            return;
        }
        let id = match condition {
            Condition::Unknown => NodeId::new(u16::MAX),
            _ => Some(self.hosts[to].id),
        };
        let Some(id) = id else { return };
        let able = self.is_able(node, condition);
        let epoch = self.faces[node].leads(self.now).and_then(|term| term.epoch);
        self.condition(to, condition, until);
        self.struck[place] = Some((to, self.hosts[to].life));
        let ticket = self.hosts[node].asked + 1;
        self.transfer = Some(Transfer { node, ticket, to: id, epoch, able, yielded: false });
        self.ask(node, Command::HandOver(Some(id)));
    }

    /// Returns whether a transfer is under way, or the last one is not long ago.
    fn is_transferring(&self) -> bool {
        let mut lasting = self.setting.plan.iter().zip(&self.struck);
        self.transfer.is_some()
            || self.now < self.rests
            || lasting.any(|((_, fault), struck)| {
                struck.is_some() && matches!(fault.blow, Blow::Transfer(..))
            })
    }

    /// Returns whether a node in this condition can take over from that one; none if that depends.
    fn is_able(&self, leader: usize, condition: Condition) -> Option<bool> {
        let id = self.hosts[leader].id;
        let calm = self.agreed.is_some_and(|(since, on)| on == id && since + REST <= self.now);
        let majority = self.hosts.len() > 2;
        match condition {
            _ if !calm => None,
            Condition::Fit => Some(true),
            Condition::Frozen | Condition::Unfit | Condition::Unknown => Some(false),
            // A leader leads on if a majority is left to it.
            Condition::Stopped | Condition::Down | Condition::CutOff => majority.then_some(false),
        }
    }

    /// A node comes into this condition.
    fn condition(&mut self, node: usize, condition: Condition, until: Moment) {
        match condition {
            Condition::Fit | Condition::Unknown => {}
            Condition::Frozen => self.ask(node, Command::Freeze(until.since(self.now))),
            Condition::Unfit => self.ask(node, Command::SetHealthy(false)),
            Condition::Stopped => self.stop(node),
            Condition::Down => self.crash(node, until),
            Condition::CutOff => self.links(&alone(node), true),
        }
    }

    /// A node is no longer in this condition, unless it has had another life since.
    pub(super) fn end_transfer(&mut self, condition: Condition, node: usize, life: u64) {
        self.rests = self.now + REST;
        if let Some(transfer) = self.transfer.as_mut().filter(|_| condition != Condition::Fit) {
            transfer.able = None;
        }
        let same = self.hosts[node].life == life;
        match condition {
            Condition::Stopped if same => self.resume(node),
            Condition::Unfit if same => self.ask(node, Command::SetHealthy(true)),
            Condition::CutOff => self.links(&alone(node), false),
            _ => {}
        }
    }

    /// The program on this node takes long to end its work, which may be too long.
    pub(super) fn works_long(&mut self, node: usize) {
        if let Some(transfer) = self.transfer.as_mut().filter(|one| one.node == node) {
            transfer.able = None;
        }
    }

    /// The member has answered a question.
    pub(super) fn replied(
        &mut self,
        node: usize,
        ticket: u64,
        answer: &Result<Option<NodeId>, RequestError>,
    ) {
        let own = self.hosts[node].id;
        let asked = |one: &&mut Transfer| (one.node, one.ticket) == (node, ticket);
        let Some(transfer) = self.transfer.as_mut().filter(asked) else { return };
        match answer {
            Ok(_) => {
                transfer.yielded = true;
                let Some(member) = &self.hosts[node].member else { return };
                let longest = S::Core::typical_election(member.node().config());
                self.push(self.now + longest, Happening::Answers { node, ticket });
                self.heard(node);
            }
            Err(RequestError::NotTaken { leader, .. }) if *leader == Some(own) => {
                self.answer(Answer::Stays);
            }
            Err(_) => self.answer(Answer::Refused),
        }
    }

    /// The program on this node was told something. If it is that another node leads, a transfer is
    /// answered.
    pub(super) fn heard(&mut self, node: usize) {
        let waits = |one: &Transfer| one.node == node && one.yielded;
        let Some(transfer) = self.transfer.filter(waits) else { return };
        let Host { id, program, .. } = &self.hosts[node];
        let Some(leader) = program.leader().filter(|leader| leader != id) else { return };
        let epoch = program.epoch().map(Epoch::number);
        let done = leader == transfer.to;
        self.answer(if done { Answer::Done(epoch) } else { Answer::Other });
    }

    /// No other node was heard to lead in time.
    pub(super) fn answer_late(&mut self, node: usize, ticket: u64) {
        let asked = |one: &Transfer| (one.node, one.ticket) == (node, ticket);
        if self.transfer.is_some_and(|one| asked(&one)) {
            self.answer(Answer::Other);
        }
    }

    /// The operator is answered.
    fn answer(&mut self, answer: Answer) {
        let Some(Transfer { node, to, epoch, able, .. }) = self.transfer.take() else { return };
        self.rests = self.now + REST;
        self.counts.transfers += u64::from(matches!(answer, Answer::Done(_)));
        self.note(node, format_args!("answers the operator: {answer:?}"));
        let lease = self.hosts[node].member.as_ref().map(Member::node).and_then(Node::lease);
        let leads = lease.map(|lease| lease.epoch.number());
        self.look(Fact::Answered { node, to, epoch, leads, able, answer });
    }
}

/// Returns what cuts off a node.
fn alone(node: usize) -> Fault {
    let blow = Blow::Divide { side: vec![node], one_way: false };
    Fault { from: Moment(0), until: Moment(u64::MAX), blow }
}
