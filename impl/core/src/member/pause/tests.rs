//! What is a pause.

use super::*;

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

#[test]
fn only_a_wait_that_was_not_chosen_is_a_pause() {
    let mut detector = PauseDetector::new(Duration::from_millis(400), at(0));
    let _ = detector.expect_wake(Some(at(100)));
    assert!(!detector.check(at(130)), "a little late");
    let _ = detector.expect_wake(None);
    assert!(!detector.check(at(1_150)), "it had nothing to do for a second");
    let _ = detector.expect_wake(Some(at(1_250)));
    assert!(detector.check(at(1_550)), "400 ms in which it was to do something");
    assert!(!detector.check(at(1_551)), "it is told once");
}

#[test]
fn a_step_that_takes_too_long_is_a_pause() {
    let mut detector = PauseDetector::new(Duration::from_millis(400), at(0));
    let _ = detector.expect_wake(Some(at(100)));
    assert!(!detector.check(at(100)));
    // What it did then took so long; the next wait has not begun.
    assert!(detector.check(at(600)));
}

/// When it begins to wait makes no difference: it may have stood still since it looked.
#[test]
fn a_process_that_stands_still_before_it_waits_is_paused() {
    let mut detector = PauseDetector::new(Duration::from_millis(400), at(0));
    let _ = detector.expect_wake(None);
    assert!(!detector.check(at(900)), "it has nothing to do for a second");
    let _ = detector.expect_wake(None);
    assert!(detector.check(at(2_200)), "the second ended at 1,900 ms");
}
