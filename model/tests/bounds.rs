//! Bounds: on random graphs against brute force, and what elections of the bully cost at most.

use bellwether_model::check::bounds::{Bound, Bounds, ComponentOrder, Until, bounds};
use bellwether_model::check::rows::{Fairness, Rows};
use bellwether_model::check::{Limits, Watch};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Network, Scenario, Start, World};
use proptest::prelude::*;

const STATES: u32 = 6;

/// A graph in which an action is its position, and each transition gains something.
#[derive(Debug)]
struct Drawn {
    successors: Vec<Vec<u32>>,
    gains: Vec<Vec<u32>>,
}

impl Drawn {
    /// These transitions, as far as they are reached from state 0: from, to, gain.
    fn new(edges: &[(u32, u32, u32)]) -> Drawn {
        let mut drawn = Drawn { successors: vec![vec![]; 6], gains: vec![vec![]; 6] };
        let mut reached = vec![0];
        for at in 0.. {
            let Some(&state) = reached.get(at) else { break };
            for &(_, to, gain) in edges.iter().filter(|(from, ..)| *from == state) {
                drawn.successors[state as usize].push(to);
                drawn.gains[state as usize].push(gain);
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        drawn
    }

    /// The most that is gained on a way of so many steps.
    fn most(&self, steps: usize) -> u64 {
        let mut ahead = [0; STATES as usize];
        for _ in 0..steps {
            let before = ahead;
            for (state, most) in ahead.iter_mut().enumerate() {
                let moves = self.successors[state].iter().zip(&self.gains[state]);
                let after = moves.map(|(&to, &gain)| u64::from(gain) + before[to as usize]);
                *most = after.max().unwrap_or(0);
            }
        }
        ahead[0]
    }

    /// Where the actions lead from a state, and what they gain.
    fn walk(&self, from: u32, actions: &[usize]) -> (u32, u64) {
        actions.iter().fold((from, 0), |(state, sum), &at| {
            let state = state as usize;
            (self.successors[state][at], sum + u64::from(self.gains[state][at]))
        })
    }
}

impl Rows for Drawn {
    type Action = usize;

    fn len(&self) -> u32 {
        STATES
    }

    fn initial(&self) -> &[u32] {
        &[0]
    }

    fn successors(&self, number: u32) -> &[u32] {
        &self.successors[number as usize]
    }

    fn actions(&self, number: u32) -> Vec<usize> {
        (0..self.successors[number as usize].len()).collect()
    }

    fn fairness(&self, _: &usize) -> Fairness {
        Fairness::None
    }

    fn stutters(&self, _: u32) -> bool {
        true
    }
}

fn bound(drawn: &Drawn) -> Bound<usize> {
    let mut watch = Watch::idle();
    let order = ComponentOrder::new(drawn, &mut watch).expect("nothing ends it");
    let bound = order.bound(|state, at| drawn.gains[state as usize][at], &mut watch);
    bound.expect("nothing ends it")
}

#[test]
fn the_longest_way_is_not_the_shortest_one() {
    let drawn = Drawn::new(&[(0, 3, 4), (0, 1, 2), (1, 2, 2), (2, 3, 1), (3, 4, 0)]);
    assert_eq!(bound(&drawn), Bound::Most(5, vec![1, 0, 0]));
}

#[test]
fn a_cycle_that_gains_nothing_does_not_matter_and_one_that_does_has_no_bound() {
    let mut edges = vec![(0, 1, 3), (1, 2, 0), (2, 1, 0), (2, 3, 1)];
    assert_eq!(bound(&Drawn::new(&edges)), Bound::Most(4, vec![0, 0, 1]));
    edges[2].2 = 1;
    let Bound::Unbounded(lasso) = bound(&Drawn::new(&edges)) else { panic!("2 → 1 gains") };
    assert_eq!((lasso.stem.len(), lasso.cycle.len()), (2, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn a_bound_is_that_of_brute_force(
        edges in prop::collection::vec(
            (0..STATES, 0..STATES, prop_oneof![Just(0), 0..3_u32]),
            0..9,
        ),
    ) {
        let drawn = Drawn::new(&edges);
        // Six steps are enough where no cycle gains, and a hundred show where one does.
        match bound(&drawn) {
            Bound::Most(most, actions) => {
                prop_assert_eq!((most, most), (drawn.most(6), drawn.most(100)));
                prop_assert_eq!(drawn.walk(0, &actions).1, most);
            }
            Bound::Unbounded(lasso) => {
                prop_assert!(drawn.most(100) > drawn.most(6));
                let (start, _) = drawn.walk(0, &lasso.stem);
                let (home, gained) = drawn.walk(start, &lasso.cycle);
                prop_assert_eq!(start, home);
                prop_assert!(gained > 0);
            }
        }
    }
}

fn costs(variant: &str, scenario: Scenario, until: Until) -> Bounds {
    let rules = Bully::VARIANTS.iter().find(|v| v.name == variant).expect("it exists").rules;
    let world = World::new(rules, scenario).expect("the scenario is possible");
    bounds(&world, until, (Limits::NONE, 2), &mut |_| {}).expect("threads")
}

/// The most of what has this name: none if it is unbounded.
fn most(costs: &Bounds, name: &str) -> Option<u64> {
    let line = costs.lines.iter().find(|line| line.name() == name);
    match &line.unwrap_or_else(|| panic!("{name} is not counted")).bound {
        Bound::Most(most, _) => Some(*most),
        Bound::Unbounded(_) => None,
    }
}

/// The table in `docs/protocols/bully.md`.
#[test]
fn what_the_crash_of_a_leader_costs_at_most() {
    let table = [
        ("baseline", [1, 6, 17]),
        ("coulouris", [1, 7, 23]),
        ("chapter", [1, 7, 23]),
        ("lecture", [1, 7, 23]),
        ("tanenbaum", [2, 9, 27]),
        ("wikipedia", [2, 9, 27]),
        ("encyclopedia-code", [2, 9, 27]),
        ("lesson", [2, 9, 27]),
    ];
    for network in [Network::Fifo, Network::Set] {
        for (variant, messages) in table {
            for (nodes, messages) in (2..=4).zip(messages) {
                let scenario = Scenario { network, ..Scenario::calm(nodes) }.with_crashes(1, 0);
                let costs = costs(variant, scenario, Until::Rest);
                let what = format!("{variant}, {nodes} nodes, {network}");
                assert_eq!(most(&costs, "messages"), Some(messages), "{what}");
            }
        }
    }
}

/// The execution is one: its messages, counted in its trace, are as many as the bound says.
#[test]
fn an_execution_attains_each_bound() {
    let scenario = Scenario::calm(4).with_crashes(1, 0);
    let costs = costs("baseline", scenario, Until::Rest);
    for line in &costs.lines {
        let Bound::Most(most, _) = line.bound else { panic!("{} is bounded", line.name()) };
        let trace = line.trace(&costs.world);
        assert!(trace.actions(&costs.world).is_ok(), "{} is an execution", line.name());
        if line.name() == "messages" {
            let sent: usize = trace.steps.iter().map(|step| step.sent.len()).sum();
            assert_eq!(u64::try_from(sent), Ok(most));
        }
    }
}

#[test]
fn heartbeats_have_no_bound_without_a_clock_and_elections_do() {
    for until in [Until::Rest, Until::Agreed] {
        let costs = costs("recommended", Scenario::calm(3).with_crashes(1, 0), until);
        assert_eq!(most(&costs, "messages/coordinator"), None);
        assert_eq!(most(&costs, "time-outs/heartbeat"), None);
        assert_eq!(most(&costs, "messages/election"), Some(3));
        assert_eq!(most(&costs, "elections"), Some(2));
        assert_eq!(most(&costs, "leaderships"), Some(1));
    }
}

#[test]
fn peace_costs_nothing_and_a_cold_start_is_counted_from_the_beginning() {
    let peace = costs("recommended", Scenario::calm(3), Until::Rest);
    assert_eq!((most(&peace, "messages"), most(&peace, "elections")), (Some(0), Some(0)));
    let cold = costs("baseline", Scenario { start: Start::Cold, ..Scenario::calm(3) }, Until::Rest);
    assert_eq!(most(&cold, "messages"), Some(13));
    assert_eq!(most(&cold, "leaderships"), Some(1));
}

#[test]
fn a_search_that_is_cut_short_claims_no_bound() {
    let limits = Limits { states: Some(10), ..Limits::NONE };
    let world = World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0));
    let world = world.expect("the scenario is possible");
    let cut = bounds(&world, Until::Rest, (limits, 1), &mut |_| {}).expect("threads");
    assert!(cut.incomplete.is_some() && cut.lines.is_empty());
}
