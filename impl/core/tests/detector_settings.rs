//! What is wrong with the settings of a detector is said in one sentence, with the remedy.

use std::time::Duration;

use bellwether_core::detector::{Detection, adaptive, fixed, phi};

const INTERVAL: Duration = Duration::from_millis(100);
const TOO_LONG: Duration = Duration::from_secs(100_000);

fn phi_settings() -> phi::Settings {
    phi::Settings::for_interval(INTERVAL)
}

fn adaptive_settings() -> adaptive::Settings {
    adaptive::Settings::for_interval(INTERVAL)
}

fn complaint(settings: phi::Settings) -> String {
    settings.check().expect_err("refused").to_string()
}

#[test]
fn the_defaults_are_good_for_any_interval_up_to_hours() {
    for interval in [Duration::from_nanos(10), INTERVAL, Duration::from_secs(4 * 3_600)] {
        assert!(fixed::Settings::for_interval(interval).check().is_ok());
        assert!(adaptive::Settings::for_interval(interval).check().is_ok());
        assert!(phi::Settings::for_interval(interval).check().is_ok());
    }
    for interval in [Duration::ZERO, Duration::MAX] {
        assert!(fixed::Settings::for_interval(interval).check().is_err());
        assert!(adaptive::Settings::for_interval(interval).check().is_err());
        assert!(phi::Settings::for_interval(interval).check().is_err());
    }
}

#[test]
fn durations_are_neither_absent_nor_absurd() {
    let refused = fixed::Settings { timeout: Duration::ZERO }.check().expect_err("refused");
    assert_eq!(refused.to_string(), "fixed.timeout is 0ns: use more than 0s and at most 24h");
    let cases = [
        ("phi.shortest", phi::Settings { shortest: Duration::ZERO, ..phi_settings() }),
        ("phi.interval", phi::Settings { interval: Duration::ZERO, ..phi_settings() }),
        ("phi.longest", phi::Settings { longest: TOO_LONG, ..phi_settings() }),
        ("phi.deviation", phi::Settings { deviation: Duration::ZERO, ..phi_settings() }),
        ("phi.pause", phi::Settings { pause: TOO_LONG, ..phi_settings() }),
    ];
    for (field, settings) in cases {
        assert!(complaint(settings).starts_with(field), "{}", complaint(settings));
    }
    assert!(phi::Settings { pause: Duration::ZERO, ..phi_settings() }.check().is_ok());
    assert_eq!(
        complaint(phi::Settings { pause: TOO_LONG, ..phi_settings() }),
        "phi.pause is 100000s: use 0s or more and at most 24h"
    );
}

#[test]
fn numbers_are_numbers_and_in_range() {
    for threshold in [f64::NAN, f64::INFINITY, -1.0, 0.0, 0.4, 1000.1] {
        let settings = phi::Settings { threshold, ..phi_settings() };
        assert_eq!(
            complaint(settings),
            format!("phi.threshold is {threshold}: use a number from 0.5 to 1000, such as 8")
        );
    }
    for multiple in [f64::NAN, 1.0, -3.0, f64::INFINITY] {
        let settings = adaptive::Settings { multiple, ..adaptive_settings() };
        let refused = settings.check().expect_err("refused").to_string();
        assert!(refused.contains("use a number from 1.1 to 1000, such as 3"), "{refused}");
    }
    for window in [0, 1, 10_001, usize::MAX] {
        assert_eq!(
            complaint(phi::Settings { window, ..phi_settings() }),
            format!("phi.window is {window}: use 2 to 10000 intervals, such as 1000")
        );
    }
}

#[test]
fn the_expected_interval_is_between_its_limits() {
    assert_eq!(
        complaint(phi::Settings { shortest: INTERVAL * 2, ..phi_settings() }),
        "phi.interval (100ms) must be between phi.shortest (200ms) and phi.longest (500ms); try \
         50ms and 500ms"
    );
    let settings = adaptive::Settings { longest: INTERVAL / 2, ..adaptive_settings() };
    let refused = settings.check().expect_err("refused").to_string();
    assert!(refused.starts_with("adaptive.interval (100ms) must be between"), "{refused}");
}

#[test]
fn a_heartbeat_comes_before_its_lack_is_suspected() {
    let mut detection = Detection::default();
    assert!(detection.check().is_ok());
    detection.heartbeat = Duration::from_millis(500);
    let refused = detection.check().expect_err("refused").to_string();
    assert_eq!(
        refused,
        "heartbeat (500ms) must be shorter than the silence that is suspected (500ms), or every \
         node is suspected between two heartbeats; try 100ms"
    );
    detection.heartbeat = INTERVAL;
    detection.start = Duration::ZERO;
    let refused = detection.check().expect_err("refused").to_string();
    assert_eq!(refused, "start is 0ns: use more than 0s and at most 24h");
}
