//! Random walks: what they met is counted right, and when they end.

use bellwether_model::check::{Cancel, Engine, Limits, Options, Reason, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::{Protocol, bully};
use bellwether_model::world::swarm::Kind;
use bellwether_model::world::{Scenario, Start, World};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn walks<P: Protocol>(rules: P, scenario: Scenario, names: &[&str], options: Options) -> Report {
    let world = World::new(rules, scenario).expect("a world");
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let properties = property::select(&world, &names).expect("they exist");
    let options = Options { engine: Engine::Simulation, ..options };
    check(&world, &properties, &options, &mut |_| {}).expect("they end")
}

fn steps(steps: u64, depth: usize) -> Options {
    let limits = Limits { states: Some(steps), ..Limits::NONE };
    Options { limits, depth, ..Options::default() }
}

const ONE: &[&str] = &["at-most-one-leader"];

/// Two processes, of which one may crash, and walks of one step. There are no heartbeats by these
/// rules, so a walk crashes the follower, or the leader, or has drawn no crash and takes no step.
#[test]
fn coverage_of_a_world_counted_by_hand() {
    let scenario = Scenario::calm(2).with_crashes(1, 0);
    let report = walks(Bully::BASELINE, scenario, ONE, steps(100, 1));
    let found = report.simulation.expect("they were walks");
    assert_eq!((found.walks, found.longest, found.about_states), (100, 1, 3));
    assert!((60..90).contains(&found.steps), "{}: about a quarter takes no step", found.steps);
    assert_eq!(found.actions.kinds(), [Kind::Crash]);
    assert_eq!(found.actions.roles(), [Some("follower"), Some("leader")]);
    let [followers, leaders] =
        ["follower", "leader"].map(|role| found.actions.of(Kind::Crash, Some(role)));
    assert_eq!(followers + leaders, found.steps);
    assert!(followers > 20 && leaders > 20, "{followers}, {leaders}");
    // No process has taken a step, so no rule has decided one.
    assert_eq!(found.looked, 4);
    assert_eq!(found.rules_not_met().len(), found.rules.len());
    assert!(found.rules.contains_key("t_coord"));
}

/// The lower of two starts and sends ELECTION, the higher COORDINATOR. ELECTION arrives at a
/// leader, which answers OK and COORDINATOR; the first COORDINATOR arrives at a candidate, all else
/// at a follower. Only which of the first two messages arrives first is open: six states.
#[test]
fn coverage_of_a_cold_start_counted_by_hand() {
    let scenario = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let report = walks(Bully::BASELINE, scenario, ONE, steps(40, 100));
    let found = report.simulation.expect("they were walks");
    assert_eq!((found.walks, found.steps, found.longest, found.about_states), (10, 40, 4, 6));
    assert_eq!(found.actions.kinds(), [Kind::Deliver]);
    let counts =
        ["candidate", "follower", "leader"].map(|role| found.actions.of(Kind::Deliver, Some(role)));
    assert_eq!(counts, [10, 20, 10]);
    assert_eq!(found.actions.total(), 40);
}

/// Nothing happens in a calm group by these rules, and still the walks end.
#[test]
fn walks_without_a_step_end() {
    let report = walks(Bully::BASELINE, Scenario::calm(3), ONE, steps(50, 100));
    let found = report.simulation.expect("they were walks");
    assert_eq!((found.walks, found.steps, found.about_states), (50, 0, 1));
}

/// A rule is met if a step depends on it: only a process that recovers reads how to.
#[test]
fn rules_are_met_where_a_step_depends_on_them() {
    let not_met = |recoveries| {
        let scenario = Scenario::calm(3).with_crashes(1, recoveries);
        let report = walks(Bully::RECOMMENDED, scenario, ONE, steps(20_000, 200));
        let found = report.simulation.expect("they were walks");
        let not_met: Vec<_> = found.rules_not_met().into_iter().map(str::to_owned).collect();
        (not_met, found.rules.len())
    };
    let ((without, rules), (with, _)) = (not_met(0), not_met(1));
    assert!(without.len() < rules && !without.contains(&"watch".to_owned()), "{without:?}");
    assert!(with.len() < without.len(), "{with:?}, {without:?}");
    assert!(with.iter().all(|rule| without.contains(rule)), "{with:?}, {without:?}");
}

#[test]
fn they_find_what_is_violated_and_never_prove() {
    let scenario = Scenario::calm(3).with_crashes(1, 1);
    let names = &["at-most-one-leader", "validity", "stabilises"];
    let report = walks(Bully::RECOMMENDED, scenario, names, steps(50_000, 500));
    let verdicts: Vec<_> = report.decisions.iter().map(|d| (d.verdict, d.reason)).collect();
    let sampled = (Verdict::Unknown, Some(Reason::Sampled));
    assert_eq!(verdicts, [(Verdict::Violated, None), sampled, sampled]);
    let found = report.decisions[0].counterexample.as_ref().expect("it is shown");
    assert!(found.steps.len() <= 12, "{} steps, when parts were left out", found.steps.len());
}

#[test]
fn they_end_when_they_are_to() {
    static SET: AtomicBool = AtomicBool::new(true);
    let scenario = Scenario::calm(3).with_crashes(1, 0);
    let cancel = Limits { cancel: Some(Cancel::when(&SET)), ..Limits::NONE };
    let options = Options { limits: cancel, ..Options::default() };
    let report = walks(bully::Bully::RECOMMENDED, scenario, ONE, options);
    assert_eq!(report.cut_short, Some(Reason::Interrupted));
    let time = Limits { time: Some(Duration::from_millis(50)), ..Limits::NONE };
    let options = Options { limits: time, threads: 2, ..Options::default() };
    let report = walks(bully::Bully::RECOMMENDED, scenario, ONE, options);
    assert!(report.cut_short.is_none(), "to walk for so long was the search");
    assert!(report.elapsed < Duration::from_secs(5));
    assert!(report.simulation.expect("walks").steps > 0);
}
