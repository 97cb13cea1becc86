//! The lesson's class `BullyElection`, translated call for call. `start_election` asks the higher
//! processes one after the other, and waits for each; only then does the call wait for a
//! COORDINATOR. A message that a process gets is handled at once, beside what waits.

use super::{Account, Agenda, Program};

const FILE: &str = "model/literature/src/claims/program/class_bully.rs";

pub(super) const PROGRAMS: &[Program] = &[
    // An OK takes two milliseconds longer than a COORDINATOR. No process starts again that has got
    // a COORDINATOR.
    Program::new("bully-class-sees-what-came", FILE, || {
        Class::run(3, 2, 3).account(|class| class.restarts == 0)
    }),
    Program::new("bully-class-in-step-sees-what-came", FILE, || {
        Class::run(3, 2, 1).account(|class| class.restarts == 0)
    }),
    Program::new("bully-class-needs-one-time-out", FILE, || {
        Class::run(4, 2, 1).account(Class::led_after_one_time_out)
    }),
    Program::new("bully-class-needs-one-time-out-for-one-dead", FILE, || {
        Class::run(4, 3, 1).account(Class::led_after_one_time_out)
    }),
];

const ELECTION_TIMEOUT: u32 = 3_000;
const COORDINATOR_TIMEOUT: u32 = 5_000;
const END: u32 = 60_000;

/// An event of one call of `start_election`, or of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The call sends ELECTION to this process.
    Ask { call: usize, to: usize },
    /// ELECTION arrives.
    Asked { call: usize, to: usize },
    /// OK is back, or nothing came in time.
    Answered { call: usize, from: usize, ok: bool },
    /// COORDINATOR arrives.
    Coordinator { from: usize, to: usize },
    /// `receive_coordinator` ends without a COORDINATOR.
    Waited { call: usize },
}

/// One call of `start_election`.
struct Call {
    at: usize,
    responses: usize,
    waits: bool,
}

struct Class {
    nodes: usize,
    live: usize,
    /// How long an OK is on its way; other messages take a millisecond.
    slow_ok: u32,
    agenda: Agenda<Event>,
    calls: Vec<Call>,
    leaders: Vec<Option<usize>>,
    restarts: usize,
    /// When process 1 first knew its leader.
    led: Option<u32>,
    story: Vec<String>,
}

impl Class {
    /// Runs an election that process 1 starts; the highest of `nodes` are down but for `live`.
    fn run(nodes: usize, live: usize, slow_ok: u32) -> Class {
        let mut class = Class {
            nodes,
            live,
            slow_ok,
            agenda: Agenda::new(),
            calls: Vec::new(),
            leaders: vec![None; nodes + 1],
            restarts: 0,
            led: None,
            story: Vec::new(),
        };
        class.start_election(1);
        while let Some(event) = class.agenda.next(END) {
            class.happen(event);
        }
        class
    }

    fn note(&mut self, what: &str) {
        let (seconds, rest) = (self.agenda.now / 1000, self.agenda.now % 1000);
        self.story.push(format!("t={seconds}.{rest:03}  {what}"));
    }

    fn start_election(&mut self, at: usize) {
        self.note(&format!("{at} starts an election"));
        self.calls.push(Call { at, responses: 0, waits: false });
        self.ask(self.calls.len() - 1, at + 1);
    }

    /// Asks this process and then those above it, and goes on when all were asked.
    fn ask(&mut self, call: usize, to: usize) {
        let Call { at, responses, .. } = self.calls[call];
        if to <= self.nodes {
            self.agenda.plan(0, Event::Ask { call, to });
        } else if responses == 0 {
            self.declare_victory(at);
        } else {
            self.note(&format!("{at} waits for a COORDINATOR"));
            self.calls[call].waits = true;
            self.agenda.plan(COORDINATOR_TIMEOUT, Event::Waited { call });
        }
    }

    fn declare_victory(&mut self, at: usize) {
        self.note(&format!("{at} declares victory"));
        self.leaders[at] = Some(at);
        for to in (1..=self.live).filter(|&to| to != at) {
            self.agenda.plan(1, Event::Coordinator { from: at, to });
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ask { call, to } if to <= self.live => {
                self.agenda.plan(1, Event::Asked { call, to });
            }
            Event::Ask { call, to } => {
                let answered = Event::Answered { call, from: to, ok: false };
                self.agenda.plan(ELECTION_TIMEOUT, answered);
            }
            Event::Asked { call, to } => {
                self.agenda.plan(self.slow_ok, Event::Answered { call, from: to, ok: true });
                self.start_election(to);
            }
            Event::Answered { call, from, ok } => {
                self.calls[call].responses += usize::from(ok);
                self.ask(call, from + 1);
            }
            Event::Coordinator { from, to } => self.coordinator(from, to),
            Event::Waited { call } if self.calls[call].waits => {
                let at = self.calls[call].at;
                self.calls[call].waits = false;
                self.restarts += 1;
                let knows = self.leaders[at].map_or("none".to_owned(), |leader| leader.to_string());
                self.note(&format!("{at} got no COORDINATOR while it waited; its leader: {knows}"));
                self.start_election(at);
            }
            Event::Waited { .. } => {}
        }
    }

    /// `on_coordinator_received`, and `receive_coordinator` of the calls that wait now.
    fn coordinator(&mut self, from: usize, to: usize) {
        self.note(&format!("{to} gets COORDINATOR from {from}"));
        self.leaders[to] = Some(from);
        if to == 1 {
            self.led.get_or_insert(self.agenda.now);
        }
        for call in self.calls.iter_mut().filter(|call| call.at == to) {
            call.waits = false;
        }
    }

    fn led_after_one_time_out(&self) -> bool {
        self.led.is_some_and(|at| at < 2 * ELECTION_TIMEOUT)
    }

    fn account(self, holds: fn(&Class) -> bool) -> Account {
        /// A story that repeats itself is long enough then.
        const LINES: usize = 24;
        Account::of(holds(&self), self.story.into_iter().take(LINES).collect())
    }
}
