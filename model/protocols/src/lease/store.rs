//! What the store does, and the resource beside it.

use super::{Fence, Lease, Message, Number, Process, Role, Stable, StoreFault, Term, Timer, Token};
use bellwether_engine::protocol::{Id, Ids, Local};
use serde::Serialize;

/// What the last write was that the resource has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accepted {
    /// Of the newest grant; or there was none.
    #[default]
    Fresh,
    /// Of an older grant than the newest, which no client had written with so far.
    Stale,
    /// Of an older grant than one that had been written with.
    Backwards,
}

impl Lease {
    /// It has just granted the lease to the highest.
    pub(super) fn settled_store(&self, p: &mut Local<'_, Self>, highest: Id) {
        *p.state = Process { role: Role::Store, ..Process::default() };
        self.grant(p, highest);
    }

    /// It starts: with nothing, or after a crash. A lease that it knows it had granted is kept for
    /// all of its time again: how much of that has passed is forgotten.
    pub(super) fn recover_store(&self, p: &mut Local<'_, Self>) {
        let Stable { holder, token, written, .. } = p.stable();
        let granted = holder.into_iter().collect();
        let known = Process { holder, token, granted, written, ..Process::default() };
        *p.state = Process { role: Role::Store, ..known };
        if holder.is_some() {
            self.start_term(p);
        }
    }

    /// A request, or a write.
    pub(super) fn serve(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            Message::Acquire(number) => self.on_acquire(p, from, number),
            Message::Renew(number, token) => self.on_renew(p, from, number, token),
            Message::Read(number) => on_read(p, from, number),
            Message::Set(number) => self.on_set(p, from, number),
            Message::Write(token) => self.on_write(p, token),
            Message::Release(token) => self.on_release(p, from, token),
            // What the store says itself.
            _ => {}
        }
    }

    /// "Give me the lease": it is granted if it is free, or the asker's already.
    fn on_acquire(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        if p.state.holder.is_none_or(|holder| holder == from) {
            self.grant(p, from);
            p.send(from, Message::Granted(number, p.state.token));
        } else {
            p.send(from, Message::Refused(number, p.state.holder));
        }
    }

    /// "Extend it": if it is still the asker's, and has not been another's since.
    fn on_renew(&self, p: &mut Local<'_, Self>, from: Id, number: Number, token: Token) {
        if p.state.holder == Some(from) && p.state.token == token {
            self.start_term(p);
            p.send(from, Message::Granted(number, token));
        } else {
            p.send(from, Message::Refused(number, p.state.holder));
        }
    }

    /// "It is mine": the client that writes last has it.
    fn on_set(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        self.grant(p, from);
        p.send(from, Message::Granted(number, p.state.token));
    }

    /// "I give it back": if it is the asker's by this grant, it is free at once, and the others
    /// hear so. A message that comes late, or twice, names an older grant.
    fn on_release(&self, p: &mut Local<'_, Self>, from: Id, token: Token) {
        if p.state.holder != Some(from) || p.state.token != token {
            return;
        }
        p.cancel(Timer::Grant);
        self.on_expiry(p);
        for client in p.others().filter(|&client| client != from) {
            p.send(client, Message::Available);
        }
    }

    /// The lease has expired, or was given back: it is free.
    pub(super) fn on_expiry(&self, p: &mut Local<'_, Self>) {
        p.state.holder = None;
        p.state.granted = Ids::NONE;
        self.keep(p);
    }

    /// A write to the resource, which the fence lets pass or not.
    fn on_write(&self, p: &mut Local<'_, Self>, token: Token) {
        let Process { token: newest, written, .. } = *p.state;
        let passes = match self.fence {
            Fence::NewestGrant => token == newest,
            Fence::HighestWritten => token >= written,
            Fence::None => true,
        };
        if !passes {
            return;
        }
        p.state.accepted = match token {
            _ if token < written => Accepted::Backwards,
            _ if token < newest => Accepted::Stale,
            _ => Accepted::Fresh,
        };
        p.state.written = written.max(token);
        if self.store != StoreFault::Lives {
            p.persist(Stable { written: p.state.written, ..p.stable() });
        }
    }

    /// A new grant has a token that is higher than all before.
    fn grant(&self, p: &mut Local<'_, Self>, to: Id) {
        p.state.token = p.state.token.next();
        let others = if p.state.holder == Some(to) { Ids::NONE } else { p.state.granted };
        p.state.granted = others.with(to);
        p.state.holder = Some(to);
        self.keep(p);
        self.start_term(p);
    }

    /// The lease lasts from now on.
    fn start_term(&self, p: &mut Local<'_, Self>) {
        if self.term == Term::Expires {
            p.arm(Timer::Grant);
        }
    }

    fn keep(&self, p: &mut Local<'_, Self>) {
        if self.store == StoreFault::CrashesAndKeeps {
            let Process { holder, token, .. } = *p.state;
            p.persist(Stable { holder, token, ..p.stable() });
        }
    }
}

/// "Is it free?" The asker itself may go on to hold it.
fn on_read(p: &mut Local<'_, Lease>, from: Id, number: Number) {
    let free = p.state.holder.is_none_or(|holder| holder == from);
    let held = Message::Refused(number, p.state.holder);
    p.send(from, if free { Message::Free(number) } else { held });
}
