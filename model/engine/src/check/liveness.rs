//! Liveness under weak and strong fairness, decided on the state graph.
//!
//! Each formula fails if and only if some fair execution violates it. Such an execution ends up in
//! a set of states in which a fair execution can stay for ever, or in one state
//! where nothing fair is enabled and so nothing more need happen (it *stutters*, as in TLA⁺). The
//! formulas differ in where that set may lie and in how it may be reached:
//!
//! | formula | the set | the way to it |
//! |---|---|---|
//! | `◇P` | has only states without `P` | so has the way |
//! | `□◇P` | has only states without `P` | any |
//! | `◇□P` | has a state without `P` | any |
//! | `P ⇝ Q` | has only states without `Q` | from some state with `P` on without `Q` |
//!
//! A transition that leaves the boundary of the search is enabled but cannot be followed. A
//! violation found is real nevertheless. If there is none, the formula is true of each fair
//! execution that stays inside; [`some_lasts`] says whether there are any of interest.

use super::rows::Rows;
use super::{Reason, Watch};
use crate::property::Liveness;
use bellwether_search::fair::{self, FairComponents};
use bellwether_search::lasso::{self, Monitor};

pub use bellwether_search::lasso::Lasso;

/// Returns a fair execution that violates `formula`, if there is one; `None` proves the formula
/// unless the graph is cut short or leaves its boundary.
///
/// The stem is as short as any, and of those the first in the order of actions; where the cycle
/// goes is decided by that order alone. So the numbering of the states does not matter.
///
/// # Errors
/// The reason, if `watch` ends the search for it.
pub fn violation<R: Rows>(
    rows: &R,
    formula: &Liveness<impl Fn(u32) -> bool>,
    watch: &mut Watch<'_>,
) -> Result<Option<Lasso<R::Action>>, Reason> {
    match formula {
        Liveness::Eventually(p) => {
            let ends = Ends::of(rows, |n| !p(n), |n| !p(n), watch)?;
            let step = |_, n| (!p(n)).then_some(false);
            ends.lasso(&Monitor { step, ends: |_, n| ends.may_last(n) }, watch)
        }
        Liveness::AlwaysEventually(p) => {
            let ends = Ends::of(rows, |n| !p(n), |n| !p(n), watch)?;
            let step = |_, _| Some(false);
            ends.lasso(&Monitor { step, ends: |_, n| !p(n) && ends.may_last(n) }, watch)
        }
        Liveness::EventuallyAlways(p) => {
            let ends = Ends::of(rows, |_| true, |n| !p(n), watch)?;
            let step = |_, _| Some(false);
            ends.lasso(&Monitor { step, ends: |_, n| !p(n) && ends.may_last(n) }, watch)
        }
        Liveness::LeadsTo(p, q) => {
            let ends = Ends::of(rows, |n| !q(n), |n| !q(n), watch)?;
            // Whether `Q` is owed since some state with `P`.
            let step = |owed, n| Some(!q(n) && (owed || p(n)));
            ends.lasso(&Monitor { step, ends: |owed, n| owed && ends.may_last(n) }, watch)
        }
    }
}

/// Returns whether a fair execution stays within the bounds of the search for ever and comes, in
/// the end, only to states that are `wanted`.
///
/// # Errors
/// The reason, if `watch` ends the search for it.
pub fn some_lasts<R: Rows>(
    rows: &R,
    wanted: impl Fn(u32) -> bool,
    watch: &mut Watch<'_>,
) -> Result<bool, Reason> {
    Ok(Ends::of(rows, &wanted, &wanted, watch)?.some)
}

/// Where executions that violate a formula can end up.
struct Ends<'r, R: Rows> {
    rows: &'r R,
    fair: FairComponents,
    /// Whether there is any place at all.
    some: bool,
}

impl<'r, R: Rows> Ends<'r, R> {
    /// The fair components `inside` that have a `bad` state, and the bad states in which nothing
    /// more need happen.
    fn of(
        rows: &'r R,
        inside: impl Fn(u32) -> bool,
        bad: impl Fn(u32) -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Self, Reason> {
        let fair = fair::components(rows, inside, &bad, watch)?;
        let some = !fair.is_empty() || (0..rows.len()).any(|n| bad(n) && rows.stutters(n));
        Ok(Ends { rows, fair, some })
    }

    /// Whether a fair execution can come back to this state for ever.
    fn may_last(&self, number: u32) -> bool {
        self.fair.of(number).is_some() || self.rows.stutters(number)
    }

    fn lasso<S, E>(
        &self,
        monitor: &Monitor<S, E>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Lasso<R::Action>>, Reason>
    where
        S: Fn(bool, u32) -> Option<bool>,
        E: Fn(bool, u32) -> bool,
    {
        if self.some { lasso::find(self.rows, &self.fair, monitor, watch) } else { Ok(None) }
    }
}
