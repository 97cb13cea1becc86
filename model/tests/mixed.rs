//! Groups in which processes have rules and durations of their own: what a mixed group does that no
//! uniform one does, how it is told, and what it costs that one has another rule.

use crate::cli::run;
use bellwether_model::check::{Options, Report, check};
use bellwether_model::cli::WorldArgs;
use bellwether_model::machine::Machine;
use bellwether_model::property;
use bellwether_model::protocol::{Id, REGISTRY};
use bellwether_model::trace::Trace;
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Scenario, Start, Symmetry, Timed, Timing, World,
};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

#[path = "mixed/quorum.rs"]
mod quorum;

/// A variant with other rules, as they are typed: `guard=false`, `2:guard=false`.
fn group(protocol: &str, variant: &str, rules: &[&str]) -> Arc<dyn Machine> {
    let rules = rules.iter().map(|rule| {
        let (rule, value) = rule.split_once('=').expect("a rule and its value");
        (rule.to_owned(), value.to_owned())
    });
    let protocol = REGISTRY.find(protocol).expect("it exists");
    protocol.rules(Some(variant), &rules.collect::<Vec<_>>()).expect("there are such rules")
}

fn report(machine: Arc<dyn Machine>, scenario: Scenario, names: &[&str]) -> Report {
    let world = World::of(machine, scenario).expect("the scenario is possible");
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(&world, &names).expect("they can be asked");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// One link is cut, and heals.
fn healed_cut() -> Scenario {
    let faults = Faults { cuts: 1, ..Faults::NONE };
    Scenario { heals: Heals::Must, faults, capacity: Some(2), ..Scenario::calm(3) }
}

/// What a node of etcd does that has neither PreVote nor CheckQuorum: it asks no process before it
/// raises its term, leads without a majority, votes although it hears a leader, and does not tell
/// a leader of a lower term that it is behind.
const OLD: [&str; 4] =
    ["prevote=none", "check_quorum=false", "stickiness=false", "answer_lower=false"];

/// The rules of [`OLD`] in these processes alone.
fn old(processes: &str) -> Arc<dyn Machine> {
    let rules = OLD.map(|rule| format!("{processes}:{rule}"));
    group("raft-election", "etcd", &rules.each_ref().map(String::as_str))
}

/// A node with the old settings among new ones returns with a higher term, and for ever follows
/// no leader: its own requests are ignored by those that hear one, and it ignores that one.
#[test]
fn one_process_without_pre_vote_and_check_quorum_wedges() {
    for one in ["1", "2"] {
        let found = report(old(one), healed_cut(), &["settles"]);
        let counterexample = found.decisions[0].counterexample.as_ref().expect("it is shown");
        assert!(counterexample.cycle.as_ref().is_some_and(|cycle| !cycle.is_empty()), "a lasso");
    }
}

/// From a cold start, Raft asks ids for nothing but which is which: it does not matter whose rules
/// are the other ones.
#[test]
fn ids_are_names_to_raft_in_a_mixed_group_too() {
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(3).with_crashes(1, 1) };
    for rule in ["prevote=none", "check_quorum=false", "answer_lower=false", "storage=forgets-all"]
    {
        for groups in [["1", "2", "3"], ["1,2", "1,3", "2,3"]] {
            let counts = groups.map(|processes| {
                let machine = group("raft-election", "etcd", &[&format!("{processes}:{rule}")]);
                let found = report(machine, cold, &["election-safety", "stable-leader"]);
                let verdicts: Vec<_> = found.decisions.iter().map(|d| d.verdict).collect();
                (found.counts, verdicts)
            });
            assert_eq!(counts[0], counts[1], "{rule} of {groups:?}");
            assert_eq!(counts[0], counts[2], "{rule} of {groups:?}");
        }
    }
}

/// What a process does in a mixed group is what it would do where all have its rules.
#[test]
fn each_step_is_by_the_rules_of_its_process() {
    let groups: [(&str, &str, [&str; 3]); 4] = [
        ("quorum", "recommended", ["canvass=none", "storage=forgets-grant", "preemption=at-once"]),
        ("quorum", "preemptive", ["outrank=false", "backoff=false", "quiet=false"]),
        ("raft-election", "etcd", ["prevote=none", "answer_lower=false", "storage=forgets-all"]),
        ("bully", "recommended", ["accept=any", "restart=im-back", "announce=all"]),
    ];
    let symmetry = Symmetry::Concrete;
    for (protocol, variant, rules) in groups {
        let scenario = Scenario { symmetry, ..Scenario::calm(3).with_crashes(1, 1) };
        let own: Vec<_> = (1..=3).zip(rules).map(|(id, rule)| format!("{id}:{rule}")).collect();
        let own: Vec<_> = own.iter().map(String::as_str).collect();
        let mixed = World::of(group(protocol, variant, &own), scenario).expect("possible");
        let uniform = rules
            .map(|rule| World::of(group(protocol, variant, &[rule]), scenario).expect("possible"));
        let mut known = HashSet::from([mixed.initial()]);
        let mut todo: VecDeque<_> = known.iter().cloned().collect();
        let mut compared = 0;
        while let Some(state) = todo.pop_front() {
            for action in mixed.actions(&state) {
                let outcome = mixed.apply(&state, &action);
                if let Some(id) = outcome.actor {
                    let same = uniform[id.index()].apply(&state, &action);
                    assert!(outcome.effects == same.effects, "{protocol}: {action} in {state:?}");
                    assert!(outcome.state == same.state, "{protocol}: {action} in {state:?}");
                    compared += 1;
                }
                if known.len() < 3_000 && known.insert(outcome.state.clone()) {
                    todo.push_back(outcome.state);
                }
            }
        }
        assert!(compared > 300, "{protocol}: {compared}");
    }
}

/// A trace says what each process has of its own, and what is changed there is another world.
#[test]
fn a_trace_of_a_mixed_group_is_read_and_replayed() {
    let found = report(old("1"), healed_cut(), &["settles"]);
    let decision = &found.decisions[0];
    let counterexample = decision.counterexample.as_ref().expect("it is shown");
    let trace = counterexample.trace(&found.world, &decision.property);
    assert_eq!(trace.header.rules["1:prevote"], "none");
    assert_eq!(trace.header.rules["prevote"], "log-and-silence");
    assert!(trace.header.variant.contains("1:prevote=none"), "{}", trace.header.variant);
    let mut text = Vec::new();
    trace.write(&mut text).expect("memory takes it");
    let read = Trace::read(&text[..]).expect("it was written whole");
    let protocol = REGISTRY.find("raft-election").expect("it exists");
    let world = read.world_of(protocol).expect("the world was possible");
    assert!(world.machine().equals(&**found.world.machine()));
    assert_eq!(world.machine().own().len(), 1);
    assert_eq!(read.actions(&world).expect("it happened").len(), read.steps.len());
    let mut other = read;
    for (rule, value) in [("1:prevote", "perhaps"), ("1:logs", "001"), ("7:prevote", "none")] {
        let rules = other.header.rules.clone();
        other.header.rules[rule] = value.into();
        assert!(other.world_of(protocol).is_err(), "{rule}={value}");
        other.header.rules = rules;
    }
}

#[test]
fn what_cannot_be_a_matter_of_one_process_is_refused() {
    let refused = [
        ("check raft-election --rule 2:logs=010", "of the whole group: each process may have"),
        ("check vrrp --rule 2:preempt=false", "all its processes have the same rules"),
        ("check bully --rule 4:guard=false", "only the processes 1 to 3"),
        ("check bully --rule 0:guard=false", "'0' is not an id"),
        ("check bully --rule 1:guard=maybe", "it is true or false"),
        ("check bully --rule 1:gard=false", "did you mean 'guard'?"),
        ("check bully --rule 1:guard=false --rule 1,2:guard=true", "is given twice"),
        ("check quorum --rule 2:witness=3", "--start cold"),
        ("prove raft-election --rule 1:prevote=none", "leave out what is said of process 1"),
        ("tune quorum --delay 1 --find t-promise --t-lease 9=3", "only the processes 1 to 7"),
    ];
    for (line, says) in refused {
        let ran = run(line);
        let stderr = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ran.status, 2, "{line}: {stderr}");
        assert!(stderr.contains(says), "{line}: {stderr}");
    }
    // What is said of all and of one is no contradiction.
    let ran = run("check bully --rule guard=false --rule 1:guard=true --property decided --json");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["rules"]["guard"], false);
    assert_eq!(report["rules"]["1:guard"], true);
}

/// The command that a report prints for the Explorer, and `tune`, say what each process has.
#[test]
fn what_is_typed_again_says_what_each_process_has() {
    let durations = Durations::of([("t-elec", 3), ("t-coord", 8), ("t-detect", 1)]);
    let durations = durations.and_then(|all| all.with_own("t-elec", Id::at(1), 5));
    let timed = Timed::of(Delay::AtMost(1), durations.expect("short names"));
    let scenario = Scenario { timing: Timing::Timed(timed), ..Scenario::calm(3) };
    let typed = WorldArgs::typed(&scenario);
    assert!(typed.contains("--t-elec 3 --t-elec 2=5"), "{typed}");
    let json = serde_json::to_string(&scenario).expect("JSON");
    assert!(json.contains("\"2:t-elec\":5"), "{json}");
    assert_eq!(serde_json::from_str::<Scenario>(&json).expect("the same"), scenario);
    let ran = run(&format!("check bully --variant baseline {typed} --property decided"));
    assert_ne!(ran.status, 2, "{}", ran.stderr);
    let stdout = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(stdout.contains("t-elec 2=5"), "{stdout}");
}
