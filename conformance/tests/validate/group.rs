//! A group of the program's nodes that runs at random, and writes the logs that real nodes write.
//!
//! Nothing here knows the specification. The network keeps the order of each link and loses some;
//! nodes crash at any moment, also between a step and what it wants done, and start again with what
//! was durable.

use bellwether_core::protocol::{
    Core, Epoch, Event, Input, Membership, Node, NodeId, NodeStep, Request, Time, Trigger,
};
use bellwether_core::trace::{
    After, Deed, Entry, FORMAT, Happened, LeaseUntil, Line, Out, Received, Sent, Start, Step,
    durations,
};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A small random source: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    /// Whether it happens that happens so often in a hundred.
    fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }
}

/// What may happen in a group, in a hundred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    pub(crate) losses: usize,
    pub(crate) crashes: usize,
    /// Rather than that a message arrives, time passes.
    pub(crate) delays: usize,
    /// All nodes stand still, for longer than any timer runs.
    pub(crate) pauses: usize,
    /// Something is asked of a node.
    pub(crate) requests: usize,
}

impl Faults {
    pub(crate) const NONE: Faults =
        Faults { losses: 0, crashes: 0, delays: 10, pauses: 0, requests: 0 };
    pub(crate) const SOME: Faults = Faults { losses: 5, crashes: 1, delays: 20, ..Faults::NONE };
}

struct Machine<C: Core> {
    id: NodeId,
    config: C::Config,
    node: Option<Node<C>>,
    durable: Option<C::Durable>,
    /// What its clock shows more than the others'.
    offset: u64,
    incarnation: u64,
    n: u64,
    messages: u64,
    leads: bool,
    /// Why its role has changed last.
    reason: Option<String>,
    log: String,
}

/// A group that runs.
pub(crate) struct Group<C: Core> {
    machines: Vec<Machine<C>>,
    members: Vec<NodeId>,
    /// What is on its way, by sender and receiver.
    links: BTreeMap<(usize, usize), VecDeque<Received<C::Message>>>,
    now: Duration,
    random: Random,
    faults: Faults,
    /// A node that never crashes.
    lives: Option<usize>,
}

impl<C: Core> Group<C> {
    /// Nodes with these configurations, and what is durable at the beginning.
    pub(crate) fn new(
        configs: Vec<C::Config>,
        durable: Option<&C::Durable>,
        seed: u64,
        faults: Faults,
    ) -> Self {
        let members = configs.iter().map(Membership::id).collect();
        let machines = configs.into_iter().zip(1..).map(|(config, offset): (_, u64)| Machine {
            id: config.id(),
            config,
            node: None,
            durable: durable.cloned(),
            offset: offset * 1_000_000_007,
            incarnation: 0,
            n: 0,
            messages: 0,
            leads: false,
            reason: None,
            log: String::new(),
        });
        let machines = machines.collect();
        let now = Duration::from_secs(10);
        let (links, random) = (BTreeMap::new(), Random(seed));
        Group { machines, members, links, now, random, faults, lives: None }
    }

    /// The same, but that this node never crashes.
    pub(crate) fn in_which_lives(self, at: usize) -> Self {
        Group { lives: Some(at), ..self }
    }

    /// The logs after so many events.
    pub(crate) fn logs(mut self, events: usize) -> Vec<String> {
        for at in 0..self.machines.len() {
            self.start(at);
        }
        for _ in 0..events {
            self.happen();
        }
        self.machines.into_iter().map(|machine| machine.log).collect()
    }

    fn happen(&mut self) {
        let at = self.random.below(self.machines.len());
        if self.machines[at].node.is_none() && self.random.percent(10) {
            return self.start(at);
        }
        if self.random.percent(self.faults.crashes) && self.lives != Some(at) {
            self.machines[at].node = None;
            return;
        }
        if self.faults.pauses > 0 && self.random.percent(self.faults.pauses) {
            self.now += Duration::from_secs(20);
        }
        if self.faults.requests > 0 && self.random.percent(self.faults.requests) {
            let request = self.request();
            return self.handle(at, Input::Request(request), None);
        }
        let full: Vec<_> =
            self.links.iter().filter(|(_, link)| !link.is_empty()).map(|(&ends, _)| ends).collect();
        if full.is_empty() || self.random.percent(self.faults.delays) {
            return self.wake();
        }
        let ends = full[self.random.below(full.len())];
        let Some(received) = self.links.get_mut(&ends).and_then(VecDeque::pop_front) else {
            return;
        };
        if !self.random.percent(self.faults.losses) && self.machines[ends.1].node.is_some() {
            self.now += Duration::from_micros(50);
            let Received { from, message, .. } = received.clone();
            self.handle(ends.1, Input::Receive { from, message }, Some(&received));
        }
    }

    /// One that the specification knows. Machines are fit more often than not.
    fn request(&mut self) -> Request {
        let next = self.members[self.random.below(self.members.len())];
        let next_or_none = Some(next).filter(|_| self.random.percent(50));
        match self.random.below(6) {
            0 => Request::Transfer(next),
            1 => Request::Yield(next_or_none),
            2 => Request::StepDown(next_or_none, Duration::from_secs(1)),
            3 => Request::Healthy(false),
            _ => Request::Healthy(true),
        }
    }

    /// Time passes until the first timer of a node is due.
    fn wake(&mut self) {
        let due = |machine: &Machine<C>| {
            let first = machine.node.as_ref()?.armed().map(|(_, at)| at).min()?;
            Some(first.since(machine.time(self.now)))
        };
        let due = self.machines.iter().enumerate().filter_map(|(at, m)| Some((due(m)?, at))).min();
        if let Some((after, at)) = due {
            self.now += after + Duration::from_nanos(1);
            self.handle(at, Input::Wake, None);
        }
    }

    fn start(&mut self, at: usize) {
        let members = self.members.clone();
        let machine = &mut self.machines[at];
        machine.incarnation += 1;
        (machine.n, machine.messages, machine.leads) = (0, 0, false);
        let node = Node::new(machine.config.clone(), machine.durable.clone(), 1);
        let node = node.expect("possible").recording();
        let start = Start {
            format: FORMAT,
            protocol: C::NAME.to_owned(),
            version: None,
            cluster: Some("test".to_owned()),
            node: machine.id,
            incarnation: machine.incarnation,
            members,
            services: Vec::new(),
            config_epoch: None,
            settings: None,
            durations: durations(&node),
            vocabulary: None,
        };
        machine.write(self.now, Entry::Start(start));
        machine.node = Some(node);
        self.handle(at, Input::Boot, None);
    }

    /// Something happens to a node, and what it wants done is done, unless it crashes before.
    fn handle(
        &mut self,
        at: usize,
        input: Input<C::Message>,
        received: Option<&Received<C::Message>>,
    ) {
        let crashes = self.random.percent(self.faults.crashes) && self.lives != Some(at);
        let saves = self.random.percent(50);
        let (machine, now) = (&mut self.machines[at], self.now);
        let time = machine.time(now);
        let Some(node) = &mut machine.node else { return };
        node.handle(time, input);
        while node.poll().is_some() {}
        let steps = node.take_steps();
        let (mut states, mut sent) = (Vec::new(), Vec::new());
        for taken in steps {
            states.extend(taken.persists.iter().cloned());
            for event in &taken.events {
                if let Event::RoleChanged { reason, .. } = event {
                    machine.reason = Some(reason.name().to_owned());
                }
            }
            let step = step(taken, received.cloned(), &mut machine.messages, &mut sent);
            machine.write(now, Entry::Step(step));
        }
        if crashes {
            if saves && let Some(state) = states.pop() {
                machine.durable = Some(state);
            }
            machine.node = None;
            return;
        }
        if let Some(state) = states.pop() {
            machine.write(now, Entry::Did(Deed::Saving));
            machine.durable = Some(state);
            machine.write(now, Entry::Did(Deed::Saved));
        }
        let lease = machine.node.as_ref().and_then(Node::lease);
        let leads = lease.filter(|lease| lease.until > time);
        if leads.is_some() != machine.leads {
            machine.leads = leads.is_some();
            let epoch = leads.map(|lease| lease.epoch.number());
            let (leads, reason) = (machine.leads, machine.reason.clone());
            machine.write(now, Entry::Did(Deed::Told { leads, epoch, reason }));
        }
        for Sent { to, id, message } in sent {
            machine.write(now, Entry::Did(Deed::Sent(id)));
            let Some(to) = self.members.iter().position(|&member| member == to) else { continue };
            let (from, incarnation) = (machine.id, Some(machine.incarnation));
            let received = Received { from, incarnation, id: Some(id), message };
            self.links.entry((at, to)).or_default().push_back(received);
        }
    }
}

impl<C: Core> Machine<C> {
    fn time(&self, now: Duration) -> Time {
        Time::from_nanos(self.offset) + now
    }

    fn write(&mut self, now: Duration, entry: Entry<C::Durable, C::Message>) {
        let at = Some(self.time(now).as_nanos());
        let line = Line { n: self.n, at, entry };
        self.n += 1;
        self.log.push_str(&serde_json::to_string(&line).expect("JSON"));
        self.log.push('\n');
    }
}

/// A step as a log has it.
fn step<C: Core>(
    taken: NodeStep<C>,
    received: Option<Received<C::Message>>,
    messages: &mut u64,
    sent: &mut Vec<Sent<C::Message>>,
) -> Step<C::Durable, C::Message> {
    let happened = match taken.trigger {
        Trigger::Boot(durable) => Happened::Boot(durable),
        Trigger::Receive { from, message } => {
            let unnumbered = Received { from, incarnation: None, id: None, message };
            Happened::Receive(received.unwrap_or(unnumbered))
        }
        Trigger::Expire(timer) => Happened::Expire(format!("{timer:?}")),
        Trigger::Suspect(node) => Happened::Suspect(node),
        Trigger::Request(request) => Happened::Request(request),
    };
    let first = sent.len();
    sent.extend(taken.sends.into_iter().map(|(to, message)| {
        *messages += 1;
        Sent { to, id: *messages, message }
    }));
    let persists = taken.persists.into_iter().map(Out::Persist);
    let sends = sent[first..].iter().cloned().map(Out::Send);
    let out = persists.chain(sends).chain(taken.events.into_iter().map(Out::from)).collect();
    let armed = taken.armed.into_iter().map(|(timer, at)| (format!("{timer:?}"), at.as_nanos()));
    let after = After {
        role: taken.status.role,
        leader: taken.status.leader,
        epoch: taken.epoch.map(Epoch::number),
        lease: taken.lease.map(LeaseUntil::from),
        armed: Some(armed.collect()),
        watched: taken.watched,
    };
    Step { happened, out, after }
}
