//! How fast the exact engine searches: `cargo bench -p bellwether-engine --bench search`.
//!
//! The search is short, so that a change is measured within seconds; what is compared with other
//! checkers, in `docs/performance.md`, takes larger worlds.

use bellwether_engine::check::{Options, Report, check};
use bellwether_engine::property;
use bellwether_engine::world::{Network, Scenario, World};
use bellwether_protocols::bully::Bully;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Every state of the bully's baseline with three processes, two crashes and two recoveries, and
/// what other checkers are asked of it. An item is a state.
#[divan::bench]
fn bully_baseline(bencher: Bencher) {
    let scenario = Scenario { network: Network::Set, ..Scenario::calm(3).with_crashes(2, 2) };
    let world = World::new(Bully::BASELINE, scenario).expect("the world is possible");
    let names = ["at-most-one-leader", "follower-bound", "validity", "decided"];
    let properties = property::select(&world, &names.map(str::to_owned)).expect("known");
    let search = || -> Report {
        check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
    };
    let states = search().counts.distinct;
    bencher.counter(ItemsCount::new(states)).bench_local(search);
}
