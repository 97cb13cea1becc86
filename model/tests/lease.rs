//! The lease: how far a replica lags, that a stale write is told, and which fields of a process its
//! rules never use. What each telling and each store keeps in which world is
//! `model/verdicts/lease.toml`.

use crate::asked::{after, read_again, report, shown, walk, world};
use bellwether_model::explore::moments;
use bellwether_model::machine;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::lease::{Lease, Reads, StoreFault, Term, Timer};
use bellwether_model::world::{Action, Scenario, World};
use serde_json::Value;
use std::collections::BTreeSet;

/// Each renewal is a write of the record that is observed, and comes before the replica has the
/// last. A replication that is under way goes on, and takes the newest along.
#[test]
fn a_replica_is_never_further_behind_than_its_lag() {
    let world = world(
        "lease --variant kubernetes --rule reads=replica --nodes 2 --crashes 0 --timing timed \
         --delay 1 --t-holder 8 --t-grant 10 --t-renew 1 --t-retry 2 --t-lag 3",
    );
    let world = world.concrete();
    let (store, replicate) = (Id::at(2), machine::Timer::of::<Lease>(Timer::Replicate));
    // The replica has what was written as late as it may: when nothing else can happen.
    let order = |action: &&Action| match action {
        Action::Expire { timer, .. } if *timer == replicate => 2,
        Action::Tick => 1,
        _ => 0,
    };
    let mut state = world.initial();
    let (mut ticks, mut behind, mut longest) = (0, 0, 0);
    for _ in 0..1_000 {
        let actions = world.actions(&state);
        let action = actions.iter().min_by_key(order).expect("time goes on");
        state = world.apply(&state, action).state;
        let record = state.process_of::<Lease>(store);
        let passed = u8::from(matches!(action, Action::Tick));
        (ticks, behind) = (ticks + passed, behind + passed);
        if record.replica.version == record.version {
            behind = 0;
        }
        longest = longest.max(behind);
        if ticks == 50 {
            break;
        }
    }
    let record = state.process_of::<Lease>(store);
    assert!(ticks == 50 && record.version.0 > 30, "{record:?} after {ticks} ticks");
    assert_eq!(longest, 3);
}

/// Tokens and requests are told by the names that the processes know.
#[test]
fn a_stale_write_is_told_in_plain_names() {
    let report = report(
        "lease --variant fenced --nodes 2 --crashes 0 --pauses 1 --timing timed --delay 1 \
         --t-holder 8 --t-grant 10 --t-renew 3 --t-retry 2 -p no-stale-write",
    );
    let property = &report.decisions[0].property;
    let trace = shown(&report, "no-stale-write").trace(&report.world, property);
    let world = trace.world::<Lease>().expect("the same world").concrete();
    let state = after(&world, &read_again(&world, &trace));
    let store = state.process_of::<Lease>(state.ids().last().expect("the store"));
    assert_eq!(store.written.0, 1, "the first holder's");
    assert_eq!(store.token.0, 2, "the second one's");
}

/// All rules of the lease on which it depends what is used.
fn all_rules() -> impl Iterator<Item = Lease> {
    use {StoreFault::*, Term::*};
    let stores = [Lives, CrashesAndKeeps, CrashesAndForgets, FailsOverAndLosesTheLast];
    let terms = [Expires, Never, Observed, Session];
    let with = |store, term, reads| Lease { store, term, reads, asked: true, ..Lease::RECOMMENDED };
    stores.into_iter().flat_map(move |store| {
        terms.into_iter().flat_map(move |term| {
            [Reads::Primary, Reads::Replica].map(|reads| with(store, term, reads))
        })
    })
}

#[test]
fn what_is_not_shown_of_a_lease_never_changes() {
    let mut left_out = BTreeSet::new();
    for rules in all_rules() {
        let which = format!("{:?}, {:?}, {:?}", rules.store, rules.term, rules.reads);
        let world = World::new(rules, Scenario::calm(2).with_crashes(1, 1));
        let world = world.expect("possible").concrete();
        let machine = world.machine();
        let (crashed, blank) = (machine.crashed().json(), machine.blank().json());
        for state in walk(&world, 3_000, |_, _, _| {}) {
            for id in state.ids() {
                let unused = machine.unused(id);
                for name in unused.process {
                    let value = &state.process(id).json()[name];
                    assert_eq!(value, &crashed[name], "{which}: {name}");
                    left_out.insert(name.to_owned());
                }
                for name in unused.stable {
                    let value = &state.stable(id).json()[name];
                    assert_eq!(value, &blank[name], "{which}: stored {name}");
                    left_out.insert(format!("stored {name}"));
                }
            }
        }
    }
    let all = "replica, start, stored holder, stored seen, stored start, stored token, \
               stored version, stored written, unfit, version";
    assert!(left_out.iter().map(String::as_str).eq(all.split(", ")), "{left_out:?}");
}

#[test]
fn the_explorer_shows_the_fields_that_the_rules_use() {
    let names = |value: &Value| {
        let names = value.as_object().expect("fields").keys().map(String::as_str);
        names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
    };
    for (rules, variables, stable) in [
        ("", "accepted granted holder requests role token written", "incarnation"),
        (
            "--rule reads=replica --rule term=observed --rule store=crashes-and-keeps",
            "accepted granted holder replica requests role token version written",
            "holder incarnation token version written",
        ),
    ] {
        let world = world(&format!("lease --nodes 2 --crashes 0 {rules}"));
        let store = moments(&world, &[], &[]).remove(0).processes.remove(2);
        assert_eq!(names(store.variables.as_ref().expect("it is up")), variables, "{rules}");
        assert_eq!(names(&store.stable), stable, "{rules}");
    }
}
