//! Logs with one thing changed that real nodes would have written otherwise.

use super::group::Random;
use serde_json::{Value, json};

/// The kinds of changes.
pub(crate) const KINDS: [&str; 9] = [
    "dropped line",
    "swapped lines",
    "another voter",
    "epoch + 1",
    "epoch - 1",
    "another role",
    "another receiver",
    "another leader",
    "a message again",
];

/// What is done to a part of a line. Whether it has become another.
type Edit = fn(&mut Value) -> bool;

const PERSIST: &str = "/step/out/0/persist";
const BOOT: &str = "/step/boot";

/// The kinds of changes of a single field, with the part of a line that has it.
pub(crate) const FIELDS: [(&str, &str, Edit); 18] = [
    ("longer durations", "/start/durations", |all| {
        let all = all.as_object_mut().into_iter().flatten();
        all.map(|(_, takes)| add(takes, 1)).filter(|&is| is).count() > 0
    }),
    ("time 0", "", |line| {
        line.get("step").is_some() && line.get_mut("at").is_some_and(|at| set(at, json!(0)))
    }),
    ("later deadline", "/step/after/armed/0/1", |due| add(due, 100_000_000)),
    ("sooner deadline", "/step/after/armed/0/1", |due| add(due, -1)),
    ("longer lease", "/step/after/lease/until", |until| add(until, 100_000_000)),
    ("epoch of the lease", "/step/after/lease/epoch", |epoch| add(epoch, 1)),
    ("told the opposite", "/did/told/leads", |leads| {
        let opposite = json!(*leads != json!(true));
        set(leads, opposite)
    }),
    ("epoch told", "/did/told/epoch", |epoch| add(epoch, 1)),
    ("lower epoch saved", "/step/out/0/persist/epoch", |epoch| add(epoch, -1)),
    ("vote for another saved", "/step/out/0/persist/granted_to", vote_for_another),
    ("promise saved", "/step/out/0/persist/promise", short_promise),
    ("number of the list saved", PERSIST, |durable| {
        let is_founder = is_founder(durable);
        let number = durable.pointer_mut("/lists/decided/number");
        is_founder && number.is_some_and(|number| add(number, 1))
    }),
    ("voters saved", PERSIST, fewer_voters),
    ("boot with a lower epoch", "/step/boot/epoch", |epoch| add(epoch, -1)),
    ("boot without a vote", "/step/boot/granted_to", |granted| set(granted, Value::Null)),
    ("boot with another vote", "/step/boot/granted_to", vote_for_another),
    ("boot with another promise", "/step/boot/promise", short_promise),
    ("boot with other voters", BOOT, fewer_voters),
];

/// Sets a field, if it has a value, to another.
fn set(field: &mut Value, value: Value) -> bool {
    let is_other = !field.is_null() && *field != value;
    if is_other {
        *field = value;
    }
    is_other
}

/// Adds so much to a number; whether that is none below zero.
fn add(field: &mut Value, by: i64) -> bool {
    let sum = field.as_u64().and_then(|number| number.checked_add_signed(by));
    sum.is_some_and(|sum| set(field, json!(sum)))
}

fn vote_for_another(granted: &mut Value) -> bool {
    let another = other(granted);
    set(granted, another)
}

fn short_promise(promise: &mut Value) -> bool {
    set(promise, json!({"secs": 0, "nanos": 1}))
}

fn is_founder(durable: &Value) -> bool {
    durable["birth"] == 0
}

/// Of the list that counts, once the node votes.
fn fewer_voters(durable: &mut Value) -> bool {
    let is_founder = is_founder(durable);
    let members = durable.pointer_mut("/lists/decided/members").and_then(Value::as_array_mut);
    is_founder && members.is_some_and(|members| members.pop().is_some())
}

/// Changes that part of the first line that has it, from a random line on.
fn change_field(
    logs: &[String],
    part: &str,
    edit: Edit,
    random: &mut Random,
) -> Option<Vec<String>> {
    let all: usize = logs.iter().map(|log| log.lines().count()).sum();
    let from = random.below(all);
    let places = logs.iter().enumerate();
    let places = places.flat_map(|(log, text)| text.lines().map(move |line| (log, line)));
    let mut lines: Vec<(usize, String)> =
        places.map(|(log, line)| (log, line.to_owned())).collect();
    let at = (from..all).chain(0..from).find(|&at| {
        let mut line: Value = serde_json::from_str(&lines[at].1).expect("JSON");
        let is_changed = line.pointer_mut(part).is_some_and(edit);
        if is_changed {
            lines[at].1 = line.to_string();
        }
        is_changed
    });
    at?;
    let mut changed = vec![String::new(); logs.len()];
    for (log, line) in lines {
        changed[log].push_str(&line);
        changed[log].push('\n');
    }
    Some(changed)
}

/// Changes one line of one of these logs; `None` if there is no such line.
pub(crate) fn change(logs: &[String], kind: &str, random: &mut Random) -> Option<Vec<String>> {
    if let Some((_, part, edit)) = FIELDS.iter().find(|(name, ..)| *name == kind) {
        return change_field(logs, part, *edit, random);
    }
    let mut logs: Vec<Vec<Value>> = logs.iter().map(|log| lines(log)).collect();
    let places: Vec<(usize, usize)> = logs
        .iter()
        .enumerate()
        .flat_map(|(log, lines)| (1..lines.len()).map(move |line| (log, line)))
        .filter(|&(log, line)| fits(&logs[log], line, kind))
        .collect();
    let &(log, line) = places.get(random.below(places.len()))?;
    let lines = &mut logs[log];
    match kind {
        "dropped line" => drop(lines.remove(line)),
        "swapped lines" => lines.swap(line, line - 1),
        "another voter" => {
            let from = &mut lines[line]["step"]["receive"]["from"];
            *from = other(from);
        }
        "epoch + 1" => numbers(&mut lines[line], 1),
        "epoch - 1" => numbers(&mut lines[line], -1),
        "another role" => {
            let role = &mut lines[line]["step"]["after"]["role"];
            *role = json!(if *role == "waiting" { "leader" } else { "waiting" });
        }
        "another receiver" => {
            let out = lines[line]["step"]["out"].as_array_mut()?;
            let sent = out.iter_mut().find(|out| out.get("send").is_some())?;
            sent["send"]["to"] = other(&sent["send"]["to"]);
        }
        "another leader" => {
            let leader = &mut lines[line]["step"]["after"]["leader"];
            *leader = other(leader);
        }
        _ => {
            let again = lines[line].clone();
            lines.insert(line, again);
        }
    }
    Some(logs.iter().map(|lines| lines.iter().map(|line| format!("{line}\n")).collect()).collect())
}

fn lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn fits(lines: &[Value], at: usize, kind: &str) -> bool {
    let line = &lines[at];
    let step = &line["step"];
    let is_step = |line: &Value| line.get("step").is_some();
    match kind {
        // What follows depends on it.
        "dropped line" => is_step(line) && lines[at + 1..].iter().any(is_step),
        "swapped lines" => {
            is_step(line) && is_step(&lines[at - 1]) && *step != lines[at - 1]["step"]
        }
        "another voter" | "a message again" => step.get("receive").is_some(),
        "epoch + 1" | "epoch - 1" => step["after"]["epoch"].as_u64().is_some_and(|epoch| epoch > 1),
        "another role" => is_step(line),
        "another receiver" => step["out"]
            .as_array()
            .is_some_and(|out| out.iter().any(|out| out.get("send").is_some())),
        _ => step["after"]["leader"].is_number(),
    }
}

/// Another of three members.
fn other(node: &Value) -> Value {
    json!(node.as_u64().map_or(1, |node| node % 3 + 1))
}

fn numbers(line: &mut Value, by: i64) {
    let epoch = &mut line["step"]["after"]["epoch"];
    *epoch = json!(epoch.as_i64().map_or(0, |epoch| epoch + by));
}
