//! The encyclopedia's pseudocode as one thread of blocking code, line for line: `HoldElection`
//! waits for T, and of what arrives meanwhile it looks for nothing but an Answer. All else waits in
//! the order of its arrival, until `ReceiveMessage` is called for it.

use super::Account;
use std::collections::{BTreeSet, VecDeque};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

#[derive(Clone, Debug, Default)]
struct Process {
    coordinator: Option<usize>,
    /// `has_response`, while it waits.
    waits: Option<bool>,
    mailbox: VecDeque<(usize, Message)>,
}

struct Group {
    now: u32,
    planned: usize,
    queue: BTreeSet<(u32, usize, Event)>,
    /// The first is not used: processes have the numbers 1, 2, 3.
    processes: Vec<Process>,
    /// Calls of `HoldElection` that have not returned.
    calls: usize,
    two_led: bool,
    story: Vec<String>,
}

impl Group {
    /// These processes notice at the same time that the coordinator has failed.
    fn run(notice: &[usize]) -> Group {
        let mut group = Group {
            now: 0,
            planned: 0,
            queue: BTreeSet::new(),
            processes: vec![Process::default(); NODES + 1],
            calls: 0,
            two_led: false,
            story: Vec::new(),
        };
        for &at in notice {
            group.plan(0, Event::Notice(at));
        }
        while let Some((now, _, event)) = group.queue.pop_first().filter(|&(at, ..)| at <= END) {
            group.now = now;
            group.happen(event);
            let leads = |at: &usize| group.processes[*at].coordinator == Some(*at);
            group.two_led |= (1..=LIVE).filter(leads).count() > 1;
        }
        group
    }

    fn plan(&mut self, after: u32, event: Event) {
        self.planned += 1;
        self.queue.insert((self.now + after, self.planned, event));
    }

    fn note(&mut self, what: &str) {
        self.story.push(format!("t={}  {what}", self.now / 1000));
    }

    fn send(&mut self, from: usize, to: usize, message: Message) {
        if to <= LIVE {
            self.plan(DELAY, Event::Arrive { from, to, message });
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
        self.plan(T, Event::WaitEnds(at));
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

    fn account(self, holds: bool) -> Account {
        Account::of(holds, self.story)
    }
}

/// Of three the highest is down, and the two others notice at once: one coordinator at a time.
pub(super) fn one_at_a_time() -> Account {
    let group = Group::run(&[1, 2]);
    let holds = !group.two_led;
    group.account(holds)
}

/// In the end both have the same coordinator.
pub(super) fn agree() -> Account {
    let group = Group::run(&[1, 2]);
    let holds = group.processes[1].coordinator.is_some()
        && group.processes[1].coordinator == group.processes[2].coordinator;
    group.account(holds)
}

/// The same if only the lowest notices.
pub(super) fn agree_if_one_notices() -> Account {
    let group = Group::run(&[1]);
    let holds = group.processes[1].coordinator == Some(LIVE)
        && group.processes[2].coordinator == Some(LIVE);
    group.account(holds)
}

/// Each call of `HoldElection` returns.
pub(super) fn returns() -> Account {
    let group = Group::run(&[1, 2]);
    let holds = group.calls == 0;
    group.account(holds)
}
