//! The production core of Stoller's election against its model: every transition of bounded worlds,
//! and programs with one realistic mistake each, which must be caught.

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_core::protocol::stoller::{Config, Elid, Message, Stoller};
use bellwether_core::protocol::{Input, Node, NodeId, Output, Time};
use bellwether_model::world::{Faults, Scenario, Start};

use crate::compared::{self, conforms_by};
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

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
type Wrapping = Wrapped<Node<Stoller>>;

impl Mistake {
    fn swallows(self, core: &Node<Stoller>, input: &Input<Message>) -> bool {
        // It has asked another node to give way.
        let asked = core.core().is_some_and(|core| core.election().asked.is_some());
        let said = match *input {
            Input::Receive { message, .. } => Some(message),
            Input::Boot | Input::Wake | Input::Suspect(_) | Input::Request(_) => None,
        };
        match self {
            Mistake::NeverSaysNo => matches!(said, Some(Message::NormQ(_))),
            Mistake::DoesNotHearNo => matches!(said, Some(Message::NotNorm(_))),
            Mistake::WaitsForTheSilent => *input == Input::Wake && asked,
            Mistake::WaitsForTheDead => matches!(input, Input::Suspect(_)) && asked,
            _ => false,
        }
    }

    /// A message as the program takes it.
    fn takes(self, core: &Node<Stoller>, message: Message) -> Message {
        match (self, message, core.core().map(|core| core.election().elid)) {
            (Mistake::TakesAnyAck, Message::Ack(_), Some(elid)) => Message::Ack(elid),
            (Mistake::TakesAnyLdr, Message::Ldr(t), Some(elid)) if elid.owner == t.owner => {
                Message::Ldr(elid)
            }
            _ => message,
        }
    }

    fn keeps_back(self, output: &Out) -> bool {
        let said = match output {
            Output::Send { message, .. } => Some(message),
            Output::Persist(_) => return self == Mistake::DoesNotPersist,
            Output::Event(_) | Output::WakeAt(_) => None,
        };
        match self {
            Mistake::TellsNobodyThatItLeads => matches!(said, Some(Message::Ldr(_))),
            Mistake::NeverAsks => matches!(said, Some(Message::NormQ(_))),
            Mistake::GivesWayInSilence => matches!(said, Some(Message::Ack(_))),
            _ => false,
        }
    }

    fn put(self, core: &Node<Stoller>, output: Out) -> Option<Out> {
        if self.keeps_back(&output) {
            return None;
        }
        Some(match (self, output) {
            // A new election has the name of the first.
            (Mistake::CountsNothing, Output::Send { to, message: Message::Halt(t) }) => {
                Output::Send { to, message: Message::Halt(Elid { counter: 0, ..t }) }
            }
            // The lowest is asked first, as if order did not matter.
            (Mistake::HaltsAllAtOnce, Output::Send { message: message @ Message::Halt(_), .. }) => {
                let Config { id, members, .. } = core.config();
                Output::Send { to: members.below(*id)[0], message }
            }
            (_, other) => other,
        })
    }
}

impl Hooks<StollerMapping> for Mistake {
    fn kept(&self, right: Option<u64>) -> Option<u64> {
        right.filter(|_| *self != Mistake::ForgetsItsIncarnation)
    }

    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        if !self.swallows(&node.core, &input) {
            let input = match input {
                Input::Receive { from, message } => {
                    Input::Receive { from, message: self.takes(&node.core, message) }
                }
                other => other,
            };
            node.core.handle(now, input);
        }
        node.drain();
        node.change(|core, output| self.put(core, output));
    }

    fn watched(&self, node: &Wrapping) -> Vec<NodeId> {
        node.core.watched().filter(|_| *self != Mistake::WatchesNobody).collect()
    }
}

fn first_difference(mistake: Mistake) -> Option<Box<Divergence>> {
    compared::first_difference(&WrongMapping::new(StollerMapping, mistake), CRASH_AND_RECOVERY)
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) {
    compared::caught(&WrongMapping::new(StollerMapping, mistake), CRASH_AND_RECOVERY, kind, about);
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
