//! What a node has put out, one list for each kind, compared with what its process has: what a
//! node that has just taken the step puts out, and what the log of one says.

use super::ExpectedReport;
use crate::divergence::Difference;
use crate::mapping::{node_id, process_id};
use bellwether_core::protocol::{NodeId, Role};
use bellwether_engine::protocol::{Effect, Id, Protocol as Specification};
use bellwether_engine::trace::{label, plain};

/// What differs between the messages that a node has sent and those among the `effects`.
pub(crate) fn sends<P: Specification>(
    id: Id,
    size: usize,
    program: &[(NodeId, P::Message)],
    effects: &[Effect<P>],
    found: &mut Vec<Difference>,
) {
    let model = || {
        effects.iter().filter_map(|effect| match *effect {
            Effect::Send { to, message } => Some((node_id(to), message)),
            _ => None,
        })
    };
    if model().eq(program.iter().copied()) {
        return;
    }
    let member = |to: NodeId| process_id(to).is_some_and(|to| to.index() < size);
    let words = |(to, message): (NodeId, _)| {
        let stranger = if member(to) { "" } else { ", which is no member" };
        format!("{} to {to}{stranger}", label(&message))
    };
    let model: Vec<String> = model().map(words).collect();
    let program: Vec<String> = program.iter().copied().map(words).collect();
    lists(id, "message", &model, &program, found);
}

/// What differs between what a node has written, or the words for what no value of the
/// specification is, and what is written by the `effects`.
pub(crate) fn persists<P: Specification>(
    id: Id,
    program: &[Result<P::Stable, String>],
    effects: &[Effect<P>],
    found: &mut Vec<Difference>,
) {
    let model = || {
        effects.iter().filter_map(|effect| match effect {
            Effect::Persist(value) => Some(Ok(*value)),
            _ => None,
        })
    };
    if !model().eq(program.iter().cloned()) {
        let words = |value: Result<P::Stable, String>| match value {
            Ok(value) => plain(&value),
            Err(words) => words,
        };
        let model: Vec<String> = model().map(words).collect();
        let program: Vec<String> = program.iter().cloned().map(words).collect();
        lists(id, "write", &model, &program, found);
    }
}

/// What one list has more often than the other; if nothing, they differ in their order.
fn lists(id: Id, what: &str, model: &[String], program: &[String], found: &mut Vec<Difference>) {
    let mut unexpected = program.to_vec();
    let mut missing = model.to_vec();
    missing.retain(|item| match unexpected.iter().position(|other| other == item) {
        Some(at) => {
            unexpected.remove(at);
            false
        }
        None => true,
    });
    if missing.is_empty() && unexpected.is_empty() {
        let (model, program) = (model.join(", "), program.join(", "));
        found.push(Difference::different(id, format!("order of {what}s"), model, program));
    }
    found.extend(missing.into_iter().map(|item| Difference::missing(id, what, item)));
    found.extend(unexpected.into_iter().map(|item| Difference::unexpected(id, what, item)));
}

/// A change of the role or the leader, as a node tells it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) from: Role,
    pub(crate) to: Role,
    pub(crate) leader: Option<NodeId>,
    /// The name of the reason.
    pub(crate) reason: &'a str,
}

/// What differs between the changes that a node tells and those that are there: it was and is this.
pub(crate) fn events(
    id: Id,
    [before, now]: [(Role, Option<NodeId>); 2],
    changes: &[Change<'_>],
    expected: &[ExpectedReport],
    found: &mut Vec<Difference>,
) {
    let words = |(role, leader): (Role, Option<NodeId>)| match leader {
        Some(leader) => format!("{role} of {leader}"),
        None => role.to_string(),
    };
    let mut reasons = expected.iter().filter_map(|told| told.reason);
    let (mut known, mut told) = (before, 0);
    for &Change { from, to, leader, reason } in changes {
        if from != known.0 {
            let (model, program) = (known.0.to_string(), from.to_string());
            found.push(Difference::different(id, "role before, in an event", model, program));
        }
        if (to, leader) == known {
            let words = format!("{}, which it was already", words(known));
            found.push(Difference::unexpected(id, "event", words));
        }
        let possible: Vec<_> = reasons.clone().collect();
        if !reasons.any(|name| name == reason) {
            let names = if possible.is_empty() { "none".into() } else { possible.join(" or ") };
            found.push(Difference::different(id, "reason", names, reason));
        }
        (known, told) = ((to, leader), told + 1);
    }
    if known != now {
        found.push(if told == 0 {
            Difference::missing(id, "event", format!("becomes {}", words(now)))
        } else {
            Difference::different(id, "role told in an event", words(now), words(known))
        });
    }
}

/// What differs between the messages that a node tells that it ignores and those that it must.
pub(crate) fn ignored(
    id: Id,
    program: &[(NodeId, &str)],
    expected: &[ExpectedReport],
    found: &mut Vec<Difference>,
) {
    let model = || expected.iter().filter_map(|told| told.ignored);
    if !model().eq(program.iter().copied()) {
        let words = |(from, cause): (NodeId, &str)| format!("ignores a message of {from}, {cause}");
        let model: Vec<String> = model().map(words).collect();
        let program: Vec<String> = program.iter().copied().map(words).collect();
        lists(id, "event", &model, &program, found);
    }
}

/// What differs from the order of effects, by the ranks of what a node has put out.
pub(crate) fn order(
    id: Id,
    ranks: impl Iterator<Item = usize> + Clone,
    found: &mut Vec<Difference>,
) {
    if !ranks.clone().is_sorted() {
        let words = |ranks: &[usize]| {
            let names = ["write", "message", "event", "wake-up"];
            ranks.iter().map(|&rank| names[rank]).collect::<Vec<_>>().join(", ")
        };
        let mut ranks: Vec<_> = ranks.collect();
        let is = words(&ranks);
        ranks.sort_unstable();
        found.push(Difference::different(id, "order of effects", words(&ranks), is));
    }
}
