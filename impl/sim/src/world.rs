//! The simulation: nodes, a network and clocks, and a queue of what happens next. Everything
//! follows from the [code](crate::code::Code) of the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use bellwether::protocol::{Core, Event as Told, Input, Members, Node, NodeId, Output, Role, Time};

use crate::clock::{Clock, Moment};
use crate::faults::{Fault, Point};
use crate::host::{Host, Step};
use crate::invariant::{Face, Fact, Invariant, Terms};
use crate::network::{Delays, Network};
use crate::random::{Random, mix};
use crate::subject::Subject;
use crate::wrong::Wrong;

mod observe;
mod outcome;
mod strike;

pub use outcome::{Broken, Counts, Outcome};

type MessageOf<S> = <<S as Subject>::Core as Core>::Message;

/// How long a sync takes.
const SYNC: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(2));

/// How late a process wakes up, at most.
const LATE: u64 = 1_000_000;

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How many nodes there are.
    pub nodes: usize,
    /// The seed.
    pub seed: u64,
    /// What is wrong on purpose.
    pub wrong: Option<Wrong>,
    /// How long messages take when the network is well.
    pub delays: Delays,
    /// The faults, with their numbers in the plan.
    pub plan: Vec<(usize, Fault)>,
    /// When faults begin and end.
    pub terms: Terms,
    /// When the run ends.
    pub end: Moment,
    /// Within which time the nodes start.
    pub starts: Duration,
    /// Whether clocks differ, and processes wake up late.
    pub scattered: bool,
    /// Whether a trace is kept.
    pub trace: bool,
}

/// What happens.
#[derive(Clone, Copy)]
enum Happening<M> {
    Arrives {
        from: NodeId,
        to: usize,
        message: M,
    },
    Wakes(usize),
    Synced {
        node: usize,
        life: u64,
        write: u64,
    },
    Starts {
        node: usize,
        life: u64,
    },
    Strikes(usize),
    Ends(usize),
    /// A trap's pause is over.
    Resumes {
        node: usize,
        life: u64,
    },
    /// The invariants look.
    Look,
}

struct Entry<M> {
    at: Moment,
    number: u64,
    what: Happening<M>,
}

impl<M> Entry<M> {
    fn key(&self) -> (Moment, u64) {
        (self.at, self.number)
    }
}

impl<M> PartialEq for Entry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<M> Eq for Entry<M> {}

impl<M> PartialOrd for Entry<M> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Entry<M> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Everything.
pub struct World<S: Subject> {
    setting: Setting,
    members: Members,
    now: Moment,
    queue: BinaryHeap<Reverse<Entry<MessageOf<S>>>>,
    number: u64,
    hosts: Vec<Host<S>>,
    faces: Vec<Face>,
    agreed: Option<(Moment, NodeId)>,
    network: Network,
    /// Which node each fault that lasts has struck.
    struck: Vec<Option<(usize, u64)>>,
    invariants: Vec<(&'static str, Box<dyn Invariant>)>,
    counts: Counts,
    digest: u64,
    trace: Vec<String>,
    broken: Option<Broken>,
}

impl<S: Subject> World<S> {
    /// A world in which nothing has happened.
    #[must_use]
    pub fn new(setting: Setting, invariants: Vec<(&'static str, Box<dyn Invariant>)>) -> Self {
        let ids = (1..=setting.nodes).filter_map(|number| NodeId::new(u16::try_from(number).ok()?));
        let members = Members::of_any_size(ids);
        let clock = |id: NodeId| {
            let shown = mix(setting.seed ^ u64::from(id.get()) << 32) >> 10;
            Clock::new(if setting.scattered { shown } else { 0 })
        };
        let hosts: Vec<_> = members.iter().map(|id| Host::new(id, clock(id))).collect();
        let face = |id| {
            let role = Role::NotStarted;
            Face { id, up: false, role, leader: None, term: None, durable: None }
        };
        let mut world = Self {
            now: Moment(0),
            queue: BinaryHeap::new(),
            number: 0,
            faces: members.iter().map(face).collect(),
            agreed: None,
            network: Network::new(setting.nodes, setting.delays, setting.terms.calm),
            struck: vec![None; setting.plan.len()],
            invariants,
            counts: Counts::default(),
            digest: mix(setting.seed),
            trace: Vec::new(),
            broken: None,
            setting,
            members,
            hosts,
        };
        world.begin();
        world
    }

    /// Nodes start, faults are due, and the invariants look when all must agree.
    fn begin(&mut self) {
        let mut random = Random::of(&[self.setting.seed, 0x0057_a275]);
        for node in 0..self.hosts.len() {
            let at = Moment(0) + random.duration(Duration::ZERO, self.setting.starts);
            self.push(at, Happening::Starts { node, life: 0 });
        }
        for place in 0..self.setting.plan.len() {
            let from = self.setting.plan[place].1.from;
            self.push(from, Happening::Strikes(place));
        }
        let Terms { from, calm, bound } = self.setting.terms;
        self.push(from, Happening::Look);
        self.push(calm + bound, Happening::Look);
    }

    /// Runs to the end, or until an invariant is broken.
    #[must_use]
    pub fn run(mut self) -> Outcome {
        let end = self.setting.end;
        self.run_until(end);
        self.outcome()
    }

    /// Runs until that moment, or until an invariant is broken.
    pub fn run_until(&mut self, until: Moment) {
        while self.broken.is_none() {
            if self.queue.peek().is_none_or(|Reverse(next)| next.at > until) {
                self.now = self.now.max(until);
                self.look(Fact::Passed);
                return;
            }
            let Some(Reverse(next)) = self.queue.pop() else { return };
            self.now = next.at;
            self.counts.steps += 1;
            self.happen(next.what);
        }
    }

    /// What the nodes believe.
    #[must_use]
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// Since when all nodes that are up agree on one of them that leads.
    #[must_use]
    pub fn agreed(&self) -> Option<(Moment, NodeId)> {
        self.agreed
    }

    /// The moment.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.now
    }

    /// What it has counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The moment of what happens next.
    #[must_use]
    pub fn next(&self) -> Option<Moment> {
        self.queue.peek().map(|Reverse(entry)| entry.at)
    }

    fn push(&mut self, at: Moment, what: Happening<MessageOf<S>>) {
        self.number += 1;
        self.queue.push(Reverse(Entry { at, number: self.number, what }));
    }

    fn happen(&mut self, what: Happening<MessageOf<S>>) {
        match what {
            Happening::Arrives { from, to, message } => self.arrive(from, to, message),
            Happening::Wakes(node) => {
                if self.hosts[node].scheduled == Some(self.now) {
                    self.hosts[node].scheduled = None;
                }
                self.pump(node);
            }
            Happening::Synced { node, life, write } => self.synced(node, life, write),
            Happening::Starts { node, life } => self.start(node, life),
            Happening::Strikes(place) => self.strike(place),
            Happening::Ends(place) => self.end(place),
            Happening::Resumes { node, life } => {
                if self.hosts[node].life == life {
                    self.resume(node);
                }
            }
            Happening::Look => self.look(Fact::Passed),
        }
    }

    fn arrive(&mut self, from: NodeId, to: usize, message: MessageOf<S>) {
        self.network.landed(usize::from(from.get()) - 1, to);
        if self.hosts[to].node.is_none() {
            self.counts.lost += 1;
            return;
        }
        self.hosts[to].inbox.push_back((from, message));
        self.pump(to);
    }

    fn start(&mut self, node: usize, life: u64) {
        let host = &mut self.hosts[node];
        if host.node.is_some() || host.life != life {
            return;
        }
        let config = S::config(&self.members, host.id, self.setting.wrong);
        let seed = mix(self.setting.seed ^ mix(life << 16 | node as u64));
        let made = Node::new(config, host.disk.synced.clone(), seed);
        host.node = Some(made.unwrap_or_else(|error| unreachable!("{error}")));
        self.counts.starts += 1;
        self.handle(node, Input::Boot);
        self.pump(node);
    }

    /// Lets a node do what it can: finish its step, then handle what waits.
    fn pump(&mut self, node: usize) {
        while self.broken.is_none() && self.hosts[node].runs() {
            if self.hosts[node].step.is_some() {
                self.carry_out(node);
                continue;
            }
            let now = self.time_of(node);
            let host = &mut self.hosts[node];
            let input = match host.inbox.pop_front() {
                Some((from, message)) => Input::Receive { from, message },
                None if host.wake.is_some_and(|wake| wake <= now) => Input::Wake,
                None => break,
            };
            self.handle(node, input);
        }
        self.schedule(node);
    }

    /// What a node takes for the time.
    fn time_of(&self, node: usize) -> Time {
        let host = &self.hosts[node];
        host.stale.unwrap_or_else(|| host.clock.read(self.now))
    }

    /// A node handles one input; what follows from it is carried out next.
    fn handle(&mut self, node: usize, input: Input<MessageOf<S>>) {
        self.digest_of(node, &input);
        if self.setting.trace {
            match &input {
                Input::Receive { from, message } => {
                    self.note(node, format_args!("gets {message:?} from n{from}"));
                }
                Input::Boot => self.note(node, format_args!("starts")),
                Input::Wake | Input::Suspect(_) | Input::Request(_) => {}
            }
        }
        let now = self.time_of(node);
        let host = &mut self.hosts[node];
        let Some(core) = &mut host.node else { return };
        let read = host.clock.read(self.now);
        let leads = |core: &Node<S::Core>| {
            S::leadership(core)
                .filter(|leadership| leadership.until.is_none_or(|until| until > read))
        };
        let before = leads(core);
        core.handle(now, input);
        let pending = core.poll();
        // It may have sent a round and then, of the same input, made way.
        let led = leads(core).or(before);
        host.step = Some(Step {
            writes: matches!(pending, Some(Output::Persist(_))),
            sends: matches!(pending, Some(Output::Send { .. })),
            sent: 0,
            led: led.map(|leadership| leadership.epoch),
            pending,
        });
        self.observe(node);
        self.spring(node, Point::Handled);
    }

    /// Carries out one effect of the step that is open, or ends the step.
    fn carry_out(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let (Some(step), Some(core)) = (&mut host.step, &mut host.node) else { return };
        match step.pending.take().or_else(|| core.poll()) {
            Some(Output::Persist(durable)) if self.setting.wrong == Some(Wrong::SendsFirst) => {
                host.late = Some(durable);
            }
            Some(Output::Persist(durable)) => self.write(node, durable),
            Some(Output::Send { to, message }) => {
                step.sent += 1;
                let (first, led) = (step.sent == 1, step.led);
                self.send(node, to, message, led);
                if first {
                    self.spring(node, Point::Sending);
                }
            }
            Some(Output::Event(Told::RoleChanged { .. })) if !self.setting.trace => {}
            Some(Output::Event(event)) => self.note(node, format_args!("{event}")),
            Some(Output::WakeAt(wake)) => host.wake = wake,
            None => match host.late.take() {
                Some(durable) => self.write(node, durable),
                None => {
                    self.spring(node, Point::Done);
                    self.hosts[node].step = None;
                }
            },
        }
    }

    /// Begins a write; the node waits for the sync.
    fn write(&mut self, node: usize, durable: <S::Core as Core>::Durable) {
        self.note(node, format_args!("writes {durable:?}"));
        let mut random = Random::of(&[self.setting.seed, 0xd15c, node as u64, self.now.0]);
        let waits = self.setting.wrong != Some(Wrong::SaysSynced);
        let long = random.duration(SYNC.0, SYNC.1) * if waits { 1 } else { 20 };
        let (at, host) = (self.now + long, &mut self.hosts[node]);
        host.disk.writing = Some(durable);
        host.disk.write += 1;
        host.syncing = waits;
        let (life, write) = (host.life, host.disk.write);
        self.push(at, Happening::Synced { node, life, write });
        self.spring(node, Point::Written);
    }

    fn synced(&mut self, node: usize, life: u64, write: u64) {
        let host = &mut self.hosts[node];
        if host.life != life || host.disk.write != write {
            return;
        }
        if host.stalled > 0 {
            host.held = true;
            return;
        }
        host.disk.sync();
        host.held = false;
        host.syncing = false;
        self.counts.syncs += 1;
        self.note(node, format_args!("has synced"));
        self.observe(node);
        self.spring(node, Point::Synced);
        self.pump(node);
    }

    fn send(&mut self, node: usize, to: NodeId, message: MessageOf<S>, led: Option<Option<u64>>) {
        let host = &mut self.hosts[node];
        host.sent += 1;
        let (from, at) = (host.id, usize::from(to.get()) - 1);
        let mut random = Random::of(&[self.setting.seed, node as u64, host.sent]);
        self.counts.sent += 1;
        let arrivals = self.network.arrivals(self.now, (node, at), &mut random);
        self.counts.lost += u64::from(arrivals[0].is_none());
        if self.setting.trace {
            let lost = if arrivals == [None, None] { ", which is lost" } else { "" };
            self.note(node, format_args!("sends {message:?} to n{to}{lost}"));
        }
        for arrival in arrivals.into_iter().flatten() {
            self.push(arrival, Happening::Arrives { from, to: at, message });
        }
        self.look(Fact::Sent { from: node, to, says: S::says(&message), led });
    }

    /// Sees to it that a node is woken when it asked for it, or a little later.
    fn schedule(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let (true, Some(wake)) = (host.runs(), host.wake) else { return };
        let late = match self.setting.scattered {
            true => mix(self.setting.seed ^ wake.as_nanos()) % LATE,
            false => 0,
        };
        let at = Moment(host.clock.when(wake).0.max(self.now.0 + 1) + late);
        if host.scheduled.is_none_or(|scheduled| scheduled > at || scheduled < self.now) {
            host.scheduled = Some(at);
            self.push(at, Happening::Wakes(node));
        }
    }
}
