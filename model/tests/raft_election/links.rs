//! Where not every link works: which of the later rules keep a leader, and which do not.

use super::{RaftElection, chances, decision, report, variant, world};
use bellwether_docs_runner::is_shown;
use bellwether_model::check::Verdict;
use bellwether_model::protocol::raft_election::Logs;
use bellwether_model::protocol::{MAX_SEARCHED, Protocol};
use bellwether_model::world::{Missing, Scenario};
use std::fmt::Write;

/// What becomes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// One leader has a majority behind it in the end, for good.
    Stable,
    /// There is no way to a leader that lasts, though others may come and go.
    Churn,
    /// It can end where no leader will ever have a majority again.
    Stuck,
    /// The boundary hides which.
    Open,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Fate::Stable => "**stable**",
            Fate::Churn => "no leader lasts",
            Fate::Stuck => "stuck",
            Fate::Open => "undecided",
        }
    }
}

/// A row of the table: a network, and how fresh the logs are.
struct Network {
    name: &'static str,
    nodes: usize,
    missing: &'static [&'static str],
    logs: &'static str,
}

const NETWORKS: [Network; 6] = [
    Network { name: "chained", nodes: 3, missing: &["1-3"], logs: "equal" },
    Network {
        name: "two at the edge",
        nodes: 5,
        missing: &["1-2", "1-3", "1-5", "2-4", "2-5"],
        logs: "equal",
    },
    Network { name: "leader at the edge", nodes: 4, missing: &["1-4", "2-4"], logs: "equal" },
    Network { name: "quorum loss", nodes: 4, missing: &["2-3", "2-4", "3-4"], logs: "equal" },
    Network { name: "hub", nodes: 4, missing: &["2-3", "1-4", "2-4", "3-4"], logs: "equal" },
    Network { name: "constrained", nodes: 4, missing: &["2-3", "1-4", "2-4", "3-4"], logs: "0101" },
];

impl Network {
    /// `nodes` processes that have agreed on the highest, just after the links broke.
    fn scenario(&self) -> Scenario {
        let missing = self.missing.iter().map(|link| link.parse::<Missing>().expect("a link"));
        Scenario {
            missing: missing.fold(Missing::NONE, Missing::and),
            ..Scenario::calm(self.nodes)
        }
    }

    fn rules(&self, variant: RaftElection) -> RaftElection {
        RaftElection { logs: logs(self.logs), ..variant }
    }
}

pub(super) fn logs(digits: &str) -> Logs {
    serde_json::from_value(serde_json::Value::String(digits.to_owned())).expect("digits")
}

/// What becomes of a group, by the checker and by chance: both must agree.
fn fate(rules: RaftElection, scenario: Scenario) -> Fate {
    let chance = chances::fate(&world(rules, scenario));
    let report = report(rules, scenario, &["stable-leader"]);
    let verdict = decision(&report, "stable-leader").verdict;
    match (verdict, chance) {
        (Verdict::Holds, Fate::Stable) => Fate::Stable,
        (Verdict::Violated, Fate::Churn | Fate::Stuck) => chance,
        // What is outside may lead to a leader that lasts.
        (Verdict::Unknown | Verdict::HoldsWithin, Fate::Churn | Fate::Open) => Fate::Open,
        _ => panic!("{rules:?}; {scenario}: {verdict:?}, but by chance {chance:?}"),
    }
}

/// `UPDATE_DOCS=1 cargo test raft_election` writes the table anew.
#[test]
fn the_page_shows_what_becomes_of_a_leader_in_each_network() {
    let mut table = String::from("| network |");
    for variant in RaftElection::VARIANTS {
        let _ = write!(table, " `{}` |", variant.name);
    }
    let _ = writeln!(table, "\n|---|{}", "---|".repeat(RaftElection::VARIANTS.len()));
    for network in &NETWORKS {
        let _ = write!(table, "| {} |", network.name);
        for variant in RaftElection::VARIANTS {
            let fate = fate(network.rules(variant.rules), network.scenario());
            let _ = write!(table, " {} |", fate.word());
        }
        table += "\n";
    }
    let marks = ("<!-- networks -->\n", "<!-- end of networks -->");
    is_shown("docs/protocols/raft-election.md", Some(marks), |_| table);
}

/// The links of four processes, each there or not.
fn networks_of_four() -> impl Iterator<Item = Missing> {
    let links = ["1-2", "1-3", "1-4", "2-3", "2-4", "3-4"];
    (0..1_u32 << links.len()).map(move |absent| {
        let absent = links.iter().enumerate().filter(|(at, _)| absent & (1 << at) != 0);
        let absent = absent.map(|(_, link)| link.parse::<Missing>().expect("a link"));
        absent.fold(Missing::NONE, Missing::and)
    })
}

/// Whether some process can be elected: as many as make a majority, itself included, have a link to
/// it and no fresher log.
fn someone_is_electable(missing: Missing, ranks: [u8; MAX_SEARCHED]) -> bool {
    let ids = || bellwether_model::protocol::Id::all(4);
    ids().any(|one| {
        let votes = ids().filter(|&voter| {
            let linked = one == voter || !missing.from_to(one, voter);
            linked && ranks[one.index()] >= ranks[voter.index()]
        });
        votes.count() >= 3
    })
}

/// Whether three of four hear each other.
fn a_majority_is_connected(missing: Missing) -> bool {
    let ids = || bellwether_model::protocol::Id::all(4);
    ids().any(|out| {
        let rest = || ids().filter(move |&id| id != out);
        rest().all(|a| rest().all(|b| a == b || !missing.from_to(a, b)))
    })
}

/// Every network of four processes, with all logs that have two degrees of freshness and the
/// leader's among the freshest.
#[test]
fn with_everything_a_leader_lasts_exactly_where_somebody_can_be_elected() {
    let (mut stable, mut stuck) = (0, 0);
    for missing in networks_of_four() {
        for fresh in 0..8_u8 {
            let ranks = [fresh & 1, fresh >> 1 & 1, fresh >> 2, 1, 0, 0, 0];
            let rules = RaftElection { logs: Logs::ranked(ranks), ..RaftElection::RECOMMENDED };
            let scenario = Scenario { missing, ..Scenario::calm(4) };
            let report = report(rules, scenario, &["stable-leader"]);
            let holds = decision(&report, "stable-leader").verdict == Verdict::Holds;
            let electable = someone_is_electable(missing, ranks);
            assert_eq!(holds, electable, "{scenario} {ranks:?}");
            assert!(holds || !a_majority_is_connected(missing), "{scenario} {ranks:?}");
            stable += u32::from(holds);
            stuck += u32::from(!holds);
        }
    }
    assert_eq!((stable, stuck), (384, 128));
}

/// In how many of the networks of four a leader lasts if all logs are equal.
#[test]
fn without_one_of_the_two_rules_some_networks_have_no_lasting_leader() {
    let kept = |name| {
        let lasts = networks_of_four().filter(|&missing| {
            let scenario = Scenario { missing, ..Scenario::calm(4) };
            let report = report(variant(name), scenario, &["stable-leader"]);
            decision(&report, "stable-leader").verdict == Verdict::Holds
        });
        lasts.count()
    };
    let electable = networks_of_four().filter(|&m| someone_is_electable(m, [0; MAX_SEARCHED]));
    let kept = [electable.count(), kept("recommended"), kept("prevote"), kept("check-quorum")];
    assert_eq!(kept, [54, 54, 36, 14]);
}
