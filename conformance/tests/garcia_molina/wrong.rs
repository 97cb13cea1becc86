//! The core with one mistake around it.

use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_core::protocol::garcia_molina::{Activity, Computed, GarciaMolina, Message, Timing};
use bellwether_core::protocol::{Input, Node, NodeId, Output, Role, Time};

use crate::wrapper::{Hooks, Wrapped};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    GoesOnAfterHalt,
    DeafInElections,
    ObeysAnybody,
    KeepsNothing,
    KeepsLast,
    ForgetsTasks,
    ChecksNoTask,
    ContentWithAll,
    RestartsAtOnce,
    TakesAnyAnswer,
    HaltsAllAtOnce,
    DoesNotProbe,
}

type Wrapping = Wrapped<Node<GarciaMolina>>;

/// A mistake. A node makes none before it is in the group that has agreed.
#[derive(Clone)]
pub(crate) struct Wrong {
    mistake: Mistake,
    settled: bool,
}

impl Wrong {
    pub(crate) fn new(mistake: Mistake) -> Self {
        Wrong { mistake, settled: false }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake && self.settled
    }

    fn receive(&self, node: &mut Wrapping, now: Time, from: NodeId, message: Message) {
        match (self.mistake, activity(node), message) {
            _ if !self.settled => hear(node, now, from, message),
            (Mistake::GoesOnAfterHalt, Some(_), Message::Halt) => {
                node.feed(now, Input::Wake);
                node.say([from], Message::Halted);
            }
            (Mistake::DeafInElections, Some(_), Message::AreYouThere) => {
                node.feed(now, Input::Wake);
            }
            (Mistake::ObeysAnybody, _, Message::NewCoordinator) if from > node.id() => {
                hear(node, now, from, Message::Halt);
                node.outputs.clear();
                hear(node, now, from, message);
            }
            (Mistake::ChecksNoTask, Some(Activity::Check(_)), Message::Normal(_))
            | (Mistake::ContentWithAll, Some(Activity::Check(_)), Message::NotNormal) => {
                let content =
                    node.core.core().and_then(GarciaMolina::task).map_or(message, Message::Normal);
                hear(node, now, from, content);
            }
            (Mistake::TakesAnyAnswer, Some(Activity::Halt(called)), Message::Halted) => {
                hear(node, now, called, message);
            }
            _ => hear(node, now, from, message),
        }
    }

    /// The mistakes in what is put out, whatever it follows from.
    fn falsify(&self, node: &mut Wrapping) {
        if self.is(Mistake::KeepsNothing) {
            node.outputs.retain(|output| !matches!(output, Output::Persist(_)));
        }
        if self.is(Mistake::KeepsLast) {
            let outputs = node.outputs.make_contiguous();
            outputs.sort_by_key(|output| matches!(output, Output::Persist(_)));
        }
        if self.is(Mistake::HaltsAllAtOnce)
            && let Some(Activity::Halt(first)) = activity(node)
            && node.outputs.iter().any(|o| matches!(o, Output::Send { message: Message::Halt, .. }))
        {
            let below = node.core.config().members.below(first).to_vec();
            node.say(below.into_iter().rev(), Message::Halt);
        }
    }

    /// It gives its coordinator up as soon as it is silent.
    fn skip_probe(&self, node: &mut Wrapping, now: Time) {
        if self.is(Mistake::DoesNotProbe) && matches!(activity(node), Some(Activity::Probe(_))) {
            node.outputs.clear();
            node.feed(now + Timing::DEFAULT.call, Input::Wake);
        }
    }
}

fn activity(node: &Wrapping) -> Option<Activity> {
    node.core.core().and_then(GarciaMolina::activity)
}

/// The core takes a message for this one.
fn hear(node: &mut Wrapping, now: Time, from: NodeId, message: Message) {
    node.feed(now, Input::Receive { from, message });
}

impl Hooks<GarciaMolinaMapping> for Wrong {
    fn kept(&self, right: Option<Computed>) -> Option<Computed> {
        right.filter(|_| self.mistake != Mistake::ForgetsTasks)
    }

    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        match input {
            Input::Receive { from, message } => self.receive(node, now, from, message),
            Input::Boot if node.role() == Role::NotStarted && now > Time::ZERO => {
                self.settled = true;
                node.feed(now, Input::Boot);
                if self.is(Mistake::RestartsAtOnce) {
                    node.feed(now + Timing::DEFAULT.call, Input::Wake);
                }
            }
            Input::Boot | Input::Wake | Input::Suspect(_) | Input::Request(_) => {
                node.feed(now, input);
            }
        }
        self.skip_probe(node, now);
        self.falsify(node);
        self.settled |= matches!(node.role(), Role::Leader | Role::Follower);
    }

    fn memory(&self) -> String {
        self.settled.to_string()
    }
}
