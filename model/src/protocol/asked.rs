//! What is asked of one protocol and of no other.

use super::{Protocol, View};
use crate::temporal::Temporal;

/// A named temporal formula about one protocol's own state.
pub struct Asked<P: Protocol> {
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
    pub premise: Option<(&'static str, Judge<P>)>,
    /// The formula: temporal operators around what is asked of one state.
    pub temporal: Temporal<Judge<P>>,
}

/// What is asked of one state, by these rules.
pub type Judge<P> = for<'a> fn(&P, &View<'a, P>) -> bool;
