//! What an operator does to the nodes of a cluster: gives them another list of members or other
//! durations, with which they restart one after another; and repairs a mistake.
//!
//! Nodes talk only if they have the same list, and leases and promises that fit together, which the
//! transport of the daemon sees to.

use std::collections::BTreeSet;
use std::time::Duration;

use bellwether_core::member::Event;
use bellwether_core::protocol::quorum::List;
use bellwether_core::protocol::{Members, NodeId};

use crate::clock::Moment;
use crate::faults::{Part, VOTERS};
use crate::host::Given;
use crate::random::Random;
use crate::subject::{Granted, Subject};
use crate::wrong::Wrong;

use super::{Happening, World};

/// How long an operator waits before looking again whether nodes without a memory may start.
const LOOKS: Duration = Duration::from_millis(100);

/// How long a mistake lasts at least, so that it is worth making.
const LASTS: Duration = Duration::from_millis(500);

/// Something to do about one node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// It restarts with this.
    Give(Given),
    /// It is no member any more, and is stopped.
    Retire,
}

/// What an operator has done, and has to do.
#[derive(Debug, Default)]
pub(super) struct Operator {
    /// What all members are to have.
    newest: Given,
    /// What is left to be done before the next change.
    tasks: usize,
    /// The fault that made two lists with one number, and the places of the lists.
    fork: Option<(usize, [usize; 2])>,
    /// The nodes whose directories were removed.
    waiting: Vec<usize>,
    /// The nodes that must know this epoch before those start.
    learn: Vec<usize>,
    latest: u64,
}

impl<S: Subject> World<S> {
    /// Whether nodes talk that were configured so.
    pub(super) fn talk(&self, one: Given, other: Given) -> bool {
        let fit = S::fit(one.durations, other.durations);
        one.list == other.list && (fit || self.setting.wrong == Some(Wrong::TalksUnfit))
    }

    /// What a node was given is refused by its program: it gets again what it had. If it refuses
    /// that as well, it stays down.
    pub(super) fn refuse(&mut self, node: usize, why: &str) {
        self.note(node, format_args!("refuses its configuration: {why}"));
        self.counts.refused += 1;
        let host = &mut self.hosts[node];
        let before = std::mem::replace(&mut host.given, host.runs_with);
        let life = host.life;
        if before != host.given {
            self.push(self.now, Happening::Starts { node, life });
        }
    }

    /// All nodes get durations of another number, if the last change is made.
    pub(super) fn reload(&mut self, durations: usize, until: Moment) {
        let newest = self.operator.newest;
        if self.operator.tasks == 0 && newest.durations != durations {
            self.hand_out(Given { durations, ..newest }, until);
        }
    }

    /// The list of members changes, if all members have had a leader with the last one. A list that
    /// is too short goes to one node, which has to refuse it.
    pub(super) fn change(&mut self, node: usize, part: Part, until: Moment) {
        let Some(next) = self.next_list(node, part).filter(|_| self.is_done()) else { return };
        let (newest, voters) = (self.operator.newest, next.voters().to_vec());
        if voters.len() > VOTERS.1 {
            return;
        }
        let given = Given { list: self.enlist(next), ..newest };
        match voters.as_slice() {
            [alone] => {
                let node = usize::from(alone.get()) - 1;
                self.assign(node, Task::Give(given), until);
            }
            _ => self.hand_out(given, until),
        }
    }

    /// Nodes get one of two lists with one number, if all members have had a leader with the last
    /// one.
    pub(super) fn mistake(&mut self, place: usize, seed: u64, until: Moment) {
        let newest = self.operator.newest;
        let old = &self.lists[newest.list];
        let long = until.since(self.now);
        if !self.is_done() || !old.witnesses().is_empty() || long < LASTS {
            return;
        }
        let mut random = Random::of(&[seed]);
        let mut found: Vec<Members> = Vec::new();
        for _ in 0..10 {
            let next = self.next_list(random.place(self.hosts.len()), Part::Voter);
            let wanted = |next: &Members| {
                let voters = next.voters().len();
                (VOTERS.0..=VOTERS.1).contains(&voters) && !found.contains(next)
            };
            let next = next.filter(wanted);
            found.extend(next);
        }
        found.truncate(2);
        let [one, other] = &found[..] else { return };
        let both = [one.clone(), other.clone()].map(|list| self.enlist(list));
        self.operator.fork = Some((place, both));
        self.operator.tasks += 1;
        for node in 0..self.hosts.len() {
            let id = self.hosts[node].id;
            let mut lists = both.to_vec();
            lists.retain(|&list| self.lists[list].contains(id));
            if !lists.is_empty() {
                let list = lists[random.place(lists.len())];
                let soon = self.now + long / 4;
                self.assign(node, Task::Give(Given { list, ..newest }), soon);
            }
        }
    }

    /// The next list, in which this node has that part, or leaves if it has it; none if there can
    /// be no such list.
    fn next_list(&self, node: usize, part: Part) -> Option<Members> {
        let (old, id) = (&self.lists[self.operator.newest.list], self.hosts[node].id);
        let mut ids: BTreeSet<NodeId> = old.iter().collect();
        let mut observers: BTreeSet<NodeId> = old.observers().collect();
        let mut witnesses: BTreeSet<NodeId> = old.witnesses().iter().copied().collect();
        let has_it = match part {
            Part::Voter => old.may_lead(id),
            Part::Witness => old.is_witness(id),
            Part::Observer => old.observes(id),
        };
        ids.insert(id);
        observers.remove(&id);
        witnesses.remove(&id);
        match part {
            _ if has_it => drop(ids.remove(&id)),
            Part::Voter => {}
            Part::Witness => drop(witnesses.insert(id)),
            Part::Observer => drop(observers.insert(id)),
        }
        let next = Members::of_any_size(ids).with_observers(observers).ok()?;
        let next = next.with_witnesses(witnesses).ok()?;
        let grows = u64::from(next.voters() != old.voters());
        Some(next.numbered(old.config_epoch() + grows))
    }

    /// The place of this list among all.
    fn enlist(&mut self, list: Members) -> usize {
        let known = self.lists.iter().position(|known| *known == list);
        known.unwrap_or_else(|| {
            self.lists.push(list);
            self.lists.len() - 1
        })
    }

    /// Whether all that was to be done is, and each member knows durably that its list has had a
    /// leader.
    fn is_done(&self) -> bool {
        let newest = self.operator.newest;
        let members = &self.lists[newest.list];
        let done = |id: NodeId| {
            let node = usize::from(id.get()) - 1;
            let in_force = self
                .kept(node)
                .is_some_and(|kept| kept.in_force && kept.config_epoch == members.config_epoch());
            in_force && self.hosts[node].runs_with == newest
        };
        self.operator.tasks == 0 && members.iter().all(done)
    }

    /// The list that a node has had a part in, durably.
    fn kept(&self, node: usize) -> Option<&List> {
        self.hosts[node].disk.synced.as_ref().and_then(S::list)
    }

    /// All members get this, one after another; a node that is no member any more is stopped.
    fn hand_out(&mut self, next: Given, until: Moment) {
        let before = std::mem::replace(&mut self.operator.newest, next);
        let [old, new] = [before, next].map(|given| self.lists[given.list].clone());
        for node in 0..self.hosts.len() {
            let id = self.hosts[node].id;
            if new.contains(id) {
                self.assign(node, Task::Give(next), until);
            } else if old.contains(id) {
                self.assign(node, Task::Retire, until);
            }
        }
        self.counts.changes += 1;
    }

    /// The operator will have done this by then.
    fn assign(&mut self, node: usize, task: Task, until: Moment) {
        let mut random = Random::of(&[self.setting.seed, 0x0a55_1964, node as u64, self.now.0]);
        let at = random.between(self.now.0, until.0.max(self.now.0));
        self.operator.tasks += 1;
        self.push(Moment(at), Happening::Operates { node, task });
    }

    /// The operator does it. A process is told to leave, or killed.
    pub(super) fn operate(&mut self, node: usize, task: Task) {
        self.note(node, format_args!("is operated: {task:?}"));
        self.operator.tasks -= 1;
        let (now, host) = (self.now, &mut self.hosts[node]);
        let was_retired = host.retired;
        match task {
            Task::Give(given) => (host.given, host.retired) = (given, false),
            Task::Retire => host.retired = true,
        }
        let life = host.life;
        if host.member.is_none() {
            if was_retired {
                self.push(now, Happening::Starts { node, life });
            }
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

    /// The operator sees that there are two lists with one number, and stops all nodes. If one of
    /// the lists has had a leader, all nodes get the voters that there were before, with the next
    /// number. If none has, no leader can come of them: all nodes get the one in which more of the
    /// voters remember what they have granted, and those that have the other forget it.
    pub(super) fn repair(&mut self, place: usize) {
        let Some((_, lists)) = self.operator.fork.filter(|fork| fork.0 == place) else { return };
        self.operator.fork = None;
        self.operator.tasks -= 1;
        for node in 0..self.hosts.len() {
            self.crash(node, Moment(u64::MAX));
        }
        let newest = self.operator.newest;
        let old = self.lists[newest.list].clone();
        let wrong = self.setting.wrong == Some(Wrong::KeepsTheFewer);
        let goes_on = |node: usize| {
            let in_force = self.kept(node).is_some_and(|kept| kept.in_force);
            in_force && old.may_lead(self.hosts[node].id)
        };
        let proven = |&list: &usize| self.with_list(list).into_iter().any(goes_on);
        if !wrong && lists.iter().any(proven) {
            let number = self.lists[lists[0]].config_epoch() + 1;
            let list = self.enlist(old.numbered(number));
            return self.start_all(Given { list, ..newest });
        }
        // Of each majority of the voters before, one is to remember the epoch that it granted.
        let counts = [0, 1].map(|place| {
            let emptied = self.with_list(lists[1 - place]);
            let remembers = |&node: &usize| {
                self.votes(node, newest.list)
                    && self.votes(node, lists[place])
                    && !emptied.contains(&node)
            };
            (0..self.hosts.len()).filter(remembers).count()
        });
        let fewer = usize::from(counts[0] > counts[1]);
        let keeps = if wrong && counts[fewer] > 0 { fewer } else { 1 - fewer };
        let drops = 1 - keeps;
        self.forget(lists[drops], lists[keeps], wrong);
        self.start_all(Given { list: lists[keeps], ..newest });
    }

    /// The nodes that have a part in this list.
    fn with_list(&self, list: usize) -> Vec<usize> {
        let list = &self.lists[list];
        let is = |kept: &List| {
            kept.config_epoch == list.config_epoch() && *kept.voters == *list.voters()
        };
        (0..self.hosts.len()).filter(|&node| self.kept(node).is_some_and(is)).collect()
    }

    /// The operator removes the directories of the nodes with this list. They know no epoch then,
    /// and so must not be asked for one before the voters that remember any know the latest of
    /// theirs. An operator who is wrong does not wait for that.
    fn forget(&mut self, drops: usize, keeps: usize, wrong: bool) {
        let emptied = self.with_list(drops);
        for &node in &emptied {
            let disk = &mut self.hosts[node].disk;
            (disk.synced, disk.older) = (None, None);
            self.note(node, format_args!("loses its directory"));
            self.observe(node);
        }
        if wrong || emptied.is_empty() {
            return;
        }
        let mut learn: Vec<_> = (0..self.hosts.len()).collect();
        // A voter that is new has no memory either, and learns nothing before it hears a leader.
        let before = self.operator.newest.list;
        learn.retain(|&node| self.votes(node, keeps) && self.votes(node, before));
        learn.retain(|&node| self.kept(node).is_some());
        self.operator.latest = learn.iter().map(|&node| self.epoch_of(node)).max().unwrap_or(0);
        (self.operator.waiting, self.operator.learn) = (emptied, learn);
        self.operator.tasks += 1;
        self.push(self.now + LOOKS, Happening::Readmits);
    }

    /// Whether this node votes by that list.
    fn votes(&self, node: usize, list: usize) -> bool {
        self.lists[list].votes(self.hosts[node].id)
    }

    /// The latest epoch that a node knows, durably.
    fn epoch_of(&self, node: usize) -> u64 {
        self.granted(node).map_or(0, |granted| granted.epoch)
    }

    /// What a node has granted last, durably.
    fn granted(&self, node: usize) -> Option<Granted> {
        self.hosts[node].disk.synced.as_ref().and_then(S::granted)
    }

    /// All members start with this, but those that wait for the others.
    fn start_all(&mut self, next: Given) {
        self.operator.newest = next;
        self.counts.changes += 1;
        for node in 0..self.hosts.len() {
            let member = self.lists[next.list].contains(self.hosts[node].id);
            let waits = self.operator.waiting.contains(&node);
            let host = &mut self.hosts[node];
            host.given = next;
            host.retired = !member || waits;
            let life = host.life;
            if !host.retired {
                self.push(self.now, Happening::Starts { node, life });
            }
        }
    }

    /// The nodes without a memory start once each of the others knows the latest epoch, or is the
    /// one to which all that know it have granted it: no other can lead it then.
    pub(super) fn readmit(&mut self) {
        let latest = self.operator.latest;
        let is_its_own = |node: usize| {
            let id = self.hosts[node].id;
            let granted = self.operator.learn.iter().filter_map(|&other| self.granted(other));
            granted.filter(|granted| granted.epoch == latest).all(|granted| granted.to == Some(id))
        };
        let lags = |&node: &usize| self.epoch_of(node) < latest && !is_its_own(node);
        if self.operator.learn.iter().any(lags) {
            return self.push(self.now + LOOKS, Happening::Readmits);
        }
        self.operator.tasks -= 1;
        let list = self.operator.newest.list;
        for node in std::mem::take(&mut self.operator.waiting) {
            let host = &mut self.hosts[node];
            host.retired = !self.lists[list].contains(host.id);
            let life = host.life;
            self.push(self.now, Happening::Starts { node, life });
        }
    }
}
