//! Temporal operators around conditions on states.

use serde::{Deserialize, Serialize};

/// What is claimed of all executions, with conditions of type `C` on states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal<C> {
    /// □ C: in every reachable state.
    Always(C),
    /// C can come to hold: in some reachable state.
    Reachable(C),
    /// In every fair execution.
    Liveness(Liveness<C>),
}

/// A named temporal formula, with conditions of type `C` on states.
#[derive(Clone, Copy, Debug)]
pub struct Property<C> {
    /// The name on the command line.
    pub name: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// The formula in a sentence, with its source.
    pub meaning: &'static str,
    /// Whether it is checked when no property is named.
    pub by_default: bool,
    /// Where the formula is an implication, its left side with its name: if no state satisfies it,
    /// the property says nothing.
    pub premise: Option<(&'static str, C)>,
    /// The formula: temporal operators around what is asked of one state.
    pub temporal: Temporal<C>,
}

impl<C> Property<C> {
    /// Of which kind the formula is.
    pub fn kind(&self) -> Kind {
        self.temporal.kind()
    }

    /// The same property with other conditions.
    pub fn map<D>(self, mut to: impl FnMut(C) -> D) -> Property<D> {
        let Property { name, formula, meaning, by_default, premise, temporal } = self;
        let premise = premise.map(|(name, condition)| (name, to(condition)));
        Property { name, formula, meaning, by_default, premise, temporal: temporal.map(to) }
    }
}

/// What is claimed of every fair execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness<C> {
    /// ◇ C: at some moment.
    Eventually(C),
    /// ◇□ C: from some moment on for ever.
    EventuallyAlways(C),
    /// □◇ C: again and again.
    AlwaysEventually(C),
    /// P ⇝ Q, which is □ (P ⇒ ◇ Q): whenever P holds, Q does then or later.
    LeadsTo(C, C),
}

impl<C> Temporal<C> {
    /// The same claim with other conditions.
    pub fn map<D>(self, mut to: impl FnMut(C) -> D) -> Temporal<D> {
        match self {
            Temporal::Always(c) => Temporal::Always(to(c)),
            Temporal::Reachable(c) => Temporal::Reachable(to(c)),
            Temporal::Liveness(formula) => Temporal::Liveness(formula.map(to)),
        }
    }

    /// Of which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Temporal::Always(_) => Kind::Safety,
            Temporal::Reachable(_) => Kind::Reachability,
            Temporal::Liveness(_) => Kind::Liveness,
        }
    }
}

impl<C> Liveness<C> {
    /// The same formula with other conditions.
    pub fn map<D>(self, mut to: impl FnMut(C) -> D) -> Liveness<D> {
        match self {
            Liveness::Eventually(c) => Liveness::Eventually(to(c)),
            Liveness::EventuallyAlways(c) => Liveness::EventuallyAlways(to(c)),
            Liveness::AlwaysEventually(c) => Liveness::AlwaysEventually(to(c)),
            Liveness::LeadsTo(p, q) => Liveness::LeadsTo(to(p), to(q)),
        }
    }
}

/// The kinds of claims: how each is decided, and what shows that it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Of every reachable state.
    Safety,
    /// Of every fair execution.
    Liveness,
    /// Of some reachable state.
    Reachability,
}
