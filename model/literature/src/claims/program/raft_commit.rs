//! Raft's log as far as *commit* goes (Ongaro and Ousterhout 2014, sections 5.3 and 5.4), as a
//! model: a leader appends entries, hands them to the processes that it reaches, and commits the
//! entries that enough processes have. An answer arrives at once or not at all.

use super::{Program, check};
use stateright::Model;

const FILE: &str = "model/literature/src/claims/program/raft_commit.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("raft-leader-without-majority-commits-nothing", FILE, || {
        check(Raft { enough: 2 }, |_, group| !group.committed_alone)
    }),
    Program::new("raft-commits-one-entry-at-each-place", FILE, || {
        check(Raft { enough: 2 }, |_, group| !group.conflict)
    }),
    Program::new("raft-by-one-commits-one-entry-at-each-place", FILE, || {
        check(Raft { enough: 1 }, |_, group| !group.conflict)
    }),
    Program::new("raft-by-one-commits-nothing-without-majority", FILE, || {
        check(Raft { enough: 1 }, |_, group| !group.committed_alone)
    }),
];

const NODES: usize = 3;
/// Terms end here, and logs.
const TERMS: u8 = 3;
const PLACES: usize = 2;

struct Raft {
    /// How many must have an entry before it is committed.
    enough: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    /// A time-out expires: a new term, and a candidate.
    Campaign(usize),
    /// A client gives the leader an entry.
    Client(usize),
    Commit(usize),
    /// The candidate asks this process for its vote.
    Vote(usize, usize),
    /// The leader hands its log to this process.
    Append(usize, usize),
    /// The network falls apart: these on one side, the others on the other.
    Cut(u8),
    Heal,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
struct Process {
    term: u8,
    voted: Option<usize>,
    /// The term of each entry; 0 where there is none.
    log: [u8; PLACES],
    /// The voters of a candidate; votes end with the term.
    votes: u8,
    leads: bool,
    /// How many entries of its log each process has, by what a leader knows.
    has: [usize; NODES],
}

impl Process {
    fn length(&self) -> usize {
        self.log.iter().take_while(|&&term| term != 0).count()
    }

    /// Returns the term of the last entry, and how many there are.
    fn freshness(&self) -> (u8, usize) {
        (self.log.into_iter().max().unwrap_or(0), self.length())
    }

    fn hears(&mut self, term: u8) {
        if term > self.term {
            *self = Process { term, log: self.log, ..Process::default() };
        }
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
struct Group {
    processes: [Process; NODES],
    /// One side of a cut; 0 if there is none.
    side: u8,
    was_cut: bool,
    /// The first entry that was committed at each place.
    committed: [u8; PLACES],
    /// Two different entries were committed at one place.
    conflict: bool,
    /// The first place in each log that was taken where no majority could be reached, in this cut.
    alone: [Option<usize>; NODES],
    committed_alone: bool,
}

impl Group {
    fn reaches(&self, a: usize, b: usize) -> bool {
        (self.side & 1 << a == 0) == (self.side & 1 << b == 0)
    }

    fn has_majority(&self, at: usize) -> bool {
        (0..NODES).filter(|&other| self.reaches(at, other)).count() * 2 > NODES
    }

    /// Lets two processes hear each other's terms, and returns whether that of the first is valid.
    fn meet(&mut self, first: usize, second: usize) -> bool {
        let term = self.processes[first].term;
        self.processes[second].hears(term);
        let later = self.processes[second].term;
        self.processes[first].hears(later);
        later == term
    }

    fn vote(&mut self, at: usize, voter: usize) {
        if !self.meet(at, voter) {
            return;
        }
        let voted = self.processes[voter].voted;
        let fresh = self.processes[at].freshness() >= self.processes[voter].freshness();
        if fresh && voted.is_none_or(|vote| vote == at) {
            self.processes[voter].voted = Some(at);
            let process = &mut self.processes[at];
            process.votes |= 1 << voter;
            if process.votes.count_ones() as usize * 2 > NODES {
                (process.leads, process.votes) = (true, 0);
                process.has = [0; NODES];
                process.has[at] = process.length();
            }
        }
    }

    fn append(&mut self, leader: usize, to: usize) {
        if self.meet(leader, to) {
            let process = self.processes[leader];
            (self.processes[to].votes, self.processes[to].log) = (0, process.log);
            self.processes[leader].has[to] = process.length();
        }
    }

    fn commit(&mut self, leader: usize, last: usize) {
        let log = self.processes[leader].log;
        for (committed, &entry) in self.committed.iter_mut().zip(&log[..=last]) {
            match *committed {
                0 => *committed = entry,
                known => self.conflict |= known != entry,
            }
        }
        self.committed_alone |= self.alone[leader].is_some_and(|first| first <= last);
    }
}

impl Model for Raft {
    type State = Group;
    type Action = Action;

    /// The last process leads in the first term.
    fn init_states(&self) -> Vec<Group> {
        let process = Process { term: 1, voted: Some(NODES - 1), ..Process::default() };
        let mut processes = [process; NODES];
        processes[NODES - 1].leads = true;
        vec![Group {
            processes,
            side: 0,
            was_cut: false,
            committed: [0; PLACES],
            conflict: false,
            alone: [None; NODES],
            committed_alone: false,
        }]
    }

    fn actions(&self, group: &Group, actions: &mut Vec<Action>) {
        let own = |at| [Action::Campaign(at), Action::Client(at), Action::Commit(at)];
        actions.extend((0..NODES).flat_map(own));
        for a in 0..NODES {
            let others = (0..NODES).filter(|&b| a != b && group.reaches(a, b));
            actions.extend(others.flat_map(|b| [Action::Vote(a, b), Action::Append(a, b)]));
        }
        // A side and what is left are the same cut, so the last process is never on the side.
        actions.extend((1..1 << (NODES - 1)).map(Action::Cut));
        actions.push(Action::Heal);
    }

    fn next_state(&self, group: &Group, action: Action) -> Option<Group> {
        let mut next = group.clone();
        match action {
            Action::Campaign(at)
                if !group.processes[at].leads && group.processes[at].term < TERMS =>
            {
                next.processes[at].hears(group.processes[at].term + 1);
                (next.processes[at].voted, next.processes[at].votes) = (Some(at), 1 << at);
            }
            Action::Client(at) if group.processes[at].leads => {
                let process = &mut next.processes[at];
                let length = process.length();
                *process.log.get_mut(length)? = process.term;
                process.has[at] = length + 1;
                if !group.has_majority(at) {
                    next.alone[at].get_or_insert(length);
                }
            }
            Action::Commit(at) if group.processes[at].leads => {
                let Process { term, log, has, .. } = group.processes[at];
                let holders = |place| has.iter().filter(|&&has| has > place).count();
                let enough = |&place: &usize| log[place] == term && holders(place) >= self.enough;
                next.commit(at, (0..PLACES).rev().find(enough)?);
            }
            Action::Vote(at, voter) if group.processes[at].votes != 0 => next.vote(at, voter),
            Action::Append(at, to) if group.processes[at].leads => next.append(at, to),
            Action::Cut(side) if !group.was_cut => (next.side, next.was_cut) = (side, true),
            Action::Heal if group.side != 0 => (next.side, next.alone) = (0, [None; NODES]),
            _ => return None,
        }
        Some(next)
    }

    fn format_step(&self, group: &Group, action: Action) -> Option<String> {
        let term = |at: usize| group.processes[at].term;
        Some(match action {
            Action::Campaign(at) => format!("{} is a candidate in term {}", at + 1, term(at) + 1),
            Action::Client(at) => format!("{} takes an entry in term {}", at + 1, term(at)),
            Action::Commit(at) => format!("{} commits in term {}", at + 1, term(at)),
            Action::Vote(at, voter) => {
                let leads = self.next_state(group, action)?.processes[at].leads;
                let leads = if leads { ", which leads now" } else { "" };
                format!("{} hears the candidate {}{leads}", voter + 1, at + 1)
            }
            Action::Append(at, to) => format!("{} hands its log to {}", at + 1, to + 1),
            Action::Cut(side) => {
                let names = (0..NODES).filter(|at| side & 1 << at != 0);
                let names: Vec<String> = names.map(|at| (at + 1).to_string()).collect();
                format!("{} cannot reach the others any more", names.join(" and "))
            }
            Action::Heal => "the network is whole again".to_owned(),
        })
    }
}
