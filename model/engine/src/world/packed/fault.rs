//! The kinds of faults, as columns of a table.

use crate::protocol::{Id, MAX_SEARCHED};

pub(super) const CRASH: u32 = 0;
pub(super) const RECOVERY: u32 = 1;
pub(super) const LOSS: u32 = 2;
pub(super) const DUPLICATE: u32 = 3;
pub(super) const SUSPICION: u32 = 4;

pub(super) fn cut(a: Id, b: Id) -> u32 {
    5 + 2 * (a.index() * MAX_SEARCHED + b.index()) as u32
}

pub(super) fn heal(a: Id, b: Id) -> u32 {
    cut(a, b) + 1
}
