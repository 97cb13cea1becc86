//! The stories are scripts in `testdata`. Here is what no script tells: what is due when, the steps
//! that are written, and stories with many parameters.

mod deadlines;
mod traced;
mod view;

use super::stories::AnyMember;
use super::*;
use crate::protocol::quorum::{self, Message, Quorum, Timing};
use crate::protocol::{Birth, Members};
use crate::stories::{self, tell};
use crate::trace::Received;

#[test]
fn stories_go_as_they_are_told() {
    stories::run::<AnyMember>("src/member/testdata");
}

/// Whatever is told in a long run, the program of a leader is told that it leads no longer before
/// it is told that it leads again, and the last that it was told is what the member says.
#[test]
fn a_leadership_is_told_to_have_ended_before_another_begins() {
    let mut bully = AnyMember::default();
    let mut lines = tell(&mut bully, "member bully 3");
    for (pause, run) in (0..20).map(|step| (100 * step, 150 * step)) {
        lines.extend(tell(&mut bully, &format!("pause {pause}\nwake\nrun {run}")));
    }
    let told: Vec<_> = lines.iter().filter_map(|line| line.split_once(" told ")).collect();
    let leads: Vec<_> = told.iter().map(|(_, view)| view.contains("leader of 3")).collect();
    assert!(leads.len() > 10 && leads.windows(2).all(|two| two[0] != two[1]), "{told:?}");
    assert!(tell(&mut bully, "what")[0].contains(told[told.len() - 1].1), "{told:?}");
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

/// A member, and the time.
pub(super) struct Run<C: Core> {
    pub(super) member: Member<C>,
    pub(super) now: Time,
    /// Whether its program has work under way.
    pub(super) works: bool,
    /// What it had saved last.
    pub(super) durable: Option<C::Durable>,
}

impl<C: Core> Run<C> {
    /// A member that has not started.
    pub(super) fn new(node: Node<C>, setup: &Setup) -> Self {
        let (now, durable) = (Time::ZERO, C::founder());
        Self { member: Member::new(node, setup, now), now, works: false, durable }
    }

    /// Something happens. What the member wants done; work that is not under way ends at once.
    pub(super) fn take(&mut self, event: Event<C::Message>) -> Actions<C> {
        let mut done = self.member.handle(self.now, event);
        while !self.works && self.member.awaits_work() {
            done.extend(self.member.handle(self.now, Event::WorkEnded));
        }
        done
    }

    /// The process waits and runs, as a loop does. None once it is that late.
    pub(super) fn step(&mut self, end: Time) -> Option<Actions<C>> {
        if self.now >= end {
            return None;
        }
        let longest = self.member.wait(self.now).max(ms(1));
        self.now = (self.now + longest).min(end);
        let mut done = self.wake();
        if !self.member.awaits_work() && !self.member.leaves() {
            done.extend(self.take(Event::Drained { gone: BTreeSet::new() }));
        }
        Some(done)
    }

    /// Lets so much time pass.
    fn runs(&mut self, milliseconds: u64) -> Actions<C> {
        let (end, mut done) = (self.now + ms(milliseconds), Vec::new());
        while let Some(actions) = self.step(end) {
            done.extend(actions);
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

    fn leads(&self) -> bool {
        self.member.view().leads()
    }
}

/// Node 3 of three by the quorum bully.
fn node() -> Node<Quorum> {
    Node::new(config(), Quorum::founder(), 0).expect("valid")
}

fn config() -> quorum::Config {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    quorum::Config { id: id(3), members, timing: Timing::DEFAULT }
}

fn usual() -> Setup {
    Setup { stores: true, bound: ms(60_000), ..Setup::of::<Quorum>(&config(), 3) }
}

/// The node claims epoch 1, which its storage has not saved yet. All that was done.
fn claims(run: &mut Run<Quorum>) -> Actions<Quorum> {
    let mut done = run.take(Event::Start);
    done.extend(run.runs(1_300));
    done.extend(run.hears(2, Message::Support(first())));
    assert!(run.member.is_behind());
    done
}

/// It is granted the epoch, and leads; node 2 follows it.
fn comes_to_lead(run: &mut Run<Quorum>) -> Actions<Quorum> {
    let mut done = claims(run);
    done.extend(run.saved());
    done.extend(run.hears(2, Message::Grant(first(), Birth::FOUNDER)));
    done.extend(run.hears(2, Message::Ack(first(), 1, Mark::FIRST)));
    assert!(run.leads());
    done
}
