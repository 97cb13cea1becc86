//! A driver that runs, and what has happened to it: it cannot be copied, and can be had again.

use super::promises::{broken, promise};
use bellwether::driver::steered::{Effect, Steered};
use bellwether_bridge::program::BrokenPromise;
use bellwether_core::protocol::{Core, Input, Node, NodeId, Time};
use std::io;

/// No input leads to more writes.
const MOST_WRITES: usize = 16;

/// What a node is started with.
pub(super) struct Start<C: Core> {
    pub(super) node: Node<C>,
    pub(super) durable: Option<C::Durable>,
    pub(super) others: Vec<NodeId>,
}

/// What happens to a node.
#[derive(Clone)]
enum Happened<M, T> {
    Input(Time, Input<M>),
    /// The deadline of a timer is brought forward.
    Forced(T, Time),
}

/// What a node has done, as others can see it.
pub(super) type Effects<C> = Vec<Effect<<C as Core>::Durable, <C as Core>::Message>>;

/// A driver that runs.
pub(super) struct Live<C: Core> {
    steered: Steered<C>,
    happened: Vec<Happened<C::Message, C::Timer>>,
}

impl<C: Core> Live<C> {
    /// The driver around a node that has not started.
    pub(super) fn begin(start: &Start<C>, now: Time) -> io::Result<Self> {
        let Start { node, durable, others } = start;
        let steered = Steered::new(node.clone(), durable.clone(), others, now)?;
        Ok(Self { steered, happened: Vec::new() })
    }

    /// Another one, to which the same has happened, up to this.
    pub(super) fn again(&self, start: &Start<C>, until: usize) -> io::Result<Self> {
        let happened = &self.happened[..until];
        let begins = happened.iter().find_map(|happened| match happened {
            Happened::Input(now, _) => Some(*now),
            Happened::Forced(..) => None,
        });
        let mut again = Self::begin(start, begins.unwrap_or(Time::ZERO))?;
        for happened in happened {
            match happened.clone() {
                Happened::Input(now, input) => drop(again.happen(now, input)),
                Happened::Forced(timer, deadline) => again.force(timer, deadline),
            }
        }
        Ok(again)
    }

    /// How much has happened to it.
    pub(super) fn happened(&self) -> usize {
        self.happened.len()
    }

    pub(super) fn node(&self) -> &Node<C> {
        self.steered.node()
    }

    /// The deadline of a timer is brought forward.
    pub(super) fn force(&mut self, timer: C::Timer, deadline: Time) {
        self.happened.push(Happened::Forced(timer, deadline));
        self.steered.bring_forward(timer, deadline);
    }

    /// Something happens, and the disk lets through all that is written because of that. Returns
    /// what has followed, and the first promise that was broken.
    pub(super) fn happen(
        &mut self,
        now: Time,
        input: Input<C::Message>,
    ) -> (Effects<C>, Option<BrokenPromise>) {
        // First: if the driver panics, this one is of no more use.
        self.happened.push(Happened::Input(now, input.clone()));
        match input {
            Input::Boot => self.steered.boot(now),
            Input::Receive { from, message } => self.steered.receive(now, from, message),
            Input::Wake => self.steered.wait_until(now),
            Input::Suspect(_) | Input::Request(_) => {
                let wrong = "this comes from a failure detector or from a person, and the driver \
                             is not moved by either";
                return (Vec::new(), promise("driver", "can be moved", wrong));
            }
        }
        let mut found = broken(&self.steered, now);
        for _ in 0..MOST_WRITES {
            if self.steered.saving().is_none() {
                break;
            }
            self.steered.finish_save();
            found = found.or_else(|| broken(&self.steered, now));
        }
        if self.steered.is_behind() {
            let wrong = "it waits, and nothing is being written";
            found = found.or_else(|| promise("state of the node", "durable in the end", wrong));
        }
        (self.steered.take_effects(), found)
    }
}
