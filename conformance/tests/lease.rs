//! The client of the lease beside the store of the program, and beside those that people run: the
//! specification plays these, and each transition of a client is compared.

use bellwether_conformance::Error;
use bellwether_conformance::lockstep::{Summary, lockstep};
use bellwether_conformance::mapping::{Mapping, lease, mappings};
use bellwether_model::check::Limits;
use bellwether_model::protocol::lease::{Acquire, Compares, Count, Fence, Lease, Mistake, Reads};
use bellwether_model::protocol::lease::{StoreFault, Term};
use bellwether_model::protocol::{Protocol as _, variant_name};
use bellwether_model::world::World;

use crate::cli::{json_of, says};
use crate::compared::{self, scenario};

/// The mapping to the store of this variant.
pub(crate) fn store(name: &str) -> Mapping<lease::Lease> {
    lease::mapping(lease::variant(name).expect("there is such a variant"))
}

/// Two clients, of which one crashes and recovers.
const CRASH: &str = "--nodes 2 --recoveries 1";

/// The client conforms, all of it was met, and the store was compared with nothing.
#[track_caller]
fn conforms(mapping: &Mapping<lease::Lease>, flags: &str) -> Summary {
    let summary = compared::conforms(mapping, scenario(flags));
    assert_eq!(summary.coverage.missing, [""; 0], "{flags}");
    let store = summary.unplayed.as_ref().expect("it is the specification's");
    assert!(store.why.contains("the specification's"), "{store:?}");
    assert!(store.transitions > 0 && store.transitions < summary.transitions, "{summary:?}");
    summary
}

#[test]
fn a_store_that_crashes_and_recovers() {
    let all =
        [&store("clustering"), &store("postgres-row"), &store("redis-setnx"), &store("redlock")];
    for mapping in all {
        let summary = conforms(mapping, CRASH);
        for kind in ["deliver", "expire", "crash", "recover"] {
            assert!(summary.kinds[kind] > 0, "{kind}: {summary:?}");
        }
    }
    conforms(&store("postgres-row"), "--nodes 2 --crashes 2 --recoveries 1");
}

#[test]
fn a_store_that_lives_and_has_other_rules() {
    for mapping in [&store("fenced"), &store("unfenced"), &store("lock")] {
        conforms(mapping, CRASH);
    }
}

#[test]
fn messages_are_lost_doubled_and_out_of_order() {
    for mapping in [&store("postgres-row"), &store("redis-setnx")] {
        conforms(mapping, "--nodes 2 --crashes 0 --losses 1");
        conforms(mapping, "--nodes 2 --crashes 0 --duplicates 1");
        conforms(mapping, "--nodes 2 --network unordered");
        conforms(mapping, "--nodes 2 --start cold");
    }
}

/// A holder that is asked to lead no longer gives its lease back, and the others hear so.
#[test]
fn a_holder_gives_its_lease_back() {
    let worlds = [
        CRASH,
        "--nodes 2 --crashes 0 --losses 1",
        "--nodes 2 --crashes 0 --duplicates 1",
        "--nodes 2 --crashes 0 --duplicates 1 --network unordered",
    ];
    for flags in worlds {
        let coverage = compared::conforms(
            &lease::mapping(Lease { asked: true, ..Lease::RECOMMENDED }),
            scenario(flags),
        )
        .coverage;
        assert_eq!(coverage.missing, [""; 0], "{flags}");
        let asked = coverage.timers.get("request");
        let said = ["release", "available"].map(|kind| coverage.messages.get(kind));
        for met in said.into_iter().chain([asked]) {
            assert!(met.is_some_and(|met| met.walked > 0), "{flags}: {coverage:?}");
        }
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
        conforms(&lease::mapping(rules), CRASH);
    }
}

/// The machine of a client was copied, or an operator has changed the record.
#[test]
fn a_store_to_which_people_make_mistakes() {
    conforms(&store("copied-machine"), CRASH);
    let watched = lease::variant("changed-by-hand").expect("there is such a variant");
    for mistake in [Mistake::Lost, Mistake::SetBack, Mistake::SetForward] {
        for rules in [watched, Lease::RECOMMENDED] {
            conforms(&lease::mapping(Lease { mistake, ..rules }), CRASH);
        }
    }
}

/// A store may free a lease that a holder gives back, although another client has it.
#[test]
fn a_lease_that_is_given_back() {
    for (compares, store) in [
        (Compares::Both, StoreFault::CrashesAndKeeps),
        (Compares::Renewals, StoreFault::Lives),
        (Compares::Nothing, StoreFault::Lives),
    ] {
        let rules = Lease { asked: true, compares, store, ..Lease::RECOMMENDED };
        let coverage = conforms(&lease::mapping(rules), CRASH).coverage;
        let met = [coverage.timers.get("request"), coverage.messages.get("available")];
        for met in met {
            assert!(met.is_some_and(|met| met.walked > 0), "{coverage:?}");
        }
    }
}

/// By the recommended rules the store is a node of the program, and is compared.
#[test]
fn the_store_of_the_program_is_compared() {
    for mapping in [&lease::recommended(), &lease::mapping(Lease::RECOMMENDED)] {
        let summary = compared::conforms(mapping, scenario(CRASH));
        assert!(summary.outside > 0, "what leaves the boundary is compared as well");
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
        let found = mappings().find(Some("lease"), Some(name));
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
    let world = World::new(rules, scenario(CRASH)).expect("possible");
    let refused = lockstep(&world, &store("postgres-row"), 1, &Limits::NONE, &mut |_| {});
    let refused = refused.expect_err("it is refused");
    assert!(matches!(refused, Error::Rules { .. }), "{refused}");
    let words = refused.to_string();
    assert!(words.contains("has count=from-receipt, and the program count=before"), "{words}");
}

#[test]
fn the_report_says_what_is_compared_with_nothing() {
    let parts = [
        "lease, redis-setnx: model and program",
        "(the store is the specification's)",
        "never timer grant: the store is the specification's",
        "every transition of what it plays was taken in both",
    ];
    says("lockstep lease --nodes 2 --variant redis-setnx --recoveries 1", 0, &parts);
    // By its rules the store of the program is like that of SQLite.
    says("lockstep lease --nodes 2 --variant sqlite", 0, &["lease, recommended"]);
    let object = |variant: &str| {
        let line = format!("lockstep lease --nodes 2 --variant {variant}");
        json_of(&line, "bellwether-conformance-lockstep")
    };
    assert!(object("sqlite")["compared"]["unplayed"].is_null());
    let object = object("postgres-row");
    assert_eq!(object["compared"]["unplayed"]["why"], "the store is the specification's");
    assert_eq!(object["variant"], "postgres-row");
}

#[test]
fn a_refusal_names_the_rule() {
    let why = "does not implement 'etcd', but: recommended, fenced, unfenced, clustering, lock, \
               postgres-row, redis-setnx, redlock, copied-machine, changed-by-hand; 'etcd' has \
               count=from-receipt, and the program count=before-sending";
    says("lockstep lease --nodes 2 --variant etcd", 2, &[why]);
    // Real processes have a store of the program, which these rules are not of.
    let line = "suite lease --nodes 2 --variant postgres-row --through processes";
    says(line, 2, &["no process is a service: the store is the specification's"]);
}

/// Few executions take every transition of a client, too.
#[test]
fn a_suite_conforms() {
    let line = "suite lease --nodes 2 --variant redis-setnx --crashes 1";
    says(line, 0, &["The program conforms to each execution"]);
}
