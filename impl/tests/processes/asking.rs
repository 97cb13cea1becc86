//! The commands that ask a running node by HTTP.

use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};

use bellwether_docs_runner::object_of;
use serde_json::Value;

use super::common::{Signal, bellwether, wait_until};
use super::http::Served;

fn ask(url: &str, arguments: &[&str]) -> Output {
    let mut command = bellwether();
    command.arg(arguments[0]).args(["--http", url]).args(&arguments[1..]);
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

#[test]
fn commands_hand_over_step_down_and_freeze_with_the_token_and_not_without() {
    let served = Served::new();
    let token = served.cluster.folder().join("token");
    let token = ["--token-file", token.to_str().expect("plain")];
    let first = served.leader();
    let other = (1..=3).find(|&node| node != first).expect("three nodes");
    let to = other.to_string();
    let transfer = ["transfer", "--to", &to];

    let none = ask(served.url(first), &transfer);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
    assert!(said(&none).contains("--token-file"), "{}", said(&none));
    let wrong = served.cluster.folder().join("wrong");
    let made = bellwether().args(["keys", "secret"]).arg(&wrong).output().expect("it runs");
    assert!(made.status.success());
    let wrong = ["--token-file", wrong.to_str().expect("plain")];
    let refused = ask(served.url(first), &[&transfer[..], &wrong].concat());
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("token"), "{}", said(&refused));

    let not = ask(served.url(other), &[&transfer[..], &token].concat());
    assert_eq!(not.status.code(), Some(1), "{}", said(&not));
    let frozen = ask(served.url(first), &[&["freeze", "--for", "1s"][..], &token].concat());
    assert_eq!(frozen.status.code(), Some(0), "{}", said(&frozen));
    assert_eq!(served.leader(), first, "it keeps its lease");
    let done = ask(served.url(first), &[&transfer[..], &token].concat());
    let leads = format!("done: node {to} leads, epoch ");
    assert!(done.status.success() && said(&done).starts_with(&leads), "{}", said(&done));
    assert!(served.leads(other), "by what the target says itself");
    let away = ["step-down", "--for", "1min", "--json"];
    let away = ask(served.url(other), &[&away[..], &token].concat());
    let answer = object_of("bellwether-control", &away.stdout);
    assert_eq!(answer["done"], true, "{answer}");
    let next = answer["next"].as_u64().expect("it has heard the next leader");
    assert_eq!(u64::from(served.leader()), next);

    let history = ask(served.url(other), &["history"]);
    assert!(said(&history).contains("asked_to_yield"), "{}", said(&history));
    let json = ask(served.url(other), &["history", "--json"]);
    let json = object_of("bellwether-history", json.stdout);
    assert_eq!(json["changes"][0]["reason"], "booted");
    let nowhere = ask("http://127.0.0.1:1", &["history", "--json"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", said(&nowhere));
    assert_eq!(object_of("error", nowhere.stdout)["status"], 3);
}

/// A transfer is done exactly if the target says that it leads; otherwise the leader leads on.
#[test]
fn a_transfer_says_what_has_happened() {
    let mut served = Served::new();
    let token = served.cluster.folder().join("token");
    let token = ["--token-file", token.to_str().expect("plain")];
    let leader = served.leader();
    let others: Vec<u16> = (1..=3).filter(|&node| node != leader).collect();
    let (other, url) = (others[0], served.url(leader).to_owned());
    let to = other.to_string();
    let transfer = |served: &Served, parts: &[&str]| {
        let asked = ask(&url, &[&["transfer", "--to", &to][..], &token].concat());
        let text = said(&asked);
        assert_eq!(asked.status.code(), Some(1), "{text}");
        for part in parts {
            assert!(text.contains(part), "{part} is missing: {text}");
        }
        assert!(served.leads(leader) && !served.leads(other), "{text}");
    };
    let leads = format!("node {leader} leads");
    let frozen = ask(served.url(other), &[&["freeze", "--for", "1h"][..], &token].concat());
    assert!(frozen.status.success(), "{}", said(&frozen));
    transfer(&served, &["cannot be asked to lead", "was asked not to run", &leads]);
    let thawed = ask(served.url(other), &[&["freeze", "--for", "1ms"][..], &token].concat());
    assert!(thawed.status.success(), "{}", said(&thawed));
    let fits = || {
        let status = served.cluster.status(leader).unwrap_or_default();
        let members = status["members"].as_array().into_iter().flatten();
        members.into_iter().any(|member| member["node"] == other && member["fit"] == true)
    };
    wait_until("the leader knows that it may run again", fits, String::new);
    served.send(other, Signal::STOP);
    transfer(&served, &["has not taken over", "paused", &leads]);
    served.send(other, Signal::CONT);
    served.kill(other);
    wait_until(
        "the leader knows that it is gone",
        || {
            let asked = ask(&url, &[&["transfer", "--to", &to][..], &token].concat());
            said(&asked).contains("cannot be asked to lead")
        },
        String::new,
    );
    transfer(&served, &["cannot be asked to lead", &format!("{leads} still")]);
}

#[test]
fn events_and_the_watched_status_go_on_until_no_process_reads_them() {
    let served = Served::new();
    let first = served.leader();
    let other = (1..=3).find(|&node| node != first).expect("three nodes");
    let mut events = bellwether()
        .args(["events", "--json", "--http", served.url(other)])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(events.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("goes on").expect("text");
        object_of("bellwether-events", line)
    };
    assert_eq!(next()["leader"], first);
    let token = served.cluster.folder().join("token");
    let arguments = ["step-down", "--for", "1min", "--token-file", token.to_str().expect("plain")];
    assert_eq!(ask(served.url(first), &arguments).status.code(), Some(0));
    let changed = next();
    assert_ne!(changed["leader"], first, "{changed}");
    drop(lines);

    let mut watch = bellwether();
    watch.arg("status").arg("--config").arg(served.cluster.config());
    watch.args(["--node", &other.to_string(), "--watch", "--json"]).stdout(Stdio::piped());
    let mut watch = watch.spawn().expect("the program starts");
    let lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    let reports: Vec<String> = lines.take(3).map(|line| line.expect("text")).collect();
    for report in reports {
        let report = object_of("bellwether-status", report);
        assert_eq!(report["node"], other);
    }
    // Its output is closed.
    let ended = || watch.try_wait().expect("it is our child").is_some();
    wait_until("it ends", ended, String::new);
    events.kill().expect("it is our child");
    events.wait().expect("it is our child");
}
