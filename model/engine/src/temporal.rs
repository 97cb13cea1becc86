//! Temporal operators around conditions on states.

use serde::{Deserialize, Serialize};

/// A claim on all executions, with conditions of type `C` on states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporal<C> {
    /// The claim □ C: the condition holds in every reachable state.
    Always(C),
    /// The claim that C can come to hold: it does in some reachable state.
    Reachable(C),
    /// The claim on every fair execution.
    Liveness(Liveness<C>),
}

/// A named temporal formula, with conditions of type `C` on states.
#[derive(Clone, Copy, Debug)]
pub struct Property<C> {
    /// The name of the property on the command line.
    pub name: &'static str,
    /// The formula of the property.
    pub formula: &'static str,
    /// The formula in a sentence, with its source.
    pub meaning: &'static str,
    /// Whether the property is checked when none is named.
    pub by_default: bool,
    /// The left side of the formula with its name, where the formula is an implication: if no state
    /// satisfies it, the property says nothing.
    pub premise: Option<(&'static str, C)>,
    /// The formula: temporal operators around what is asked of one state.
    pub temporal: Temporal<C>,
}

impl<C> Property<C> {
    /// Returns the kind of the formula.
    pub fn kind(&self) -> Kind {
        self.temporal.kind()
    }

    /// Returns the same property with other conditions.
    pub fn map<D>(self, mut to: impl FnMut(C) -> D) -> Property<D> {
        let Property { name, formula, meaning, by_default, premise, temporal } = self;
        let premise = premise.map(|(name, condition)| (name, to(condition)));
        Property { name, formula, meaning, by_default, premise, temporal: temporal.map(to) }
    }
}

/// A claim on every fair execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness<C> {
    /// The claim ◇ C: the condition holds at some moment.
    Eventually(C),
    /// The claim ◇□ C: the condition holds from some moment on for ever.
    EventuallyAlways(C),
    /// The claim □◇ C: the condition holds again and again.
    AlwaysEventually(C),
    /// The claim P ⇝ Q, which is □ (P ⇒ ◇ Q): whenever P holds, Q does then or later.
    LeadsTo(C, C),
}

impl<C> Temporal<C> {
    /// Returns the same claim with other conditions.
    pub fn map<D>(self, mut to: impl FnMut(C) -> D) -> Temporal<D> {
        match self {
            Temporal::Always(c) => Temporal::Always(to(c)),
            Temporal::Reachable(c) => Temporal::Reachable(to(c)),
            Temporal::Liveness(formula) => Temporal::Liveness(formula.map(to)),
        }
    }

    /// Returns the kind of the claim.
    pub fn kind(&self) -> Kind {
        match self {
            Temporal::Always(_) => Kind::Safety,
            Temporal::Reachable(_) => Kind::Reachability,
            Temporal::Liveness(_) => Kind::Liveness,
        }
    }
}

impl<C> Liveness<C> {
    /// Returns the same formula with other conditions.
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
    /// The claim is on every reachable state.
    Safety,
    /// The claim is on every fair execution.
    Liveness,
    /// The claim is on some reachable state.
    Reachability,
}
