//! The document shows what the program measures, and what the document concludes is so.

use std::time::Duration;

use bellwether_core::protocol::Time;
use bellwether_docs_runner::is_shown;

use crate::network::{Heartbeat, INTERVAL, Kind, trace};
use crate::plot;
use crate::report::{LENGTH, SEED, tables};
use crate::trial::{self, Choice, Outcome, early_crashes};

fn run(choice: Choice, kind: Kind) -> Outcome {
    trial::run(choice, &trace(kind, LENGTH, SEED)).expect("good settings")
}

fn arrivals(trace: &[Heartbeat]) -> impl Iterator<Item = Time> {
    trace.iter().filter_map(|heartbeat| heartbeat.arrived)
}

#[test]
fn the_document_shows_the_tables() {
    let made = format!("\n\n{}\n", tables().expect("good settings"));
    is_shown("docs/detectors.md", Some(("<!-- measured -->", "<!-- /measured -->")), |_| made);
}

#[test]
fn the_document_shows_the_picture() {
    is_shown("docs/images/detectors.svg", None, |_| plot::draw().expect("it can be drawn"));
}

#[test]
fn traces_are_fifo_and_of_the_kind_that_they_say() {
    for kind in Kind::ALL {
        let trace = trace(kind, LENGTH, SEED);
        assert!(arrivals(&trace).is_sorted(), "{} is not FIFO", kind.name());
        let in_time = |h: &Heartbeat| h.arrived.is_none_or(|arrived| arrived >= h.sent);
        assert!(trace.iter().all(in_time), "{}: arrived before it was sent", kind.name());
        let lost = (trace.len() - arrivals(&trace).count()) as f64 / trace.len() as f64;
        let expected = match kind {
            Kind::LossOne => 0.01,
            Kind::LossTen => 0.1,
            _ => 0.0,
        };
        assert!((lost - expected).abs() <= 0.05 * expected, "{}: {lost}", kind.name());
    }
    let median = {
        let trace = trace(Kind::LogNormal, LENGTH, SEED);
        let delay = |h: &Heartbeat| h.arrived.map(|arrived| arrived.since(h.sent));
        let mut delays: Vec<Duration> = trace.iter().filter_map(delay).collect();
        delays.sort();
        delays[delays.len() / 2]
    };
    // Above 10 ms: one that is held up holds up others.
    assert!((10..13).contains(&median.as_millis()), "{median:?}");
    let last = trace(Kind::Drift, LENGTH, SEED).into_iter().rev().take(2);
    let last: Vec<Time> = last.map(|heartbeat| heartbeat.sent).collect();
    assert!(last[0].since(last[1]).as_millis() >= 599);
}

/// Strong completeness, on every network and for crashes at any moment, early ones too.
#[test]
fn every_crash_is_suspected_within_the_promised_silence() {
    // No heartbeat is longer on its way than this.
    let slowest = Duration::from_secs(3);
    for choice in Choice::defaults() {
        let promised = choice.watch(Time::ZERO).expect("good settings").bounds().longest;
        for kind in Kind::ALL {
            let late = run(choice, kind).detection.worst;
            let early = (0..3).map(|sent| early_crashes(choice, kind, sent).expect("good").worst);
            let worst = early.fold(late, Duration::max);
            assert!(worst <= promised + slowest, "{} on {}", choice.name(), kind.name());
            assert!(kind != Kind::Steady || worst <= promised + INTERVAL / 10);
        }
    }
}

/// The conclusions of the document.
#[test]
fn what_the_document_concludes_is_so() {
    let [fixed, adaptive, phi] = Choice::defaults();
    let rate = |choice, kind| run(choice, kind).accuracy.mistakes_per_hour();
    let mean = |choice, kind| run(choice, kind).detection.mean();

    // φ = 8 stands for one mistake in 10⁸ intervals: one in 2,777 hours.
    assert!(rate(phi, Kind::LogNormal) > 10.0);
    // The least deviation lets them be quick where nothing is ever late.
    for learner in [adaptive, phi] {
        assert!(mean(learner, Kind::Steady).mul_f64(1.75) < mean(fixed, Kind::Steady));
    }
    // From 40 to 4 mistakes an hour: 200 ms with a heavy tail, less than 20 ms without.
    for (kind, timeout, about) in [
        (Kind::LogNormal, 300, 40.0),
        (Kind::LogNormal, 500, 4.0),
        (Kind::Normal, 184, 40.0),
        (Kind::Normal, 202, 4.0),
    ] {
        let rate = rate(Choice::Fixed(Duration::from_millis(timeout)), kind);
        assert!((0.8..1.2).contains(&(rate / about)), "{} {timeout}: {rate}", kind.name());
    }

    // Those that learn adapt to a process that slows down; the fixed time-out does not.
    assert!(rate(fixed, Kind::Drift) > 1000.0);
    assert!(rate(adaptive, Kind::Drift) == 0.0 && rate(phi, Kind::Drift) == 0.0);

    // On a network that stays as it is, a fixed time-out as fast as the others makes hardly more
    // mistakes than they do, and sometimes far fewer.
    for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Drift) {
        for learner in [adaptive, phi] {
            let as_fast = fixed_as_fast_as(learner, kind);
            let off = mean(as_fast, kind).abs_diff(mean(learner, kind));
            assert!(off < Duration::from_millis(2), "{off:?}");
            let (fixed, learned) = (rate(as_fast, kind), rate(learner, kind));
            println!("{} {}: {fixed} against {learned}", kind.name(), learner.name());
            assert!(fixed <= 1.1 * learned, "{}: {fixed} against {learned}", kind.name());
        }
    }
}

/// The time-out with which the mean detection time is that of another detector.
fn fixed_as_fast_as(other: Choice, kind: Kind) -> Choice {
    let [Choice::Fixed(timeout), ..] = Choice::defaults() else { unreachable!("it is the first") };
    let mean = |choice| run(choice, kind).detection.mean();
    Choice::Fixed(timeout + mean(other) - mean(Choice::Fixed(timeout)))
}
