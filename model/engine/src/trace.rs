//! Executions as data: NDJSON, one header line and one line for each step.
//!
//! A trace says everything that a person or another program needs to follow an execution without
//! this crate: the protocol and its rules, the scenario, who did what, which message is which, and
//! what every process believes after each step. It can be [replayed](Trace::actions) into the
//! model's actions, and is refused if it does not fit the model any more.

mod file;
mod record;
mod wrong;

pub use crate::words::{label, label_of, plain, plain_value};
pub use file::TraceError;
pub use record::describe;

use crate::property::Kind;
use crate::protocol::{Belief, Id};
use crate::world::{Scenario, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name and version of the format, the first field of every trace.
pub const FORMAT: &str = "bellwether-trace/1";

/// An execution: a path from the initial state, and the cycle it enters if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the trace is of.
    pub header: Header,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// The model that wrote it: a hash over its version, the protocol, its rules and the scenario.
    pub fingerprint: String,
    /// The protocol.
    pub protocol: String,
    /// The variant, with the rules that were replaced in it.
    pub variant: String,
    /// The rules.
    pub rules: serde_json::Value,
    /// The surrounding.
    pub world: Scenario,
    /// What the execution shows, if it is a counterexample or an example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<Shows>,
    /// What every process believes at the beginning, by id.
    pub initial: BTreeMap<u8, Lifeline>,
    /// What is in flight at the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Sent>,
}

/// What an execution shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shows {
    /// The property's name.
    pub property: String,
    /// Its formula.
    pub formula: String,
    /// Its kind: a counterexample for safety and liveness, an example for reachability.
    pub kind: Kind,
    /// For liveness: the number of steps before the cycle. The steps after them repeat for ever;
    /// if there are none, nothing happens any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_after: Option<usize>,
}

/// One step of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its number, from 1.
    pub seq: usize,
    /// The process that acted, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Id>,
    /// How often that process has started before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u32>,
    /// What happened.
    pub event: Event,
    /// What the process sent because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<Sent>,
    /// The timers it armed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub armed: Vec<String>,
    /// The timers it cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancelled: Vec<String>,
    /// What the processes that changed believe afterwards, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<u8, Lifeline>,
}

/// What happened in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// A message arrived; at a crashed process, nothing follows from it.
    Deliver(Flight),
    /// A timer expired.
    Expire {
        /// Which timer.
        timer: serde_json::Value,
        /// Whether what it waited for could still have come.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        early: bool,
    },
    /// A message was lost.
    Lose(Flight),
    /// A message in flight was doubled; the copy has the same id.
    Duplicate(Flight),
    /// The process stopped.
    Crash,
    /// The process started again.
    Recover,
    /// The process stopped for some time.
    Pause,
    /// The process went on.
    Resume,
    /// A link was cut in both directions.
    Cut {
        /// The ends of the link, the lower id first.
        link: [Id; 2],
    },
    /// A link works again.
    Heal {
        /// The ends of the link, the lower id first.
        link: [Id; 2],
    },
    /// A tick passed.
    Tick,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flight {
    /// The id it was given when it was sent.
    pub id: u32,
    /// The sender.
    pub from: Id,
    /// The receiver.
    pub to: Id,
    /// What was sent.
    pub message: serde_json::Value,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The message.
    #[serde(flatten)]
    pub flight: Flight,
    /// What became of it at once, if it is not in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<Fate>,
}

/// Why a message that was sent is not in flight of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The link is cut.
    Cut,
    /// It merged with an identical one in flight, whose id it has.
    Merged,
}

/// What one process is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifeline {
    /// Whether it is up.
    pub up: bool,
    /// Whether it is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Its role; of a process that is down, "down".
    pub role: String,
    /// Its leader, if it has one: itself if it leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<Id>,
    /// The timers it has armed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<String>,
}

/// The role of a process that is down.
pub(crate) const DOWN: &str = "down";

impl Lifeline {
    /// What the process, whose own id is `id`, believes of the leadership; a process that is down
    /// believes nothing.
    #[must_use]
    pub fn belief(&self, id: u8) -> Belief {
        match self.leader.filter(|_| self.up) {
            Some(leader) if leader.number() == id => Belief::Leads,
            Some(leader) => Belief::Follows(leader),
            None => Belief::Undecided,
        }
    }

    /// What process `id` is in `state`.
    #[must_use]
    pub fn of(state: &State, id: Id) -> Lifeline {
        let up = state.up(id);
        Lifeline {
            up,
            paused: state.paused(id),
            role: if up { state.process(id).role() } else { DOWN }.to_owned(),
            leader: match state.belief(id) {
                Some(Belief::Leads) => Some(id),
                Some(Belief::Follows(leader)) => Some(leader),
                Some(Belief::Undecided) | None => None,
            },
            timers: state.armed(id).map(|timer| timer.plain().to_owned()).collect(),
        }
    }
}
