//! The production core of Stoller's election against its model: every transition of bounded worlds,
//! and programs with one realistic mistake each, which must be caught.

use bellwether::protocol::stoller::{Config, Elid, Message, Stoller, Timer};
use bellwether::protocol::{Core, Input, Members, Node, NodeId, Output, Status, Time};
use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use bellwether_model::protocol::stoller as spec;
use bellwether_model::world::{Faults, Scenario, Start};
use std::time::Duration;

use crate::compared::{self, conforms_by};

const CRASH_AND_RECOVERY: Scenario = Scenario::calm(3).with_crashes(1, 1);

#[track_caller]
fn conforms(scenario: Scenario, kinds: &[&str]) -> Summary {
    let summary = conforms_by(&StollerMapping, scenario, kinds);
    assert!(summary.probes > 1_000, "{scenario}: only {} probes", summary.probes);
    summary
}

#[test]
fn a_crash_and_a_recovery() {
    let summary = conforms(CRASH_AND_RECOVERY, &["crash", "deliver", "expire", "recover"]);
    assert!(summary.transitions > 1_000, "only {}", summary.transitions);
}

#[test]
fn two_crashes_and_a_recovery() {
    let scenario = CRASH_AND_RECOVERY.with_crashes(2, 1);
    conforms(scenario, &["crash", "deliver", "expire", "recover"]);
}

#[test]
fn a_cold_start_with_a_crash() {
    let scenario = Scenario { start: Start::Cold, ..CRASH_AND_RECOVERY.with_crashes(1, 0) };
    conforms(scenario, &["crash", "deliver", "expire"]);
}

#[test]
fn false_suspicions() {
    let faults = Faults { suspicions: 2, ..Faults::NONE };
    conforms(Scenario { faults, ..CRASH_AND_RECOVERY }, &["deliver", "expire"]);
}

#[test]
fn four_nodes_and_a_crash() {
    let scenario = Scenario { nodes: 4, ..CRASH_AND_RECOVERY.with_crashes(1, 0) };
    conforms(scenario, &["crash", "deliver", "expire"]);
}

/// What is wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    ForgetsItsIncarnation,
    DoesNotPersist,
    TakesAnyAck,
    TakesAnyLdr,
    TellsNobodyThatItLeads,
    NeverAsks,
    NeverSaysNo,
    DoesNotHearNo,
    WaitsForTheSilent,
    CountsNothing,
    WaitsForTheDead,
    WatchesNobody,
    GivesWayInSilence,
    HaltsAllAtOnce,
}

type Out = Output<u64, Message>;

/// The production core with one mistake around it.
#[derive(Clone)]
struct Wrong {
    core: Node<Stoller>,
    mistake: Mistake,
}

impl Wrong {
    /// The node that it asked to give way.
    fn asked(&self) -> Option<NodeId> {
        self.core.core().and_then(|core| core.election().asked)
    }

    fn swallows(&self, input: Input<Message>) -> bool {
        let said = match input {
            Input::Receive { message, .. } => Some(message),
            Input::Boot | Input::Wake | Input::Suspect(_) | Input::Request(_) => None,
        };
        match self.mistake {
            Mistake::NeverSaysNo => matches!(said, Some(Message::NormQ(_))),
            Mistake::DoesNotHearNo => matches!(said, Some(Message::NotNorm(_))),
            Mistake::WaitsForTheSilent => input == Input::Wake && self.asked().is_some(),
            Mistake::WaitsForTheDead => {
                matches!(input, Input::Suspect(_)) && self.asked().is_some()
            }
            _ => false,
        }
    }

    /// A message as the program takes it.
    fn takes(&self, message: Message) -> Message {
        match (self.mistake, message, self.core.core().map(|core| core.election().elid)) {
            (Mistake::TakesAnyAck, Message::Ack(_), Some(elid)) => Message::Ack(elid),
            (Mistake::TakesAnyLdr, Message::Ldr(t), Some(elid)) if elid.owner == t.owner => {
                Message::Ldr(elid)
            }
            _ => message,
        }
    }

    fn keeps_back(&self, output: &Out) -> bool {
        let said = match output {
            Output::Send { message, .. } => Some(message),
            Output::Persist(_) => return self.mistake == Mistake::DoesNotPersist,
            Output::Event(_) | Output::WakeAt(_) => None,
        };
        match self.mistake {
            Mistake::TellsNobodyThatItLeads => matches!(said, Some(Message::Ldr(_))),
            Mistake::NeverAsks => matches!(said, Some(Message::NormQ(_))),
            Mistake::GivesWayInSilence => matches!(said, Some(Message::Ack(_))),
            _ => false,
        }
    }
}

impl Program for Wrong {
    const NAME: &'static str = <Stoller as Core>::NAME;
    type Durable = u64;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        if self.swallows(input) {
            return;
        }
        let input = match input {
            Input::Receive { from, message } => {
                Input::Receive { from, message: self.takes(message) }
            }
            other => other,
        };
        self.core.handle(now, input);
    }

    fn poll(&mut self) -> Option<Out> {
        loop {
            let output = self.core.poll()?;
            if self.keeps_back(&output) {
                continue;
            }
            return Some(match output {
                // A new election has the name of the first.
                Output::Send { to, message: Message::Halt(t) }
                    if self.mistake == Mistake::CountsNothing =>
                {
                    Output::Send { to, message: Message::Halt(Elid { counter: 0, ..t }) }
                }
                // The lowest is asked first, as if order did not matter.
                Output::Send { message: message @ Message::Halt(_), .. }
                    if self.mistake == Mistake::HaltsAllAtOnce =>
                {
                    let Config { id, members, .. } = self.core.config();
                    let lowest = members.below(*id)[0];
                    Output::Send { to: lowest, message }
                }
                other => other,
            });
        }
    }

    fn remembers(&self) -> impl Remembered {
        self.core.core()
    }

    fn status(&self) -> Status {
        self.core.status()
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.core.armed()
    }

    fn watched(&self) -> impl Iterator<Item = NodeId> {
        self.core.watched().filter(|_| self.mistake != Mistake::WatchesNobody)
    }
}

/// The mapping, for a program with a mistake.
struct WrongMapping(Mistake);

impl Mapping for WrongMapping {
    type Spec = spec::Stoller;
    type Program = Wrong;
    type Memory = ();

    const RULES: spec::Stoller = StollerMapping::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&u64>,
    ) -> Result<Wrong, Refusal> {
        let durable = durable.filter(|_| self.0 != Mistake::ForgetsItsIncarnation);
        Ok(Wrong { core: StollerMapping.program(id, members, durable)?, mistake: self.0 })
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        StollerMapping.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        StollerMapping.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        StollerMapping.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        StollerMapping.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        StollerMapping.timer(timer)
    }

    fn detects(&self, timer: spec::Timer) -> Option<NodeId> {
        StollerMapping.detects(timer)
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        StollerMapping::stands_for(&program.core)
    }

    fn stable(&self, durable: &u64) -> u8 {
        StollerMapping.stable(durable)
    }

    fn memory(&self, _: &Wrong) {}

    fn messages(&self) -> Vec<spec::Message> {
        StollerMapping.messages()
    }

    fn reason(&self, step: &Step<'_, spec::Stoller>) -> Option<&'static str> {
        StollerMapping.reason(step)
    }

    fn ignores(&self, step: &Step<'_, spec::Stoller>) -> Option<&'static str> {
        StollerMapping.ignores(step)
    }

    fn rules(&self, happening: &Happening<spec::Stoller>) -> &'static [&'static str] {
        StollerMapping.rules(happening)
    }
}

fn first_difference(mistake: Mistake) -> Option<Box<Divergence>> {
    compared::first_difference(&WrongMapping(mistake), CRASH_AND_RECOVERY)
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) {
    compared::caught(&WrongMapping(mistake), CRASH_AND_RECOVERY, kind, about);
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(first_difference(Mistake::None), None);
}

#[test]
fn incarnations_and_names_of_elections() {
    caught(Mistake::DoesNotPersist, Kind::Missing, "missing write of 1");
    caught(Mistake::ForgetsItsIncarnation, Kind::Missing, "missing write of");
    caught(Mistake::CountsNothing, Kind::Missing, "HALT(");
    caught(Mistake::TakesAnyAck, Kind::Unexpected, "unexpected message of");
    caught(Mistake::TakesAnyLdr, Kind::Different, "status");
}

#[test]
fn messages_that_are_not_sent() {
    caught(Mistake::TellsNobodyThatItLeads, Kind::Missing, "LDR(");
    caught(Mistake::NeverAsks, Kind::Missing, "NORM_Q(3.1.0) to 1");
    caught(Mistake::GivesWayInSilence, Kind::Missing, "ACK(");
    caught(Mistake::HaltsAllAtOnce, Kind::Missing, "HALT(3.1.0) to 2");
}

#[test]
fn messages_that_are_not_heard() {
    caught(Mistake::NeverSaysNo, Kind::Missing, "NOT_NORM(");
    caught(Mistake::DoesNotHearNo, Kind::Missing, "HALT(3.1.1) to 2");
}

#[test]
fn detectors_and_time() {
    caught(Mistake::WaitsForTheDead, Kind::Missing, "");
    caught(Mistake::WaitsForTheSilent, Kind::Missing, "HALT(");
    caught(Mistake::WatchesNobody, Kind::Missing, "monitor 3 is not armed in the program");
}
