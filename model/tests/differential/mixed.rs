//! Groups in which processes have rules of their own: where all have the same, they are the uniform
//! group, and where they differ, states that are one and states that are not have the same
//! verdicts, whichever engine searches.

use super::explore;
use super::scenario::{Case, cases, verdicts};
use super::symmetry;
use bellwether_model::check::{Engine, Limits, Options, check};
use bellwether_model::property;
use bellwether_model::protocol::{REGISTRY, Rule, Values};
use proptest::prelude::*;
use proptest::sample::Index;

/// The most states that are searched.
const MOST: u64 = 6_000;

/// The protocols whose processes can have rules of their own.
fn mixing() -> Vec<&'static str> {
    let mixing = REGISTRY.iter().filter(|protocol| !protocol.own_rules().is_empty());
    mixing.map(bellwether_model::machine::AnyProtocol::name).collect()
}

/// The values that a rule may have; of those that have no names, a few.
fn values(rule: &Rule) -> Vec<String> {
    match &rule.values {
        Values::Truth => vec!["true".to_owned(), "false".to_owned()],
        Values::Names(names) => names.iter().map(|(name, _)| name.clone()).collect(),
        Values::Other(_) => ["null", "1", "2"].map(str::to_owned).to_vec(),
    }
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
        let value = value.get(&values(rule)).clone();
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
        symmetry::differ(&mixed(case, picks))
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
