//! Nodes that have lost their directories or their majority: none votes before it can have
//! forgotten nothing that counts, and `bellwether recover` is how an operator says which state
//! counts.

use std::thread::sleep;
use std::time::Duration;

use super::common::{Served, for_so_long, told};
use super::members::change;

/// Longer than any promise, and an election after it.
const LONG: Duration = Duration::from_secs(4);

impl Served {
    /// Nodes `1..=size` that have had a leader, and are down. Returns the epoch of that too.
    fn stopped(size: u16) -> (Self, u64) {
        let mut served = Self::led(size);
        served.all_vote(&(1..=size).collect::<Vec<_>>());
        let (_, epoch) = served.leader();
        (1..=size).for_each(|node| served.kill(node));
        (served, epoch)
    }

    /// No node leads for so long that one could.
    fn stays_without_leader(&self) {
        for_so_long(LONG, || {
            for &node in self.running.keys() {
                let status = self.status(node);
                assert!(status["leader"].is_null(), "{status}");
            }
            sleep(Duration::from_millis(50));
        });
    }

    /// `bellwether recover` with these members.
    fn recover(&self, node: u16, members: &[u16], more: &[&str]) -> (Option<i32>, String) {
        let places: Vec<_> = members.iter().map(|&member| self.place_of(member)).collect();
        let mut command = self.cluster.command("recover", node);
        told(command.args(["--members", &places.join(","), "--yes"]).args(more))
    }

    /// Waits until a node has this list.
    #[track_caller]
    fn has_list(&self, node: u16, epoch: u64) {
        let what = format!("it has list {epoch}");
        self.cluster.wait_for(node, &what, |status| status["config_epoch"] == epoch);
    }
}

/// The vote that node 1 had given may be one that node 3 counts on.
#[test]
fn one_of_three_that_has_forgotten_does_not_vote_before_a_leader_lets_it_in() {
    let (mut served, epoch) = Served::stopped(3);
    served.wipe(1);
    served.start_all(1..=2);
    served.stays_without_leader();
    served.says(1, "node 2 voted before, so a leader has to let it in");
    served.says(2, "or have no vote: ask each for its status");
    served.start(3);
    let (leader, next) = served.leader();
    assert!(leader != 1 && next > epoch, "{leader} leads {next} after {epoch}");
    served.all_vote(&[1, 2, 3]);
    served.cluster.wait_for(1, "is let in", |status| {
        status["problem"].is_null() && status["config_epoch"] == 2
    });

    served.kill(2);
    let (_, last) = served.leader();
    assert!(last >= next, "1 and 3 are a majority: {last} after {next}");
    // What it has is kept like any other state.
    served.kill(1);
    served.start(1);
    let (_, after) = served.leader();
    assert!(after >= last, "{after} after {last}");
}

/// No leader can let the two in: an operator says which state counts.
#[test]
fn two_of_three_that_have_forgotten_wait_for_an_operator() {
    let (mut served, epoch) = Served::stopped(3);
    (1..=2).for_each(|node| served.wipe(node));
    served.start_all(1..=3);
    served.stays_without_leader();
    for node in 1..=2 {
        served.says(node, "node 3 voted before, so a leader has to let it in");
        served.says(node, "see `bellwether recover --help`");
    }
    served.kill(3);
    let (status, said) = served.recover(3, &[1, 2, 3], &[]);
    assert_eq!(status, Some(0), "{said}");
    served.start(3);
    served.all_vote(&[1, 2, 3]);
    let (_, next) = served.leader();
    assert!(next > epoch + 1_000, "{next} after {epoch}");
}

/// Of three of five, two remember: with the third they would be a majority.
#[test]
fn one_of_five_that_has_forgotten_is_no_part_of_a_majority() {
    let (mut served, epoch) = Served::stopped(5);
    served.wipe(2);
    served.start_all(1..=3);
    served.stays_without_leader();
    served.start(4);
    let (leader, next) = served.leader();
    assert!(leader != 2 && next > epoch, "{leader} leads {next} after {epoch}");
    served.all_vote(&[1, 2, 3, 4]);
    // Now it is one.
    served.kill(leader);
    let (_, last) = served.leader();
    assert!(last > next, "{last} after {next}");
}

/// All have forgotten everything: that is a new cluster.
#[test]
fn all_that_have_forgotten_begin_anew_once_all_are_there() {
    let (mut served, _) = Served::stopped(3);
    (1..=3).for_each(|node| served.wipe(node));
    served.start_all(1..=2);
    served.stays_without_leader();
    served.says(1, "before each other voter has met it: start node 3");
    served.start(3);
    served.all_vote(&[1, 2, 3]);
    served.leader();
}

#[test]
fn an_operator_starts_a_new_cluster_without_the_voters_that_are_away() {
    let mut served = Served::new(3, "");
    served.start(1);
    served.says(1, "start nodes 2, 3; or, if this cluster is new");
    // It has never voted.
    served.kill(1);
    served.found(1);
    served.found(2);
    let led = served.leader();
    served.start(3);
    served.all_vote(&[1, 2, 3]);
    assert_eq!(served.leader(), led, "it is let in");
}

#[test]
fn one_of_three_leads_again_with_two_new_nodes_and_a_higher_epoch() {
    let mut served = Served::led(3);
    let (_, epoch) = served.leader();
    let file = served.cluster.text("test");
    (4..=5).for_each(|node| _ = served.place(node));
    served.cluster.write(&file);
    (1..=3).for_each(|node| served.kill(node));
    let (status, said) = served.recover(3, &[3, 4, 5], &["--epoch-above", "5000"]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("from list 1") && said.contains("will be above 6000"), "{said}");
    assert!(said.contains("Not a member any more: 1, 2."), "{said}");

    // The survivor starts with the file that it had, the new nodes with the list that is printed.
    served.start(3);
    assert_eq!(served.leader().0, 3, "it leads alone");
    let (_, list) = said.split_once("need:").expect("what the new nodes need");
    let (before, rest) = file.split_once("[members]").expect("a section");
    let (_, rest) = rest.split_once("[storage]").expect("a section");
    served.cluster.write(&format!("{before}{list}\n[storage]{rest}"));
    served.start_all(4..=5);
    let (leader, later) = served.leader();
    assert!((3..=5).contains(&leader) && later > 6000 && later > epoch, "{leader}, {later}");
    served.all_vote(&[3, 4, 5]);
    // List 3 is that of the survivor alone, which lets in one after the other.
    (3..=5).for_each(|node| served.has_list(node, 5));
}

/// Two of five are left: one is recovered, and the other is told the list by it.
#[test]
fn another_survivor_gets_the_list_from_the_first() {
    let mut served = Served::led(5);
    let (_, epoch) = served.leader();
    (1..=5).for_each(|node| served.kill(node));
    let (status, said) = served.recover(5, &[4, 5], &[]);
    assert_eq!(status, Some(0), "{said}");
    served.start(5);
    served.start(4);
    let (leader, later) = served.leader();
    assert!([4, 5].contains(&leader) && later > epoch + 1_000, "{leader}, {later}");
    served.all_vote(&[4, 5]);
    (4..=5).for_each(|node| served.has_list(node, 4));
}

/// The leader of the others readmits it, as a voter that is new. Its file may stay as it is.
#[test]
fn one_of_three_that_has_lost_its_memory_is_removed_and_added_again() {
    let mut served = Served::led(3);
    let (_, epoch) = served.leader();
    served.kill(1);
    served.wipe(1);
    change(&served, &["remove", "1"]);
    change(&served, &["add", &served.place_of(1)]);
    served.start(1);
    served.all_vote(&[1, 2, 3]);
    let (_, later) = served.leader();
    served.has_list(1, 4);
    assert!(later >= epoch, "{later} after {epoch}");
}
