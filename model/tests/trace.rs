//! Traces survive being written and read, and what is not the trace that was written is refused or
//! at least never breaks anything. In the Informal Trace Format they have every state.

use crate::cli::run_in;
use bellwether_model::cli::WorldArgs;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::{Id, Ids, MAX_NODES, Protocol};
use bellwether_model::trace::{Trace, TraceError};
use bellwether_model::world::{
    AbsentLinks, Action, Budget, DeliveryFairness, Faults, Heals, Network, Recovers, Scenario,
    Start, Symmetry, Timing, World,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tempfile::TempDir;

fn scenario() -> impl Strategy<Value = Scenario> {
    let losses = prop_oneof![Just(Budget::Unbounded), (0..2_u8).prop_map(Budget::AtMost)];
    let faults = (0..3_u8, 0..3_u8, losses, 0..2_u8, (0..2_u8, 0..3_u8), 0..2_u8);
    let faults = faults.prop_map(|(crashes, recoveries, losses, duplicates, cut, suspicions)| {
        let (cuts, one_way_cuts) = cut;
        let faults = Faults { one_way_cuts, suspicions, ..Faults::NONE };
        Faults { crashes, recoveries, losses, duplicates, cuts, ..faults }
    });
    let surrounding = (
        select(vec![Heals::May, Heals::Must]),
        select(vec![DeliveryFairness::Weak, DeliveryFairness::Strong]),
        select(vec![
            AbsentLinks::NONE,
            "1-2".parse().expect("a link"),
            "2>1".parse().expect("a link"),
        ]),
        select(vec![Network::Fifo, Network::Unordered, Network::Set]),
        select(vec![Timing::Perfect, Timing::Asynchronous]),
        select(vec![Start::Converged, Start::Cold]),
        (
            select(vec![None, Some(1), Some(2)]),
            select(vec![Symmetry::Reduced, Symmetry::Concrete]),
            select(vec![Recovers::May, Recovers::Must, Recovers::Quiet]),
            select(vec![Ids::NONE, Ids::NONE.with(Id::at(1)), Ids::all(2)]),
        ),
    );
    let nodes = prop_oneof![6 => 2..=7_usize, 1 => 8..=MAX_NODES];
    (nodes, faults, surrounding).prop_map(|(nodes, mut faults, surrounding)| {
        let (heals, fairness, missing, network, timing, start, others) = surrounding;
        let (capacity, symmetry, recovers, down) = others;
        if network == Network::Set {
            faults.duplicates = 0;
        }
        if timing == Timing::Asynchronous {
            faults.suspicions = 0;
        } else if faults.losses == Budget::Unbounded {
            faults.losses = Budget::AtMost(2);
        }
        let surrounding = Scenario { heals, fairness, missing, network, ..Scenario::calm(nodes) };
        Scenario { faults, recovers, timing, start, down, capacity, symmetry, ..surrounding }
    })
}

/// A command line with the flags of a world alone.
#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    world: WorldArgs,
}

/// A random walk in a random world: what happened, and its trace.
#[derive(Clone, Debug)]
struct Walk {
    world: World,
    actions: Vec<Action>,
    trace: Trace,
    text: Vec<u8>,
}

fn walk(longest: usize) -> impl Strategy<Value = Walk> {
    let rules = select(Bully::VARIANTS.iter().map(|v| v.rules).collect::<Vec<_>>());
    let choices = prop::collection::vec(any::<Index>(), 0..longest);
    (rules, scenario(), choices).prop_map(|(rules, scenario, choices)| {
        let world = World::new(rules, scenario).expect("the scenario is possible");
        let mut state = world.initial();
        let mut actions = Vec::new();
        for choice in choices {
            let mut enabled = Vec::new();
            world.enabled(&state, &mut enabled);
            if enabled.is_empty() {
                break;
            }
            let action = enabled[choice.index(enabled.len())];
            state = world.apply(&state, &action).state;
            actions.push(action);
        }
        let trace = Trace::record(&world, &actions, None);
        let mut text = Vec::new();
        trace.write(&mut text).expect("memory takes it");
        Walk { world, actions, trace, text }
    })
}

/// Reads what may be no trace any more, and replays it if it can be read. Whatever is accepted as
/// an execution is one, and has the steps that were written.
fn read_and_replay(text: &[u8]) -> Result<Trace, TraceError> {
    let trace = Trace::read(text)?;
    let world = trace.world::<Bully>()?;
    let actions = trace.actions(&world)?;
    let again = Trace::record(&world, &actions, trace.header.shows.clone());
    assert_eq!(again.steps, trace.steps);
    assert_eq!(again.header.initial, trace.header.initial);
    Ok(trace)
}

/// Lines without their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn joined(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// The flags that are printed for a world set that world, but for what changes nothing in it.
    #[test]
    fn what_is_typed_for_a_scenario_sets_it(scenario in scenario()) {
        let typed = WorldArgs::typed(&scenario);
        let words = typed.split_whitespace().map(|word| word.trim_matches('\''));
        let line = <Line as clap::Parser>::try_parse_from(std::iter::once("check").chain(words));
        let read = line.expect("it is understood").world.scenario_with(scenario.timing);
        // There are no more recoveries than crashes and processes that are down.
        let of = |&Scenario { mut faults, capacity, missing, down, .. }: &Scenario| {
            faults.recoveries = faults.recoveries.min(faults.crashes + down.len() as u8);
            (faults, capacity, missing, down)
        };
        prop_assert_eq!(of(&read), of(&scenario), "{}", typed);
        prop_assert_eq!(WorldArgs::typed(&read), typed);
    }

    #[test]
    fn a_trace_survives_being_written_and_read(walk in walk(60)) {
        let read = Trace::read(&walk.text[..]).expect("it was written whole");
        prop_assert_eq!(&read, &walk.trace);
        let world = read.world::<Bully>().expect("the world was possible");
        prop_assert_eq!(world.scenario(), walk.world.scenario());
        prop_assert!(world.machine().equals(&**walk.world.machine()));
        prop_assert_eq!(read.actions(&world).expect("it happened"), walk.actions);
    }

    #[test]
    fn a_trace_that_was_cut_off_is_refused(walk in walk(12), at in any::<Index>()) {
        let length = at.index(walk.text.len());
        prop_assert!(Trace::read(&walk.text[..length]).is_err());
        // Where lines end, it looks most like a trace.
        let all = lines(&walk.text);
        let kept = at.index(all.len());
        prop_assert!(Trace::read(&joined(&all[..kept])[..]).is_err());
    }

    #[test]
    fn a_changed_byte_is_refused_or_tells_an_execution(
        walk in walk(12),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 40),
    ) {
        for (at, byte) in changes {
            let mut text = walk.text.clone();
            let at = at.index(text.len());
            text[at] = byte;
            if let Ok(trace) = read_and_replay(&text) {
                // Another world may have the same beginning, but no step is silently another.
                prop_assert_eq!(trace.steps.len(), walk.trace.steps.len());
            }
        }
    }

    #[test]
    fn a_missing_doubled_or_moved_line_is_refused(walk in walk(12), at in any::<Index>()) {
        let all = lines(&walk.text);
        let at = at.index(all.len());
        let without = [&all[..at], &all[at + 1..]].concat();
        prop_assert!(Trace::read(&joined(&without)[..]).is_err());
        let doubled = [&all[..=at], &all[at..]].concat();
        prop_assert!(Trace::read(&joined(&doubled)[..]).is_err());
        if all.len() > 1 {
            let mut swapped = all.clone();
            swapped.swap(at, (at + 1) % all.len());
            prop_assert!(Trace::read(&joined(&swapped)[..]).is_err());
        }
    }

    #[test]
    fn bytes_that_were_never_a_trace_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        prop_assert!(Trace::read(&bytes[..]).is_err());
    }
}

#[test]
fn a_line_without_end_is_refused_before_memory_is() {
    let endless = std::io::BufReader::new(std::io::repeat(b'{'));
    let error = Trace::read(endless).expect_err("no trace is like this");
    assert!(error.to_string().contains("too long"), "{error}");
}

#[test]
fn a_writer_that_does_not_know_the_end_need_not_promise_it() {
    let world = World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 0));
    let world = world.expect("a possible world");
    let mut enabled = Vec::new();
    world.enabled(&world.initial(), &mut enabled);
    let trace = Trace::record(&world, &enabled[..1], None);
    let mut text = Vec::new();
    trace.write(&mut text).expect("memory takes it");
    let text = String::from_utf8(text).expect("UTF-8");
    let silent = text.replacen(",\"steps\":1}", "}", 1);
    assert_ne!(silent, text);
    assert_eq!(Trace::read(silent.as_bytes()).expect("a trace"), trace);
}

/// Two processes lead after five steps.
const FINITE: (&str, &str) =
    ("check bully --recoveries 1 --property at-most-one-leader", "bully-at-most-one-leader");

/// After three steps, five repeat for ever; one link has one direction.
const LASSO: (&str, &str) =
    ("check vrrp --nodes 2 --crashes 0 --without 2>1 --property stabilises", "vrrp-stabilises");

fn itf((check, name): (&str, &str)) -> Value {
    let dir = TempDir::new().expect("a folder");
    let saved = run_in(dir.path(), &format!("{check} --out ."));
    assert_eq!(saved.status, 1, "{}", saved.stderr);
    let ran = run_in(dir.path(), &format!("trace {name}.ndjson --format itf"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// The value of a variable at a process.
fn at<'v>(state: &'v Value, name: &str, id: usize) -> &'v Value {
    &state[name]["#map"][id - 1][1]
}

#[test]
fn itf_has_every_state_with_every_variable() {
    let some = |id: &str| json!({ "tag": "Some", "value": { "#bigint": id } });
    let finite = itf(FINITE);
    let states = finite["states"].as_array().expect("states");
    assert_eq!((states.len(), finite.get("loop")), (6, None));
    for execution in [&finite, &itf(LASSO)] {
        let vars = execution["vars"].as_array().expect("variables");
        assert!(vars.len() >= 10, "{vars:?}");
        for (index, state) in execution["states"].as_array().expect("states").iter().enumerate() {
            assert_eq!(state["#meta"]["index"], index);
            let state = state.as_object().expect("a state");
            let has = |name: &Value| state.contains_key(name.as_str().expect("a name"));
            assert!(vars.iter().all(has), "{state:?}");
            assert_eq!(state.len(), vars.len() + 1);
            let text = serde_json::to_string(state).expect("JSON");
            assert!(!text.contains("null"), "{text}");
        }
    }
    let (first, last) = (&states[0], &states[5]);
    assert_eq!(first["up"]["#map"][2], json!([{ "#bigint": "3" }, true]));
    assert_eq!((at(first, "leader", 3), at(last, "leader", 2)), (&some("3"), &some("2")));
    assert_eq!(
        (at(&states[1], "up", 3), at(&states[1], "role", 3)),
        (&json!(false), &json!("down"))
    );
    assert_eq!(states[1]["faults"]["crashes"], json!({ "#bigint": "1" }));
    assert_eq!(last["step"], "3 recovers");
    let flying = last["in_flight"].as_array().expect("messages");
    assert_eq!(flying.len(), 3, "{flying:?}");
    assert_eq!(finite["#meta"]["property"], "at-most-one-leader");
}

/// The loop ends in the last state, from which its first state follows again.
#[test]
fn itf_says_where_a_loop_begins() {
    let lasso = itf(LASSO);
    assert_eq!(lasso["loop"], 3);
    let states = lasso["states"].as_array().expect("states");
    assert_eq!(states.len(), 8, "the beginning, and seven of eight steps");
    let cut = json!({ "#set": [{ "#tup": [{ "#bigint": "2" }, { "#bigint": "1" }] }] });
    assert!(states.iter().all(|state| state["unlinked"] == cut));
}
