//! Every execution of a small program, shortest first.

use super::Account;
use crate::claims::Finding;
use std::collections::HashSet;
use std::hash::Hash;

/// The state of a program, and what can happen to it.
pub(super) trait Steps: Clone + Eq + Hash {
    /// What can happen.
    type Event: Copy;

    /// What may happen now.
    fn events(&self) -> Vec<Self::Event>;

    /// The state after it, and what happened in words; `None` if it cannot happen.
    fn after(&self, event: Self::Event) -> Option<(Self, String)>;
}

/// The shortest execution of no more than `most` steps to a state that is not `kept`.
pub(super) fn search<S: Steps>(start: S, most: usize, kept: impl Fn(&S) -> bool) -> Account {
    if !kept(&start) {
        return Account { finding: Finding::Violated { steps: Some(0) }, story: Vec::new() };
    }
    let mut known = HashSet::from([start.clone()]);
    // Of each step: the one before it, and what happened.
    let mut steps: Vec<(Option<usize>, String)> = Vec::new();
    let mut level = vec![(None, start)];
    for depth in 1..=most {
        let mut next = Vec::new();
        for (before, state) in &level {
            for event in state.events() {
                let Some((after, words)) = state.after(event) else { continue };
                let fine = kept(&after);
                if fine && known.contains(&after) {
                    continue;
                }
                steps.push((*before, words));
                let here = steps.len() - 1;
                if !fine {
                    let finding = Finding::Violated { steps: Some(depth) };
                    return Account { finding, story: story(&steps, here) };
                }
                known.insert(after.clone());
                next.push((Some(here), after));
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Account::of(true, Vec::new())
}

fn story(steps: &[(Option<usize>, String)], last: usize) -> Vec<String> {
    let before = |&at: &usize| steps[at].0;
    let mut path: Vec<String> =
        std::iter::successors(Some(last), before).map(|at| steps[at].1.clone()).collect();
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::{Steps, search};
    use crate::claims::Finding;

    /// Counts up by two and by three.
    impl Steps for u8 {
        type Event = u8;

        fn events(&self) -> Vec<u8> {
            vec![2, 3]
        }

        fn after(&self, by: u8) -> Option<(u8, String)> {
            let sum = self.checked_add(by).filter(|&sum| sum <= 40)?;
            Some((sum, format!("{self} and {by}")))
        }
    }

    #[test]
    fn the_shortest_execution_is_found_and_no_other() {
        let found = search(0_u8, 100, |&sum| sum != 7);
        assert_eq!(found.finding, Finding::Violated { steps: Some(3) });
        assert_eq!(found.story, ["0 and 2", "2 and 2", "4 and 3"]);
        assert_eq!(search(0_u8, 100, |&sum| sum != 1).finding, Finding::Holds);
        assert_eq!(search(0_u8, 2, |&sum| sum != 7).finding, Finding::Holds);
        assert_eq!(search(0_u8, 2, |&sum| sum != 0).finding, Finding::Violated { steps: Some(0) });
    }
}
