//! Mappings whose types are forgotten, side by side and each found by its name, as the command line
//! needs them.

use crate::error::Error;
use crate::large_group::large_group;
use crate::lockstep::{Outcome, lockstep};
use crate::mapping::{Mapping, ProgramCore, Sides};
use crate::reduce::reduce;
use crate::replay::{Replayed, replay};
use crate::suite::{self, Ran, Suite};
use crate::surroundings::surroundings;
use crate::validate::{Log, Options, Outcome as Validated, Watch, follow, validate};
use bellwether_core::protocol::Core as _;
use bellwether_engine::check::{Limits, Progress};
use bellwether_engine::protocol::{Protocol as Specification, variant_name};
use bellwether_engine::trace::Trace;
use bellwether_engine::words::instead_of;
use bellwether_engine::world::{Scenario, World};
use serde::Serialize;
use std::time::Instant;

/// All that can be compared by one mapping.
pub trait Comparison: Send + Sync {
    /// Returns the protocol, and the rules that its program implements.
    fn description(&self) -> Description;

    /// Returns what a variant of the specification is to the program; `None` if it has no variant
    /// of this name.
    fn variant(&self, name: &str) -> Option<Named>;

    /// Returns why the program plays no service: see
    /// [`Variants::unplayed`](crate::mapping::Variants::unplayed).
    fn without_services(&self) -> Option<&'static str>;

    /// Walks the world of these rules in `scenario`, on so many threads, and counts it with the
    /// model alone: see [`lockstep`]. A divergence is [reduced](reduce). After a whole walk without
    /// one, a [large group](large_group) is started, and the [surroundings] are walked; even groups
    /// and [further](crate::mapping::Further) worlds among them only if the number of states has no
    /// limit.
    ///
    /// # Errors
    /// If nothing can be compared.
    fn lockstep(
        &self,
        scenario: Scenario,
        threads: usize,
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

impl<T: Sides> Comparison for Mapping<T> {
    fn description(&self) -> Description {
        const { assert!(has_one_name::<T>(), "specification and program have different names") };
        Description {
            protocol: T::Spec::NAME,
            summary: T::Spec::SUMMARY,
            variant: variant_name(&self.rules),
            rules: serde_json::json!(self.rules),
        }
    }

    fn variant(&self, name: &str) -> Option<Named> {
        let rules = &T::Spec::VARIANTS.iter().find(|variant| variant.name == name)?.rules;
        Some(Named { same_as: variant_name(rules), unlike: self.unlike(rules) })
    }

    fn without_services(&self) -> Option<&'static str> {
        self.more.variants.unplayed
    }

    fn lockstep(
        &self,
        scenario: Scenario,
        threads: usize,
        limits: &Limits,
        on_progress: &mut (dyn FnMut(&'static str, Progress) + Send),
    ) -> anyhow::Result<Outcome> {
        let started = Instant::now();
        let world = World::new(self.rules, scenario)?.concrete();
        let mut outcome =
            lockstep(&world, self, threads, limits, &mut |p| on_progress("comparing", p))?;
        outcome.divergence = outcome.divergence.map(|found| reduce(self, found));
        if outcome.summary.whole {
            outcome.large_group = large_group(self);
        }
        outcome.summary.recount(&world, threads, limits, &mut |p| {
            on_progress("counting the model alone", p);
        })?;
        if outcome.large_group.wrong.is_some() {
            return Ok(outcome);
        }
        // With a number of states, the beginning of one world is asked for, and not of others.
        for around in surroundings(self, limits.states.is_none()) {
            if outcome.divergence.is_some() || outcome.summary.cut_short.is_some() {
                break;
            }
            // The number of states is limited in the world that is asked for, and in no other.
            let time = limits.time.map(|limit| limit.saturating_sub(started.elapsed()));
            if let Some(further) =
                around.walk(threads, &Limits { states: None, time, ..*limits })?
            {
                outcome.divergence = further.divergence;
                outcome.summary.cut_short = further.summary.cut_short;
                if around.is_same {
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
        let world = World::new(self.rules, scenario)?;
        Ok(suite::find(self, &world, threads, limits, on_progress)?)
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

/// A protocol has one name, in model, program and bridge.
const fn has_one_name<T: Sides>() -> bool {
    let (a, b) = (T::Spec::NAME.as_bytes(), ProgramCore::<T>::NAME.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Mappings, each known by the name of its protocol, and those of one protocol, which stand
/// together, by the variant that the program implements.
#[derive(Clone, Copy)]
pub struct Mappings(pub &'static [Box<dyn Comparison>]);

impl Mappings {
    /// Returns the names of the protocols that have a mapping, each once.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.0.iter().map(|one| one.description().protocol).collect();
        names.dedup();
        names
    }

    /// Returns the mapping of the protocol called `name`, or of the first if none is named; and of
    /// several, that to the rules of this variant, or the first. Variants with the same rules are
    /// the same here.
    ///
    /// # Errors
    /// [`Error::Protocol`] or [`Error::NoVariant`] if there is none.
    pub fn find(
        self,
        name: Option<&str>,
        variant: Option<&str>,
    ) -> Result<&'static dyn Comparison, Error> {
        let names = self.names();
        let name = name.or(names.first().copied()).unwrap_or_default();
        let of_it = self.0.iter().map(|one| (&**one, one.description()));
        let of_it: Vec<_> = of_it.filter(|(_, of)| of.protocol == name).collect();
        let Some((first, _)) = of_it.first() else {
            let known = instead_of(name, &names);
            return Err(Error::Protocol { name: name.to_owned(), known });
        };
        let named = variant.and_then(|name| first.variant(name));
        let same_as = named.as_ref().map(|named| named.same_as.as_str()).or(variant);
        let wanted = |(_, of): &&(_, Description)| same_as.is_none_or(|name| of.variant == name);
        match of_it.iter().find(wanted) {
            Some((found, _)) => Ok(*found),
            None => {
                let variants: Vec<_> = of_it.into_iter().map(|(_, of)| of.variant).collect();
                Err(no_variant(name, variant.unwrap_or_default(), &variants, named.as_ref()))
            }
        }
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
