//! What was found and is not in its table yet.

use crate::space::Last;

/// States that were found, and how each was reached.
#[derive(Clone)]
pub(super) struct FoundStates<T> {
    pub(super) states: Vec<T>,
    pub(super) lasts: Vec<Last>,
}

impl<T> FoundStates<T> {
    pub(super) fn nothing() -> Self {
        FoundStates { states: Vec::new(), lasts: Vec::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, state: T, last: Last) {
        self.states.push(state);
        self.lasts.push(last);
    }

    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.lasts.clear();
    }
}
