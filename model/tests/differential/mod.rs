//! Two worlds that must agree, and do they: over random protocols, rules and scenarios.
//!
//! `BELLWETHER_CASES` says how many cases each test tries, and `BELLWETHER_SEED` which; without
//! them they are few, and the same each time.

mod capacity;
mod certificate;
mod disk;
mod draw;
mod links;
mod liveness;
mod majority;
mod mixed;
mod reduced;
mod scenario;
mod simulation;
mod symmetry;
mod timing;

use proptest::strategy::Strategy;

/// [Draws](draw::explore) so many cases, or a quarter of them without the feature `slow`.
pub(crate) fn explore<T: std::fmt::Debug>(
    few: u32,
    cases: impl Strategy<Value = T>,
    differ: impl Fn(&T) -> Result<bool, String>,
) {
    let few = if cfg!(feature = "slow") { few } else { few.div_ceil(4) };
    draw::explore(few, cases, differ);
}
