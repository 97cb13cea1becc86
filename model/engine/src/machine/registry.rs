//! Protocols by name.

use super::{DynProtocol, OwnJudge};
use crate::protocol::{Duration, Durations, Property, Rule, RuleError};
use crate::words::instead_of;
use serde_json::Value;
use std::sync::Arc;

/// A protocol whose types are not known.
pub trait AnyProtocol: Sync {
    /// Returns the [name](crate::protocol::Protocol::NAME) of the protocol.
    fn name(&self) -> &'static str;

    /// Returns what the protocol is, in half a sentence.
    fn summary(&self) -> &'static str;

    /// Returns the named variants; the first is the default.
    fn variants(&self) -> Vec<VariantRow>;

    /// Returns the [rules](crate::protocol::rules) in which the variants differ.
    fn rule_rows(&self) -> Vec<Rule>;

    /// Returns the names of the rules of which each process may have its
    /// [own](crate::protocol::Options::own) value.
    fn own_rules(&self) -> &'static [&'static str];

    /// Returns the [durations](crate::protocol::durations) that the protocol's timers take in a
    /// timed world.
    fn durations(&self) -> Vec<&'static Duration>;

    /// Returns whether states that differ only by a
    /// [symmetry](crate::protocol::Options::canonicalize) can be one.
    fn canonicalizes(&self) -> bool;

    /// Returns the durations that are [enough](crate::protocol::enough) for the default rules.
    fn enough(&self) -> Vec<(&'static str, u8)>;

    /// Returns the number of ticks after a crash within which every process
    /// [agrees](crate::protocol::Options::agrees_within), if the protocol says.
    fn agrees_within(&self, durations: &Durations, delay: u8) -> Option<u8>;

    /// Returns the number of [services](crate::protocol::Services).
    fn services(&self) -> usize;

    /// Returns the properties that only worlds of this protocol can be asked for.
    fn own_properties(&self) -> Vec<Property<OwnJudge>>;

    /// Returns the usual properties that the protocol [promises in no
    /// world](crate::protocol::Options::not_promised).
    fn not_promised(&self) -> &'static [&'static str];

    /// Returns the rules of the variant of this name, or of the default one, with single rules
    /// replaced, of all processes or of some, as in `2:guard`.
    ///
    /// # Errors
    /// An unknown variant, process, rule or value; the message lists what there is.
    fn rules(
        &self,
        variant: Option<&str>,
        overrides: &[(String, String)],
    ) -> Result<Arc<dyn DynProtocol>, RuleError>;

    /// Returns the rules that this JSON stands for.
    ///
    /// # Errors
    /// If it stands for none.
    fn read(&self, rules: &Value) -> Result<Arc<dyn DynProtocol>, serde_json::Error>;

    /// Returns the largest number of processes, services among them, for which a process has room.
    fn most(&self) -> usize;
}

/// A named set of rules.
#[derive(Clone, Debug)]
pub struct VariantRow {
    /// The name of the variant.
    pub name: &'static str,
    /// The text that gives the rules.
    pub source: &'static str,
    /// The rules as JSON.
    pub rules: Value,
}

/// The protocols that a command line knows, in the order in which it lists them.
#[derive(Clone, Copy)]
pub struct Registry(pub &'static [&'static dyn AnyProtocol]);

impl Registry {
    /// Returns the protocols in their order.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn AnyProtocol> {
        self.0.iter().copied()
    }

    /// Returns the names of the protocols.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(AnyProtocol::name).collect()
    }

    /// Returns the protocol of this name.
    ///
    /// # Errors
    /// If there is none; the message lists what there is.
    pub fn find(self, name: &str) -> Result<&'static dyn AnyProtocol, UnknownProtocol> {
        self.iter().find(|known| known.name() == name).ok_or_else(|| UnknownProtocol {
            name: name.to_owned(),
            known: instead_of(name, &self.names()),
        })
    }

    /// Returns the durations that the protocols' timers take, each name once.
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

/// The error that a protocol was asked for that is not in the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no protocol '{name}'; {known}")]
pub struct UnknownProtocol {
    /// The name that was asked for.
    pub name: String,
    /// The name that was probably meant, and those that there are, in words.
    pub known: String,
}
