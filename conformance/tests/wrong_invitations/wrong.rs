//! The production core with one mistake around it.

use bellwether::protocol::invitation::{Durable, Invitation, Message, Roster, State, Timer};
use bellwether::protocol::{Core, Input, Members, Node, NodeId, Output, Status, Time};
use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_conformance::mapping::{Happening, Mapping, Step};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use bellwether_model::protocol::invitation as spec;
use std::collections::VecDeque;
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    IgnoresAcceptances,
    KeepsInvitationsToItself,
    SaysItCoordinatesWhileBusy,
    DoesNotAcknowledge,
    CountsFromTheBeginning,
    DoesNotPersist,
    SendsBeforeItPersists,
    MergesWithoutDelay,
    AnswersForAnyGroup,
    HandsOutAnEmptyTask,
    AcceptsTwice,
    IgnoresTheTask,
    LeavesItsOldMembersOut,
}

type Out = Output<Durable, Message>;

/// A core with a mistake.
#[derive(Clone)]
pub(crate) struct Wrong {
    core: Node<Invitation>,
    mistake: Mistake,
    outputs: VecDeque<Out>,
}

impl Wrong {
    fn new(core: Node<Invitation>, mistake: Mistake) -> Self {
        Wrong { core, mistake, outputs: VecDeque::new() }
    }

    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows(&self, input: Input<Message>) -> bool {
        let Input::Receive { message, .. } = input else { return false };
        match self.mistake {
            Mistake::IgnoresAcceptances => matches!(message, Message::Accept(_)),
            Mistake::IgnoresTheTask => matches!(message, Message::Ready(..)),
            _ => false,
        }
    }

    /// What it puts out instead of what the core does.
    fn tamper(&self, before: &Node<Invitation>, input: Input<Message>, outputs: &mut Vec<Out>) {
        let me = self.core.status().id;
        let sends = |output: &Out, wanted: &dyn Fn(Message) -> bool| match output {
            Output::Send { message, .. } => wanted(*message),
            _ => false,
        };
        match self.mistake {
            Mistake::KeepsInvitationsToItself => outputs.retain(|output| {
                !sends(output, &|m| matches!(m, Message::Invitation(g) if g.coordinator != me))
            }),
            Mistake::DoesNotAcknowledge => {
                outputs.retain(|output| !sends(output, &|m| matches!(m, Message::Done(_))));
            }
            Mistake::DoesNotPersist => outputs.retain(|o| !matches!(o, Output::Persist(_))),
            Mistake::SendsBeforeItPersists => {
                outputs.sort_by_key(|output| match output {
                    Output::Send { .. } => 0,
                    Output::Persist(_) => 1,
                    Output::Event(_) => 2,
                    Output::WakeAt(_) => 3,
                });
            }
            Mistake::HandsOutAnEmptyTask => {
                for output in outputs {
                    if let Output::Send { message: Message::Ready(_, task), .. } = output {
                        *task = Roster::EMPTY;
                    }
                }
            }
            Mistake::AcceptsTwice => {
                let accepts = |o: &&Out| sends(o, &|m| matches!(m, Message::Accept(_)));
                if let Some(accept) = outputs.iter().find(accepts).copied() {
                    outputs.insert(0, accept);
                }
            }
            Mistake::LeavesItsOldMembersOut => {
                if let Some(State::Coordinator { found, .. }) = state(before) {
                    let all = InvitationMapping::config(me, &members()).members;
                    outputs.retain(|output| match output {
                        Output::Send { to, message: Message::Invitation(g) } => {
                            g.coordinator != me || found.contains(&all, *to)
                        }
                        _ => true,
                    });
                }
            }
            Mistake::SaysItCoordinatesWhileBusy => {
                let busy = matches!(state(before), Some(State::Inviting { .. }));
                if let Input::Receive { from, message: Message::AreYouCoordinator } = input
                    && busy
                {
                    outputs.insert(0, Output::Send { to: from, message: Message::IAm });
                }
            }
            Mistake::AnswersForAnyGroup => {
                let silent = !outputs.iter().any(|o| matches!(o, Output::Send { .. }));
                if let Input::Receive { from, message: Message::AreYouThere(group) } = input
                    && silent
                    && group.coordinator == me
                    && before.core().is_some()
                {
                    let message = Message::Here(group);
                    outputs.insert(0, Output::Send { to: from, message });
                }
            }
            Mistake::None
            | Mistake::IgnoresAcceptances
            | Mistake::CountsFromTheBeginning
            | Mistake::MergesWithoutDelay
            | Mistake::IgnoresTheTask => {}
        }
    }

    fn deadline(&self, timer: Timer) -> Option<Time> {
        self.core.armed().find(|(armed, _)| *armed == timer).map(|(_, deadline)| deadline)
    }
}

fn state(node: &Node<Invitation>) -> Option<State> {
    node.core().map(|core| *core.state())
}

/// The members of every world here.
fn members() -> Members {
    let ids = (1..=3).filter_map(NodeId::new);
    Members::new(ids).expect("valid")
}

impl Program for Wrong {
    const NAME: &'static str = <Invitation as Core>::NAME;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        let before = self.core.clone();
        let given = if self.swallows(input) { Input::Wake } else { input };
        self.core.handle(now, given);
        if self.mistake == Mistake::MergesWithoutDelay {
            while let Some(deadline) = self.deadline(Timer::Delay) {
                self.core.handle(deadline, Input::Wake);
            }
        }
        let mut outputs: Vec<Out> = std::iter::from_fn(|| self.core.poll()).collect();
        self.tamper(&before, input, &mut outputs);
        self.outputs.extend(outputs);
    }

    fn poll(&mut self) -> Option<Out> {
        self.outputs.pop_front()
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
}

/// The mapping of the invitation algorithm, for a program with a mistake.
pub(crate) struct WrongMapping(pub(crate) Mistake);

impl Mapping for WrongMapping {
    type Spec = spec::Invitation;
    type Program = Wrong;
    type Memory = ();

    const RULES: spec::Invitation = InvitationMapping::RULES;

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&Durable>,
    ) -> Result<Wrong, Refusal> {
        let durable = durable.filter(|_| self.0 != Mistake::CountsFromTheBeginning);
        Ok(Wrong::new(InvitationMapping.program(id, members, durable)?, self.0))
    }

    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<Message>)> {
        InvitationMapping.settle(id, members)
    }

    fn to_program(&self, message: spec::Message) -> Option<Message> {
        InvitationMapping.to_program(message)
    }

    fn to_model(&self, message: Message) -> spec::Message {
        InvitationMapping.to_model(message)
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        InvitationMapping.period(id, members, timer)
    }

    fn timer(&self, timer: Timer) -> spec::Timer {
        InvitationMapping.timer(timer)
    }

    fn process(&self, program: &Wrong) -> spec::Process {
        InvitationMapping::stands_for(&program.core)
    }

    fn stable(&self, durable: &Durable) -> spec::Stable {
        InvitationMapping.stable(durable)
    }

    fn memory(&self, _: &Wrong) {}

    fn messages(&self) -> Vec<spec::Message> {
        InvitationMapping.messages()
    }

    fn reason(&self, step: &Step<'_, spec::Invitation>) -> Option<&'static str> {
        InvitationMapping.reason(step)
    }

    fn ignores(&self, step: &Step<'_, spec::Invitation>) -> Option<&'static str> {
        InvitationMapping.ignores(step)
    }

    fn rules(&self, happening: &Happening<spec::Invitation>) -> &'static [&'static str] {
        InvitationMapping.rules(happening)
    }
}
