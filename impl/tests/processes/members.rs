//! `bellwether members` at real processes: the list changes in place, and all go on.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use bellwether_docs_runner::object_of;
use serde_json::{Value, json};

use super::bad_input::refuses;
use super::common::{Process, Signal, bellwether, free_port, wait_until};
use super::roles::Roles;

/// What `members` says, and its exit status.
pub(super) fn members(roles: &Roles, node: u16, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = bellwether();
    command.arg("members").args(arguments).args(["--http", &roles.http[&node]]);
    if arguments[0] != "list" {
        command.args(["--token-file", &roles.token]);
    }
    let output = command.output().expect("it runs");
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    (output.status.code(), said.concat())
}

/// Waits until all that run have one list and no next one, with this number or a later one, if
/// there is one. Returns it.
fn one_list(roles: &Roles, number: Option<u64>) -> Value {
    let mut found = Value::Null;
    let list = |&node: &u16| -> Value {
        let (_, said) = members(roles, node, &["list", "--json"]);
        serde_json::from_str(&said).unwrap_or_default()
    };
    let look = || {
        let lists: Vec<_> = roles.running.keys().map(list).collect();
        found = lists[0]["list"].clone();
        let is_last = lists[0]["next"].is_null() && lists.iter().all(|other| *other == lists[0]);
        let found = found["config_epoch"].as_u64();
        is_last && found.is_some_and(|found| number.is_none_or(|number| found >= number))
    };
    let logs =
        || roles.running.keys().map(|node| roles.cluster.log_of(&node.to_string())).collect();
    wait_until(&format!("all have one list: {number:?}"), look, logs);
    found
}

/// Has the leader change the list, and waits until all that run have it. Returns it.
pub(super) fn change(roles: &Roles, arguments: &[&str]) -> Value {
    let mut said = String::new();
    // The leader may let in a voter at the time.
    let is_done = || {
        let (leader, _) = roles.leader();
        let (status, answer) = members(roles, leader, arguments);
        said = answer;
        let is_passing = said.contains("is not decided yet") || said.contains("another list");
        assert!(status == Some(0) || is_passing, "{arguments:?}: {said}");
        status == Some(0)
    };
    wait_until(&format!("{arguments:?}"), is_done, String::new);
    let words = said.strip_prefix("done: list ").and_then(|rest| rest.split_once(" is decided"));
    let number = words.and_then(|(number, _)| number.parse().ok());
    one_list(roles, Some(number.expect("a number")))
}

/// Waits until a node says that it is no member any more.
fn is_told(roles: &Roles, node: u16) {
    let told = || {
        let problem = &roles.status(node)["problem"];
        problem.as_str().is_some_and(|problem| problem.contains("is no member of list"))
    };
    wait_until("it is told", told, || roles.cluster.log_of(&node.to_string()));
}

/// Where a node that never starts would be.
fn nowhere(node: u16) -> String {
    format!("{node}=127.0.0.1:{}", free_port())
}

/// The numbers of the processes.
fn processes(roles: &Roles) -> BTreeMap<u16, u32> {
    roles.running.iter().map(|(&node, process)| (node, process.id())).collect()
}

impl Roles {
    /// Nodes `1..=size`, which run and have a leader.
    fn led(size: u16) -> Self {
        let mut roles = Self::new(size, "");
        (1..=size).for_each(|node| roles.start(node));
        roles.leader();
        roles
    }

    /// Where another node will be. The file has it from now on.
    fn place(&mut self, node: u16) -> String {
        let port = free_port();
        self.cluster.ports.insert(node, port);
        self.http.insert(node, format!("127.0.0.1:{}", free_port()));
        fs::write(self.cluster.config(), self.cluster.text("test")).expect("ours");
        format!("{node}=127.0.0.1:{port}")
    }
}

#[test]
fn members_come_and_go_while_the_leader_leads_on_and_no_process_ends() {
    let mut roles = Roles::led(3);
    let (led, before) = (roles.leader(), processes(&roles));
    let (second, third) = (led.0 % 3 + 1, (led.0 + 1) % 3 + 1);
    let (four, five) = (roles.place(4), roles.place(5));
    let (status, said) = members(&roles, second, &["add", &four]);
    assert!(status == Some(1) && said.contains("ask the leader"), "{said}");

    let list = change(&roles, &["add", &four]);
    assert_eq!(list["awaited"], json!([4]));
    let (_, text) = members(&roles, led.0, &["list"]);
    assert!(text.starts_with("# List 2\n# Not let in by the leader yet: 4\n"), "{text}");
    let status = roles.cluster.ask(led.0, &[]).stdout;
    assert!(String::from_utf8_lossy(&status).contains(" (waits to be let in) "));
    roles.start(4);
    roles.all_vote(&[1, 2, 3, 4]);
    change(&roles, &["remove", &second.to_string()]);
    is_told(&roles, second);
    let mut removed = roles.running.remove(&second).expect("it ran");
    assert_eq!(removed.id(), before[&second]);
    removed.kill();
    change(&roles, &["add-observer", &five]);
    roles.start(5);
    change(&roles, &["vote", "5"]);
    roles.all_vote(&[led.0, third, 4, 5]);
    let list = change(&roles, &["observe", &third.to_string()]);

    assert_eq!(roles.leader(), led, "the leader and its epoch");
    let now = processes(&roles);
    for node in [led.0, third] {
        assert_eq!(now[&node], before[&node], "the process of node {node}");
    }
    let all: Vec<_> = list["members"].as_object().expect("members").keys().collect();
    let mut expected = [led.0, third, 4, 5].map(|node| node.to_string());
    expected.sort();
    assert!(all.iter().copied().eq(&expected), "{list}");
    assert_eq!((&list["config_epoch"], &list["observers"]), (&json!(8), &json!([third])));
    let (_, json) = members(&roles, 4, &["list", "--json"]);
    object_of("bellwether-members-list", json);
    let (_, text) = members(&roles, 4, &["list"]);
    assert!(text.starts_with(&format!("# List 8\nobservers = [{third}]\n")), "{text}");
    let status = roles.cluster.ask(4, &[]).stdout;
    assert!(String::from_utf8_lossy(&status).contains("members   list 8"));
}

/// Under `exec`, the command of the leader is the same process.
#[test]
fn a_command_runs_on_through_ten_changes() {
    let mut roles = Roles::new(3, "");
    let started = roles.cluster.folder().join("started");
    let script = format!("echo $$ >> {}\nwhile :; do sleep 0.05; done", started.display());
    for node in 1..=3_u16 {
        let mut command = bellwether();
        command.args(["exec", "--node", &node.to_string(), "--http", &roles.http[&node]]);
        command.args(["--token-file", &roles.token, "--config"]).arg(roles.cluster.config());
        command.args(["--", "sh", "-c", &script]);
        let log = roles.cluster.folder().join(format!("{node}.log"));
        let log = fs::File::options().create(true).append(true).open(log).expect("ours");
        roles.running.insert(node, Process::start(command.stderr(log)));
    }
    let pids = || fs::read_to_string(&started).unwrap_or_default();
    wait_until("it works", || pids().ends_with('\n'), pids);
    let (led, before) = (roles.leader(), pids());
    let place = nowhere(4);
    for _ in 0..5 {
        change(&roles, &["add-observer", &place]);
        change(&roles, &["remove", "4"]);
    }
    assert_eq!((roles.leader(), pids()), (led, before.clone()));
    let runs = std::process::Command::new("kill").args(["-0", before.trim()]).status();
    assert!(runs.is_ok_and(|status| status.success()), "{before}");
}

#[test]
fn a_leader_that_is_to_leave_hands_over_and_the_next_one_removes_it() {
    let mut roles = Roles::led(3);
    let (first, epoch) = roles.leader();
    let id = first.to_string();
    let remove = ["remove", &id];
    let (status, said) = members(&roles, first, &remove);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(&format!("node {first} leads no longer, as it is to leave")), "{said}");
    let (second, next) = roles.leader();
    assert!(second != first && next > epoch, "{second} leads {next} after {first} in {epoch}");
    let named = [format!("ask node {second}"), "ask the next leader".to_owned()];
    assert!(named.iter().any(|part| said.contains(part)), "{said}");

    let (status, said) = members(&roles, second, &remove);
    assert_eq!((status, said.as_str()), (Some(0), "done: list 2 is decided\n"));
    is_told(&roles, first);
    roles.kill(first);
    one_list(&roles, Some(2));
    assert_eq!(roles.leader(), (second, next));
}

#[test]
fn a_node_that_was_down_gets_the_list_from_the_others_and_says_that_its_file_differs() {
    let mut roles = Roles::led(3);
    change(&roles, &["add-observer", &nowhere(4)]);
    let down = roles.leader().0 % 3 + 1;
    roles.kill(down);
    change(&roles, &["remove", "4"]);
    change(&roles, &["add-observer", &nowhere(5)]);
    roles.start(down);
    one_list(&roles, Some(4));
    roles.leader();
    let log = roles.cluster.log_of(&down.to_string());
    assert!(log.contains("no longer those of the file"), "{log}");
}

/// Whatever the others had heard of the change, it is decided or forgotten by all.
#[test]
fn a_leader_that_is_killed_while_it_changes_the_list_leaves_one_list() {
    let mut roles = Roles::led(3);
    for round in 0..8 {
        let (leader, _) = roles.leader();
        roles.all_vote(&[1, 2, 3]);
        let list = one_list(&roles, None);
        let arguments = match list["observers"].get(0) {
            Some(observer) => ["vote".to_owned(), observer.to_string()],
            None => ["observe".to_owned(), (leader % 3 + 1).to_string()],
        };
        thread::scope(|scope| {
            let arguments = arguments.each_ref().map(String::as_str);
            let roles = &roles;
            scope.spawn(move || members(roles, leader, &arguments));
            thread::sleep(Duration::from_millis(4 * round));
            roles.running[&leader].send(Signal::KILL);
        });
        roles.kill(leader);
        roles.start(leader);
        roles.leader();
        roles.all_vote(&[1, 2, 3]);
        let number = |list: &Value| list["config_epoch"].as_u64().expect("a number");
        let (now, before) = (number(&one_list(&roles, None)), number(&list));
        // A voter that only observed before is let in by one more list.
        assert!((before..=before + 2).contains(&now), "{now}, {before}");
    }
}

/// SIGHUP at any moment of a change reads the configuration again, and ends no node.
#[test]
fn hang_ups_while_members_change_end_no_node() {
    let roles = Roles::led(3);
    let before = processes(&roles);
    let place = nowhere(4);
    let (changes, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let running = &roles.running;
        scope.spawn(move || {
            let pause = Duration::from_millis(5);
            while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                running.values().for_each(|process| process.send(Signal::HUP));
            }
        });
        // Dropped also if an assertion fails.
        let _changes = changes;
        for _ in 0..3 {
            change(&roles, &["add-observer", &place]);
            change(&roles, &["remove", "4"]);
        }
    });
    assert_eq!(processes(&roles), before);
    roles.leader();
}

/// SIGTERM at any moment of a change ends a node as at any other time.
#[test]
fn a_node_that_is_asked_to_end_while_members_change_ends() {
    let mut roles = Roles::led(3);
    let place = nowhere(4);
    let changes = [["add-observer", place.as_str()], ["remove", "4"]].into_iter().cycle();
    for (round, change) in changes.take(8).enumerate() {
        let (first, _) = roles.leader();
        let asked = if round % 2 == 0 { first % 3 + 1 } else { first };
        thread::scope(|scope| {
            let process = &roles.running[&asked];
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(5 * round as u64));
                process.ask_to_end();
            });
            // A leader that ends may leave it to the next one.
            members(&roles, first, &change);
        });
        let mut process = roles.running.remove(&asked).expect("it ran");
        let status = process.ended();
        assert!(status.success(), "{status}: {}", roles.cluster.log_of(&asked.to_string()));
        roles.start(asked);
    }
    roles.leader();
    one_list(&roles, None);
}

#[test]
fn a_voter_that_does_not_run_is_added_and_votes_once_it_does() {
    let mut roles = Roles::led(1);
    let (place, led) = (roles.place(2), roles.leader());
    let (status, said) = members(&roles, 1, &["add", &place]);
    let added = "done: list 2 is decided; node 2 votes once the leader has met it\n";
    assert_eq!((status, said.as_str()), (Some(0), added));
    let (_, said) = members(&roles, 1, &["remove", "1"]);
    assert!(said.contains("no voter would be left that may lead"), "{said}");
    assert_eq!(roles.leader(), led, "the other is in no majority");
    roles.start(2);
    roles.all_vote(&[1, 2]);
    assert_eq!(one_list(&roles, Some(3))["awaited"], json!([]));
    assert_eq!(roles.leader(), led);

    refuses(&["members", "add", "4", "--http", "127.0.0.1:1"], 2, &["ID=HOST:PORT"]);
    refuses(&["members", "remove", "x", "--http", "127.0.0.1:1"], 2, &["x"]);
}
