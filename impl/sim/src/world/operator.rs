//! The operator of a cluster, who asks the leader for another list of members, or gives the nodes
//! other durations, with which they restart one after another.
//!
//! Nodes talk only if they have leases and promises that fit together, which the transport of the
//! daemon sees to.

use std::collections::BTreeSet;
use std::time::Duration;

use bellwether_core::member::{Command, Event};
use bellwether_core::protocol::quorum::Lists;
use bellwether_core::protocol::{Members, NodeId, Request};

use crate::clock::Moment;
use crate::faults::{Part, VOTERS};
use crate::host::Host;
use crate::random::Random;
use crate::subject::Subject;
use crate::wrong::Wrong;

use super::{Happening, World};

/// For how long a leader that is to leave does not run, at most.
const AWAY: Duration = Duration::from_secs(3);

/// Something to do about one node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// The node restarts with the durations of this number.
    Give(usize),
    /// The next leader is asked that it has this part.
    Change(Part),
}

/// The orders that an operator has given, and has to give.
#[derive(Debug, Default)]
pub(super) struct Operator {
    /// The number of the durations that all nodes are to have.
    durations: usize,
    /// How many nodes do not have them yet.
    left: usize,
    /// The number of the latest list of members that a node has told is decided.
    decided: u64,
}

impl<S: Subject> World<S> {
    /// Returns whether nodes talk that have the durations of these numbers.
    pub(super) fn talk(&self, one: usize, other: usize) -> bool {
        S::fit(one, other) || self.setting.wrong == Some(Wrong::TalksUnfit)
    }

    /// All nodes get durations of another number, one after another, if the last change is made.
    pub(super) fn reload(&mut self, durations: usize, until: Moment) {
        if self.operator.left > 0 || self.operator.durations == durations {
            return;
        }
        self.operator.durations = durations;
        self.operator.left = self.hosts.len();
        self.counts.changes += 1;
        for node in 0..self.hosts.len() {
            let mut random = Random::of(&[self.setting.seed, 0x0a55_1964, node as u64, self.now.0]);
            let at = Moment(random.between(self.now.0, until.0.max(self.now.0)));
            self.push(at, Happening::Operates { node, task: Task::Give(durations) });
        }
    }

    /// The operator does it.
    pub(super) fn operate(&mut self, node: usize, task: Task) {
        self.note(node, format_args!("is operated: {task:?}"));
        match task {
            Task::Give(durations) => self.give(node, durations),
            Task::Change(part) => self.change(node, part, false),
        }
    }

    /// A process is told to leave, or killed, and restarts with these durations.
    fn give(&mut self, node: usize, durations: usize) {
        self.operator.left -= 1;
        let (now, host) = (self.now, &mut self.hosts[node]);
        host.given = durations;
        if host.member.is_none() {
            return;
        }
        let mut random = Random::of(&[self.setting.seed, 0x0057_0b5e, node as u64, now.0]);
        if random.chance(500) {
            host.restarts = Some(now);
            self.happens(node, Event::Stop);
        } else {
            self.crash(node, now);
        }
    }

    /// A node that leads, or now and then one that does not, is asked for a list that follows its
    /// own, in which this node has that part. One that is to lead no longer by that steps down
    /// first, and the next leader is asked, if this is the `first` request.
    pub(super) fn change(&mut self, node: usize, part: Part, first: bool) {
        let Some(asked) = self.addressee(node) else { return };
        let (own, id) = (self.hosts[asked].id, self.hosts[node].id);
        let Some(decided) = self.hosts[asked].lists().map(|lists| lists.decided.clone()) else {
            return;
        };
        let Some(next) = self.next_list(&decided, node, part) else { return };
        // A node that does not hear the leader could not follow it.
        if !decided.contains(id) && next.contains(id) && !self.knows(node, own) {
            return;
        }
        // Before it takes voters out, it waits for those that have lost their state.
        if !self.can_decide(&decided, &next) {
            return;
        }
        if next.may_lead(own) {
            return self.happens(asked, Event::Request(Request::Change(next)));
        }
        let left = self.setting.terms.calm.since(self.now);
        if first && left > Duration::ZERO && decided.candidates().any(|other| other != own) {
            let away = AWAY.min(left);
            self.ask(asked, Command::StepDown(away));
            let task = Task::Change(part);
            self.push(self.now + away / 2, Happening::Operates { node, task });
        }
    }

    /// The node that is asked for another part of this one: any that believes that it leads, or
    /// now and then any that is up.
    fn addressee(&self, node: usize) -> Option<usize> {
        let mut random = Random::of(&[self.setting.seed, 0x0add_4e55, node as u64, self.now.0]);
        let any = random.chance(100);
        let is = |host: &Host<S>| host.member.is_some() && (any || host.leads());
        let all = (0..self.hosts.len()).filter(|&node| is(&self.hosts[node]));
        let all: Vec<_> = all.collect();
        (!all.is_empty()).then(|| all[random.place(all.len())])
    }

    /// The list after this one, in which this node has that part, or leaves if it has it; none if
    /// there can be no such list.
    fn next_list(&self, old: &Members, node: usize, part: Part) -> Option<Members> {
        let id = self.hosts[node].id;
        let mut ids: BTreeSet<NodeId> = old.iter().collect();
        let mut observers: BTreeSet<NodeId> = old.observers().collect();
        let mut witnesses: BTreeSet<NodeId> = old.witnesses().iter().copied().collect();
        let is_to_vote = old.votes(id) || old.awaited().contains(&id);
        let has_it = match part {
            Part::Voter => is_to_vote && !old.is_witness(id),
            Part::Witness => old.is_witness(id),
            Part::Observer => old.observes(id),
            Part::Instead(_) => false,
        };
        ids.insert(id);
        observers.remove(&id);
        witnesses.remove(&id);
        match part {
            _ if has_it => drop(ids.remove(&id)),
            Part::Voter => {}
            Part::Witness => drop(witnesses.insert(id)),
            Part::Observer => drop(observers.insert(id)),
            Part::Instead(other) => {
                let other = self.hosts[other].id;
                if is_to_vote || !old.votes(other) {
                    return None;
                }
                ids.remove(&other);
                witnesses.remove(&other);
            }
        }
        let next = Members::of_any_size(ids).with_observers(observers).ok()?;
        let next = next.with_witnesses(witnesses).ok()?;
        (next.voters().len() <= VOTERS).then(|| next.numbered(old.config_epoch() + 1))
    }

    /// Returns whether a node hears that other one.
    fn knows(&self, node: usize, other: NodeId) -> bool {
        match self.hosts[node].lists() {
            Some(lists) => lists.each().any(|list| list.contains(other)),
            None => self.first.contains(other),
        }
    }

    /// As the driver does, a node has those told its lists that it knows to have older ones.
    pub(super) fn tell_lists(&mut self, node: usize) {
        let mark = |host: &Host<S>| host.lists().map(|lists| lists.mark).unwrap_or_default();
        let own = mark(&self.hosts[node]);
        let behind = |host: &&Host<S>| host.runs() && mark(host) < own;
        let behind: Vec<_> = self.hosts.iter().filter(behind).map(|host| host.id).collect();
        if self.hosts[node].runs() {
            for id in behind.into_iter().filter(|&id| self.knows(node, id)).collect::<Vec<_>>() {
                self.hosts[node].inbox.push_back(Event::Request(Request::Tell(id)));
            }
        }
    }

    /// The program of a node is told these lists.
    pub(super) fn sees(&mut self, lists: &Lists) {
        let number = lists.decided.config_epoch();
        if number > self.operator.decided.max(Members::FIRST) {
            self.operator.decided = number;
            self.counts.changes += 1;
        }
    }
}
