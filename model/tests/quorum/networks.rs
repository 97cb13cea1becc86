//! Networks in which each link may be missing in each direction: as long as a process hears a
//! majority and is heard by it, there is a leader in the end that keeps a majority.

use super::{Holds, report, world};
use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::quorum::Quorum;
use bellwether_model::world::{Missing, Scenario, Start};
use std::collections::BTreeMap;

/// The directed links between so many processes.
fn links(nodes: usize) -> Vec<(Id, Id)> {
    let pairs = Id::all(nodes).flat_map(|a| Id::all(nodes).map(move |b| (a, b)));
    pairs.filter(|(a, b)| a != b).collect()
}

/// The network in which those links are missing whose bits are set; `None` if no process is
/// connected to a majority in both directions.
fn network(nodes: usize, bits: u32) -> Option<Missing> {
    let links = links(nodes);
    let gone = |link: (Id, Id)| {
        let at = links.iter().position(|&known| known == link);
        at.is_some_and(|at| bits & 1 << at != 0)
    };
    let others = |a: Id| Id::all(nodes).filter(move |&b| b != a);
    let hears = |a: Id| others(a).filter(|&b| !gone((a, b)) && !gone((b, a))).count();
    let connected = Id::all(nodes).any(|id| hears(id) >= nodes / 2);
    let missing = links
        .iter()
        .filter(|&&link| gone(link))
        .fold(Missing::NONE, |all, (a, b)| all.and(format!("{a}>{b}").parse().expect("a link")));
    connected.then_some(missing)
}

/// The worst network of three for each thing that is counted until there is such a leader.
fn worst(start: Start) -> BTreeMap<String, u64> {
    let mut most = BTreeMap::new();
    let networks: Vec<_> = (0..1 << 6).filter_map(|bits| network(3, bits)).collect();
    assert_eq!(networks.len(), 37);
    for missing in networks {
        let scenario = Scenario { missing, start, ..Scenario::calm(3) };
        let report = report(Quorum::RECOMMENDED, scenario, &["stable-leader"]);
        assert_eq!(report.verdict(), Holds, "{scenario}");
        let world = world(Quorum::RECOMMENDED, scenario);
        let until = Until::named("stable-leader", &world).expect("it is of that form");
        let found = bounds(&world, until, (Limits::NONE, 1), &mut |_| {}).expect("threads");
        for line in found.lines {
            let Bound::Most(steps, _) = line.bound else { panic!("{}: {scenario}", line.name()) };
            let known: &mut u64 = most.entry(line.name()).or_default();
            *known = steps.max(*known);
        }
    }
    most
}

#[test]
fn a_connected_majority_of_three_has_a_leader_within_a_bound_whatever_else_is_missing() {
    let (cold, converged) = (worst(Start::Cold), worst(Start::Converged));
    let counts = |most: &BTreeMap<String, u64>| {
        ["time-outs", "time-outs/quiet", "time-outs/watch", "time-outs/election", "leaderships"]
            .map(|name| most.get(name).copied().unwrap_or(0))
    };
    assert_eq!(counts(&cold), [7, 3, 2, 2, 1]);
    assert_eq!(counts(&converged), [7, 0, 2, 3, 1]);
}

/// `BELLWETHER_CASES` says how many of the 1,048,576 networks are tried: that many makes all.
#[test]
fn a_connected_majority_of_five_has_a_leader_where_the_search_comes_to_an_end() {
    let cases = std::env::var("BELLWETHER_CASES").ok().and_then(|cases| cases.parse().ok());
    let limits = Limits { states: Some(20_000), ..Limits::NONE };
    let (mut connected, mut undecided) = (0, 0);
    // An odd factor goes through all networks, in an order that begins with different ones.
    let numbers = (0..cases.unwrap_or(60_u32)).map(|case| case.wrapping_mul(0x9_E377) % (1 << 20));
    for missing in numbers.filter_map(|bits| network(5, bits)) {
        let scenario = Scenario { missing, ..Scenario::calm(5) };
        let world = world(Quorum::RECOMMENDED, scenario);
        let asked = property::select(&world, &["stable-leader".to_owned()]).expect("it exists");
        let options = Options { limits, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("something is asked");
        connected += 1;
        match report.verdict() {
            Holds => {}
            Verdict::Unknown => undecided += 1,
            verdict => panic!("{verdict:?}: {scenario}"),
        }
    }
    println!("of {connected} networks with a connected majority, {undecided} were not decided");
    assert!(connected > undecided * 4, "{undecided} of {connected}");
}
