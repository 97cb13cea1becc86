//! Where a fair execution can stay for ever: the fair components of a part of a graph.
//!
//! An execution ends up inside one strongly connected component and goes through some set of its
//! states again and again. Weak fairness asks that each action that is enabled in all of them, and
//! that no transition between them interrupts, is taken between them; strong fairness that each
//! that is enabled in one of them is. Whether an action is enabled is a matter of the whole graph.
//!
//! A weakly fair action that is enabled in all of a component, and interrupted and taken nowhere in
//! it, has the same fate in every part of it. A strongly fair one that is taken nowhere in it must
//! not be enabled: the states that enable it are left out, and what remains falls apart into
//! smaller components, which are judged in turn (R. Streett's condition; E. A. Emerson and C.-L.
//! Lei, *Science of Computer Programming* 8(3), 1987). What survives are the largest sets in which
//! a fair execution can stay.

use crate::limits::{Reason, Watch};
use crate::rows::{Fairness, OUTSIDE, Rows};
use crate::scc::{self, Groups, NEW};
use rustc_hash::{FxHashMap, FxHashSet};

/// No component.
const NOWHERE: u32 = u32::MAX;

/// The fair components with a cycle.
#[derive(Default)]
pub struct FairComponents {
    /// The number of each state's component; empty if there is none at all.
    home: Vec<u32>,
}

impl FairComponents {
    /// Returns whether there is no such component.
    pub fn is_empty(&self) -> bool {
        self.home.is_empty()
    }

    /// Returns the fair component of a state.
    pub fn of(&self, number: u32) -> Option<u32> {
        self.home.get(number as usize).copied().filter(|&home| home != NOWHERE)
    }
}

/// Returns the fair components of the part of the graph that is `inside`, those without a `wanted`
/// state left out.
///
/// # Errors
/// The reason, if `watch` ends it.
pub fn components<R: Rows>(
    rows: &R,
    inside: impl Fn(u32) -> bool,
    wanted: impl Fn(u32) -> bool,
    watch: &mut Watch<'_>,
) -> Result<FairComponents, Reason> {
    let acyclic = scc::acyclic(rows, &inside, watch)?;
    let inside = |number| !acyclic.contains(number) && inside(number);
    let mut marks = vec![NEW; rows.len() as usize];
    let roots = (0..rows.len()).filter(|&number| inside(number));
    let groups = scc::cyclic(rows, roots, inside, &mut marks, watch)?;
    if groups.is_empty() {
        return Ok(FairComponents::default());
    }
    let home = vec![NOWHERE; rows.len() as usize];
    let mut search = Search { rows, home, marks, numbers: 0, todo: Vec::new(), found: false };
    search.add(&groups, &wanted);
    while let Some((number, members)) = search.todo.pop() {
        match search.judge(number, &members, watch)? {
            Judgement::Fair => search.found = true,
            Judgement::Unfair => search.dissolve(&members),
            Judgement::Without(starved) => {
                search.refine(number, &members, &starved, &wanted, watch)?;
            }
        }
    }
    let home = if search.found { search.home } else { Vec::new() };
    Ok(FairComponents { home })
}

/// What becomes of a component.
enum Judgement<A> {
    /// An execution that takes all its transitions again and again is fair.
    Fair,
    /// None that stays in it is.
    Unfair,
    /// Only one that avoids the states in which one of these is enabled can be.
    Without(FxHashSet<A>),
}

struct Search<'r, R: Rows> {
    rows: &'r R,
    home: Vec<u32>,
    marks: Vec<u32>,
    numbers: u32,
    todo: Vec<(u32, Vec<u32>)>,
    found: bool,
}

impl<R: Rows> Search<'_, R> {
    /// Puts the groups that have a `wanted` state down to be judged, each with a number.
    fn add(&mut self, groups: &Groups, wanted: impl Fn(u32) -> bool) {
        for members in groups.iter().filter(|members| members.iter().any(|&m| wanted(m))) {
            for &member in members {
                self.home[member as usize] = self.numbers;
            }
            self.todo.push((self.numbers, members.to_vec()));
            self.numbers += 1;
        }
    }

    fn dissolve(&mut self, members: &[u32]) {
        for &member in members {
            self.home[member as usize] = NOWHERE;
        }
    }

    /// Leaves out the states that enable what is starved.
    fn refine(
        &mut self,
        number: u32,
        members: &[u32],
        starved: &FxHashSet<R::Action>,
        wanted: impl Fn(u32) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<(), Reason> {
        let enables = |m: u32| self.rows.actions(m).iter().any(|a| starved.contains(a));
        let mut rest = Vec::new();
        for &member in members {
            watch.step()?;
            if !enables(member) {
                rest.push(member);
            }
        }
        self.dissolve(members);
        for &member in &rest {
            self.home[member as usize] = number;
            self.marks[member as usize] = NEW;
        }
        let inside = |state: u32| self.home[state as usize] == number;
        let groups = scc::cyclic(self.rows, rest.iter().copied(), inside, &mut self.marks, watch)?;
        self.dissolve(&rest);
        self.add(&groups, wanted);
        Ok(())
    }

    fn judge(
        &self,
        number: u32,
        members: &[u32],
        watch: &mut Watch<'_>,
    ) -> Result<Judgement<R::Action>, Reason> {
        if self.neglects_a_weak_action(number, members, watch)? {
            return Ok(Judgement::Unfair);
        }
        if !self.rows.has_strong() {
            return Ok(Judgement::Fair);
        }
        let starved = self.starved(number, members, watch)?;
        Ok(if starved.is_empty() { Judgement::Fair } else { Judgement::Without(starved) })
    }

    /// Whether a weakly fair action is enabled in every state, and taken and interrupted nowhere
    /// inside.
    fn neglects_a_weak_action(
        &self,
        number: u32,
        members: &[u32],
        watch: &mut Watch<'_>,
    ) -> Result<bool, Reason> {
        let Some((&first, others)) = members.split_first() else { return Ok(false) };
        let mut always = self.rows.actions(first);
        always.retain(|action| self.rows.fairness(action) == Fairness::Weak);
        for &member in others {
            if always.is_empty() {
                return Ok(false);
            }
            watch.step()?;
            let here = self.rows.actions(member);
            always.retain(|action| here.contains(action));
        }
        for &member in members {
            if always.is_empty() {
                return Ok(false);
            }
            watch.step()?;
            self.for_each(number, member, |action, taken| {
                if taken {
                    always.retain(|known| known != action);
                }
            });
        }
        if always.iter().all(|action| self.rows.interruptible(action)) {
            self.drop_interrupted(number, members, &mut always, watch)?;
        }
        Ok(!always.is_empty())
    }

    /// Leaves out of `always` what is interrupted somewhere inside.
    fn drop_interrupted(
        &self,
        number: u32,
        members: &[u32],
        always: &mut Vec<R::Action>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Reason> {
        for &member in members {
            watch.step()?;
            for (at, &to) in self.rows.successors(member).iter().enumerate() {
                if always.is_empty() {
                    return Ok(());
                }
                if self.stays(number, to) {
                    let ended = self.rows.interrupted(member, at);
                    always.retain(|action| !ended.contains(action));
                }
            }
        }
        Ok(())
    }

    fn stays(&self, number: u32, to: u32) -> bool {
        to != OUTSIDE && self.home[to as usize] == number
    }

    /// The strongly fair actions that are enabled somewhere and taken nowhere inside.
    fn starved(
        &self,
        number: u32,
        members: &[u32],
        watch: &mut Watch<'_>,
    ) -> Result<FxHashSet<R::Action>, Reason> {
        let mut ever_taken: FxHashMap<R::Action, bool> = FxHashMap::default();
        for &member in members {
            watch.step()?;
            self.for_each(number, member, |action, taken| {
                if let Some(known) = ever_taken.get_mut(action) {
                    *known |= taken;
                } else if self.rows.fairness(action) == Fairness::Strong {
                    ever_taken.insert(action.clone(), taken);
                }
            });
        }
        let starved = ever_taken.into_iter().filter(|&(_, taken)| !taken);
        Ok(starved.map(|(action, _)| action).collect())
    }

    /// Tells each enabled action of a state, and whether it stays inside the component.
    fn for_each(&self, number: u32, state: u32, mut tell: impl FnMut(&R::Action, bool)) {
        let targets = self.rows.successors(state);
        for (action, &to) in self.rows.actions(state).iter().zip(targets) {
            tell(action, self.stays(number, to));
        }
    }
}
