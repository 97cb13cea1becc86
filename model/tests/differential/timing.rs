//! Perfect timing, and clocks with time-outs that make no mistake. What perfect timing excludes, no
//! such clock shows; and what perfect timing shows at some moment, some such clock does.

use super::scenario::{Case, Found, cases, delays, every_protocol, verdicts};
use super::{explore, typed};
use bellwether_model::check::Verdict;
use bellwether_model::property::{Kind, PERIODS_ACCURATE, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::{Id, Wait};
use bellwether_model::world::{Drift, Scenario, SlowLinks, Start, Timed, Timing};
use proptest::prelude::*;
use std::collections::HashMap;

/// The most states that are searched of a world with perfect timing, of one with a clock, and of
/// one whose clocks drift or that has slow links. Those are tried last, and have many more.
const MOST: [u64; 3] = [10_000, 20_000, 100_000];

/// How long everything takes: messages, which may be longer on their way on some links, their
/// processing, and how much longer than the default rules need each timer waits, by clocks that may
/// drift.
#[derive(Clone, Debug)]
struct Ticks {
    delay: u8,
    slow: SlowLinks,
    processing: u8,
    drift: Drift,
    more: Vec<u8>,
}

fn ticks() -> impl Strategy<Value = Ticks> {
    let more = prop::collection::vec(0..=4_u8, 8);
    let ticks = |(delay, processing, more)| Ticks { delay, processing, more, ..longer(0) };
    (1..=2_u8, 0..=1_u8, more).prop_map(ticks)
}

/// As long as the default rules need, and so much longer.
fn longer(more: u8) -> Ticks {
    let (slow, drift, more) = (SlowLinks::NONE, Drift::NONE, vec![more; 8]);
    Ticks { delay: 1, slow, processing: 0, drift, more }
}

fn perfect(case: &Case) -> Case {
    case.with(Scenario { timing: Timing::Perfect, ..case.scenario })
}

/// The same with a clock, each duration so many times as long. What is enough for messages of one
/// tick is so many times as long as half the way there and back takes, and by a clock that is
/// [fast](DRIFT) a fifth longer.
fn clocked(case: &Case, ticks: &Ticks, times: impl Fn(&str) -> u8) -> Option<Case> {
    let &Ticks { delay, slow, processing, drift, ref more } = ticks;
    let known = case.protocol().durations();
    let back = if slow.is_none() { delay } else { FAR };
    let one = (delay + back).div_ceil(2) + processing;
    case.timed(Timed { slow, drift, ..delays(delay, processing) }, |name| {
        let at = known.iter().position(|one| one.name == name).expect("it is known");
        let enough = known[at].enough.unwrap_or(2) * one;
        let enough = if drift.is_none() { enough } else { enough + enough.div_ceil(5) };
        (enough + more[at]).saturating_mul(times(name))
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
    let Timing::Timed(clock) = clocked.scenario.timing else { return None };
    let usual = clock.slow.is_none() && clock.drift.is_none();
    let most = if usual { MOST[1] } else { MOST[2] };
    let right = |name| Some(clocked.check(&[name], most)?.verdict() != Verdict::Violated);
    let accurate = right(TIMEOUTS_ACCURATE)?;
    right(PERIODS_ACCURATE)?.then(|| clocked.check(&[], most))?.map(|r| (verdicts(&r), accurate))
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
/// the first question can be lost: that time-out must be made longer alone. Perfect timing ordered
/// time-outs that nothing sets apart, and hid two Active routers. And a lease's store waited for a
/// holder that never renews its lease, and never steps down.
#[test]
fn known_cases_of_what_perfect_timing_hid() {
    let case = typed("invitation --nodes 2 --crashes 0 --losses 1 --start cold");
    let ticks = Ticks { more: vec![1, 4, 0, 0, 0, 0, 0, 0], ..longer(0) };
    assert_eq!(excludes(&(case, ticks)), Ok(true));
    for line in [
        "vrrp --variant no-preempt --nodes 2 --recoveries 1",
        "vrrp --variant equal-priorities",
        "lease --variant lesson --nodes 2 --crashes 0",
    ] {
        let clocks = (0..4).map(|more| excludes(&(typed(line), longer(more))));
        let compared = clocks.collect::<Result<Vec<_>, _>>().expect("nothing is hidden");
        assert!(compared.contains(&true), "no clock can be compared: {line}");
    }
}

/// What perfect timing shows of a case and few clocks do.
fn shows_typed(line: &str) -> Result<bool, String> {
    shows(&(typed(line), (0..8).map(longer).collect()))
}

/// What perfect timing shows here is so, and few clocks show it.
#[test]
fn known_cases_of_what_few_clocks_show() {
    for line in [
        // A time-out expired although a process that was down could still answer.
        "bully --variant clustering --nodes 2 --recoveries 1",
        // A Backup's expired although the restarted owner of the address had spoken, which does not
        // hear the Backup.
        "vrrp --variant rfc5798 --rule owner=true --rule restart=true --nodes 2 --crashes 0",
        "vrrp --variant rfc5798 --rule owner=true --rule restart=true --crashes 0 --without 2>1",
        "vrrp --variant restart --crashes 0 --without 2>1",
        // The copy of an ADVERTISEMENT that a Backup has heard was taken for one that it has not.
        "vrrp --variant rfc9568 --duplicates 1",
        // While an id was on its way to 1, 2 missed the ACK of what had made 3 send that id,
        // skipped 3, and led. Where messages are equally slow on all links, the id arrives before
        // that time-out expires.
        "chang-roberts --variant lesson-robust --rule home=any --crashes 0 --recoveries 1 \
         --losses 1 --suspicions 1 --fairness strong",
        // Two processes lead after a loss, and both announce themselves at once. The old leader has
        // begun its period earlier: where clocks do not drift, its announcement is always the
        // first, and the other then follows it.
        "list-ring --rule accept=any --rule watch=announcement --nodes 2 --crashes 0 \
         --recoveries 1 --losses 1 --network unordered",
    ] {
        assert_eq!(shows_typed(line), Ok(true), "{line}");
    }
    // A bully that does not wait for a process that may recover, as it once was. No clock that
    // drifts and no slow link makes up for that.
    let wrong = "bully --variant clustering --rule awaits=live --nodes 2 --recoveries 1";
    assert!(shows_typed(wrong).is_err_and(|why| why.contains("with perfect timing")));
}

/// So many clocks are drawn, and of all that are tried at least so many must have time-outs that
/// make no mistake.
const CLOCKS: [usize; 2] = [8, 5];

/// By how many ticks more each duration waits, in the clocks that are tried after those that were
/// drawn: two time-outs must often expire within one delay of each other.
const STEPS: [u8; 4] = [0, 2, 5, 11];

/// Every combination of [`STEPS`] for four durations, and as many different ones for further ones.
fn grid((slow, drift): (SlowLinks, Drift)) -> impl Iterator<Item = Ticks> {
    (0..256_u32).map(move |number| {
        let digits = number | (number.wrapping_mul(40_503) << 8);
        let more = (0..8).map(|at| STEPS[(digits >> (2 * at)) as usize & 3]).collect();
        Ticks { slow, drift, more, ..longer(0) }
    })
}

/// How far clocks run from the right speed, as numerator and denominator, where they do.
const DRIFT: (u16, u16) = (1, 5);

/// How long a message may be on its way where that is longer.
const FAR: u8 = 3;

/// Links that are slow in one direction: from each process to the next, or to the one before, or to
/// all higher ones, or to all lower ones. A time-out that outlasts the way there and back need not
/// outlast the longer of them twice: what it does not wait for may still be on its way then.
fn one_way(processes: usize) -> Vec<SlowLinks> {
    let ids: Vec<_> = Id::all(processes).collect();
    let next = |a: Id| ids[(a.index() + 1) % processes];
    let directions: [&dyn Fn(Id, Id) -> bool; 4] =
        [&|a, b| next(a) == b, &|a, b| next(b) == a, &|a, b| a < b, &|a, b| a > b];
    let pairs = || ids.iter().flat_map(|&a| ids.iter().map(move |&b| (a, b)));
    let far = |(a, b): (Id, Id)| format!("{a}>{b}={FAR}").parse().expect("a slow link");
    let slow = directions.map(|is_slow| {
        let links = pairs().filter(|&(a, b)| a != b && is_slow(a, b)).map(far);
        links.fold(SlowLinks::NONE, SlowLinks::and)
    });
    slow.into()
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
    let processes = case.scenario.nodes + case.protocol().services();
    // Rules that wait for less have the same clock several times.
    let mut known: HashMap<Timed, bool> = HashMap::new();
    let drifts = Drift::of(DRIFT.0, DRIFT.1).expect("a ratio");
    let kinds = [(SlowLinks::NONE, Drift::NONE), (SlowLinks::NONE, drifts)].into_iter();
    let kinds = kinds.chain(one_way(processes).into_iter().map(|slow| (slow, Drift::NONE)));
    let all = clocks.iter().cloned().chain(kinds.flat_map(grid));
    for (tried, ticks) in all.enumerate() {
        if missing.is_empty() {
            return Ok(true);
        }
        // A world in which hardly a clock is accurate says nothing, and each costs time.
        if tried == clocks.len() && accurate < CLOCKS[1] {
            return Ok(false);
        }
        let Some(timed) = clocked(case, &ticks, |_| 1) else { return Ok(false) };
        let Timing::Timed(clock) = timed.scenario.timing else { continue };
        if let Some(&right) = known.get(&clock) {
            accurate += usize::from(right);
            continue;
        }
        let found = measured(&timed).filter(|&(_, accurate)| accurate);
        known.insert(clock, found.is_some());
        let Some((found, _)) = found else { continue };
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
