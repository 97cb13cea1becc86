//! Executions as data: NDJSON, one header line and one line for each step.
//!
//! A trace says everything that a person or another program needs to follow an execution without
//! this crate: the protocol and its rules, the scenario, who did what, which message is which, and
//! what every process believes after each step. It can be [replayed](Trace::actions) into the
//! model's actions, and is refused if it does not fit the model any more. Whether it shows what its
//! header says is [checked](crate::check::certify) as well.

mod file;
mod record;
mod wrong;

pub use crate::words::{label, label_of, plain, plain_value};
pub use crate::world::DOWN;
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
    /// The header: what the trace is of.
    pub header: Header,
    /// The steps: what happened, in order.
    pub steps: Vec<Step>,
    /// What the steps changed besides, if the trace was made by the model, and was not read.
    pub noted: Noted,
}

/// The first line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format of the trace: [`FORMAT`].
    pub format: String,
    /// The fingerprint of the model that wrote the trace: a hash over its version, the protocol,
    /// its rules and the scenario.
    pub fingerprint: String,
    /// The name of the protocol.
    pub protocol: String,
    /// The variant, with the rules that were replaced in it.
    pub variant: String,
    /// The rules of the protocol, as JSON.
    pub rules: serde_json::Value,
    /// The scenario: what surrounds the processes.
    pub world: Scenario,
    /// The claim that the execution shows, if it is a counterexample or an example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<Shows>,
    /// The state of every process at the beginning, by id.
    pub initial: BTreeMap<u8, Lifeline>,
    /// The messages in flight at the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Sent>,
}

/// The claim that an execution shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shows {
    /// The name of the property; of an execution that attains a [bound](crate::check::bounds), what
    /// is counted.
    pub property: String,
    /// The formula of the property; of what is counted, how often it happens.
    pub formula: String,
    /// The kind of the property: a counterexample for safety and liveness, an example for
    /// reachability.
    pub kind: Kind,
    /// The number of steps before the cycle, for liveness. The steps after them repeat for ever; if
    /// there are none, nothing happens any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_after: Option<usize>,
    /// The end of the counting, as the command line names it, of what is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// One step of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The number of the step, from 1.
    pub seq: usize,
    /// The process that acted, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Id>,
    /// The number of times that this process has started before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u32>,
    /// The event: what happened.
    pub event: Event,
    /// The messages that the process sent because of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<Sent>,
    /// The timers that the process armed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub armed: Vec<String>,
    /// The timers that the process cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancelled: Vec<String>,
    /// The outcomes of which the process has to choose one from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The states afterwards of the processes that changed, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<u8, Lifeline>,
}

/// The event of a step: what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// A message arrived; at a crashed process, nothing follows from it.
    Deliver(Flight),
    /// A timer expired.
    Expire {
        /// The timer that expired.
        timer: serde_json::Value,
        /// Whether what the timer waited for could still have come.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        early: bool,
    },
    /// The process chose.
    Choose {
        /// The outcome that it chose.
        outcome: serde_json::Value,
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
    /// A link was cut.
    Cut {
        /// The ends of the link, the lower id first, or if it is one way, the sender.
        link: [Id; 2],
        /// Whether one direction was cut, and the other was not.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        one_way: bool,
    },
    /// A link works again.
    Heal {
        /// The ends of the link, as in a cut.
        link: [Id; 2],
        /// Whether only one direction healed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        one_way: bool,
    },
    /// The clock of the process jumped.
    Jump {
        /// The number of ticks by which it jumped: ahead, or if it is negative, back.
        by: i16,
    },
    /// A tick passed.
    Tick,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flight {
    /// The id that the message was given when it was sent.
    pub id: u32,
    /// The process that sent the message.
    pub from: Id,
    /// The process that the message was sent to.
    pub to: Id,
    /// The message that was sent, as JSON.
    pub message: serde_json::Value,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sent {
    /// The message with its sender and receiver.
    #[serde(flatten)]
    pub flight: Flight,
    /// The fate of the message at once, if it is not in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fate: Option<Fate>,
}

/// The reason why a message that was sent is not in flight of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The link is cut.
    Cut,
    /// The message merged with an identical one in flight, whose id it has.
    Merged,
}

/// The state of one process at one moment, as traces tell it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifeline {
    /// Whether the process is up.
    pub up: bool,
    /// Whether the process is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// The role of the process; of a process that is down, "down".
    pub role: String,
    /// The leader of the process, if it has one: itself if it leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<Id>,
    /// The timers that the process has armed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<String>,
}

/// A variable of a process that a step has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// What it was before.
    pub before: String,
    /// What it is afterwards.
    pub after: String,
}

/// The variables that each step of an execution has changed. They stand in no file: where a trace
/// was read, there are none. So two traces do not differ in them.
#[derive(Clone, Debug, Default)]
pub struct Noted(Vec<Vec<Variable>>);

impl Noted {
    /// Returns the variables that the step with this number has changed, as far as that is known.
    #[must_use]
    pub fn in_step(&self, seq: usize) -> &[Variable] {
        let known = seq.checked_sub(1).and_then(|at| self.0.get(at));
        known.map_or(&[], Vec::as_slice)
    }
}

/// They are beside what a trace says.
impl PartialEq for Noted {
    fn eq(&self, _: &Noted) -> bool {
        true
    }
}

impl Eq for Noted {}

impl Lifeline {
    /// Returns what the process, whose own id is `id`, believes of the leadership; a process that
    /// is down believes nothing.
    #[must_use]
    pub fn belief(&self, id: u8) -> Belief {
        match self.leader.filter(|_| self.up) {
            Some(leader) if leader.number() == id => Belief::Leads,
            Some(leader) => Belief::Follows(leader),
            None => Belief::Undecided,
        }
    }

    /// Returns what process `id` is in `state`.
    #[must_use]
    pub fn of(state: &State, id: Id) -> Lifeline {
        Lifeline {
            up: state.up(id),
            paused: state.paused(id),
            role: state.role(id).to_owned(),
            leader: state.leader(id),
            timers: state
                .armed(id)
                .filter(|timer| !timer.is_outcome())
                .map(|timer| timer.plain().to_owned())
                .collect(),
        }
    }
}
