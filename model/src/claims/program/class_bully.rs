//! The lesson's class `BullyElection`, call for call. `start_election` asks the higher processes
//! one after the other, and waits for each; only then does it wait for a COORDINATOR. A message
//! that a process gets is handled at once, beside what waits.

use super::Account;
use std::collections::BTreeSet;

const ELECTION_TIMEOUT: u32 = 3_000;
const COORDINATOR_TIMEOUT: u32 = 5_000;
const END: u32 = 60_000;

/// What `start_election` of one call is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It sends ELECTION to this process.
    Ask { call: usize, to: usize },
    /// ELECTION arrives.
    Asked { call: usize, to: usize },
    /// OK is back, or nothing came in time.
    Answered { call: usize, from: usize, ok: bool },
    /// COORDINATOR arrives.
    Coordinator { from: usize, to: usize },
    /// `receive_coordinator` ends without one.
    Waited { call: usize },
}

/// One call of `start_election`.
#[derive(Clone, Copy, Debug)]
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
    now: u32,
    planned: usize,
    queue: BTreeSet<(u32, usize, Event)>,
    calls: Vec<Call>,
    leaders: Vec<Option<usize>>,
    restarts: usize,
    /// When process 1 first knew its leader.
    led: Option<u32>,
    story: Vec<String>,
}

impl Class {
    /// The highest of `nodes` are down but for `live`, and process 1 starts an election.
    fn run(nodes: usize, live: usize, slow_ok: u32) -> Class {
        let mut class = Class {
            nodes,
            live,
            slow_ok,
            now: 0,
            planned: 0,
            queue: BTreeSet::new(),
            calls: Vec::new(),
            leaders: vec![None; nodes + 1],
            restarts: 0,
            led: None,
            story: Vec::new(),
        };
        class.start_election(1);
        while let Some((at, _, event)) = class.queue.pop_first().filter(|&(at, ..)| at <= END) {
            class.now = at;
            class.happen(event);
        }
        class
    }

    fn plan(&mut self, after: u32, event: Event) {
        self.planned += 1;
        self.queue.insert((self.now + after, self.planned, event));
    }

    fn note(&mut self, what: &str) {
        let (seconds, rest) = (self.now / 1000, self.now % 1000);
        self.story.push(format!("t={seconds}.{rest:03}  {what}"));
    }

    fn start_election(&mut self, at: usize) {
        self.note(&format!("{at} starts an election"));
        self.calls.push(Call { at, responses: 0, waits: false });
        let call = self.calls.len() - 1;
        match at < self.nodes {
            true => self.plan(0, Event::Ask { call, to: at + 1 }),
            false => self.declare_victory(at),
        }
    }

    fn declare_victory(&mut self, at: usize) {
        self.note(&format!("{at} declares victory"));
        self.leaders[at] = Some(at);
        for to in (1..=self.live).filter(|&to| to != at) {
            self.plan(1, Event::Coordinator { from: at, to });
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Ask { call, to } if to <= self.live => self.plan(1, Event::Asked { call, to }),
            Event::Ask { call, to } => {
                self.plan(ELECTION_TIMEOUT, Event::Answered { call, from: to, ok: false });
            }
            Event::Asked { call, to } => {
                self.plan(self.slow_ok, Event::Answered { call, from: to, ok: true });
                self.start_election(to);
            }
            Event::Answered { call, from, ok } => self.answered(call, from, ok),
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

    fn answered(&mut self, call: usize, from: usize, ok: bool) {
        self.calls[call].responses += usize::from(ok);
        let Call { at, responses, .. } = self.calls[call];
        if from < self.nodes {
            self.plan(0, Event::Ask { call, to: from + 1 });
        } else if responses == 0 {
            self.declare_victory(at);
        } else {
            self.note(&format!("{at} waits for a COORDINATOR"));
            self.calls[call].waits = true;
            self.plan(COORDINATOR_TIMEOUT, Event::Waited { call });
        }
    }

    /// `on_coordinator_received`, and `receive_coordinator` of the calls that wait now.
    fn coordinator(&mut self, from: usize, to: usize) {
        self.note(&format!("{to} gets COORDINATOR from {from}"));
        self.leaders[to] = Some(from);
        if to == 1 {
            self.led.get_or_insert(self.now);
        }
        for call in self.calls.iter_mut().filter(|call| call.at == to) {
            call.waits = false;
        }
    }

    fn account(self, holds: bool) -> Account {
        /// A story that repeats itself is long enough then.
        const LINES: usize = 24;
        Account::of(holds, self.story.into_iter().take(LINES).collect())
    }
}

/// Of three the highest is down; an OK takes two milliseconds longer than a COORDINATOR. No process
/// starts again that has got a COORDINATOR.
pub(super) fn waits_for_what_comes() -> Account {
    let class = Class::run(3, 2, 3);
    let holds = class.restarts == 0;
    class.account(holds)
}

/// The same if all messages take the same time.
pub(super) fn waits_in_step() -> Account {
    let class = Class::run(3, 2, 1);
    let holds = class.restarts == 0;
    class.account(holds)
}

/// Of four the two highest are down: process 1 knows its leader after one time-out of 3 seconds.
pub(super) fn one_time_out() -> Account {
    let class = Class::run(4, 2, 1);
    let holds = class.led.is_some_and(|at| at < 2 * ELECTION_TIMEOUT);
    class.account(holds)
}

/// The same if only the highest is down.
pub(super) fn one_time_out_for_one() -> Account {
    let class = Class::run(4, 3, 1);
    let holds = class.led.is_some_and(|at| at < 2 * ELECTION_TIMEOUT);
    class.account(holds)
}
