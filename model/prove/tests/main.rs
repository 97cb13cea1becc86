//! All tests of the proofs, as one program.

mod prove;

/// All of these if the slow tests are asked for, and else the first of each `several`.
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>, several: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if cfg!(feature = "slow") { 1 } else { several })
}
