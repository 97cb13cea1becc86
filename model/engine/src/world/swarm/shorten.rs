//! A shorter way to the same.

use super::Goal;
use crate::protocol::MAX_SEARCHED;
use crate::world::{Action, World};

/// How many steps are taken at most to find a shorter way; in larger worlds fewer, since each takes
/// longer.
const MOST_STEPS: usize = 200_000;

impl World {
    /// An execution that meets `goal` as well, with some of these actions only. It is not always
    /// a shortest one: parts are left out for as long as that is cheap.
    pub(crate) fn shorten(&self, path: Vec<Action>, goal: &Goal) -> Vec<Action> {
        let mut best = path;
        let (mut steps, weight) = (0, self.processes().div_ceil(MAX_SEARCHED));
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
    fn meets<'a>(
        &self,
        actions: impl Iterator<Item = &'a Action>,
        goal: &Goal,
    ) -> Option<Vec<Action>> {
        let mut state = self.initial();
        let mut taken = Vec::new();
        if goal.met(self, &state) {
            return Some(taken);
        }
        for action in actions {
            if !self.is_enabled(&state, action) {
                continue;
            }
            let after = self.apply(&state, action).state;
            if self.exceeds(&after).is_some() {
                continue;
            }
            state = after;
            taken.push(*action);
            if goal.met(self, &state) {
                return Some(taken);
            }
        }
        None
    }
}
