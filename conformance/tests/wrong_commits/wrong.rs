//! The core of three-phase commit with one mistake around it.

use bellwether_conformance::mapping::commit::CommitMapping;
use bellwether_core::protocol::commit::{Message, Outcome, Record, Three, ThreePhaseCommit, Timer};
use bellwether_core::protocol::{Input, Node, NodeId, Output, Time};

use crate::wrapper::{Hooks, Wrapped};

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

type Wrapping = Wrapped<Node<ThreePhaseCommit>>;

impl Mistake {
    /// What the core is told instead of the truth.
    fn told(self, node: &Wrapping, from: NodeId, message: Message) -> Input<Message> {
        let heeds = node.core.core().and_then(ThreePhaseCommit::heeds);
        match (self, message, heeds) {
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
    fn hides(self, output: &Output<Record, Message>) -> bool {
        match (self, output) {
            (Mistake::DoesNotLog, Output::Persist(Record::Voted))
            | (Mistake::DoesNotPoll, Output::Send { message: Message::Poll, .. }) => true,
            (Mistake::TellsOne, Output::Send { to, message: Message::Decision(_) }) => to.get() > 1,
            _ => false,
        }
    }
}

impl Hooks<CommitMapping<Three>> for Mistake {
    fn kept(&self, right: Option<Record>) -> Option<Record> {
        let forgets = *self == Mistake::ForgetsPreparation;
        right.map(|record| match record {
            Record::Prepared(_) if forgets => Record::Voted,
            kept => kept,
        })
    }

    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        let input = match input {
            Input::Receive { from, message } => self.told(node, from, message),
            other => other,
        };
        node.feed(now, input);
        node.outputs.retain(|output| !self.hides(output));
    }

    fn armed(&self, node: &Wrapping) -> Vec<(Timer, Time)> {
        let hides = |timer: Timer| *self == Mistake::DoesNotAsk && timer == Timer::Word;
        node.core.armed().filter(|&(timer, _)| !hides(timer)).collect()
    }
}
