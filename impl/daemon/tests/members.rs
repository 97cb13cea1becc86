//! `bellwether members` at real processes: the list changes in place, and all go on.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use bellwether_docs_runner::object_of;
use serde_json::{Value, json};

use super::common::{Served, Signal, free_address, wait_for, wait_until};

/// What `members` says, and its exit status.
fn members(served: &Served, node: u16, arguments: &[&str]) -> (Option<i32>, String) {
    served.ask(node, &[&["members"][..], arguments].concat())
}

/// Waits until all that run have one list and no next one, with this number or a later one, if
/// there is one. Returns it.
fn one_list(served: &Served, number: Option<u64>) -> Value {
    let list = |&node: &u16| -> Value {
        let (_, said) = members(served, node, &["list", "--json"]);
        serde_json::from_str(&said).unwrap_or_default()
    };
    let look = || {
        let lists: Vec<_> = served.running.keys().map(list).collect();
        let found = lists[0]["list"].clone();
        let is_last = lists[0]["next"].is_null() && lists.iter().all(|other| *other == lists[0]);
        let is_new = |epoch| number.is_none_or(|number| epoch >= number);
        let is_last = is_last && found["config_epoch"].as_u64().is_some_and(is_new);
        is_last.then_some(found)
    };
    wait_for(&format!("all have one list: {number:?}"), look, || served.cluster.logs())
}

/// Has the leader change the list, and waits until all that run have it. Returns it.
pub(super) fn change(served: &Served, arguments: &[&str]) -> Value {
    let mut said = String::new();
    // The leader may let in a voter at the time.
    let is_done = || {
        let (leader, _) = served.leader();
        let (status, answer) = members(served, leader, arguments);
        said = answer;
        let is_passing = said.contains("is not decided yet") || said.contains("another list");
        assert!(status == Some(0) || is_passing, "{arguments:?}: {said}");
        status == Some(0)
    };
    wait_until(&format!("{arguments:?}"), is_done, String::new);
    let words = said.strip_prefix("done: list ").and_then(|rest| rest.split_once(" is decided"));
    let number = words.and_then(|(number, _)| number.parse().ok());
    one_list(served, Some(number.expect("a number")))
}

/// Waits until a node says that it is no member any more.
fn is_told(served: &Served, node: u16) {
    served.says(node, "is no member of list");
}

/// Where a node that never starts would be.
fn nowhere(node: u16) -> String {
    format!("{node}={}", free_address())
}

/// The numbers of the processes.
fn processes(served: &Served) -> BTreeMap<u16, u32> {
    served.running.iter().map(|(&node, process)| (node, process.id())).collect()
}

#[test]
fn members_come_and_go_while_the_leader_leads_on_and_no_process_ends() {
    let mut served = Served::led(3);
    let (led, before) = (served.leader(), processes(&served));
    let (second, third) = (led.0 % 3 + 1, (led.0 + 1) % 3 + 1);
    let (four, five) = (served.place(4), served.place(5));
    let (status, said) = members(&served, second, &["add", &four]);
    assert!(status == Some(1) && said.contains("ask the leader"), "{said}");

    let list = change(&served, &["add", &four]);
    assert_eq!(list["awaited"], json!([4]));
    let (_, text) = members(&served, led.0, &["list"]);
    assert!(text.starts_with("# List 2\n# Not let in by the leader yet: 4\n"), "{text}");
    let status = served.cluster.ask(led.0, &[]).stdout;
    assert!(String::from_utf8_lossy(&status).contains(" (waits to be let in) "));
    served.start(4);
    served.all_vote(&[1, 2, 3, 4]);
    change(&served, &["remove", &second.to_string()]);
    is_told(&served, second);
    let mut removed = served.running.remove(&second).expect("it ran");
    assert_eq!(removed.id(), before[&second]);
    removed.kill();
    change(&served, &["add-observer", &five]);
    served.start(5);
    change(&served, &["vote", "5"]);
    served.all_vote(&[led.0, third, 4, 5]);
    let list = change(&served, &["observe", &third.to_string()]);

    assert_eq!(served.leader(), led, "the leader and its epoch");
    let now = processes(&served);
    for node in [led.0, third] {
        assert_eq!(now[&node], before[&node], "the process of node {node}");
    }
    let all: Vec<_> = list["members"].as_object().expect("members").keys().collect();
    let mut expected = [led.0, third, 4, 5].map(|node| node.to_string());
    expected.sort();
    assert!(all.iter().copied().eq(&expected), "{list}");
    assert_eq!((&list["config_epoch"], &list["observers"]), (&json!(8), &json!([third])));
    let (_, json) = members(&served, 4, &["list", "--json"]);
    object_of("bellwether-members-list", json);
    let (_, text) = members(&served, 4, &["list"]);
    assert!(text.starts_with(&format!("# List 8\nobservers = [{third}]\n")), "{text}");
    let status = served.cluster.ask(4, &[]).stdout;
    assert!(String::from_utf8_lossy(&status).contains("members   list 8"));
}

/// Under `exec`, the command of the leader is the same process.
#[test]
fn a_command_runs_on_through_ten_changes() {
    let mut served = Served::new(3, "");
    let started = served.cluster.path("started");
    let script = format!("echo $$ >> {started}; while :; do sleep 0.05; done");
    (1..=3).for_each(|node| served.exec(node, &[], &["sh", "-c", &script]));
    let pids = || served.cluster.text_of("started");
    wait_until("it works", || pids().ends_with('\n'), pids);
    let (led, before) = (served.leader(), pids());
    let place = nowhere(4);
    for _ in 0..5 {
        change(&served, &["add-observer", &place]);
        change(&served, &["remove", "4"]);
    }
    assert_eq!((served.leader(), pids()), (led, before.clone()));
    let runs = std::process::Command::new("kill").args(["-0", before.trim()]).status();
    assert!(runs.is_ok_and(|status| status.success()), "{before}");
}

#[test]
fn a_leader_that_is_to_leave_hands_over_and_the_next_one_removes_it() {
    let mut served = Served::led(3);
    let (first, epoch) = served.leader();
    let id = first.to_string();
    let remove = ["remove", &id];
    let (status, said) = members(&served, first, &remove);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(&format!("node {first} leads no longer, as it is to leave")), "{said}");
    let (second, next) = served.leader();
    assert!(second != first && next > epoch, "{second} leads {next} after {first} in {epoch}");
    let named = [format!("ask node {second}"), "ask the next leader".to_owned()];
    assert!(named.iter().any(|part| said.contains(part)), "{said}");

    let (status, said) = members(&served, second, &remove);
    assert_eq!((status, said.as_str()), (Some(0), "done: list 2 is decided\n"));
    is_told(&served, first);
    served.kill(first);
    one_list(&served, Some(2));
    assert_eq!(served.leader(), (second, next));
}

#[test]
fn a_node_that_was_down_gets_the_list_from_the_others_and_says_that_its_file_differs() {
    let mut served = Served::led(3);
    change(&served, &["add-observer", &nowhere(4)]);
    let down = served.leader().0 % 3 + 1;
    served.kill(down);
    change(&served, &["remove", "4"]);
    change(&served, &["add-observer", &nowhere(5)]);
    served.start(down);
    one_list(&served, Some(4));
    served.leader();
    let log = served.cluster.log_of(&down.to_string());
    assert!(log.contains("no longer those of the file"), "{log}");
}

/// Whatever the others had heard of the change, it is decided or forgotten by all.
#[test]
fn a_leader_that_is_killed_while_it_changes_the_list_leaves_one_list() {
    let mut served = Served::led(3);
    for round in 0..8 {
        let (leader, _) = served.leader();
        served.all_vote(&[1, 2, 3]);
        let list = one_list(&served, None);
        let arguments = match list["observers"].get(0) {
            Some(observer) => ["vote".to_owned(), observer.to_string()],
            None => ["observe".to_owned(), (leader % 3 + 1).to_string()],
        };
        thread::scope(|scope| {
            let arguments = arguments.each_ref().map(String::as_str);
            let served = &served;
            scope.spawn(move || members(served, leader, &arguments));
            thread::sleep(Duration::from_millis(4 * round));
            served.send(leader, Signal::KILL);
        });
        served.kill(leader);
        served.start(leader);
        served.leader();
        served.all_vote(&[1, 2, 3]);
        let number = |list: &Value| list["config_epoch"].as_u64().expect("a number");
        let (now, before) = (number(&one_list(&served, None)), number(&list));
        // A voter that only observed before is let in by one more list.
        assert!((before..=before + 2).contains(&now), "{now}, {before}");
    }
}

/// SIGHUP at any moment of a change reads the configuration again, and ends no node.
#[test]
fn hang_ups_while_members_change_end_no_node() {
    let served = Served::led(3);
    let before = processes(&served);
    let place = nowhere(4);
    let (changes, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let running = &served.running;
        scope.spawn(move || {
            let pause = Duration::from_millis(5);
            while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                running.values().for_each(|process| process.send(Signal::HUP));
            }
        });
        // Dropped also if an assertion fails.
        let _changes = changes;
        for _ in 0..3 {
            change(&served, &["add-observer", &place]);
            change(&served, &["remove", "4"]);
        }
    });
    assert_eq!(processes(&served), before);
    served.leader();
}

/// SIGTERM at any moment of a change ends a node as at any other time.
#[test]
fn a_node_that_is_asked_to_end_while_members_change_ends() {
    let mut served = Served::led(3);
    let place = nowhere(4);
    let changes = [["add-observer", place.as_str()], ["remove", "4"]].into_iter().cycle();
    for (round, change) in changes.take(8).enumerate() {
        let (first, _) = served.leader();
        let asked = if round % 2 == 0 { first % 3 + 1 } else { first };
        thread::scope(|scope| {
            let process = &served.running[&asked];
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(5 * round as u64));
                process.ask_to_end();
            });
            // A leader that ends may leave it to the next one.
            members(&served, first, &change);
        });
        let status = served.running.remove(&asked).expect("it ran").ended();
        assert!(status.success(), "{status}: {}", served.cluster.log_of(&asked.to_string()));
        served.start(asked);
    }
    served.leader();
    one_list(&served, None);
}

#[test]
fn a_voter_that_does_not_run_is_added_and_votes_once_it_does() {
    let mut served = Served::led(1);
    let (place, led) = (served.place(2), served.leader());
    let (status, said) = members(&served, 1, &["add", &place]);
    let added = "done: list 2 is decided; node 2 votes once the leader has met it\n";
    assert_eq!((status, said.as_str()), (Some(0), added));
    let (_, said) = members(&served, 1, &["remove", "1"]);
    assert!(said.contains("no voter would be left that may lead"), "{said}");
    assert_eq!(served.leader(), led, "the other is in no majority");
    served.start(2);
    served.all_vote(&[1, 2]);
    assert_eq!(one_list(&served, Some(3))["awaited"], json!([]));
    assert_eq!(served.leader(), led);
}
