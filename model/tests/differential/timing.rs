//! Perfect timing, and clocks with time-outs that make no mistake. What perfect timing excludes, no
//! such clock shows; and what perfect timing shows at some moment, some such clock does.

use super::explore;
use super::scenario::{Case, Found, cases, delays, every_protocol, link, verdicts};
use bellwether_model::check::Verdict;
use bellwether_model::property::{Kind, PERIODS_ACCURATE, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::Wait;
use bellwether_model::world::{Faults, Scenario, Start, Timing};
use proptest::prelude::*;

/// The most states that are searched of a world with perfect timing, and of one with a clock.
const MOST: [u64; 2] = [10_000, 20_000];

/// How long everything takes: messages, their processing, and how much longer than the default
/// rules need each timer waits.
#[derive(Clone, Debug)]
struct Ticks {
    delay: u8,
    processing: u8,
    more: Vec<u8>,
}

fn ticks() -> impl Strategy<Value = Ticks> {
    let more = prop::collection::vec(0..=4_u8, 8);
    (1..=2_u8, 0..=1_u8, more).prop_map(|(delay, processing, more)| Ticks {
        delay,
        processing,
        more,
    })
}

fn perfect(case: &Case) -> Case {
    case.with(Scenario { timing: Timing::Perfect, ..case.scenario })
}

/// The same with a clock, each duration so many times as long.
fn clocked(case: &Case, ticks: &Ticks, times: impl Fn(&str) -> u8) -> Option<Case> {
    let Ticks { delay, processing, more } = ticks;
    let known = case.protocol().durations();
    case.timed(delays(*delay, *processing), |name| {
        let at = known.iter().position(|one| one.name == name).expect("it is known");
        let ticks = known[at].enough.unwrap_or(2) * (delay + processing) + more[at];
        ticks.saturating_mul(times(name))
    })
}

/// How much longer time-outs are made to see whether they are long enough then: all of them, or one
/// of them alone, as one may have to outlast others. Each is a name, if it is one, and how many
/// times as long.
fn lengths(waits: &[&'static str]) -> Vec<(Option<&'static str>, u8)> {
    let all = [1, 2, 4, 8].map(|times| (None, times));
    let alone = waits.iter().flat_map(|&name| [4, 16].map(|times| (Some(name), times)));
    all.into_iter().chain(alone).collect()
}

/// What a clock shows, and whether its time-outs make no mistake. Of a clock that repeats something
/// sooner than perfect timing does nothing is said.
fn measured(clocked: &Case) -> Option<(Vec<Found>, bool)> {
    let right = |name| Some(clocked.check(&[name], MOST[1])?.verdict() != Verdict::Violated);
    let accurate = right(TIMEOUTS_ACCURATE)?;
    right(PERIODS_ACCURATE)?.then(|| clocked.check(&[], MOST[1]))?.map(|r| (verdicts(&r), accurate))
}

/// The safety properties that are violated.
fn violated(found: &[Found]) -> Vec<&'static str> {
    let violated = found
        .iter()
        .filter(|&&(_, kind, verdict)| (kind, verdict) == (Kind::Safety, Verdict::Violated));
    violated.map(|&(name, ..)| name).collect()
}

/// What a clock shows is compared with what perfect timing does: if its time-outs make no mistake,
/// or if they still do when they are much longer.
fn excludes((case, ticks): &(Case, Ticks)) -> Result<bool, String> {
    let Some(report) = perfect(case).check(&[], MOST[0]) else { return Ok(false) };
    let shown = violated(&verdicts(&report));
    let mut always: Option<Vec<&str>> = None;
    let mut last = None;
    let waits: Vec<_> = case.rules().waits().into_iter().map(Wait::duration).collect();
    for (alone, times) in lengths(&waits) {
        let long = |name: &str| waits.contains(&name) && alone.is_none_or(|alone| alone == name);
        let timed = clocked(case, ticks, |name| if long(name) { times } else { 1 });
        let Some(timed) = timed else { return Ok(false) };
        let Some((found, accurate)) = measured(&timed) else { return Ok(false) };
        let mut hidden = violated(&found);
        hidden.retain(|name| {
            !shown.contains(name) && always.as_ref().is_none_or(|known| known.contains(name))
        });
        if hidden.is_empty() {
            return Ok(true);
        }
        if accurate {
            return Err(format!("{hidden:?}: not with perfect timing, but with {timed:?}"));
        }
        (always, last) = (Some(hidden), Some(timed));
    }
    Err(format!("{always:?}: not with perfect timing, and no time-out is long enough: {last:?}"))
}

#[test]
fn what_perfect_timing_excludes_no_accurate_clock_shows() {
    explore(40, (cases(&every_protocol()), ticks()), excludes);
}

/// A process that leaves a higher one the initiative must wait until that one has asked twice, if
/// the first question can be lost: that time-out must be made longer alone.
#[test]
fn known_case_of_a_time_out_that_must_outlast_others() {
    let faults = Faults { losses: 1.into(), ..Faults::NONE };
    let cold = Scenario { start: Start::Cold, faults, ..Scenario::calm(2) };
    let case = Case::known("invitation", "paper", cold);
    let ticks = Ticks { delay: 1, processing: 0, more: vec![1, 4, 0, 0, 0, 0, 0, 0] };
    assert_eq!(excludes(&(case, ticks)), Ok(true));
}

/// As long as the default rules need, and so much longer.
fn longer(more: u8) -> Ticks {
    Ticks { delay: 1, processing: 0, more: vec![more; 8] }
}

/// Perfect timing ordered time-outs that nothing sets apart, and hid two Active routers. And a
/// lease's store waited for a holder that never renews its lease, and never steps down.
#[test]
fn known_cases_of_what_perfect_timing_hid() {
    for case in [
        Case::known("vrrp", "no-preempt", Scenario::calm(2).with_crashes(1, 1)),
        Case::known("vrrp", "equal-priorities", Scenario::calm(3).with_crashes(1, 0)),
        Case::known("lease", "lesson", Scenario::calm(2)),
    ] {
        let clocks = (0..4).map(|more| excludes(&(case.clone(), longer(more))));
        let compared = clocks.collect::<Result<Vec<_>, _>>().expect("nothing is hidden");
        assert!(compared.contains(&true), "no clock can be compared: {case:?}");
    }
}

/// A time-out expired although a process that was down could still answer; and a Backup's although
/// the restarted owner of the address had spoken, which does not hear the Backup. What the last
/// case shows is so, and few clocks show it.
#[test]
fn known_cases_of_what_no_clock_shows() {
    let missing = Scenario { missing: link("2>1"), ..Scenario::calm(3) };
    let restarted = |scenario| {
        let mut case = Case::known("vrrp", "rfc5798", scenario);
        let rules = [("owner", "true"), ("restart", "true")];
        case.args.rules = rules.map(|(rule, value)| (rule.to_owned(), value.to_owned())).to_vec();
        case
    };
    let recovered = Case::known("bully", "clustering", Scenario::calm(2).with_crashes(1, 1));
    let few = Case::known("vrrp", "restart", missing);
    for case in [recovered, restarted(Scenario::calm(2)), restarted(missing), few] {
        assert_eq!(shows(&(case.clone(), (0..8).map(longer).collect())), Ok(true), "{case:?}");
    }
}

/// So many clocks are drawn, and of all that are tried at least so many must have time-outs that
/// make no mistake.
const CLOCKS: [usize; 2] = [8, 5];

/// By how many ticks more each duration waits, in the clocks that are tried after those that were
/// drawn: two time-outs must often expire within one delay of each other.
const STEPS: [u8; 4] = [0, 2, 5, 11];

/// Every combination of [`STEPS`] for four durations, and as many different ones for further ones.
fn grid() -> impl Iterator<Item = Ticks> {
    (0..256_u32).map(|number| {
        let digits = number | (number.wrapping_mul(40_503) << 8);
        let more = (0..8).map(|at| STEPS[(digits >> (2 * at)) as usize & 3]).collect();
        Ticks { delay: 1, processing: 0, more }
    })
}

/// What perfect timing shows at some moment is looked for with clocks. What it shows in a quiescent
/// state need not be there: a group whose time-outs run is not quiescent. Nor need what it shows
/// after a cold start: with a clock all processes start at one tick, and what each sends first
/// arrives before any time-out expires.
fn shows((case, clocks): &(Case, Vec<Ticks>)) -> Result<bool, String> {
    if case.scenario.start == Start::Cold {
        return Ok(false);
    }
    let Some(report) = perfect(case).check(&[], MOST[0]) else { return Ok(false) };
    let at_any_moment = report.decisions.iter().filter(|d| d.property.premise.is_none());
    let at_any_moment: Vec<_> = at_any_moment.map(|d| d.property.name).collect();
    let mut missing = violated(&verdicts(&report));
    missing.retain(|name| at_any_moment.contains(name));
    let mut accurate = 0;
    for (tried, ticks) in clocks.iter().cloned().chain(grid()).enumerate() {
        if missing.is_empty() {
            return Ok(true);
        }
        // A world in which hardly a clock is accurate says nothing, and each costs time.
        if tried == clocks.len() && accurate < CLOCKS[1] {
            return Ok(false);
        }
        let Some(timed) = clocked(case, &ticks, |_| 1) else { return Ok(false) };
        let Some((found, true)) = measured(&timed) else { continue };
        accurate += 1;
        // Of what holds within a capacity, or is unknown, a clock says nothing.
        let held: Vec<_> =
            found.iter().filter(|(.., verdict)| *verdict == Verdict::Holds).collect();
        missing.retain(|name| held.iter().any(|(held, ..)| held == name));
    }
    match missing.is_empty() || accurate < CLOCKS[1] {
        true => Ok(missing.is_empty()),
        false => {
            Err(format!("{missing:?}: with perfect timing, but with none of {accurate} clocks"))
        }
    }
}

#[test]
fn what_perfect_timing_shows_some_accurate_clock_does() {
    let clocks = prop::collection::vec(ticks(), CLOCKS[0]);
    explore(25, (cases(&every_protocol()), clocks), shows);
}
