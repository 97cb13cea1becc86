//! Random cases, each of which is compared.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;

/// Draws so many cases of `cases`, or as many as `BELLWETHER_CASES` says, and fails with the
/// simplest that `differ` finds something wrong with. `differ` says whether it compared anything;
/// of all cases it must be one in eight.
pub(crate) fn explore<T: std::fmt::Debug>(
    few: u32,
    cases: impl Strategy<Value = T>,
    differ: impl Fn(&T) -> Result<bool, String>,
) {
    let given = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect(name));
    let wanted: u32 = given("BELLWETHER_CASES").unwrap_or(few);
    let seed: u32 = given("BELLWETHER_SEED").unwrap_or(0);
    // A case that fails is compared with many clocks: the simplest one is not worth an hour.
    let config = Config {
        cases: wanted,
        failure_persistence: None,
        max_shrink_iters: 100,
        max_shrink_time: 300_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let compared = Cell::new(0_u32);
    let found = TestRunner::new_with_rng(config, rng).run(&cases, |case| {
        let done = differ(&case).map_err(TestCaseError::fail)?;
        compared.set(compared.get() + u32::from(done));
        Ok(())
    });
    match found {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\n{case:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    println!("{} of {wanted} cases were compared", compared.get());
    assert!(compared.get() >= wanted / 8, "only {} were compared", compared.get());
}
