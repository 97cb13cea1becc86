//! The comparison of a step, and the checks that hold of every step whatever the process does.

use super::{
    Difference, Differs, Judge, Judged, MORE_TIMERS, PANICS, StepOf, TOO_LARGE, Vocabulary,
};
use crate::compare::{self, Change, Expected, events, ignored, order, persists, sends};
use crate::mapping::{ProcessView, Sides, SpecEvent, Stable, process_id};
use crate::node::NodeView;
use bellwether_core::protocol::Role;
use bellwether_core::trace::{After, Out};
use bellwether_engine::protocol::{Id, Protocol as Specification, Timers};
use bellwether_engine::trace::plain;

impl<T: Sides, V: Vocabulary<T>> Judge<'_, T, V> {
    /// Checks what holds of every step: effects have an order, epochs grow, and only a leader has a
    /// lease, which ends when a timer is due.
    pub(super) fn checks(&self, step: &StepOf<T, V>) -> Judged {
        let mut found = Vec::new();
        let ranks = step.out.iter().map(|out| match out {
            Out::Persist(_) => 0,
            Out::Send(_) => 1,
            Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => 2,
        });
        order(self.id, ranks, &mut found);
        epochs(self.id, self.epoch, &step.after, &mut found);
        if let (Some(lease), Some(armed), true) = (&step.after.lease, &step.after.armed, V::REASONS)
            && !armed.iter().any(|(_, due)| *due == lease.until)
        {
            let (model, program) = ("when a timer is due".to_owned(), lease.until.to_string());
            found.push(Difference::different(self.id, "end of the lease", model, program));
        }
        if found.is_empty() {
            return Ok(());
        }
        Err(Box::new(Differs { found, ..Differs::default() }))
    }

    /// The timers that are armed after a step, if the log says. `None` if two of them are one in
    /// the specification.
    pub(super) fn armed(&mut self, after: &After) -> Result<Option<Armed>, Box<Differs>> {
        let Some(names) = &after.armed else { return Ok(Some(Armed::Untold)) };
        let mut armed = Timers::NONE;
        for (name, _) in names {
            let Some(timer) = self.timer(name) else {
                let words = format!("{name}, which is no timer");
                return Err(Difference::unexpected(self.id, "timer", words).into());
            };
            if armed.contains::<T::Spec>(timer) {
                return Ok(None);
            }
            armed = armed.with::<T::Spec>(timer);
        }
        let mapping = self.group.mapping;
        let watches = |timer: &_| {
            (mapping.more.events.detects)(*timer).is_some_and(|node| after.watched.contains(&node))
        };
        let watched = T::Spec::TIMERS.iter().map(|row| row.timer).filter(watches);
        Ok(Some(Armed::Told(watched.fold(armed, Timers::with::<T::Spec>))))
    }

    /// The timers that are left if one expired too late for anything to follow: when several
    /// deadlines have passed, nothing follows from those that
    /// [one that is checked first](crate::mapping::Durations::checked_first) forbids. That one has
    /// to expire next, which tells this from a step that the node has left out.
    pub(super) fn left_in_vain(
        &mut self,
        step: &StepOf<T, V>,
        happening: Option<SpecEvent<T::Spec>>,
        armed: Armed,
    ) -> Result<Option<Timers>, Box<Differs>> {
        let checked = self.group.mapping.more.durations.checked_first;
        let expired = match happening {
            Some(SpecEvent::Expire(timer)) => Some(timer),
            _ => None,
        };
        if expired.is_some_and(|timer| checked.contains(&timer)) {
            self.owed = None;
            return Ok(None);
        }
        let first = checked.iter().find(|&&first| self.view.timers.contains::<T::Spec>(first));
        if let (Some(expired), Some(&first)) = (expired, first) {
            let left = self.view.timers.without::<T::Spec>(expired);
            let told = match armed {
                Armed::Told(armed) => armed == self.group.mapping.compared(left),
                Armed::Untold => true,
            };
            let mut run = Expected::nothing(&self.view);
            let rules = self.group.mapping.log_rules();
            run.happens(self.group, rules, self.id, SpecEvent::Expire(expired));
            if step.out.is_empty() && told && !run.effects.is_empty() {
                self.owed = Some(first);
                return Ok(Some(left));
            }
        }
        match self.owed.take() {
            Some(owed) => {
                let words = format!("{}, before which a timer expired in vain", plain(&owed));
                Err(Difference::missing(self.id, "expiry", words).into())
            }
            None => Ok(None),
        }
    }

    /// Compares the node with its process after a step, of which the translation is at hand.
    pub(super) fn compare(
        &self,
        step: &StepOf<T, V>,
        happening: Option<SpecEvent<T::Spec>>,
        run: &Expected<T::Spec>,
        armed: Armed,
    ) -> Vec<Difference> {
        let (id, mapping, size) = (self.id, self.group.mapping, self.group.size);
        let mut found = Vec::new();
        sends::<T::Spec>(id, size, &self.sent, &run.effects, &mut found);
        self.writes(run, &mut found);
        let After { role, leader, .. } = step.after;
        let view = NodeView { role, leader, ..run.view };
        compare::belief(mapping, id, &view, run, &mut found);
        self.facts(&view, &step.after, &mut found);
        self.deadlines(happening, &step.after, run, &mut found);
        if let Armed::Told(armed) = armed {
            let model = mapping.compared(view.timers);
            compare::armed::<T::Spec>(id, model, armed, &mut found);
        }
        if !V::REASONS {
            return found;
        }
        let views = [(self.view.role, self.view.leader), (role, leader)];
        let changes = step.out.iter().filter_map(|out| match out {
            Out::Role { from, to, leader, reason } => {
                Some(Change { from: *from, to: *to, leader: *leader, reason: reason.as_str() })
            }
            _ => None,
        });
        events(id, views, &changes.collect::<Vec<_>>(), &run.told, &mut found);
        let causes = step.out.iter().filter_map(|out| match out {
            Out::Ignored { from, cause } => Some((*from, cause.as_str())),
            _ => None,
        });
        ignored(id, &causes.collect::<Vec<_>>(), &run.told, &mut found);
        found
    }

    /// Compares what the node tells of its epoch and its lease, as far as the log says it. The
    /// lease is over when its timer is due.
    fn facts(&self, view: &NodeView<T::Spec>, after: &After, found: &mut Vec<Difference>) {
        let (id, nodes) = (self.id, self.group.size);
        let of = ProcessView { id, nodes, process: &view.process, stable: &view.stable };
        let Some(facts) = (self.group.mapping.facts)(&of) else { return };
        if let (Some(kind), Some(epoch)) = (self.group.mapping.more.counters.epochs, after.epoch) {
            let program = self.numbers.name(kind, epoch);
            let words = |of: &Option<u64>| of.map_or("none".to_owned(), |epoch| epoch.to_string());
            compare::same(id, "epoch", [facts.epoch, Some(program)], words, found);
        }
        if !V::REASONS {
            return;
        }
        let lease = facts.lease.filter(|&timer| view.timers.contains::<T::Spec>(timer));
        if let (None, Some(told)) = (lease, &after.lease) {
            let words = format!("of epoch {}, where none lasts", told.epoch);
            found.push(Difference::unexpected(id, "lease", words));
        }
        let ends = |(name, _): &&(String, u64)| self.named(name) == lease;
        if let (Some(told), Some(armed)) = (&after.lease, &after.armed)
            && let Some((_, due)) = armed.iter().find(ends)
            && *due != told.until
        {
            let (model, program) = (due.to_string(), told.until.to_string());
            found.push(Difference::different(id, "end of the lease", model, program));
        }
    }

    /// Compares the writes. A program may write again what reads as the same, such as a duration.
    fn writes(&self, run: &Expected<T::Spec>, found: &mut Vec<Difference>) {
        let mut known: Result<Stable<T>, String> = Ok(self.view.stable);
        let mut anew = Vec::with_capacity(self.written.len());
        for written in &self.written {
            if *written != known {
                known.clone_from(written);
                anew.push(written.clone());
            }
        }
        let mut differ = Vec::new();
        persists::<T::Spec>(self.id, &anew, &run.effects, &mut differ);
        if !differ.is_empty() {
            persists::<T::Spec>(self.id, &self.written, &run.effects, found);
        }
    }

    /// Returns whether what it shows after a step may say all of its process again: it led before,
    /// or it has just granted a leader its epoch, which it follows.
    pub(super) fn may_resume(&self, before: Role, step: &StepOf<T, V>) -> bool {
        let grants = step.out.iter().any(|out| matches!(out, Out::Persist(_)));
        let has_heard = grants && step.after.leader.is_some();
        match self.doubt {
            Some(MORE_TIMERS) => before == Role::Leader || has_heard,
            Some(TOO_LARGE | PANICS) => has_heard,
            _ => false,
        }
    }

    /// Goes on with the process that what it shows stands for.
    pub(super) fn resume(&mut self, after: &After) {
        let mapping = self.group.mapping;
        if after.role != Role::Follower || !self.kept.known {
            return;
        }
        let Ok(Some(Armed::Told(timers))) = self.armed(after) else { return };
        let latest = self.kept.latest().cloned();
        self.restart_numbers(latest.as_ref());
        let stable = self.read(latest.as_ref());
        let (Some(stable), false) = (stable, self.numbers.take_misfit()) else { return };
        let leader = after.leader.and_then(process_id);
        let before = &self.view.process;
        let process = (mapping.more.logs.after_leading)(before, leader, &stable, timers);
        let Some(process) = process else { return };
        self.view = NodeView { up: true, process, stable, timers, ..self.view };
        let NodeView { process, stable, .. } = &mut self.view;
        self.numbers.settle(self.group.mapping, process, stable);
        (self.doubt, self.owed) = (None, None);
    }
}

/// Epochs grow, and only a leader has a lease.
fn epochs(id: Id, before: Option<u64>, after: &After, found: &mut Vec<Difference>) {
    let After { role, epoch, lease, .. } = after;
    if let (Some(epoch), Some(before)) = (*epoch, before)
        && epoch < before
    {
        let (model, program) = (format!("at least {before}"), epoch.to_string());
        found.push(Difference::different(id, "epoch", model, program));
    }
    if let Some(lease) = lease {
        let words = |epoch: u64| format!("of epoch {epoch}");
        match epoch {
            _ if *role != Role::Leader => {
                let words = format!("{}, and the node does not lead", words(lease.epoch));
                found.push(Difference::unexpected(id, "lease", words));
            }
            Some(epoch) if *epoch != lease.epoch => {
                let (model, program) = (words(*epoch), words(lease.epoch));
                found.push(Difference::different(id, "lease", model, program));
            }
            _ => {}
        }
    }
}

/// The timers that are armed, as far as a log says it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Armed {
    /// Nothing.
    Untold,
    /// These are.
    Told(Timers),
}
