//! The simulation: nodes, a network and clocks, and a queue of what happens next. Everything
//! follows from the [code](crate::code::Code) of the run.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether_core::member::{Command, Event, Member, Setup, StorageAnswer};
use bellwether_core::protocol::{Core as _, Members, Node, NodeId, Role, Time};
use bellwether_core::trace::Received;

use crate::client::{Client, Mail};
use crate::clock::{Clock, Moment};
use crate::faults::Fault;
use crate::host::{EventOf, Host, MessageOf};
use crate::invariant::{Face, Fact, Invariant, Memory, Terms};
use crate::network::Network;
use crate::random::{Random, mix};
use crate::store::{Ask, Store};
use crate::subject::Subject;
use crate::wrong::Wrong;

mod clients;
mod effects;
mod observe;
mod operator;
mod strike;
mod transfer;
mod wipe;

pub use observe::{Broken, Counts, Outcome};

/// How often a member looks at the time in one moment, at most.
const MOST_SPINS: u32 = 1_000;

/// How late a process wakes up, at most.
const LATE: u64 = 1_000_000;

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How many nodes there are.
    pub nodes: usize,
    /// The seed.
    pub seed: u64,
    /// The mistake that is made on purpose.
    pub wrong: Option<Wrong>,
    /// How many nodes, the lowest, are members at first; all of them unless given.
    pub voters: Option<usize>,
    /// The faults, with their numbers in the plan.
    pub plan: Vec<(usize, Fault)>,
    /// When faults begin and end.
    pub terms: Terms,
    /// When the run ends.
    pub end: Moment,
    /// Within which time the nodes start.
    pub starts: Duration,
    /// True if all nodes are founders of their cluster from the beginning, if their protocol has
    /// such; if not, they found it.
    pub founded: bool,
    /// True if programs prepare themselves before they lead.
    pub prepares: bool,
    /// True if a trace is kept.
    pub trace: bool,
}

/// An event of the world.
#[derive(Clone)]
enum Happening<M> {
    /// A message arrives; its sender was configured `with` the durations of this number.
    Arrives {
        from: NodeId,
        to: usize,
        with: usize,
        message: M,
    },
    Wakes(usize),
    Synced {
        node: usize,
        life: u64,
        request: u64,
    },
    /// Something happens to a node in this life of it.
    Happens {
        node: usize,
        life: u64,
        event: Event<M>,
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
    /// An operator does something about a node.
    Operates {
        node: usize,
        task: operator::Task,
    },
    /// A transfer is answered with what is known by now.
    Answers {
        node: usize,
        ticket: u64,
    },
    /// A question of a node arrives at the store.
    Asks {
        node: usize,
        life: u64,
        number: u64,
        ask: Ask,
    },
    /// A message of the store arrives at a node.
    Mails {
        node: usize,
        life: u64,
        mail: Mail,
    },
    /// The invariants look.
    Look,
}

/// Everything.
pub struct World<S: Subject> {
    setting: Setting,
    /// The first list of members, with which all nodes are configured.
    first: Members,
    operator: operator::Operator,
    transfer: Option<transfer::Transfer>,
    /// No transfer is asked for before.
    rests: Moment,
    pub(crate) now: Moment,
    /// The events to come, by their moments and numbers.
    queue: BTreeMap<(Moment, u64), Happening<MessageOf<S>>>,
    number: u64,
    hosts: Vec<Host<S>>,
    /// The beliefs of the nodes.
    pub(crate) faces: Vec<Face>,
    /// The leader on which all nodes agree that are up, and since when they do.
    pub(crate) agreed: Option<(Moment, NodeId)>,
    network: Network,
    /// The store that grants the lease, if one does.
    store: Option<Store>,
    /// Which node each fault that lasts has struck.
    struck: Vec<Option<(usize, u64)>>,
    invariants: Vec<(&'static str, Invariant)>,
    memory: Memory,
    pub(crate) counts: Counts,
    digest: u64,
    trace: Vec<String>,
    broken: Option<Broken>,
}

impl<S: Subject> World<S> {
    /// A world in which nothing has happened.
    #[must_use]
    pub fn new(setting: Setting, invariants: Vec<(&'static str, Invariant)>) -> Self {
        let ids = (1..=setting.nodes).filter_map(|number| NodeId::new(u16::try_from(number).ok()?));
        let all = Members::of_any_size(ids);
        let voters = setting.voters.unwrap_or(setting.nodes);
        let first = Members::of_any_size(all.iter().take(voters));
        let clock = |id: NodeId| Clock::new(mix(setting.seed ^ u64::from(id.get()) << 32) >> 10);
        let mut hosts: Vec<Host<S>> = all.iter().map(|id| Host::new(id, clock(id))).collect();
        if setting.founded {
            for host in &mut hosts {
                host.disk.synced = S::Core::founder();
            }
        }
        let face = |id| Face {
            id,
            up: false,
            role: Role::NotStarted,
            leader: None,
            term: None,
            work: None,
            prepared: true,
            durable: None,
            lists: None,
            elected_by: None,
            birth: None,
            waits: false,
            wiped: 0,
            problem: false,
        };
        let turn = setting.seed.checked_rem(S::STORES.len() as u64);
        let store = turn.map(|turn| Store::new(S::STORES[turn as usize], setting.seed));
        let places = setting.nodes + usize::from(store.is_some());
        let mut world = Self {
            now: Moment(0),
            queue: BTreeMap::new(),
            number: 0,
            faces: all.iter().map(face).collect(),
            agreed: None,
            network: Network::new(places, setting.terms.calm),
            store,
            struck: vec![None; setting.plan.len()],
            invariants,
            memory: Memory::default(),
            counts: Counts::default(),
            digest: mix(setting.seed),
            trace: Vec::new(),
            broken: None,
            setting,
            first,
            operator: operator::Operator::default(),
            transfer: None,
            rests: Moment(0),
            hosts,
        };
        world.begin();
        world
    }

    /// Nodes start, faults are due, and the invariants look when all must agree.
    fn begin(&mut self) {
        if let Some(store) = self.store.as_ref().filter(|_| self.setting.trace) {
            self.trace.push(format!("{}  the store is {}", self.now, store.semantics.name));
        }
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
            if self.next().is_none_or(|at| at > until) {
                self.now = self.now.max(until);
                self.look(Fact::Passed);
                return;
            }
            let Some(((at, _), what)) = self.queue.pop_first() else { return };
            self.now = at;
            self.counts.steps += 1;
            self.happen(what);
        }
    }

    /// The moment of what happens next.
    #[must_use]
    pub fn next(&self) -> Option<Moment> {
        self.queue.first_key_value().map(|(&(at, _), _)| at)
    }

    fn push(&mut self, at: Moment, what: Happening<MessageOf<S>>) {
        self.number += 1;
        self.queue.insert((at, self.number), what);
    }

    fn happen(&mut self, what: Happening<MessageOf<S>>) {
        match what {
            Happening::Arrives { from, to, with, message } => self.arrive(from, to, with, message),
            Happening::Wakes(node) => {
                if self.hosts[node].scheduled == Some(self.now) {
                    self.hosts[node].scheduled = None;
                }
                self.tell_lists(node);
                self.pump(node);
            }
            Happening::Synced { node, life, request } => self.synced(node, life, request),
            Happening::Happens { node, life, event } => {
                if self.hosts[node].life == life {
                    self.happens(node, event);
                }
            }
            Happening::Starts { node, life } => self.start(node, life),
            Happening::Strikes(place) => self.strike(place),
            Happening::Ends(place) => self.end(place),
            Happening::Resumes { node, life } => {
                if self.hosts[node].life == life {
                    self.resume(node);
                }
            }
            Happening::Operates { node, task } => self.operate(node, task),
            Happening::Answers { node, ticket } => self.answer_late(node, ticket),
            Happening::Asks { node, life, number, ask } => self.asked(node, life, number, &ask),
            Happening::Mails { node, life, mail } => self.mailed(node, life, mail),
            Happening::Look => self.look(Fact::Passed),
        }
    }

    fn arrive(&mut self, from: NodeId, to: usize, with: usize, message: MessageOf<S>) {
        self.network.landed(usize::from(from.get()) - 1, to);
        if self.hosts[to].member.is_none() || !self.talk(with, self.hosts[to].runs_with) {
            self.counts.lost += 1;
            return;
        }
        self.happens(to, Event::Received(Received::unnumbered(from, message)));
    }

    /// Something happens to a process that is up.
    fn happens(&mut self, node: usize, event: EventOf<S>) {
        let host = &mut self.hosts[node];
        match event {
            // The answer to an earlier question may come late, and must mean nothing.
            Event::Command { command: Command::Prepared(number), .. } => {
                host.program.prepare(number);
            }
            Event::WorkEnded => {
                host.program.ended();
                self.observe(node);
            }
            _ => {}
        }
        self.hosts[node].inbox.push_back(event);
        self.pump(node);
    }

    fn start(&mut self, node: usize, life: u64) {
        let host = &mut self.hosts[node];
        if host.member.is_some() || host.life != life {
            return;
        }
        let config = S::config(&self.first, host.id, host.given, self.setting.wrong);
        // Another one for each life of each node: one that has lost its state has a birth that it
        // never had before.
        let seed = mix(self.setting.seed ^ mix(life << 16 | node as u64));
        let setup = Setup::of::<S::Core>(&config, self.setting.nodes);
        let setup = Setup { stores: S::PERSISTS, prepares: self.setting.prepares, ..setup };
        let made = match Node::<S::Core>::new(config, host.disk.synced.clone(), seed) {
            Ok(made) => made,
            Err(error) => return self.note(node, format_args!("does not start: {error}")),
        };
        host.runs_with = host.given;
        host.setup = Some(setup);
        host.member = Some(Member::new(made, &setup, host.clock.read(self.now)));
        let semantics = self.store.as_ref().map(|store| store.semantics);
        host.client = semantics.map(|it| Client::new(host.id, self.first.clone(), seed, it));
        self.counts.starts += 1;
        self.handle(node, Event::Start);
        self.pump(node);
    }

    /// Lets a node do what it can: finish its step, then handle what waits. As in the driver, the
    /// answer of the disk comes first, and timers last; then it waits, for as long as its member
    /// says at most.
    fn pump(&mut self, node: usize) {
        let mut spins = 0;
        while self.broken.is_none() && self.hosts[node].runs() {
            if self.hosts[node].step.is_some() {
                self.carry_out(node);
                continue;
            }
            let now = self.time_of(node);
            if self.serve(node, now) {
                continue;
            }
            let host = &mut self.hosts[node];
            let Some(member) = &mut host.member else { break };
            if host.answered {
                host.answered = false;
                self.handle(node, Event::StorageAnswered(StorageAnswer::Done));
            } else if let Some(event) = host.inbox.pop_front() {
                self.handle(node, event);
            } else if !std::mem::replace(&mut host.looked, true) {
                self.handle(node, Event::Wake);
            } else {
                let longest = member.wait(now);
                let due = host.client.as_ref().and_then(Client::due);
                host.wake = Some(due.map_or(now + longest, |due| due.min(now + longest)));
                host.looked = false;
                if longest > Duration::ZERO {
                    self.waits(node);
                    break;
                }
                spins += 1;
                assert!(spins < MOST_SPINS, "a member that does nothing and never waits");
            }
        }
        self.schedule(node);
    }

    /// Returns what a node takes for the time.
    fn time_of(&self, node: usize) -> Time {
        let host = &self.hosts[node];
        host.stale.unwrap_or_else(|| host.clock.read(self.now))
    }

    /// Sees to it that a node is woken when it asked for it, or a little later.
    fn schedule(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let (true, Some(wake)) = (host.runs(), host.wake) else { return };
        let late = mix(self.setting.seed ^ wake.as_nanos()) % LATE;
        let at = Moment(host.clock.when(wake).0.max(self.now.0 + 1) + late);
        if host.scheduled.is_none_or(|scheduled| scheduled > at || scheduled < self.now) {
            host.scheduled = Some(at);
            self.push(at, Happening::Wakes(node));
        }
    }
}
