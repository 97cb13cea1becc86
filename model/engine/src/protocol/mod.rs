//! The trait that protocols implement.
//!
//! A protocol is the specification of *one process*. It knows nothing of networks, faults or other
//! processes' states; what surrounds the processes is the [world](crate::world). Its rules are
//! data: a value of the type is one variant, and each text of the literature is one named value.
//!
//! The engine has no protocol of its own; a command line is given them in a
//! [registry](crate::machine::Registry).

mod group;
mod id;
mod local;
mod rules;
mod ticks;
mod timer;
mod timers;
mod view;

pub use crate::temporal::Property;
pub use bellwether_derive::{RuleDocs, duration_table, event_type, rule_type, state_type};
pub use group::Group;
pub use id::{Id, Ids, MAX_NODES, MAX_SEARCHED, read_ids, split_ids};
pub use local::{Effect, Effects, Local, Said};
pub use rules::{Misfit, Rule, RuleDocs, RuleRow, RuleValues, Values, ValuesRow};
pub use ticks::Durations;
pub use timer::{Duration, NoNews, Stagger, TimerRow, Wait, durations, enough, row};
pub use timers::{MAX_TIMERS, Timers};
pub use view::{Envelope, Judge, Observation, Part, RunOut, Seen, View};

use crate::words::instead_of;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::hash::Hash;

/// A specification of what one process does. A value is one variant: the rules are its fields.
pub trait Protocol:
    Copy + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The protocol's one name, the same in model, program and conformance.
    const NAME: &'static str;

    /// What the protocol is, in half a sentence.
    const SUMMARY: &'static str;

    /// Whether a process does something when it is [asked](Protocol::asked) for it.
    const REQUESTS: bool = false;

    /// The named variants; the first is the default.
    const VARIANTS: &'static [Variant<Self>];

    /// Every timer that a process can have, a row for each; at most [`MAX_TIMERS`].
    const TIMERS: &'static [TimerRow<Self>];

    /// The properties that are asked of this protocol alone, besides what every election is asked.
    const PROPERTIES: &'static [Property<Judge<Self>>] = &[];

    /// The function that lists the rules, with what each decides and what its values mean;
    /// [`Rule::all_of`] makes them of the documentation of the fields. Of a protocol that does not
    /// say, only the names are shown.
    const RULES: fn() -> Vec<Rule> = Vec::new;

    /// The options: what only some protocols say.
    const OPTIONS: Options<Self> = Options::NONE;

    /// The volatile state: what one process knows and loses in a crash. `Default` is the state of a
    /// crashed process.
    type Process: Copy + Debug + Default + Eq + Hash + Serialize + Send + Sync + 'static;

    /// The stable state: what a process keeps on stable storage across crashes; `()` if nothing.
    type Stable: Copy + Debug + Default + Eq + Hash + Serialize + Send + Sync + 'static;

    /// The messages that processes send to each other.
    type Message: Copy
        + Debug
        + Eq
        + Ord
        + Hash
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;

    /// The timers: what a process waits for.
    type Timer: Copy
        + Debug
        + Eq
        + Ord
        + Hash
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static;

    /// Puts a process into the state that it has in a group that has long agreed on a leader, its
    /// timers armed.
    fn converged(&self, p: &mut Local<'_, Self>);

    /// Starts a process after a crash, or for the first time.
    fn recover(&self, p: &mut Local<'_, Self>);

    /// Handles a message of `from` that arrives.
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Self::Message);

    /// Handles an armed timer that expires, or an outcome that the process
    /// [chose](Local::choose); it is no longer armed when this is called.
    fn expire(&self, p: &mut Local<'_, Self>, timer: Self::Timer);

    /// Handles what a person, a program or a machine asks of the process. By default nothing
    /// follows.
    fn asked(&self, _: &mut Local<'_, Self>, _: Request) {}

    /// Returns whether what `timer` waits for can no longer come: with perfect timing, only then
    /// may it expire. This is synchrony without a clock: the time-out is longer than any answer
    /// takes.
    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Self::Timer) -> bool;

    /// Returns what a live process believes of the leadership.
    fn belief(process: &Self::Process) -> Belief;

    /// Returns the process's role in a word or two, for people.
    fn role(process: &Self::Process) -> &'static str;
}

/// A request that a person, a program or a machine makes of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    /// The process is to lead no longer, and to let this one lead instead, if one is named.
    Yield(Option<Id>),
    /// The process is to let this one lead instead, and to lead on if that does not come to lead.
    Transfer(Id),
    /// The process is to do what it does for [`Request::Yield`], and not to run for a time, whether
    /// it leads or not.
    StepDown(Option<Id>),
    /// The process learns whether its machine is fit to lead.
    Healthy(bool),
    /// The process is to tell the lists of members that it knows to this one.
    Tell(Id),
}

/// The options of a protocol: what only some protocols say; [`Options::NONE`] says nothing.
pub struct Options<P: Protocol> {
    /// The function that says which process the protocol is to elect.
    pub elects: fn(&P) -> Elects,
    /// The function that ranks processes: the protocol prefers the one of the higher rank, and of
    /// two with one rank the higher id. It is the order in which properties ask for the highest
    /// process. It knows nothing but the usual rules and the id, so no
    /// [symmetry](Options::canonicalize) changes it. If nothing else is said, the rank is the id.
    pub rank: fn(&P, Id) -> u8,
    /// The function that says which of so many processes that elect vote, those that a majority is
    /// one of: all, if nothing else is said. Each process is asked by its own rules, and votes if
    /// it takes itself for a voter.
    pub voters: fn(&P, usize) -> Ids,
    /// The services: the processes beside those that elect.
    pub services: Services<P>,
    /// The symmetry reduction: gives states that differ only in numbers that depend on history,
    /// such as terms that all have grown by the same, one representative. No process may be able to
    /// notice: what follows is canonicalized alike. Messages keep their places. The steps of such a
    /// protocol are not looked up, which takes longer.
    pub canonicalize: Option<Canonicalize<P>>,
    /// The bound on numbers that can grow for ever: how far the search follows them. States in
    /// which a number has grown too large are not searched, and a verdict says so.
    pub within_bounds: Option<WithinBounds<P>>,
    /// The largest number of processes, services among them, for which a process has room: at most
    /// [`MAX_NODES`], and [`MAX_SEARCHED`] where a process keeps something for each other, or has a
    /// timer for each.
    pub most: usize,
    /// The check whether the rules make sense with a number of processes that elect.
    pub fits: fn(&P, usize) -> Result<(), Misfit>,
    /// The names of the rules of which each process may have its own value. Whatever is asked of
    /// the whole world asks these rules of [each process](View::rules_of).
    pub own: &'static [&'static str],
    /// The names of usual properties that the protocol promises in no world, such as one leader at
    /// a time where each of its groups has one.
    pub not_promised: &'static [&'static str],
    /// The number of ticks after a crash within which every process agrees, by these durations and
    /// this largest delay, where it is the only fault and time-outs are long enough; `None` if the
    /// protocol does not say.
    pub agrees_within: Option<fn(&Durations, u8) -> Option<u8>>,
    /// The test whether a step of a process, from one state to another with these effects, starts
    /// an election. If nothing else is said, one starts when the process gives up what it believed
    /// of the leadership and believes nothing.
    pub begins_election: BeginsElection<P>,
    /// The function that names what a process has a place for, and these rules never use: it keeps
    /// its default, and is not shown.
    pub unused: fn(&P) -> Unused,
}

/// The names of fields that some rules never use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unused {
    /// The fields of the volatile state.
    pub process: Vec<&'static str>,
    /// The fields of what is on stable storage.
    pub stable: Vec<&'static str>,
}

/// A bound on what one process has.
#[derive(Clone, Copy)]
pub struct WithinBounds<P: Protocol> {
    /// The bound in words: "6 groups of a coordinator".
    pub at_most: &'static str,
    /// The test whether what a process knows and what it has on stable storage are within the
    /// bound.
    pub within: fn(&P, &P::Process, &P::Stable) -> bool,
}

/// A test whether a step starts an election: what the process knew before, what it knows after,
/// effects.
pub type BeginsElection<P> =
    fn(&<P as Protocol>::Process, &<P as Protocol>::Process, &[Effect<P>]) -> bool;

impl<P: Protocol> Options<P> {
    /// The options of a protocol that elects the highest id, and says nothing else.
    pub const NONE: Options<P> = Options {
        elects: |_| Elects::Highest,
        rank: |_, id| id.number(),
        voters: |_, nodes| Ids::all(nodes),
        services: Services { count: 0, crash: |_| false },
        canonicalize: None,
        within_bounds: None,
        most: MAX_NODES,
        fits: |_, _| Ok(()),
        own: &[],
        not_promised: &[],
        agrees_within: None,
        begins_election: gives_up::<P>,
        unused: |_| Unused::default(),
    };
}

/// A function that canonicalizes: see [`Options::canonicalize`].
pub type Canonicalize<P> = for<'a> fn(&P, Everything<'a, P>);

fn gives_up<P: Protocol>(before: &P::Process, after: &P::Process, _: &[Effect<P>]) -> bool {
    let undecided = |process| P::belief(process) == Belief::Undecided;
    undecided(after) && !undecided(before)
}

/// The processes that those that elect use, such as a store. Their ids are the highest; they
/// neither lead nor follow.
pub struct Services<P> {
    /// The number of services.
    pub count: usize,
    /// The function that says whether by these rules services crash like the others.
    pub crash: fn(&P) -> bool,
}

/// The process that a protocol is to elect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elects {
    /// The protocol elects the highest live process, by its [rank](Options::rank).
    Highest,
    /// The protocol elects any live process.
    Any,
}

/// The states of all processes, and what is in flight.
pub struct Everything<'a, P: Protocol> {
    /// The number of processes, services included. Places behind theirs hold defaults.
    pub count: usize,
    /// The volatile state of each process; a place for each.
    pub processes: &'a mut [P::Process],
    /// What each process has on stable storage.
    pub stable: &'a mut [P::Stable],
    /// The messages in flight.
    pub messages: &'a mut [Envelope<P::Message>],
    /// The rules of each process.
    pub group: &'a Group<P>,
}

/// The belief of a live process: what it takes for the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Belief {
    /// The process leads.
    Leads,
    /// The process has another as its leader.
    Follows(Id),
    /// The process has no leader at present.
    Undecided,
}

impl Belief {
    /// Returns the belief of a process that leads, or that follows this one if there is one.
    #[must_use]
    pub fn of(leads: bool, follows: Option<Id>) -> Belief {
        match follows {
            _ if leads => Belief::Leads,
            Some(leader) => Belief::Follows(leader),
            None => Belief::Undecided,
        }
    }

    /// Returns the leader that the process `me` believes in: itself if it leads.
    #[inline]
    #[must_use]
    pub fn leader(self, me: Id) -> Option<Id> {
        match self {
            Belief::Leads => Some(me),
            Belief::Follows(leader) => Some(leader),
            Belief::Undecided => None,
        }
    }
}

/// A named set of rules, and the text that gives them.
#[derive(Clone, Copy, Debug)]
pub struct Variant<P> {
    /// The name of the variant on the command line.
    pub name: &'static str,
    /// The source: where the rules come from.
    pub source: &'static str,
    /// The values of the rules.
    pub rules: P,
}

/// Returns the named variant of a protocol, with single rules replaced.
///
/// Each override is a rule's name and its new value as it stands in the JSON of the rules
/// (`t_coord` and `false`, `accept` and `any`).
///
/// # Errors
/// An unknown variant, rule or value; the message lists what there is.
pub fn variant<P: Protocol>(name: &str, overrides: &[(String, String)]) -> Result<P, RuleError> {
    let found = P::VARIANTS.iter().find(|v| v.name == name);
    let rules = found.ok_or_else(|| RuleError::Variant {
        protocol: P::NAME,
        name: name.to_owned(),
        known: instead_of(name, &P::VARIANTS.iter().map(|v| v.name).collect::<Vec<_>>()),
    })?;
    overrides.iter().try_fold(rules.rules, |rules, (rule, value)| with_rule(rules, rule, value))
}

/// The rules with one of them replaced.
pub(crate) fn with_rule<P: Protocol>(rules: P, rule: &str, value: &str) -> Result<P, RuleError> {
    let mut fields = match serde_json::to_value(rules) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    if !fields.contains_key(rule) {
        return Err(RuleError::Rule {
            protocol: P::NAME,
            rule: rule.to_owned(),
            known: instead_of(rule, &fields.keys().map(String::as_str).collect::<Vec<_>>()),
        });
    }
    let parsed = match value {
        "null" => serde_json::Value::Null,
        "true" | "on" | "yes" => serde_json::Value::Bool(true),
        "false" | "off" | "no" | "none" if fields[rule].is_boolean() => {
            serde_json::Value::Bool(false)
        }
        word => serde_json::from_str(word)
            .ok()
            .filter(serde_json::Value::is_number)
            .unwrap_or_else(|| serde_json::Value::String(word.to_owned())),
    };
    fields.insert(rule.to_owned(), parsed);
    serde_json::from_value(serde_json::Value::Object(fields)).map_err(|error| {
        let known = self::rules::<P>().into_iter().find(|known| known.name == rule);
        let reason = match known {
            Some(known) => known.values.instead_of(value),
            None => error.to_string(),
        };
        RuleError::Value { rule: rule.to_owned(), value: value.to_owned(), reason }
    })
}

/// Returns the rules of a protocol: what it says of them, or what its variants show.
#[must_use]
pub fn rules<P: Protocol>() -> Vec<Rule> {
    let said = P::RULES();
    if !said.is_empty() {
        return said;
    }
    let of = |variant: &Variant<P>| serde_json::to_value(variant.rules).unwrap_or_default();
    Rule::from_variants(&P::VARIANTS.iter().map(of).collect::<Vec<_>>())
}

/// Returns the name of the rules of `protocol`: the variant nearest to them, with the rules that
/// differ.
#[must_use]
pub fn variant_name<P: Protocol>(protocol: &P) -> String {
    let fields = |rules: &P| match serde_json::to_value(rules) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let ours = fields(protocol);
    let difference = |variant: &Variant<P>| {
        let theirs = fields(&variant.rules);
        let other = ours.iter().filter(|(rule, value)| theirs.get(*rule) != Some(*value));
        other.map(|(rule, value)| format!("{rule}={}", crate::words::plain(value))).collect()
    };
    let named = P::VARIANTS.iter().map(|variant| (variant.name, difference(variant)));
    match named.min_by_key(|(_, other): &(_, Vec<String>)| other.len()) {
        Some((name, other)) if other.is_empty() => name.to_owned(),
        Some((name, other)) => format!("{name} with {}", other.join(", ")),
        None => P::NAME.to_owned(),
    }
}

/// The reason why a variant cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The protocol has no variant of that name.
    #[error("protocol '{protocol}' has no variant '{name}'; {known}")]
    Variant {
        /// The name of the protocol.
        protocol: &'static str,
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant, and those that there are, in words.
        known: String,
    },
    /// The protocol has no rule of that name.
    #[error("protocol '{protocol}' has no rule '{rule}'; {known}")]
    Rule {
        /// The name of the protocol.
        protocol: &'static str,
        /// The name that was asked for.
        rule: String,
        /// The name that was probably meant, and those that there are, in words.
        known: String,
    },
    /// The rule cannot have that value.
    #[error("rule '{rule}' cannot be '{value}': {reason}")]
    Value {
        /// The name of the rule.
        rule: String,
        /// The value that was asked for.
        value: String,
        /// The reason why the rule cannot have it.
        reason: String,
    },
    /// What stands before the name of a rule does not name processes.
    #[error("rule '{rule}': {reason}")]
    Process {
        /// The rule as it was given.
        rule: String,
        /// What is wrong, and what to give.
        reason: String,
    },
    /// Only the whole group has the rule.
    #[error("rule '{rule}' of {protocol} is one of the whole group: {instead}")]
    OfAll {
        /// The name of the protocol.
        protocol: &'static str,
        /// The name of the rule.
        rule: String,
        /// The rules that each process may have for itself, in words.
        instead: String,
    },
}
