//! The kinds of faults, as columns of a table.

use crate::protocol::{Id, MAX_SEARCHED};
use crate::world::Ways;

pub(super) const CRASH: u32 = 0;
pub(super) const RECOVERY: u32 = 1;
pub(super) const LOSS: u32 = 2;
pub(super) const DUPLICATE: u32 = 3;
pub(super) const SUSPICION: u32 = 4;

pub(super) fn cut(a: Id, b: Id, ways: Ways) -> u32 {
    let link = a.index() * MAX_SEARCHED + b.index();
    5 + 4 * link as u32 + if ways == Ways::One { 2 } else { 0 }
}

pub(super) fn heal(a: Id, b: Id, ways: Ways) -> u32 {
    cut(a, b, ways) + 1
}
