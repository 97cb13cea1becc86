//! What a member decides, on a clock of the tests' own: without a loop, a runtime, or a disk.

mod commands;
mod deadlines;
mod disk;
mod ends;
mod gate;
mod leading;
mod pause;
mod peers;
mod rivals;
mod traced;
mod view;
mod work;

use super::*;
use crate::protocol::Birth;
use crate::protocol::bully::{self, Bully};
use crate::protocol::garcia_molina::{self, GarciaMolina};
use crate::protocol::lease;
use crate::protocol::quorum::{self, Message, Quorum, Timing};
use crate::protocol::{Members, Output, Role};
use crate::trace::{Received, Sent};

impl<C: Core> Member<C> {
    /// The node saves this state next, whatever its core saves.
    fn push_state(&mut self, now: Time, state: C::Durable) {
        assert_eq!(self.unsaved.push(now, Output::Persist(state)), None);
    }
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn first() -> Epoch {
    Epoch::new(1)
}

fn members() -> Members {
    Members::new([1, 2, 3].map(id)).expect("valid")
}

/// A leader may do nothing for so long; a storage may take a minute.
fn setup(silence: Duration) -> Setup {
    let (stores, prepares, aligned, detection) = (true, false, false, None);
    let (lifetime, bound) = (ms(1_000), ms(60_000));
    Setup { silence, lifetime, members: 3, stores, bound, prepares, aligned, detection }
}

/// A member, and the time.
struct Run<C: Core> {
    member: Member<C>,
    now: Time,
    /// Whether its program has work under way.
    works: bool,
}

impl<C: Core> Run<C> {
    /// A member that has started.
    fn new(config: C::Config, setup: &Setup) -> Self {
        let Ok(node) = Node::<C>::new(config, C::founder(), 0) else {
            panic!("a valid configuration")
        };
        let now = Time::ZERO + ms(1_000);
        let mut run = Self { member: Member::new(node, setup, now), now, works: false };
        run.take(Event::Start);
        run
    }

    /// Something happens. What the member wants done; work that is not under way ends at once.
    fn take(&mut self, event: Event<C::Message>) -> Actions<C> {
        let mut done = self.member.handle(self.now, event);
        while !self.works && self.member.awaits_work() {
            done.extend(self.member.handle(self.now, Event::WorkEnded));
        }
        done
    }

    fn wake(&mut self) -> Actions<C> {
        self.take(Event::Wake)
    }

    fn hears(&mut self, from: u16, message: C::Message) -> Actions<C> {
        self.take(Event::Received(Received::unnumbered(id(from), message)))
    }

    /// The storage has done what it was asked.
    fn saved(&mut self) -> Actions<C> {
        self.take(Event::StorageAnswered(StorageAnswer::Done))
    }

    /// Everything is saved.
    fn saves_all(&mut self) -> Actions<C> {
        let mut done = Vec::new();
        while self.member.is_behind() {
            done.extend(self.saved());
        }
        done
    }

    /// Something is asked, with this ticket.
    fn asks(&mut self, ticket: u64, command: Command) -> Actions<C> {
        self.take(Event::Command { ticket, command })
    }

    /// Lets so much time pass, in which the process runs as a loop does.
    fn runs(&mut self, milliseconds: u64) -> Actions<C> {
        let (end, mut done) = (self.now + ms(milliseconds), Vec::new());
        while self.now < end {
            let longest = self.member.wait(self.now).max(Duration::from_nanos(1));
            self.now = (self.now + longest).min(end);
            done.extend(self.wake());
            if !self.member.awaits_work() && !self.member.leaves() {
                done.extend(self.take(Event::Drained { gone: BTreeSet::new() }));
            }
        }
        done
    }

    /// Lets so much time pass, in which the process stands still.
    fn stands_still(&mut self, milliseconds: u64) {
        let _ = self.member.wait(self.now);
        self.now = self.now + ms(milliseconds);
    }

    fn role(&self) -> Role {
        self.member.node().status().role
    }

    fn leads(&self) -> bool {
        self.member.view().leads()
    }

    /// Until when the program may do what only a leader may.
    fn until(&self) -> Option<Time> {
        self.member.view().lease().map(|lease| lease.until)
    }

    fn reason(&self) -> &'static str {
        self.member.view().reason().map_or("none", Reason::name)
    }
}

/// Node 3 of three by the quorum bully, which waits for grants of epoch 1.
fn candidate(setup: &Setup) -> Run<Quorum> {
    candidate_among(members(), setup)
}

fn candidate_among(members: Members, setup: &Setup) -> Run<Quorum> {
    let config = quorum::Config { id: id(3), members, timing: Timing::DEFAULT };
    let mut run = Run::<Quorum>::new(config, setup);
    run.runs(1_300);
    run.hears(2, Message::Support(first()));
    run.saves_all();
    assert_eq!(run.role(), Role::Candidate);
    run
}

/// The same node, which leads, and which node 2 follows.
fn leader(setup: &Setup) -> Run<Quorum> {
    let mut run = candidate(setup);
    run.hears(2, Message::Grant(first(), Birth::FOUNDER));
    run.hears(2, Message::Ack(first(), 1, Mark::FIRST));
    assert_eq!(run.role(), Role::Leader);
    run
}

/// What a node of the quorum bully is told, whose lease lasts a second.
fn usual() -> Setup {
    setup(Timing::DEFAULT.lease)
}

/// Node 3 of three by the bully, which leads without a lease.
fn bully() -> Run<Bully> {
    let config = bully::Config { id: id(3), members: members(), timing: bully::Timing::DEFAULT };
    let silence = Bully::silence(&config);
    assert_eq!(silence, ms(400));
    let run = Run::<Bully>::new(config, &Setup { stores: false, ..setup(silence) });
    assert!(run.leads());
    run
}

/// Node 3 of three by Garcia-Molina's election, which leads without a lease, and whose storage has
/// not saved yet what it says as the leader.
fn unsaved_leader(setup: &Setup) -> Run<GarciaMolina> {
    let timing = garcia_molina::Timing::DEFAULT;
    let config = garcia_molina::Config { id: id(3), members: members(), timing };
    let mut run = Run::<GarciaMolina>::new(config, setup);
    while run.role() != Role::Leader {
        run.runs(10);
    }
    assert!(run.member.is_behind() && !run.leads(), "what it says may be lost");
    run
}

/// Node 1 of the protocol `lease`, which leads by the grant with token 7 of the store, node 3.
fn holder() -> Run<lease::Lease> {
    let durations = lease::Durations::DEFAULT;
    let config = lease::ClientConfig { id: id(1), store: id(3), durations };
    let config = lease::Config::Client(config);
    let mut run = Run::<lease::Lease>::new(config, &setup(durations.hold));
    run.saves_all();
    let first = lease::Request { started: 1, number: 1 };
    run.hears(3, lease::Message::Granted(first, lease::Token::new(7)));
    assert!(run.leads());
    run
}

/// What is told, and why.
fn tells<D, M>(done: &[Action<D, M>]) -> Vec<(Role, &'static str)> {
    let tell = |action: &Action<D, M>| match action {
        Action::Publish(view) => Some((view.role(), view.reason().map_or("none", Reason::name))),
        _ => None,
    };
    done.iter().filter_map(tell).collect()
}

/// What is sent.
fn sent<D, M: Clone>(done: &[Action<D, M>]) -> Vec<(u16, M)> {
    let send = |action: &Action<D, M>| match action {
        Action::Send(Sent { to, message, .. }) => Some((to.get(), message.clone())),
        _ => None,
    };
    done.iter().filter_map(send).collect()
}

/// What is answered.
fn answers<D, M>(done: &[Action<D, M>]) -> Vec<(u64, Result<Option<NodeId>, RequestError>)> {
    let answer = |action: &Action<D, M>| match action {
        Action::Reply(ticket, answer) => Some((*ticket, answer.clone())),
        _ => None,
    };
    done.iter().filter_map(answer).collect()
}

/// Where the first of these is.
fn place<D, M>(done: &[Action<D, M>], is: impl Fn(&Action<D, M>) -> bool) -> usize {
    done.iter().position(is).expect("it is done")
}
