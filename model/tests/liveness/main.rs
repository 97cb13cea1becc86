//! Liveness on graphs small enough to decide by hand, and against brute force on random ones.

use bellwether_model::check::Limits;
use bellwether_model::check::graph::StateGraph;
use bellwether_model::check::liveness::{Fair, Lasso, violation};
use proptest::prelude::*;
use stateright::Model;

/// A graph drawn by hand: from, to, and the owed action's number if it is owed.
#[derive(Clone, Debug)]
struct Drawn {
    edges: Vec<(u8, u8, Option<u8>)>,
}

type Edge = (u8, Option<u8>, u8);

impl Model for Drawn {
    type State = u8;
    /// Its number among all edges, which tells two faults apart; owed actions are the same action
    /// wherever they are enabled.
    type Action = Edge;

    fn init_states(&self) -> Vec<u8> {
        vec![0]
    }

    fn actions(&self, state: &u8, actions: &mut Vec<Edge>) {
        for (number, (from, to, owed)) in (0..).zip(&self.edges) {
            if from == state {
                // An owed action is one wherever it is enabled; a fault is told apart by its edge.
                actions.push((if owed.is_some() { 0 } else { number }, *owed, *to));
            }
        }
    }

    fn next_state(&self, _: &u8, (_, _, to): Edge) -> Option<u8> {
        Some(to)
    }
}

impl Fair for Drawn {
    fn is_owed(&self, (_, owed, _): &Edge) -> bool {
        owed.is_some()
    }
}

fn decide(edges: &[(u8, u8, Option<u8>)], good: &[u8]) -> Option<Lasso<Edge>> {
    let drawn = Drawn { edges: edges.to_vec() };
    let graph = StateGraph::explore(&drawn, &Limits::NONE, true, |_, _| {}, &mut |_| {});
    violation(&graph, |state| good.contains(state))
}

const FAULT: Option<u8> = None;
const OWED: Option<u8> = Some(1);

#[test]
fn a_state_where_nothing_is_owed_may_last_for_ever() {
    // 0 → 1 is a fault, so staying in 0 is fair.
    let lasso = decide(&[(0, 1, FAULT)], &[1]).expect("0 may last");
    assert_eq!((lasso.stem.len(), lasso.cycle.len()), (0, 0));
    // If it is owed, 1 is reached, and lasts.
    assert_eq!(decide(&[(0, 1, OWED)], &[1]), None);
}

#[test]
fn an_unfair_cycle_does_not_count() {
    // 0 ⇄ 1 by faults, but the owed way to 2 is open in both.
    let edges = [(0, 1, FAULT), (1, 0, FAULT), (0, 2, OWED), (1, 2, OWED)];
    assert_eq!(decide(&edges, &[2]), None);
    // Open in only one of them, it may be missed for ever.
    let lasso = decide(&edges[..3], &[2]).expect("the cycle is fair");
    assert_eq!(lasso.cycle.len(), 2);
}

#[test]
fn a_cycle_of_owed_actions_is_fair_when_it_takes_them_all() {
    let edges = [(0, 1, Some(1)), (1, 0, Some(2))];
    let lasso = decide(&edges, &[1]).expect("0 comes back for ever");
    assert_eq!(lasso.cycle.len(), 2);
    assert_eq!(decide(&edges, &[0, 1]), None);
}

#[test]
fn a_fair_cycle_is_found_inside_a_larger_component() {
    // 1 ⇄ 2 alone would starve the action that is open in both; with 3 it is taken.
    let edges = [
        (0, 1, OWED),
        (1, 2, FAULT),
        (2, 1, FAULT),
        (1, 3, Some(9)),
        (2, 3, Some(9)),
        (3, 1, OWED),
    ];
    let lasso = decide(&edges, &[0, 1, 3]).expect("2 comes back for ever");
    let visited: Vec<u8> = lasso.cycle.iter().map(|&(_, _, to)| to).collect();
    assert!(visited.contains(&3) && visited.contains(&2), "{visited:?}");
}

#[test]
fn a_join_reached_in_two_ways_is_judged_by_where_it_leads() {
    let diamond = [(0, 1, OWED), (0, 2, Some(2)), (1, 3, OWED), (2, 3, OWED)];
    assert_eq!(decide(&diamond, &[3]), None);
    assert!(decide(&diamond, &[1, 2]).is_some());
}

#[test]
fn a_cycle_reached_only_through_the_goal_still_counts() {
    let edges = [(0, 1, OWED), (1, 2, OWED), (2, 2, OWED)];
    let lasso = decide(&edges, &[0, 1]).expect("2 lasts");
    assert_eq!((lasso.stem.len(), lasso.cycle.len()), (2, 1));
}

/// All sets of states in which an execution can stay for ever: brute force over subsets. A set
/// counts if it is strongly connected by transitions inside it, and every owed action that is
/// enabled in all its states is taken inside it; a single state also if nothing owed is enabled.
fn brute_force(edges: &[(u8, u8, Option<u8>)], good: &[u8], states: u8) -> bool {
    let drawn = Drawn { edges: edges.to_vec() };
    let owed = |state: u8| {
        let mut actions = Vec::new();
        drawn.actions(&state, &mut actions);
        actions.retain(|action| drawn.is_owed(action));
        actions
    };
    let mut reachable = vec![0_u8];
    for at in 0.. {
        let Some(&state) = reachable.get(at) else { break };
        for &(from, to, _) in edges {
            if from == state && !reachable.contains(&to) {
                reachable.push(to);
            }
        }
    }
    (1_u32..1 << states).any(|set| {
        let inside = |state: u8| set & (1 << state) != 0;
        let members: Vec<u8> = (0..states).filter(|&s| inside(s)).collect();
        if !members.iter().all(|s| reachable.contains(s))
            || members.iter().all(|s| good.contains(s))
        {
            return false;
        }
        let steps: Vec<_> = edges.iter().filter(|(f, t, _)| inside(*f) && inside(*t)).collect();
        let connected = members.iter().all(|&start| {
            let mut seen = vec![];
            let mut todo = vec![start];
            while let Some(at) = todo.pop() {
                for (_, to, _) in steps.iter().filter(|(from, ..)| *from == at) {
                    if !seen.contains(to) {
                        seen.push(*to);
                        todo.push(*to);
                    }
                }
            }
            members.iter().all(|m| seen.contains(m))
        });
        let stutters = members.len() == 1 && owed(members[0]).is_empty();
        let always: Vec<Edge> = owed(members[0])
            .into_iter()
            .filter(|action| members.iter().all(|&m| owed(m).contains(action)))
            .collect();
        let taken = |action: &Edge| steps.iter().any(|(_, to, owed)| (0, *owed, *to) == *action);
        stutters || (connected && always.iter().all(taken))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_verdict_is_that_of_brute_force(
        edges in prop::collection::vec((0..6_u8, 0..6_u8, prop::option::of(0..3_u8)), 0..14),
        good in prop::collection::vec(0..6_u8, 0..5),
    ) {
        let found = decide(&edges, &good);
        prop_assert_eq!(found.is_some(), brute_force(&edges, &good, 6));
    }

    /// The lasso is an execution: it begins at the beginning, comes back to where its cycle
    /// begins, passes a bad state there, and is fair.
    #[test]
    fn a_lasso_is_a_fair_execution_that_is_bad_for_ever(
        edges in prop::collection::vec((0..6_u8, 0..6_u8, prop::option::of(0..3_u8)), 0..14),
        good in prop::collection::vec(0..6_u8, 0..5),
    ) {
        let Some(lasso) = decide(&edges, &good) else { return Ok(()) };
        let drawn = Drawn { edges };
        let enabled = |state: u8| {
            let mut actions = Vec::new();
            drawn.actions(&state, &mut actions);
            actions
        };
        let mut at = 0;
        for action in &lasso.stem {
            prop_assert!(enabled(at).contains(action));
            at = action.2;
        }
        let home = at;
        let mut visited = vec![home];
        for action in &lasso.cycle {
            prop_assert!(enabled(at).contains(action));
            at = action.2;
            visited.push(at);
        }
        prop_assert_eq!(at, home);
        prop_assert!(visited.iter().any(|state| !good.contains(state)));
        for action in enabled(home).into_iter().filter(|action| drawn.is_owed(action)) {
            let missed = visited.iter().all(|&state| enabled(state).contains(&action));
            prop_assert!(!missed || lasso.cycle.contains(&action), "{action:?} starves");
        }
    }
}
