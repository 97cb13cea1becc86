//! How faults strike, and how they end.

use std::time::Duration;

use bellwether_core::member::{Command, Event, LONGEST_SLEEP};
use bellwether_core::protocol::NodeId;

use crate::clock::Moment;
use crate::faults::{Blow, Fault, Hit, Point, Request, Target};
use crate::host::Trap;
use crate::random::Random;
use crate::subject::Subject;
use crate::wrong::Wrong;

use super::{Happening, World};

impl<S: Subject> World<S> {
    /// A fault strikes.
    pub(super) fn strike(&mut self, place: usize) {
        let (number, fault) = self.setting.plan[place].clone();
        self.counts.faults += 1;
        if self.setting.trace {
            self.trace.push(format!("{}  fault {number}: {fault}", self.now));
        }
        let until = fault.until;
        match fault.blow {
            Blow::Cut(..) | Blow::Divide { .. } => self.links(&fault, true),
            Blow::Weather(weather) => self.network.weather.push((place, weather)),
            Blow::Pause(target) => {
                let node = self.find(target);
                if self.hosts[node].member.is_some() {
                    self.struck[place] = Some((node, self.hosts[node].life));
                    self.stop(node);
                }
            }
            Blow::Crash(target) => {
                let node = self.find(target);
                self.crash(node, until);
            }
            Blow::Wipe(target) => self.wipe(self.find(target), until),
            Blow::Trap(target, point, hit) => {
                let node = self.find(target);
                self.struck[place] = Some((node, self.hosts[node].life));
                self.hosts[node].trap = Some(Trap { fault: place, point, hit, until });
            }
            Blow::Stall(target) => {
                let node = self.find(target);
                self.struck[place] = Some((node, 0));
                self.hosts[node].stalled += 1;
            }
            Blow::Ask(target, request) => {
                let node = self.find(target);
                self.struck[place] = Some((node, self.hosts[node].life));
                self.ask(node, what(request, until.since(self.now)));
            }
            Blow::Leave(target) => {
                let node = self.find(target);
                self.hosts[node].restarts = Some(until);
                if self.hosts[node].member.is_some() {
                    self.happens(node, Event::Stop);
                }
            }
            Blow::Transfer(to, condition) => self.ask_to_transfer(place, to, condition, until),
            Blow::Change(node, part) => self.change(node, part, true),
            Blow::Reload(durations) => self.reload(durations, until),
            Blow::Store(mishap) => self.befall(place, mishap),
            Blow::Twin(target, to) => self.copy(place, self.find(target), to, until),
            Blow::Far { one, other, there, back } => {
                self.network.lengthen(one, other, there);
                self.network.lengthen(other, one, back);
            }
            Blow::Rate(target, ppm) => {
                let node = self.find(target);
                self.struck[place] = Some((node, 0));
                self.set_rate(node, ppm);
            }
        }
        self.push(until, Happening::Ends(place));
    }

    /// A fault is over.
    pub(super) fn end(&mut self, place: usize) {
        let (number, fault) = self.setting.plan[place].clone();
        let struck = self.struck[place].take();
        match (fault.blow, struck) {
            (Blow::Cut(..) | Blow::Divide { .. }, _)
                if self.setting.wrong != Some(Wrong::NeverHeals) =>
            {
                self.links(&self.setting.plan[place].1.clone(), false);
            }
            (Blow::Weather(_), _) => self.network.weather.retain(|&(fault, _)| fault != place),
            (Blow::Pause(_), Some((node, life))) if self.hosts[node].life == life => {
                self.resume(node);
            }
            (Blow::Trap(..), Some((node, _))) => {
                let host = &mut self.hosts[node];
                if host.trap.is_some_and(|trap| trap.fault == place) {
                    host.trap = None;
                }
            }
            (Blow::Stall(_), Some((node, _))) => self.unstall(node),
            (Blow::Ask(_, Request::Unfit), Some((node, life))) if self.hosts[node].life == life => {
                self.ask(node, Command::SetHealthy(true));
            }
            (Blow::Transfer(_, condition), Some((node, life))) => {
                self.end_transfer(condition, node, life);
            }
            (Blow::Store(_), Some(_)) => self.end_outage(),
            (Blow::Twin(..), Some((node, _))) => self.end_copy(node),
            // At a rate that is right the clocks would agree again; they keep what they have until
            // another fault changes it, unless all faults are over.
            (Blow::Rate(..), Some((node, _))) if self.now >= self.setting.terms.calm => {
                self.set_rate(node, 0);
            }
            _ => return,
        }
        if self.setting.trace {
            self.trace.push(format!("{}  fault {number} is over", self.now));
        }
    }

    /// The node that a fault strikes.
    fn find(&self, target: Target) -> usize {
        match target {
            Target::Node(place) => place,
            Target::Leader(place) => {
                let leads = self.faces.iter().position(|face| face.leads(self.now).is_some());
                leads.unwrap_or(place)
            }
        }
    }

    /// Cuts the links of a fault, or heals them.
    pub(super) fn links(&mut self, fault: &Fault, cut: bool) {
        let mut links = Vec::new();
        match &fault.blow {
            Blow::Cut(from, to) => links.push((*from, *to)),
            Blow::Divide { side, one_way } => {
                // The store is on the other side.
                let places = self.hosts.len() + usize::from(self.store.is_some());
                let others = (0..places).filter(|node| !side.contains(node));
                for other in others {
                    links.extend(side.iter().map(|&node| (node, other)));
                    if !one_way {
                        links.extend(side.iter().map(|&node| (other, node)));
                    }
                }
            }
            _ => {}
        }
        for (from, to) in links {
            if cut {
                self.network.cut(from, to);
            } else {
                self.network.heal(from, to);
            }
        }
    }

    fn set_rate(&mut self, node: usize, ppm: i64) {
        let host = &mut self.hosts[node];
        host.clock.set_rate(self.now, ppm);
        // The moment that was scheduled is another one now.
        host.scheduled = None;
        self.schedule(node);
        self.observe(node);
    }

    fn unstall(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.stalled -= 1;
        if host.stalled == 0 && host.held {
            let (life, request) = (host.life, host.disk.request);
            self.synced(node, life, request);
        }
    }

    /// A process stops. What arrives waits.
    pub(super) fn stop(&mut self, node: usize) {
        let (now, host) = (self.now, &mut self.hosts[node]);
        if host.stopped == 0 {
            host.stopped_at = now;
        }
        host.stopped += 1;
    }

    /// A process goes on: it finishes its step, and handles what has come.
    pub(super) fn resume(&mut self, node: usize) {
        let (now, host) = (self.now, &mut self.hosts[node]);
        host.stopped = host.stopped.saturating_sub(1);
        if host.stopped > 0 || host.member.is_none() {
            return;
        }
        let long = now.since(host.stopped_at);
        let slept = host.clock.read(now).since(host.clock.read(host.stopped_at));
        match self.setting.wrong {
            Some(Wrong::ClockStops) => host.clock.lose(now, long),
            Some(Wrong::StaleTime) => host.stale = Some(host.clock.read(host.stopped_at)),
            _ => {}
        }
        // A wait that the member chose itself is no pause, and takes no longer than that.
        if let Some(setup) = &host.setup
            && slept >= setup.silence + LONGEST_SLEEP
            && host.leads()
        {
            host.suspended = Some(host.clock.read(now) + setup.silence);
        }
        self.note(node, format_args!("goes on"));
        self.observe(node);
        self.pump(node);
        self.hosts[node].stale = None;
        self.pump(node);
    }

    /// A process crashes, or ends, and restarts then.
    pub(super) fn crash(&mut self, node: usize, restarts: Moment) {
        if self.hosts[node].member.is_none() {
            return;
        }
        self.note(node, format_args!("crashes"));
        self.transfer = self.transfer.filter(|transfer| transfer.node != node);
        let mut random = Random::of(&[self.setting.seed, 0xc4a5, node as u64, self.now.0]);
        let host = &mut self.hosts[node];
        self.counts.unseen += host.member.as_ref().map_or(0, |member| member.waiting() as u64);
        // A state that was written and not synced may be there or not.
        if host.disk.writing.is_some() && random.chance(500) {
            host.disk.sync();
        }
        if self.setting.wrong == Some(Wrong::Forgets) && random.chance(500) {
            host.disk.synced = host.disk.older.take();
        }
        if self.setting.wrong == Some(Wrong::LosesLists) {
            host.disk.synced.iter_mut().for_each(S::lose_lists);
        }
        host.fall();
        let life = host.life;
        self.push(restarts.max(self.now), Happening::Starts { node, life });
        self.observe(node);
    }

    /// The process is at this place of its code; a trap hits it.
    pub(super) fn spring(&mut self, node: usize, point: Point) {
        let Some(trap) = self.hosts[node].trapped(point) else { return };
        match trap.hit {
            Hit::Crash => self.crash(node, trap.until),
            Hit::Pause => {
                self.note(node, format_args!("stops"));
                self.stop(node);
                let life = self.hosts[node].life;
                self.push(trap.until.max(self.now), Happening::Resumes { node, life });
            }
        }
    }

    /// A node is asked for something.
    pub fn ask(&mut self, node: usize, what: Command) {
        let host = &mut self.hosts[node];
        if host.member.is_none() {
            return;
        }
        host.asked += 1;
        let ticket = host.asked;
        self.happens(node, Event::Command { ticket, command: what });
    }

    /// A node crashes for good; for measurements.
    pub fn remove(&mut self, node: usize) {
        self.crash(node, Moment(u64::MAX));
    }
}

/// Returns what a node is asked, for so long.
fn what(request: Request, long: Duration) -> Command {
    let id = |place: usize| NodeId::new(u16::try_from(place + 1).unwrap_or(u16::MAX));
    match request {
        Request::HandOver(place) => Command::HandOver(place.and_then(id)),
        Request::StepDown => Command::StepDown(long),
        Request::Freeze => Command::Freeze(long),
        Request::Unfit => Command::SetHealthy(false),
    }
}
