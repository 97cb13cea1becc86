//! What is told of a line that is rejected.

use super::{Differs, Lines, Mapping, Names, Run, Source, Stop, Vocabulary};
use crate::divergence::{Divergence, LogLine};
use bellwether_core::trace::{Deed, Happened, Received};
use bellwether_engine::trace::{Trace, label as label_of};

/// The most steps that the diagram has.
const STEPS: usize = 12;

impl<M: Mapping, V: Vocabulary<M>> Run<'_, M, V> {
    /// The line that was read last in a log is rejected.
    pub(super) fn reject(&self, at: usize, happened: String, differs: Differs) -> Box<Divergence> {
        let Source { lines, names, .. } = &self.sources[at];
        let depends = self.arrived.map(|(from, id, line)| {
            let sender = self.sources.iter().find(|source| source.at == from);
            let log = sender.map_or("?", |source| source.lines.name());
            let node = self.places[from];
            format!("message {id} of node {node}: line {line} of {log}")
        });
        let last = self.recents.trace(self.mapping, STEPS);
        rejection((lines, names), happened, differs, depends, last)
    }

    /// The same, to stop there.
    pub(super) fn stop(&self, at: usize, happened: String, differs: Differs) -> Stop {
        Stop::Rejected(self.reject(at, happened, differs))
    }

    /// What happened to a node, in words.
    pub(super) fn happened(
        &self,
        at: usize,
        happened: &Happened<V::Durable, V::Message>,
    ) -> String {
        match happened {
            Happened::Boot(_) => "the node starts".to_owned(),
            Happened::Receive(Received { from, message, .. }) => {
                format!("{} of node {from} arrives", self.label(at, message.clone()))
            }
            Happened::Expire(name) => format!("the timer {name} expires"),
            Happened::Suspect(node) => format!("node {node} is suspected"),
            Happened::Request(request) => format!("the node is asked: {request:?}"),
        }
    }

    /// A message that a node gets, as diagrams have it.
    pub(super) fn label(&self, at: usize, message: V::Message) -> String {
        let message = self.sources[at].names.message::<M, V>(message);
        label_of(&V::message(self.mapping, message, false, &mut |_, number| number))
    }
}

/// A line is rejected that depends on a message, with the last steps.
fn rejection(
    (lines, names): (&Lines, &Names),
    happened: String,
    differs: Differs,
    depends: Option<String>,
    last: Trace,
) -> Box<Divergence> {
    let Differs { found, before, would, guards, rules } = differs;
    let before = before + &names.words();
    let line = LogLine { log: lines.name().to_owned(), line: lines.line() };
    Box::new(Divergence {
        happened,
        rules,
        before: before.trim_start_matches("; ").to_owned(),
        expected: would,
        guards,
        depends: depends.into_iter().collect(),
        ..Divergence::in_log(line, found, last)
    })
}

/// The name of what happened.
pub(super) fn kind<D, L>(happened: &Happened<D, L>) -> &'static str {
    match happened {
        Happened::Boot(_) => "boot",
        Happened::Receive(_) => "receive",
        Happened::Expire(_) => "expire",
        Happened::Suspect(_) => "suspect",
        Happened::Request(_) => "request",
    }
}

/// What was done for a node, in words.
pub(super) fn deed(deed: &Deed) -> String {
    match deed {
        Deed::Saving => "something is being saved".to_owned(),
        Deed::Saved => "something was saved".to_owned(),
        Deed::Sent(id) => format!("message {id} is given to the network"),
        Deed::Told { leads, .. } => {
            let leads = if *leads { "leads" } else { "does not lead" };
            format!("the program is told that its node {leads}")
        }
        Deed::Ended => "the node takes part no longer".to_owned(),
    }
}
