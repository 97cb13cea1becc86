//! Raft's election where not every link works: which of the later rules keep a leader, and which do
//! not; and what becomes of a group if chance alone decides what happens next.

use crate::asked::{ask, graph, variant};
use bellwether_docs_runner::is_shown;
use bellwether_model::check::Verdict;
use bellwether_model::property::{self, Condition, Liveness, Temporal};
use bellwether_model::protocol::raft_election::{Logs, RaftElection};
use bellwether_model::protocol::{Id, MAX_SEARCHED, Protocol};
use bellwether_model::world::{AbsentLinks, Scenario, State, World};
use std::fmt::Write;

fn world(rules: RaftElection, missing: AbsentLinks, nodes: usize) -> World {
    World::new(rules, Scenario { missing, ..Scenario::calm(nodes) }).expect("it is possible")
}

/// What is said of whether a leader lasts.
fn lasts(world: &World) -> Verdict {
    ask(world, &["stable-leader"]).verdict()
}

fn without(links: &[&str]) -> AbsentLinks {
    let links = links.iter().map(|link| link.parse::<AbsentLinks>().expect("a link"));
    links.fold(AbsentLinks::NONE, AbsentLinks::and)
}

/// What becomes of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
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

/// The networks of the table: what each is called, how many processes there are that have agreed on
/// the highest, just after the links broke, and how fresh the logs are.
const NETWORKS: [(&str, usize, &[&str], &str); 6] = [
    ("chained", 3, &["1-3"], "equal"),
    ("two at the edge", 5, &["1-2", "1-3", "1-5", "2-4", "2-5"], "equal"),
    ("leader at the edge", 4, &["1-4", "2-4"], "equal"),
    ("quorum loss", 4, &["2-3", "2-4", "3-4"], "equal"),
    ("hub", 4, &["2-3", "1-4", "2-4", "3-4"], "equal"),
    ("constrained", 4, &["2-3", "1-4", "2-4", "3-4"], "0101"),
];

/// What becomes of a group, by the checker and by chance: both must agree.
fn fate(world: &World) -> Fate {
    let (verdict, chance) = (lasts(world), Graph::of(world).fate(world));
    match (verdict, chance) {
        (Verdict::Holds, Fate::Stable) => Fate::Stable,
        (Verdict::Violated, Fate::Churn | Fate::Stuck) => chance,
        // What is outside may lead to a leader that lasts.
        (Verdict::Unknown | Verdict::HoldsWithin, Fate::Churn | Fate::Open) => Fate::Open,
        _ => panic!("{world:?}: {verdict:?}, but by chance {chance:?}"),
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
    for (name, nodes, missing, logs) in NETWORKS {
        let _ = write!(table, "| {name} |");
        let logs: Logs = serde_json::from_value(logs.into()).expect("digits");
        for variant in RaftElection::VARIANTS {
            let rules = RaftElection { logs, ..variant.rules };
            let fate = fate(&world(rules, without(missing), nodes));
            let _ = write!(table, " {} |", fate.word());
        }
        table += "\n";
    }
    let marks = ("<!-- networks -->\n", "<!-- end of networks -->");
    is_shown("docs/protocols/raft-election.md", Some(marks), |_| table);
}

/// All reachable states within the bounds, and the fair steps between them: a second opinion on
/// liveness, that knows nothing of fairness.
struct Graph {
    states: Vec<State>,
    before: Vec<Vec<usize>>,
    /// Those with an owed step out of the boundary.
    beyond: Vec<usize>,
}

impl Graph {
    fn of(world: &World) -> Graph {
        let (states, next) = graph(world);
        let (mut before, mut beyond) = (vec![Vec::new(); states.len()], Vec::new());
        for (from, steps) in next.iter().enumerate() {
            for (_, to) in steps.iter().filter(|(action, _)| world.is_fair(action)) {
                match to {
                    Some(to) => before[*to].push(from),
                    None => beyond.push(from),
                }
            }
        }
        Graph { states, before, beyond }
    }

    /// For each state, whether owed steps can lead from it to one of these.
    fn leads_to(&self, mut these: Vec<usize>) -> Vec<bool> {
        let mut reached = vec![false; self.states.len()];
        these.iter().for_each(|&at| reached[at] = true);
        while let Some(at) = these.pop() {
            for &before in &self.before[at] {
                if !reached[before] {
                    reached[before] = true;
                    these.push(before);
                }
            }
        }
        reached
    }

    /// What happens with probability 1, if each step that the world owes has some probability:
    /// every execution ends in a part of the graph that no owed step leaves.
    ///
    /// A step out of the boundary may lead anywhere, so where there is one, nothing is `Stable`.
    /// That no leader lasts is said of what is inside.
    fn fate(&self, world: &World) -> Fate {
        let following = following(world);
        let (with, without): (Vec<usize>, Vec<usize>) =
            (0..self.states.len()).partition(|&at| following.holds(world, &self.states[at]));
        let beyond = self.beyond.iter().copied();
        let loses_it = self.leads_to(without.iter().copied().chain(beyond.clone()).collect());
        let for_good: Vec<usize> = with.iter().copied().filter(|&at| !loses_it[at]).collect();
        let none_lasts = for_good.is_empty();
        let lasts = self.leads_to(for_good);
        let finds_one = self.leads_to(with.into_iter().chain(beyond).collect());
        if finds_one.contains(&false) {
            Fate::Stuck
        } else if none_lasts {
            Fate::Churn
        } else if self.beyond.is_empty() && !lasts.contains(&false) {
            Fate::Stable
        } else {
            Fate::Open
        }
    }
}

/// That some leader has a majority behind it.
fn following(world: &World) -> Condition {
    let named = property::select(world, &["stable-leader".to_owned()]).expect("it exists");
    match named[0].temporal.clone() {
        Temporal::Liveness(Liveness::EventuallyAlways(following)) => following,
        _ => panic!("stable-leader says what lasts in the end"),
    }
}

/// The links of four processes, each there or not.
fn networks_of_four() -> impl Iterator<Item = AbsentLinks> {
    let links = ["1-2", "1-3", "1-4", "2-3", "2-4", "3-4"];
    (0..1_u32 << links.len()).map(move |absent| {
        let absent = links.iter().enumerate().filter(|(at, _)| absent & (1 << at) != 0);
        without(&absent.map(|(_, link)| *link).collect::<Vec<_>>())
    })
}

/// Whether some process can be elected: as many as make a majority, itself included, have a link to
/// it and no fresher log.
fn someone_is_electable(missing: AbsentLinks, ranks: [u8; MAX_SEARCHED]) -> bool {
    let ids = || Id::all(4);
    ids().any(|one| {
        let votes = ids().filter(|&voter| {
            let linked = one == voter || !missing.from_to(one, voter);
            linked && ranks[one.index()] >= ranks[voter.index()]
        });
        votes.count() >= 3
    })
}

/// Whether three of four hear each other.
fn a_majority_is_connected(missing: AbsentLinks) -> bool {
    let ids = || Id::all(4);
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
            let world = world(rules, missing, 4);
            let (holds, links) = (lasts(&world) == Verdict::Holds, missing.words());
            let electable = someone_is_electable(missing, ranks);
            assert_eq!(holds, electable, "without {links:?}: {ranks:?}");
            assert!(holds || !a_majority_is_connected(missing), "without {links:?}: {ranks:?}");
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
        let networks = networks_of_four();
        let lasts =
            |missing: &AbsentLinks| lasts(&world(variant(name), *missing, 4)) == Verdict::Holds;
        networks.filter(lasts).count()
    };
    let electable = networks_of_four().filter(|&m| someone_is_electable(m, [0; MAX_SEARCHED]));
    let kept = [electable.count(), kept("recommended"), kept("prevote"), kept("check-quorum")];
    assert_eq!(kept, [54, 54, 36, 14]);
}
