//! What executions cost at most, by the number of processes, and as `bounds` says it.

use crate::asked::world;
use crate::cli::{run, run_in};
use bellwether_model::check::Limits;
use bellwether_model::check::bounds::{Bound, Until, bounds};
use serde_json::{Value, json};

#[test]
fn executions_cost_at_most_what_the_table_says() {
    let table = include_str!("costs.txt").lines();
    let table: Vec<&str> = table.filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    for rows in table.chunks(2) {
        let &[line, costs] = rows else { panic!("a world and its costs: {rows:?}") };
        let (least, costs) = costs.trim().split_once(": ").expect("how many processes");
        let costs: Vec<Vec<&str>> = costs.split("; ").map(|one| one.split(' ').collect()).collect();
        for at in 1..costs[0].len() {
            let n = least.parse::<usize>().expect("a number") + at - 1;
            let line = format!("{} --nodes {n}", line.replace("n-1", &(n - 1).to_string()));
            let found = bounds(&world(&line), Until::Rest, (Limits::NONE, 2), &mut |_| {});
            let found = found.expect("threads");
            assert!(found.incomplete.is_none(), "{line}");
            for cost in &costs {
                let counted = found.lines.iter().find(|line| line.name() == cost[0]);
                let most = match counted.map(|line| &line.bound) {
                    Some(Bound::Most(most, _)) => most.to_string(),
                    Some(Bound::Unbounded(_)) => "-".to_owned(),
                    // Of what never happens there is no line.
                    None => "0".to_owned(),
                };
                assert_eq!(most, cost[at], "{line}: {}", cost[0]);
            }
        }
    }
}

fn object(line: &str) -> Value {
    serde_json::from_str(&run(line).stdout).expect("JSON")
}

#[test]
fn bounds_are_told_drawn_saved_and_printed_as_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = "bounds bully --variant baseline";
    let shown = run_in(folder.path(), &format!("{line} --show messages --out out"));
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("This is an example of the most messages: 6"));
    let trace = run_in(folder.path(), "trace out/bully-messages-election.ndjson");
    assert_eq!(trace.status, 0, "{}", trace.stderr);
    let told = object(&format!("{line} --json"));
    assert_eq!(told["until"], "rest");
    let messages = &told["bounds"][0];
    assert_eq!((&messages["name"], &messages["most"]), (&json!("messages"), &json!(6)));
    assert_eq!(messages["execution"]["steps"].as_array().map(Vec::len), Some(5));
    let until = "bounds quorum --start cold --crashes 0 --without 3>1 --json --until stable-leader";
    assert_eq!(object(until)["until"], "stable-leader");
}

#[test]
fn bounds_say_what_they_do_not_know_and_what_is_not_counted() {
    let until = "bounds quorum --start cold --crashes 0 --without 3>1 --json --until";
    for (line, status, says) in [
        ("bounds bully --max-states 5", 3, "No bound is claimed."),
        ("bounds bully --cuts 1 --capacity 1", 3, "or more"),
        ("bounds bully --cuts 1 --capacity 1", 3, "A bound may be larger in truth"),
        ("bounds bully --show coffee", 2, "nothing of that name is counted here; there are:"),
        (&format!("{until} one-leader-per-epoch"), 2, "is not of the form ◇□ P"),
        (&format!("{until} coffee"), 2, "there is no property 'coffee'"),
    ] {
        let ran = run(line);
        assert_eq!(ran.status, status, "{line}: {}{}", ran.stdout, ran.stderr);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(says), "{line}: {says}");
    }
}

#[test]
fn losses_may_be_without_bound() {
    let line = "check bully --losses unbounded --fairness strong --json";
    let clock = "--timing timed --delay 1 --t-elec 3 --t-coord 10 --t-detect 4 --t-heartbeat 3";
    let told = object(&format!("{line} {clock} --property stabilises"));
    assert_eq!(
        (&told["faults"]["losses"], &told["fairness"]),
        (&json!("unbounded"), &json!("strong"))
    );
    assert_eq!(told["properties"][0]["kind"], "liveness");
    let wrong = run(line);
    assert_eq!(wrong.status, 2, "{}", wrong.stdout);
    for says in ["heartbeat timer", "give a number of losses"] {
        assert!(wrong.stdout.contains(says), "{}", wrong.stdout);
    }
    let wrong = run("check bully --losses many");
    assert!(wrong.stderr.contains("give a whole number from 0 to 255, or 'unbounded'"));
}
