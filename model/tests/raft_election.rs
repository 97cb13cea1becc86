//! Raft's election: which of the later rules keep a leader stable where not every link works, what a
//! new leader costs, and that the names of terms do not matter.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Decision, Limits, Options, Report, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::raft_election::{RaftElection, Storage};
use bellwether_model::world::{Faults, Missing, Scenario, Start, World};

#[path = "raft_election/chances.rs"]
mod chances;
#[path = "raft_election/links.rs"]
mod links;
#[path = "raft_election/names.rs"]
mod names;
#[path = "raft_election/recoveries.rs"]
mod recoveries;
#[path = "raft_election/time_outs.rs"]
mod time_outs;

use links::Fate;

fn world(rules: RaftElection, scenario: Scenario) -> World {
    World::new(rules, scenario).expect("the scenario is possible")
}

fn report(rules: RaftElection, scenario: Scenario, names: &[&str]) -> Report {
    let world = world(rules, scenario);
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(&world, &names).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn decision<'r>(report: &'r Report, name: &str) -> &'r Decision {
    let found = report.decisions.iter().find(|d| d.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

fn variant(name: &str) -> RaftElection {
    RaftElection::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn without(link: &str) -> Scenario {
    Scenario { missing: link.parse().expect("a link"), ..Scenario::calm(3) }
}

#[test]
fn new_names_for_terms_change_nothing() {
    let forgetful = RaftElection { storage: Storage::ForgetsAll, ..RaftElection::PAPER };
    let faults = Faults { crashes: 1, recoveries: 1, suspicions: 1, ..Faults::NONE };
    let hub = ["2-3", "1-4", "2-4", "3-4"].map(|link| link.parse::<Missing>().expect("a link"));
    let missing = hub.into_iter().fold(Missing::NONE, Missing::and);
    let worlds = [
        (RaftElection::PAPER, without("1-3")),
        (forgetful, Scenario { faults, ..without("1-3") }),
        (variant("etcd-prevote"), without("1-3")),
        (RaftElection::PAPER, Scenario { missing, ..Scenario::calm(4) }),
        (variant("check-quorum"), Scenario { missing, start: Start::Cold, ..Scenario::calm(4) }),
    ];
    let different = worlds.map(|(rules, scenario)| names::walk(rules, scenario, 5_000));
    assert!(different.iter().all(|&pairs| pairs > 100), "{different:?}");
}

/// One canvass, one election, one announcement: each message goes to all others, and all who are up
/// answer.
#[test]
fn a_crash_of_the_leader_costs_what_the_formulas_say() {
    for nodes in [3, 4] {
        let n = nodes as u64;
        for (name, formula) in [("paper", 3 * n - 4), ("recommended", 5 * n - 7)] {
            let world = world(variant(name), Scenario::calm(nodes).with_crashes(1, 0));
            let limits = (Limits::NONE, 1);
            let found = bounds(&world, Until::Rest, limits, &mut |_| {}).expect("counted");
            let line = found.lines.iter().find(|line| line.name() == "messages");
            let most = line.map(|line| &line.bound);
            assert!(matches!(most, Some(Bound::Most(most, _)) if *most == formula), "{name}");
        }
    }
}
