//! A right program of any protocol with one mistake around it, and its mapping: for what is told of
//! a wrong program, and done with it. All other wrong programs are rows of `conformance/mutants`.

use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::{Durable, ExpectedFacts, Mapping, ProcessView, SpecTimer};
use bellwether_conformance::program::{Limits, Program, Refusal, Remembered};
use bellwether_conformance::wraps::Wraps;
use bellwether_core::protocol::bully::{Bully, Message};
use bellwether_core::protocol::{Input, Members, Node, NodeId, Output, Status, Time};
use std::time::Duration;

/// A mistake of a program, or of its mapping.
#[derive(Clone)]
pub(crate) enum Mistake<P: Program> {
    /// Nothing.
    None,
    /// A node takes what this says for a wake-up.
    Deaf(fn(&P, &Input<P::Message>) -> bool),
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
    const NAME: &'static str = P::NAME;
    const REQUESTS: bool = P::REQUESTS;
    type Durable = P::Durable;
    type Message = P::Message;
    type Timer = P::Timer;

    fn handle(&mut self, now: Time, input: Input<P::Message>) {
        let input = match self.mistake {
            Mistake::Deaf(to) if to(&self.core, &input) => Input::Wake,
            _ => input,
        };
        let counts = matches!((&self.mistake, &input), (Mistake::Counts, Input::Wake));
        self.wake_ups += u64::from(counts);
        self.core.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output<P::Durable, P::Message>> {
        self.core.poll()
    }

    fn status(&self) -> Status {
        self.core.status()
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

/// The mapping of a right program, for one with this mistake. Nothing that nodes tell the outside
/// besides their status is compared.
pub(crate) struct WrongMapping<M: Mapping>(pub(crate) M, pub(crate) Mistake<M::Program>);

/// The bully with nodes that hear no OK. The mistake shows on the way.
pub(crate) fn ignores_ok() -> WrongMapping<BullyMapping> {
    let is_ok = |_: &Node<Bully>, input: &Input<Message>| {
        matches!(input, Input::Receive { message: Message::Ok, .. })
    };
    WrongMapping(BullyMapping, Mistake::Deaf(is_ok))
}

impl<M: Mapping> Wraps for WrongMapping<M> {
    type Inner = M;
    type Program = WrongNode<M::Program>;
    type Memory = ();

    fn inner(&self) -> &M {
        &self.0
    }

    fn inside(program: &WrongNode<M::Program>) -> &M::Program {
        &program.core
    }

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable<M>>,
    ) -> Result<WrongNode<M::Program>, Refusal> {
        let core = self.0.program(id, members, durable)?;
        Ok(WrongNode { core, mistake: self.1.clone(), wake_ups: 0 })
    }

    fn memory(&self, _: &WrongNode<M::Program>) {}

    fn period(&self, id: NodeId, members: &Members, timer: SpecTimer<M>) -> Option<Duration> {
        let right = self.0.period(id, members, timer);
        right.map(|right| match self.1 {
            Mistake::OnePeriod => Duration::from_secs(1),
            _ => right,
        })
    }

    fn facts(&self, _: &ProcessView<'_, M::Spec>) -> Option<ExpectedFacts<M::Spec>> {
        None
    }

    fn limits(&self, _: NodeId, _: &Members) -> Option<Limits> {
        None
    }
}
