//! One walk.

use super::kind::{Kind, concerned};
use super::random::Random;
use super::sketch::Sketch;
use super::{Coverage, Goal, Rules};

use crate::protocol::Id;
use crate::world::{Action, Budget, Exceeded, State, World};

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

impl World {
    /// Takes a walk; `None` if it was to `stop`.
    pub(crate) fn walk(
        &self,
        plan: &Plan,
        goals: &[Goal],
        (rules, exceeded): (&Rules, &Exceeded),
        stop: &dyn Fn() -> bool,
    ) -> Option<Walk> {
        let mut random = Random::new(plan.seed, plan.number);
        let mut drawn = Drawn::new(self, &mut random);
        let mut walk = Walk { found: vec![None; goals.len()], ..Walk::default() };
        if plan.looks {
            walk.coverage.looked = 1;
        }
        walk.coverage.rules = rules.none_met();
        let mut path: Vec<Action> = Vec::new();
        let mut state = self.initial();
        let mut enabled = Vec::new();
        loop {
            walk.states.record(&state);
            for (goal, found) in goals.iter().zip(&mut walk.found) {
                if found.is_none() && goal.met(self, &state) {
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
            self.enabled(&state, &mut enabled);
            enabled.retain(|action| *drawn.left(Kind::of(action)) > 0);
            let Some((action, next)) =
                self.take(&state, &mut enabled, (&drawn, &mut random), exceeded)
            else {
                break;
            };
            let left = drawn.left(Kind::of(&action));
            *left = left.saturating_sub(u64::from(Kind::of(&action).is_budgeted()));
            walk.coverage.taken.record(&state, &action);
            if plan.looks {
                rules.record((&state, &action, &next), &mut walk.coverage.rules);
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
        (drawn, random): (&Drawn, &mut Random),
        exceeded: &Exceeded,
    ) -> Option<(Action, State)> {
        if !actions.iter().any(Action::is_fault) && self.is_quiescent(state) {
            return None;
        }
        actions.sort_by_key(Kind::of);
        while !actions.is_empty() {
            let at = drawn.choose(actions, random);
            let after = self.apply(state, &actions[at]).state;
            match self.exceeds(&after) {
                None => return Some((actions[at], after)),
                Some(bound) => exceeded.record(bound),
            }
            actions.remove(at);
        }
        None
    }
}
