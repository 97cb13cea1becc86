//! The events of a node, and the actions of its member about them. This is what the driver is in
//! the daemon: it owns sockets, files and timers, and decides nothing.

use std::time::Duration;

use bellwether_core::member::{Action, Command, Event, PreparationRequest, ProgramView};
use bellwether_core::protocol::{Core, Epoch, NodeId};
use bellwether_core::store::STORE;
use bellwether_core::trace::Sent;

use crate::clock::Moment;
use crate::faults::Point;
use crate::host::{EventOf, MessageOf, Step};
use crate::invariant::Fact;
use crate::program;
use crate::random::Random;
use crate::subject::{Says, Subject};

use super::{Happening, World};

/// How long a sync takes.
const SYNC: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(2));

impl<S: Subject> World<S> {
    /// A member handles one event; what it wants done is done next.
    pub(super) fn handle(&mut self, node: usize, event: EventOf<S>) {
        self.note_event(node, &event);
        let now = self.time_of(node);
        let host = &mut self.hosts[node];
        let read = host.clock.read(self.now);
        let Some(member) = &mut host.member else { return };
        let (follows, behind) = (matches!(event, Event::StorageAnswered(_)), member.is_behind());
        self.counts.beside += u64::from(behind && !follows);
        host.led.begin(behind || member.awaits_work());
        // The node may send a round and then, of the same event, make way.
        let led = member.node().lease();
        let actions = member.handle(now, event);
        let leads = [led, member.node().lease()];
        let [before, after] = leads.map(|lease| lease.map(|lease| lease.epoch));
        if after.is_some() && after != before {
            host.elected_by = member.node().lists().cloned();
        }
        for lease in leads.into_iter().flatten().filter(|lease| lease.until > read) {
            host.led.leads(lease.epoch.number());
        }
        host.step = Some(Step {
            follows,
            beside: behind && !follows,
            saves: actions.iter().any(|action| matches!(action, Action::Save(_))),
            sends: actions.iter().any(|action| matches!(action, Action::Send(..))),
            sent: 0,
        });
        host.actions.extend(actions);
        if !host.leads() {
            host.suspended = None;
        }
        self.observe(node);
        self.spring(node, if follows { Point::Synced } else { Point::Handled });
    }

    /// Does the next thing that the member wants done, or ends the step.
    pub(super) fn carry_out(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let Some(action) = host.actions.pop_front() else {
            self.spring(node, Point::Done);
            self.hosts[node].step = None;
            return;
        };
        match action {
            Action::Send(Sent { to, message, .. }) => self.send(node, to, &message),
            // No protocol that is simulated has failures detected for it.
            Action::SendHeartbeat => {}
            // No invariant reads which rivals a program knows, so the rival is not told.
            Action::TellRival(rival) => {
                self.note(node, format_args!("has led at the same time as n{rival}"));
            }
            Action::Save(durable) => {
                self.note(node, format_args!("writes {durable:?}"));
                self.ask_disk(node, Some(durable));
                self.spring(node, Point::Written);
            }
            Action::Probe => self.ask_disk(node, None),
            Action::Publish(told) => self.tell(node, told),
            Action::RenewLease(lease) => {
                host.program.renew(lease);
                self.observe(node);
            }
            Action::Prepare(ask) => self.prepare(node, ask),
            Action::EndWork(epoch) => self.end_work(node, epoch),
            Action::Reply(ticket, answer) => {
                self.note(node, format_args!("answers {answer:?}"));
                self.replied(node, ticket, &answer);
            }
            // Each node of the simulation reaches each.
            Action::Change(lists) => {
                self.note(node, format_args!("has {lists:?}"));
                self.sees(&lists);
            }
            Action::Stalled(problem) => self.note(node, format_args!("its disk: {problem:?}")),
            Action::Log(line) => self.note(node, format_args!("{line:?}")),
            // No node records its steps: what happens to it is noted as it happens.
            Action::Trace(_) => {}
            Action::End(end) => {
                self.note(node, format_args!("ends: {end:?}"));
                let restarts = self.hosts[node].restarts.unwrap_or(self.now);
                self.crash(node, restarts);
            }
        }
    }

    /// The program is told which node leads.
    fn tell(&mut self, node: usize, told: ProgramView) {
        let (role, reason) = (told.role(), told.reason());
        self.note(node, format_args!("is {role} for its program: {reason:?}"));
        self.hosts[node].program.tell(told);
        self.observe(node);
        self.heard(node);
    }

    /// The program is asked to prepare itself. Now and then it cannot, while there are faults; a
    /// leader of a protocol that cannot step down would then lead without it for good.
    fn prepare(&mut self, node: usize, ask: Option<PreparationRequest>) {
        let Some(PreparationRequest { number, .. }) = ask else { return };
        let host = &mut self.hosts[node];
        host.program.ask(number);
        host.asked += 1;
        let (life, ticket) = (host.life, host.asked);
        let seeds = [self.setting.seed, 0x009a_7e00, node as u64, self.now.0];
        let mut random = Random::of(&seeds);
        let (usual, longest) = program::PREPARES;
        let most = if random.chance(100) { longest } else { usual };
        let long = random.duration(Duration::ZERO, most);
        let refuses = S::Core::REQUESTS && random.chance(125) && self.now < self.setting.terms.calm;
        let what = match refuses {
            true => Command::Unprepared(number, program::REFUSES_FOR),
            false => Command::Prepared(number),
        };
        let event = Event::Command { ticket, command: what };
        self.push(self.now + long, Happening::Happens { node, life, event });
    }

    /// The program is asked to end its work. Now and then that takes longer than the lease lasts.
    fn end_work(&mut self, node: usize, epoch: Epoch) {
        let host = &mut self.hosts[node];
        if !host.program.end(epoch) {
            return host.inbox.push_front(Event::WorkEnded);
        }
        let seeds = [self.setting.seed, 0x0e2d_3042, node as u64, self.now.0];
        let mut random = Random::of(&seeds);
        let (usual, longest) = program::ENDS;
        let most = if random.chance(100) { longest } else { usual };
        let (life, long) = (host.life, random.duration(Duration::ZERO, most));
        if long > usual {
            self.works_long(node);
        }
        let event = Event::WorkEnded;
        self.push(self.now + long, Happening::Happens { node, life, event });
    }

    /// The disk is asked to save something, or whether it could.
    fn ask_disk(&mut self, node: usize, durable: Option<<S::Core as Core>::Durable>) {
        let mut random = Random::of(&[self.setting.seed, 0xd15c, node as u64, self.now.0]);
        let long = random.duration(SYNC.0, SYNC.1);
        let (at, host) = (self.now + long, &mut self.hosts[node]);
        host.disk.writing = durable;
        host.disk.request += 1;
        host.disk.since = Some(self.now);
        host.answered = false;
        let (life, request) = (host.life, host.disk.request);
        self.push(at, Happening::Synced { node, life, request });
    }

    pub(super) fn synced(&mut self, node: usize, life: u64, request: u64) {
        let host = &mut self.hosts[node];
        if host.life != life || host.disk.request != request {
            return;
        }
        if host.stalled > 0 {
            host.held = true;
            return;
        }
        let read = host.clock.read(self.now);
        let busy = host.disk.since.take().map(|since| read.since(host.clock.read(since)));
        if let (Some(setup), Some(busy)) = (&host.setup, busy)
            && busy >= setup.bound
            && host.is_behind()
            && host.leads()
        {
            host.suspended = Some(read + setup.bound);
        }
        host.disk.sync();
        host.held = false;
        host.answered = true;
        self.counts.syncs += 1;
        self.note(node, format_args!("has synced"));
        self.observe(node);
        self.pump(node);
    }

    /// A message leaves a node.
    fn send(&mut self, node: usize, to: NodeId, message: &MessageOf<S>) {
        if to == STORE {
            self.send_to_store(node, message);
        } else {
            self.send_to_node(node, to, message);
        }
        let says = S::observe(message);
        let led = matches!(says, Says::Leads(epoch) if self.hosts[node].led.led(epoch));
        self.look(Fact::Sent { from: node, to, says, led });
        let Some(step) = &mut self.hosts[node].step else { return };
        step.sent += 1;
        if step.sent == 1 {
            self.spring(node, Point::Sending);
        }
    }

    fn send_to_node(&mut self, node: usize, to: NodeId, message: &MessageOf<S>) {
        let host = &self.hosts[node];
        let (from, at, with) = (host.id, usize::from(to.get()) - 1, host.runs_with);
        let arrivals = self.depart(node, at);
        if self.setting.trace {
            let lost = if arrivals == [None, None] { ", which is lost" } else { "" };
            self.note(node, format_args!("sends {message:?} to n{to}{lost}"));
        }
        for arrival in arrivals.into_iter().flatten() {
            let message = message.clone();
            self.push(arrival, Happening::Arrives { from, to: at, with, message });
        }
    }

    /// Something leaves a node for the place `to` in the network. Returns when it arrives there,
    /// and its copy.
    pub(super) fn depart(&mut self, node: usize, to: usize) -> [Option<Moment>; 2] {
        let host = &mut self.hosts[node];
        host.sent += 1;
        let mut random = Random::of(&[self.setting.seed, node as u64, host.sent]);
        self.counts.sent += 1;
        let arrivals = self.network.arrivals(self.now, node, to, &mut random);
        self.counts.lost += u64::from(arrivals[0].is_none());
        arrivals
    }
}
