//! Programs with one realistic mistake each, and the difference by which each is caught.
//!
//! A comparison that has never failed has shown nothing. Each mistake is wrapped around the
//! production core, so the program differs from it in that one thing; the wrapper without a
//! mistake must conform, or it would be the wrapper that is caught.

mod reduced;
mod wrong;

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::mapping::Mapping as _;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::replay::replay;
use bellwether_conformance::suite::{Ran, Suite, find, run};
use bellwether_model::check::Limits;
use bellwether_model::trace::Trace;
use bellwether_model::world::{Faults, Scenario, Start, World};
use wrong::{Mistake, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

/// A crash and a recovery: enough for every mistake that has a path at all.
fn scenario() -> Scenario {
    let faults = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    Scenario { faults, ..Scenario::calm(3) }
}

/// The bully with this mistake.
fn wrong(mistake: Mistake) -> WrongMapping<BullyMapping> {
    WrongMapping::new(BullyMapping, Wrong::new(mistake))
}

fn first_difference(mistake: Mistake, scenario: Scenario) -> Option<Box<Divergence>> {
    compared::first_difference(&wrong(mistake), scenario)
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught(mistake: Mistake, kind: Kind, about: &str) -> Box<Divergence> {
    compared::caught(&wrong(mistake), scenario(), kind, about)
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    assert_eq!(first_difference(Mistake::None, scenario()), None);
    let cold = Scenario { start: Start::Cold, ..scenario() };
    assert_eq!(first_difference(Mistake::None, cold), None);
}

#[test]
fn a_difference_is_told_drawn_and_saved_and_the_replay_shows_it_again() {
    let found = caught(Mistake::IgnoresOk, Kind::Different, "1 gets OK from 2");
    assert_eq!(found.trace.steps.len(), found.step);
    assert_eq!(found.step, 4, "crash, time-out, ELECTION, OK is the shortest way:\n{found}");
    let report = found.report(true);
    assert!(report.contains("As the model tells it:\nAt the beginning"), "{report}");
    assert!(report.lines().any(|line| line.contains("OK") && line.contains('<')), "{report}");
    assert!(report.is_ascii() && !found.report(false).is_ascii(), "{report}");

    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["kind"], "different");
    assert_eq!(json["differences"][0]["what"], "role");
    assert_eq!(json["differences"][0]["model"], "waiting");
    assert_eq!(json["rules"]["t_coord"], "true");
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(found.step));

    let mut file = Vec::new();
    found.trace.write(&mut file).expect("written");
    let trace = Trace::read(&file[..]).expect("read");
    let again = replay(&wrong(Mistake::IgnoresOk), &trace).expect("comparable");
    assert_eq!(again.divergence, Some(found));
    let healthy = replay(&wrong(Mistake::None), &trace).expect("comparable");
    assert_eq!(healthy.divergence, None);
}

/// What the executions of a suite show of this program.
fn ran(suite: &Suite, mistake: Mistake, threads: usize) -> Ran {
    let ran = run(&wrong(mistake), suite, threads, &Limits::NONE, &|_| {}).expect("comparable");
    Ran { seconds: 0.0, ..ran }
}

#[test]
fn a_suite_catches_what_its_executions_show() {
    let world = World::new(BullyMapping::RULES, scenario()).expect("possible");
    let suite = find(&BullyMapping, &world, 1, &Limits::NONE, &mut |_| {}).expect("comparable");
    let healthy = ran(&suite, Mistake::None, 2);
    assert_eq!(healthy.divergence, None);
    assert_eq!((healthy.executions, healthy.steps), (suite.len() as u64, suite.summary().steps));
    let mistakes = [
        Mistake::IgnoresOk,
        Mistake::KeepsElectionTimer,
        Mistake::AnnouncesToAll,
        Mistake::OkLast,
        Mistake::NoRestart,
        Mistake::EventFirst,
        Mistake::NoEvents,
        Mistake::NeverWakes,
    ];
    for mistake in mistakes {
        let caught = ran(&suite, mistake, 1);
        assert_eq!(caught, ran(&suite, mistake, 3), "{mistake:?}: as many threads as one likes");
        let found = caught.divergence.unwrap_or_else(|| panic!("{mistake:?} is not caught"));
        if found.step > 0 {
            let again = replay(&wrong(mistake), &found.trace).expect("comparable");
            assert_eq!(again.divergence, Some(found), "{mistake:?}");
        }
    }
}

#[test]
fn ok_ignored() {
    let found = caught(Mistake::IgnoresOk, Kind::Different, "different role of 1: waiting in");
    assert!(found.happened.contains("gets OK"), "{found}");
}

#[test]
fn reentrancy_guard_missing() {
    let about = "unexpected message of 2: ELECTION to 3";
    let found = caught(Mistake::NoGuard, Kind::Unexpected, about);
    assert!(found.rules.contains(&("guard".into(), "true".into())), "{found}");
}

#[test]
fn t_coord_not_armed() {
    caught(Mistake::NoTCoord, Kind::Missing, "coordinator is armed now in the model");
}

#[test]
fn coordinator_accepted_from_below() {
    let about = "gets COORDINATOR from 1";
    let found = caught(Mistake::AcceptsFromBelow, Kind::Different, about);
    assert!(found.probe, "no honest world sends it:\n{found}");
    assert!(found.rules.contains(&("accept".into(), "not lower than known".into())), "{found}");
}

#[test]
fn follower_changes_to_a_lower_leader() {
    caught(Mistake::FollowsLower, Kind::Different, "different leader of 1: 3 in the model, 2 in");
}

#[test]
fn stale_timer_fires() {
    caught(Mistake::StaleElectionTimer, Kind::Unexpected, "COORDINATOR to 1");
}

#[test]
fn answers_after_a_crash_before_it_has_booted() {
    let found = caught(Mistake::AnswersBeforeBoot, Kind::Unexpected, "OK to 1");
    assert!(!found.trace.header.world.faults.named().is_empty());
}

#[test]
fn speaks_from_the_grave() {
    let found = caught(Mistake::SpeaksBeforeBoot, Kind::Unexpected, "COORDINATOR to");
    assert!(found.happened.contains("2 starts"), "{found}");
}

#[test]
fn leader_does_not_repeat_its_claim_to_a_challenger() {
    caught(Mistake::LeaderKeepsQuiet, Kind::Missing, "missing message of 3: COORDINATOR to");
}

#[test]
fn ok_sent_after_the_claim() {
    caught(Mistake::OkLast, Kind::Different, "different order of messages of 3: OK to");
}

#[test]
fn election_timer_not_cancelled_by_ok() {
    caught(Mistake::KeepsElectionTimer, Kind::Unexpected, "election stays armed in the program");
}

#[test]
fn announces_to_all() {
    caught(Mistake::AnnouncesToAll, Kind::Unexpected, "unexpected message of 2: COORDINATOR to 3");
}

#[test]
fn highest_waits_instead_of_announcing() {
    let cold = Scenario { start: Start::Cold, ..scenario() };
    let found = first_difference(Mistake::HighestWaits, cold).expect("caught");
    assert_eq!((found.kind, found.step), (Kind::Missing, 0), "{found}");
    assert!(found.to_string().contains("COORDINATOR to 1"), "{found}");
}

#[test]
fn follower_keeps_its_leader_when_another_claims() {
    caught(Mistake::KeepsLeader, Kind::Different, "different leader of 1");
}

#[test]
fn heartbeat_not_armed_again() {
    caught(Mistake::OneHeartbeat, Kind::Missing, "heartbeat is armed now in the model");
}

#[test]
fn watch_not_armed_again_by_a_heartbeat() {
    caught(Mistake::WatchNotRestarted, Kind::Missing, "watch is armed now in the model");
}

#[test]
fn restart_does_nothing() {
    let found = caught(Mistake::NoRestart, Kind::Missing, "missing message");
    assert!(found.happened.contains("recovers"), "{found}");
}

#[test]
fn asks_to_be_woken_too_late() {
    caught(Mistake::WakesLate, Kind::Different, "different wake-up");
}

#[test]
fn never_asks_to_be_woken() {
    caught(Mistake::NeverWakes, Kind::Missing, "missing wake-up");
}

#[test]
fn asks_to_be_woken_again_and_again() {
    caught(Mistake::WakesTwice, Kind::Unexpected, "told more than once");
}

#[test]
fn leader_does_not_step_down() {
    caught(Mistake::LeaderStays, Kind::Different, "different role of 2: follower in the model");
}

/// Nothing else is wrong: its state is right, and it tells no change.
#[test]
fn a_candidate_that_waits_tells_that_it_competes() {
    let about = "different role of 1: waiting in the model, candidate in";
    caught(Mistake::CompetesInsteadOfWaiting, Kind::Different, about);
}

#[test]
fn tells_an_event_before_it_sends() {
    caught(Mistake::EventFirst, Kind::Different, "different order of effects");
}

#[test]
fn keeps_a_change_of_role_to_itself() {
    caught(Mistake::NoEvents, Kind::Missing, "missing event");
}

#[test]
fn boots_twice() {
    let found = caught(Mistake::BootsTwice, Kind::Unexpected, "a second boot");
    assert!(found.probe, "{found}");
}

#[test]
fn answers_strangers() {
    let found = caught(Mistake::AnswersStrangers, Kind::Unexpected, "OK to 65535, which is no");
    assert!(found.probe, "{found}");
}

#[test]
fn handles_a_late_message_before_the_deadline_that_has_passed() {
    let found = caught(Mistake::MessageBeforeDeadline, Kind::Different, "before a wake-up");
    assert!(found.probe, "{found}");
}

#[test]
fn lets_timers_expire_early() {
    let found = caught(Mistake::ExpiresEarly, Kind::Different, "deadline of");
    assert!(!found.probe, "{found}");
}

#[test]
fn panics_instead_of_answering() {
    caught(Mistake::Panics, Kind::Different, "it panics: not today");
}

#[test]
fn never_stops_putting_out() {
    caught(Mistake::Endless, Kind::Unexpected, "it does not stop");
}
