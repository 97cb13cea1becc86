//! The packed world against the world itself: packing loses nothing, and what is looked up is what
//! the world does.

mod counter;

use bellwether_model::check::exact::{Exact, Goal, SearchOptions};
use bellwether_model::check::{Event, Limits};
use bellwether_model::property::{self, Condition, Temporal};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::{Bully, Challenged};
use bellwether_model::space::{Last, NO_LAST, OUTSIDE_WORD, Space, Unlearned};
use bellwether_model::world::packed::Packed;
use bellwether_model::world::{
    Action, Budget, Delay, DeliveryFairness, Drift, Durations, Faults, Heals, Missing, Network,
    Scenario, Slow, Start, State, Timed, Timing, World,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{HashMap, HashSet};

/// Enough words for every world of these tests.
const WORDS: usize = 8;

/// The states that follow, as the world says; `None` where one is beyond the bounds.
fn successors(world: &World, state: &State) -> Vec<Option<State>> {
    let mut actions = Vec::new();
    world.enabled(state, &mut actions);
    let next = actions.iter().map(|action| world.apply(state, action).state);
    next.map(|next| world.within_bounds(&next).then_some(next)).collect()
}

/// What follows `words`, learning as often as it takes; `words` are as they look afterwards.
fn expand(packed: &mut Packed, words: &mut Vec<u64>) -> Vec<Vec<u64>> {
    let mut next = Vec::new();
    if packed.expand(words, &mut packed.scratch(), &mut next).is_err() {
        next.clear();
        packed.learn(words);
        if packed.outgrown() {
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
        Timing::Timed(Timed {
            delay,
            slow: Slow::NONE,
            processing: 0,
            drift,
            durations,
            within: Some(3),
        })
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
    let missing =
        select(vec![Missing::NONE, "1-2".parse().expect("a link"), "2>1".parse().expect("a link")]);
    (2..6usize, faults, (network, missing), timing, start, heals, capacity).prop_map(
        |(
            nodes,
            (
                crashes,
                recoveries,
                losses,
                duplicates,
                (cuts, one_way_cuts),
                suspicions,
                (pauses, jumps),
            ),
            (network, missing),
            timing,
            start,
            heals,
            capacity,
        )| {
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let suspicions = if timing == Timing::Asynchronous { 0 } else { suspicions };
            let (pauses, jumps) = if timing.timed().is_some() { (pauses, jumps) } else { (0, 0) };
            let faults = Faults {
                crashes,
                recoveries,
                losses,
                duplicates,
                cuts,
                one_way_cuts,
                suspicions,
                pauses,
                jumps,
            };
            let fairness = DeliveryFairness::Weak;
            let surrounding =
                Scenario { heals, jump: 2, fairness, missing, network, ..Scenario::calm(nodes) };
            Scenario { faults, timing, start, capacity, ..surrounding }
        },
    )
}

proptest! {
    #[test]
    fn packing_loses_nothing_and_looking_up_is_doing(
        variant in 0..Bully::VARIANTS.len(),
        scenario in scenario(),
        reduced: bool,
        choices in proptest::collection::vec(0..1000usize, 1..60),
    ) {
        // Some variants have other durations than those of this scenario.
        if let Ok(world) = World::new(Bully::VARIANTS[variant].rules, scenario)
            && let Ok(world) = if reduced { world.without_dead_messages() } else { Ok(world) }
        {
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
    last: Last,
) -> Result<(Vec<u64>, Vec<Last>, u64), Unlearned> {
    let scratch = &mut packed.scratch();
    loop {
        let (mut next, mut lasts) = (Vec::new(), Vec::new());
        if let Ok((_, left_out)) = packed.expand_after(words, last, scratch, &mut next, &mut lasts)
        {
            return Ok((next, lasts, left_out));
        }
        packed.learn(words);
        if packed.outgrown() {
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
    let mut level = HashMap::from([(initial, NO_LAST)]);
    let (mut levels, mut steps, mut waits) = (Vec::new(), 0, 0);
    while !level.is_empty() && known.len() <= MOST {
        let mut next = HashMap::new();
        for (words, &last) in &level {
            let last = if all { NO_LAST } else { last };
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
        reduced: bool,
    ) {
        let capacity = scenario.capacity.filter(|_| bounded);
        let scenario = Scenario { capacity, ..scenario };
        if let Ok(world) = World::new(Bully::VARIANTS[variant].rules, scenario)
            && let Ok(world) = if reduced { world.without_dead_messages() } else { Ok(world) }
            && let Some((all, steps, none)) = levels(&world, true)
        {
            let (found, counted, _) = levels(&world, false).expect("as few states");
            prop_assert_eq!((none, counted), (0, steps));
            prop_assert!(found == all, "other states, or in other levels");
        }
    }
}

/// On each network.
#[test]
fn much_is_left_out() {
    for network in [Network::Set, Network::Unordered, Network::Fifo] {
        let faults = Faults { crashes: 1, recoveries: 1, ..Faults::default() };
        let scenario = Scenario { faults, network, ..Scenario::calm(3) };
        let world = World::new(Bully::VARIANTS[0].rules, scenario).expect("a small world");
        let reduced = world.without_dead_messages().expect("a world that can be reduced");
        for world in [world, reduced] {
            let (_, steps, left_out) = levels(&world, false).expect("few states");
            assert!(left_out * 6 > steps, "{left_out} of {steps} on {network:?}");
        }
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

fn search(world: &World, threads: usize, limits: Limits) -> (Packed, Exact) {
    let on_event = &mut |_| {};
    let disk = None;
    let search_options = SearchOptions {
        limits,
        edges: false,
        threads,
        violations: &[],
        first: false,
        disk,
        on_event,
    };
    let mut space = Packed::new(world, safety());
    let exact = Exact::search(&mut space, search_options).expect("threads");
    (space, exact)
}

fn paths((space, exact): &mut (Packed, Exact), goals: &[Goal]) -> Vec<Option<Vec<Action>>> {
    let paths = exact.paths(space, goals).into_iter();
    paths.map(|path| path.map(|path| space.named(&path))).collect()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let world =
        World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(2, 1)).expect("a world");
    let goals: Vec<_> =
        (1..8).flat_map(|question| [true, false].map(|answer| Goal { question, answer })).collect();
    let mut one = search(&world, 1, Limits::NONE);
    let shortest = paths(&mut one, &goals);
    assert!(shortest.iter().flatten().any(|path| path.len() > 3), "a path worth comparing");
    for threads in [2, 3, 8] {
        let mut many = search(&world, threads, Limits::NONE);
        assert_eq!(many.1.counts(), one.1.counts());
        assert_eq!(paths(&mut many, &goals), shortest);
    }
}

#[test]
fn a_path_leads_to_what_was_asked_for_by_as_few_steps_as_there_are() {
    let world =
        World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 1)).expect("a world");
    let goal = Goal { question: 1, answer: false };
    let path = paths(&mut search(&world, 1, Limits::NONE), &[goal]).remove(0).expect("two leaders");
    assert_eq!(path.len(), 5);
    let condition = safety().remove(0);
    let mut state = world.initial();
    for action in &path {
        assert!(condition.holds(&world, &state));
        state = world.apply(&state, action).state;
    }
    assert!(!condition.holds(&world, &state));
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let world = World::new(Bully::BASELINE, Scenario::calm(4).with_crashes(1, 1)).expect("a world");
    let limits = Limits { states: Some(1000), ..Limits::NONE };
    let (_, search) = search(&world, 2, limits);
    assert!(search.cut_short().is_some());
    assert!((1000..20_000).contains(&search.counts().distinct), "{:?}", search.counts());
}

/// Parts outgrow their bits many times on the way; what was found by then is found.
#[test]
fn a_search_never_begins_anew() {
    // By the recommended rules so few states are reached that nothing is outgrown.
    let rules = Bully { challenged: Challenged::Elects, ..Bully::RECOMMENDED };
    let world = World::new(rules, Scenario::calm(4).with_crashes(1, 0)).expect("a world");
    for edges in [false, true] {
        let mut packed = Packed::new(&world, Vec::new());
        let (mut before, mut looks) = (0, 0);
        let mut on_event = |event: Event| {
            let Event::Progress(progress) = event else { return };
            assert!(progress.distinct >= before, "from {before} to {}", progress.distinct);
            (before, looks) = (progress.distinct, looks + 1);
        };
        let limits = Limits::NONE;
        let (violations, first, on_event) = (&[][..], false, &mut on_event);
        let search_options =
            SearchOptions { limits, edges, threads: 2, violations, first, disk: None, on_event };
        let found = Exact::search(&mut packed, search_options).expect("threads");
        assert!(looks > 20, "only {looks} rounds");
        assert!(found.counts().distinct > 10_000, "{:?}", found.counts());
    }
}
