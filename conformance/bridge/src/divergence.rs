//! A difference between model and program, as data and for people.

use crate::mapping::SpecEvent;
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::trace::Trace;
use bellwether_engine::world::{Action, World};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt;

/// The three kinds of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The model puts something out that the program does not.
    Missing,
    /// The program puts something out that the model does not.
    Unexpected,
    /// The states are different, or the same outputs come in another order.
    Different,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Missing => "missing",
            Kind::Unexpected => "unexpected",
            Kind::Different => "different",
        })
    }
}

/// One thing in which model and program differ after the same step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The kind of the difference.
    pub kind: Kind,
    /// The node that differs.
    pub node: Id,
    /// The name of what differs: "message", "timer", a field of the state, ...
    pub what: String,
    /// The value in the model, if there is anything to say about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The value in the program, if there is anything to say about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Difference {
    pub(crate) fn missing(node: Id, what: &str, model: impl Into<String>) -> Self {
        let what = what.to_owned();
        Difference { kind: Kind::Missing, node, what, model: Some(model.into()), program: None }
    }

    pub(crate) fn unexpected(node: Id, what: &str, program: impl Into<String>) -> Self {
        let (what, program) = (what.to_owned(), Some(program.into()));
        Difference { kind: Kind::Unexpected, node, what, model: None, program }
    }

    pub(crate) fn different(
        node: Id,
        what: impl Into<String>,
        model: impl Into<String>,
        program: impl Into<String>,
    ) -> Self {
        let (model, program) = (Some(model.into()), Some(program.into()));
        Difference { kind: Kind::Different, node, what: what.into(), model, program }
    }

    /// What a node remembers beyond the process that it stands for, where another remembers
    /// something else.
    pub(crate) fn hidden(node: Id, words: String) -> Self {
        let (what, program) = ("hidden state".to_owned(), Some(words));
        Difference { kind: Kind::Different, node, what, model: None, program }
    }

    /// The same, with what the other side does instead.
    pub(crate) fn but(mut self, other: String) -> Self {
        self.model.get_or_insert_with(|| other.clone());
        self.program.get_or_insert(other);
        self
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { kind, node, what, model, program } = self;
        write!(f, "{kind} {what} of {node}: ")?;
        match (model, program) {
            (Some(model), Some(program)) => {
                write!(f, "{model} in the model, {program} in the program")
            }
            (Some(only), None) | (None, Some(only)) => f.write_str(only),
            (None, None) => f.write_str("?"),
        }
    }
}

/// What the model reads in a step where the program goes another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Guard {
    /// The name of what is read: a field of the process, or a rule.
    pub reads: String,
    /// The value that the model reads.
    pub value: String,
    /// The value with which the model does what the program did.
    pub as_if: String,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guard { reads, value, as_if } = self;
        write!(f, "{reads} is {value}; the program does what follows from {as_if}")
    }
}

/// The place of a divergence in the log of a node that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// The name of the log.
    pub log: String,
    /// The number of the line, from 1.
    pub line: u64,
}

/// The size of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// The number of steps.
    pub steps: usize,
    /// The number of nodes, services not counted.
    pub nodes: usize,
}

/// A node that is not what its process is before anything has happened in the world.
pub(crate) struct Unsettled {
    /// What happened to it, in words; it differs after the last.
    pub(crate) lines: Vec<String>,
    pub(crate) differences: Vec<Difference>,
}

/// The divergence of model and program: where they part, and how they came there. It is the same
/// for an execution of the model that a program takes, and for the logs of nodes that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The kind of the divergence: that of the first of the differences.
    pub kind: Kind,
    /// The number of steps before the divergence; 0 if already the beginning differs. A probe comes
    /// after the last step.
    pub step: usize,
    /// The description of what happened in the step, or of what was probed.
    pub happened: String,
    /// Whether the divergence is in a probe: something that no execution of the world does after
    /// these steps.
    pub probe: bool,
    /// The differences, outputs first. Never empty.
    pub differences: Vec<Difference>,
    /// The model's execution, up to and with the step.
    pub trace: Trace,
    /// The description of what happened to the node before the beginning, if it differs there
    /// already.
    pub settling: Vec<String>,
    /// The execution that leads to a node which reads as the same process, and remembers something
    /// else, if that is what differs.
    pub other: Option<Trace>,
    /// The place in a log, if that is where the step stands. The trace has the last steps then.
    pub line: Option<LogLine>,
    /// The description of what the process was before the step; empty if it is not known.
    pub before: String,
    /// What the model does in the step, or nothing if it is not known.
    pub expected: Vec<String>,
    /// The guards of the model that are false, by which the program goes on: as far as one value
    /// or two explain what it did, those that need the fewest first.
    pub guards: Vec<Guard>,
    /// The messages that the step depends on, the last first.
    pub depends: Vec<String>,
    /// The size of the execution in which this was found, if it was made smaller.
    pub reduced_from: Option<Size>,
}

impl Divergence {
    /// Model and program differ after the last of `actions`, or, if something was probed, after
    /// that probe at the end of them.
    pub(crate) fn new(
        world: &World,
        actions: &[Action],
        probed: Option<String>,
        differences: Vec<Difference>,
    ) -> Self {
        let probe = probed.is_some();
        let last = || match actions.last() {
            Some(action) => action.to_string(),
            None => "the beginning".to_owned(),
        };
        let happened = probed.unwrap_or_else(last);
        let trace = Trace::record(world, actions, None);
        Divergence { happened, probe, ..Divergence::of(differences, trace) }
    }

    /// They differ in this at the end of a trace. Nothing else is known.
    fn of(differences: Vec<Difference>, trace: Trace) -> Self {
        Divergence {
            kind: differences.first().map_or(Kind::Different, |d| d.kind),
            step: trace.steps.len(),
            happened: String::new(),
            probe: false,
            differences,
            trace,
            settling: Vec::new(),
            other: None,
            line: None,
            before: String::new(),
            expected: Vec::new(),
            guards: Vec::new(),
            depends: Vec::new(),
            reduced_from: None,
        }
    }

    /// Model and program differ before anything has happened in the world.
    pub(crate) fn before(world: &World, unsettled: Unsettled) -> Self {
        let Unsettled { lines, differences } = unsettled;
        let mut all = Divergence::new(world, &[], None, differences);
        all.happened = lines.last().unwrap_or(&all.happened).clone();
        all.settling = lines;
        all
    }

    /// The line of a log is not what follows in the model; with the last steps up to and with it.
    pub(crate) fn in_log(line: LogLine, differences: Vec<Difference>, trace: Trace) -> Self {
        Divergence { line: Some(line), ..Divergence::of(differences, trace) }
    }

    /// Where the two part, in one line.
    pub(crate) fn heading(&self) -> String {
        let Divergence { kind, step, happened, .. } = self;
        if let Some(LogLine { log, line }) = &self.line {
            return format!("{log}, line {line}: {happened}");
        }
        let whose = match kind {
            Kind::Missing => "the program leaves out what the model does",
            Kind::Unexpected => "the program does what the model does not",
            Kind::Different => "the program is not where the model is",
        };
        let steps = if *step == 1 { "step" } else { "steps" };
        match (self.probe, step) {
            (true, _) => format!("{kind}: {whose}, probed after {step} {steps}: {happened}"),
            (false, 0) => format!("{kind}: {whose} before the beginning: {happened}"),
            (false, _) => format!("{kind}: {whose} in step {step}: {happened}"),
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.heading())?;
        self.differences.iter().try_for_each(|difference| writeln!(f, "  {difference}"))
    }
}

/// In a log there is no world, and the steps are the last ones.
impl Serialize for Divergence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("kind", &self.kind)?;
        match &self.line {
            Some(LogLine { log, line }) => {
                json.serialize_entry("log", log)?;
                json.serialize_entry("line", line)?;
            }
            None => json.serialize_entry("step", &self.step)?,
        }
        json.serialize_entry("happened", &self.happened)?;
        json.serialize_entry("probe", &self.probe)?;
        json.serialize_entry("differences", &self.differences)?;
        json.serialize_entry("before", &self.before)?;
        json.serialize_entry("expected", &self.expected)?;
        json.serialize_entry("guards", &self.guards)?;
        json.serialize_entry("depends", &self.depends)?;
        if let Some(size) = &self.reduced_from {
            json.serialize_entry("reduced_from", size)?;
        }
        if self.line.is_none() {
            json.serialize_entry("header", &self.trace.header)?;
        }
        json.serialize_entry("steps", &self.trace.steps)?;
        if !self.settling.is_empty() {
            json.serialize_entry("settling", &self.settling)?;
        }
        if let Some(other) = &self.other {
            json.serialize_entry("other_steps", &other.steps)?;
        }
        json.end()
    }
}

/// What an action of the world does to one process, if it does anything to one.
pub(crate) fn happening<P: Specification>(action: &Action) -> Option<(Id, SpecEvent<P>)> {
    match *action {
        Action::Deliver(e) => {
            Some((e.to, SpecEvent::Receive { from: e.from, message: *e.message.get::<P>() }))
        }
        Action::Expire { id, timer, .. } => Some((id, SpecEvent::Expire(timer.get::<P>()))),
        Action::Crash(id) => Some((id, SpecEvent::Crash)),
        Action::Recover(id) => Some((id, SpecEvent::Boot)),
        Action::Lose(_)
        | Action::Duplicate(_)
        | Action::Cut(..)
        | Action::Heal(..)
        | Action::Pause(_)
        | Action::Resume(_)
        | Action::Jump(..)
        | Action::Tick => None,
    }
}
