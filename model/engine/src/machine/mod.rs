//! A protocol with its rules as the engine sees it: an object whose values are
//! [kept](value), so that worlds, searches, traces and walks are plain types, compiled once.
//!
//! Every [`Protocol`] is made one by [`machine`]. Only what makes or reads a single value is
//! compiled for each protocol, and stands in this folder.

mod registry;
mod typed;
pub mod value;

pub use crate::protocol::Observation;
pub use registry::{AnyProtocol, Registry, UnknownProtocol, VariantRow};
pub use typed::{ProtocolEntry, machine, machine_of};
pub use value::{Message, Process, Stable, StateShape, Timer};

use crate::protocol::{
    Duration, Effects as TypedEffects, Elects, Envelope, Id, Ids, Misfit, Protocol, RuleError,
    Said, Timers, Unused, Wait,
};
use serde_json::Value;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// One effect of a step, in the order in which the process caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The value is on stable storage from here on.
    Persist(Stable),
    /// A message leaves for `to`.
    Send {
        /// The process that the message is sent to.
        to: Id,
        /// The message that is sent.
        message: Message,
    },
    /// The timer is armed, or armed anew.
    Arm(Timer),
    /// The timer is armed as if it had been when `since` was, which is armed no longer.
    ArmSince {
        /// The timer that is armed.
        timer: Timer,
        /// A timer that was armed before, and takes the same duration.
        since: Timer,
    },
    /// The timer is no longer armed.
    Cancel(Timer),
}

/// The effects of one step, in order.
pub type Effects = SmallVec<[Effect; 12]>;

/// Returns the effects with the types of their protocol.
#[must_use]
pub fn typed_effects<P: Protocol>(effects: &[Effect]) -> TypedEffects<P> {
    use crate::protocol::Effect as Typed;
    let typed = |effect: &Effect| match *effect {
        Effect::Persist(value) => Typed::Persist(*value.get::<P>()),
        Effect::Send { to, message } => Typed::Send { to, message: *message.get::<P>() },
        Effect::Arm(timer) => Typed::Arm(timer.get::<P>()),
        Effect::ArmSince { timer, since } => {
            Typed::ArmSince { timer: timer.get::<P>(), since: since.get::<P>() }
        }
        Effect::Cancel(timer) => Typed::Cancel(timer.get::<P>()),
    };
    effects.iter().map(typed).collect()
}

/// The reason why a process takes a step.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The process is in a group that has long agreed.
    Converged,
    /// The process starts.
    Recover,
    /// A message arrives.
    Receive(Id, Message),
    /// A timer expires.
    Expire(Timer),
}

/// The state of one process at the beginning of a step, and at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The id of the process.
    pub id: Id,
    /// The number of processes that elect.
    pub nodes: usize,
    /// The volatile state: what the process knows.
    pub process: Process,
    /// What the process has on stable storage.
    pub stable: Stable,
    /// The timers that the process has armed.
    pub timers: Timers,
    /// The armed timers that have run out.
    pub run_out: Timers,
}

/// A judgement of one state of a protocol whose types are not known.
pub type OwnJudge = Arc<dyn Fn(&dyn DynProtocol, &Observation<'_>) -> bool + Send + Sync>;

/// What the rules of a protocol say of one timer.
#[derive(Clone, Copy, Debug)]
pub struct TimerRules {
    /// The timer that this is about.
    pub timer: Timer,
    /// The duration of the timer in a timed world; `None` if the protocol has no timed worlds.
    pub duration: Option<&'static Duration>,
    /// The way in which the timer measures time; `None` if it is never armed.
    pub wait: Option<Wait>,
    /// Whether some process ever arms the timer.
    pub armed: bool,
    /// Whether the timer takes a random time.
    pub random: bool,
    /// The duration that is added for some processes.
    pub stagger: Option<&'static Duration>,
    /// Whether the timer paces something that repeats.
    pub periodic: bool,
    /// Whether the timer is ever armed for a fixed time while it waits for others.
    pub time_out: bool,
}

impl TimerRules {
    /// What the rules of one process or of another say.
    fn or(self, other: &TimerRules) -> TimerRules {
        TimerRules {
            wait: self.wait.or(other.wait),
            armed: self.armed || other.armed,
            random: self.random || other.random,
            time_out: self.time_out || other.time_out,
            ..self
        }
    }
}

/// A protocol with its rules.
pub trait DynProtocol: Debug + Send + Sync {
    /// Returns the protocol.
    fn protocol(&self) -> &'static dyn AnyProtocol;

    /// Returns what states of the protocol have in common.
    fn shape(&self) -> &'static StateShape;

    /// Returns the rules of each process, with their type: a [`Group`](crate::protocol::Group).
    fn group(&self) -> &dyn Any;

    /// Returns the usual rules with their type: those of every process that has none of its own.
    fn rules(&self) -> &dyn Any;

    /// Returns the processes that have rules of their own.
    fn own(&self) -> Vec<Id>;

    /// Returns the name of the rules: the variant nearest to them, with the rules that differ.
    fn variant_name(&self) -> String;

    /// Returns the rules as JSON.
    fn json(&self) -> Value;

    /// Returns the same protocol with one rule replaced, in every process or in those that it
    /// names, as in `2:guard`.
    ///
    /// # Errors
    /// An unknown rule or value.
    fn with_rule(&self, rule: &str, value: &str) -> Result<Arc<dyn DynProtocol>, RuleError>;

    /// Returns how each timer measures time, of those that are ever armed and that wait for others;
    /// in the order of the timers.
    fn waits(&self) -> Vec<Wait> {
        let waiting = self.timers().iter().filter(|rules| !rules.periodic);
        waiting.filter_map(|rules| rules.wait).collect()
    }

    /// Returns whether the rules are the same.
    fn equals(&self, other: &dyn DynProtocol) -> bool;

    /// Returns what the rules say of each timer, by place: those of some process.
    fn timers(&self) -> &[TimerRules];

    /// Returns what the rules of process `id` say of each timer, by place.
    fn timers_of(&self, id: Id) -> &[TimerRules];

    /// Returns how many times the stagger of a timer is added for a process, among `nodes` that
    /// elect.
    fn stagger(&self, timer: Timer, id: Id, nodes: usize) -> u8;

    /// Returns which process is to be elected.
    fn elects(&self) -> Elects;

    /// Returns the [rank](crate::protocol::Options::rank) of a process.
    fn rank(&self, id: Id) -> u8;

    /// Returns those of `nodes` processes that elect that vote.
    fn voters(&self, nodes: usize) -> Ids;

    /// Returns whether services crash.
    fn services_crash(&self) -> bool;

    /// Checks that the rules make sense with `nodes` processes that elect.
    ///
    /// # Errors
    /// If they do not.
    fn fits(&self, nodes: usize) -> Result<(), Misfit>;

    /// Returns the [bound](crate::protocol::WithinBounds) on what one process has, in words.
    fn bound(&self) -> Option<&'static str>;

    /// Returns whether what a process knows and stores is within the bound.
    fn within(&self, process: Process, stable: Stable) -> bool;

    /// Returns what the rules of process `id` never [use](crate::protocol::Options::unused).
    fn unused(&self, id: Id) -> Unused;

    /// Returns the volatile state of a crashed process.
    fn crashed(&self) -> Process;

    /// Returns what is on stable storage at first.
    fn blank(&self) -> Stable;

    /// Takes a step of a process, appends what it causes to `effects`, and returns what the process
    /// says of it.
    fn step(&self, local: &mut Local, event: Event, effects: &mut Effects) -> Said;

    /// Returns whether what `timer` of `id` waits for can no longer come.
    fn may_time_out(&self, observed: &Observation<'_>, id: Id, timer: Timer) -> bool;

    /// Returns whether the expiry of a periodic timer would tell no process anything new.
    fn no_news(&self, observed: &Observation<'_>, id: Id, timer: Timer) -> bool;

    /// Returns whether a timer waits for others while its process knows this.
    fn waits_for_others(&self, timer: Timer, process: Process) -> bool;

    /// Gives states that differ only in numbers that depend on history one representative.
    fn canonicalize(
        &self,
        count: usize,
        processes: &mut [Process],
        stable: &mut [Stable],
        flight: &mut [Envelope],
    );

    /// Returns whether a step starts an election.
    fn begins_election(&self, before: Process, after: Process, effects: &[Effect]) -> bool;

    /// Returns the message that this JSON stands for.
    ///
    /// # Errors
    /// If it stands for none.
    fn message(&self, json: &Value) -> Result<Message, serde_json::Error>;

    /// Returns the timer that this JSON stands for.
    ///
    /// # Errors
    /// If it stands for none.
    fn timer(&self, json: &Value) -> Result<Timer, serde_json::Error>;
}
