//! The core of three-phase commit with one mistake around it, and its mapping.

use bellwether::protocol::commit::{Message, Outcome, Record, Three, ThreePhaseCommit, Timer};
use bellwether::protocol::{Core, Input, Members, Node, NodeId, Output, Status, Time};
use bellwether_conformance::mapping::commit::{CommitMapping, Pair};
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use bellwether_model::protocol::commit as spec;
use bellwether_model::protocol::three_phase_commit as rules;
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    DoesNotLog,
    CountsEveryVote,
    IgnoresTheWord,
    HeedsAll,
    TellsOne,
    ForgetsPreparation,
    DoesNotAsk,
    DoesNotPoll,
}

type Out = Output<Record, Message>;

/// A core with a mistake.
#[derive(Clone)]
pub(crate) struct Wrong {
    core: Node<ThreePhaseCommit>,
    mistake: Mistake,
}

impl Wrong {
    /// What the core is told instead of the truth.
    fn told(&self, from: NodeId, message: Message) -> Input<Message> {
        let heeds = self.core.core().and_then(ThreePhaseCommit::heeds);
        match (self.mistake, message, heeds) {
            (Mistake::CountsEveryVote, Message::Vote(_), _) => {
                Input::Receive { from, message: Message::Vote(Outcome::Commit) }
            }
            (Mistake::IgnoresTheWord, Message::Decision(_), _) => Input::Wake,
            (Mistake::HeedsAll, Message::Prepare(_), Some(heeds)) => {
                Input::Receive { from: heeds, message }
            }
            _ => Input::Receive { from, message },
        }
    }

    /// Whether this output does not come.
    fn hides(&self, output: &Out) -> bool {
        match (self.mistake, output) {
            (Mistake::DoesNotLog, Output::Persist(Record::Voted))
            | (Mistake::DoesNotPoll, Output::Send { message: Message::Poll, .. }) => true,
            (Mistake::TellsOne, Output::Send { to, message: Message::Decision(_) }) => to.get() > 1,
            _ => false,
        }
    }
}

impl Program for Wrong {
    const NAME: &'static str = <ThreePhaseCommit as Core>::NAME;
    type Durable = Record;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        let input = match input {
            Input::Receive { from, message } => self.told(from, message),
            other => other,
        };
        self.core.handle(now, input);
    }

    fn poll(&mut self) -> Option<Out> {
        loop {
            let output = self.core.poll()?;
            if !self.hides(&output) {
                return Some(output);
            }
        }
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn remembers(&self) -> impl Remembered {
        self.core.core()
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        let hides = self.mistake == Mistake::DoesNotAsk;
        self.core.armed().filter(move |&(timer, _)| !(hides && timer == Timer::Word))
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }
}

/// The mapping of three-phase commit, for a program with a mistake.
pub(crate) struct WrongMapping(pub(crate) Mistake);

const RIGHT: CommitMapping<Three> = CommitMapping::new();

impl Mapping for WrongMapping {
    type Spec = rules::ThreePhaseCommit;
    type Program = Wrong;
    type Memory = ();

    const RULES: rules::ThreePhaseCommit = <Three as Pair>::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Record>,
    ) -> Result<Wrong, Refusal> {
        let forgets = self.0 == Mistake::ForgetsPreparation;
        let kept = durable.map(|&durable| match durable {
            Record::Prepared(_) if forgets => Record::Voted,
            kept => kept,
        });
        Ok(Wrong { core: RIGHT.program(id, members, kept.as_ref())?, mistake: self.0 })
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        RIGHT.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        RIGHT.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        RIGHT.to_model(message)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        RIGHT.timer(timer)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        RIGHT.period(id, members, timer)
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        CommitMapping::<Three>::stands_for(&program.core)
    }

    fn stable(&self, durable: &Record) -> spec::Record {
        RIGHT.stable(durable)
    }

    fn memory(&self, _: &Wrong) {}

    fn messages(&self) -> Vec<spec::Message> {
        RIGHT.messages()
    }

    fn reason(&self, step: &Step<'_, rules::ThreePhaseCommit>) -> Option<&'static str> {
        RIGHT.reason(step)
    }

    fn ignores(&self, step: &Step<'_, rules::ThreePhaseCommit>) -> Option<&'static str> {
        RIGHT.ignores(step)
    }

    fn rules(&self, happening: &Happening<rules::ThreePhaseCommit>) -> &'static [&'static str] {
        RIGHT.rules(happening)
    }

    fn never(&self) -> &'static [(&'static str, &'static str)] {
        RIGHT.never()
    }
}
