//! A right program of any protocol with one mistake around it, and its mapping: for what is told of
//! a wrong program, and done with it. All other wrong programs are rows of `conformance/mutants`.

use bellwether_conformance::mapping::{self, Built, Durable, Mapping, ProcessView, Sides};
use bellwether_conformance::program::{OutputOf, Program, Remembered};
use bellwether_conformance::surroundings::around;
use bellwether_core::protocol::bully::{Bully, Message};
use bellwether_core::protocol::{Core, Input, Members, Node, Time};
use std::sync::Arc;
use std::time::Duration;

type MessageOf<P> = <<P as Program>::Core as Core>::Message;

/// A mistake of a program, or of its mapping.
#[derive(Clone)]
pub(crate) enum Mistake<P: Program> {
    /// Nothing.
    None,
    /// A node takes what this says for a wake-up.
    Deaf(fn(&P, &Input<MessageOf<P>>) -> bool),
    /// A node counts its wake-ups.
    Counts,
    /// The mapping gives all timers one period.
    OnePeriod,
}

/// A node of a wrong program.
#[derive(Clone)]
pub(crate) struct WrongNode<P: Program> {
    core: P,
    mistake: Mistake<P>,
    wake_ups: u64,
}

/// The memory of a node of a wrong program.
#[derive(Debug)]
struct Memory<T> {
    core: T,
    wake_ups: u64,
}

impl<T: Remembered> Remembered for Memory<T> {
    fn is_same_as(&self, other: &Self) -> bool {
        self.core.is_same_as(&other.core) && self.wake_ups == other.wake_ups
    }
}

impl<P: Program> Program for WrongNode<P> {
    type Core = P::Core;
    type Timer = P::Timer;

    fn node(&self) -> &Node<P::Core> {
        self.core.node()
    }

    fn handle(&mut self, now: Time, input: Input<MessageOf<P>>) {
        let input = match self.mistake {
            Mistake::Deaf(to) if to(&self.core, &input) => Input::Wake,
            _ => input,
        };
        let counts = matches!((&self.mistake, &input), (Mistake::Counts, Input::Wake));
        self.wake_ups += u64::from(counts);
        self.core.handle(now, input);
    }

    fn poll(&mut self) -> Option<OutputOf<P::Core>> {
        self.core.poll()
    }

    fn remembers(&self) -> impl Remembered {
        Memory { core: self.core.remembers(), wake_ups: self.wake_ups }
    }

    fn armed(&self) -> impl Iterator<Item = (P::Timer, Time)> {
        self.core.armed()
    }

    fn bring_forward(&mut self, timer: P::Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }
}

/// Both sides, with a wrong program.
pub(crate) type Wrong<T> = (<T as Sides>::Spec, WrongNode<<T as Sides>::Program>);

/// The mapping of a right program, for one with this mistake. Nothing that nodes tell the outside
/// besides their status is compared.
pub(crate) fn wrong<T: Sides>(
    right: &Mapping<T>,
    mistake: Mistake<T::Program>,
) -> Mapping<Wrong<T>> {
    let one_period = matches!(mistake, Mistake::OnePeriod);
    let build = move |core: Built<T>, _, _: &Members, _: Option<&Durable<T>>| {
        Ok(WrongNode { core: core?, mistake: mistake.clone(), wake_ups: 0 })
    };
    let timer = Arc::clone(&right.timer);
    let inside: fn(&WrongNode<T::Program>) -> &T::Program = |node| &node.core;
    let mut wrong = around(right, build, inside, move |own| timer(own));
    if one_period {
        let right = wrong.period;
        wrong.period = Arc::new(move |id, members: &Members, timer| {
            right(id, members, timer).map(|_| Duration::from_secs(1))
        });
    }
    wrong.facts = Arc::new(|_: &ProcessView<'_, _>| None);
    wrong.more.durations.limits = Arc::new(|_, _: &Members| None);
    wrong
}

/// The bully with nodes that hear no OK. The mistake shows on the way.
pub(crate) fn ignores_ok() -> Mapping<Wrong<mapping::bully::Bully>> {
    let is_ok = |_: &Node<Bully>, input: &Input<Message>| {
        matches!(input, Input::Receive { message: Message::Ok, .. })
    };
    wrong(&mapping::bully::mapping(), Mistake::Deaf(is_ok))
}
