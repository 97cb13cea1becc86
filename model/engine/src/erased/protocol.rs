//! Protocols by name.

use super::{AnyCondition, AnyProperty, AnyWorld};
use crate::property;
use crate::protocol::{self, Duration, Protocol, Rule, RuleError, TimerRow, Wait, variant_name};
use crate::trace::{Trace, TraceError};
use crate::words::instead_of;
use crate::world::{Durations, Scenario, World, WorldError};
use serde_json::Value;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

/// A protocol, whatever its types.
pub trait AnyProtocol: Sync {
    /// Its [name](Protocol::NAME).
    fn name(&self) -> &'static str;

    /// What it is, in half a sentence.
    fn summary(&self) -> &'static str;

    /// The named variants; the first is the default.
    fn variants(&self) -> Vec<VariantRow>;

    /// The [rules](protocol::rules) in which the variants differ.
    fn rule_rows(&self) -> Vec<Rule>;

    /// The [durations](protocol::durations) that its timers take in a timed world.
    fn durations(&self) -> Vec<&'static Duration>;

    /// Whether states that differ only by a [symmetry](protocol::Options::canonicalize) can be one.
    fn canonicalizes(&self) -> bool;

    /// The durations that are [enough](protocol::enough) for the default rules.
    fn enough(&self) -> Vec<(&'static str, u8)>;

    /// Within how many ticks of a crash every process
    /// [agrees](protocol::Options::agrees_within), if the protocol says.
    fn agrees_within(&self, durations: &Durations, delay: u8) -> Option<u8>;

    /// How many [services](protocol::Services) there are.
    fn services(&self) -> usize;

    /// The properties that any world can be asked for, and those that only a timed world can.
    fn properties(&self) -> (Vec<AnyProperty>, Vec<AnyProperty>);

    /// The usual properties that it [promises in no world](protocol::Options::not_promised).
    fn not_promised(&self) -> &'static [&'static str];

    /// The rules of the variant of this name, or of the default one, with single rules replaced.
    ///
    /// # Errors
    /// An unknown variant, rule or value; the message lists what there is.
    fn rules(
        &self,
        variant: Option<&str>,
        overrides: &[(String, String)],
    ) -> Result<Arc<dyn AnyRules>, RuleError>;

    /// The world that a trace of this protocol tells of.
    ///
    /// # Errors
    /// As [`Trace::world`].
    fn world_of(&self, trace: &Trace) -> Result<Arc<dyn AnyWorld>, TraceError>;
}

/// A named set of rules.
#[derive(Clone, Debug)]
pub struct VariantRow {
    /// Its name.
    pub name: &'static str,
    /// The text that gives the rules.
    pub source: &'static str,
    /// The rules as JSON.
    pub rules: Value,
}

/// A protocol with its rules: every value of a type that is a [`Protocol`] is one.
pub trait AnyRules: Debug + Send + Sync {
    /// The protocol.
    fn protocol(&self) -> &'static dyn AnyProtocol;

    /// What the rules are called: the variant nearest to them, with the rules that differ.
    fn variant_name(&self) -> String;

    /// The rules as JSON.
    fn json(&self) -> Value;

    /// How each timer measures time, of those that are ever armed and that wait for others; in the
    /// order of the timers.
    fn waits(&self) -> Vec<Wait>;

    /// Processes that follow these rules in a surrounding.
    ///
    /// # Errors
    /// As [`World::new`].
    fn world(&self, scenario: Scenario) -> Result<Arc<dyn AnyWorld>, WorldError>;
}

impl<P: Protocol> AnyRules for P {
    fn protocol(&self) -> &'static dyn AnyProtocol {
        &Entry::<P>(PhantomData)
    }

    fn variant_name(&self) -> String {
        variant_name(self)
    }

    fn json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn waits(&self) -> Vec<Wait> {
        let waiting = P::TIMERS.iter().filter(|row: &&TimerRow<P>| row.periodic.is_none());
        waiting.filter_map(|row| row.wait(self)).collect()
    }

    fn world(&self, scenario: Scenario) -> Result<Arc<dyn AnyWorld>, WorldError> {
        Ok(Arc::new(World::new(*self, scenario)?))
    }
}

/// A protocol as it stands in a [`Registry`].
pub struct Entry<P>(PhantomData<fn() -> P>);

impl<P: Protocol> Entry<P> {
    /// The entry of this protocol.
    pub const NEW: Self = Entry(PhantomData);
}

impl<P: Protocol> AnyProtocol for Entry<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn summary(&self) -> &'static str {
        P::SUMMARY
    }

    fn variants(&self) -> Vec<VariantRow> {
        let row = |variant: &protocol::Variant<P>| {
            let protocol::Variant { name, source, rules } = *variant;
            VariantRow { name, source, rules: rules.json() }
        };
        P::VARIANTS.iter().map(row).collect()
    }

    fn rule_rows(&self) -> Vec<Rule> {
        protocol::rules::<P>()
    }

    fn durations(&self) -> Vec<&'static Duration> {
        protocol::durations::<P>()
    }

    fn enough(&self) -> Vec<(&'static str, u8)> {
        protocol::enough::<P>()
    }

    fn agrees_within(&self, durations: &Durations, delay: u8) -> Option<u8> {
        P::OPTIONS.agrees_within.and_then(|within| within(durations, delay))
    }

    fn canonicalizes(&self) -> bool {
        P::OPTIONS.canonicalize.is_some()
    }

    fn services(&self) -> usize {
        P::OPTIONS.services.count
    }

    fn properties(&self) -> (Vec<AnyProperty>, Vec<AnyProperty>) {
        let erased = |all: Vec<property::Property<P>>| {
            all.into_iter().map(|property| property.map(AnyCondition::of)).collect()
        };
        (erased(property::all()), erased(property::timed()))
    }

    fn not_promised(&self) -> &'static [&'static str] {
        P::OPTIONS.not_promised
    }

    fn rules(
        &self,
        variant: Option<&str>,
        overrides: &[(String, String)],
    ) -> Result<Arc<dyn AnyRules>, RuleError> {
        let name = variant.or(P::VARIANTS.first().map(|variant| variant.name));
        let rules: P = protocol::variant(name.unwrap_or_default(), overrides)?;
        Ok(Arc::new(rules))
    }

    fn world_of(&self, trace: &Trace) -> Result<Arc<dyn AnyWorld>, TraceError> {
        Ok(Arc::new(trace.world::<P>()?))
    }
}

/// The protocols that a command line knows, in the order in which it lists them.
#[derive(Clone, Copy)]
pub struct Registry(pub &'static [&'static dyn AnyProtocol]);

impl Registry {
    /// The protocols.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn AnyProtocol> {
        self.0.iter().copied()
    }

    /// Their names.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(AnyProtocol::name).collect()
    }

    /// The protocol of this name.
    ///
    /// # Errors
    /// If there is none; the message lists what there is.
    pub fn find(self, name: &str) -> Result<&'static dyn AnyProtocol, UnknownProtocol> {
        self.iter().find(|known| known.name() == name).ok_or_else(|| UnknownProtocol {
            name: name.to_owned(),
            known: instead_of(name, &self.names()),
        })
    }

    /// The durations that the protocols' timers take, each name once.
    #[must_use]
    pub fn durations(self) -> Vec<&'static Duration> {
        let mut known: Vec<&'static Duration> = Vec::new();
        for one in self.iter().flat_map(AnyProtocol::durations) {
            if known.iter().all(|k| k.name != one.name) {
                known.push(one);
            }
        }
        known
    }
}

/// A protocol was asked for that is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no protocol '{name}'; {known}")]
pub struct UnknownProtocol {
    /// What was asked for.
    pub name: String,
    /// What was probably meant, and what there is.
    pub known: String,
}
