//! When timers are due, as far as the clock of one node says it.

use super::{Difference, Judge, Vocabulary};
use crate::mapping::{ProcessView, Sides};
use crate::node::NodeView;
use crate::step::ExpectedRun;
use bellwether_core::trace::After;
use bellwether_engine::protocol::{Effect, MAX_TIMERS, Protocol as Specification, Timers};
use bellwether_engine::trace::plain;

/// For each of the specification's timers, in its order: a time. `None` if that is not known.
type Times = [Option<u64>; MAX_TIMERS];

/// What the steps so far say of deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deadlines {
    /// The time of the step before, and that of this one.
    before: Option<u64>,
    now: Option<u64>,
    /// When the timers are due that are armed.
    due: Times,
    /// How long they took when they were armed last.
    took: Times,
}

impl Deadlines {
    /// The next step is of this time.
    pub(super) fn step(&mut self, at: Option<u64>) {
        (self.before, self.now) = (self.now, at);
    }

    /// Whether time has passed since the step before, by a clock that was not set back.
    fn has_passed(&self) -> bool {
        self.before.zip(self.now).is_some_and(|(before, now)| before < now)
    }
}

/// What a step does to a timer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Nothing,
    Arms,
    /// It cancels it, or arms it as if it had been armed before.
    Other,
}

impl<T: Sides, V: Vocabulary<T>> Judge<'_, T, V> {
    /// A lease that counts from when it was asked for ends when that is due. No other step moves
    /// its end.
    pub(super) fn lasts(
        &self,
        view: &NodeView<T::Spec>,
        after: &After,
        run: &ExpectedRun<T>,
        found: &mut Vec<Difference>,
    ) {
        let (id, nodes) = (self.id, self.group.size);
        let of = ProcessView { id, nodes, process: &view.process, stable: &view.stable };
        let facts = (self.group.mapping.facts)(&of);
        let Some(lease) = facts.and_then(|facts| facts.lease).filter(|_| V::REASONS) else {
            return;
        };
        let (place, mut due) = (Timers::place::<T::Spec>, self.deadlines.due);
        let (at, told, mut renewed) = (place(lease), self.due(after), None);
        for effect in &run.effects {
            match *effect {
                Effect::Arm(timer) | Effect::Cancel(timer) => due[place(timer)] = None,
                Effect::ArmSince { timer, since } => {
                    due[place(timer)] = due[place(since)].take();
                    renewed = renewed.or((place(timer) == at).then_some(place(since)));
                }
                Effect::Persist(_) | Effect::Send { .. } => {}
            }
        }
        // What the step leaves alone has moved only if the clock was set between the two lines.
        let others = due.iter().zip(&told).enumerate().filter(|&(other, _)| other != at);
        let mut left_alone = others.filter_map(|(_, both)| (*both.0).zip(*both.1)).peekable();
        let is_witnessed = left_alone.peek().is_some();
        // What is asked for now ends no sooner than what was asked for before.
        let again = renewed.and_then(|since| told[since]).zip(due[at]);
        if left_alone.any(|(model, program)| model != program)
            || again.is_some_and(|(again, before)| again < before)
            || !(renewed.is_some() || is_witnessed)
        {
            return;
        }
        if let (Some(model), Some(program)) = (due[at], told[at])
            && model != program
            && (is_witnessed || renewed.is_some_and(|since| self.is_longer(since, model, program)))
        {
            let (model, program) = (model.to_string(), program.to_string());
            found.push(Difference::different(id, "end of the lease", model, program));
        }
    }

    /// Whether a lease that counts from when a timer was armed ends too late, however the clock was
    /// set between the two lines: later than before by more than the clock shows, or as if it
    /// counted from now.
    fn is_longer(&self, since: usize, model: u64, program: u64) -> bool {
        let Deadlines { before: Some(before), now: Some(now), .. } = self.deadlines else {
            return false;
        };
        let passed = now.saturating_sub(before);
        program > model && (program - model > passed || self.counts_from_now(since, program))
    }

    /// When the timers are due that are armed after a step, as far as the log says.
    fn due(&self, after: &After) -> Times {
        let mut due = Times::default();
        for (name, at) in after.armed.iter().flatten() {
            if let Some(timer) = self.named(name) {
                due[Timers::place::<T::Spec>(timer)] = Some(*at);
            }
        }
        due
    }

    /// A timer that the step arms anew is due later than it was. One that it leaves alone is not
    /// due as late as if it had been armed now.
    pub(super) fn deadlines(
        &self,
        after: &After,
        run: &ExpectedRun<T>,
        found: &mut Vec<Difference>,
    ) {
        if !V::REASONS || !self.deadlines.has_passed() {
            return;
        }
        let (due, told, does) = (self.deadlines.due, self.due(after), does(run));
        for (at, row) in T::Spec::TIMERS.iter().enumerate() {
            let (Some(old), Some(new)) = (due[at], told[at]) else { continue };
            let is_kept = does[at] == Does::Arms && new == old;
            let is_anew = does[at] == Does::Nothing && new != old && self.counts_from_now(at, new);
            if !is_kept && !is_anew {
                continue;
            }
            let name = plain(&row.timer);
            let (anew, stays) = (format!("{name} is armed now"), format!("{name} stays armed"));
            found.push(if is_kept {
                Difference::missing(self.id, "timer", anew).but(stays)
            } else {
                Difference::unexpected(self.id, "timer", anew).but(stays)
            });
        }
    }

    /// Whether this deadline is that of a timer which is armed now, and takes as long as it took
    /// last.
    fn counts_from_now(&self, timer: usize, due: u64) -> bool {
        let Deadlines { now, took, .. } = self.deadlines;
        let left = now.and_then(|now| due.checked_sub(now));
        left.is_some() && left == took[timer]
    }

    /// Takes note of how long the timers take that a step arms.
    pub(super) fn note_times(&mut self, after: &After, run: &ExpectedRun<T>) {
        let told = self.due(after);
        let Deadlines { now, took, .. } = &mut self.deadlines;
        for (at, does) in does(run).into_iter().enumerate() {
            if does == Does::Arms {
                took[at] = told[at].zip(*now).and_then(|(due, now)| due.checked_sub(now));
            }
        }
    }

    /// Takes note of the deadlines after a step, judged or not.
    pub(super) fn note_deadlines(&mut self, after: &After) {
        self.deadlines.due = self.due(after);
    }
}

/// What a step does to each of the specification's timers.
fn does<T: Sides>(run: &ExpectedRun<T>) -> [Does; MAX_TIMERS] {
    let mut does = [Does::Nothing; MAX_TIMERS];
    for effect in &run.effects {
        let (timer, what) = match *effect {
            Effect::Arm(timer) => (timer, Does::Arms),
            Effect::Cancel(timer) => (timer, Does::Other),
            Effect::ArmSince { timer, since } => {
                does[Timers::place::<T::Spec>(since)] = Does::Other;
                (timer, Does::Other)
            }
            Effect::Persist(_) | Effect::Send { .. } => continue,
        };
        does[Timers::place::<T::Spec>(timer)] = what;
    }
    does
}
