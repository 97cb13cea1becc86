//! Raft's log as far as *commit* goes (Ongaro and Ousterhout 2014, sections 5.3 and 5.4): a leader
//! appends entries, hands them to those that it reaches, and commits what enough have. An answer
//! arrives at once or not at all. How many are enough is what is varied.

use super::Account;
use super::search::{Steps, search};

const NODES: usize = 3;
/// Terms end here, and logs.
const TERMS: u8 = 3;
const PLACES: usize = 2;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The network falls apart: these on one side, the others on the other.
    Cut(u8),
    Heal,
    /// A time-out expires: a new term, and a candidate.
    Campaign(usize),
    /// The candidate asks this process for its vote.
    Vote(usize, usize),
    /// A client gives the leader an entry.
    Client(usize),
    /// The leader hands its log to this process.
    Append(usize, usize),
    Commit(usize),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    term: u8,
    voted: Option<u8>,
    /// The term of each entry; 0 where there is none.
    log: [u8; PLACES],
    /// The voters of a candidate; votes end with the term.
    votes: u8,
    leads: bool,
    /// Of a leader: how many entries of its log each process has.
    has: [u8; NODES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group {
    /// How many must have an entry before it is committed.
    enough: u32,
    processes: [Process; NODES],
    /// One side of a cut; 0 if there is none.
    side: u8,
    cuts: u8,
    /// What was committed first at each place.
    committed: [u8; PLACES],
    /// Two different entries were committed at one place.
    conflict: bool,
    /// The first place in each log that was taken where no majority could be reached, in this cut.
    alone: [Option<u8>; NODES],
    committed_alone: bool,
}

impl Group {
    /// The last process leads in the first term.
    fn start(enough: u32) -> Group {
        let leader = NODES - 1;
        let first = Process { term: 1, voted: Some(leader as u8), ..Process::default() };
        let mut processes = [first; NODES];
        processes[leader].leads = true;
        Group {
            enough,
            processes,
            side: 0,
            cuts: 1,
            committed: [0; PLACES],
            conflict: false,
            alone: [None; NODES],
            committed_alone: false,
        }
    }

    fn reaches(&self, a: usize, b: usize) -> bool {
        (self.side & 1 << a == 0) == (self.side & 1 << b == 0)
    }

    /// It reaches a majority.
    fn has_majority(&self, at: usize) -> bool {
        let reached = (0..NODES).filter(|&other| self.reaches(at, other)).count();
        reached * 2 > NODES
    }

    /// `at` hears of this term; whether it was not in a later one.
    fn hears(&mut self, at: usize, term: u8) -> bool {
        let process = &mut self.processes[at];
        if term > process.term {
            let log = process.log;
            *process = Process { term, log, ..Process::default() };
        }
        term == process.term
    }

    fn length(log: &[u8; PLACES]) -> usize {
        log.iter().take_while(|&&term| term != 0).count()
    }

    /// The term of the last entry, and how many there are.
    fn freshness(&self, at: usize) -> (u8, usize) {
        let log = &self.processes[at].log;
        let length = Group::length(log);
        (if length == 0 { 0 } else { log[length - 1] }, length)
    }

    fn vote(&mut self, candidate: usize, voter: usize) {
        let term = self.processes[candidate].term;
        if !self.hears(voter, term) {
            let later = self.processes[voter].term;
            self.hears(candidate, later);
            return;
        }
        let free = self.processes[voter].voted.is_none_or(|vote| usize::from(vote) == candidate);
        if free && self.freshness(candidate) >= self.freshness(voter) {
            self.processes[voter].voted = Some(candidate as u8);
            let process = &mut self.processes[candidate];
            process.votes |= 1 << voter;
            if process.votes.count_ones() as usize * 2 > NODES {
                (process.leads, process.votes) = (true, 0);
                let length = Group::length(&process.log) as u8;
                process.has = [0; NODES];
                process.has[candidate] = length;
            }
        }
    }

    fn append(&mut self, leader: usize, to: usize) {
        let Process { term, log, .. } = self.processes[leader];
        if !self.hears(to, term) {
            let later = self.processes[to].term;
            self.hears(leader, later);
            return;
        }
        self.processes[to].votes = 0;
        self.processes[to].log = log;
        self.processes[leader].has[to] = Group::length(&log) as u8;
    }

    /// Whether something was committed.
    fn commit(&mut self, leader: usize) -> bool {
        let Process { term, log, has, .. } = self.processes[leader];
        let enough = |place: &usize| {
            let holders = has.iter().filter(|&&has| usize::from(has) > *place);
            log[*place] == term && holders.count() as u32 >= self.enough
        };
        let Some(last) = (0..PLACES).rev().find(enough) else { return false };
        for (committed, &entry) in self.committed.iter_mut().zip(&log[..=last]) {
            match *committed {
                0 => *committed = entry,
                known => self.conflict |= known != entry,
            }
        }
        self.committed_alone |= self.alone[leader].is_some_and(|first| usize::from(first) <= last);
        true
    }
}

impl Steps for Group {
    type Event = Event;

    fn events(&self) -> Vec<Event> {
        let all = 0..NODES;
        let pairs = all.clone().flat_map(|a| (0..NODES).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| a != b && self.reaches(*a, *b));
        let asked = pairs.flat_map(|(a, b)| [Event::Vote(a, b), Event::Append(a, b)]);
        let own = all.flat_map(|a| [Event::Campaign(a), Event::Client(a), Event::Commit(a)]);
        // A side and what is left are the same cut, so the last process is never on the side.
        let cuts = (1..1 << (NODES - 1)).map(Event::Cut);
        own.chain(asked).chain(cuts).chain([Event::Heal]).collect()
    }

    fn after(&self, event: Event) -> Option<(Group, String)> {
        let mut next = *self;
        let words = match event {
            Event::Cut(side) if self.side == 0 && self.cuts > 0 => {
                (next.side, next.cuts) = (side, 0);
                let names = (0..NODES).filter(|at| side & 1 << at != 0);
                let names: Vec<String> = names.map(|at| (at + 1).to_string()).collect();
                format!("{} cannot reach the others any more", names.join(" and "))
            }
            Event::Heal if self.side != 0 => {
                (next.side, next.alone) = (0, [None; NODES]);
                "the network is whole again".to_owned()
            }
            Event::Campaign(at) if !self.processes[at].leads && self.processes[at].term < TERMS => {
                let Process { term, log, .. } = self.processes[at];
                let (voted, votes) = (Some(at as u8), 1 << at);
                next.processes[at] =
                    Process { term: term + 1, voted, votes, log, ..Process::default() };
                format!("{} is a candidate in term {}", at + 1, term + 1)
            }
            Event::Vote(at, voter) if self.processes[at].votes != 0 => {
                next.vote(at, voter);
                let leads = if next.processes[at].leads { ", which leads now" } else { "" };
                format!("{} hears the candidate {}{leads}", voter + 1, at + 1)
            }
            Event::Client(at) if self.processes[at].leads => {
                let process = &mut next.processes[at];
                let length = Group::length(&process.log);
                if length == PLACES {
                    return None;
                }
                process.log[length] = process.term;
                process.has[at] = length as u8 + 1;
                if !self.has_majority(at) {
                    next.alone[at].get_or_insert(length as u8);
                }
                format!("{} takes an entry in term {}", at + 1, self.processes[at].term)
            }
            Event::Append(at, to) if self.processes[at].leads => {
                next.append(at, to);
                format!("{} hands its log to {}", at + 1, to + 1)
            }
            Event::Commit(at) if self.processes[at].leads && next.commit(at) => {
                format!("{} commits in term {}", at + 1, self.processes[at].term)
            }
            _ => return None,
        };
        Some((next, words))
    }
}

const MAJORITY: u32 = NODES as u32 / 2 + 1;

/// Three processes: a leader that reaches no majority commits nothing that it takes then.
pub(super) fn none_alone() -> Account {
    search(Group::start(MAJORITY), usize::MAX, |group| !group.committed_alone)
}

/// Three processes, a cut that may heal: no two leaders commit different entries at one place.
pub(super) fn one_at_each_place() -> Account {
    search(Group::start(MAJORITY), usize::MAX, |group| !group.conflict)
}

/// Three processes, of which one is enough to commit: the same.
pub(super) fn one_at_each_place_by_one() -> Account {
    search(Group::start(1), usize::MAX, |group| !group.conflict)
}

/// Three processes, of which one is enough: a leader that reaches no majority commits nothing.
pub(super) fn none_alone_by_one() -> Account {
    search(Group::start(1), usize::MAX, |group| !group.committed_alone)
}
