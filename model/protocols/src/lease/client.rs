//! What a client does.

use super::{Acquire, Answers, Count, Expiry, Lease, Message, Number, Process, Release, Renewal};
use super::{Role, Stable, Term, Timer, Token, Version};
use bellwether_engine::protocol::{Id, Local, Request};

impl Lease {
    /// Every client has started, and asked, once; the highest holds the lease, and the others have
    /// heard.
    pub(super) fn settled_client(&self, p: &mut Local<'_, Self>, highest: Id) {
        p.persist(Stable { incarnation: 1, ..Stable::default() });
        *p.state = Process { holder: Some(highest), requests: 1, ..Process::default() };
        if p.id() == highest {
            p.arm(Timer::Lease);
            self.become_holder(p, Token::FIRST);
            if self.asked {
                p.arm(Timer::Request);
            }
        } else {
            p.arm(Timer::Retry);
            if self.term == Term::Observed {
                observe(p, Version::FIRST);
            }
        }
    }

    /// A client starts: from now on its requests have other numbers than before. It asks.
    pub(super) fn recover_client(&self, p: &mut Local<'_, Self>) {
        let incarnation = p.stable().incarnation + 1;
        p.persist(Stable { incarnation, ..p.stable() });
        self.ask(p);
    }

    /// A client that does not hold the lease asks for it, and notes when: before it sends. A client
    /// that may not lead asks to renew a lease that was never granted, and so hears who has it.
    pub(super) fn ask(&self, p: &mut Local<'_, Self>) {
        p.cancel(Timer::Retry);
        match self.acquire {
            _ if !may_lead(p) => request(p, |number| Message::Renew(number, Token::default())),
            Acquire::CompareAndSet => request(p, Message::Acquire),
            Acquire::SetIfAbsent => request(p, Message::Claim),
            Acquire::ReadThenWrite => request(p, Message::Read),
        }
    }

    /// A holder does what it holds the lease for: it writes, with the token of its lease. Then it
    /// renews the lease. It keeps that pace, whatever comes of it.
    pub(super) fn work(&self, p: &mut Local<'_, Self>) {
        let token = p.state.token;
        if p.state.role == Role::Releasing {
            return end_work(p, Message::Write(token));
        }
        p.arm(Timer::Renew);
        p.send_to_each(p.services(), Message::Write(token));
        match self.renewal {
            Renewal::Asks => request(p, |number| Message::Renew(number, token)),
            Renewal::Assumes => p.arm(Timer::Lease),
        }
    }

    /// "You hold the lease": it does, for as long as it counts. A client that may not lead any more
    /// gives back what it has asked for before.
    pub(super) fn on_granted(&self, p: &mut Local<'_, Self>, token: Token) {
        if !may_lead(p) {
            p.cancel(Timer::Asked);
            p.send_to_each(p.services(), Message::Release(token));
            return p.arm(Timer::Retry);
        }
        p.because("granted");
        match self.count {
            Count::BeforeSending => p.arm_since(Timer::Lease, Timer::Asked),
            Count::FromReceipt => {
                p.cancel(Timer::Asked);
                p.arm(Timer::Lease);
            }
        }
        if p.state.role == Role::Holder {
            p.state.token = token;
        } else {
            self.become_holder(p, token);
        }
    }

    /// "You do not": a holder steps down, and any other that asked asks again after a while.
    pub(super) fn on_refused(&self, p: &mut Local<'_, Self>, holder: Option<Id>) {
        p.because("refused");
        step_down(p);
        p.state.holder = holder;
        p.arm(Timer::Retry);
    }

    /// "This one has it, and the record has this version" ([`Term::Observed`]): if it is another
    /// than before, the client watches it from now on; if it has watched it for long enough, it
    /// takes the lease.
    pub(super) fn on_record(&self, p: &mut Local<'_, Self>, holder: Id, version: Version) {
        let known = p.state.version == version;
        if known && !p.armed(Timer::Observed) {
            return take(p);
        }
        if !known {
            step_down(p);
            observe(p, version);
        }
        p.cancel(Timer::Asked);
        p.state.holder = Some(holder);
        p.arm(Timer::Retry);
    }

    /// It has watched this version of the record for long enough, and takes the lease, unless the
    /// record has another version by now.
    pub(super) fn on_observed(&self, p: &mut Local<'_, Self>) {
        p.cancel(Timer::Retry);
        take(p);
    }

    /// No answer came while what would be granted lasted. A holder has its pace, others ask again.
    pub(super) fn give_up(&self, p: &mut Local<'_, Self>) {
        if p.state.role != Role::Holder {
            self.ask(p);
        }
    }

    /// "Step down at your own expiry": before the store can have granted the lease to another.
    pub(super) fn on_own_expiry(&self, p: &mut Local<'_, Self>) {
        if self.expiry == Expiry::StepsDown {
            p.because("lease_expired");
            step_down(p);
            self.ask(p);
        }
    }

    /// The lease is free again, or the client may lead again: if it waits to ask, it asks at once.
    pub(super) fn ask_if_idle(&self, p: &mut Local<'_, Self>) {
        if p.armed(Timer::Retry) {
            self.ask(p);
        }
    }

    /// Does what is asked of a client. The store decides which client is next, and no request does.
    /// The store itself does not lead, and is asked for nothing.
    pub(super) fn on_asked(&self, p: &mut Local<'_, Self>, request: Request) {
        match request {
            _ if p.is_service() => {}
            Request::Transfer(_) | Request::Tell(_) => {}
            Request::Yield(_) => self.give_back(p, "asked_to_yield"),
            Request::StepDown(_) => {
                p.arm(Timer::Away);
                self.give_back(p, "asked_to_yield");
            }
            Request::Healthy(false) => {
                p.state.unfit = true;
                self.give_back(p, "unfit");
            }
            Request::Healthy(true) => {
                if std::mem::take(&mut p.state.unfit) {
                    self.ask_if_idle(p);
                }
            }
        }
    }

    /// A holder leads no longer. If no other client comes first, it is granted the lease anew when
    /// it asks again.
    fn give_back(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        if p.state.role != Role::Holder {
            return;
        }
        p.because(reason);
        let release = Message::Release(p.state.token);
        match self.release {
            Release::Never => {
                step_down(p);
                p.arm(Timer::Retry);
            }
            Release::AfterWork => end_work(p, release),
            Release::AtOnce => {
                p.state.role = Role::Releasing;
                p.cancel(Timer::Asked);
                p.send_to_each(p.services(), release);
            }
        }
    }

    fn become_holder(&self, p: &mut Local<'_, Self>, token: Token) {
        let held = Process { role: Role::Holder, holder: Some(p.id()), token, ..*p.state };
        *p.state = Process { version: Version::default(), ..held };
        p.cancel(Timer::Observed);
        p.arm(Timer::Renew);
    }

    /// Whether an answer with this number is what it waits for.
    pub(super) fn answers(&self, p: &Local<'_, Self>, number: Number) -> bool {
        p.armed(Timer::Asked) && (self.answers == Answers::Any || number == latest(p))
    }
}

/// Returns whether a client may lead: its machine is fit, and it was not asked to stay away.
fn may_lead(p: &Local<'_, Lease>) -> bool {
    !p.state.unfit && !p.armed(Timer::Away)
}

/// It sends the next request, having noted when.
pub(super) fn request(p: &mut Local<'_, Lease>, message: impl FnOnce(Number) -> Message) {
    p.state.requests += 1;
    p.arm(Timer::Asked);
    p.send_to_each(p.services(), message(latest(p)));
}

fn latest(p: &Local<'_, Lease>) -> Number {
    Number { incarnation: p.stable().incarnation, request: p.state.requests }
}

/// From now on it watches this version of the record.
fn observe(p: &mut Local<'_, Lease>, version: Version) {
    p.state.version = version;
    p.arm(Timer::Observed);
}

/// "Give me the lease, if the record still has the version that I have watched".
fn take(p: &mut Local<'_, Lease>) {
    let version = p.state.version;
    request(p, |number| Message::Take(number, version));
}

/// The client holds no lease, waits for nothing but the end of its time away, and knows of none
/// that does.
fn step_down(p: &mut Local<'_, Lease>) {
    for timer in p.timers().without::<Lease>(Timer::Away).iter::<Lease>() {
        p.cancel(timer);
    }
    let Process { requests, unfit, .. } = *p.state;
    *p.state = Process { requests, unfit, ..Process::default() };
}

/// Its work ends: it steps down, says the last thing that it says in the name of its lease, and
/// asks again after a while.
fn end_work(p: &mut Local<'_, Lease>, last: Message) {
    step_down(p);
    p.send_to_each(p.services(), last);
    p.arm(Timer::Retry);
}
