//! The last steps of all nodes, from which the diagram of a rejection is drawn.

use super::names::Names;
use super::words::Vocabulary;
use crate::mapping::{Mapping, Renaming, Sides, SpecMessage, SpecTimer};
use bellwether_engine::protocol::{Id, Protocol as Specification, Timers, variant_name};
use bellwether_engine::trace::{
    DOWN, Event, FORMAT, Flight, Header, Lifeline, Noted, Sent, Step, Trace, plain,
};
use bellwether_engine::world::Scenario;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The most steps that are kept.
const MOST: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct Face {
    pub(super) up: bool,
    pub(super) role: &'static str,
    pub(super) leader: Option<Id>,
    pub(super) timers: Timers,
}

impl Face {
    pub(super) const DOWN: Face =
        Face { up: false, role: DOWN, leader: None, timers: Timers::NONE };
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What<T, L> {
    Crash,
    Boot,
    Receive {
        from: Id,
        message: L,
        serial: u32,
    },
    /// A timer, if it is known.
    Expire(Option<T>),
}

pub(super) struct Recent<T, L> {
    pub(super) id: Id,
    /// The names of the members for the node, which messages do not have.
    pub(super) names: Arc<Names>,
    pub(super) what: What<T, L>,
    pub(super) sent: Vec<(Id, L, u32)>,
    pub(super) after: Face,
}

/// The last steps.
pub(super) struct RecentSteps<T: Sides, V: Vocabulary<T>> {
    /// The face of each node before them.
    before: Vec<Face>,
    steps: VecDeque<Recent<SpecTimer<T>, V::Message>>,
}

impl<T: Sides, V: Vocabulary<T>> RecentSteps<T, V> {
    pub(super) fn new(nodes: usize) -> Self {
        RecentSteps { before: vec![Face::DOWN; nodes], steps: VecDeque::with_capacity(MOST) }
    }

    pub(super) fn add(&mut self, step: Recent<SpecTimer<T>, V::Message>) {
        if self.steps.len() == MOST
            && let Some(step) = self.steps.pop_front()
        {
            self.before[step.id.index()] = step.after;
        }
        self.steps.push_back(step);
    }

    /// The last `count` steps as a trace.
    pub(super) fn trace(&self, mapping: &Mapping<T>, count: usize) -> Trace {
        let mut before = self.before.clone();
        let skipped = self.steps.len().saturating_sub(count);
        for step in self.steps.iter().take(skipped) {
            before[step.id.index()] = step.after;
        }
        let header = Header {
            format: FORMAT.to_owned(),
            fingerprint: String::new(),
            protocol: T::Spec::NAME.to_owned(),
            variant: variant_name(&mapping.rules),
            rules: serde_json::json!(mapping.rules),
            world: Scenario::calm(before.len()),
            shows: None,
            initial: (1..).zip(before.iter().map(lifeline::<T>)).collect(),
            in_flight: Vec::new(),
        };
        let steps = self.steps.iter().skip(skipped).zip(1..);
        let steps = steps.map(|(step, seq)| self.step(mapping, step, seq)).collect();
        Trace { header, steps, noted: Noted::default() }
    }

    fn step(
        &self,
        mapping: &Mapping<T>,
        step: &Recent<SpecTimer<T>, V::Message>,
        seq: usize,
    ) -> Step {
        let message = |message: V::Message, sent| -> SpecMessage<T> {
            let node = |node| step.names.name(node);
            let names = &mut Renaming { number: &mut |_, number| number, node: &node };
            V::message(mapping, message, sent, names)
        };
        let flight = |from, to, id: u32, message: SpecMessage<T>| {
            let message = serde_json::to_value(message).unwrap_or_default();
            Flight { id, from, to, message }
        };
        let event = match &step.what {
            What::Crash => Event::Crash,
            What::Boot => Event::Recover,
            What::Receive { from, message: of, serial } => {
                Event::Deliver(flight(*from, step.id, *serial, message(of.clone(), false)))
            }
            What::Expire(timer) => {
                let timer = timer.as_ref().and_then(|timer| serde_json::to_value(timer).ok());
                Event::Expire { timer: timer.unwrap_or_default(), early: false }
            }
        };
        let sent = step.sent.iter().map(|(to, of, serial)| {
            let flight = flight(step.id, *to, *serial, message(of.clone(), true));
            Sent { flight, fate: None }
        });
        Step {
            seq,
            node: Some(step.id),
            incarnation: None,
            event,
            sent: sent.collect(),
            armed: Vec::new(),
            cancelled: Vec::new(),
            choices: Vec::new(),
            changed: BTreeMap::from([(step.id.number(), lifeline::<T>(&step.after))]),
        }
    }
}

fn lifeline<T: Sides>(face: &Face) -> Lifeline {
    let timers = face.timers.iter::<T::Spec>().map(|timer| plain(&timer)).collect();
    let (up, role, leader) = (face.up, face.role.to_owned(), face.leader);
    Lifeline { up, paused: false, role, leader, timers }
}
