//! The lease on the stores that people run: their rules, how far a replica lags, and that all
//! searches count the same. What each store keeps in which world is `model/verdicts/lease.toml`.

use super::lease::{clocks, variant};
use bellwether_model::check::{Engine, Options, check};
use bellwether_model::machine;
use bellwether_model::property;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::lease::{Acquire, Fence, Lease, Reads, StoreFault, Term, Timer};
use bellwether_model::world::{Action, Drift, Scenario, World};

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

/// Each renewal is a write of the record that is observed, and comes before the replica has the
/// last. A replication that is under way goes on, and takes the newest along.
#[test]
fn a_replica_is_never_further_behind_than_its_lag() {
    const LAG: u8 = 3;
    let rules = Lease { reads: Reads::Replica, ..variant("kubernetes") };
    let all = [("t-holder", 8), ("t-grant", 10), ("t-renew", 1), ("t-retry", 2), ("t-lag", LAG)];
    let often = Scenario { timing: clocks(&all, 1, Drift::NONE), ..Scenario::calm(2) };
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
