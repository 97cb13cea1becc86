//! The lease on the stores that people run: the shortest way of each to two leaders, and incidents
//! that happened.

use super::lease::{AMO, CUT, FRESH, GRANT, PAUSE, clocks, variant, verdict};
use Verdict::{Holds, Violated};
use bellwether_model::check::{Engine, Options, Verdict, check};
use bellwether_model::machine;
use bellwether_model::property;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::lease::{
    Acquire, Compares, Fence, Lease, Reads, StoreFault, Term, Timer,
};
use bellwether_model::world::{Action, Drift, Faults, Network, Scenario, Start, World};

const STORES: [&str; 9] = [
    "kubernetes",
    "etcd",
    "consul",
    "postgres-row",
    "postgres-advisory",
    "redis-setnx",
    "redlock",
    "sqlite",
    "curator-latch",
];

/// Two clients of a store with these rules, where time is measured, and these faults. What else the
/// store measures takes one tick, unless it is among `more`.
fn timed(rules: Lease, holder: u8, grant: u8, more: &[(&'static str, u8)]) -> Scenario {
    let mut all = vec![("t-holder", holder), ("t-grant", grant), ("t-renew", 3), ("t-retry", 2)];
    let lags = rules.reads == Reads::Replica || rules.store == StoreFault::FailsOverAndLosesTheLast;
    let own = [("t-lag", lags), ("t-lock-delay", rules.lock_delay)];
    all.extend(own.into_iter().filter(|&(_, has)| has).map(|(name, _)| (name, 1)));
    // Of a name given twice, the last counts.
    all.extend(more);
    Scenario { timing: clocks(&all, 1, Drift::NONE), ..Scenario::calm(2) }
}

fn with(scenario: Scenario, faults: Faults) -> Scenario {
    Scenario { faults, ..scenario }
}

/// Where nothing fails, each store has one leader; and where a client crashes and the store does
/// not, another client leads in the end.
#[test]
fn each_store_has_one_leader_where_only_clients_crash() {
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    for name in STORES {
        let rules = variant(name);
        for scenario in [Scenario::calm(2), cold] {
            for property in [AMO, GRANT, FRESH] {
                let found = verdict(rules, scenario, property);
                assert_eq!(found, Holds, "{name}: {property} in {scenario}");
            }
        }
        let rules = Lease { store: StoreFault::Lives, ..rules };
        let crash = Scenario::calm(2).with_crashes(1, 0);
        let recovery = Scenario::calm(2).with_crashes(1, 1);
        for (property, scenario) in [(AMO, recovery), (GRANT, recovery), ("settles", crash)] {
            let found = verdict(rules, scenario, property);
            assert_eq!(found, Holds, "{name}: {property} in {scenario}");
        }
    }
}

/// A pause is longer than any lease. A connection, which the kernel keeps up, bears it. Where the
/// product has a token that is checked against the newest grant, no stale write gets in.
#[test]
fn a_pause_makes_two_leaders_of_each_lease_and_of_no_session() {
    let found = |name: &str| {
        let rules = Lease { store: StoreFault::Lives, ..variant(name) };
        let scenario = with(timed(rules, 8, 12, &[]), PAUSE);
        [AMO, FRESH].map(|property| verdict(rules, scenario, property))
    };
    for name in ["kubernetes", "redis-setnx", "redlock", "curator-latch"] {
        assert_eq!(found(name), [Violated, Violated], "{name}");
    }
    for name in ["etcd", "consul", "postgres-row", "sqlite"] {
        assert_eq!(found(name), [Violated, Holds], "{name}");
    }
    assert_eq!(found("postgres-advisory"), [Holds, Holds]);
}

/// The libraries of etcd, Consul and Curator count from the answer, so the store has to keep a
/// lease for longer than its client counts it; so has what a client of Kubernetes waits for.
#[test]
fn a_client_that_is_cut_off_stops_before_another_leads_if_it_counts_for_less() {
    let found = |name: &str, grant| {
        let rules = variant(name);
        verdict(rules, with(timed(rules, 8, grant, &[]), CUT), AMO)
    };
    for name in ["kubernetes", "etcd", "curator-latch"] {
        assert_eq!((found(name, 8), found(name, 10)), (Violated, Holds), "{name}");
    }
    for name in ["postgres-row", "sqlite"] {
        assert_eq!((found(name, 8), found(name, 9)), (Violated, Holds), "{name}");
    }
}

/// Consul's TTL is the same on both sides. What makes up for that is the lock-delay.
#[test]
fn a_lock_delay_keeps_a_lease_from_others_for_a_while() {
    let consul = variant("consul");
    let cut = |rules: Lease, more: &[(&'static str, u8)]| {
        verdict(rules, with(timed(rules, 8, 8, more), CUT), AMO)
    };
    assert_eq!(cut(consul, &[("t-lock-delay", 2)]), Holds);
    assert_eq!(cut(Lease { lock_delay: false, ..consul }, &[]), Violated);

    // A write that is on its way when the lease ends arrives before another client has it.
    let unfenced = Lease { fence: Fence::None, ..Lease::RECOMMENDED };
    let late = |rules: Lease| {
        let faults = Faults { losses: 2.into(), ..Faults::NONE };
        verdict(rules, with(timed(rules, 6, 7, &[]), faults), FRESH)
    };
    assert_eq!(late(Lease { lock_delay: true, ..unfenced }), Holds);
    assert_eq!(late(unfenced), Violated);
}

/// The store ends a session that is half open, and its client does not know. It ends no other.
#[test]
fn a_session_that_is_half_open_makes_two_leaders() {
    let rules = variant("postgres-advisory");
    let cut = with(Scenario::calm(2), CUT);
    assert_eq!([AMO, GRANT].map(|name| verdict(rules, cut, name)), [Violated, Holds]);
    let early = Faults { suspicions: 1, ..Faults::NONE };
    assert_eq!(verdict(rules, with(Scenario::calm(2), early), AMO), Violated);
    // A lease in the same store, which its client counts, bears that.
    let row = Lease { store: StoreFault::Lives, ..variant("postgres-row") };
    assert_eq!(verdict(row, cut, AMO), Holds);
    let leased = Lease { term: Term::Expires, ..rules };
    assert_eq!(verdict(leased, cut, AMO), Violated, "it does not count it");
}

/// What takes over lacks the grant, or the store has forgotten it.
#[test]
fn a_store_that_loses_its_last_write_grants_the_lease_again() {
    let crash = Scenario::calm(2).with_crashes(1, 1);
    for name in ["redis-setnx", "redlock", "postgres-advisory"] {
        let rules = variant(name);
        assert_eq!(verdict(rules, crash, AMO), Violated, "{name}");
    }
    let kept = Lease { store: StoreFault::CrashesAndKeeps, ..variant("redis-setnx") };
    for rules in [kept, variant("postgres-row")] {
        assert_eq!(verdict(rules, crash, AMO), Holds, "{rules:?}");
    }
    let gone = Scenario::calm(2).with_crashes(1, 0);
    assert_eq!(verdict(variant("postgres-row"), gone, "settles"), Violated, "one server");
}

/// The majority of Redlock is one store here: the clock of one of its servers that jumps lets a
/// second majority grant the lock.
#[test]
fn a_clock_that_jumps_ends_a_lock_of_redlock() {
    let rules = Lease { store: StoreFault::Lives, ..variant("redlock") };
    let faults = Faults { jumps: 1, ..CUT };
    let jump = |jump| {
        let scenario = Scenario { jump, ..with(timed(rules, 8, 10, &[]), faults) };
        verdict(rules, scenario, AMO)
    };
    assert_eq!((jump(1), jump(3)), (Holds, Violated));
}

/// A client of client-go counts for how long it has seen the record unchanged, by its own clock.
/// If that is fast, and the holder's slow, it takes a lease that lasts.
#[test]
fn an_observer_with_a_fast_clock_takes_a_lease_that_lasts() {
    let rules = variant("kubernetes");
    let all = [("t-holder", 8), ("t-grant", 13), ("t-renew", 3), ("t-retry", 2)];
    let found = |over, under| {
        let drift = Drift::of(over, under).expect("small");
        let scenario = Scenario { timing: clocks(&all, 1, drift), ..Scenario::calm(2) };
        verdict(rules, with(scenario, CUT), AMO)
    };
    assert_eq!((found(1, 10), found(1, 4)), (Holds, Violated));
}

/// What has been watched for long enough is taken by compare-and-set: a renewal that comes between
/// wins, whatever is lost or comes late.
#[test]
fn a_record_that_has_changed_is_not_taken() {
    let rules = variant("kubernetes");
    let calm = Scenario::calm(2);
    let worlds = [
        with(calm, Faults { losses: 1.into(), ..Faults::NONE }),
        with(calm, CUT),
        Scenario { network: Network::Unordered, ..calm.with_crashes(1, 1) },
    ];
    for scenario in worlds {
        for name in [AMO, GRANT] {
            assert_eq!(verdict(rules, scenario, name), Holds, "{name} in {scenario}");
        }
    }
    // Clocks decide nothing here: a client may take the lease of a holder that runs.
    let early = with(calm, Faults { suspicions: 1, ..Faults::NONE });
    assert_eq!([AMO, GRANT].map(|name| verdict(rules, early, name)), [Violated, Holds]);
}

/// A row without a version: two that start read that it is free. A replica that lags says so even
/// where one has long begun, and nothing fails.
#[test]
fn a_row_that_is_read_and_then_written_has_two_owners() {
    let rules = variant("read-then-write");
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let replica = Lease { reads: Reads::Replica, ..rules };
    assert_eq!(verdict(rules, cold, AMO), Violated);
    let found = [rules, replica].map(|rules| verdict(rules, Scenario::calm(2), AMO));
    assert_eq!(found, [Holds, Violated]);
}

/// A resource that asks a replica which grant is the newest lets a stale write in.
#[test]
fn a_fence_that_asks_a_replica_knows_of_a_grant_too_late() {
    let replica = Lease { reads: Reads::Replica, ..Lease::RECOMMENDED };
    let found = [Lease::RECOMMENDED, replica]
        .map(|rules| verdict(rules, with(timed(rules, 8, 10, &[]), PAUSE), FRESH));
    assert_eq!(found, [Holds, Violated]);
}

/// Each renewal is a write of the record that is observed, and comes before the replica has the
/// last. A replication that is under way goes on, and takes the newest along.
#[test]
fn a_replica_is_never_further_behind_than_its_lag() {
    const LAG: u8 = 3;
    let rules = Lease { reads: Reads::Replica, ..variant("kubernetes") };
    let often = timed(rules, 8, 10, &[("t-renew", 1), ("t-lag", LAG)]);
    let world = World::new(rules, often).expect("possible").concrete();
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
    assert_eq!(longest, LAG);
}

/// `DEL` frees whatever is there: if it comes twice, or late, the lease of the next client.
#[test]
fn a_release_that_does_not_compare_frees_the_lease_of_another() {
    let with = |compares| Lease { compares, asked: true, ..Lease::RECOMMENDED };
    let faults = Faults { duplicates: 1, ..Faults::NONE };
    let scenario = Scenario { faults, network: Network::Unordered, ..Scenario::calm(2) };
    let found =
        [Compares::Both, Compares::Renewals].map(|compares| verdict(with(compares), scenario, AMO));
    assert_eq!(found, [Holds, Violated]);
}

/// A client that is paused, and renews what is another's by now: both lead, and for good.
#[test]
fn a_renewal_that_does_not_compare_makes_two_leaders_for_good() {
    let found = [Compares::Both, Compares::Nothing].map(|compares| {
        let rules = Lease { compares, ..Lease::RECOMMENDED };
        let scenario = with(timed(rules, 8, 10, &[("t-retry", 10)]), PAUSE);
        [AMO, "settles"].map(|name| verdict(rules, scenario, name))
    });
    assert_eq!(found, [[Violated, Holds], [Violated, Violated]]);
}

/// A client whose answer was lost has what it cannot get, until that expires.
#[test]
fn a_client_that_is_refused_what_it_has_waits_until_it_expires() {
    let rules = Lease { acquire: Acquire::SetIfAbsent, ..Lease::RECOMMENDED };
    let lost = Faults { losses: 1.into(), ..Faults::NONE };
    let start = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    for scenario in [with(start, lost), Scenario::calm(2).with_crashes(1, 1)] {
        for name in [AMO, "settles"] {
            assert_eq!(verdict(rules, scenario, name), Holds, "{name} in {scenario}");
        }
    }
    // Of a lock that does not expire, no client is told that it has it.
    let lock = variant("lock");
    let found = [lock, Lease { acquire: Acquire::SetIfAbsent, ..lock }]
        .map(|rules| verdict(rules, with(start, lost), "settles"));
    assert_eq!(found, [Holds, Violated]);
}

/// With liveness asked, both searches run, and `check` fails if they count differently.
#[test]
fn stateright_and_the_state_graph_count_the_same_of_each_store() {
    for name in STORES {
        let world = World::new(variant(name), Scenario::calm(2).with_crashes(1, 1));
        let world = world.expect("possible");
        let asked = property::select(&world, &["settles".to_owned()]).expect("it can be asked");
        let options = Options { engine: Engine::Bfs, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("both count the same");
        assert!(report.counts.distinct > 10, "{name}: {:?}", report.counts);
    }
}

#[test]
fn the_stores_have_the_rules_that_their_manuals_give() {
    assert_eq!(variant("kubernetes").term, Term::Observed);
    assert_eq!(variant("postgres-advisory").term, Term::Session);
    assert!(variant("consul").lock_delay);
    assert_eq!(variant("redis-setnx").store, StoreFault::FailsOverAndLosesTheLast);
    assert_eq!(variant("redis-setnx").acquire, Acquire::SetIfAbsent);
    for name in STORES {
        let has_token = ["etcd", "consul", "postgres-row", "sqlite"].contains(&name);
        let fence = if has_token { Fence::NewestGrant } else { Fence::None };
        assert_eq!(variant(name).fence, fence, "{name}");
    }
}
