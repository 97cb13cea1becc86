//! What the model reads in a step where a program goes another way.
//!
//! A specification is a function and no list of guards, so it is asked again: with another value of
//! one rule, with another message of the same kind, or for another process that differs in a field
//! or two. Where it then does what the program did, the value that was changed is what its guard
//! reads, and the program goes on as if that were another one. Only processes are asked for that
//! the node was before, or that come of such a one in one step.

use crate::compare::{Expected, fields};
use crate::coverage::kind_of;
use crate::divergence::{Difference, Guard};
use crate::mapping::{Process, Sides, SpecEvent, SpecMessage};
use crate::node::{Group, NodeView};
use bellwether_engine::protocol::{Effect, Id, Protocol as Specification, Values, rules};
use bellwether_engine::trace::{label, plain, plain_value};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The most guards that are told.
const MOST: usize = 3;
/// The most fields that are changed at once.
const FIELDS: usize = 2;
/// The most other processes that are asked for.
const PROCESSES: usize = 1 << 12;

/// A step of one process of the model.
pub(crate) struct Case<'a, T: Sides> {
    pub(crate) group: &'a Group<'a, T>,
    pub(crate) id: Id,
    pub(crate) rules: T::Spec,
    /// What the process was before.
    pub(crate) view: &'a NodeView<T::Spec>,
    pub(crate) happening: SpecEvent<T::Spec>,
}

/// Whether what follows for a process that is this before is what the program did.
pub(crate) type Agrees<'a, T> = &'a dyn Fn(&Expected<<T as Sides>::Spec>, &Process<T>) -> bool;

impl<T: Sides> Case<'_, T> {
    /// The guards that are false, by which the program goes on: first those of one value. The node
    /// was `met` before.
    pub(crate) fn guards(&self, met: &[NodeView<T::Spec>], agrees: Agrees<'_, T>) -> Vec<Guard> {
        let is_so = |run: Option<Expected<T::Spec>>| {
            run.is_some_and(|run| agrees(&run, &self.view.process))
        };
        let crashes = self.happening == SpecEvent::Crash;
        if crashes || is_so(self.follows(self.rules, self.view, self.happening)) {
            return Vec::new();
        }
        let by_fields = self.by_fields(met, agrees);
        let (one, more): (Vec<_>, Vec<_>) = by_fields.into_iter().partition(|(of, _)| *of == 1);
        let mut found: Vec<Guard> = one.into_iter().map(|(_, guard)| guard).collect();
        found.extend(self.by_message(&is_so));
        found.extend(self.by_rules(&is_so));
        found.extend(self.by_nothing(&is_so));
        if found.is_empty() {
            found.extend(more.into_iter().next().map(|(_, guard)| guard));
        }
        told(found)
    }

    /// What follows for such a process, unless the specification has no answer.
    fn follows(
        &self,
        rules: T::Spec,
        view: &NodeView<T::Spec>,
        happening: SpecEvent<T::Spec>,
    ) -> Option<Expected<T::Spec>> {
        let mut run = Expected::nothing(view);
        catch_unwind(AssertUnwindSafe(|| run.happens(self.group, rules, self.id, happening)))
            .ok()?;
        Some(run)
    }

    /// The fields of the process: for each other process that does it, those that differ, and how
    /// many these are.
    fn by_fields(&self, met: &[NodeView<T::Spec>], agrees: Agrees<'_, T>) -> Vec<(usize, Guard)> {
        let mut found = Vec::new();
        for process in self.others(met) {
            let mut differ = Vec::new();
            fields(self.id, &self.view.process, &process, &mut differ);
            if !(1..=FIELDS).contains(&differ.len()) {
                continue;
            }
            let view = NodeView { process, ..*self.view };
            let run = self.follows(self.rules, &view, self.happening);
            if run.is_some_and(|run| agrees(&run, &process)) {
                found.push((differ.len(), together(differ)));
            }
        }
        found
    }

    /// The processes that the node was, and those that come of them in one step.
    fn others(&self, met: &[NodeView<T::Spec>]) -> IndexSet<Process<T>, FxBuildHasher> {
        let mut all = IndexSet::<Process<T>, FxBuildHasher>::default();
        all.extend(met.iter().rev().map(|view| view.process));
        all.insert(Process::<T>::default());
        let messages = (self.group.mapping.messages)(self.group.size);
        for view in met.iter().rev().filter(|view| view.up) {
            let timers = view.timers.iter::<T::Spec>().map(SpecEvent::<T::Spec>::Expire);
            let senders = Id::all(self.group.size).filter(|&from| from != self.id);
            let arrivals = senders.flat_map(|from| {
                messages.iter().map(move |&message| SpecEvent::<T::Spec>::Receive { from, message })
            });
            for event in timers.chain([SpecEvent::<T::Spec>::Boot]).chain(arrivals) {
                if all.len() >= PROCESSES {
                    return all;
                }
                all.extend(self.follows(self.rules, view, event).map(|run| run.view.process));
            }
        }
        all
    }

    /// The message: another one of its kind, or the same from another node.
    fn by_message(&self, is_so: &dyn Fn(Option<Expected<T::Spec>>) -> bool) -> Option<Guard> {
        let SpecEvent::Receive { from, message } = self.happening else { return None };
        let all = (self.group.mapping.messages)(self.group.size);
        let same = all.into_iter().filter(|other| kind_of(other) == kind_of(&message));
        let senders = Id::all(self.group.size).filter(|&from| from != self.id);
        let others = senders.filter(|&other| other != from).map(|other| (other, message));
        let others =
            same.filter(|other| *other != message).map(|other| (from, other)).chain(others);
        let words = |from: Id, message: SpecMessage<T>| format!("{} from {from}", label(&message));
        for (sender, other) in others {
            let event = SpecEvent::<T::Spec>::Receive { from: sender, message: other };
            if is_so(self.follows(self.rules, self.view, event)) {
                let (value, as_if) = (words(from, message), words(sender, other));
                return Some(Guard { reads: "the message".to_owned(), value, as_if });
            }
        }
        None
    }

    /// The rules, in their order.
    fn by_rules(&self, is_so: &dyn Fn(Option<Expected<T::Spec>>) -> bool) -> Vec<Guard> {
        let Ok(Value::Object(own)) = serde_json::to_value(self.rules) else { return Vec::new() };
        let mut found = Vec::new();
        for rule in rules::<T::Spec>() {
            let Some(value) = own.get(&rule.name) else { continue };
            for other in values(&rule.values).into_iter().filter(|other| other != value) {
                let mut changed = own.clone();
                changed.insert(rule.name.clone(), other.clone());
                let Ok(changed) = serde_json::from_value(Value::Object(changed)) else { continue };
                if is_so(self.follows(changed, self.view, self.happening)) {
                    let reads = format!("the rule {}", rule.name);
                    let (value, as_if) = (plain_value(value), plain_value(&other));
                    found.push(Guard { reads, value, as_if });
                }
            }
        }
        found
    }

    /// What happens: the program does nothing at all.
    fn by_nothing(&self, is_so: &dyn Fn(Option<Expected<T::Spec>>) -> bool) -> Option<Guard> {
        let mut view = *self.view;
        let value = match self.happening {
            SpecEvent::Expire(timer) => {
                view.timers = view.timers.without::<T::Spec>(timer);
                format!("an expiry of {}", plain(&timer))
            }
            SpecEvent::Receive { from, message } => format!("{} from {from}", label(&message)),
            SpecEvent::Asked(request) => format!("the request {request:?}"),
            SpecEvent::Boot => "a start".to_owned(),
            SpecEvent::Crash => return None,
        };
        let reads = "what happens".to_owned();
        is_so(Some(Expected::nothing(&view))).then(|| Guard {
            reads,
            value,
            as_if: "nothing".to_owned(),
        })
    }
}

/// The guards that are told, each once.
fn told(mut found: Vec<Guard>) -> Vec<Guard> {
    let mut told = Vec::new();
    found.retain(|guard| {
        let new = !told.contains(&guard.reads);
        told.push(guard.reads.clone());
        new
    });
    found.truncate(MOST);
    found
}

/// One guard for all fields in which two processes differ.
fn together(differ: Vec<Difference>) -> Guard {
    let (mut reads, mut value, mut as_if) = (Vec::new(), Vec::new(), Vec::new());
    for Difference { what, model, program, .. } in differ {
        reads.push(what);
        value.push(model.unwrap_or_default());
        as_if.push(program.unwrap_or_default());
    }
    let [reads, value, as_if] = [reads, value, as_if].map(|words| words.join(" and "));
    Guard { reads, value, as_if }
}

fn values(of: &Values) -> Vec<Value> {
    let value = |name: &str| {
        let read: Option<Value> = serde_json::from_str(name).ok();
        let plain = read.filter(|value| value.is_number() || value.is_boolean() || value.is_null());
        plain.unwrap_or_else(|| Value::String(name.to_owned()))
    };
    match of {
        Values::Truth => vec![Value::Bool(true), Value::Bool(false)],
        Values::Names(names) => names.iter().map(|(name, _)| value(name)).collect(),
        Values::Other(_) => Vec::new(),
    }
}

/// What a process was, in words.
pub(crate) fn was<P: Specification>(view: &NodeView<P>) -> String {
    let process = if view.up { plain(&view.process) } else { "down".to_owned() };
    let stable = match plain(&view.stable).as_str() {
        "none" => String::new(),
        kept => format!("; on stable storage: {kept}"),
    };
    process + &stable
}

/// What the model does, in words.
pub(crate) fn does<P: Specification>(run: &Expected<P>) -> Vec<String> {
    let mut all: Vec<_> = run.effects.iter().map(words::<P>).collect();
    all.push(format!("is {} then", P::role(&run.view.process)));
    all
}

fn words<P: Specification>(effect: &Effect<P>) -> String {
    match effect {
        Effect::Persist(stable) => format!("writes {}", plain(stable)),
        Effect::Send { to, message } => format!("sends {} to {to}", label(message)),
        Effect::Arm(timer) => format!("arms {}", plain(timer)),
        Effect::ArmSince { timer, since } => {
            format!("arms {} as if it had been when {} was", plain(timer), plain(since))
        }
        Effect::Cancel(timer) => format!("cancels {}", plain(timer)),
    }
}
