//! Logs that are rejected, and the smaller ones that are rejected there as well.

use super::group::Random;
use super::{Faults, QUORUM, WHOLE, edits, judge, quorums};
use bellwether_conformance::divergence::{Divergence, Kind, LogLine};
use bellwether_conformance::validate::{Text, smaller, validate};

/// Why a line is rejected, and which.
fn why(rejection: &Divergence) -> (String, (Kind, String), LogLine) {
    let what = (rejection.kind, rejection.differences[0].what.clone());
    (rejection.happened.clone(), what, rejection.line.clone().expect("a line of a log"))
}

fn rejected(texts: &[Text]) -> Option<Box<Divergence>> {
    let logs = texts.iter().map(Text::log).collect();
    validate(&QUORUM, logs, WHOLE).ok()?.rejection
}

#[test]
fn rejected_logs_become_smaller_and_no_log_is_left_that_is_not_needed() {
    let (mut before, mut after, mut reduced) = (0, 0, 0);
    for seed in 0..12 {
        let logs = quorums(seed, (Faults::SOME, true), 500, None);
        for kind in edits::KINDS {
            let Some(changed) = edits::change(&logs, kind, &mut Random(seed)) else { continue };
            let Some(rejection) = judge(&QUORUM, &changed, WHOLE).rejection else { continue };
            let texts = changed.iter().zip(1..);
            let texts = texts.map(|(log, at)| Text::new(format!("log {at}"), log.as_bytes()));
            let texts: Vec<Text> = texts.collect();
            let less = smaller(&texts, &rejection, &|logs| validate(&QUORUM, logs, WHOLE));
            let less = less.unwrap_or_else(|| panic!("{seed}, {kind}: it is not rejected again"));
            let again = rejected(&less).expect("still rejected");
            let (happened, what, place) = why(&rejection);
            let (happens, differs, at) = why(&again);
            assert_eq!((happens, differs), (happened, what), "{seed}, {kind}");
            assert_eq!(at.log, place.log, "{seed}, {kind}");
            let line = |texts: &[Text], LogLine { log, line }: &LogLine| {
                let text = texts.iter().find(|text| text.name == *log).expect("the log");
                text.lines[usize::try_from(*line).expect("a few") - 1].clone()
            };
            assert_eq!(line(&less, &at), line(&texts, &place), "{seed}, {kind}");
            for left_out in 0..less.len() {
                let mut fewer = less.clone();
                fewer.remove(left_out);
                let same = rejected(&fewer).is_some_and(|other| why(&other) == why(&again));
                assert!(!same, "{seed}, {kind}: {} is not needed", less[left_out].name);
            }
            let count = |texts: &[Text]| texts.iter().map(|text| text.lines.len()).sum::<usize>();
            before += count(&texts);
            after += count(&less);
            reduced += 1;
        }
    }
    println!("{reduced} rejections: {before} lines, {after} in the smaller logs");
    assert!(reduced > 40, "only {reduced}");
    assert!(after * 2 < before, "{before} lines, {after} in the smaller logs");
}
