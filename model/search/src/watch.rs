//! How a long computation tells how far it is, and finds out that it is to end.

use crate::limits::{Limits, Reason};
use crate::progress::{Event, Phase, Progress};
use std::time::{Duration, Instant};

/// How many steps a computation takes between two looks at the clock.
const BETWEEN_LOOKS: u32 = 1 << 16;

/// The observer of a long computation on states that were searched: tells how far it is, and looks
/// whether it is to end.
pub struct Watch<'a> {
    limits: Limits,
    started: Instant,
    at: Progress,
    on_event: Option<&'a mut (dyn FnMut(Event) + Send)>,
    steps: u32,
}

impl Watch<'static> {
    /// Returns an observer that tells nothing and ends nothing.
    #[must_use]
    pub fn idle() -> Self {
        let at = Progress {
            phase: Phase::States,
            distinct: 0,
            generated: 0,
            levels: None,
            frontier: None,
            elapsed: Duration::ZERO,
        };
        Watch { limits: Limits::NONE, started: Instant::now(), at, on_event: None, steps: 0 }
    }
}

impl<'a> Watch<'a> {
    /// Returns the observer of a search that has come so far and began `at.elapsed` ago.
    pub fn new(limits: Limits, at: Progress, on_event: &'a mut (dyn FnMut(Event) + Send)) -> Self {
        let now = Instant::now();
        let started = now.checked_sub(at.elapsed).unwrap_or(now);
        Watch { limits, started, at, on_event: Some(on_event), steps: 0 }
    }

    /// Begins another phase, and tells of it.
    ///
    /// # Errors
    /// As [`Watch::step`].
    pub fn begin(&mut self, phase: Phase) -> Result<(), Reason> {
        self.at.phase = phase;
        self.now()
    }

    /// Tells that a property is found to be violated.
    pub fn violated(&mut self, property: &'static str, steps: Option<usize>) {
        self.tell(Event::Violated { property, steps });
    }

    fn tell(&mut self, event: Event) {
        if let Some(on_event) = &mut self.on_event {
            on_event(event);
        }
    }

    /// Counts a step of the computation, and is to be called at every one.
    ///
    /// # Errors
    /// The reason, if the computation is to end.
    #[inline]
    pub fn step(&mut self) -> Result<(), Reason> {
        self.steps += 1;
        if self.steps < BETWEEN_LOOKS { Ok(()) } else { self.now() }
    }

    /// To be called before so many bytes are taken together: the system may end a program that
    /// takes more than there are.
    ///
    /// # Errors
    /// If the limits allow less in all.
    pub fn may_take(&self, bytes: u64) -> Result<(), Reason> {
        match self.limits.memory {
            Some(most) if bytes > most => Err(Reason::Memory),
            _ => Ok(()),
        }
    }

    /// The same as a step, whatever was done since the last step takes long.
    pub fn now(&mut self) -> Result<(), Reason> {
        self.steps = 0;
        self.at.elapsed = self.started.elapsed();
        self.tell(Event::Progress(self.at));
        // The states have all been found, and the most memory may have been used for them.
        let limits = Limits { states: None, memory: None, ..self.limits };
        let no_room = || (!self.limits.leaves_room_for(0)).then_some(Reason::Memory);
        limits.exceeded(&self.at).or_else(no_room).map_or(Ok(()), Err)
    }
}
