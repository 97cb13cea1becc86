//! `bellwether members` at real processes: they start anew by themselves.

use bellwether_docs_runner::object_of;
use std::fs;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::bad_input::refuses;
use super::common::{Process, bellwether, free_port, wait_until};
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

/// Waits until all that run follow one of them with this list, and returns that.
pub(super) fn leader(roles: &Roles, config_epoch: u64) -> u16 {
    for &node in roles.running.keys() {
        let has = || roles.status(node)["config_epoch"] == config_epoch;
        wait_until("the list", has, || roles.cluster.log_of(&node.to_string()));
    }
    roles.leader().0
}

#[test]
fn members_are_added_and_removed_through_the_leader_and_the_processes_go_on() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    let (first, epoch) = roles.leader();
    let processes: Vec<_> = roles.running.values().map(Process::id).collect();
    let port = free_port();
    let place = format!("4=127.0.0.1:{port}");
    let (status, said) = members(&roles, first % 3 + 1, &["add", &place]);
    assert!(status == Some(1) && said.contains("ask the leader"), "{said}");
    let (status, said) = members(&roles, first, &["add", &place]);
    assert_eq!((status, said.as_str()), (Some(0), "done: list 2 takes effect\n"));
    let second = leader(&roles, 2);
    let (_, after) = roles.leader();
    assert!(after > epoch, "{after} after {epoch}");
    let same: Vec<_> = roles.running.values().map(Process::id).collect();
    assert_eq!(same, processes, "each is the same process");

    // The new node has what `members list` prints in its file, and so may the others.
    let (status, list) = members(&roles, second, &["list"]);
    assert_eq!(status, Some(0), "{list}");
    let (_, json) = members(&roles, second, &["list", "--json"]);
    object_of("bellwether-members-list", json);
    assert!(
        list.starts_with("config_epoch = 2\n") && list.contains(&format!("\"127.0.0.1:{port}\""))
    );
    let text = fs::read_to_string(roles.cluster.config()).expect("ours");
    let (before, rest) = text.split_once("[members]").expect("a section");
    let (_, rest) = rest.split_once("[storage]").expect("a section");
    fs::write(roles.cluster.config(), format!("{before}{list}[storage]{rest}")).expect("ours");
    roles.cluster.ports.insert(4, port);
    roles.http.insert(4, format!("127.0.0.1:{}", free_port()));
    roles.start(4);
    let third = leader(&roles, 2);

    // One that has crashed is removed; the file of the others is behind.
    let gone = third % 3 + 1;
    roles.kill(gone);
    let removed = || members(&roles, third, &["remove", &gone.to_string()]).0 == Some(0);
    wait_until("it is removed", removed, || roles.cluster.log_of(&third.to_string()));
    leader(&roles, 3);
    assert_eq!(roles.running.len(), 3);
    roles.start(gone);
    let told = || {
        let problem = &roles.status(gone)["problem"];
        problem.as_str().is_some_and(|problem| problem.contains("is no member of list 3"))
    };
    wait_until("it is told", told, || roles.cluster.log_of(&gone.to_string()));
    refuses(&["members", "add", "4", "--http", "127.0.0.1:1"], 2, &["ID=HOST:PORT"]);
    refuses(&["members", "remove", "x", "--http", "127.0.0.1:1"], 2, &["x"]);
}

/// The file of the node has the first list, which is older than the one that was decided.
#[test]
fn a_node_that_restarts_while_a_second_change_is_pending_starts_with_the_decided_list() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    let (first, _) = roles.leader();
    let place = |node: u16| format!("{node}=127.0.0.1:{}", free_port());
    assert_eq!(members(&roles, first, &["add-observer", &place(4)]).0, Some(0));
    let second = leader(&roles, 2);
    let paused = second % 3 + 1;
    roles.running[&paused].send("-STOP");
    let (status, said) = members(&roles, second, &["add-observer", &place(5)]);
    assert!(status != Some(0) && said.contains("has not made it durable"), "{status:?}: {said}");
    let mut process = roles.running.remove(&second).expect("it runs");
    process.ask_to_end();
    assert!(process.ended().success(), "{}", roles.cluster.log_of(&second.to_string()));
    roles.start(second);
    roles.running[&paused].send("-CONT");
    leader(&roles, 3);
}

/// Nodes under `exec`: their command is ended before they start anew, and started again.
#[test]
fn a_command_ends_before_its_node_starts_anew() {
    let mut roles = Roles::new(3, "");
    let lines = roles.cluster.directory.path().join("lines");
    let script = format!(
        "trap 'echo end $BELLWETHER_EPOCH >> {0}; exit 0' TERM\n\
         echo start $BELLWETHER_EPOCH >> {0}\nwhile :; do sleep 0.01; done",
        lines.display()
    );
    for node in 1..=3_u16 {
        let mut command = bellwether();
        command.args(["exec", "--node", &node.to_string(), "--http", &roles.http[&node]]);
        command.args(["--token-file", &roles.token, "--config"]).arg(roles.cluster.config());
        command.args(["--", "sh", "-c", &script]);
        let log = roles.cluster.directory.path().join(format!("{node}.log"));
        let log = fs::File::options().create(true).append(true).open(log).expect("ours");
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        roles.running.insert(node, Process::start(&mut command));
    }
    let all = || fs::read_to_string(&lines).unwrap_or_default();
    let (first, _) = roles.leader();
    wait_until("it works", || all().contains("start"), all);
    let place = format!("4=127.0.0.1:{}", free_port());
    assert_eq!(members(&roles, first, &["add", &place]).0, Some(0));
    leader(&roles, 2);
    wait_until("it works again", || all().matches("start").count() == 2, all);
    let said = all();
    let said: Vec<_> = said.lines().map(|line| line.split(' ').collect::<Vec<_>>()).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!([said[0][0], said[1][0], said[2][0]], ["start", "end", "start"], "{said:?}");
    assert!(said[0][1] == said[1][1] && said[1][1] != said[2][1], "{said:?}");
}

/// SIGHUP at any moment of a change reads the configuration again, and ends no node.
#[test]
fn hang_ups_while_members_change_end_no_node() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    roles.leader();
    let ids: Vec<_> = roles.running.values().map(Process::id).collect();
    let place = format!("4=127.0.0.1:{}", free_port());
    let changes = [["add-observer", place.as_str()], ["remove", "4"]].into_iter().cycle();
    for (change, config_epoch) in changes.take(6).zip(2..) {
        let (leader, _) = roles.leader();
        let (changes, is_over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(|| {
                let is_over = is_over;
                let pause = Duration::from_millis(5);
                while is_over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    roles.running.values().for_each(|process| process.send("-HUP"));
                }
            });
            // Dropped also if an assertion fails.
            let _changes = changes;
            let (status, said) = members(&roles, leader, &change);
            assert_eq!(status, Some(0), "{said}");
            self::leader(&roles, config_epoch);
        });
    }
    let same: Vec<_> = roles.running.values().map(Process::id).collect();
    assert_eq!(same, ids);
}

/// SIGTERM at any moment of a change ends a node as at any other time.
#[test]
fn a_node_that_is_asked_to_end_while_it_starts_anew_ends() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    let place = format!("4=127.0.0.1:{}", free_port());
    let changes = [["add-observer", place.as_str()], ["remove", "4"]].into_iter().cycle();
    for (round, change) in changes.take(8).enumerate() {
        let (first, _) = roles.leader();
        let asked = if round % 2 == 0 { first % 3 + 1 } else { first };
        thread::scope(|scope| {
            let process = &roles.running[&asked];
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(10 * round as u64));
                process.ask_to_end();
            });
            // A voter that ends may keep the list from taking effect.
            members(&roles, first, &change);
        });
        let mut process = roles.running.remove(&asked).expect("it ran");
        let status = process.ended();
        assert!(status.success(), "{status}: {}", roles.cluster.log_of(&asked.to_string()));
        roles.start(asked);
    }
    roles.leader();
}
