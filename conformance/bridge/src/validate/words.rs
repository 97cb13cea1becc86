//! The two vocabularies of a log: the program's own types, and the specification's JSON, for what a
//! program in another language writes.

use crate::mapping::{
    Durable, Exchange, Mapping, ProgramMessage, Renaming, Sides, SpecMessage, SpecTimer, Stable,
};
use crate::program::Program;
use bellwether_core::trace::{Start, Step};
use bellwether_engine::protocol::Protocol as Specification;
use bellwether_engine::trace::{plain, plain_value};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A step in the types of a vocabulary.
pub(super) type StepOf<T, V> = Step<<V as Vocabulary<T>>::Durable, <V as Vocabulary<T>>::Message>;

/// How what stands in a log reads. By default, the log has the specification's ids, its numbers are
/// small, and its data contradicts nothing.
pub(super) trait Vocabulary<T: Sides> {
    /// True if a step has to tell changes and what is ignored, with the program's reasons.
    const REASONS: bool;
    /// The state that a node makes durable.
    type Durable: DeserializeOwned + Clone + Debug + PartialEq;
    type Message: DeserializeOwned + Clone + Debug + PartialEq;

    fn timer(mapping: &Mapping<T>, name: &str) -> Option<SpecTimer<T>>;

    /// A message as the specification has it, which the node itself sends or not.
    fn message(
        mapping: &Mapping<T>,
        message: Self::Message,
        sent: bool,
        names: &mut Renaming<'_>,
    ) -> SpecMessage<T>;

    /// Returns what a message between a node and a service says of requests and grants.
    fn exchange(mapping: &Mapping<T>, message: Self::Message) -> Option<Exchange>;

    /// Returns the durable state as the specification has it, which may be one of these, or in
    /// words.
    fn stable(
        mapping: &Mapping<T>,
        durable: &Self::Durable,
        known: &[Stable<T>],
        names: &mut Renaming<'_>,
    ) -> Result<Stable<T>, String>;

    /// The numbers in what is durable, by their kinds.
    fn numbers(_: &Mapping<T>, _: &Self::Durable) -> Vec<(usize, u64)> {
        Vec::new()
    }

    /// How what becomes durable contradicts what was so before, or the start of the node; after
    /// a boot, also the start before that.
    fn contradicts(
        _: &Mapping<T>,
        _: &[&Start],
        _before: Option<&Self::Durable>,
        _now: &Self::Durable,
    ) -> Option<String> {
        None
    }

    /// Returns whether a node that begins with this, in the list of members with this number, is judged as
    /// one whose members never change.
    fn is_settled(_: &Mapping<T>, _: Option<&Self::Durable>, _config_epoch: Option<u64>) -> bool {
        true
    }
}

/// The types of the program.
pub(super) struct OfProgram;

impl<T: Sides> Vocabulary<T> for OfProgram {
    const REASONS: bool = true;
    type Durable = Durable<T>;
    type Message = ProgramMessage<T>;

    fn timer(mapping: &Mapping<T>, name: &str) -> Option<SpecTimer<T>> {
        T::Program::timer_named(name).map(|timer| (mapping.timer)(timer))
    }

    fn message(
        mapping: &Mapping<T>,
        message: ProgramMessage<T>,
        sent: bool,
        names: &mut Renaming<'_>,
    ) -> SpecMessage<T> {
        (mapping.to_model)((mapping.more.counters.in_message)(message, sent, names), sent)
    }

    fn exchange(mapping: &Mapping<T>, message: ProgramMessage<T>) -> Option<Exchange> {
        (mapping.more.logs.exchange)(message)
    }

    fn stable(
        mapping: &Mapping<T>,
        durable: &Durable<T>,
        _: &[Stable<T>],
        names: &mut Renaming<'_>,
    ) -> Result<Stable<T>, String> {
        Ok((mapping.stable)(&(mapping.more.counters.in_durable)(durable, names)))
    }

    fn numbers(mapping: &Mapping<T>, durable: &Durable<T>) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        let mut noted = |kind, number| {
            all.push((kind, number));
            number
        };
        (mapping.more.counters.in_durable)(durable, &mut Renaming::of_numbers(&mut noted));
        all
    }

    fn contradicts(
        mapping: &Mapping<T>,
        starts: &[&Start],
        before: Option<&Durable<T>>,
        now: &Durable<T>,
    ) -> Option<String> {
        (mapping.more.logs.contradicts)(starts, before, now)
    }

    fn is_settled(
        mapping: &Mapping<T>,
        durable: Option<&Durable<T>>,
        config_epoch: Option<u64>,
    ) -> bool {
        (mapping.more.logs.is_settled)(durable, config_epoch)
    }
}

/// The JSON of the specification, as its traces have it.
pub(super) struct OfModel;

impl<T: Sides> Vocabulary<T> for OfModel {
    const REASONS: bool = false;
    type Durable = serde_json::Value;
    type Message = SpecMessage<T>;

    /// As traces call it, or as sentences do.
    fn timer(_: &Mapping<T>, name: &str) -> Option<SpecTimer<T>> {
        let name = name.replace('-', " ");
        T::Spec::TIMERS.iter().map(|row| row.timer).find(|timer| plain(timer) == name)
    }

    fn message(
        _: &Mapping<T>,
        message: SpecMessage<T>,
        _: bool,
        _: &mut Renaming<'_>,
    ) -> SpecMessage<T> {
        message
    }

    fn exchange(mapping: &Mapping<T>, message: SpecMessage<T>) -> Option<Exchange> {
        (mapping.to_program)(message).and_then(mapping.more.logs.exchange)
    }

    fn stable(
        _: &Mapping<T>,
        durable: &serde_json::Value,
        known: &[Stable<T>],
        _: &mut Renaming<'_>,
    ) -> Result<Stable<T>, String> {
        let same =
            |stable: &&Stable<T>| serde_json::to_value(stable).is_ok_and(|value| value == *durable);
        known.iter().find(same).copied().ok_or_else(|| plain_value(durable))
    }
}
