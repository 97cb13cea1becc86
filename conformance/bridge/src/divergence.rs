//! A difference between model and program, as data and for people.

use crate::mapping::{Mapping, SpecEvent};
use bellwether_engine::protocol::{Id, Protocol as Specification};
use bellwether_engine::trace::{Trace, plain_value};
use bellwether_engine::world::{Action, World};
use bellwether_tool::report::{diagram, story};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
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
}

impl Difference {
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

/// A node that is not what its process is before anything has happened in the world.
pub(crate) struct Unsettled {
    /// What happened to it, in words; it differs after the last.
    pub(crate) lines: Vec<String>,
    /// What differs.
    pub(crate) differences: Vec<Difference>,
}

/// The divergence of model and program: where they part, and how they came there.
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
    /// The rules of the specification that decide what should have followed, with their values.
    pub rules: Vec<(String, String)>,
    /// The model's execution, up to and with the step.
    pub trace: Trace,
    /// The description of what happened to the node before the beginning, if it differs there
    /// already.
    pub settling: Vec<String>,
    /// The execution that leads to a node which reads as the same process, and remembers something
    /// else, if that is what differs.
    pub other: Option<Trace>,
}

impl Divergence {
    /// Model and program differ after the last of `actions`, or, if `happened` is given, after
    /// that probe at the end of them.
    pub(crate) fn new<M: Mapping>(
        mapping: &M,
        world: &World,
        actions: &[Action],
        probed: Option<(String, Option<SpecEvent<M::Spec>>)>,
        differences: Vec<Difference>,
    ) -> Self {
        let last = actions.last();
        let probe = probed.is_some();
        let (happened, happening) = probed.unwrap_or_else(|| {
            let happened = last.map_or_else(|| "the beginning".to_owned(), ToString::to_string);
            (happened, last.and_then(happening).map(|(_, happening)| happening))
        });
        let names = happening.map_or(&[][..], |happening| mapping.rules(&happening));
        Divergence {
            kind: differences.first().map_or(Kind::Different, |d| d.kind),
            step: actions.len(),
            happened,
            probe,
            differences,
            rules: values(&M::RULES, names),
            trace: Trace::record(world, actions, None),
            settling: Vec::new(),
            other: None,
        }
    }

    /// Model and program differ before anything has happened in the world.
    pub(crate) fn before<M: Mapping>(mapping: &M, world: &World, unsettled: Unsettled) -> Self {
        let Unsettled { lines, differences } = unsettled;
        let mut all = Divergence::new(mapping, world, &[], None, differences);
        all.happened = lines.last().unwrap_or(&all.happened).clone();
        all.settling = lines;
        all
    }

    /// Returns the whole report: what differs, the story of how it came to that, and its diagram.
    #[must_use]
    pub fn report(&self, ascii: bool) -> String {
        let options = diagram::Options { ascii, ..diagram::Options::default() };
        let mut out = format!("{self}\n");
        if !self.settling.is_empty() {
            out.push_str("What happens to the node before the beginning:\n");
            for (line, number) in self.settling.iter().zip(1..) {
                out.push_str(&format!("{number:>2}. {line}.\n"));
            }
            return out;
        }
        out.push_str(&format!("As the model tells it:\n{}", story::tell(&self.trace)));
        if self.probe {
            out.push_str(&format!("Then, as in no execution: {}.\n", self.happened));
        }
        if self.step > 0 {
            out.push_str(&format!("\n{}", diagram::draw(&self.trace, options)));
        }
        if let Some(other) = &self.other {
            let (how, drawn) = (story::tell(other), diagram::draw(other, options));
            out.push_str(&format!("\nThe other execution, to the same process:\n{how}\n{drawn}"));
        }
        out
    }
}

/// The rules with these names and their values.
pub(crate) fn values(rules: &impl Specification, names: &[&str]) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(all)) = serde_json::to_value(rules) else { return Vec::new() };
    let named = names.iter().filter_map(|name| Some((*name, all.get(*name)?)));
    named.map(|(name, value)| (name.to_owned(), plain_value(value))).collect()
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence { kind, step, happened, .. } = self;
        let whose = match kind {
            Kind::Missing => "the program leaves out what the model does",
            Kind::Unexpected => "the program does what the model does not",
            Kind::Different => "the program is not where the model is",
        };
        let steps = if *step == 1 { "step" } else { "steps" };
        match (self.probe, step) {
            (true, _) => writeln!(f, "{kind}: {whose}, probed after {step} {steps}: {happened}")?,
            (false, 0) => writeln!(f, "{kind}: {whose} before the beginning: {happened}")?,
            (false, _) => writeln!(f, "{kind}: {whose} in step {step}: {happened}")?,
        }
        for difference in &self.differences {
            writeln!(f, "  {difference}")?;
        }
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|(name, value)| format!("{name} = {value}"));
            writeln!(f, "  rules that decide this: {}", rules.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

impl Serialize for Divergence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rules: serde_json::Map<String, serde_json::Value> =
            self.rules.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        let more = [self.other.is_some(), !self.settling.is_empty()];
        let fields = 8 + more.into_iter().filter(|&more| more).count();
        let mut object = serializer.serialize_struct("Divergence", fields)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("step", &self.step)?;
        object.serialize_field("happened", &self.happened)?;
        object.serialize_field("probe", &self.probe)?;
        object.serialize_field("differences", &self.differences)?;
        object.serialize_field("rules", &rules)?;
        object.serialize_field("header", &self.trace.header)?;
        object.serialize_field("steps", &self.trace.steps)?;
        if !self.settling.is_empty() {
            object.serialize_field("settling", &self.settling)?;
        }
        if let Some(other) = &self.other {
            object.serialize_field("other_steps", &other.steps)?;
        }
        object.end()
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
