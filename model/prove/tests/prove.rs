//! Proofs for every number of processes: the relation is the model's, each negative control fails,
//! and a solver's verdicts are found out again without it.

use crate::some;
use bellwether_model::machine::DynProtocol;
use bellwether_model::protocol::REGISTRY;
use bellwether_model::survey::proved;
use bellwether_prove::{Goal, Outcome, PROTOCOLS, Part, Proof, Solver, parts};
use std::io::Write;
use std::sync::Arc;

#[path = "prove/command.rs"]
mod command;
#[path = "prove/random.rs"]
mod random;

/// The rules of a protocol, as in `quorum bare grants=again`.
fn rules(words: &str) -> Arc<dyn DynProtocol> {
    let mut words = words.split(' ');
    let protocol = REGISTRY.find(words.next().expect("a protocol")).expect("it exists");
    let (single, variant): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
    let single = single.iter().map(|rule| rule.split_once('=').expect("a rule"));
    let single: Vec<_> = single.map(|(rule, value)| (rule.to_owned(), value.to_owned())).collect();
    protocol.rules(variant.first().copied(), &single).expect("they exist")
}

fn parts_of(words: &str) -> Vec<Part> {
    parts(&*rules(words)).expect("something is proved of it")
}

/// The solvers that are installed; none, with a notice, if there is none.
fn solvers() -> Vec<Solver> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| {
        std::env::split_paths(&folders).map(|dir| dir.join(name)).find(|at| at.is_file())
    };
    let found: Vec<_> = ["z3", "cvc5"].iter().filter_map(|name| find(name)).collect();
    if found.is_empty() {
        // Not by a macro: what those print is shown of failed tests only.
        let notice = "SKIPPED: no SMT solver is installed, so nothing is proved \
                      (Debian: apt-get install z3)\n";
        let _ = std::io::stderr().write_all(notice.as_bytes());
    }
    let solver = |path: &std::path::PathBuf| {
        let mut solver = Solver::find(Some(path)).expect("a path needs no search");
        // The machine may be busy.
        solver.limit = std::time::Duration::from_secs(300);
        solver
    };
    found.iter().map(solver).collect()
}

fn prove(part: &Part, solver: &Solver) -> Proof {
    bellwether_prove::prove(&part.relation, solver, &mut |_| {}).expect("it is a solver")
}

/// Rules by which everything is proved.
const RIGHT: &[&str] = &[
    "raft-election",
    "raft-election paper",
    "raft-election etcd",
    "raft-election prevote=silence unelected=insists known_leader=true promoted=refuses",
    "quorum",
    "quorum preemptive",
    "quorum bare",
    "quorum observer=1",
    "quorum transfer=1 step_down=true",
    "quorum canvass=none deposed=ignores expiry=keeps-renewing",
    "lease",
    "lease lock",
    "lease store=crashes-and-keeps",
];

/// Rules of which each breaks something, and what is no longer proved.
const CONTROLS: &[(&str, &[&str])] = &[
    ("raft-election storage=forgets-vote", RAFT),
    ("raft-election storage=forgets-all", RAFT),
    ("raft-election returning=forgets-vote", RAFT),
    ("quorum grants=again", QUORUM),
    ("quorum grants=counts-support", QUORUM),
    ("quorum storage=syncs-late", QUORUM),
    ("quorum storage=forgets-grant", QUORUM),
    ("quorum storage=forgets-all", QUORUM),
    ("quorum bare observer=4 observing=votes", QUORUM),
    ("lease fenced", &["no-stale-write"]),
    ("lease unfenced", &["tokens-grow", "no-stale-write"]),
    ("lease from-receipt", &["at-most-one-leader"]),
    ("lease answers=any", &["at-most-one-leader"]),
    ("lease renewal=assumes", &["at-most-one-leader"]),
    ("lease expiry=ignores", &["at-most-one-leader"]),
    ("lease read-then-write", &["one-grant", "at-most-one-leader"]),
    ("lease store=crashes-and-forgets", &["tokens-grow", "no-stale-write", "at-most-one-leader"]),
];

const RAFT: &[&str] = &["election-safety", "one-leader-ever", "votes-stand", "majority-behind"];
const QUORUM: &[&str] = &["one-leader-per-epoch", "one-leader-ever", "grants-stand", "epochs-grow"];

/// The properties that are not proved.
fn open(words: &str, solver: &Solver) -> Vec<String> {
    let mut open = Vec::new();
    for part in parts_of(words) {
        let proof = prove(&part, solver);
        let shows = |outcome: &Outcome| !matches!(outcome, Outcome::Unknown(_));
        let asked = proof.obligations.iter().chain(&proof.properties);
        for one in asked.clone() {
            assert!(shows(&one.outcome), "{words}: {:?}", one.goal);
            if let Goal::Happens(_) = one.goal {
                assert!(matches!(one.outcome, Outcome::Proved), "{words}: {:?}", one.goal);
            }
        }
        let all_kept = proof.kept.iter().all(|&kept| kept);
        let fails = asked.clone().any(|one| matches!(one.outcome, Outcome::Fails(_)));
        assert_eq!(all_kept, !fails, "{words}");
        for (one, property) in proof.properties.iter().zip(&part.relation.properties) {
            if !matches!(one.outcome, Outcome::Proved) {
                open.push(property.name.clone());
            }
        }
    }
    open
}

/// Every transition of small worlds is a step of the relation, by right rules and by wrong ones,
/// and almost every action is met.
#[test]
fn each_transition_of_small_worlds_is_a_step() {
    let all = RIGHT.iter().copied().chain(CONTROLS.iter().map(|&(words, _)| words));
    let mut idle: Vec<(String, bool)> = Vec::new();
    for words in all {
        for part in parts_of(words) {
            let tied = part.tie(400, None).expect("the worlds are possible");
            let tie = tied.unwrap_or_else(|untied| panic!("{words}: {untied:?}"));
            assert!(tie.transitions() > 1_000, "{words}: {}", tie.transitions());
            for (action, &count) in part.relation.actions.iter().zip(&tie.by_action) {
                let name = format!("{}: {}", part.name, action.name);
                match idle.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, met)) => *met |= count > 0,
                    None => idle.push((name, count > 0)),
                }
            }
        }
    }
    // These come later in an execution, or in larger groups.
    let late = ["grants: count", "grants: lose-writes", "clocks: ask-anew", "clocks: give-up"];
    let never = idle.iter().filter(|(name, met)| !met && !late.contains(&name.as_str()));
    let never: Vec<_> = never.map(|(name, _)| name).collect();
    assert!(never.is_empty(), "no transition is {never:?}");
}

/// What an invariant says is true of every state that is met, and so are the properties.
#[test]
fn the_invariant_holds_in_every_state_of_small_worlds() {
    for words in RIGHT {
        for part in parts_of(words) {
            let relation = &part.relation;
            for &scenario in &part.worlds {
                let compared = part.compare(scenario, 300, None, &mut |transition, _| {
                    let after = transition.after;
                    assert!(after.is_possible(relation), "{words}: {scenario}");
                    for one in relation.invariant.iter().chain(&relation.properties) {
                        let holds = after.holds(relation, &one.formula, &[]);
                        assert!(holds, "{words}: {} in {scenario}: {after:?}", one.name);
                    }
                });
                let tied = compared.expect("possible").expect("each is a step");
                assert!(tied.transitions > 10, "{words}: {scenario}: {tied:?}");
            }
        }
    }
}

/// No guard asks, and nothing else is set to, what only remembers: so a state has steps whatever
/// is remembered.
#[test]
fn nothing_depends_on_what_only_remembers() {
    for words in ["raft-election", "quorum"] {
        for part in parts_of(words) {
            let relation = &part.relation;
            let history = relation.symbol("has-led").expect("it remembers who has led");
            for action in &relation.actions {
                assert!(!action.when.mentions(history), "{words}: {}", action.name);
                for change in action.changes.iter().filter(|change| change.symbol != history) {
                    assert!(!change.to.mentions(history), "{words}: {}", action.name);
                }
            }
        }
    }
}

#[test]
fn right_rules_are_proved_and_the_survey_says_which() {
    for (at, solver) in solvers().iter().enumerate() {
        // Another solver is asked of what does not take it minutes.
        let right = if at == 0 { some(RIGHT, 5).copied().collect() } else { vec!["lease"] };
        for words in right {
            assert_eq!(open(words, solver), [""; 0], "{words} by {}", solver.name());
        }
    }
    for protocol in PROTOCOLS {
        let all = parts_of(protocol);
        let names = all.iter().flat_map(|part| &part.relation.properties);
        let names: Vec<&str> = names.map(|property| property.name.as_str()).collect();
        assert_eq!(names, proved(protocol), "{protocol}");
    }
}

#[test]
fn each_wrong_rule_breaks_what_it_protects() {
    for solver in solvers().iter().take(1) {
        for (words, breaks) in some(CONTROLS, 4) {
            assert_eq!(open(words, solver), **breaks, "{words} by {}", solver.name());
        }
    }
}

#[test]
fn nothing_is_proved_of_other_protocols_or_of_changing_lists() {
    let wrong = |words: &str| parts(&*rules(words)).map(|_| ()).expect_err("it is not proved");
    assert!(wrong("bully").contains("raft-election, quorum, lease"), "{}", wrong("bully"));
    assert!(wrong("quorum lists=joins").contains("lists=one"));
    for (words, instead) in [
        ("lease asked=true", "asked=false"),
        ("lease kubernetes", "term=expires"),
        ("lease postgres-advisory", "term=expires"),
        ("lease redis-setnx", "store=crashes-and-forgets"),
        ("lease reads=replica", "reads=primary"),
        ("lease compares=nothing", "compares=both"),
        ("lease consul", "lock_delay=false"),
        ("lease copied-machine", "copied=false"),
        ("lease changed-by-hand", "mistake=none"),
    ] {
        assert!(wrong(words).contains(instead), "{words}: {}", wrong(words));
    }
    assert_eq!(proved("bully"), [""; 0]);
}
