//! A saved execution is a certificate: whatever its header says is checked, and what is accepted
//! reads as what was saved.

use assert_cmd::Command;
use bellwether_model::check::{CertificateError, certify};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::report::{story, svg};
use bellwether_model::trace::{Trace, TraceError};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Runs that save executions, of each kind that there is.
const RUNS: &[&str] = &[
    // Safety, also by random walks, and a question of one's own.
    "check bully --recoveries 1 --property at-most-one-leader --all 2",
    "check bully --variant baseline --network set --crashes 2 --recoveries 1 \
     --property at-most-one-leader",
    "check bully --recoveries 1 --engine simulation --property at-most-one-leader \
     --max-states 20000",
    "check bully --recoveries 1 --never leads(2)&&leads(3)",
    // The formulas of liveness, in cycles and in ends where nothing happens any more.
    "check bully --timing asynchronous --property stabilises",
    "check bully --rule t_coord=false --crashes 2 --property failover --property stabilises \
     --property decided",
    // A cold start, and names that grow for ever.
    "check raft-election --variant paper --start cold --timing asynchronous --capacity 1 --nodes 2 \
     --crashes 0 --property leader-emerges --property leader-recurs",
    "check raft-election --variant paper --rule logs=011 --rule timeouts=fixed \
     --property stable-leader",
    "check stoller --network unordered --nodes 2 --recoveries 1 --property sle2",
    // Clocks.
    "check bully --variant baseline --timing timed --delay 2 --t-elec 4 --t-coord 8 --t-detect 3 \
     --within 4",
    "check bully --losses unbounded --timing timed --delay 1 --t-heartbeat 3 --t-elec 3 \
     --t-coord 10 --t-detect 4 --property stabilises",
    // What executions cost.
    "bounds bully --variant baseline --start cold --nodes 2",
    "bounds bully --variant baseline --until agreed",
    "bounds raft-election --variant paper --start cold --timing asynchronous --capacity 1 \
     --nodes 2 --crashes 0",
];

/// How many executions of one run are changed.
const OF_EACH: usize = 3;

/// The executions that these runs save, by the run and the name of the file.
static SAVED: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut saved = BTreeMap::new();
    for run in RUNS {
        let dir = TempDir::new().expect("a folder");
        let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
        command.args(run.split_whitespace()).arg("--quiet").arg("--out").arg(dir.path());
        let status = command.output().expect("it runs").status.code();
        assert!(matches!(status, Some(0 | 1 | 3)), "{run}: {status:?}");
        let files = fs::read_dir(dir.path()).expect("a folder");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "ndjson"));
        files.sort();
        let before = saved.len();
        for path in files.iter().take(OF_EACH) {
            let name = path.file_name().expect("a name").to_string_lossy();
            saved.insert(format!("{run}: {name}"), fs::read_to_string(path).expect("text"));
        }
        assert!(saved.len() > before, "{run} saves nothing");
    }
    saved
});

/// What is told of a trace that shows what it says.
fn told(text: &str) -> Result<(Trace, String), String> {
    let trace = Trace::read(text.as_bytes()).map_err(|e| e.to_string())?;
    let protocol = REGISTRY.find(&trace.header.protocol).map_err(|e| e.to_string())?;
    let world = trace.world_of(protocol).map_err(|e| e.to_string())?;
    certify(&trace, &world).map_err(|e| e.to_string())?;
    let told = format!("{}\n{}", story::tell(&trace), svg::draw(&trace));
    Ok((trace, told))
}

/// A place in a JSON text: the keys and positions that lead there.
type Place = Vec<String>;

/// All places in a value, and what stands there.
fn places(value: &Value, at: &mut Place, all: &mut Vec<(Place, Value)>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, v)| (at.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        at.push(key);
        all.push((at.clone(), value.clone()));
        places(value, at, all);
        at.pop();
    }
}

/// The same with something else at this place, or with nothing there.
fn changed(value: &Value, at: &[String], to: Option<&Value>) -> Value {
    let mut value = value.clone();
    let (last, way) = at.split_last().expect("a place is not the whole");
    let inner = way.iter().fold(&mut value, |value, key| match value {
        Value::Array(list) => &mut list[key.parse::<usize>().expect("a position")],
        value => &mut value[key.as_str()],
    });
    match (inner, to) {
        (Value::Array(list), Some(to)) => {
            list[last.parse::<usize>().expect("a position")] = to.clone();
        }
        (Value::Array(list), None) => {
            list.remove(last.parse().expect("a position"));
        }
        (inner, Some(to)) => inner[last.as_str()] = to.clone(),
        (inner, None) => {
            inner.as_object_mut().expect("keys are those of objects").remove(last);
        }
    }
    value
}

/// What may stand in the place of a value besides what stands there in other traces.
fn others(value: &Value) -> Vec<Value> {
    let mut others = vec![Value::Null, json!(0), json!("other"), json!([]), json!({}), json!(true)];
    match value {
        Value::Number(number) => {
            let number = number.as_i64().expect("a whole number");
            others.extend([number + 1, number - 1, number + 2, 1_000_000].map(Value::from));
            others.push(u64::MAX.into());
        }
        Value::Bool(yes) => others.push(json!(!yes)),
        Value::String(text) => {
            others.push(json!(format!("{text} ")));
            others.push(json!(text.to_uppercase()));
        }
        Value::Array(list) => {
            others.push(Value::Array(list.iter().skip(1).cloned().collect()));
            others.push(Value::Array(list.iter().chain(list).cloned().collect()));
        }
        Value::Object(fields) => {
            let fewer: Map<String, Value> = fields.clone().into_iter().skip(1).collect();
            others.push(Value::Object(fewer));
        }
        Value::Null => {}
    }
    others
}

/// The lines of a trace, parsed.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Changes one line of a trace everywhere, in every way; how many changes were refused.
fn try_all(name: &str, all: &[Value], line: usize, known: &BTreeMap<Place, Vec<Value>>) -> usize {
    let (_, before) = told(&joined(all)).unwrap_or_else(|why| panic!("{name}: {why}"));
    let mut found = Vec::new();
    places(&all[line], &mut Vec::new(), &mut found);
    let mut refused = 0;
    for (place, value) in found {
        let swapped = known.get(&place).into_iter().flatten();
        let to = others(&value).into_iter().chain(swapped.cloned()).map(Some).chain([None]);
        for to in to.filter(|to| to.as_ref() != Some(&value)) {
            let mut other = all.to_vec();
            other[line] = changed(&all[line], &place, to.as_ref());
            let Ok((trace, after)) = told(&joined(&other)) else {
                refused += 1;
                continue;
            };
            // What claims nothing is told without a claim.
            let silent = trace.header.shows.is_none() && all[0].get("shows").is_some();
            if silent {
                assert!(!after.contains("This violates") && !after.contains("is an example of"));
                continue;
            }
            // What else it is said to show may be as true: the claim of another property, or that
            // it costs as much of something else.
            let other_cost = place == ["shows", "property"] && name.starts_with("bounds");
            if place != ["shows"] && !other_cost {
                assert_eq!(after, before, "{name}: {place:?} = {to:?} was accepted");
            }
        }
    }
    refused
}

#[test]
fn whatever_a_header_says_is_refused_if_it_is_changed_or_makes_no_difference() {
    let saved: Vec<(&String, Vec<Value>)> = SAVED.iter().map(|(n, t)| (n, lines(t))).collect();
    let mut known: BTreeMap<Place, Vec<Value>> = BTreeMap::new();
    for (_, all) in &saved {
        let mut found = Vec::new();
        places(&all[0], &mut Vec::new(), &mut found);
        for (place, value) in found {
            let values = known.entry(place).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    for (name, all) in &saved {
        let refused = try_all(name, all, 0, &known);
        assert!(refused > 100, "{name}: only {refused} changes were refused");
    }
}

#[test]
fn whatever_a_step_says_is_refused_if_it_is_changed_or_makes_no_difference() {
    for (name, text) in &*SAVED {
        let all = lines(text);
        // The first, one in the middle, and the last are enough of long ones.
        for line in [1, all.len() / 2, all.len() - 1] {
            if line > 0 && line < all.len() {
                try_all(name, &all, line, &BTreeMap::new());
            }
        }
    }
}

#[test]
fn there_is_an_execution_of_each_kind() {
    let shows: Vec<Value> = SAVED.values().map(|text| lines(text)[0]["shows"].clone()).collect();
    for kind in ["safety", "liveness", "reachability"] {
        assert!(shows.iter().any(|shows| shows["kind"] == kind), "{kind}");
    }
    let ends = SAVED.values().map(|text| lines(text)).any(|all| {
        let steps = all.len() - 1;
        all[0]["shows"]["cycle_after"] == json!(steps)
    });
    assert!(ends, "one in which nothing happens any more");
    let repeats = |shows: &&Value| shows["cycle_after"].is_u64();
    assert!(shows.iter().filter(repeats).count() > 3, "some that repeat");
    assert!(shows.iter().any(|shows| shows["formula"] == "unbounded"), "one without a bound");
}

/// The last steps are cut off, and the header says so.
#[test]
fn an_execution_that_was_cut_off_does_not_show_it_any_more() {
    for (name, text) in &*SAVED {
        let all = lines(text);
        let trace = Trace::read(text.as_bytes()).expect("it was saved");
        let shows = trace.header.shows.clone().expect("it shows something");
        // An execution of a random walk may violate it earlier as well.
        if all.len() < 2 || name.contains("simulation") {
            continue;
        }
        let mut shorter = all[..all.len() - 1].to_vec();
        shorter[0]["steps"] = json!(all.len() - 2);
        let error = told(&joined(&shorter)).expect_err(name);
        assert!(error.contains("line 1") || error.contains("cycle"), "{name}: {error}");
        if let Some(after) = shows.cycle_after {
            for after in (0..all.len()).filter(|&other| other != after) {
                let mut other = all.clone();
                other[0]["shows"]["cycle_after"] = json!(after);
                assert!(told(&joined(&other)).is_err(), "{name}: cycle after {after}");
            }
        }
    }
}

#[test]
fn what_is_no_execution_is_told_as_before() {
    let (_, text) = SAVED.first_key_value().expect("something was saved");
    let mut trace = Trace::read(text.as_bytes()).expect("it was saved");
    trace.steps.remove(0);
    for (step, seq) in trace.steps.iter_mut().zip(1..) {
        step.seq = seq;
    }
    let protocol = REGISTRY.find(&trace.header.protocol).expect("known");
    let world = trace.world_of(protocol).expect("possible");
    let error = certify(&trace, &world).expect_err("a step is missing");
    let told = matches!(
        error,
        CertificateError::Trace(TraceError::Impossible { .. } | TraceError::Differs { .. })
    );
    assert!(told, "{error}");
}
