//! Random walks in a world, each with budgets and weights of its own.
//!
//! A swarm is many cheap searches that differ, rather than one that does everything with the same
//! likelihood (G. J. Holzmann, R. Joshi and A. Groce, *Swarm Verification Techniques*, 2011). Each
//! walk draws how many faults of each kind it takes at most, within those of the world, how likely
//! each [kind](Kind) of action is, and which processes are slow. A walk follows from the seed and
//! its number alone. Whatever it does can happen in the world: its own budgets leave actions out,
//! they never make one possible.

mod coverage;

pub use coverage::{Coverage, Kind, Sketch, Taken, concerned};

use super::{Action, Budget, Condition, Exceeded, State, World};
use crate::protocol::{Id, MAX_SEARCHED};
use coverage::Rules;

/// A state to look for: one in which a condition has this answer.
#[derive(Clone)]
pub(crate) struct Goal {
    pub(crate) condition: Condition,
    pub(crate) answer: bool,
}

impl Goal {
    fn met(&self, world: &World, state: &State) -> bool {
        self.condition.holds(world, state) == self.answer
    }
}

/// The plan of one walk.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of all walks.
    pub seed: u64,
    /// The number of this walk.
    pub number: u64,
    /// The largest number of steps that the walk takes.
    pub depth: usize,
    /// Whether the walk looks which rules decide.
    pub looks: bool,
}

/// The result of a walk: what it has met.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// The number of steps that the walk took.
    pub steps: usize,
    /// The coverage of the walk.
    pub coverage: Coverage,
    /// The estimate of how many states the walk met.
    pub states: Sketch,
    /// The number of steps after which the walk first met each goal.
    pub found: Vec<Option<usize>>,
    /// The actions of the walk, up to the last goal that it was first to meet.
    pub path: Vec<Action>,
}

/// How often a walk looks whether it is to end.
const BETWEEN_LOOKS: usize = 64;

/// How likely a kind of action is, beside the others that can happen.
const WEIGHTS: [u64; 4] = [1, 4, 16, 64];

/// How many steps are taken at most to find a shorter way; in larger worlds fewer, since each takes
/// longer.
const MOST_STEPS: usize = 200_000;

/// A world, what walks look for in it, and its other rules.
pub(crate) struct Swarm<'a> {
    world: &'a World,
    goals: Vec<Goal>,
    rules: Rules,
    exceeded: Exceeded,
}

impl<'a> Swarm<'a> {
    /// What walks in `world` and looks for these goals.
    pub(crate) fn new(world: &'a World, goals: Vec<Goal>) -> Self {
        Swarm { world, goals, rules: Rules::of(world), exceeded: Exceeded::default() }
    }

    /// Takes a walk; `None` if it was to `stop`.
    pub(crate) fn walk(&self, plan: &Plan, stop: &dyn Fn() -> bool) -> Option<Walk> {
        let mut random = Random::new(plan.seed, plan.number);
        let mut drawn = Drawn::new(self.world, &mut random);
        let mut walk = Walk { found: vec![None; self.goals.len()], ..Walk::default() };
        if plan.looks {
            walk.coverage.looked = 1;
        }
        walk.coverage.rules = self.rules.none_met();
        let mut path: Vec<Action> = Vec::new();
        let mut state = self.world.initial();
        let mut enabled = Vec::new();
        loop {
            walk.states.record(&state);
            for (goal, found) in self.goals.iter().zip(&mut walk.found) {
                if found.is_none() && goal.met(self.world, &state) {
                    *found = Some(path.len());
                }
            }
            if path.len() % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 && stop() {
                return None;
            }
            if path.len() == plan.depth {
                break;
            }
            enabled.clear();
            self.world.enabled(&state, &mut enabled);
            enabled.retain(|action| *drawn.left(Kind::of(action)) > 0);
            let Some((action, next)) = self.take(&state, &mut enabled, &drawn, &mut random) else {
                break;
            };
            let left = drawn.left(Kind::of(&action));
            *left = left.saturating_sub(u64::from(Kind::of(&action).is_budgeted()));
            walk.coverage.taken.record(&state, &action);
            if plan.looks {
                self.rules.record(&state, &action, &next, &mut walk.coverage.rules);
            }
            path.push(action);
            state = next;
        }
        walk.steps = path.len();
        let last = walk.found.iter().flatten().max();
        path.truncate(last.copied().unwrap_or(0));
        walk.path = path;
        Some(walk)
    }

    /// One of the actions, and the state that follows; `None` if nothing happens any more but
    /// heartbeats without news, or all that happens exceeds a bound.
    fn take(
        &self,
        state: &State,
        actions: &mut Vec<Action>,
        drawn: &Drawn,
        random: &mut Random,
    ) -> Option<(Action, State)> {
        if !actions.iter().any(Action::is_fault) && self.world.is_quiescent(state) {
            return None;
        }
        actions.sort_by_key(Kind::of);
        while !actions.is_empty() {
            let at = drawn.choose(actions, random);
            let after = self.world.apply(state, &actions[at]).state;
            match self.world.exceeds(&after) {
                None => return Some((actions[at], after)),
                Some(bound) => self.exceeded.record(bound),
            }
            actions.remove(at);
        }
        None
    }

    /// An execution that meets the goal with this number as well, with some of these actions only.
    /// It is not always a shortest one: parts are left out for as long as that is cheap.
    pub(crate) fn shorten(&self, goal: usize, path: &[Action]) -> Vec<Action> {
        let (goal, mut best) = (&self.goals[goal], path.to_vec());
        let (mut steps, weight) = (0, self.world.processes().div_ceil(MAX_SEARCHED));
        let mut size = best.len().div_ceil(2);
        while size > 0 {
            let before = best.len();
            let mut begin = 0;
            while begin < best.len() && steps < MOST_STEPS {
                let end = (begin + size).min(best.len());
                let tried = best[..begin].iter().chain(&best[end..]);
                steps += best.len() * weight;
                match self.meets(tried, goal) {
                    Some(found) if found.len() < best.len() => best = found,
                    _ => begin = end,
                }
            }
            if steps >= MOST_STEPS {
                break;
            }
            // Single actions are left out until none can be.
            size = if size == 1 && best.len() < before { 1 } else { size / 2 };
        }
        best
    }

    /// Those of the actions that can happen, one after the other, until `goal` is met.
    fn meets<'p>(
        &self,
        actions: impl Iterator<Item = &'p Action>,
        goal: &Goal,
    ) -> Option<Vec<Action>> {
        let mut state = self.world.initial();
        let mut taken = Vec::new();
        if goal.met(self.world, &state) {
            return Some(taken);
        }
        for action in actions {
            if !self.world.is_enabled(&state, action) {
                continue;
            }
            let after = self.world.apply(&state, action).state;
            if self.world.exceeds(&after).is_some() {
                continue;
            }
            state = after;
            taken.push(*action);
            if goal.met(self.world, &state) {
                return Some(taken);
            }
        }
        None
    }

    /// The bounds that kept walks from a step, in words: what there may be at most.
    pub(crate) fn bounds_met(&self) -> Vec<String> {
        self.world.bounds_met(&self.exceeded)
    }
}

/// What a walk has drawn.
struct Drawn {
    weights: [u64; Kind::ALL.len()],
    /// How often each kind may still happen.
    left: [u64; Kind::ALL.len()],
    /// The processes to which little happens.
    slow: Vec<bool>,
}

impl Drawn {
    fn new(world: &World, random: &mut Random) -> Drawn {
        // Where no clock jumps, nothing is drawn for that.
        let drawn = |kind| kind != Kind::Jump || most(world, kind) != Some(0);
        let mut left = [u64::MAX; Kind::ALL.len()];
        for (kind, left) in Kind::ALL.into_iter().zip(&mut left) {
            // Half of the walks do not hold back.
            if kind.is_budgeted() && drawn(kind) && random.below(2) == 0 {
                *left = match most(world, kind) {
                    Some(most) => random.below(most + 1),
                    None => 1 << random.below(8),
                };
            }
        }
        let weights = Kind::ALL.map(|kind| match drawn(kind) {
            true => WEIGHTS[random.place(WEIGHTS.len())],
            false => 0,
        });
        let slow = world.ids().map(|_| random.below(4) == 0).collect();
        Drawn { weights, left, slow }
    }

    fn left(&mut self, kind: Kind) -> &mut u64 {
        &mut self.left[kind as usize]
    }

    /// One of these, which are sorted by kind.
    fn choose(&self, actions: &[Action], random: &mut Random) -> usize {
        let weight = |of: &[Action]| of.first().map_or(0, |a| self.weights[Kind::of(a) as usize]);
        let kinds = || actions.chunk_by(|a, b| Kind::of(a) == Kind::of(b));
        let mut at = random.below(kinds().map(weight).sum());
        let mut begin = 0;
        for kind in kinds() {
            if let Some(rest) = at.checked_sub(weight(kind)) {
                (at, begin) = (rest, begin + kind.len());
                continue;
            }
            let mut chosen = random.place(kind.len());
            let is_slow = |id: Id| self.slow[id.index()];
            if concerned(&kind[chosen]).is_some_and(is_slow) && random.below(8) > 0 {
                chosen = random.place(kind.len());
            }
            return begin + chosen;
        }
        begin
    }
}

/// How often the world allows this kind at most; `None` if any number of times.
fn most(world: &World, kind: Kind) -> Option<u64> {
    let may = world.scenario().faults;
    let most = match kind {
        Kind::Suspect => may.suspicions,
        Kind::Duplicate => may.duplicates,
        Kind::Crash => may.crashes,
        Kind::Recover => may.recoveries,
        Kind::Pause => may.pauses,
        Kind::Jump => may.jumps,
        Kind::Cut => may.cuts.saturating_add(may.one_way_cuts),
        Kind::Lose => match may.losses {
            Budget::AtMost(most) => most,
            Budget::Unbounded => return None,
        },
        _ => return None,
    };
    Some(u64::from(most))
}

/// Numbers that look random and follow from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The source of the walk of this number.
    pub(crate) fn new(seed: u64, number: u64) -> Random {
        let mut of_seed = Random(seed);
        Random(of_seed.next() ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A place in a list of so many, which is not empty.
    pub(crate) fn place(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }
}
