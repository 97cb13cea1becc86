//! What the store does, and the resource beside it.

use super::{Claims, Compares, Fence, Grants, Lease, Message, Mistake, Number, Process, Reads};
use super::{Role, Stable, StoreFault, Term, Timer, Token, Version};
use bellwether_engine::protocol::{Id, Ids, Local, state_type};

/// What the last write was that the resource has accepted.
#[state_type]
pub enum Accepted {
    /// Of the newest grant; or there was none.
    #[default]
    Fresh,
    /// Of an older grant than the newest, which no client had written with so far.
    Stale,
    /// Of an older grant than one that had been written with.
    Backwards,
}

/// What of the store's record its replica has ([`Reads::Replica`]).
#[state_type]
pub struct Copied {
    /// To which client the store has granted the lease.
    pub holder: Option<Id>,
    /// The token of that grant, or of the last.
    pub token: Token,
    /// The version of the record.
    pub version: Version,
}

/// The highest of all grants, and the client that has seen it ([`Claims::CarrySeen`]).
#[state_type]
pub struct Seen {
    /// The token of the grant.
    pub token: Token,
    /// The client that was granted the lease.
    pub by: Option<Id>,
    /// How often that client had started.
    pub start: u8,
}

impl Copied {
    fn of(store: &Process) -> Copied {
        let Process { holder, token, version, .. } = *store;
        Copied { holder, token, version }
    }
}

impl Lease {
    /// It has just granted the lease to the highest.
    pub(super) fn settled_store(&self, p: &mut Local<'_, Self>, highest: Id) {
        *p.state = Process { role: Role::Store, ..Process::default() };
        self.grant(p, highest, Number { incarnation: 1, request: 1 });
        if self.mistake != Mistake::None {
            p.arm(Timer::Mistake);
        }
    }

    /// It starts: with nothing, or after a crash. A lease that it knows it had granted is kept for
    /// all of its time again: how much of that has passed is forgotten.
    pub(super) fn recover_store(&self, p: &mut Local<'_, Self>) {
        let Stable { holder, token, version, written, start, .. } = p.stable();
        let granted = holder.into_iter().collect();
        let known = Process { holder, token, granted, version, written, ..Process::default() };
        *p.state = Process { role: Role::Store, start, ..known };
        if self.reads == Reads::Replica {
            p.state.replica = Copied::of(p.state);
        }
        if holder.is_some_and(|holder| holder != p.id()) {
            self.start_term(p);
        }
    }

    /// A request, or a write.
    pub(super) fn serve(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            Message::Acquire(number) => self.on_acquire(p, from, number),
            Message::Claim(number) => self.on_claim(p, from, number),
            Message::Take(number, version) => self.on_take(p, from, number, version),
            Message::Renew(number, token) => self.on_renew(p, from, number, token),
            Message::Read(number) => self.on_read(p, from, number),
            Message::Set(number) => self.on_set(p, from, number),
            Message::Write(token) => self.on_write(p, token),
            Message::Release(token) => self.on_release(p, from, token),
            // The store says all others itself.
            _ => p.ignore("wrong_direction"),
        }
    }

    /// "Give me the lease": it is granted if it is free, or the asker's already. For some time
    /// after it has expired it is not, and no process has it. After the record was changed, clients
    /// may watch it for some time, and claim nothing.
    fn on_acquire(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        let waits = |timer| p.armed(timer);
        if waits(Timer::LockDelay) || waits(Timer::Watch) {
            return p.send(from, Message::Refused(number, None));
        }
        if p.state.holder.is_none() || self.is_own(p, from, number) {
            self.grant(p, from, number);
            p.send(from, Message::Granted(number, p.state.token));
        } else {
            let answer = self.taken(p, from, number, Copied::of(p.state));
            p.send(from, answer);
        }
    }

    /// Whether the lease is the asker's already, as far as the store can tell.
    fn is_own(&self, p: &Local<'_, Self>, from: Id, number: Number) -> bool {
        match self.grants {
            Grants::ToStart => p.state.holder == Some(from) && p.state.start == number.incarnation,
            Grants::ToId => p.state.holder.is_some_and(|holder| self.have_one_id(p, holder, from)),
        }
    }

    /// Whether two clients have one id for the store.
    fn have_one_id(&self, p: &Local<'_, Self>, one: Id, other: Id) -> bool {
        let known = |id: Id| if self.copied && id == Id::at(0) { p.highest() } else { id };
        known(one) == known(other)
    }

    /// "Give me the lease, if there is none": the asker's own counts as one. The answer does not
    /// tell it so.
    fn on_claim(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        if self.is_own(p, from, number) {
            p.send(from, Message::Refused(number, None));
        } else {
            self.on_acquire(p, from, number);
        }
    }

    /// "I have seen this version for long enough": if it is the record's, the lease is the asker's,
    /// and that of its holder is taken to have ended.
    fn on_take(&self, p: &mut Local<'_, Self>, from: Id, number: Number, version: Version) {
        if self.term == Term::Observed && p.state.version == version {
            p.state.holder = None;
            p.state.granted = Ids::NONE;
        }
        self.on_acquire(p, from, number);
    }

    /// "Extend it": if it is still the asker's, and has not been another's since. A store that does
    /// not compare extends whatever is granted, and its answer is the same.
    fn on_renew(&self, p: &mut Local<'_, Self>, from: Id, number: Number, token: Token) {
        let own = p.state.holder == Some(from) && p.state.token == token;
        let any = self.compares == Compares::Nothing && p.state.holder.is_some();
        if own || any {
            self.start_term(p);
            if self.term == Term::Observed {
                self.keep(p);
            }
            p.send(from, Message::Granted(number, token));
        } else {
            let holder = self.named(p, p.state.holder, from);
            p.send(from, Message::Refused(number, holder));
        }
    }

    /// "It is mine": the client that writes last has it.
    fn on_set(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        self.grant(p, from, number);
        p.send(from, Message::Granted(number, p.state.token));
    }

    /// "I give it back": if it is the asker's by this grant, it is free at once, and the others
    /// hear so. A message that comes late, or twice, names an older grant: a store that does not
    /// compare frees the newest all the same.
    fn on_release(&self, p: &mut Local<'_, Self>, from: Id, token: Token) {
        let own = p.state.holder == Some(from) && p.state.token == token;
        let any = self.compares != Compares::Both && p.state.holder.is_some();
        if !own && !any {
            return;
        }
        p.because("released");
        p.cancel(Timer::Grant);
        self.on_expiry(p);
        p.send_to_each(p.others().filter(|&client| client != from), Message::Available);
    }

    /// What it had granted is over. It may not be granted for some time: what its holder has sent
    /// arrives first.
    pub(super) fn on_end(&self, p: &mut Local<'_, Self>) {
        p.because("lease_expired");
        self.on_expiry(p);
        if self.lock_delay {
            p.arm(Timer::LockDelay);
        }
    }

    /// The lease has expired, or was given back: it is free.
    fn on_expiry(&self, p: &mut Local<'_, Self>) {
        p.state.holder = None;
        p.state.granted = Ids::NONE;
        p.state.start = 0;
        self.keep(p);
    }

    /// An operator changes the record. The store itself stands for a holder that is no client.
    pub(super) fn on_mistake(&self, p: &mut Local<'_, Self>) {
        if self.mistake != Mistake::SetBack {
            p.cancel(Timer::Grant);
            self.on_expiry(p);
        }
        match self.mistake {
            Mistake::SetForward => p.state.holder = Some(p.id()),
            Mistake::None | Mistake::Lost | Mistake::SetBack => p.state.token = Token::default(),
        }
        self.keep(p);
        if self.watches() {
            p.arm(Timer::Watch);
        }
    }

    /// The record was watched for as long as a grant lasts: no client has a lease from before, and
    /// a holder that is no client has none either.
    pub(super) fn on_watched(&self, p: &mut Local<'_, Self>) {
        if p.state.holder == Some(p.id()) {
            self.on_expiry(p);
        }
    }

    /// A write to the resource, which the fence lets pass or not.
    fn on_write(&self, p: &mut Local<'_, Self>, token: Token) {
        let Process { token: newest, written, replica, .. } = *p.state;
        let passes = match self.fence {
            Fence::NewestGrant if self.reads == Reads::Replica => token == replica.token,
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

    /// A new grant has a token that is higher than all before that the record or the claim has.
    fn grant(&self, p: &mut Local<'_, Self>, to: Id, number: Number) {
        p.because("granted");
        let start = number.incarnation;
        let Stable { seen, .. } = p.stable();
        if (seen.by, seen.start) == (Some(to), start) {
            p.state.token = p.state.token.max(seen.token);
        }
        p.state.token = p.state.token.next();
        let own = self.is_own(p, to, number);
        let others = if own { Ids::NONE } else { p.state.granted };
        p.state.granted = others.with(to);
        p.state.holder = Some(to);
        if self.grants == Grants::ToStart {
            p.state.start = start;
        }
        let token = p.state.token;
        if self.claims == Claims::CarrySeen && token > seen.token {
            p.persist(Stable { seen: Seen { token, by: Some(to), start }, ..p.stable() });
        }
        self.keep(p);
        self.start_term(p);
    }

    /// The lease lasts from now on.
    fn start_term(&self, p: &mut Local<'_, Self>) {
        if self.store_ends() {
            p.arm(Timer::Grant);
        }
    }

    /// The record has been written. A replication that is under way goes on and takes this write
    /// along: begun anew with each write, it would never end.
    fn keep(&self, p: &mut Local<'_, Self>) {
        if self.term == Term::Observed {
            p.state.version = p.state.version.next();
        }
        if self.store == StoreFault::CrashesAndKeeps {
            persist(p);
        }
        if self.replicates() && !p.armed(Timer::Replicate) {
            p.arm(Timer::Replicate);
        }
    }

    /// The replica has all that was written so far. It is what takes over if the store fails.
    pub(super) fn on_replicated(&self, p: &mut Local<'_, Self>) {
        if self.reads == Reads::Replica {
            p.state.replica = Copied::of(p.state);
        }
        if self.store == StoreFault::FailsOverAndLosesTheLast {
            persist(p);
        }
    }

    /// "Is it free?" The asker itself may go on to hold it.
    fn on_read(&self, p: &mut Local<'_, Self>, from: Id, number: Number) {
        let known = match self.reads {
            Reads::Primary => Copied::of(p.state),
            Reads::Replica => p.state.replica,
        };
        let free = known.holder.is_none_or(|holder| holder == from);
        let taken = self.taken(p, from, number, known);
        p.send(from, if free { Message::Free(number) } else { taken });
    }

    /// "You do not have it; this one does". A client that is to watch the record hears its version.
    fn taken(&self, p: &Local<'_, Self>, from: Id, number: Number, record: Copied) -> Message {
        match self.named(p, record.holder, from) {
            Some(holder) if self.term == Term::Observed => {
                Message::Record(number, holder, record.version)
            }
            holder => Message::Refused(number, holder),
        }
    }

    /// The holder as the asker knows it: another process with the id of the asker has the asker's
    /// own, and a holder that is no client has none.
    fn named(&self, p: &Local<'_, Self>, holder: Option<Id>, from: Id) -> Option<Id> {
        let holder = holder.filter(|&holder| holder != p.id())?;
        Some(if self.have_one_id(p, holder, from) { from } else { holder })
    }
}

/// What is granted, and to which client, is on stable storage.
fn persist(p: &mut Local<'_, Lease>) {
    let Process { holder, token, version, start, .. } = *p.state;
    p.persist(Stable { holder, token, version, start, ..p.stable() });
}
