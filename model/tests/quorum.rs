//! The quorum bully: how it steps, when it has a leader, in which networks it has one, and that
//! every rule that protects something is missed when it is switched off.

use crate::asked::{ask, question, report, walk, world};
use crate::cli::run_args;
use Verdict::{Holds, Violated};
use bellwether_docs_runner::{is_shown, root, words};
use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::protocol::quorum::{Quorum, Role};
use bellwether_model::protocol::{Id, Protocol};
use bellwether_model::world::{AbsentLinks, Effect, Scenario, Start, World};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a process sends follows from what is durable: then a crash in the middle of a step, between
/// writing and sending, is a crash after it that loses what was sent.
#[test]
fn a_step_writes_once_and_before_it_sends() {
    let mut writes = 0;
    let world = world("quorum --recoveries 1 --suspicions 1");
    walk(&world, 20_000, |_, action, outcome| {
        let is_write = |effect: &Effect| matches!(effect, Effect::Persist(_));
        let is_send = |effect: &Effect| matches!(effect, Effect::Send { .. });
        let written = outcome.effects.iter().filter(|effect| is_write(effect)).count();
        let first = outcome.effects.iter().position(is_send);
        let late = outcome.effects.iter().skip(first.unwrap_or(usize::MAX)).any(is_write);
        assert!(written <= 1 && !late, "{action}: {:?}", outcome.effects);
        writes += written;
    });
    assert!(writes > 100, "{writes}");
}

/// Whatever happens, and whether it would outrank or is to be next, a process that only observes
/// and one that is a witness follow. The one is counted in no majority, the other is.
#[test]
fn an_observer_and_a_witness_never_run_and_only_the_witness_is_counted() {
    for (rule, is_counted) in [("observer", false), ("witness", true)] {
        for (number, other) in [(1, "transfer=1"), (3, "preemption=at-once")] {
            let line = format!("quorum --rule {rule}={number} --rule {other} --recoveries 1");
            let known = walk(&world(&format!("{line} --suspicions 1")), 20_000, |_, _, _| {});
            let (id, mut counted) = (Id::at(number - 1), false);
            for state in &known {
                assert_eq!(state.process_of::<Quorum>(id).role, Role::Follower, "{state:?}");
                let granted = |by: Id| state.process_of::<Quorum>(by).granted.contains(id);
                counted |= state.ids().any(granted);
            }
            assert_eq!(counted, is_counted, "{line}");
            assert!(known.len() > 900, "{line}: {}", known.len());
        }
    }
}

/// The survey asks for that.
#[test]
fn a_leader_comes_within_the_time_that_the_durations_give_and_no_sooner() {
    for (promise, skew, delay) in [(9, 6, 1), (12, 7, 1), (16, 10, 2)] {
        let both_ways = 2 * delay + 1;
        let line = format!(
            "quorum -p agreed-within --timing timed --delay {delay} --t-round {both_ways} \
             --t-lease {} --t-promise {promise} --t-elec {both_ways} --t-coord 8 --t-backoff 20 \
             --t-skew {skew} --within",
            promise - 1
        );
        let timing = world(&format!("{line} 1")).scenario().timing;
        let durations = timing.timed().expect("a clock").durations;
        let says = Quorum::OPTIONS.agrees_within.expect("it says");
        let bound = says(&durations, delay).expect("all durations are there");
        for (within, verdict) in [(bound, Holds), (bound - 1, Violated)] {
            assert_eq!(report(&format!("{line} {within}")).verdict(), verdict, "{line} {within}");
        }
    }
}

/// The network of so many processes in which those directed links are missing whose bits are set;
/// `None` if no process is connected to a majority in both directions.
fn network(nodes: usize, bits: u32) -> Option<AbsentLinks> {
    let pairs = Id::all(nodes).flat_map(|a| Id::all(nodes).map(move |b| (a, b)));
    let links = pairs.filter(|(a, b)| a != b).enumerate();
    let gone: Vec<_> = links.filter(|(at, _)| bits & 1 << at != 0).map(|(_, link)| link).collect();
    let hears = |a: Id, b: Id| a != b && !gone.contains(&(a, b)) && !gone.contains(&(b, a));
    let heard = |a: Id| Id::all(nodes).filter(|&b| hears(a, b)).count();
    let missing = gone.iter().map(|(a, b)| format!("{a}>{b}").parse().expect("a link"));
    let missing = missing.fold(AbsentLinks::NONE, AbsentLinks::and);
    Id::all(nodes).any(|id| heard(id) >= nodes / 2).then_some(missing)
}

fn in_network(missing: AbsentLinks, nodes: usize, start: Start) -> World {
    let scenario = Scenario { missing, start, ..Scenario::calm(nodes) };
    World::new(Quorum::RECOMMENDED, scenario).expect("the scenario is possible")
}

/// The worst network of three for each thing that is counted until there is a leader that keeps a
/// majority.
fn worst(start: Start) -> BTreeMap<String, u64> {
    let mut most = BTreeMap::new();
    let networks: Vec<_> = (0..1 << 6).filter_map(|bits| network(3, bits)).collect();
    assert_eq!(networks.len(), 37);
    for missing in networks {
        let world = in_network(missing, 3, start);
        assert_eq!(ask(&world, &["stable-leader"]).verdict(), Holds, "{}", world.scenario());
        let until = Until::named("stable-leader", &world).expect("it is of that form");
        let found = bounds(&world, until, (Limits::NONE, 1), &mut |_| {}).expect("threads");
        for line in found.lines {
            let Bound::Most(steps, _) = line.bound else { panic!("{}: {missing:?}", line.name()) };
            let known: &mut u64 = most.entry(line.name()).or_default();
            *known = steps.max(*known);
        }
    }
    most
}

#[test]
fn a_connected_majority_of_three_has_a_leader_within_a_bound_whatever_else_is_missing() {
    for (start, counts) in [(Start::Cold, [7_u64, 3, 2, 2, 1]), (Start::Converged, [7, 0, 2, 3, 1])]
    {
        let worst = worst(start);
        let names = "time-outs time-outs/quiet time-outs/watch time-outs/election leaderships";
        let found = names.split(' ').map(|name| worst.get(name).copied().unwrap_or(0));
        assert!(found.eq(counts), "{start}: {worst:?}");
    }
}

/// `BELLWETHER_CASES` says how many of the 1,048,576 networks are tried: that many makes all.
#[test]
fn a_connected_majority_of_five_has_a_leader_where_the_search_comes_to_an_end() {
    let cases = std::env::var("BELLWETHER_CASES").ok().and_then(|cases| cases.parse().ok());
    let limits = Limits { states: Some(20_000), ..Limits::NONE };
    let asked = question("quorum -p stable-leader").1;
    let (mut connected, mut undecided) = (0, 0);
    // An odd factor goes through all networks, in an order that begins with different ones.
    let numbers = (0..cases.unwrap_or(60_u32)).map(|case| case.wrapping_mul(0x9_E377) % (1 << 20));
    for missing in numbers.filter_map(|bits| network(5, bits)) {
        let world = in_network(missing, 5, Start::Converged);
        let options = Options { limits, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("something is asked");
        connected += 1;
        match report.verdict() {
            Holds => {}
            Verdict::Unknown => undecided += 1,
            verdict => panic!("{verdict:?}: {}", world.scenario()),
        }
    }
    println!("of {connected} networks with a connected majority, {undecided} were not decided");
    assert!(connected > undecided * 4, "{undecided} of {connected}");
}

/// What the checker reports of each property.
fn reported(command: &str) -> Vec<Value> {
    let words = words(&format!("{command} --json -q"));
    let ran = run_args(&root(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{command}: {error}: {}", ran.stderr));
    report["properties"].as_array().expect("a list").clone()
}

/// The page has a table of the rules, each with the command that shows what is violated without it:
/// the last `--rule` switches it off. With the rule nothing is violated. `UPDATE_DOCS=1 cargo test
/// rule_is_missed` writes the numbers of steps anew.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn every_rule_is_missed_when_it_is_switched_off() {
    let mut with_rule: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut controls = 0;
    let marks = ("<!-- controls -->\n", "<!-- end of controls -->");
    is_shown("docs/protocols/quorum.md", Some(marks), |table| {
        let mut made = String::new();
        for (at, row) in table.lines().enumerate() {
            let cells: Vec<_> = row.trim_matches(['|', ' ']).split(" | ").collect();
            let ([rule, property, _, command], true) = (&cells[..], at > 1) else {
                writeln!(made, "{row}").expect("a string");
                continue;
            };
            let (property, command) = (property.trim_matches('`'), command.trim_matches('`'));
            // The first violation is a shortest one.
            let found = reported(&format!("{command} --first"));
            assert_eq!(found[0]["verdict"], "violated", "{command}");
            let shown = ["steps", "cycle"].map(|part| found[0]["counterexample"][part].as_array());
            let steps: usize = shown.into_iter().flatten().map(Vec::len).sum();
            writeln!(made, "| {rule} | `{property}` | {steps} | `{command}` |").expect("a string");
            let (world, named) = command.split_once(" --property ").expect("it is named");
            assert_eq!(named, property, "{command}");
            let (before, off) = world.rsplit_once(" --rule ").expect("a rule is switched off");
            let (off, after) = off.split_once(' ').expect("a world");
            // In the variant that it has otherwise, this one is off already.
            let on = if off == "founding=majority-met" { " --rule founding=all-met" } else { "" };
            with_rule.entry(format!("{before}{on} {after}")).or_default().push(named.to_owned());
            controls += 1;
        }
        made
    });
    assert!(controls >= 30, "only {controls} rules");
    for (mut command, mut properties) in with_rule {
        properties.sort_unstable();
        properties.dedup();
        for property in properties {
            write!(command, " --property {property}").expect("a string");
        }
        for one in reported(&command) {
            let holds = one["verdict"] == "holds" || one["verdict"] == "holds-within";
            assert!(holds, "{command}: {}: {}", one["name"], one["verdict"]);
        }
    }
}
