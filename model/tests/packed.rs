//! The packed world against the world itself: packing loses nothing, and what is looked up is what
//! the world does.

use crate::asked::world;
use bellwether_model::check::exact::{Exact, Goal, SearchOptions};
use bellwether_model::check::{Event, Limits};
use bellwether_model::property::{self, Condition, Temporal};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::{Belief, Id, Local, Protocol, TimerRow, Variant, View};
use bellwether_model::space::{Arrival, NO_ARRIVAL, OUTSIDE_WORD, Space, Unlearned};
use bellwether_model::world::packed::Packed;
use bellwether_model::world::{
    AbsentLinks, Action, Budget, Delay, Drift, Durations, Faults, Heals, Network, Scenario, Start,
    State, Timed, Timing, World,
};
use proptest::prelude::*;
use proptest::sample::select;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Enough words for every world of these tests.
const WORDS: usize = 8;

/// The states that follow, as the world says; `None` where one is beyond the bounds.
fn successors(world: &World, state: &State) -> Vec<Option<State>> {
    let actions = world.actions(state).into_iter();
    let next = actions.map(|action| world.apply(state, &action).state);
    next.map(|next| world.within_bounds(&next).then_some(next)).collect()
}

/// What follows `words`, learning as often as it takes; `words` are as they look afterwards.
fn expand(packed: &mut Packed, words: &mut Vec<u64>) -> Vec<Vec<u64>> {
    let mut next = Vec::new();
    if packed.expand(words, &mut packed.scratch(), &mut next).is_err() {
        next.clear();
        packed.learn(words);
        if packed.needs_relayout() {
            packed.lay_out(u32::MAX);
            let mut now = Vec::new();
            packed.recode(words, WORDS, &mut now);
            *words = now;
        }
        let known = packed.expand(words, &mut packed.scratch(), &mut next);
        assert!(known.is_ok(), "what was learned is not known");
    }
    next.chunks(words.len()).map(<[u64]>::to_vec).collect()
}

/// Takes the steps `choices` from the start, comparing everything that could follow each time.
fn walk(world: &World, choices: &[usize]) {
    let mut packed = Packed::new(world, Vec::new());
    let mut words = packed.initial(WORDS);
    let mut state = world.initial();
    for &choice in choices {
        assert_eq!(packed.decode(&words), state);
        let next = expand(&mut packed, &mut words);
        assert_eq!(packed.decode(&words), state);
        let decoded: Vec<_> = next
            .iter()
            .map(|words| (*words != [OUTSIDE_WORD; WORDS]).then(|| packed.decode(words)))
            .collect();
        let expected = successors(world, &state);
        assert_eq!(decoded, expected);
        let within: Vec<_> =
            next.into_iter().zip(expected).filter_map(|(w, s)| Some((w, s?))).collect();
        if within.is_empty() {
            break;
        }
        (words, state) = within[choice % within.len()].clone();
    }
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let losses = select(vec![Budget::NONE, Budget::AtMost(1), Budget::Unbounded]);
    let faults = (0..3u8, 0..2u8, losses, 0..2u8, (0..2u8, 0..3u8), 0..2u8, (0..3u8, 0..2u8));
    let network = select(vec![Network::Fifo, Network::Unordered, Network::Set]);
    let durations = [("t-elec", 4), ("t-coord", 5), ("t-detect", 1)];
    let timed = |delay, drift| {
        let durations = Durations::of(durations).expect("short names");
        Timing::Timed(Timed { drift, within: Some(3), ..Timed::of(delay, durations) })
    };
    let drift = Drift::of(1, 4).expect("small enough");
    let timing = select(vec![
        Timing::Perfect,
        Timing::Asynchronous,
        timed(Delay::AtMost(2), Drift::NONE),
        timed(Delay::AtMost(2), drift),
        timed(Delay::Unbounded, Drift::NONE),
    ]);
    let start = select(vec![Start::Converged, Start::Cold]);
    let heals = select(vec![Heals::May, Heals::Must]);
    let capacity = select(vec![Some(1), Some(2), Some(3)]);
    let missing = select(vec![
        AbsentLinks::NONE,
        "1-2".parse().expect("a link"),
        "2>1".parse().expect("a link"),
    ]);
    let links = (network, missing, heals, capacity);
    (2..6usize, faults, links, timing, start).prop_map(
        |(nodes, faults, (network, missing, heals, capacity), timing, start)| {
            let (crashes, recoveries, losses, duplicates, cut, suspicions, moved) = faults;
            let (cuts, one_way_cuts) = cut;
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let suspicions = if timing == Timing::Asynchronous { 0 } else { suspicions };
            let (pauses, jumps) = if timing.timed().is_some() { moved } else { (0, 0) };
            let faults = Faults { crashes, recoveries, losses, duplicates, ..Faults::NONE };
            let faults = Faults { cuts, one_way_cuts, suspicions, pauses, jumps, ..faults };
            let calm = Scenario { timing, start, capacity, jump: 2, ..Scenario::calm(nodes) };
            Scenario { faults, heals, missing, network, ..calm }
        },
    )
}

proptest! {
    #[test]
    fn packing_loses_nothing_and_looking_up_is_doing(
        variant in 0..Bully::VARIANTS.len(),
        scenario in scenario(),
        choices in proptest::collection::vec(0..1000usize, 1..60),
    ) {
        // Some variants have other durations than those of this scenario.
        if let Ok(world) = World::new(Bully::VARIANTS[variant].rules, scenario) {
            walk(&world, &choices);
        }
    }
}

/// How many states are followed at most.
const MOST: usize = 4_000;

/// The states of each level, how many steps there are, and how many of them were left out.
type Levels = (Vec<HashSet<State>>, u64, u64);

/// What follows `words`, how each state is reached, and how many steps are left out.
///
/// # Errors
/// If states outgrow their words.
fn expand_after(
    packed: &mut Packed,
    words: &[u64],
    last: Arrival,
) -> Result<(Vec<u64>, Vec<Arrival>, u64), Unlearned> {
    let scratch = &mut packed.scratch();
    loop {
        let (mut next, mut lasts) = (Vec::new(), Vec::new());
        if let Ok((_, left_out)) = packed.expand_after(words, last, scratch, &mut next, &mut lasts)
        {
            return Ok((next, lasts, left_out));
        }
        packed.learn(words);
        if packed.needs_relayout() {
            return Err(Unlearned);
        }
    }
}

/// Searches `world`, all that may be left out being left out, or nothing; `None` if there are too
/// many states.
fn levels(world: &World, all: bool) -> Option<Levels> {
    let mut packed = Packed::new(world, Vec::new());
    loop {
        if let Ok(levels) = levels_of(&mut packed, all) {
            return levels;
        }
        packed.lay_out(u32::MAX);
    }
}

/// The same, with what is known.
///
/// # Errors
/// If states outgrow their words.
fn levels_of(packed: &mut Packed, all: bool) -> Result<Option<Levels>, Unlearned> {
    let initial = packed.initial(WORDS);
    let mut known = HashSet::from([initial.clone()]);
    let mut level = HashMap::from([(initial, NO_ARRIVAL)]);
    let (mut levels, mut steps, mut waits) = (Vec::new(), 0, 0);
    while !level.is_empty() && known.len() <= MOST {
        let mut next = HashMap::new();
        for (words, &last) in &level {
            let last = if all { NO_ARRIVAL } else { last };
            let (after, lasts, left_out) = expand_after(packed, words, last)?;
            waits += left_out;
            steps += left_out + lasts.len() as u64;
            for (words, last) in after.chunks(WORDS).zip(lasts) {
                if words[0] != OUTSIDE_WORD && !known.contains(words) {
                    let largest = next.entry(words.to_vec()).or_insert(last);
                    *largest = last.max(*largest);
                }
            }
        }
        known.extend(next.keys().cloned());
        let states = std::mem::replace(&mut level, next).into_keys();
        levels.push(states.map(|words| packed.decode(&words)).collect());
    }
    Ok(level.is_empty().then_some((levels, steps, waits)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// By a search that is written for nothing but this.
    #[test]
    fn what_is_left_out_is_found_in_another_way(
        variant in 0..Bully::VARIANTS.len(),
        scenario in scenario(),
        bounded: bool,
    ) {
        let capacity = scenario.capacity.filter(|_| bounded);
        let scenario = Scenario { capacity, ..scenario };
        if let Ok(world) = World::new(Bully::VARIANTS[variant].rules, scenario)
            && let Some((all, steps, none)) = levels(&world, true)
        {
            let (found, counted, _) = levels(&world, false).expect("as few states");
            prop_assert_eq!((none, counted), (0, steps));
            prop_assert!(found == all, "other states, or in other levels");
        }
    }
}

#[test]
fn much_is_left_out() {
    let variant = Bully::VARIANTS[0].name;
    for network in ["set", "unordered", "fifo"] {
        let world = world(&format!("bully --variant {variant} --recoveries 1 --network {network}"));
        let (_, steps, left_out) = levels(&world, false).expect("few states");
        assert!(left_out * 6 > steps, "{left_out} of {steps} on {network}");
    }
}

fn safety() -> Vec<Condition> {
    let conditions = property::all::<Bully>().into_iter().map(|property| property.temporal);
    let safety = conditions.filter_map(|temporal| match temporal {
        Temporal::Always(condition) => Some(condition),
        Temporal::Reachable(_) | Temporal::Liveness(_) => None,
    });
    safety.collect()
}

/// Searches all that is within these limits.
fn search(
    space: &mut Packed,
    threads: usize,
    limits: Limits,
    edges: bool,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Exact {
    let (violations, first, disk) = (&[][..], false, None);
    let options = SearchOptions { limits, edges, threads, violations, first, disk, on_event };
    Exact::search(space, options).expect("threads")
}

/// The same, asking for every safety property.
fn asked(world: &World, threads: usize, limits: Limits) -> (Packed, Exact) {
    let mut space = Packed::new(world, safety());
    let exact = search(&mut space, threads, limits, false, &mut |_| {});
    (space, exact)
}

fn paths((space, exact): &mut (Packed, Exact), goals: &[Goal]) -> Vec<Option<Vec<Action>>> {
    let paths = exact.paths(space, goals).into_iter();
    paths.map(|path| path.map(|path| space.named(&path))).collect()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let world = world("bully --crashes 2 --recoveries 1");
    let goals: Vec<_> =
        (1..8).flat_map(|question| [true, false].map(|answer| Goal { question, answer })).collect();
    let mut one = asked(&world, 1, Limits::NONE);
    let shortest = paths(&mut one, &goals);
    assert!(shortest.iter().flatten().any(|path| path.len() > 3), "a path worth comparing");
    for threads in [2, 3, 8] {
        let mut many = asked(&world, threads, Limits::NONE);
        assert_eq!(many.1.counts(), one.1.counts());
        assert_eq!(paths(&mut many, &goals), shortest);
    }
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let world = world("bully --variant baseline --nodes 4 --recoveries 1");
    let limits = Limits { states: Some(1000), ..Limits::NONE };
    let (_, search) = asked(&world, 2, limits);
    assert!(search.cut_short().is_some());
    assert!((1000..20_000).contains(&search.counts().distinct), "{:?}", search.counts());
}

/// Parts outgrow their bits many times on the way; what was found by then is found.
#[test]
fn a_search_never_begins_anew() {
    // By the recommended rules so few states are reached that nothing is outgrown.
    let world = world("bully --rule challenged=elects --nodes 4");
    for edges in [false, true] {
        let (mut before, mut looks) = (0, 0);
        let mut on_event = |event: Event| {
            let Event::Progress(progress) = event else { return };
            assert!(progress.distinct >= before, "from {before} to {}", progress.distinct);
            (before, looks) = (progress.distinct, looks + 1);
        };
        let mut space = Packed::new(&world, Vec::new());
        let found = search(&mut space, 2, Limits::NONE, edges, &mut on_event);
        assert!(looks > 20, "only {looks} rounds");
        assert!(found.counts().distinct > 10_000, "{:?}", found.counts());
    }
}

/// The last number that is sent.
const LAST: u32 = 70_000;

/// A world of more messages than 16 bits number: a process counts, and another hears each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Counter;

impl Protocol for Counter {
    const NAME: &'static str = "counter";
    const SUMMARY: &'static str = "two processes count in turn";
    const VARIANTS: &'static [Variant<Self>] =
        &[Variant { name: "counter", source: "this test", rules: Counter }];
    const TIMERS: &'static [TimerRow<Self>] = &[];
    type Process = ();
    type Stable = ();
    type Message = u32;
    type Timer = ();

    fn converged(&self, _: &mut Local<'_, Self>) {}

    fn recover(&self, p: &mut Local<'_, Self>) {
        if p.is_highest() {
            p.send(Id::at(0), 0);
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, number: u32) {
        if number < LAST {
            p.send(from, number + 1);
        }
    }

    fn expire(&self, _: &mut Local<'_, Self>, (): ()) {}

    fn may_time_out(&self, _: &View<'_, Self>, _: Id, (): ()) -> bool {
        false
    }

    fn belief((): &()) -> Belief {
        Belief::Undecided
    }

    fn role((): &()) -> &'static str {
        "counting"
    }
}

/// Each number is a state of its own, and the last one is followed by nothing in flight.
#[test]
fn no_two_messages_have_one_number() {
    let scenario = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let world = World::new(Counter, scenario).expect("possible");
    let mut space = Packed::new(&world, Vec::new());
    let found = search(&mut space, 1, Limits::NONE, false, &mut |_| {});
    assert_eq!(found.cut_short(), None);
    assert_eq!(found.counts().distinct, u64::from(LAST) + 2);
}
