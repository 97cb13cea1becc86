//! The two vocabularies of a log: the program's own types, and the specification's JSON, for what a
//! program in another language writes.

use crate::mapping::{
    Durable, Exchange, Mapping, NameNode, ProgramMessage, Rename, SpecMessage, SpecTimer, Stable,
};
use crate::program::Program;
use bellwether_engine::protocol::Protocol as Specification;
use bellwether_engine::trace::{plain, plain_value};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// How what stands in a log reads.
pub(super) trait Vocabulary<M: Mapping> {
    /// Whether a step has to tell changes and what is ignored, with the program's reasons.
    const REASONS: bool;
    /// What a node makes durable.
    type Durable: DeserializeOwned + Clone + Debug + PartialEq;
    type Message: DeserializeOwned + Clone + Debug + PartialEq;

    fn timer(mapping: &M, name: &str) -> Option<SpecTimer<M>>;

    /// A message as the specification has it, which the node itself sends or not.
    fn message(
        mapping: &M,
        message: Self::Message,
        sent: bool,
        rename: Rename<'_>,
    ) -> SpecMessage<M>;

    /// What a message between a node and a service says of requests and grants.
    fn exchange(mapping: &M, message: Self::Message) -> Option<Exchange>;

    /// What is durable as the specification has it, which may be one of these, or in words.
    fn stable(
        mapping: &M,
        durable: &Self::Durable,
        known: &[Stable<M>],
        rename: Rename<'_>,
    ) -> Result<Stable<M>, String>;

    /// The numbers in what is durable, by their kinds.
    fn numbers(durable: &Self::Durable) -> Vec<(usize, u64)>;

    /// A message in which nodes have other ids.
    fn message_among(message: Self::Message, name: NameNode<'_>) -> Self::Message;

    /// What is durable, with other ids.
    fn durable_among(durable: &Self::Durable, name: NameNode<'_>) -> Self::Durable;

    /// Whether a node that begins with this, in the list of members with this number, is judged as
    /// one whose members never change.
    fn is_settled(durable: Option<&Self::Durable>, config_epoch: Option<u64>) -> bool;
}

/// The types of the program.
pub(super) struct OfProgram;

impl<M: Mapping> Vocabulary<M> for OfProgram {
    const REASONS: bool = true;
    type Durable = Durable<M>;
    type Message = ProgramMessage<M>;

    fn timer(mapping: &M, name: &str) -> Option<SpecTimer<M>> {
        M::Program::timer_named(name).map(|timer| mapping.timer(timer))
    }

    fn message(
        mapping: &M,
        message: ProgramMessage<M>,
        sent: bool,
        rename: Rename<'_>,
    ) -> SpecMessage<M> {
        mapping.to_model((M::COUNTERS.in_message)(message, sent, rename))
    }

    fn exchange(_: &M, message: ProgramMessage<M>) -> Option<Exchange> {
        (M::COUNTERS.exchange)(message)
    }

    fn stable(
        mapping: &M,
        durable: &Durable<M>,
        _: &[Stable<M>],
        rename: Rename<'_>,
    ) -> Result<Stable<M>, String> {
        Ok(mapping.stable(&(M::COUNTERS.in_durable)(durable, rename)))
    }

    fn numbers(durable: &Durable<M>) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        (M::COUNTERS.in_durable)(durable, &mut |kind, number| {
            all.push((kind, number));
            number
        });
        all
    }

    fn message_among(message: ProgramMessage<M>, name: NameNode<'_>) -> ProgramMessage<M> {
        match &M::COUNTERS.ids {
            Some(ids) => (ids.message)(message, name),
            None => message,
        }
    }

    fn durable_among(durable: &Durable<M>, name: NameNode<'_>) -> Durable<M> {
        match &M::COUNTERS.ids {
            Some(ids) => (ids.durable)(durable, name),
            None => durable.clone(),
        }
    }

    fn is_settled(durable: Option<&Durable<M>>, config_epoch: Option<u64>) -> bool {
        (M::COUNTERS.is_settled)(durable, config_epoch)
    }
}

/// The JSON of the specification, as its traces have it. Its numbers are small.
pub(super) struct OfModel;

impl<M: Mapping> Vocabulary<M> for OfModel {
    const REASONS: bool = false;
    type Durable = serde_json::Value;
    type Message = SpecMessage<M>;

    /// As traces call it, or as sentences do.
    fn timer(_: &M, name: &str) -> Option<SpecTimer<M>> {
        let name = name.replace('-', " ");
        M::Spec::TIMERS.iter().map(|row| row.timer).find(|timer| plain(timer) == name)
    }

    fn message(_: &M, message: SpecMessage<M>, _: bool, _: Rename<'_>) -> SpecMessage<M> {
        message
    }

    fn exchange(mapping: &M, message: SpecMessage<M>) -> Option<Exchange> {
        mapping.to_program(message).and_then(M::COUNTERS.exchange)
    }

    fn stable(
        _: &M,
        durable: &serde_json::Value,
        known: &[Stable<M>],
        _: Rename<'_>,
    ) -> Result<Stable<M>, String> {
        let same =
            |stable: &&Stable<M>| serde_json::to_value(stable).is_ok_and(|value| value == *durable);
        known.iter().find(same).copied().ok_or_else(|| plain_value(durable))
    }

    fn numbers(_: &serde_json::Value) -> Vec<(usize, u64)> {
        Vec::new()
    }

    // Its ids are those of the specification.
    fn message_among(message: SpecMessage<M>, _: NameNode<'_>) -> SpecMessage<M> {
        message
    }

    fn durable_among(durable: &serde_json::Value, _: NameNode<'_>) -> serde_json::Value {
        durable.clone()
    }

    fn is_settled(_: Option<&serde_json::Value>, _: Option<u64>) -> bool {
        true
    }
}
