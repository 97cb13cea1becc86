//! Two worlds that must agree, and do they: over random protocols, rules and scenarios.
//!
//! `BELLWETHER_CASES` says how many cases each test tries, and `BELLWETHER_SEED` which; without
//! them they are few, and the same each time.

mod certificate;
mod links;
mod liveness;
mod names;
mod scenario;
mod searches;
mod timing;

use crate::asked::Asked;
use proptest::strategy::Strategy;
use scenario::Case;

/// [Draws](scenario::draw) so many cases, or a quarter of them without the feature `slow`.
pub(crate) fn explore<T: std::fmt::Debug>(
    few: u32,
    cases: impl Strategy<Value = T>,
    differ: impl Fn(&T) -> Result<bool, String>,
) {
    let few = if cfg!(feature = "slow") { few } else { few.div_ceil(4) };
    scenario::draw(few, cases, differ);
}

/// The case of such a line as `vrrp --variant restart --nodes 2`.
fn typed(line: &str) -> Case {
    let asked = Asked::read(line);
    Case { scenario: asked.world.scenario().expect("a scenario"), args: asked.protocol }
}
