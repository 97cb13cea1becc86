//! `bellwether recover` at real processes and directories.

use std::fs;

use super::bad_input::refuses;
use super::common::{bellwether, free_port, wait_until};
use super::members::change;
use super::roles::Roles;

impl Roles {
    pub(super) fn recover(&self, node: u16, members: &str, more: &[&str]) -> (Option<i32>, String) {
        let mut command = bellwether();
        command.args(["recover", "--node", &node.to_string(), "--members", members]).args(more);
        let output = command.arg("--config").arg(self.cluster.config()).output().expect("it runs");
        let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        (output.status.code(), said.concat())
    }

    /// The file of all nodes has these lines in place of its members.
    fn writes(&mut self, list: &str) {
        let text = fs::read_to_string(self.cluster.config()).expect("ours");
        let (before, rest) = text.split_once("[members]").expect("a section");
        let (_, rest) = rest.split_once("[storage]").expect("a section");
        fs::write(self.cluster.config(), format!("{before}{list}\n[storage]{rest}")).expect("ours");
    }
}

#[test]
fn one_of_three_leads_again_with_two_new_nodes_and_a_higher_epoch() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    let (_, epoch) = roles.leader();
    let place =
        |roles: &Roles, node: u16| format!("{node}=127.0.0.1:{}", roles.cluster.ports[&node]);
    for node in 4..=5 {
        roles.cluster.ports.insert(node, free_port());
        roles.http.insert(node, format!("127.0.0.1:{}", free_port()));
    }
    let members: Vec<_> = (3..=5).map(|node| place(&roles, node)).collect();
    let members = members.join(",");

    let (status, said) = roles.recover(3, &members, &["--yes"]);
    assert!(status == Some(1) && said.contains("in use by another process"), "{status:?}: {said}");
    (1..=3).for_each(|node| roles.kill(node));
    let (status, said) = roles.recover(3, &members, &[]);
    assert!(status == Some(2) && said.contains("nothing was written"), "{status:?}: {said}");
    let lacks = [place(&roles, 4), place(&roles, 5)].join(",");
    let (status, said) = roles.recover(3, &lacks, &["--yes"]);
    assert!(status == Some(2) && said.contains("lacks node 3"), "{status:?}: {said}");
    let empty = roles.cluster.folder().join("empty");
    let flag = ["--yes", "--data-dir", empty.to_str().expect("plain text")];
    let (status, said) = roles.recover(3, &members, &flag);
    assert!(status == Some(2) && said.contains("has no state in"), "{status:?}: {said}");
    assert!(!empty.exists(), "a question makes no directory");

    let (status, said) = roles.recover(3, &members, &["--yes", "--epoch-above", "5000"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("from list 1") && said.contains("will be above 6000"), "{said}");
    assert!(said.contains("Not a member any more: 1, 2."), "{said}");
    let (status, twice) = roles.recover(3, &members, &["--yes"]);
    assert!(
        status == Some(1) && twice.contains("has these members already"),
        "{status:?}: {twice}"
    );

    // The survivor starts with the file that it had, the new nodes with the list that is printed.
    roles.start(3);
    assert_eq!(roles.leader().0, 3, "it leads alone");
    let (_, list) = said.split_once("need:").expect("what the new nodes need");
    roles.writes(list);
    (4..=5).for_each(|node| roles.start(node));
    let (leader, later) = roles.leader();
    assert!((3..=5).contains(&leader) && later > 6000 && later > epoch, "{leader}, {later}");
    roles.all_vote(&[3, 4, 5]);
    // List 3 is that of the survivor alone, which lets in one after the other.
    for node in 3..=5 {
        let decided = || roles.status(node)["config_epoch"] == 5;
        wait_until("both are let in", decided, || roles.cluster.log_of(&node.to_string()));
    }
}

/// Two of five are left: one is recovered, and the other is told the list by it.
#[test]
fn another_survivor_gets_the_list_from_the_first() {
    let mut roles = Roles::new(5, "");
    (1..=5).for_each(|node| roles.start(node));
    let (_, epoch) = roles.leader();
    (1..=5).for_each(|node| roles.kill(node));
    let members = [4, 5].map(|node| format!("{node}=127.0.0.1:{}", roles.cluster.ports[&node]));
    let (status, said) = roles.recover(5, &members.join(","), &["--yes"]);
    assert_eq!(status, Some(0), "{said}");
    roles.start(5);
    roles.start(4);
    let (leader, later) = roles.leader();
    assert!([4, 5].contains(&leader) && later > epoch + 1_000, "{leader}, {later}");
    roles.all_vote(&[4, 5]);
    let same = || roles.status(4)["config_epoch"] == 4 && roles.status(5)["config_epoch"] == 4;
    wait_until("both have one list", same, || roles.cluster.log_of("4"));
}

/// The leader of the others readmits it, as a voter that is new. Its file may stay as it is.
#[test]
fn one_of_three_that_has_lost_its_memory_is_removed_and_added_again() {
    let mut roles = Roles::new(3, "");
    (1..=3).for_each(|node| roles.start(node));
    let (_, epoch) = roles.leader();
    roles.kill(1);
    roles.wipe(1);
    let place = format!("1=127.0.0.1:{}", roles.cluster.ports[&1]);
    change(&roles, &["remove", "1"]);
    change(&roles, &["add", &place]);
    roles.start(1);
    roles.all_vote(&[1, 2, 3]);
    let (_, later) = roles.leader();
    let decided = || roles.status(1)["config_epoch"] == 4;
    wait_until("it is let in", decided, || roles.cluster.log_of("1"));
    assert!(later >= epoch, "{later} after {epoch}");
}

#[test]
fn a_list_that_makes_no_sense_is_refused() {
    let roles = Roles::new(3, "");
    let (status, said) = roles.recover(3, "3=127.0.0.1:1,4=127.0.0.1:1", &["--yes"]);
    assert!(status == Some(2) && said.contains("have the address"), "{status:?}: {said}");
    let (status, said) = roles.recover(3, "3=127.0.0.1:1,3=127.0.0.1:2", &["--yes"]);
    assert!(status == Some(2) && said.contains("stands there twice"), "{status:?}: {said}");
    refuses(&["recover", "--members", "x", "--config", "none.toml"], 2, &["ID=HOST:PORT"]);
    refuses(&["recover", "--members", "3=a:1", "--config", "none.toml"], 2, &["none.toml"]);
}
