//! The production core with one mistake around it.

use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_core::protocol::invitation::{Durable, Invitation, Message, Roster, State, Timer};
use bellwether_core::protocol::{Input, Node, Output, Time};

use crate::wrapper::{Hooks, Wrapped};

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
type Wrapping = Wrapped<Node<Invitation>>;

impl Mistake {
    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows(self, input: &Input<Message>) -> bool {
        let Input::Receive { message, .. } = input else { return false };
        match self {
            Mistake::IgnoresAcceptances => matches!(message, Message::Accept(_)),
            Mistake::IgnoresTheTask => matches!(message, Message::Ready(..)),
            _ => false,
        }
    }

    /// What it puts out instead of what the core does.
    fn tamper(self, before: &Node<Invitation>, input: &Input<Message>, node: &mut Wrapping) {
        let me = node.id();
        let outputs = &mut node.outputs;
        let sends = |output: &Out, wanted: &dyn Fn(Message) -> bool| match output {
            Output::Send { message, .. } => wanted(*message),
            _ => false,
        };
        match self {
            Mistake::KeepsInvitationsToItself => outputs.retain(|output| {
                !sends(output, &|m| matches!(m, Message::Invitation(g) if g.coordinator != me))
            }),
            Mistake::DoesNotAcknowledge => {
                outputs.retain(|output| !sends(output, &|m| matches!(m, Message::Done(_))));
            }
            Mistake::DoesNotPersist => outputs.retain(|o| !matches!(o, Output::Persist(_))),
            Mistake::SendsBeforeItPersists => {
                outputs.make_contiguous().sort_by_key(|output| match output {
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
                if let Some(accept) = outputs.iter().find(accepts).cloned() {
                    outputs.push_front(accept);
                }
            }
            Mistake::LeavesItsOldMembersOut => {
                if let Some(State::Coordinator { found, .. }) = state(before) {
                    let all = &node.core.config().members;
                    outputs.retain(|output| match output {
                        Output::Send { to, message: Message::Invitation(g) } => {
                            g.coordinator != me || found.contains(all, *to)
                        }
                        _ => true,
                    });
                }
            }
            Mistake::SaysItCoordinatesWhileBusy => {
                let busy = matches!(state(before), Some(State::Inviting { .. }));
                if let &Input::Receive { from, message: Message::AreYouCoordinator } = input
                    && busy
                {
                    outputs.push_front(Output::Send { to: from, message: Message::IAm });
                }
            }
            Mistake::AnswersForAnyGroup => {
                let silent = !outputs.iter().any(|o| matches!(o, Output::Send { .. }));
                if let &Input::Receive { from, message: Message::AreYouThere(group) } = input
                    && silent
                    && group.coordinator == me
                    && before.core().is_some()
                {
                    outputs.push_front(Output::Send { to: from, message: Message::Here(group) });
                }
            }
            Mistake::None
            | Mistake::IgnoresAcceptances
            | Mistake::CountsFromTheBeginning
            | Mistake::MergesWithoutDelay
            | Mistake::IgnoresTheTask => {}
        }
    }
}

fn state(node: &Node<Invitation>) -> Option<State> {
    node.core().map(|core| *core.state())
}

impl Hooks<InvitationMapping> for Mistake {
    fn kept(&self, right: Option<Durable>) -> Option<Durable> {
        right.filter(|_| *self != Mistake::CountsFromTheBeginning)
    }

    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        let before = node.core.clone();
        let given = if self.swallows(&input) { Input::Wake } else { input.clone() };
        node.core.handle(now, given);
        if *self == Mistake::MergesWithoutDelay {
            while let Some(deadline) = node.due(Timer::Delay) {
                node.core.handle(deadline, Input::Wake);
            }
        }
        node.drain();
        self.tamper(&before, &input, node);
    }
}
