//! Rules over all claims: each would have found a ruling that was wrong.

use super::one_in;
use bellwether_docs_runner::root;
use bellwether_literature::claims::{
    Assumption, Breach, Departure, Judged, Ledger, Ruling, Runner, Standing, may_contradict,
};
use bellwether_model::check::Limits;
use std::cell::RefCell;
use std::fs;

fn ledger() -> Ledger {
    Ledger::load().expect("the ledger can be read")
}

fn runner(states: u64) -> Runner {
    Runner { threads: 2, limits: Limits { states: Some(states), ..Limits::NONE } }
}

fn none(breaches: &[Breach]) {
    let all: Vec<String> = breaches.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A ledger of one claim, in a text that admits crashes and cold starts.
fn one(rest: &str) -> Ledger {
    let text = format!(
        "source = 's'\ntitle = 't'\n\
         [assumptions.a]\nsays = 's.'\nadmits = ['crash', 'all start']\n\
         [[claim]]\nnumber = 7\ncause = 'time-out'\nsection = 's'\nsays = 's.'\nwhy = 'w.'\n\
         of = 'a'\n{rest}"
    );
    Ledger::read([("x.toml", text.as_str())]).expect("a ledger")
}

fn check(kind: &str, world: &str, ends: &str) -> String {
    format!(
        "[[claim.{kind}]]\nshows = 's'\nprotocol = 'bully'\nvariant = 'clustering'\nnodes = 3\n\
         world = {{ {world} }}\nproperty = 'decided'\n{ends}\n"
    )
}

fn flaws(ledger: &Ledger) -> (Option<Ruling>, Vec<String>) {
    let judged = runner(400_000).judge(&ledger.claims(), &|_| (), &mut |_| ()).expect("it runs");
    (judged[0].ruling(), judged[0].flaws())
}

#[test]
fn one_command_has_one_standing_under_the_same_assumptions() {
    none(&ledger().commands_with_two_standings().expect("worlds"));
}

#[test]
fn a_missing_link_is_every_single_link() {
    none(&ledger().checks_without_one_link().expect("worlds"));
}

#[test]
fn a_cure_is_measured_for_as_many_executions_as_its_claim_speaks_of() {
    none(&ledger().cures_of_one_execution());
}

/// Where the text admits what happens beside the checks, it is none that a check excludes.
#[test]
fn no_run_beside_contradicts_a_check() {
    let ledger = ledger();
    let mut chosen = ledger.claims();
    chosen.retain(|(_, claim)| may_contradict(claim).expect("rules"));
    assert!(chosen.len() > 5, "only {} claims ask the same twice", chosen.len());
    let judged = runner(400_000).judge(&chosen, &|_| (), &mut |_| ()).expect("it runs");
    let wrong = |one: &Judged<'_>| {
        let flaws = one.flaws().into_iter().filter(|flaw| flaw.contains("contradicts the check"));
        flaws.map(|flaw| format!("claim {}: {flaw}", one.claim.number)).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = judged.iter().flat_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_run_beside_that_contradicts_a_check_is_a_flaw() {
    let crash = "faults = { crashes = 1 }";
    let holds = "quantifier = 'plain'\n".to_owned() + &check("check", crash, "demands = 'holds'");
    let two = "faults = { crashes = 2 }";
    for (world, contradicts) in [("faults = { crashes = 1, losses = 1 }", false), (two, true)] {
        let beside = check("beside", world, "demands = 'violated'");
        let admits = "admits = ['second crash', 'crash during an election']\n";
        let (_, flaws) = flaws(&one(&format!("{admits}{holds}{beside}")));
        let found = flaws.iter().any(|flaw| flaw.contains("contradicts the check 's'"));
        assert_eq!(found, contradicts, "{world}: {flaws:?}");
    }
}

/// What may happen has to be run also where a claim holds only if.
#[test]
fn coverage_counts_for_what_holds_only_if() {
    let met = check("check", "faults = { crashes = 1 }", "demands = 'holds'");
    let lost = "faults = { crashes = 1, losses = 1 }";
    let unmet = check("check", lost, "demands = 'holds'\nfinds = 'violated'");
    let (ruling, flaws) = flaws(&one(&format!("quantifier = 'plain'\n{met}{unmet}")));
    assert_eq!(ruling, Some(Ruling::OnlyIf));
    assert!(flaws.iter().any(|flaw| flaw.contains("decides has all start")), "{flaws:?}");
}

/// A crash that may strike an election is not the crash that starts one.
#[test]
fn a_crash_during_an_election_is_a_departure_of_its_own() {
    let stands = |world: &str| {
        let demands = "demands = 'holds'";
        let inside = check("check", "faults = { crashes = 1 }", demands);
        let ledger =
            one(&format!("quantifier = 'plain'\n{inside}{}", check("check", world, demands)));
        let (source, claim) = ledger.claims()[0];
        let standing = Standing::of(source, claim, &claim.checks[1]).expect("a world");
        matches!(standing, Standing::Silent(left)
            if left.contains(&Assumption::No(Departure::CrashInElection)))
    };
    assert!(!stands("faults = { crashes = 1 }") && !stands("start = 'cold'"));
    assert!(!stands("faults = { crashes = 1, recoveries = 1 }"));
    for world in [
        "faults = { crashes = 2 }",
        "start = 'cold', faults = { crashes = 1 }",
        "faults = { crashes = 1, suspicions = 1 }",
        "faults = { crashes = 1, losses = 1 }",
        "missing = ['1-2'], faults = { crashes = 1 }",
        "timing = 'asynchronous', faults = { crashes = 1 }",
    ] {
        assert!(stands(world), "{world}");
    }
}

/// Each confirmed check, with one process more: the default run takes a few claims and a low limit.
#[test]
fn what_is_confirmed_holds_with_one_process_more() {
    let slow = cfg!(feature = "slow");
    let (one_in, states) = if slow { (one_in(4), 150_000) } else { (one_in(15), 20_000) };
    let (ledger, runner) = (ledger(), runner(states));
    let mut decided = 0;
    let mut wrong = Vec::new();
    for (source, claim) in ledger.claims().into_iter().filter(|(_, c)| c.number % one_in == 0) {
        let checks = claim.confirming(source).expect("worlds");
        for (check, larger) in runner.all_larger(&checks).expect("it runs") {
            decided += usize::from(larger.met.is_some());
            let (number, shows, nodes) = (claim.number, &check.shows, larger.nodes);
            if larger.met == Some(false) {
                let found = larger.found(&check.demands);
                wrong.push(format!("claim {number}, '{shows}', {nodes} processes: {found}"));
            }
            if larger.pair_is_feasible {
                wrong.push(format!(
                    "claim {number}, '{shows}': two faults, and a search of {nodes} processes \
                     ends; give it so many"
                ));
            }
        }
    }
    assert!(decided > 0, "nothing was decided");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What came out with one process more stands in the book, of every claim that is confirmed.
#[test]
fn the_page_of_larger_groups_has_every_check_that_confirms() {
    let page = fs::read_to_string(root().join("docs/claims/larger.md")).expect("the page is there");
    let ledger = ledger();
    for (source, claim) in ledger.claims() {
        for check in claim.confirming(source).expect("worlds") {
            let begins = format!(
                "| [{0}]({1}.md#claim-{0}) | {2} |",
                claim.number,
                source.name,
                check.shows.replace('|', "\\|")
            );
            let lines = page.lines().filter(|line| line.starts_with(&begins));
            assert!(lines.count() > 0, "docs/claims/larger.md is old: {begins}");
        }
    }
    assert!(!page.contains("**"), "docs/claims/larger.md says that something is not as it should");
}

/// A cure helps wherever the text says that its claim holds.
#[test]
fn a_cure_helps_in_every_world_that_its_text_admits() {
    let one_in = one_in(if cfg!(feature = "slow") { 2 } else { 8 });
    let (ledger, runner) = (ledger(), runner(60_000));
    let mut decided = 0;
    let mut wrong = Vec::new();
    for (source, claim) in ledger.claims().into_iter().filter(|(_, c)| c.number % one_in == 0) {
        for cure in &claim.cures {
            for (departure, met) in
                runner.cure_where_admitted(source, claim, cure).expect("it runs")
            {
                decided += usize::from(met.is_some());
                if met == Some(false) {
                    let (number, shows, has) = (claim.number, &cure.shows, departure.words().0);
                    wrong.push(format!(
                        "claim {number}: the text admits {has}, and there the cure '{shows}' \
                         does not help"
                    ));
                }
            }
        }
    }
    assert!(decided > 0, "nothing was decided");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A claim is told of before the checks of the next are run.
#[test]
fn each_claim_is_told_of_as_soon_as_it_is_decided() {
    let ledger = ledger();
    let chosen = ledger.select(&[52, 57, 58, 92], None).expect("claims");
    let events = RefCell::new(Vec::new());
    let runner = Runner { threads: 1, limits: Limits::NONE };
    let done = |number: u16| events.borrow_mut().push(format!("ran {number}"));
    let mut decided = |one: &Judged<'_>| {
        events.borrow_mut().push(format!("decided {}", one.claim.number));
    };
    runner.judge(&chosen, &done, &mut decided).expect("they run");
    let events = events.into_inner();
    let told: Vec<&str> =
        events.iter().map(String::as_str).filter(|event| event.starts_with("decided")).collect();
    assert_eq!(told, ["decided 52", "decided 57", "decided 58", "decided 92"]);
    let at = |what: &str| events.iter().position(|event| event == what).expect("an event");
    assert!(at("decided 57") < at("ran 58"), "{events:?}");
}
