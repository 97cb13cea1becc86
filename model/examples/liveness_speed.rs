//! How fast liveness is decided on large graphs: `cargo run --release -p bellwether-model --example
//! liveness_speed`. It needs 3 GiB of memory.

use std::time::Instant;

use bellwether_model::check::Watch;
use bellwether_model::check::liveness::violation;
use bellwether_model::check::rows::{Fairness, Rows};
use bellwether_model::property::Liveness;

const EACH: usize = 9;

/// Nine transitions from each state, by an action each; the last is owed.
struct Large {
    successors: Vec<u32>,
}

impl Large {
    fn row(&self, number: u32) -> &[u32] {
        let row = &self.successors[number as usize * EACH..][..EACH];
        // In the last state of an acyclic graph nothing happens.
        if row[0] == number { &[] } else { row }
    }
}

impl Rows for Large {
    type Action = usize;

    fn len(&self) -> u32 {
        u32::try_from(self.successors.len() / EACH).expect("states are counted in 32 bits")
    }

    fn initial(&self) -> &[u32] {
        &[0]
    }

    fn successors(&self, number: u32) -> &[u32] {
        self.row(number)
    }

    fn actions(&self, number: u32) -> Vec<usize> {
        (0..self.row(number).len()).collect()
    }

    fn fairness(&self, action: &usize) -> Fairness {
        if action + 1 == EACH { Fairness::Weak } else { Fairness::None }
    }

    fn stutters(&self, number: u32) -> bool {
        self.row(number).is_empty()
    }

    fn has_strong(&self) -> bool {
        false
    }
}

/// `states` states; each leads to others by `next`, given itself and a random number. The numbers
/// of the states are near each other where `near`, and otherwise shuffled.
fn graph(states: u32, near: bool, next: impl Fn(u32, u32) -> u32) -> Large {
    let mut random = 1_u64;
    let mut draw = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        u32::try_from(random >> 33).expect("31 bits are left")
    };
    let mut numbers: Vec<u32> = (0..states).collect();
    if !near {
        // The first stays the first, and the last, in which nothing happens, the last.
        for at in (2..states as usize - 1).rev() {
            numbers.swap(at, 1 + draw() as usize % at);
        }
    }
    let mut successors = vec![0; states as usize * EACH];
    for state in 0..states {
        let row = numbers[state as usize] as usize * EACH;
        for edge in 0..EACH {
            successors[row + edge] = numbers[next(state, draw()) as usize];
        }
    }
    Large { successors }
}

fn measure(name: &str, graph: &Large) {
    for (what, formula) in
        [("◇□", Liveness::EventuallyAlways(())), ("□◇", Liveness::AlwaysEventually(()))]
    {
        let last = graph.len() - 1;
        let started = Instant::now();
        // Every other state is good.
        let good = |number: u32| number % 2 == 1 || number == last;
        let verdict = match violation(graph, &formula.map(|()| good), &mut Watch::idle()) {
            Ok(Some(_)) => "violated",
            Ok(None) => "holds",
            Err(_) => "unknown",
        };
        let took = started.elapsed();
        println!("{:>9} states, {name}, {what}: {verdict} after {took:.2?}", graph.len());
    }
}

fn main() {
    for states in [854_000, 6_000_000] {
        let onward = |state: u32, random: u32| (state + 1 + random % 5_000).min(states - 1);
        let anywhere = |state: u32, random: u32| (state + 1 + random % states).min(states - 1);
        let around = |state: u32, random: u32| (state + 1 + random % 5_000) % states;
        measure("acyclic, near", &graph(states, true, onward));
        measure("acyclic, shuffled", &graph(states, false, onward));
        measure("acyclic, far", &graph(states, true, anywhere));
        measure("one component", &graph(states, true, around));
        measure("one component, shuffled", &graph(states, false, around));
    }
}
