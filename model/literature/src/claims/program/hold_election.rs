//! The encyclopedia's pseudocode, translated line for line, as one thread of blocking code:
//! `HoldElection` waits for T, and of what arrives meanwhile it looks for nothing but an Answer. All
//! else waits in the order of its arrival, until `ReceiveMessage` is called for it.

use super::{Account, Agenda, Program};
use std::collections::VecDeque;

const FILE: &str = "model/literature/src/claims/program/hold_election.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("hold-election-has-one-coordinator", FILE, || {
        account(&[1, 2], |group| !group.two_led)
    }),
    Program::new("hold-election-agrees", FILE, || account(&[1, 2], Group::agree)),
    Program::new("hold-election-agrees-if-one-notices", FILE, || {
        account(&[1], |group| group.agree() && group.processes[1].coordinator == Some(LIVE))
    }),
    Program::new("hold-election-returns", FILE, || account(&[1, 2], |group| group.calls == 0)),
];

const T: u32 = 3_000;
const DELAY: u32 = 1_000;
const END: u32 = 60_000;
/// Of three processes the third is down.
const NODES: usize = 3;
const LIVE: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Message {
    Election,
    Answer,
    Coordinator,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// `HandleRecovery`, which is called as well when the coordinator has failed.
    Notice(usize),
    Arrive {
        from: usize,
        to: usize,
        message: Message,
    },
    /// T is over.
    WaitEnds(usize),
}

#[derive(Default)]
struct Process {
    coordinator: Option<usize>,
    /// `has_response`, while the process waits.
    waits: Option<bool>,
    mailbox: VecDeque<(usize, Message)>,
}

struct Group {
    agenda: Agenda<Event>,
    /// The first is not used: processes have the numbers 1, 2, 3.
    processes: [Process; NODES + 1],
    /// Calls of `HoldElection` that have not returned.
    calls: usize,
    two_led: bool,
    story: Vec<String>,
}

/// Runs the group of which these processes notice at the same time that the coordinator has failed.
fn account(notice: &[usize], holds: fn(&Group) -> bool) -> Account {
    let mut group = Group {
        agenda: Agenda::new(),
        processes: Default::default(),
        calls: 0,
        two_led: false,
        story: Vec::new(),
    };
    for &at in notice {
        group.agenda.plan(0, Event::Notice(at));
    }
    while let Some(event) = group.agenda.next(END) {
        group.happen(event);
        group.two_led |= (1..=LIVE).all(|at| group.processes[at].coordinator == Some(at));
    }
    Account::of(holds(&group), group.story)
}

impl Group {
    fn note(&mut self, what: &str) {
        self.story.push(format!("t={}  {what}", self.agenda.now / 1000));
    }

    fn send(&mut self, from: usize, to: usize, message: Message) {
        if to <= LIVE {
            self.agenda.plan(DELAY, Event::Arrive { from, to, message });
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Notice(at) => self.hold_election(at),
            Event::Arrive { from, to, message } => match self.processes[to].waits {
                Some(_) if message == Message::Answer && from > to => {
                    self.note(&format!("{to} gets the Answer of {from}"));
                    self.processes[to].waits = Some(true);
                }
                Some(_) => {
                    self.note(&format!("{message:?} of {from} arrives at {to}, which waits"));
                    self.processes[to].mailbox.push_back((from, message));
                }
                None => self.receive_message(to, from, message),
            },
            Event::WaitEnds(at) => self.wait_ends(at),
        }
    }

    /// `HoldElection`, up to its wait.
    fn hold_election(&mut self, at: usize) {
        self.note(&format!("{at} sends Election to all higher ones, and waits"));
        self.calls += 1;
        for to in at + 1..=NODES {
            self.send(at, to, Message::Election);
        }
        self.processes[at].waits = Some(false);
        self.agenda.plan(T, Event::WaitEnds(at));
    }

    /// The rest of `HoldElection`; then the caller handles what has come.
    fn wait_ends(&mut self, at: usize) {
        if self.processes[at].waits.take() == Some(false) {
            self.note(&format!("{at} has no Answer: Coordinator({at})"));
            self.processes[at].coordinator = Some(at);
            for to in (1..=NODES).filter(|&to| to != at) {
                self.send(at, to, Message::Coordinator);
            }
        }
        self.calls -= 1;
        while self.processes[at].waits.is_none() {
            let Some((from, message)) = self.processes[at].mailbox.pop_front() else { return };
            self.receive_message(at, from, message);
        }
    }

    /// `ReceiveMessage`.
    fn receive_message(&mut self, at: usize, from: usize, message: Message) {
        match message {
            Message::Election if from < at => {
                self.note(&format!("{at} answers the Election of {from}"));
                self.send(at, from, Message::Answer);
                self.hold_election(at);
            }
            Message::Coordinator => {
                self.note(&format!("{at} takes {from} for its coordinator"));
                self.processes[at].coordinator = Some(from);
            }
            Message::Election | Message::Answer => {}
        }
    }

    /// Returns whether both have the same coordinator in the end.
    fn agree(&self) -> bool {
        let coordinator = self.processes[1].coordinator;
        coordinator.is_some() && coordinator == self.processes[LIVE].coordinator
    }
}
