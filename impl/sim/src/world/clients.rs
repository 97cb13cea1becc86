//! The messages between the nodes and the store of the lease, and what happens to the store. A
//! question may be lost or late, and so may the answer: the store has done then what it was asked.

use std::time::Duration;

use bellwether_core::member::Event;
use bellwether_core::protocol::lease::Message;
use bellwether_core::protocol::{NodeId, Time};
use bellwether_core::store::STORE;
use bellwether_core::trace::Received;

use crate::client::{Mail, Next};
use crate::clock::Moment;
use crate::faults::Mishap;
use crate::host::MessageOf;
use crate::invariant::Fact;
use crate::random::Random;
use crate::store::{Ask, DURATIONS};
use crate::subject::Subject;

use super::{Happening, World};

/// How long nothing more happens to the store after a mishap: until all has come right.
const REST: Duration = Duration::from_secs(9);

impl<S: Subject> World<S> {
    /// The place of the store in the network, after all nodes.
    fn place_of_store(&self) -> usize {
        self.hosts.len()
    }

    /// A message of the core is for the store, or for what the lease protects.
    pub(super) fn send_to_store(&mut self, node: usize, message: &MessageOf<S>) {
        let now = self.time_of(node);
        let Some(message) = S::question(message) else { return };
        let Some(client) = &mut self.hosts[node].client else { return };
        if let Message::Write(token) = message {
            let ask = Ask::Write(client.own().clone(), token);
            return self.ask_store(node, 0, &ask);
        }
        client.push(now, message);
        // A process that leaves asks before it ends.
        while self.serve(node, now) {}
    }

    /// Lets the client on a node do the next thing. Returns whether there was any.
    pub(super) fn serve(&mut self, node: usize, now: Time) -> bool {
        let host = &mut self.hosts[node];
        let life = host.life;
        let Some(next) = host.client.as_mut().and_then(|client| client.next(now)) else {
            return false;
        };
        match next {
            Next::Ask(number, ask) => self.ask_store(node, number, &ask),
            Next::Told { token, is_grant, message } => {
                if let Some(token) = token {
                    self.note(node, format_args!("hears of token {token} from the store"));
                    self.look(Fact::Told { node, life, token: token.get(), is_grant });
                }
                self.deliver(node, message);
            }
            Next::Answer(message) => self.deliver(node, Some(message)),
        }
        self.observe(node);
        true
    }

    fn deliver(&mut self, node: usize, message: Option<Message>) {
        if let Some(message) = message.and_then(S::answer) {
            let event = Event::Received(Received::unnumbered(STORE, message));
            self.hosts[node].inbox.push_back(event);
        }
    }

    fn ask_store(&mut self, node: usize, number: u64, ask: &Ask) {
        self.note(node, format_args!("asks the store: {ask:?}"));
        let life = self.hosts[node].life;
        for arrival in self.depart(node, self.place_of_store()).into_iter().flatten() {
            self.push(arrival, Happening::Asks { node, life, number, ask: ask.clone() });
        }
    }

    /// A question arrives at the store.
    pub(super) fn asked(&mut self, node: usize, life: u64, number: u64, ask: &Ask) {
        self.network.landed(node, self.place_of_store());
        let Some(store) = &mut self.store else { return };
        if store.outages > 0 {
            self.counts.lost += 1;
            return;
        }
        if let Ask::Write(holder, token) = ask {
            if store.admits(holder, *token) {
                self.look(Fact::Written(token.get()));
            }
            return;
        }
        let before = store.recorded().cloned();
        let answer = store.answer(self.now, ask);
        let (version, watches) = (store.version, store.semantics.watches);
        let is_news = watches && store.recorded() != before.as_ref();
        self.note(node, format_args!("is answered by the store: {answer:?}"));
        self.reply(node, life, &Mail::Reply { number, answer, version });
        for other in (0..self.hosts.len()).filter(|_| is_news) {
            self.reply(other, self.hosts[other].life, &Mail::News);
        }
    }

    /// The store sends something to a node.
    fn reply(&mut self, node: usize, life: u64, mail: &Mail) {
        let from = self.place_of_store();
        let Some(store) = &mut self.store else { return };
        store.sent += 1;
        let mut random = Random::of(&[self.setting.seed, from as u64, store.sent]);
        let arrivals = self.network.arrivals(self.now, from, node, &mut random);
        for arrival in arrivals.into_iter().flatten() {
            self.push(arrival, Happening::Mails { node, life, mail: mail.clone() });
        }
    }

    /// Delivers a message of the store to a node.
    pub(super) fn mailed(&mut self, node: usize, life: u64, mail: Mail) {
        self.network.landed(self.place_of_store(), node);
        if self.hosts[node].life == life {
            self.receive(node, mail);
        }
    }

    fn receive(&mut self, node: usize, mail: Mail) {
        if let Some(client) = &mut self.hosts[node].client {
            client.receive(mail);
            self.pump(node);
        }
    }

    /// Something happens to the store. A dump is restored only if each node has seen the newest
    /// token: one that has not would take the store for right.
    pub(super) fn befall(&mut self, place: usize, mishap: Mishap) {
        let is_outage = mishap == Mishap::Outage;
        let Some(store) = &mut self.store else { return };
        if is_outage {
            store.outages += 1;
            self.struck[place] = Some((0, 0));
        } else {
            let token = store.token();
            let hosts = &self.hosts;
            let has_seen = || {
                hosts.iter().all(|host| host.client.as_ref().is_some_and(|it| it.has_seen(token)))
            };
            if self.now < store.rests || mishap == Mishap::Restore && !has_seen() {
                return;
            }
            let Some(must_notice) = store.suffer(self.now, mishap) else { return };
            store.rests = self.now + REST;
            if must_notice && self.agreed.is_some() {
                self.look(Fact::Mishap { by: self.now + DURATIONS.renew * 3 });
            }
        }
        if is_outage || mishap == Mishap::Rewind {
            for node in 0..self.hosts.len() {
                self.receive(node, Mail::Ended);
            }
        }
    }

    /// An outage of the store is over.
    pub(super) fn end_outage(&mut self) {
        if let Some(store) = &mut self.store {
            store.outages -= 1;
        }
    }

    /// The machine at the place `to` becomes a copy of that of a node, and its process starts. If
    /// the node leads, the copy must say in time that another process with its id does.
    pub(super) fn copy(&mut self, place: usize, node: usize, to: usize, until: Moment) {
        let is_up = |node: usize| self.hosts[node].member.is_some();
        let is_copy = Some(self.hosts[to].id) != id(to);
        let Some(store) = &mut self.store else { return };
        if node == to || is_copy || !is_up(node) || !is_up(to) || self.now < store.rests {
            return;
        }
        store.rests = self.now + REST;
        self.struck[place] = Some((to, 0));
        self.crash(to, self.now);
        let (own, disk) = (self.hosts[node].id, self.hosts[node].disk.synced.clone());
        let host = &mut self.hosts[to];
        (host.id, host.disk.synced) = (own, disk);
        self.observe(to);
        let by = self.now + DURATIONS.keep + DURATIONS.renew * 3;
        let leads = self.agreed.is_some() && self.faces[node].leads(self.now).is_some();
        if leads && by < until {
            self.look(Fact::Mishap { by });
        }
    }

    /// The machine at this place is itself again.
    pub(super) fn end_copy(&mut self, node: usize) {
        self.crash(node, self.now);
        if let Some(id) = id(node) {
            self.hosts[node].id = id;
            self.observe(node);
        }
    }
}

/// The id of the node at this place.
fn id(place: usize) -> Option<NodeId> {
    NodeId::new(u16::try_from(place + 1).ok()?)
}
