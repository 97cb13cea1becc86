//! The client of the lease beside the stores that people run: the specification plays the store,
//! and each transition of a client is compared.

use assert_cmd::Command;
use bellwether_conformance::Error;
use bellwether_conformance::lockstep::{Summary, lockstep};
use bellwether_conformance::mapping::MAPPINGS;
use bellwether_conformance::mapping::lease::{self as stores, LeaseMapping};
use bellwether_docs_runner::object_of;
use bellwether_model::check::Limits;
use bellwether_model::protocol::lease::{Acquire, Compares, Count, Fence, Lease, Reads};
use bellwether_model::protocol::lease::{StoreFault, Term};
use bellwether_model::protocol::{Protocol as _, variant_name};
use bellwether_model::world::{Faults, Network, Scenario, Start, World};
use predicates::prelude::*;

use crate::compared;

const CRASH: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// The client conforms, all of it was met, and the store was compared with nothing.
#[track_caller]
fn conforms(mapping: &LeaseMapping, scenario: Scenario) -> Summary {
    let summary = compared::conforms(mapping, scenario);
    assert_eq!(summary.coverage.missing, [""; 0], "{scenario}");
    let store = summary.unplayed.expect("it is the specification's");
    assert!(store.why.contains("the specification's"), "{store:?}");
    assert!(store.transitions > 0 && store.transitions < summary.transitions, "{summary:?}");
    summary
}

#[test]
fn a_store_that_crashes_and_recovers() {
    let all = [&stores::CLUSTERING, &stores::POSTGRES_ROW, &stores::REDIS_SETNX, &stores::REDLOCK];
    for mapping in all {
        let summary = conforms(mapping, CRASH);
        for kind in ["deliver", "expire", "crash", "recover"] {
            assert!(summary.kinds[kind] > 0, "{kind}: {summary:?}");
        }
    }
    conforms(&stores::POSTGRES_ROW, Scenario::calm(2).with_crashes(2, 1));
}

#[test]
fn a_store_that_lives_and_has_other_rules() {
    for mapping in [&stores::FENCED, &stores::UNFENCED, &stores::LOCK] {
        conforms(mapping, CRASH);
    }
}

#[test]
fn messages_are_lost_doubled_and_out_of_order() {
    let with = |faults| Scenario { faults, ..Scenario::calm(2) };
    for mapping in [&stores::POSTGRES_ROW, &stores::REDIS_SETNX] {
        conforms(mapping, with(Faults { losses: 1.into(), ..Faults::NONE }));
        conforms(mapping, with(Faults { duplicates: 1, ..Faults::NONE }));
        let crash = with(Faults { crashes: 1, ..Faults::NONE });
        conforms(mapping, Scenario { network: Network::Unordered, ..crash });
        conforms(mapping, Scenario { start: Start::Cold, ..crash });
    }
}

/// Rules that stores of other variants have, whose clients count otherwise.
#[test]
fn single_rules_of_the_store() {
    let rules = [
        Lease { lock_delay: true, ..Lease::RECOMMENDED },
        Lease { term: Term::Session, ..Lease::RECOMMENDED },
        Lease { reads: Reads::Replica, ..Lease::RECOMMENDED },
        Lease { compares: Compares::Nothing, ..Lease::RECOMMENDED },
        Lease { acquire: Acquire::SetIfAbsent, ..Lease::RECOMMENDED },
        Lease { fence: Fence::None, store: StoreFault::CrashesAndForgets, ..Lease::RECOMMENDED },
    ];
    for rules in rules {
        println!("{}", variant_name(&rules));
        conforms(&LeaseMapping::on(rules), CRASH);
    }
}

/// What a holder gives back, a store may free although another client has it.
#[test]
fn a_lease_that_is_given_back() {
    for (compares, store) in [
        (Compares::Both, StoreFault::CrashesAndKeeps),
        (Compares::Renewals, StoreFault::Lives),
        (Compares::Nothing, StoreFault::Lives),
    ] {
        let rules = Lease { asked: true, compares, store, ..Lease::RECOMMENDED };
        let coverage = conforms(&LeaseMapping::on(rules), CRASH).coverage;
        let met = [coverage.timers.get("request"), coverage.messages.get("available")];
        for met in met {
            assert!(met.is_some_and(|met| met.walked > 0), "{coverage:?}");
        }
    }
}

/// By the recommended rules the store is a node of the program, and is compared.
#[test]
fn the_store_of_the_program_is_compared() {
    for mapping in [&LeaseMapping::new(), &LeaseMapping::on(Lease::RECOMMENDED)] {
        let summary = compared::conforms(mapping, CRASH);
        assert_eq!(summary.unplayed, None);
        assert!(summary.coverage.timers["grant"].walked > 0, "{summary:?}");
    }
}

/// Each variant is walked, or refused with the rules of clients that are not the program's.
#[test]
fn each_variant_is_walked_or_refused_with_the_rules_that_are_not_followed() {
    let refused: [(&str, &[&str], &str); 8] = [
        ("from-receipt", &["count=from-receipt"], "count=before-sending"),
        ("lesson", &["renewal=assumes"], "renewal=asks"),
        ("read-then-write", &["acquire=read-then-write"], "acquire=compare-and-set"),
        ("kubernetes", &["count=from-receipt", "term=observed", "release=never"], "term=expires"),
        ("etcd", &["count=from-receipt"], "count=before-sending"),
        ("consul", &["count=from-receipt"], "count=before-sending"),
        ("postgres-advisory", &["expiry=ignores"], "expiry=steps-down"),
        ("curator-latch", &["count=from-receipt"], "count=before-sending"),
    ];
    for variant in Lease::VARIANTS {
        let name = variant.name;
        let found = MAPPINGS.find(Some("lease"), Some(name));
        let Some((_, rules, own)) = refused.iter().find(|(refused, ..)| *refused == name) else {
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(found.description().rules, serde_json::json!(variant.rules), "{name}");
            continue;
        };
        let words = found.err().map(|error| error.to_string()).expect("it is refused");
        let (_, why) = words.split_once(&format!("; '{name}' has ")).expect("it says why");
        let (asked, program) = why.split_once(", and the program ").expect("both");
        let mut asked: Vec<&str> = asked.split(", ").collect();
        let mut wanted = rules.to_vec();
        asked.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(asked, wanted, "{name}: {words}");
        assert!(program.contains(own), "{name}: {words}");
    }
}

/// The same is said of a world that was made of such rules.
#[test]
fn a_world_of_rules_that_the_client_does_not_follow_is_refused() {
    let rules = Lease { count: Count::FromReceipt, ..Lease::RECOMMENDED };
    let world = World::new(rules, CRASH).expect("possible");
    let refused = lockstep(&world, &stores::POSTGRES_ROW, &Limits::NONE, &mut |_| {});
    let refused = refused.expect_err("it is refused");
    assert!(matches!(refused, Error::Rules { .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("has count=from-receipt, and the program count=before"), "{words}");
}

fn bellwether(command: &str, arguments: &[&str]) -> Command {
    let mut program = Command::cargo_bin("bellwether-conformance").expect("built");
    program.env("NO_COLOR", "1").args([command, "lease", "--nodes", "2"]).args(arguments);
    program
}

#[test]
fn the_report_says_what_is_compared_with_nothing() {
    let says = |what: &'static str| predicate::str::contains(what);
    bellwether("lockstep", &["--variant", "redis-setnx", "--recoveries", "1"])
        .assert()
        .code(0)
        .stdout(
            says("lease, redis-setnx: model and program")
                .and(says("(the store is the specification's)"))
                .and(says("never rule fence: the store is the specification's"))
                .and(says("every transition of what it plays was taken in both")),
        );
    // By its rules the store of the program is like that of SQLite.
    bellwether("lockstep", &["--variant", "sqlite"])
        .assert()
        .code(0)
        .stdout(says("lease, recommended").and(says("specification's").not()));
    let printed =
        bellwether("lockstep", &["--variant", "postgres-row", "--json"]).output().expect("ran");
    let object = object_of("bellwether-conformance-lockstep", &printed.stdout);
    assert_eq!(object["compared"]["unplayed"]["why"], "the store is the specification's");
    assert_eq!(object["variant"], "postgres-row");
}

#[test]
fn a_refusal_names_the_rule() {
    let says = predicate::str::contains(
        "does not implement 'etcd', but: recommended, fenced, unfenced, clustering, lock, \
         postgres-row, redis-setnx, redlock; 'etcd' has count=from-receipt, and the program \
         count=before-sending",
    );
    bellwether("lockstep", &["--variant", "etcd"]).assert().code(2).stdout("").stderr(says);
}

/// Real processes have a store of the program, which these rules are not of.
#[test]
fn no_processes_are_judged_by_the_rules_of_another_store() {
    let arguments = ["--variant", "postgres-row", "--through", "processes"];
    let says =
        predicate::str::contains("no process is a service: the store is the specification's");
    bellwether("suite", &arguments).assert().code(2).stdout("").stderr(says);
}

/// Few executions take every transition of a client, too.
#[test]
fn a_suite_conforms() {
    let says = predicate::str::contains("The program conforms to each execution");
    let arguments = ["--variant", "redis-setnx", "--crashes", "1"];
    bellwether("suite", &arguments).assert().code(0).stdout(says);
}
