//! Mappings of several protocols side by side, each found by its name, as the command line needs
//! them.

use crate::error::Error;
use crate::further::{further, long_run, reconfigured};
use crate::lockstep::{Outcome, lockstep};
use crate::mapping::{Mapping, unlike};
use crate::reduce::reduce;
use crate::replay::{Replayed, replay};
use crate::suite::{self, Ran, Suite};
use crate::validate::{Log, Options, Outcome as Validated, Watch, follow, validate};
use bellwether_engine::check::{Limits, Progress};
use bellwether_engine::protocol::{Protocol as Specification, variant_name};
use bellwether_engine::trace::Trace;
use bellwether_engine::words::instead_of;
use bellwether_engine::world::{Scenario, World};
use serde::Serialize;
use std::time::Instant;

/// A program with its mapping, whose types are forgotten: it is driven through a suite, and no
/// more. What surrounds a program has a mapping of its own for this; all else is compared without.
pub trait Runs: Sync {
    /// Returns the name of the protocol.
    fn name(&self) -> &'static str;

    /// Returns the protocol, and the rules that its program implements.
    fn description(&self) -> Description;

    /// Returns what a variant of the specification is to the program; `None` if it has no variant
    /// of this name.
    fn variant(&self, name: &str) -> Option<Named>;

    /// Drives the program through every execution of a suite: see [`suite::run`]. A divergence is
    /// [reduced](reduce).
    ///
    /// # Errors
    /// If nothing can be compared.
    fn run(
        &self,
        suite: &Suite,
        threads: usize,
        limits: &Limits,
        on_execution: &(dyn Fn(usize) + Sync),
    ) -> Result<Ran, Error>;
}

/// A mapping whose type is forgotten, as the command line knows it.
pub trait AnyMapping: Runs {
    /// Returns why the program plays no service: see [`Mapping::unplayed_services`].
    fn without_services(&self) -> Option<&'static str>;

    /// Walks the world of these rules in `scenario` and counts it with the model alone: see
    /// [`lockstep`]. A divergence is [reduced](reduce). After a whole walk without one, a
    /// [long run](long_run) is looked at, nodes that start again with [other
    /// durations](reconfigured), and, if the number of states has no limit, [further] worlds. The
    /// [coverage](crate::coverage) has all that the long run meets as well.
    ///
    /// # Errors
    /// If nothing can be compared.
    fn lockstep(
        &self,
        scenario: Scenario,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(&'static str, Progress) + Send),
    ) -> anyhow::Result<Outcome>;

    /// Drives the program through a trace: see [`replay`]. A divergence is [reduced](reduce).
    ///
    /// # Errors
    /// If nothing can be compared.
    fn replay(&self, trace: &Trace) -> Result<Replayed, Error>;

    /// Finds executions that together take every transition of the world of these rules in
    /// `scenario`: see [`suite::find`].
    ///
    /// # Errors
    /// If nothing can be compared.
    fn suite(
        &self,
        scenario: Scenario,
        threads: usize,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> anyhow::Result<Suite>;

    /// Judges the logs of nodes that ran: see [`validate`].
    ///
    /// # Errors
    /// If nothing can be judged.
    fn validate(&self, logs: Vec<Log>, options: Options) -> Result<Validated, Error>;

    /// Judges the logs of nodes that run: see [`follow`].
    ///
    /// # Errors
    /// If nothing can be judged.
    fn follow(
        &self,
        logs: Vec<Log>,
        options: Options,
        watch: &mut dyn Watch,
    ) -> Result<Validated, Error>;
}

/// The description of a protocol, and of the rules that its program implements.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The summary of the protocol.
    pub summary: &'static str,
    /// The name of the variant of the rules.
    pub variant: String,
    /// The rules, as JSON.
    pub rules: serde_json::Value,
}

/// What a variant of a specification is to a program.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name of the first variant that has the same rules.
    pub same_as: String,
    /// The rules that the program does not follow, and its own in their place, in words. `None` if
    /// there is none: then it can be compared by these rules.
    pub unlike: Option<String>,
}

impl<M: Mapping + Sync> Runs for M {
    fn name(&self) -> &'static str {
        M::Spec::NAME
    }

    fn description(&self) -> Description {
        Description {
            protocol: M::Spec::NAME,
            summary: M::Spec::SUMMARY,
            variant: variant_name(&self.own_rules()),
            rules: serde_json::json!(self.own_rules()),
        }
    }

    fn variant(&self, name: &str) -> Option<Named> {
        let rules = &M::Spec::VARIANTS.iter().find(|variant| variant.name == name)?.rules;
        Some(Named { same_as: variant_name(rules), unlike: unlike(self, rules) })
    }

    fn run(
        &self,
        suite: &Suite,
        threads: usize,
        limits: &Limits,
        on_execution: &(dyn Fn(usize) + Sync),
    ) -> Result<Ran, Error> {
        let ran = suite::run(self, suite, threads, limits, on_execution)?;
        let divergence = ran.divergence.map(|found| reduce(self, found));
        Ok(Ran { divergence, ..ran })
    }
}

impl<M: Mapping + Sync> AnyMapping for M {
    fn without_services(&self) -> Option<&'static str> {
        self.unplayed_services()
    }

    fn lockstep(
        &self,
        scenario: Scenario,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(&'static str, Progress) + Send),
    ) -> anyhow::Result<Outcome> {
        let started = Instant::now();
        let world = World::new(self.own_rules(), scenario)?.concrete();
        let mut outcome = lockstep(&world, self, limits, &mut |p| on_progress("comparing", p))?;
        outcome.divergence = outcome.divergence.map(|found| reduce(self, found));
        outcome
            .summary
            .recount(&world, limits, &mut |p| on_progress("counting the model alone", p))?;
        let conforms = outcome.divergence.is_none() && outcome.large_group.wrong.is_none();
        // With a number of states, the beginning of one world is asked for, and not of others.
        let walks = [long_run::<M>, reconfigured::<M>, further::<M>];
        let walks = if limits.states.is_some() { &walks[..2] } else { &walks[..] };
        for (at, walk) in walks.iter().enumerate() {
            let whole = outcome.divergence.is_none() && outcome.summary.cut_short.is_none();
            // The number of states is limited in the world that is asked for, and in no other.
            let time = limits.time.map(|limit| limit.saturating_sub(started.elapsed()));
            let limits = Limits { states: None, time, ..*limits };
            if conforms
                && whole
                && let Some(further) = walk(self, &limits)?
            {
                outcome.divergence = further.divergence;
                outcome.summary.cut_short = further.summary.cut_short;
                // The first is a long run; the others are by other durations or other rules.
                if at == 0 {
                    outcome.summary.coverage.add(&further.summary.coverage);
                }
            }
        }
        Ok(outcome)
    }

    fn replay(&self, trace: &Trace) -> Result<Replayed, Error> {
        let replayed = replay(self, trace)?;
        let divergence = replayed.divergence.map(|found| reduce(self, found));
        Ok(Replayed { divergence, ..replayed })
    }

    fn suite(
        &self,
        scenario: Scenario,
        threads: usize,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> anyhow::Result<Suite> {
        let world = World::new(self.own_rules(), scenario)?;
        Ok(suite::find(self, &world, threads, limits, on_progress)?)
    }

    fn validate(&self, logs: Vec<Log>, options: Options) -> Result<Validated, Error> {
        validate(self, logs, options)
    }

    fn follow(
        &self,
        logs: Vec<Log>,
        options: Options,
        watch: &mut dyn Watch,
    ) -> Result<Validated, Error> {
        follow(self, logs, options, watch)
    }
}

/// Mappings, each known by the name of its protocol, and those of one protocol, which stand
/// together, by the variant that the program implements.
pub struct Mappings<T: ?Sized + 'static = dyn AnyMapping>(pub &'static [&'static T]);

impl<T: ?Sized> Clone for Mappings<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Mappings<T> {}

impl<T: Runs + ?Sized> Mappings<T> {
    /// Returns the names of the protocols that have a mapping, each once.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.iter().map(|mapping| mapping.name()).collect();
        names.dedup();
        names
    }

    /// Returns the mapping of the protocol called `name`, or of the first if none is named; and of
    /// several, that to the rules of this variant, or the first. Variants with the same rules are
    /// the same here.
    ///
    /// # Errors
    /// [`Error::Protocol`] or [`Error::NoVariant`] if there is none.
    pub fn find(self, name: Option<&str>, variant: Option<&str>) -> Result<&'static T, Error> {
        let first = self.0.first().map(|mapping| mapping.name());
        let name = name.or(first).unwrap_or_default();
        let mut of_it = self.0.iter().copied().filter(|mapping| mapping.name() == name).peekable();
        if of_it.peek().is_none() {
            let known = instead_of(name, &self.names());
            return Err(Error::Protocol { name: name.to_owned(), known });
        }
        let variants: Vec<_> = of_it.clone().map(|mapping| mapping.description().variant).collect();
        let named = variant.and_then(|name| of_it.peek()?.variant(name));
        let same_as = named.as_ref().map(|named| named.same_as.as_str()).or(variant);
        let wanted = |(_, own): &(_, &String)| same_as.is_none_or(|name| *own == name);
        let found = of_it.zip(&variants).find(wanted).map(|(mapping, _)| mapping);
        found
            .ok_or_else(|| no_variant(name, variant.unwrap_or_default(), &variants, named.as_ref()))
    }
}

/// That the program does not implement the variant of this name, but these.
pub(crate) fn no_variant(
    protocol: &str,
    name: &str,
    known: &[String],
    named: Option<&Named>,
) -> Error {
    let why = Error::why(name, named.and_then(|named| named.unlike.as_deref()));
    let (protocol, known) = (protocol.to_owned(), known.join(", "));
    Error::NoVariant { protocol, name: name.to_owned(), known, why }
}
