//! When timers are due, by the clock of one node.

use super::{Difference, Expected, Judge, Judged, Vocabulary};
use crate::mapping::{ProcessView, Sides, SpecEvent, SpecTimer, Waits};
use bellwether_core::trace::{After, Start};
use bellwether_engine::protocol::{Effect, MAX_TIMERS, Protocol as Specification, Timers};
use bellwether_engine::trace::plain;

/// For each of the specification's timers, in its order: a time. `None` if that is not known.
type Times = [Option<u64>; MAX_TIMERS];

/// The deadlines that the lines of one start tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deadlines {
    /// The time of the step.
    now: Option<u64>,
    /// When the timers are due that are armed.
    due: Times,
    /// How long each timer takes.
    durations: Times,
}

impl Deadlines {
    /// Lines are missing here.
    pub(super) fn forget(&mut self) {
        *self = Deadlines { durations: self.durations, ..Deadlines::default() };
    }
}

impl<T: Sides, V: Vocabulary<T>> Judge<'_, T, V> {
    /// Returns what is known before the first step after this start.
    pub(super) fn first_deadlines(&mut self, start: &Start) -> Deadlines {
        let mut durations = Times::default();
        for (name, &takes) in &start.durations {
            if let Some(timer) = self.timer(name) {
                durations[Timers::place::<T::Spec>(timer)] = Some(takes);
            }
        }
        Deadlines { durations, ..Deadlines::default() }
    }

    /// The next step is of this time: within one start, a clock is never set back.
    pub(super) fn passes(&mut self, at: Option<u64>) -> Judged {
        if let (Some(before), Some(now)) = (self.deadlines.now, at)
            && now < before
        {
            let (model, program) = (format!("at least {before}"), now.to_string());
            return Err(Difference::different(self.id, "time", model, program).into());
        }
        self.deadlines.now = at;
        Ok(())
    }

    /// A timer that the step arms takes as long as the start says, one that counts from when
    /// another was armed is due when that was, and one that the step leaves alone stays. No timer
    /// expires before it is due.
    pub(super) fn deadlines(
        &self,
        happening: Option<SpecEvent<T::Spec>>,
        after: &After,
        run: &Expected<T::Spec>,
        found: &mut Vec<Difference>,
    ) {
        if !V::REASONS {
            return;
        }
        let Deadlines { now, mut due, durations } = self.deadlines;
        let (place, told) = (Timers::place::<T::Spec>, self.due(after));
        // A request says when it comes, and how long some timers take.
        let is_asked = |timer| {
            let is_unknown = durations[place(timer)].is_none();
            let is_from_outside = self.group.mapping.is_from_outside(timer);
            is_from_outside || (is_unknown && !self.start.durations.is_empty())
        };
        if let Some(SpecEvent::Expire(timer)) = happening
            && let (Some(now), Some(at)) = (now, due[place(timer)].take())
            && now < at
            && !is_asked(timer)
            && !self.waits_for_others(timer)
        {
            let words = format!("{}, which is due at {at}, and not at {now}", plain(&timer));
            found.push(Difference::unexpected(self.id, "expiry", words));
        }
        for effect in &run.effects {
            match *effect {
                Effect::Arm(timer) => {
                    let takes = durations[place(timer)];
                    due[place(timer)] =
                        now.zip(takes).map(|(now, takes)| now.saturating_add(takes));
                }
                Effect::Cancel(timer) => due[place(timer)] = None,
                Effect::ArmSince { timer, since } => due[place(timer)] = due[place(since)].take(),
                Effect::Persist(_) | Effect::Send { .. } => {}
            }
        }
        for (at, row) in T::Spec::TIMERS.iter().enumerate() {
            let (Some(model), Some(program)) = (due[at], told[at]) else { continue };
            if model == program || is_asked(row.timer) {
                continue;
            }
            let is_early = program < model && now == Some(program);
            if !(is_early && self.waits_for_others(row.timer)) {
                let what = format!("deadline of {}", plain(&row.timer));
                let (model, program) = (model.to_string(), program.to_string());
                found.push(Difference::different(self.id, what, model, program));
            }
        }
    }

    /// Returns whether a timer may run only because others may still send something. When all of
    /// them are gone, it is brought forward.
    fn waits_for_others(&self, timer: SpecTimer<T>) -> bool {
        let (id, nodes, view) = (self.id, self.group.size, &self.view);
        let of = ProcessView { id, nodes, process: &view.process, stable: &view.stable };
        (self.group.mapping.facts)(&of).is_none_or(|facts| match facts.waits_for {
            Waits::Unsaid => true,
            Waits::Nothing => false,
            Waits::For(of, _) => of == timer,
        })
    }

    /// Returns whether a step arms a timer that is told, and the start does not say how long any
    /// takes.
    pub(super) fn is_untimed(&self, after: &After, run: &Expected<T::Spec>) -> bool {
        let arms = |effect: &Effect<T::Spec>| matches!(effect, Effect::Arm(_));
        let is_told = after.armed.as_ref().is_some_and(|armed| !armed.is_empty());
        let is_unknown = V::REASONS && self.start.durations.is_empty();
        is_unknown && is_told && run.effects.iter().any(arms)
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

    /// Takes note of the deadlines after a step, judged or not.
    pub(super) fn note_deadlines(&mut self, after: &After) {
        self.deadlines.due = self.due(after);
    }
}
