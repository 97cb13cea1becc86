//! What a protocol says of its timers: one row for each.

use super::{Id, Protocol, View};

/// A duration that a protocol's timers take in a timed world. Its number of ticks is part of the
/// scenario.
#[derive(Debug, PartialEq, Eq)]
pub struct Duration {
    /// The name of the duration, as it stands behind `--` on the command line and in the scenario.
    pub name: &'static str,
    /// The meaning of the duration: what takes that long, in half a sentence.
    pub meaning: &'static str,
    /// The place of the duration among those of the protocol: behind those that it depends on. In
    /// this order the smallest that are enough are looked for.
    pub order: u8,
    /// The number of ticks that are enough for the default rules where a message takes at most one
    /// tick, and processing no time, as `tune` finds them; `None` if that was not looked for.
    pub enough: Option<u8>,
}

/// The way in which a timer measures time, and the duration that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The timer is armed for exactly that long, as a time-out or a heartbeat is.
    Fixed(&'static Duration),
    /// The timer notices what [may time out](Protocol::may_time_out), at some moment within that
    /// time: a failure detector, whatever it is made of.
    Detector(&'static Duration),
}

impl Wait {
    /// Returns the name of the duration.
    #[must_use]
    pub const fn duration(self) -> &'static str {
        match self {
            Wait::Fixed(duration) | Wait::Detector(duration) => duration.name,
        }
    }
}

/// The time that a fixed timer takes beyond its duration, so that time-outs can be set apart.
pub struct Stagger<P> {
    /// The duration that is added.
    pub by: &'static Duration,
    /// The number of times it is added for this process, among the number of those that elect.
    pub times: fn(&P, Id, usize) -> u8,
}

/// A test whether the expiry of a process's periodic timer would tell no process anything new.
pub type NoNews<P> = for<'a> fn(&P, &View<'a, P>, Id) -> bool;

/// The row of one timer: all that is said of it.
///
/// ```
/// # use bellwether_engine::protocol::{Duration, TimerRow};
/// # use bellwether_protocols::bully::{Bully, Timer};
/// static T_ELEC: Duration = Duration {
///     name: "t-elec",
///     meaning: "how long a candidate waits for an OK",
///     order: 0,
///     enough: Some(3),
/// };
/// const ROW: TimerRow<Bully> = TimerRow::fixed(Timer::Coordinator, &T_ELEC)
///     .armed_if(|rules| rules.t_coord);
/// # assert_eq!(ROW.wait(&Bully::BASELINE).map(|wait| wait.duration()), Some("t-elec"));
/// ```
pub struct TimerRow<P: Protocol> {
    /// The timer that this row is about.
    pub timer: P::Timer,
    /// The duration of the timer in a timed world; `None` if the protocol has no timed worlds.
    pub duration: Option<&'static Duration>,
    /// The test whether by these rules some process ever arms the timer.
    pub armed: fn(&P) -> bool,
    /// The test whether by these rules the timer is a failure detector.
    pub detects: fn(&P) -> bool,
    /// The test whether the timer takes a random time, drawn anew whenever it is armed. One that is
    /// due again and again then expires again and again, however often others come first: it is
    /// strongly fair.
    pub random: fn(&P) -> bool,
    /// The stagger: by how much longer some processes wait.
    pub stagger: Option<Stagger<P>>,
    /// The test when the expiry of a periodic timer tells nothing new; `None` if the timer waits
    /// for others. A periodic timer paces something that repeats, such as a heartbeat. It never
    /// expires "too early", so it needs no false suspicion to do so. A world in which only expiries
    /// without news and faults are left is [quiescent](crate::world::World::is_quiescent).
    pub periodic: Option<NoNews<P>>,
    /// The test whether a periodic timer waits for another process all the same, while its process
    /// is in this state.
    pub waits: Option<fn(&P::Process) -> bool>,
    /// Whether this is no timer but an outcome that a process may [choose](super::Local::choose).
    pub outcome: bool,
}

impl<P: Protocol> TimerRow<P> {
    /// Returns the row of a timer of a protocol that has no timed worlds.
    #[must_use]
    pub const fn untimed(timer: P::Timer) -> Self {
        TimerRow {
            timer,
            duration: None,
            armed: |_| true,
            detects: |_| false,
            random: |_| false,
            stagger: None,
            periodic: None,
            waits: None,
            outcome: false,
        }
    }

    /// Returns the row of an outcome that a process may [choose](super::Local::choose). It takes no
    /// time, and may always be chosen: [`Protocol::may_time_out`] is not asked.
    #[must_use]
    pub const fn outcome(timer: P::Timer) -> Self {
        let mut row = Self::untimed(timer);
        row.outcome = true;
        row
    }

    /// Returns the row of a timer that is armed for exactly this long.
    #[must_use]
    pub const fn fixed(timer: P::Timer, duration: &'static Duration) -> Self {
        let mut row = Self::untimed(timer);
        row.duration = Some(duration);
        row
    }

    /// Returns the row of a failure detector that notices within this time.
    #[must_use]
    pub const fn detector(timer: P::Timer, duration: &'static Duration) -> Self {
        Self::fixed(timer, duration).detects_if(|_| true)
    }

    /// Returns the row of a timer that is only by some rules ever armed.
    #[must_use]
    pub const fn armed_if(mut self, armed: fn(&P) -> bool) -> Self {
        self.armed = armed;
        self
    }

    /// Returns the row of a timer that by some rules is a failure detector.
    #[must_use]
    pub const fn detects_if(mut self, detects: fn(&P) -> bool) -> Self {
        self.detects = detects;
        self
    }

    /// Returns the row of a timer that by some rules takes a random time, or of an outcome that by
    /// some rules is chosen at random: one that is possible again and again is chosen in the end.
    #[must_use]
    pub const fn random_if(mut self, random: fn(&P) -> bool) -> Self {
        self.random = random;
        self
    }

    /// Returns the row of a timer for which some processes wait longer.
    #[must_use]
    pub const fn staggered(
        mut self,
        by: &'static Duration,
        times: fn(&P, Id, usize) -> u8,
    ) -> Self {
        self.stagger = Some(Stagger { by, times });
        self
    }

    /// Returns the row of a timer that paces something that repeats.
    #[must_use]
    pub const fn periodic(mut self, no_news: NoNews<P>) -> Self {
        self.periodic = Some(no_news);
        self
    }

    /// Returns the row of a timer that in some states of its process waits for another all the
    /// same.
    #[must_use]
    pub const fn waits_if(mut self, waits: fn(&P::Process) -> bool) -> Self {
        self.waits = Some(waits);
        self
    }

    /// Returns how the timer measures time in a timed world; `None` if by these rules no process
    /// ever arms it.
    #[must_use]
    pub fn wait(&self, rules: &P) -> Option<Wait> {
        let duration = self.duration.filter(|_| (self.armed)(rules))?;
        Some(if (self.detects)(rules) { Wait::Detector(duration) } else { Wait::Fixed(duration) })
    }

    /// Returns whether the timer waits for others while its process is in this state, rather than
    /// pacing something that repeats.
    #[must_use]
    pub fn waits_for_others(&self, process: &P::Process) -> bool {
        self.periodic.is_none() || self.waits.is_some_and(|waits| waits(process))
    }

    /// Whether by these rules it is ever armed for a fixed time while it waits for others.
    pub(crate) fn is_time_out(&self, rules: &P) -> bool {
        let waits = self.periodic.is_none() || self.waits.is_some();
        waits && matches!(self.wait(rules), Some(Wait::Fixed(_)))
    }
}

/// Returns the row of `timer`.
///
/// # Panics
/// If the protocol has no row for it.
#[must_use]
pub fn row<P: Protocol>(timer: P::Timer) -> &'static TimerRow<P> {
    let found = P::TIMERS.iter().find(|row| row.timer == timer);
    found.expect("Protocol::TIMERS has a row for every timer")
}

/// Returns the durations that a protocol's timers take, each once, in their order.
#[must_use]
pub fn durations<P: Protocol>() -> Vec<&'static Duration> {
    let taken = P::TIMERS.iter().flat_map(|row| {
        row.duration.into_iter().chain(row.stagger.iter().map(|stagger| stagger.by))
    });
    once(taken.collect())
}

/// Each of these once, in their order.
fn once(mut durations: Vec<&'static Duration>) -> Vec<&'static Duration> {
    durations.sort_by_key(|duration| (duration.order, duration.name));
    durations.dedup();
    durations
}

/// Returns the number of ticks that is enough of each duration, by name, as far as that was looked
/// for.
#[must_use]
pub fn enough<P: Protocol>() -> Vec<(&'static str, u8)> {
    let enough = |duration: &Duration| Some((duration.name, duration.enough?));
    durations::<P>().into_iter().filter_map(enough).collect()
}
