//! What a search tells while it goes on, and how it finds out that it is to end.

use super::{Limits, Reason};
use std::fmt;
use std::time::{Duration, Instant};

/// The events of a search that its caller is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The search has come this far.
    Progress(Progress),
    /// A property is violated. Each is told once. The exact engine tells safety in the order of
    /// the levels in which the violations were found, so shorter ones come first.
    Violated {
        /// The name of the property.
        property: &'static str,
        /// The number of steps of the property's shortest counterexample, those of a cycle left
        /// out; `None` if no execution shows it, or the engine does not know them yet.
        steps: Option<usize>,
    },
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The phase: what is done at present.
    pub phase: Phase,
    /// The number of distinct states reached.
    pub distinct: u64,
    /// The number of states generated, repeats included.
    pub generated: u64,
    /// The number of breadth-first levels that are searched to their end, where the engine tells.
    pub levels: Option<usize>,
    /// The number of states reached and not yet expanded, where the engine tells.
    pub frontier: Option<u64>,
    /// The time since the search began.
    pub elapsed: Duration,
}

/// The phases of a search, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The other processes of the search are waited for.
    Meeting,
    /// The reachable states are searched.
    States,
    /// The reachable states are searched from the beginning once more, for this reason.
    Again(&'static str),
    /// Shortest ways to the violations are looked for.
    Counterexamples,
    /// An execution that violates the liveness property of this name is looked for.
    Liveness(&'static str),
    /// What executions cost at most is computed.
    Bounds,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Meeting => f.write_str("waiting for the other processes"),
            Phase::States => f.write_str("states"),
            Phase::Again(why) => write!(f, "states once more, {why}"),
            Phase::Counterexamples => f.write_str("counterexamples"),
            Phase::Liveness(property) => write!(f, "liveness of {property}"),
            Phase::Bounds => f.write_str("bounds"),
        }
    }
}

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
    pub(super) fn may_take(&self, bytes: u64) -> Result<(), Reason> {
        match self.limits.memory {
            Some(most) if bytes > most => Err(Reason::Memory),
            _ => Ok(()),
        }
    }

    /// The same as a step, whatever was done since the last step takes long.
    pub(super) fn now(&mut self) -> Result<(), Reason> {
        self.steps = 0;
        self.at.elapsed = self.started.elapsed();
        self.tell(Event::Progress(self.at));
        // The states have all been found, and the most memory may have been used for them.
        let limits = Limits { states: None, memory: None, ..self.limits };
        let no_room = || (!self.limits.leaves_room_for(0)).then_some(Reason::Memory);
        limits.exceeded(&self.at).or_else(no_room).map_or(Ok(()), Err)
    }
}
