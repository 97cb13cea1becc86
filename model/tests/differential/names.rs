//! Names, and whose rules they are. States that differ only in names are one, or they are not: the
//! same can happen, and the verdicts are the same. And groups in which processes have rules of
//! their own: where all have the same, they are the uniform group, and where they differ, states
//! and verdicts are the same whichever engine searches.

use super::scenario::{Case, cases, verdicts};
use super::{explore, typed};
use crate::asked;
use bellwether_model::check::{Engine, Limits, Options, Verdict, check};
use bellwether_model::machine::AnyProtocol;
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::{Action, Network, Scenario, State, Symmetry, World};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::{HashSet, VecDeque};

/// The most states that are searched.
const MOST: u64 = 8_000;

/// The protocols whose states have names that can be reduced.
const NAMING: [&str; 7] =
    ["garcia-molina", "invitation", "stoller", "lease", "queue", "raft-election", "quorum"];

/// On a network that is not FIFO, a message can get the name of another that was delivered, and
/// a fair execution is then taken for one that is not.
fn may_miss(case: &Case, kind: Kind) -> bool {
    kind == Kind::Liveness && case.scenario.network != Network::Fifo
}

/// Compares the verdicts on canonical states and on concrete ones; whether they could be.
fn differ(case: &Case) -> Result<bool, String> {
    let with = |symmetry| {
        let report = case.with(Scenario { symmetry, ..case.scenario }).check(&[], MOST)?;
        report.bounds_met.is_empty().then(|| (verdicts(&report), report.counts.distinct))
    };
    // What holds within bounds may be violated beyond, and numbers grow in one of them only.
    let both = with(Symmetry::Reduced).zip(with(Symmetry::Concrete));
    let Some(((reduced, fewer), (concrete, more))) = both else { return Ok(false) };
    if fewer > more {
        return Err(format!("{fewer} states reduced, {more} concrete"));
    }
    for ((name, kind, a), (_, _, b)) in reduced.into_iter().zip(concrete) {
        let declared = a == Verdict::Holds && may_miss(case, kind);
        if a != b && !declared {
            return Err(format!("{name}: reduced {a:?}, concrete {b:?}"));
        }
    }
    Ok(true)
}

#[test]
fn reduced_and_concrete_states_have_the_same_verdicts() {
    explore(50, cases(&NAMING), differ);
    let queue = REGISTRY.find("queue").expect("it exists").variants().into_iter();
    let queue = queue.map(|variant| variant.name).filter(|name| *name != "pings");
    let queue = queue.map(|name| format!("queue --variant {name} --recoveries 1 --suspicions 1"));
    let alone = ["--start cold --crashes 0", "--recoveries 1"].map(|w| format!("invitation {w}"));
    for line in queue.chain(alone) {
        assert_eq!(differ(&typed(&format!("{line} --nodes 2"))), Ok(true), "{line}");
    }
    let three = typed("invitation --start cold --crashes 0");
    assert_eq!(differ(&three), Ok(true));
}

/// Walks a world and its plain twin side by side, through so many pairs of states at most: the same
/// can happen in both, one for one, and what any property asks of a state has the same answer.
/// Returns the pairs.
fn twins(line: &str, most: usize) -> HashSet<(State, State)> {
    let world = asked::world(line);
    let plain = world.concrete();
    let properties = world.machine().protocol().properties().0;
    let judged = |world: &World, state: &State| {
        let mut answers = Vec::new();
        for property in &properties {
            let ask = |asked: property::Condition| answers.push(asked.holds(world, state));
            let _ = property.clone().map(ask);
        }
        answers
    };
    let mut known = HashSet::from([(world.initial(), plain.initial())]);
    let mut todo: VecDeque<_> = known.iter().cloned().collect();
    while let Some((a, b)) = todo.pop_front() {
        assert_eq!(judged(&world, &a), judged(&plain, &b), "{line}\n{a:?}\n{b:?}");
        let (can, could) = (world.actions(&a), plain.actions(&b));
        assert_eq!(nameless(&can), nameless(&could), "{line}\n{a:?}\n{b:?}");
        for (one, other) in can.iter().zip(&could) {
            let next = (world.apply(&a, one).state, plain.apply(&b, other).state);
            let within = world.within_bounds(&next.0) && plain.within_bounds(&next.1);
            if within && known.len() < most && known.insert(next.clone()) {
                todo.push_back(next);
            }
        }
    }
    known
}

/// Actions in words, without the names in brackets.
fn nameless(actions: &[Action]) -> Vec<String> {
    let told = asked::told(actions).into_iter();
    let nameless = told.map(|told| match (told.find('('), told.rfind(')')) {
        (Some(from), Some(to)) => format!("{}{}", &told[..from], &told[to + 1..]),
        _ => told,
    });
    nameless.collect()
}

#[test]
fn new_names_change_nothing() {
    const HUB: &str =
        "--nodes 4 --crashes 0 --without 2-3 --without 1-4 --without 2-4 --without 3-4";
    const STOLLER: &str = "--crashes 2 --recoveries 1 --suspicions 1";
    for line in [
        "raft-election --variant paper --crashes 0 --without 1-3",
        "raft-election --variant paper --rule storage=forgets-all --recoveries 1 --suspicions 1 \
         --without 1-3",
        "raft-election --variant etcd-prevote --crashes 0 --without 1-3",
        &format!("raft-election --variant paper {HUB}"),
        &format!("raft-election --variant check-quorum --start cold {HUB}"),
        &format!("stoller {STOLLER}"),
        &format!("stoller --variant stoller {STOLLER}"),
        &format!("stoller --variant asynchronous {STOLLER}"),
    ] {
        let renamed = twins(line, 5_000).iter().filter(|(a, b)| a != b).count();
        assert!(renamed > 100, "{line}: {renamed}");
    }
}

/// What a group of invited processes is called does not depend on the way there, and matters where
/// groups are formed for ever.
#[test]
fn calling_groups_by_their_ranks_changes_nothing() {
    for (world, merges) in [
        ("--variant no-delay --nodes 2 --crashes 0 --start cold", Some(true)),
        ("--nodes 2 --recoveries 1", None),
        (
            "--nodes 2 --crashes 0 --start cold --losses 1 --duplicates 1 --suspicions 1 \
             --capacity 2",
            None,
        ),
        ("--crashes 0 --start cold", None),
        ("--rule counter=volatile --nodes 2 --recoveries 1", Some(false)),
    ] {
        let pairs = twins(&format!("invitation {world}"), usize::MAX);
        let renamed: HashSet<_> = pairs.iter().map(|(renamed, _)| renamed).collect();
        let plain: HashSet<_> = pairs.iter().map(|(_, plain)| plain).collect();
        assert_eq!(plain.len(), pairs.len(), "{world}: the name depends on the way");
        let merged = renamed.len() < plain.len();
        assert!(merges.is_none_or(|merges| merges == merged), "{world}: {merged}");
    }
}

/// The protocols whose processes can have rules of their own.
fn mixing() -> Vec<&'static str> {
    let mixing = REGISTRY.iter().filter(|protocol| !protocol.own_rules().is_empty());
    mixing.map(AnyProtocol::name).collect()
}

/// Which rule, which value, and whose.
type Pick = (Index, Index, Index);

fn picks() -> impl Strategy<Value = Vec<Pick>> {
    let pick = || any::<Index>();
    prop::collection::vec((pick(), pick(), pick()), 1..=2)
}

/// A case, and some of its rules with other values, each once, and the process that is to have it.
fn replaced(case: &Case, picks: &[Pick]) -> Vec<(String, String, usize)> {
    let protocol = case.protocol();
    let mut replaced: Vec<(String, String, usize)> = Vec::new();
    for (rule, value, process) in picks {
        let name = *rule.get(protocol.own_rules());
        let rows = protocol.rule_rows();
        let rule = rows.iter().find(|row| row.name == name).expect("it is one of the rules");
        let value = value.get(&asked::values(rule, &["null", "1", "2"])).clone();
        if replaced.iter().all(|(known, ..)| known != name) {
            replaced.push((name.to_owned(), value, 1 + process.index(case.scenario.nodes)));
        }
    }
    replaced
}

/// The same case, with these rules besides.
fn with(case: &Case, rules: impl IntoIterator<Item = (String, String)>) -> Case {
    let mut case = case.clone();
    case.args.rules.extend(rules);
    case
}

/// The same case, each of these rules that of one process.
fn mixed(case: &Case, picks: &[Pick]) -> Case {
    let replaced = replaced(case, picks).into_iter();
    with(case, replaced.map(|(rule, value, process)| (format!("{process}:{rule}"), value)))
}

#[test]
fn a_group_whose_processes_all_have_the_same_of_their_own_is_the_uniform_one() {
    explore(80, (cases(&mixing()), picks()), |(case, picks): &(Case, Vec<Pick>)| {
        let replaced = replaced(case, picks);
        let all = (1..=case.scenario.nodes).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
        let of_all = replaced.iter().map(|(rule, value, _)| (rule.clone(), value.clone()));
        let of_each =
            replaced.iter().map(|(rule, value, _)| (format!("{all}:{rule}"), value.clone()));
        let both = [with(case, of_all), with(case, of_each)].map(|case| case.check(&[], MOST));
        let [Some(usual), Some(own)] = both else {
            let [usual, own] = both.map(|report| report.is_some());
            return if usual == own { Ok(false) } else { Err(format!("{usual}, {own}")) };
        };
        let [usual, own] =
            [usual, own].map(|report| (report.counts, verdicts(&report), report.bounds_met));
        if usual == own { Ok(true) } else { Err(format!("of all: {usual:?}\nof each: {own:?}")) }
    });
}

#[test]
fn reduced_and_concrete_states_of_mixed_groups_have_the_same_verdicts() {
    let protocols = ["lease", "raft-election", "quorum"];
    explore(60, (cases(&protocols), picks()), |(case, picks): &(Case, Vec<Pick>)| {
        differ(&mixed(case, picks))
    });
}

/// The engine looks up what it has learned of each process; stateright's search asks the world each
/// time, and must count the same.
#[test]
fn the_engines_agree_on_mixed_groups() {
    explore(80, (cases(&mixing()), picks()), |(case, picks): &(Case, Vec<Pick>)| {
        let case = mixed(case, picks);
        let Some(report) = case.check(&[], MOST) else { return Ok(false) };
        let asked = property::select(&report.world, &[]).map_err(|error| error.to_string())?;
        let limits = Limits { states: Some(2 * MOST), ..Limits::NONE };
        let search = |engine| {
            let options = Options { limits, engine, ..Options::default() };
            let report = check(&report.world, &asked, &options, &mut |_| {});
            let report = report.map_err(|error| error.to_string())?;
            Ok::<_, String>((report.counts.distinct, report.counts.generated, verdicts(&report)))
        };
        let (ours, theirs) = (search(Engine::Exact)?, search(Engine::Bfs)?);
        if ours == theirs { Ok(true) } else { Err(format!("{ours:?}\n{theirs:?}")) }
    });
}
