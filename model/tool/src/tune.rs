//! How long time-outs must be: the smallest durations that keep a property of a timed world.
//!
//! Perfect timing assumes that time-outs are long enough. This finds out how long that is, for a
//! given largest message delay `Tm` and processing time `Tp`, by checking one world after the
//! other. Nothing is assumed about what happens between: every length from one tick up is checked
//! until one keeps the property, so what is found is the smallest, and the one below is violated.
//! It also assumes that nothing is repeated too soon, which is checked with what was found.

use crate::report::words::Names;
use bellwether_engine::check::{
    self, CheckError, Counterexample, Event, Limits, Options, Phase, Progress, Reason, Report,
    Verdict,
};
use bellwether_engine::machine::{DynProtocol, TimerRules};
use bellwether_engine::property::{
    self, PERIODS_ACCURATE, Property, PropertyError, TIMEOUTS_ACCURATE,
};
use bellwether_engine::protocol::{Duration, Id, Wait};
use bellwether_engine::world::{
    Delay, Durations, Envelope, MAX_TICKS, Scenario, Timed, Timing, TooEarly, World, WorldError,
};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// How many states of a world are searched before more of it is.
const FIRST_PART: u64 = 1 << 14;

/// The question of a tuning: what is looked for.
pub struct Question {
    /// The protocol and its rules.
    pub rules: Arc<dyn DynProtocol>,
    /// The scenario; its timing says which durations are given, and is filled in for each row.
    pub scenario: Scenario,
    /// The durations that are given, and what else the timing has besides delay and processing.
    pub given: Timed,
    /// The durations that are looked for, in this order.
    pub sought: Vec<&'static str>,
    /// The name of the property.
    pub property: String,
    /// The longest duration that is tried.
    pub most: u8,
    /// The options of the search of each world, with the limits at which it is given up.
    pub options: Options,
}

/// The result for one delay and processing time.
pub struct Row {
    /// The delay, `Tm`, in ticks.
    pub delay: u8,
    /// The processing time, `Tp`, in ticks.
    pub processing: u8,
    /// The durations that were looked for, until one was not found.
    pub found: Vec<TunedDuration>,
    /// The reason why one was not decided, if one was not.
    pub unknown: Option<Reason>,
    /// The verdict whether what is repeated keeps [`PERIODS_ACCURATE`] as well, where accurate
    /// time-outs were looked for and found; `None` if nothing is repeated by these rules.
    pub periods: Option<Verdict>,
}

/// The result for one duration.
pub struct TunedDuration {
    /// The name of the duration.
    pub name: &'static str,
    /// The smallest number of ticks that keeps the property; `None` if not even the longest that
    /// was tried does.
    pub ticks: Option<u8>,
    /// The longest shorter duration, if there is one: a world, and how the property is violated in
    /// it.
    pub below: Option<TooShort>,
    /// The distinct states of the last world that was checked.
    pub states: u64,
    /// The bounds within which the property holds with this duration, in words; none if it holds in
    /// any case.
    pub bounds_met: Vec<String>,
}

/// A duration that is too short.
pub struct TooShort {
    /// The number of ticks of the duration.
    pub ticks: u8,
    /// The world in which the duration is too short.
    pub world: Arc<World>,
    /// The property that is violated.
    pub property: Property,
    /// The execution that violates the property.
    pub counterexample: Option<Counterexample>,
}

/// Returns the time-outs by these rules: durations of timers that wait for others, in the
/// protocol's order.
pub fn time_outs(rules: &dyn DynProtocol) -> Vec<&'static str> {
    let waits = rules.waits();
    let durations = rules.protocol().durations().into_iter();
    let time_outs = durations.filter(|&duration| waits.contains(&Wait::Fixed(duration)));
    time_outs.map(|duration| duration.name).collect()
}

/// Returns the durations that only set time-outs apart, in the protocol's order: they are added for
/// some of so many processes that elect, and no time-out takes one of them alone.
#[must_use]
pub fn staggers(rules: &dyn DynProtocol, nodes: usize) -> Vec<&'static str> {
    let time_outs = time_outs(rules);
    let is_apart = |timer: &&TimerRules| {
        let fixed = matches!(timer.wait, Some(Wait::Fixed(_))) && !timer.periodic;
        fixed && Id::all(nodes).any(|id| rules.stagger(timer.timer, id, nodes) > 0)
    };
    let apart = rules.timers().iter().filter(is_apart).filter_map(|timer| timer.stagger);
    let apart: Vec<&str> = apart.map(|duration| duration.name).collect();
    let names = rules.protocol().durations().into_iter().map(|duration| duration.name);
    names.filter(|name| apart.contains(name) && !time_outs.contains(name)).collect()
}

impl Question {
    /// Returns the smallest durations for this delay and processing time: the first one with the
    /// others as long as may be, and then each with those before it as short as they can be.
    ///
    /// `on_progress` is called with the duration that is tried, its length, and how far the search
    /// is.
    ///
    /// # Errors
    /// If the worlds cannot be.
    pub fn row(
        &self,
        delay: u8,
        processing: u8,
        on_progress: &mut (dyn FnMut(&str, u8, Progress) + Send),
    ) -> Result<Row, TuneError> {
        let mut durations = self.given.durations;
        for name in &self.sought {
            durations = durations.with(name, self.most).map_err(WorldError::Durations)?;
        }
        let mut timed = Timed { delay: Delay::AtMost(delay), processing, durations, ..self.given };
        let mut row = Row { delay, processing, found: Vec::new(), unknown: None, periods: None };
        for &name in &self.sought {
            match self.smallest(name, &mut timed, on_progress)? {
                Ok(found) => {
                    let settled = found.ticks.is_some();
                    row.found.push(found);
                    if !settled {
                        break;
                    }
                }
                Err(reason) => {
                    row.unknown = Some(reason);
                    break;
                }
            }
        }
        let found = matches!(row.verdict(), Verdict::Holds | Verdict::HoldsWithin);
        if self.property == TIMEOUTS_ACCURATE && found {
            row.periods =
                self.periods(timed, &mut |progress| on_progress("each period", 0, progress))?;
        }
        Ok(row)
    }

    /// Whether nothing is repeated sooner than perfect timing assumes, if anything is repeated.
    fn periods(
        &self,
        timed: Timed,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Option<Verdict>, TuneError> {
        let world = self.world(timed)?;
        let asked = property::select(&world, &[])?.into_iter().find(|p| p.name == PERIODS_ACCURATE);
        let Some(asked) = asked else { return Ok(None) };
        let report = check::check(&world, &[asked], &self.options, &mut progress(on_progress))?;
        Ok(Some(report.verdict()))
    }

    /// The smallest duration of this name that keeps the property, left in `timed`; otherwise why
    /// it is not known.
    fn smallest(
        &self,
        name: &'static str,
        timed: &mut Timed,
        on_progress: &mut (dyn FnMut(&str, u8, Progress) + Send),
    ) -> Result<Result<TunedDuration, Reason>, TuneError> {
        let mut found =
            TunedDuration { name, ticks: None, below: None, states: 0, bounds_met: Vec::new() };
        for ticks in 1..=self.most {
            timed.durations = timed.durations.with(name, ticks).map_err(WorldError::Durations)?;
            let world = self.world(*timed)?;
            let report = self.check(&world, &mut |progress| on_progress(name, ticks, progress))?;
            found.states = report.counts.distinct;
            let Some(decision) = report.decisions.into_iter().next() else { break };
            match decision.verdict {
                Verdict::Holds => {
                    found.ticks = Some(ticks);
                    break;
                }
                Verdict::HoldsWithin => {
                    found.ticks = Some(ticks);
                    found.bounds_met = report.bounds_met;
                    break;
                }
                Verdict::Violated => {
                    let (property, counterexample) = (decision.property, decision.counterexample);
                    found.below = Some(TooShort { ticks, world, property, counterexample });
                }
                Verdict::Unknown => return Ok(Err(decision.reason.unwrap_or(Reason::Vacuous))),
            }
        }
        Ok(Ok(found))
    }

    /// The verdict on the property. Where time-outs are too short a world is large, and a
    /// violation near its beginning: so a part of it is searched first, and then larger ones.
    fn check(
        &self,
        world: &World,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Report, TuneError> {
        let asked = property::select(world, std::slice::from_ref(&self.property))?;
        let limits = self.options.limits;
        let started = Instant::now();
        let most = limits.states.unwrap_or(u64::MAX);
        let mut states = most.min(FIRST_PART);
        loop {
            let time = limits.time.map(|time| time.saturating_sub(started.elapsed()));
            let limits = Limits { states: Some(states), time, ..limits };
            let options = Options { limits, ..self.options.clone() };
            let mut on_progress = |mut progress: Progress| {
                if states > FIRST_PART && progress.phase == Phase::States {
                    progress.phase = Phase::Again("more of them");
                }
                on_progress(progress);
            };
            let report = check::check(world, &asked, &options, &mut progress(&mut on_progress))?;
            let larger = report.verdict() == Verdict::Unknown
                && report.cut_short == Some(Reason::States)
                && states < most;
            if !larger {
                return Ok(report);
            }
            states = most.min(states.saturating_mul(8));
        }
    }

    /// The world in which everything takes this long.
    fn world(&self, timed: Timed) -> Result<Arc<World>, WorldError> {
        World::of(
            Arc::clone(&self.rules),
            Scenario { timing: Timing::Timed(timed), ..self.scenario },
        )
        .map(Arc::new)
    }
}

/// Passes on how far a search is. That a duration is too short is no violation to tell of.
fn progress(on_progress: &mut (dyn FnMut(Progress) + Send)) -> impl FnMut(Event) + Send {
    move |event| {
        if let Event::Progress(progress) = event {
            on_progress(progress);
        }
    }
}

impl Row {
    /// Returns whether everything was found: then the property holds with these durations, if only
    /// within [bounds](Row::bounds_met).
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.unknown.is_some() {
            Verdict::Unknown
        } else if !self.found.iter().all(|found| found.ticks.is_some()) {
            Verdict::Violated
        } else if self.bounds_met().is_empty() {
            Verdict::Holds
        } else {
            Verdict::HoldsWithin
        }
    }

    /// Returns the bounds within which the property holds with all that was found, in words.
    #[must_use]
    pub fn bounds_met(&self) -> &[String] {
        self.found.last().map_or(&[], |found| &found.bounds_met)
    }

    /// Returns the smallest number of ticks of the duration of this name.
    #[must_use]
    pub fn ticks(&self, name: &str) -> Option<u8> {
        self.found.iter().find(|found| found.name == name).and_then(|found| found.ticks)
    }
}

/// Returns the durations of `given`, and `most` for each that is neither there nor `sought`, of
/// detectors and time-outs. A detector that may take longer may do all that a quicker one may, so
/// what is found then is enough for any up to `most`. What paces something has to be given.
///
/// # Errors
/// If there are more than a protocol can have.
pub fn complete(
    rules: &dyn DynProtocol,
    given: Durations,
    sought: &[&'static str],
    most: u8,
) -> Result<Durations, WorldError> {
    let names = rules.waits().into_iter().map(Wait::duration);
    let missing = names.filter(|name| given.get(name).is_none() && !sought.contains(name));
    let mut durations = given;
    for name in missing {
        durations = durations.with(name, most).map_err(WorldError::Durations)?;
    }
    Ok(durations)
}

/// Returns the durations of `given`, and usual ones of what is repeated and is neither there nor
/// `sought`: for the largest delay what is [enough](Duration::enough) where a message takes one
/// tick, that many times. Where something is repeated, a detector that is not given notices when it
/// has been missing twice.
///
/// # Errors
/// If there are more than a protocol can have.
pub fn usual(
    rules: &dyn DynProtocol,
    given: Durations,
    sought: &[&'static str],
    delay: u8,
) -> Result<Durations, WorldError> {
    let time_outs = time_outs(rules);
    let is_left = |durations: &Durations, name: &'static str| {
        let known = durations.get(name).is_some() || sought.contains(&name);
        !known && !time_outs.contains(&name)
    };
    let times = |ticks: u8| ticks.saturating_mul(delay).min(MAX_TICKS);
    let mut durations = given;
    let mut period: Option<u8> = None;
    for timer in rules.timers().iter().filter(|timer| timer.periodic) {
        let Some(Wait::Fixed(duration) | Wait::Detector(duration)) = timer.wait else { continue };
        let &Duration { name, enough, .. } = duration;
        if let Some(enough) = enough.filter(|_| is_left(&durations, name)) {
            durations = durations.with(name, times(enough)).map_err(WorldError::Durations)?;
        }
        period = period.max(durations.get(name));
    }
    let Some(period) = period else { return Ok(durations) };
    let missed = period.saturating_mul(2).saturating_add(delay).saturating_add(1);
    for wait in rules.waits() {
        let Wait::Detector(&Duration { name, enough, .. }) = wait else { continue };
        if is_left(&durations, name) {
            let ticks = times(enough.unwrap_or(0)).max(missed).min(MAX_TICKS);
            durations = durations.with(name, ticks).map_err(WorldError::Durations)?;
        }
    }
    Ok(durations)
}

/// The reason why nothing can be looked for.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The world cannot be.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The property cannot be asked for.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// The check failed.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl TooShort {
    /// Returns which timer would expire in the end, and what it waits for still; `None` if it is
    /// not accurate time-outs that are looked for.
    #[must_use]
    pub fn blame(&self) -> Option<String> {
        let found = self.counterexample.as_ref();
        let found = found.filter(|_| self.property.name == TIMEOUTS_ACCURATE)?;
        let actions = self.world.in_concrete_terms(&found.actions());
        let world = self.world.concrete();
        let mut end = world.initial();
        for action in &actions {
            end = world.apply(&end, action).state;
        }
        let names = Names::of_world(&world);
        world.too_early(&end).first().map(|early| half_a_sentence(early, &names))
    }
}

fn half_a_sentence(early: &TooEarly, names: &Names) -> String {
    let TooEarly { id, timer, messages, senders } = early;
    let name = |id: Id| names.name(id.number());
    let still = match (&messages[..], &senders[..]) {
        ([], []) => "what it waits for can still come".to_owned(),
        ([], senders) => {
            let senders: Vec<String> = senders.iter().map(|&id| name(id)).collect();
            format!("{} may still send what it waits for", senders.join(" or "))
        }
        (messages, _) => {
            let words: Vec<String> = messages.iter().map(|one| message(*id, one, names)).collect();
            let verb =
                if words.len() == 1 { "is still on its way" } else { "are still on their way" };
            format!("{} {verb}", words.join(" and "))
        }
    };
    format!("{}'s {} timer would expire now, though {still}", name(*id), timer.label())
}

/// A message as the process sees it whose timer it is.
fn message(id: Id, envelope: &Envelope, names: &Names) -> String {
    let &Envelope { from, to, message } = envelope;
    let name = |id: Id| names.name(id.number());
    let mut told = message.label();
    if from != id {
        told += &format!(" from {}", name(from));
    }
    if to != id {
        told += &format!(" to {}", name(to));
    }
    told
}

/// The linear form `per_delay`·Tm + `per_processing`·Tp + `constant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The coefficient of the delay: what each tick of it adds; `None` if all delays were the same.
    pub per_delay: Option<i64>,
    /// The coefficient of processing: what each tick of it adds; `None` if all processing times
    /// were the same.
    pub per_processing: Option<i64>,
    /// The constant: the rest.
    pub constant: i64,
}

/// The fit of a form to numbers: whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The form gives all numbers, and there are more of them than the form has coefficients.
    Form(Form),
    /// No form gives all of them.
    None,
    /// The numbers are too few: any would fit.
    TooFew,
}

impl Fit {
    /// Returns the form that gives the last of each three numbers from the delay and the processing
    /// time.
    #[must_use]
    pub fn of(rows: &[(u8, u8, u8)]) -> Fit {
        let rows: Vec<[i64; 3]> =
            rows.iter().map(|&(tm, tp, ticks)| [tm, tp, ticks].map(i64::from)).collect();
        let Some(&[first_tm, first_tp, first]) = rows.first() else { return Fit::TooFew };
        let varies = |column: usize| rows.iter().any(|row| row[column] != rows[0][column]);
        let unknowns = 1 + usize::from(varies(0)) + usize::from(varies(1));
        if rows.len() <= unknowns {
            return Fit::TooFew;
        }
        let slopes = (slope(&rows, 0), slope(&rows, 1));
        let (Ok(per_delay), Ok(per_processing)) = slopes else { return Fit::None };
        let (a, b) = (per_delay.unwrap_or(0), per_processing.unwrap_or(0));
        let constant = first - a * first_tm - b * first_tp;
        // The slopes are those of two rows each; whether all rows have them is checked here.
        let fits = rows.iter().all(|&[tm, tp, ticks]| a * tm + b * tp + constant == ticks);
        if fits { Fit::Form(Form { per_delay, per_processing, constant }) } else { Fit::None }
    }
}

/// What one more in `column` adds, from two rows that differ in it alone; an error if that is not
/// whole, or there are no such rows although the column varies.
fn slope(rows: &[[i64; 3]], column: usize) -> Result<Option<i64>, ()> {
    let other = 1 - column;
    let first = rows[0];
    if rows.iter().all(|row| row[column] == first[column]) {
        return Ok(None);
    }
    let apart = |row: &&[i64; 3]| row[column] != first[column] && row[other] == first[other];
    let row = rows.iter().find(apart).ok_or(())?;
    let (rise, run) = (row[2] - first[2], row[column] - first[column]);
    if rise % run == 0 { Ok(Some(rise / run)) } else { Err(()) }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = [
            (self.per_delay.unwrap_or(0), "Tm"),
            (self.per_processing.unwrap_or(0), "Tp"),
            (self.constant, ""),
        ];
        let mut begun = false;
        for (factor, name) in terms.into_iter().filter(|&(factor, _)| factor != 0) {
            match (begun, factor < 0) {
                (false, true) => f.write_str("-")?,
                (true, true) => f.write_str(" - ")?,
                (true, false) => f.write_str(" + ")?,
                (false, false) => {}
            }
            match (factor.abs(), name) {
                (size, "") => write!(f, "{size}")?,
                (1, name) => f.write_str(name)?,
                (size, name) => write!(f, "{size}·{name}")?,
            }
            begun = true;
        }
        if begun { Ok(()) } else { f.write_str("0") }
    }
}

/// The form as text, or nothing.
impl Serialize for Fit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fit::Form(form) => serializer.collect_str(form),
            Fit::None | Fit::TooFew => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fit;

    fn grid(ticks: impl Fn(u8, u8) -> u8) -> Vec<(u8, u8, u8)> {
        (1..=3)
            .flat_map(|tm| (0..=2).map(move |tp| (tm, tp)))
            .map(|(m, p)| (m, p, ticks(m, p)))
            .collect()
    }

    fn words(rows: &[(u8, u8, u8)]) -> String {
        match Fit::of(rows) {
            Fit::Form(form) => form.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_linear_table_has_its_form() {
        assert_eq!(words(&grid(|tm, tp| 2 * tm + tp + 1)), "2·Tm + Tp + 1");
        assert_eq!(words(&grid(|tm, _| 5 - tm)), "-Tm + 5");
        assert_eq!(words(&grid(|_, _| 0)), "0");
        assert_eq!(words(&[(1, 2, 3), (2, 2, 5), (3, 2, 7)]), "2·Tm + 1");
    }

    #[test]
    fn one_number_that_does_not_fit_leaves_no_form() {
        for at in 0..9 {
            let mut rows = grid(|tm, tp| 2 * tm + tp + 1);
            rows[at].2 += 1;
            assert_eq!(Fit::of(&rows), Fit::None, "{rows:?}");
        }
    }

    #[test]
    fn few_numbers_prove_nothing() {
        assert_eq!(Fit::of(&[]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3)]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3), (2, 0, 5)]), Fit::TooFew);
        assert_eq!(Fit::of(&[(1, 0, 3), (3, 0, 6), (2, 0, 5)]), Fit::None);
    }
}
