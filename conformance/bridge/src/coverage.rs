//! What a comparison has met of the specification: each timer, and each kind of message.
//!
//! A walk compares every transition of its world, and a world can be too small to lead somewhere at
//! all. What was never met was never compared, so a program may do there what it likes: that is no
//! success, unless the mapping gives a [reason](crate::mapping::Probes::uncovered) why nothing can lead there. A
//! [long run](crate::further::long_run) is walked by the same rules, so the program is compared
//! there as well, and what it meets counts.

use crate::mapping::{Mapping, Sides, SpecEvent, SpecMessage};
use bellwether_engine::protocol::{Protocol as Specification, Timers};
use bellwether_engine::trace::plain;
use bellwether_engine::world::Action;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// The number of times that something was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MetCount {
    /// The number of times in transitions of the world, and of a
    /// [long run](crate::further::long_run).
    pub walked: u64,
    /// The number of times in what nodes were asked besides.
    pub probed: u64,
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

pub(crate) struct Tally<'a, T: Sides> {
    mapping: &'a Mapping<T>,
    timers: BTreeMap<String, MetCount>,
    /// Of each timer, in the specification's order.
    timer_kinds: Vec<String>,
    /// The place of the kind of each message that was met.
    kinds: FxHashMap<SpecMessage<T>, usize>,
    messages: Vec<(String, MetCount)>,
    /// The kinds of messages that the program does not have.
    unknown: Vec<String>,
}

impl<'a, T: Sides> Tally<'a, T> {
    /// Nothing has happened yet in a group of `size` nodes.
    pub(crate) fn new(mapping: &'a Mapping<T>, size: usize) -> Self {
        let timer_kinds: Vec<_> = T::Spec::TIMERS.iter().map(|row| kind_of(&row.timer)).collect();
        let mut tally = Tally {
            mapping,
            timers: none_met(&timer_kinds),
            timer_kinds,
            kinds: FxHashMap::default(),
            messages: Vec::new(),
            unknown: Vec::new(),
        };
        let mut known = Vec::new();
        for message in (mapping.messages)(size) {
            let at = tally.kind(message);
            known.resize(tally.messages.len(), false);
            known[at] |= (mapping.to_program)(message).is_some();
        }
        tally.unknown = unknown(&tally.messages, &known);
        tally
    }

    /// This happened, in a transition or in a probe.
    pub(crate) fn count(&mut self, happening: &SpecEvent<T::Spec>, probed: bool) {
        match *happening {
            SpecEvent::Receive { message, .. } => {
                let at = self.kind(message);
                one_more(&mut self.messages[at].1, probed);
            }
            SpecEvent::Expire(timer) => {
                let kind = &self.timer_kinds[Timers::place::<T::Spec>(timer)];
                if let Some(met) = self.timers.get_mut(kind) {
                    one_more(met, probed);
                }
            }
            SpecEvent::Boot | SpecEvent::Crash => {}
        }
    }

    /// The place of a message's kind.
    fn kind(&mut self, message: SpecMessage<T>) -> usize {
        if let Some(&at) = self.kinds.get(&message) {
            return at;
        }
        let name = kind_of(&message);
        let known = self.messages.iter().position(|(kind, _)| *kind == name);
        let at = known.unwrap_or_else(|| {
            self.messages.push((name, MetCount::default()));
            self.messages.len() - 1
        });
        self.kinds.insert(message, at);
        at
    }

    /// What was met, and what was not.
    pub(crate) fn coverage(self) -> Coverage {
        let coverage = Coverage {
            timers: self.timers,
            messages: self.messages.into_iter().collect(),
            ..Coverage::default()
        };
        let own = self.mapping.rules;
        let rows = T::Spec::TIMERS.iter().zip(self.timer_kinds);
        let unarmed = rows.filter(|(row, _)| !(row.armed)(&own)).map(|(_, kind)| kind);
        coverage.judged(
            &unarmed.collect::<Vec<_>>(),
            &self.unknown,
            &self.mapping.more.probes.uncovered,
        )
    }
}

fn unknown(messages: &[(String, MetCount)], known: &[bool]) -> Vec<String> {
    let unknown = messages.iter().zip(known).filter(|(_, known)| !**known);
    unknown.map(|((kind, _), _)| kind.clone()).collect()
}

fn none_met(kinds: &[String]) -> BTreeMap<String, MetCount> {
    kinds.iter().map(|kind| (kind.clone(), MetCount::default())).collect()
}

/// What messages or timers are called that differ in what they name, as `monitor-2` names a
/// process.
pub(crate) fn kind_of(one: &impl Serialize) -> String {
    let name = match serde_json::to_value(one) {
        Ok(serde_json::Value::Object(one)) => one.into_iter().map(|(name, _)| name).collect(),
        Ok(serde_json::Value::String(name)) => name,
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

fn one_more(met: &mut MetCount, probed: bool) {
    *(if probed { &mut met.probed } else { &mut met.walked }) += 1;
}

impl Coverage {
    /// Returns the two lists, each with what its entries are.
    #[must_use]
    pub fn lists(&self) -> [(&'static str, &BTreeMap<String, MetCount>); 2] {
        [("timer", &self.timers), ("message", &self.messages)]
    }

    /// Adds what another walk by the same rules has met.
    pub(crate) fn add(&mut self, other: &Coverage) {
        let lists = [
            (&mut self.timers, &other.timers),
            (&mut self.messages, &other.messages),
        ];
        for (own, others) in lists {
            for (name, met) in others {
                let own = own.entry(name.clone()).or_default();
                own.walked += met.walked;
                own.probed += met.probed;
            }
        }
        let unmet = self.zero();
        self.never.retain(|name, _| unmet.contains(name));
        self.missing.retain(|name| unmet.contains(name));
    }

    /// With what was never met: timers that no process arms, messages that the program does not
    /// have, what is given with a reason, and what is missing.
    fn judged(
        mut self,
        unarmed: &[String],
        unknown: &[String],
        named: &[(&'static str, &'static str)],
    ) -> Self {
        let unarmed = unarmed.iter();
        let unarmed =
            unarmed.map(|kind| (format!("timer {kind}"), "by these rules no process arms it"));
        let unknown = unknown.iter();
        let unknown =
            unknown.map(|kind| (format!("message {kind}"), "the program has no such message"));
        let named = named.iter().map(|&(name, why)| (name.to_owned(), why));
        let mut reasons = BTreeMap::new();
        reasons.extend(unarmed.chain(unknown).chain(named));
        for name in self.zero() {
            match reasons.get(&name) {
                Some(&why) => drop(self.never.insert(name, why.to_owned())),
                None => self.missing.push(name),
            }
        }
        self
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
