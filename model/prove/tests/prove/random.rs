//! A second way to what a solver says. Relations are changed at random: what is left of the
//! invariant by the solver's word is kept by every step that is tried, from states of the model and
//! from random ones. And random worlds have no transition that is no step.

use super::{CONTROLS, RIGHT, parts_of, solvers};
use bellwether_model::world::{Faults, Network, Scenario, Start, Timing};
use bellwether_prove::relation::{Expr, Kind, Relation, Sort};
use bellwether_prove::{Part, Structure, prove};

/// Draw numbers from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % most as u64).expect("below a small number")
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn cases(few: usize) -> (usize, Draw) {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
    let cases = given("BELLWETHER_CASES").map_or(few, |cases| usize::try_from(cases).expect("few"));
    (cases, Draw(given("BELLWETHER_SEED").unwrap_or(0)))
}

/// Any of the rules, right or wrong, and its parts.
fn any(draw: &mut Draw) -> (&'static str, Vec<Part>) {
    let words: Vec<&str> = RIGHT.iter().copied().chain(CONTROLS.iter().map(|c| c.0)).collect();
    let words = *draw.of(&words);
    (words, parts_of(words))
}

/// The relation without some parts of the invariant, some guards and some changes.
fn changed(mut relation: Relation, draw: &mut Draw) -> Relation {
    relation.invariant.retain(|_| !draw.one_in(4));
    for action in &mut relation.actions {
        if draw.one_in(8) {
            action.when = Expr::Truth(true);
        }
        action.changes.retain(|_| !draw.one_in(20));
    }
    relation
}

/// The same structure with some entries that do not fit.
fn perturbed(relation: &Relation, structure: &Structure, draw: &mut Draw) -> Structure {
    let mut other = structure.clone();
    for (symbol, table) in relation.symbols.iter().zip(&mut other.tables) {
        let values = match (symbol.kind, symbol.result) {
            (Kind::Rigid, _) => continue,
            (_, Sort::Truth) => 2,
            (_, Sort::Of(sort)) => structure.sizes[sort],
            (_, Sort::Number) => 12,
        };
        for value in table.iter_mut() {
            if draw.one_in(12) {
                *value = i64::try_from(draw.below(values)).expect("small");
            }
        }
    }
    other
}

/// Some states of the model, and of each some that are like it.
fn states(part: &Part, draw: &mut Draw) -> Vec<Structure> {
    let mut all = Vec::new();
    for &scenario in &part.worlds {
        let compared = part.compare(scenario, 60, None, &mut |transition, _| {
            if draw.one_in(3) {
                all.push(transition.before.clone());
                all.push(perturbed(&part.relation, transition.before, draw));
            }
        });
        compared.expect("possible").expect("each is a step");
    }
    all
}

/// Takes steps from a state, at random; how many kept what the solver says they keep.
fn step_from(
    relation: &Relation,
    kept: &[bool],
    before: &Structure,
    draw: &mut Draw,
) -> Result<usize, String> {
    if !before.is_possible(relation) || !before.satisfies(relation, |part| kept[part]) {
        return Ok(0);
    }
    let mut steps = 0;
    for action in &relation.actions {
        let sorts: Vec<usize> = action.params.iter().map(|&(_, sort)| sort).collect();
        let params: Vec<i64> = sorts
            .iter()
            .map(|&sort| i64::try_from(draw.below(before.sizes[sort])).expect("small"))
            .collect();
        if !before.holds(relation, &action.when, &params) {
            continue;
        }
        let mut after = before.after(relation, action, &params);
        for (symbol, table) in relation.symbols.iter().zip(&mut after.tables) {
            let lossy = symbol.kind == Kind::Message;
            table.iter_mut().filter(|_| lossy && draw.one_in(5)).for_each(|sent| *sent = 0);
        }
        assert!(before.is_step(relation, action, &params, &after), "{}", action.name);
        steps += 1;
        if !after.satisfies(relation, |part| kept[part]) {
            return Err(format!("{} with {params:?} from {before:?} to {after:?}", action.name));
        }
    }
    Ok(steps)
}

#[test]
fn what_a_solver_proves_no_step_breaks() {
    let (cases, mut draw) = cases(if cfg!(feature = "slow") { 6 } else { 2 });
    for solver in solvers().into_iter().take(1) {
        let (mut steps, mut whole) = (0, 0);
        for _ in 0..cases {
            let (words, parts) = any(&mut draw);
            let part = draw.of(&parts);
            let relation = changed(part.relation.clone(), &mut draw);
            let proof = prove(&relation, &solver, &mut |_| {}).expect("it is a solver");
            whole += usize::from(proof.kept.iter().all(|&kept| kept));
            for state in states(part, &mut draw) {
                let kept = step_from(&relation, &proof.kept, &state, &mut draw);
                steps += kept.unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
            }
        }
        println!(
            "{steps} steps of {cases} relations, of which {whole} kept all of their invariant"
        );
        assert!(steps > 100 * cases, "only {steps} steps");
    }
}

/// Any small scenario without a clock.
fn scenario(draw: &mut Draw) -> Scenario {
    let mut few = |most| u8::try_from(draw.below(most)).expect("small");
    let [crashes, recoveries] = [(); 2].map(|()| few(3));
    let [losses, duplicates, cuts, one_way_cuts, suspicions] = [(); 5].map(|()| few(2));
    let faults = Faults { crashes, recoveries, losses: losses.into(), ..Faults::NONE };
    let faults = Faults { duplicates, cuts, one_way_cuts, suspicions, ..faults };
    let network = *draw.of(&[Network::Fifo, Network::Unordered, Network::Set]);
    let timing = *draw.of(&[Timing::Perfect, Timing::Asynchronous]);
    let start = *draw.of(&[Start::Converged, Start::Cold]);
    let nodes = *draw.of(&[2, 3, 4]);
    Scenario { faults, network, timing, start, capacity: Some(2), ..Scenario::calm(nodes) }
}

#[test]
fn no_transition_of_a_random_world_is_no_step() {
    let (cases, mut draw) = cases(60);
    let (mut compared, mut transitions) = (0, 0);
    for _ in 0..cases {
        let (words, parts) = any(&mut draw);
        // Those with clocks need durations; the part that is about them has worlds of its own.
        let scenario = scenario(&mut draw);
        for part in parts.iter().filter(|part| part.name != "clocks") {
            // Some scenarios contradict themselves, or the rules.
            let Ok(tied) = part.compare(scenario, 150, None, &mut |_, _| {}) else { continue };
            let tied = tied.unwrap_or_else(|untied| panic!("{words}: {untied:?}"));
            compared += 1;
            transitions += tied.transitions;
        }
    }
    println!("{transitions} transitions of {compared} worlds");
    assert!(compared > cases / 4, "only {compared} of {cases}");
}
