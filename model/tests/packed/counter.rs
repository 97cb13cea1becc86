//! A world of more messages than 16 bits number: a process counts, and another hears each number.

use bellwether_model::check::Limits;
use bellwether_model::check::exact::{Exact, SearchOptions};
use bellwether_model::protocol::{Belief, Id, Local, Protocol, TimerRow, Variant, View};
use bellwether_model::world::packed::Packed;
use bellwether_model::world::{Scenario, Start, World};
use serde::{Deserialize, Serialize};

/// The last number that is sent.
const LAST: u32 = 70_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Counter;

impl Protocol for Counter {
    const NAME: &'static str = "counter";
    const SUMMARY: &'static str = "two processes count in turn";
    const VARIANTS: &'static [Variant<Self>] =
        &[Variant { name: "counter", source: "this test", rules: Counter }];
    const TIMERS: &'static [TimerRow<Self>] = &[];
    type Process = ();
    type Stable = ();
    type Message = u32;
    type Timer = ();

    fn converged(&self, _: &mut Local<'_, Self>) {}

    fn recover(&self, p: &mut Local<'_, Self>) {
        if p.is_highest() {
            p.send(Id::at(0), 0);
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, number: u32) {
        if number < LAST {
            p.send(from, number + 1);
        }
    }

    fn expire(&self, _: &mut Local<'_, Self>, (): ()) {}

    fn may_time_out(&self, _: &View<'_, Self>, _: Id, (): ()) -> bool {
        false
    }

    fn belief((): &()) -> Belief {
        Belief::Undecided
    }

    fn role((): &()) -> &'static str {
        "counting"
    }
}

/// Each number is a state of its own, and the last one is followed by nothing in flight.
#[test]
fn no_two_messages_have_one_number() {
    let scenario = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let world = World::new(Counter, scenario).expect("possible");
    let (limits, on_event) = (Limits::NONE, &mut |_| {});
    let search_options = SearchOptions {
        limits,
        edges: false,
        threads: 1,
        violations: &[],
        first: false,
        disk: None,
        on_event,
    };
    let found =
        Exact::search(&mut Packed::new(&world, Vec::new()), search_options).expect("threads");
    assert_eq!(found.cut_short(), None);
    assert_eq!(found.counts().distinct, u64::from(LAST) + 2);
}
