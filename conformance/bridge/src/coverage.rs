//! The coverage of a comparison: which timers and kinds of message of the specification it has met.
//!
//! A walk compares every transition of its world, and a world can be too small to lead somewhere at
//! all. What was never met was never compared, so a program may do there what it likes: that is no
//! success, unless the mapping gives a [reason](crate::mapping::Probes::uncovered) why nothing can
//! lead there. A [long run](crate::surroundings::long_run) is walked by the same rules, so the
//! program is compared there as well, and what it meets counts.

use crate::mapping::{Mapping, Sides, SpecEvent};
use bellwether_engine::protocol::Protocol as Specification;
use bellwether_engine::trace::plain;
use bellwether_engine::world::Action;
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

/// The number of times that something was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MetCount {
    /// The number of times in transitions of the world, and of a
    /// [long run](crate::surroundings::long_run).
    pub walked: u64,
    /// The number of times in what nodes were asked besides.
    pub probed: u64,
}

impl AddAssign for MetCount {
    fn add_assign(&mut self, more: Self) {
        self.walked += more.walked;
        self.probed += more.probed;
    }
}

/// The coverage of a walk: what was met, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The number of times that each timer of the specification expired.
    pub timers: BTreeMap<String, MetCount>,
    /// The number of times that a message of each kind arrived.
    pub messages: BTreeMap<String, MetCount>,
    /// The names of what was never met, and why it cannot be.
    pub never: BTreeMap<String, String>,
    /// The names of what was never met although it could have been.
    pub missing: Vec<String>,
}

/// How often each thing has happened.
pub(crate) struct Tally<P: Specification>(FxHashMap<SpecEvent<P>, MetCount>);

impl<P: Specification> Tally<P> {
    /// Nothing has happened yet.
    pub(crate) fn new() -> Self {
        Tally(FxHashMap::default())
    }

    /// This happened, in a transition or in a probe.
    pub(crate) fn count(&mut self, happening: &SpecEvent<P>, probed: bool) {
        let met = self.0.entry(*happening).or_default();
        *(if probed { &mut met.probed } else { &mut met.walked }) += 1;
    }

    /// Everything of another tally happened too.
    pub(crate) fn add(&mut self, more: &Self) {
        for (happening, met) in &more.0 {
            *self.0.entry(*happening).or_default() += *met;
        }
    }

    /// The coverage of a walk in a group of `size` nodes, by the names of this mapping.
    pub(crate) fn coverage<T: Sides<Spec = P>>(
        &self,
        mapping: &Mapping<T>,
        size: usize,
    ) -> Coverage {
        let (own, mut coverage) = (mapping.rules, Coverage::default());
        let mut reasons = BTreeMap::new();
        for row in P::TIMERS {
            let kind = kind_of(&row.timer);
            if !(row.armed)(&own) {
                reasons.insert(format!("timer {kind}"), "by these rules no process arms it");
            }
            coverage.timers.entry(kind).or_default();
        }
        let known = (mapping.messages)(size).into_iter();
        let mut messages: FxHashMap<_, _> =
            known.map(|message| (message, MetCount::default())).collect();
        for (happening, met) in &self.0 {
            match *happening {
                SpecEvent::Receive { message, .. } => *messages.entry(message).or_default() += *met,
                SpecEvent::Expire(timer) => {
                    *coverage.timers.entry(kind_of(&timer)).or_default() += *met;
                }
                SpecEvent::Boot | SpecEvent::Asked(_) | SpecEvent::Crash => {}
            }
        }
        let mut sendable = BTreeSet::new();
        for (message, met) in messages {
            let kind = kind_of(&message);
            if (mapping.to_program)(message).is_some() {
                sendable.insert(kind.clone());
            }
            *coverage.messages.entry(kind).or_default() += met;
        }
        for kind in coverage.messages.keys().filter(|kind| !sendable.contains(*kind)) {
            reasons.insert(format!("message {kind}"), "the program has no such message");
        }
        let uncovered = mapping.more.probes.uncovered.iter();
        reasons.extend(uncovered.map(|&(name, why)| (name.to_owned(), why)));
        for name in coverage.zero() {
            match reasons.get(&name) {
                Some(&why) => drop(coverage.never.insert(name, why.to_owned())),
                None => coverage.missing.push(name),
            }
        }
        coverage
    }
}

/// What messages or timers are called that differ in what they name, as `monitor-2` names a
/// process.
pub(crate) fn kind_of(one: &impl Serialize) -> String {
    let name = match serde_json::to_value(one) {
        Ok(Value::Object(one)) => one.into_iter().map(|(name, _)| name).collect(),
        Ok(Value::String(name)) => name,
        _ => plain(one),
    };
    let kind = name.trim_end_matches(|end: char| end.is_ascii_digit());
    kind.strip_suffix('-').unwrap_or(&name).to_owned()
}

/// The kind of what an action is about.
pub(crate) fn about(action: &Action) -> Option<String> {
    match action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => Some(kind_of(&e.message)),
        Action::Expire { timer, .. } => Some(kind_of(timer)),
        Action::Crash(_)
        | Action::Recover(_)
        | Action::Pause(_)
        | Action::Resume(_)
        | Action::Cut(..)
        | Action::Heal(..)
        | Action::Jump(..)
        | Action::Tick => None,
    }
}

impl Coverage {
    /// Returns the two lists, each with what its entries are.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &BTreeMap<String, MetCount>); 2] {
        [("timer", &self.timers), ("message", &self.messages)]
    }

    /// Adds what another walk by the same rules has met.
    pub(crate) fn add(&mut self, other: &Coverage) {
        let lists = [(&mut self.timers, &other.timers), (&mut self.messages, &other.messages)];
        for (own, others) in lists {
            for (name, met) in others {
                *own.entry(name.clone()).or_default() += *met;
            }
        }
        let unmet = self.zero();
        self.never.retain(|name, _| unmet.contains(name));
        self.missing.retain(|name| unmet.contains(name));
    }

    /// What was never met.
    fn zero(&self) -> Vec<String> {
        let zero = |(what, list): (&'static str, &BTreeMap<String, MetCount>)| {
            let never = list.iter().filter(|(_, met)| **met == MetCount::default());
            never.map(|(name, _)| format!("{what} {name}")).collect::<Vec<_>>()
        };
        self.lists().into_iter().flat_map(zero).collect()
    }
}
