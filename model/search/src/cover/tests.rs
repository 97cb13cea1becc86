//! The executions of drawn graphs, and the fewest steps of small ones, found in another way.

use super::{Cover, cover};
use crate::limits::Watch;
use crate::rows::{Fairness, OUTSIDE, Rows};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};

/// The states that follow each state, the first of which is the initial one.
#[derive(Clone, Debug)]
struct Drawn(Vec<Vec<u32>>);

impl Rows for Drawn {
    type Action = usize;

    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    fn initial(&self) -> &[u32] {
        &[0]
    }

    fn successors(&self, number: u32) -> &[u32] {
        &self.0[number as usize]
    }

    fn actions(&self, number: u32) -> Vec<usize> {
        (0..self.0[number as usize].len()).collect()
    }

    fn fairness(&self, _: &usize) -> Fairness {
        Fairness::None
    }

    fn stutters(&self, _: u32) -> bool {
        false
    }
}

impl Drawn {
    /// The transitions that can be reached and stay within the bounds: state and position.
    fn transitions(&self) -> Vec<(u32, usize)> {
        let (mut met, mut queue) = (BTreeSet::from([0]), VecDeque::from([0]));
        let mut found = Vec::new();
        while let Some(state) = queue.pop_front() {
            for (position, &to) in self.0[state as usize].iter().enumerate() {
                if to != OUTSIDE {
                    found.push((state, position));
                    if met.insert(to) {
                        queue.push_back(to);
                    }
                }
            }
        }
        found
    }

    fn to(&self, (state, position): (u32, usize)) -> u32 {
        self.0[state as usize][position]
    }

    /// The fewest steps of executions that take every transition, by trying all: breadth first over
    /// states with what has been taken. To begin anew is no step.
    fn fewest(&self) -> u64 {
        let all = self.transitions();
        let whole = (1_usize << all.len()) - 1;
        let mut done = BTreeSet::new();
        let mut queue = VecDeque::from([(0, 0, 0)]);
        while let Some((state, taken, steps)) = queue.pop_front() {
            if taken == whole {
                return steps;
            }
            if !done.insert((state, taken)) {
                continue;
            }
            queue.push_front((0, taken, steps));
            for (at, &transition) in all.iter().enumerate() {
                if transition.0 == state {
                    queue.push_back((self.to(transition), taken | 1 << at, steps + 1));
                }
            }
        }
        unreachable!("every transition can be reached")
    }
}

fn drawn(states: usize, most: usize) -> impl Strategy<Value = Drawn> {
    let row = prop::collection::vec(any::<u32>(), 0..=most);
    prop::collection::vec(row, 1..=states).prop_map(|mut rows| {
        let count = rows.len() as u32;
        for to in rows.iter_mut().flatten() {
            *to = Some(*to % (count + 1)).filter(|&to| to < count).unwrap_or(OUTSIDE);
        }
        Drawn(rows)
    })
}

fn covered(graph: &Drawn) -> Cover {
    cover(graph, &mut Watch::idle()).expect("nothing ends it")
}

/// What the executions take, without those of this number.
fn taken(found: &Cover, without: Option<usize>) -> BTreeSet<(u32, usize)> {
    let executions = found.executions().iter().enumerate();
    let executions = executions.filter(|(at, _)| Some(*at) != without);
    executions.flat_map(|(_, steps)| steps).map(|&step| found.place(step)).collect()
}

/// Each execution is a path from the initial state, and shorter ones come first.
fn are_executions(graph: &Drawn, found: &Cover) {
    for steps in found.executions() {
        let mut state = 0;
        for place in steps.iter().map(|&step| found.place(step)) {
            assert_eq!(place.0, state, "{graph:?}: {steps:?}");
            state = graph.to(place);
        }
    }
    assert!(found.executions().is_sorted_by_key(Vec::len), "{graph:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_bound_is_what_can_be_done_at_best(graph in drawn(4, 3)) {
        let found = covered(&graph);
        let fewest = graph.fewest();
        prop_assert_eq!(found.bound(), fewest);
        // None is so long that it is cut.
        prop_assert_eq!(found.steps(), fewest);
    }

    #[test]
    fn every_transition_is_taken_and_no_execution_is_too_many(graph in drawn(30, 4)) {
        let found = covered(&graph);
        are_executions(&graph, &found);
        let all: BTreeSet<_> = graph.transitions().into_iter().collect();
        prop_assert_eq!(found.transitions(), all.len() as u64);
        prop_assert_eq!(&taken(&found, None), &all);
        for at in 0..found.executions().len() {
            prop_assert_ne!(&taken(&found, Some(at)), &all);
        }
        prop_assert!(found.bound() >= found.transitions());
        prop_assert!(found.bound() <= found.steps());
        prop_assert!(found.steps() <= found.bound() + found.bound() / 20);
    }

    /// The bound follows from the prices alone, whatever the flow was.
    #[test]
    fn no_transition_raises_the_price_by_more_than_1(graph in drawn(60, 5)) {
        let found = covered(&graph);
        prop_assert_eq!(found.prices.first(), Some(&0));
        for arc in found.arcs.within() {
            let (from, to) = (found.arcs.source(arc), found.arcs.target(arc));
            prop_assert!(found.price(to) <= found.price(from) + 1);
        }
    }

    #[test]
    fn the_shortest_execution_with_a_transition_ends_with_it(graph in drawn(20, 4)) {
        let found = covered(&graph);
        for arc in found.arcs.within() {
            let steps = found.shortest(arc);
            let way: Vec<_> = steps.iter().map(|&step| found.place(step)).collect();
            prop_assert_eq!(way[0].0, 0);
            prop_assert!(way.windows(2).all(|two| graph.to(two[0]) == two[1].0));
            prop_assert_eq!(found.leads_to(arc), way.last().map(|&last| graph.to(last)));
            prop_assert!(way.len() <= graph.0.len());
        }
    }
}

#[test]
fn a_state_that_is_left_more_often_is_reached_in_the_cheapest_way() {
    // 1 is left three times and entered twice; 0 is nearer to it over one transition than over 4.
    let graph = Drawn(vec![vec![1, 2], vec![3, 3, 3], vec![4], vec![], vec![1]]);
    let found = covered(&graph);
    assert_eq!((found.transitions(), found.bound(), found.steps()), (7, 8, 8));
    assert_eq!(found.executions().len(), 3);
}

#[test]
fn a_long_execution_is_cut_where_that_costs_little() {
    // A ring of ten states, at each of which something can happen fifty times.
    let row = |state: u32| [vec![state; 50], vec![(state + 1) % 10]].concat();
    let graph = Drawn((0..10).map(row).collect());
    let found = covered(&graph);
    assert_eq!(found.bound(), 510);
    are_executions(&graph, &found);
    let longest = found.executions().last().expect("some").len();
    assert!(longest <= 128, "{longest}");
    assert!(found.steps() <= 510 + 25, "{}", found.steps());
}

#[test]
fn where_nothing_happens_there_is_no_execution() {
    let found = covered(&Drawn(vec![vec![OUTSIDE]]));
    assert_eq!((found.states(), found.transitions(), found.outside()), (1, 0, 1));
    assert_eq!((found.steps(), found.bound()), (0, 0));
    assert!(found.executions().is_empty());
}
