//! What a node handles, and what follows from it. As in the driver, what depends on a state waits
//! until that is durable, and the node goes on meanwhile: the same code decides what waits.

use std::collections::VecDeque;
use std::time::Duration;

use bellwether::driver::unsaved::{Now, Step as Next};
use bellwether::protocol::{Core, Event, Input, Node, NodeId, Output, Role};

use crate::faults::Point;
use crate::host::{Step, Word};
use crate::invariant::Fact;
use crate::random::Random;
use crate::subject::Subject;
use crate::wrong::Wrong;

use super::{Happening, MessageOf, World};

/// How long a sync takes.
const SYNC: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(2));

impl<S: Subject> World<S> {
    /// A node handles one input; what follows from it is carried out next.
    pub(super) fn handle(&mut self, node: usize, input: Input<MessageOf<S>>) {
        self.counts.beside += u64::from(self.hosts[node].unsaved.is_behind());
        self.open(node, input, false);
        self.spring(node, Point::Handled);
    }

    /// A node notices that its disk has answered. Its deadlines come first, then what has waited.
    pub(super) fn answer(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.answered = false;
        host.unsaved.saved();
        self.open(node, Input::Wake, true);
        self.spring(node, Point::Synced);
    }

    /// Opens a step.
    fn open(&mut self, node: usize, input: Input<MessageOf<S>>, follows: bool) {
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
            sorted: false,
            follows,
            beside: !follows && host.unsaved.is_behind(),
            saves: matches!(pending, Some(Output::Persist(_))),
            sends: matches!(pending, Some(Output::Send { .. })),
            sent: 0,
            led: led.map(|leadership| leadership.epoch),
            first: VecDeque::new(),
            pending,
        });
    }

    /// Carries out one effect of the step that is open, or ends the step.
    pub(super) fn carry_out(&mut self, node: usize) {
        let now = self.time_of(node);
        let host = &mut self.hosts[node];
        let Some(step) = &mut host.step else { return };
        if !step.sorted {
            return self.sort(node);
        }
        if let Some((to, word)) = step.first.pop_front() {
            return self.send(node, to, word);
        }
        match host.unsaved.next(now) {
            Some(Next::Send(to, word)) => return self.send(node, to, word),
            Some(Next::Lead(event)) => return self.tell(node, event),
            None => {}
        }
        if let Some(durable) = host.unsaved.begin() {
            return self.write(node, durable);
        }
        let follows = step.follows;
        self.publish(node);
        self.spring(node, Point::Done);
        let host = &mut self.hosts[node];
        host.step = None;
        if !follows && host.answered && host.runs() {
            self.answer(node);
        }
    }

    /// Sorts what a node wants done into what waits and what is done at once, and does that.
    fn sort(&mut self, node: usize) {
        let now = self.time_of(node);
        let wrong = self.setting.wrong;
        let host = &mut self.hosts[node];
        let (Some(step), Some(core)) = (&mut host.step, &mut host.node) else { return };
        step.sorted = true;
        let passes = match wrong {
            Some(Wrong::SendsFirst) => true,
            Some(Wrong::Overtakes) => !step.saves,
            _ => false,
        };
        let mut told = Vec::new();
        while let Some(output) = step.pending.take().or_else(|| core.poll()) {
            let output = match output {
                Output::Send { to, message } => {
                    let word = Word { message, led: step.led };
                    if passes {
                        step.first.push_back((to, word));
                        continue;
                    }
                    Output::Send { to, message: word }
                }
                Output::Event(event) if wrong == Some(Wrong::LeadsFirst) => {
                    told.push(event);
                    continue;
                }
                Output::Persist(durable) => Output::Persist(durable),
                Output::Event(event) => Output::Event(event),
                Output::WakeAt(wake) => Output::WakeAt(wake),
            };
            match host.unsaved.sort(now, output) {
                Some(Now::Tell(event)) => told.push(event),
                Some(Now::WakeAt(wake)) => host.wake = wake,
                None => {}
            }
        }
        host.hold(wrong == Some(Wrong::LeadsFirst));
        told.into_iter().for_each(|event| self.tell(node, event));
        self.observe(node);
    }

    /// The program is told something.
    fn tell(&mut self, node: usize, event: Event) {
        self.note(node, format_args!("{event}"));
        let Event::RoleChanged { to, leader, .. } = event else { return };
        let host = &mut self.hosts[node];
        (host.told.role, host.told.leader) = (to, leader);
        host.told.epoch = host.epoch(leader);
        host.hold(self.setting.wrong == Some(Wrong::LeadsFirst));
        self.observe(node);
    }

    /// The program knows what it may of the epoch and the lease.
    fn publish(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let leads = |core: &Node<S::Core>| core.status().role == Role::Leader;
        // Of its own epoch it is told when that is durable.
        if !host.unsaved.is_behind() || !host.node.as_ref().is_some_and(leads) {
            host.told.epoch = host.epoch(host.told.leader);
        }
        host.hold(self.setting.wrong == Some(Wrong::LeadsFirst));
        self.observe(node);
    }

    /// Begins a write.
    fn write(&mut self, node: usize, durable: <S::Core as Core>::Durable) {
        self.note(node, format_args!("writes {durable:?}"));
        let mut random = Random::of(&[self.setting.seed, 0xd15c, node as u64, self.now.0]);
        let waits = self.setting.wrong != Some(Wrong::SaysSynced);
        let long = random.duration(SYNC.0, SYNC.1) * if waits { 1 } else { 20 };
        let (at, host) = (self.now + long, &mut self.hosts[node]);
        host.disk.writing = Some(durable);
        host.disk.write += 1;
        if !waits {
            host.unsaved.saved();
        }
        let (life, write) = (host.life, host.disk.write);
        self.push(at, Happening::Synced { node, life, write });
        self.spring(node, Point::Written);
    }

    pub(super) fn synced(&mut self, node: usize, life: u64, write: u64) {
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
        host.answered = self.setting.wrong != Some(Wrong::SaysSynced);
        self.counts.syncs += 1;
        self.note(node, format_args!("has synced"));
        self.observe(node);
        self.pump(node);
    }

    /// A message leaves a node.
    fn send(&mut self, node: usize, to: NodeId, word: Word<MessageOf<S>>) {
        let Word { message, led } = word;
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
        let Some(step) = &mut self.hosts[node].step else { return };
        step.sent += 1;
        if step.sent == 1 {
            self.spring(node, Point::Sending);
        }
    }
}
