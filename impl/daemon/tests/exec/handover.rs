//! Leaderships that are given up while a command runs: it has ended before that of the next leader
//! starts, although the lease of the old leader would last.

use super::*;
use crate::common::Served;

/// Ends when it is asked to, but takes some time for it, which is less than it has.
const TIDY: &str = r#"
trap 'sleep 0.1; echo "end $ME" >> "$0"; exit 0' TERM
starts
while :; do echo "child $ME" >> "$0"; sleep 0.01; done
"#;

/// Three nodes that run a command, each of which can be asked to give up its leadership.
struct Handed {
    served: Served,
    starts: usize,
}

impl Handed {
    fn new(more: &[&str], script: &str) -> Self {
        let mut served = Served::of(Cluster::patient());
        let words = served.cluster.script(script);
        let words = words.each_ref().map(String::as_str);
        (1..=3).for_each(|node| served.exec(node, more, &words));
        Self { served, starts: 0 }
    }

    /// Waits until the next command has started, and returns its epoch and its node.
    fn next(&mut self) -> (u64, u16) {
        self.starts += 1;
        self.served.cluster.wait_for_start(self.starts)
    }

    #[track_caller]
    fn ask(&self, node: u16, what: &[&str]) {
        let (status, said) = self.served.ask(node, what);
        assert_eq!(status, Some(0), "node {node}: {what:?}: {said}");
    }

    /// Transfers so often, and does `before` to the leader each time.
    fn transfers(&mut self, rounds: usize, before: impl Fn(&Process)) {
        let (mut epoch, mut leader) = self.next();
        for _ in 0..rounds {
            let to = leader % 3 + 1;
            before(&self.served.running[&leader]);
            self.ask(leader, &["transfer", "--to", &to.to_string()]);
            let (later, next) = self.next();
            assert!(later > epoch, "epoch {later} of node {next} after {epoch} of node {leader}");
            (epoch, leader) = (later, next);
        }
        self.served.cluster.no_two_at_once();
    }

    /// Each command has ended by itself, and before the next has started.
    fn each_had_its_grace(&self) {
        let lines = self.served.cluster.lines();
        let told = lines.iter().map(|words| words[0].as_str());
        let told: Vec<&str> = told.filter(|word| ["start", "end"].contains(word)).collect();
        let (last, pairs) = told.split_last().expect("not none");
        assert_eq!(*last, "start");
        assert!(pairs.chunks(2).all(|pair| pair == ["start", "end"]), "{told:?}");
    }
}

/// How often, unless `BELLWETHER_ROUNDS` says so.
fn often(otherwise: usize) -> usize {
    if std::env::var_os("BELLWETHER_ROUNDS").is_some() { rounds() } else { otherwise }
}

#[test]
fn a_command_that_ignores_sigterm_is_dead_before_the_node_hands_over() {
    let mut handed = Handed::new(&[], STUBBORN);
    handed.transfers(often(10), |_| {});
    handed.served.cluster.both_work();
}

#[test]
fn a_command_has_its_grace_when_the_node_hands_over() {
    let mut handed = Handed::new(&["--grace", "3s"], TIDY);
    handed.transfers(often(5), |_| {});
    handed.each_had_its_grace();
}

#[test]
fn a_node_whose_keeper_stands_still_hands_over_once_it_has_killed_the_command() {
    let mut handed = Handed::new(&[], STUBBORN);
    handed.transfers(often(2), |node| signal(keeper(node), Signal::STOP));
}

/// On a slow machine the node that steps down leads again before another has, once its time is
/// over; so many rounds are allowed for each one in which another comes to lead.
const TRIES: usize = 4;

#[test]
fn a_command_is_dead_before_its_node_steps_down() {
    let mut handed = Handed::new(&[], STUBBORN);
    let (mut epoch, mut leader) = handed.next();
    let (mut others, wanted) = (0, often(5));
    for _ in 0..TRIES * wanted {
        handed.ask(leader, &["step-down", "--for", "300ms"]);
        let (later, next) = handed.next();
        assert!(later > epoch, "{later} of {next}, {epoch} of {leader}");
        others += usize::from(next != leader);
        (epoch, leader) = (later, next);
        if others == wanted {
            break;
        }
    }
    assert_eq!(others, wanted);
    handed.served.cluster.no_two_at_once();
}

/// The highest node takes over as soon as it may.
#[test]
fn a_command_is_dead_before_its_node_makes_way_for_a_higher_one() {
    let mut handed = Handed::new(&["--set", "preemption=at-once", "--grace", "3s"], TIDY);
    while handed.next().1 != 3 {}
    let (mut made_way, wanted) = (0, often(5));
    for _ in 0..TRIES * wanted {
        handed.ask(3, &["step-down", "--for", "900ms"]);
        if handed.next().1 != 3 {
            made_way += 1;
            while handed.next().1 != 3 {}
        }
        if made_way == wanted {
            break;
        }
    }
    assert_eq!(made_way, wanted);
    handed.each_had_its_grace();
    handed.served.cluster.no_two_at_once();
}

#[test]
fn exec_once_ends_when_the_leadership_is_given_up() {
    let mut handed = Handed::new(&["--once"], TIDY);
    let (_, leader) = handed.next();
    // It may end before it hears the next leader, and so before it answers.
    let to = (leader % 3 + 1).to_string();
    handed.served.ask(leader, &["transfer", "--to", &to]);
    let mut node = handed.served.running.remove(&leader).expect("it runs");
    assert_eq!(node.ended().code(), Some(75));
    assert_ne!(handed.next().1, leader);
    handed.served.cluster.no_two_at_once();
}
