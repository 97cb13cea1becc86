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

/// Changes one line of one of these logs; `None` if there is no such line.
pub(crate) fn change(logs: &[String], kind: &str, random: &mut Random) -> Option<Vec<String>> {
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
