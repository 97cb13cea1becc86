//! Real nodes, asked by HTTP and by the commands that ask so; and their page, in a browser.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use bellwether_browser::Page;
use bellwether_docs_runner::object_of;
use serde_json::Value;

use super::common::{
    Served, Signal, bellwether, free_address, get, keys, refuses, told, wait_until,
};

#[test]
fn only_the_leader_answers_that_it_leads_and_a_stopped_one_does_not_when_it_goes_on() {
    let mut served = Served::led(3);
    let (first, _) = served.leader();
    let code = |node: u16, path: &str| get(&served.url(node, path)).map(|(code, _)| code);
    for node in 1..=3 {
        assert_eq!(code(node, "/leader"), Some(if node == first { 200 } else { 503 }), "{node}");
        assert_eq!(code(node, "/readyz"), Some(200), "{node}");
    }
    // Asked while it stands still, it answers when it goes on.
    let said = || {
        let (code, text) = get(&served.url(first, "/leader")).expect("it answers");
        let said: Value = serde_json::from_str(&text).expect("JSON");
        (code, said["epoch"].as_u64())
    };
    let (code, before) = said();
    assert!(code == 200 && before.is_some(), "it leads: {before:?}");
    served.send(first, Signal::STOP);
    let (code, epoch) = thread::scope(|scope| {
        let asked = scope.spawn(said);
        // Longer than its lease, and shorter than the promises: no node leads anew by then.
        thread::sleep(Duration::from_millis(1_100));
        served.send(first, Signal::CONT);
        asked.join().expect("no panic")
    });
    assert!(code == 503 || epoch > before, "its lease of epoch {before:?} is over: {epoch:?}");
    let (second, _) = served.leader();
    served.kill(second);
    assert_ne!(served.leader().0, second);
}

#[test]
fn the_page_shows_the_cluster_and_follows_a_change_without_being_loaded_again() {
    let mut served = Served::led(3);
    let (first, _) = served.leader();
    let watched = first % 3 + 1;
    let Some(mut page) = Page::open(&served.url(watched, "")) else { return };
    let state = |text: String| format!("document.getElementById('state').textContent == '{text}'");
    page.wait_for(&state(format!("Node {first} leads")));
    let name = page.value("document.getElementById('name').textContent");
    assert_eq!(name, format!("node {watched} of cluster test, protocol quorum"));
    let members = "[...document.querySelectorAll('#members .tag')].map(e => e.textContent).join()";
    page.wait_for(&format!("{members} == 'connected,connected'"));

    served.kill(first);
    page.wait_for(&format!(
        "{members} == 'connected,connecting' || {members} == 'connecting,connected'"
    ));
    let (second, _) = served.leader();
    let said = if second == watched { ", this one," } else { "" };
    page.wait_for(&state(format!("Node {second}{said} leads")));
    let latest = "document.querySelector('#changes td:nth-child(4)').textContent";
    page.wait_for(&format!("{latest} == '{second}'"));
    if second == watched {
        page.wait_for("document.getElementById('lease').textContent.endsWith(' s left')");
    }

    // Nothing is wider than a small window, both schemes differ, and a key moves through the page.
    assert_eq!(page.value("document.documentElement.scrollWidth <= innerWidth"), true);
    let back = "getComputedStyle(document.body).backgroundColor";
    page.prefer("light");
    let light = page.value(back);
    page.prefer("dark");
    assert_ne!(page.value(back), light);
    page.press("Tab", 9);
    assert_eq!(
        page.value("document.activeElement.getAttribute('aria-labelledby')"),
        "members-title"
    );

    served.kill(watched);
    page.wait_for("!document.getElementById('offline').hidden");
}

#[test]
fn commands_hand_over_step_down_and_freeze_with_the_token_and_not_without() {
    let served = Served::led(3);
    let (first, _) = served.leader();
    let other = first % 3 + 1;
    let to = other.to_string();
    let transfer = ["transfer", "--to", &to];
    let without = |more: &[&str]| {
        told(bellwether().args(transfer).args(["--http", &served.http[&first]]).args(more))
    };
    let (status, said) = without(&[]);
    assert!(status == Some(2) && said.contains("--token-file"), "{said}");
    let wrong = served.cluster.path("wrong");
    keys(&["secret", &wrong]);
    let (status, said) = without(&["--token-file", &wrong]);
    assert!(status == Some(1) && said.contains("token"), "{said}");

    let (status, said) = served.ask(other, &transfer);
    assert_eq!(status, Some(1), "{said}");
    let (status, said) = served.ask(first, &["freeze", "--for", "1s"]);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(served.leader().0, first, "it keeps its lease");
    let (status, said) = served.ask(first, &transfer);
    let leads = format!("done: node {to} leads, epoch ");
    assert!(status == Some(0) && said.starts_with(&leads), "{said}");
    assert!(served.leads(other), "by what the target says itself");
    let (_, answer) = served.ask(other, &["step-down", "--for", "1min", "--json"]);
    let answer = object_of("bellwether-control", answer);
    assert_eq!(answer["done"], true, "{answer}");
    let next = answer["next"].as_u64().expect("it has heard the next leader");
    assert_eq!(u64::from(served.leader().0), next);

    let (_, history) = served.ask(other, &["history"]);
    assert!(history.contains("asked_to_yield"), "{history}");
    let history = object_of("bellwether-history", served.ask(other, &["history", "--json"]).1);
    assert_eq!(history["changes"][0]["reason"], "booted");
}

/// A transfer is done exactly if the target says that it leads; otherwise the leader leads on.
#[test]
fn a_transfer_says_what_has_happened() {
    let mut served = Served::led(3);
    let (leader, _) = served.leader();
    let other = leader % 3 + 1;
    let to = other.to_string();
    let ask = |served: &Served| served.ask(leader, &["transfer", "--to", &to]);
    let transfer = |served: &Served, parts: &[&str]| {
        let (status, said) = ask(served);
        assert_eq!(status, Some(1), "{said}");
        for part in parts {
            assert!(said.contains(part), "{part} is missing: {said}");
        }
        assert!(served.leads(leader) && !served.leads(other), "{said}");
    };
    let freeze = |time: &str| {
        let (status, said) = served.ask(other, &["freeze", "--for", time]);
        assert_eq!(status, Some(0), "{said}");
    };
    let leads = format!("node {leader} leads");
    freeze("1h");
    transfer(&served, &["cannot be asked to lead", "was asked not to stand for election", &leads]);
    freeze("1ms");
    served.cluster.wait_for(leader, "knows that it may run again", |status| {
        let mut members = status["members"].as_array().into_iter().flatten();
        members.any(|member| member["node"] == other && member["fit"] == true)
    });
    served.send(other, Signal::STOP);
    transfer(&served, &["has not taken over", "paused", &leads]);
    served.send(other, Signal::CONT);
    served.kill(other);
    let is_gone = || ask(&served).1.contains("cannot be asked to lead");
    wait_until("the leader knows that it is gone", is_gone, String::new);
    transfer(&served, &["cannot be asked to lead", &format!("{leads} still")]);
}

#[test]
fn events_and_the_watched_status_go_on_until_no_process_reads_them() {
    let served = Served::led(3);
    let (first, _) = served.leader();
    let other = first % 3 + 1;
    let mut events = bellwether()
        .args(["events", "--json", "--http", &served.http[&other]])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(events.stdout.take().expect("piped")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("goes on").expect("text");
        object_of("bellwether-events", line)
    };
    assert_eq!(next()["leader"], first);
    let (status, said) = served.ask(first, &["step-down", "--for", "1min"]);
    assert_eq!(status, Some(0), "{said}");
    let changed = next();
    assert_ne!(changed["leader"], first, "{changed}");
    drop(lines);

    let mut watch = served.cluster.command("status", other);
    let watch = watch.args(["--watch", "--json"]).stdout(Stdio::piped()).spawn();
    let mut watch = watch.expect("the program starts");
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

#[test]
fn a_process_that_says_nothing_gives_no_status() {
    let address = free_address();
    let _silent = TcpListener::bind(&address).expect("free");
    let line = ["status", "--address", &address, "--timeout", "200ms"];
    refuses(&line, 3, &["no answer from", "within 200ms", "is it a bellwether node?"]);
}
