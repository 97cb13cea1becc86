//! Outcomes that are chosen at random: fair executions do what chance does not, and a report says
//! so in words that speak of no time-out.

use bellwether_model::check::{Caveat, Options as Search, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::{Belief, Id, Local, Protocol, TimerRow, Variant, View};
use bellwether_model::world::{Scenario, Start, World};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Coin;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Timer {
    Heads,
    Tails,
}

/// Whether a process leads, once it has tossed.
type Leads = Option<bool>;

impl Protocol for Coin {
    const NAME: &'static str = "coin";
    const SUMMARY: &'static str = "each process that starts tosses a coin, and leads or does not";
    const VARIANTS: &'static [Variant<Self>] =
        &[Variant { name: "coin", source: "this test", rules: Coin }];
    const TIMERS: &'static [TimerRow<Self>] = &[
        TimerRow::outcome(Timer::Heads).random_if(|_| true),
        TimerRow::outcome(Timer::Tails).random_if(|_| true),
    ];
    type Process = Leads;
    type Stable = ();
    type Message = ();
    type Timer = Timer;

    fn converged(&self, p: &mut Local<'_, Self>) {
        *p.state = Some(p.is_highest());
    }

    fn recover(&self, p: &mut Local<'_, Self>) {
        p.choose([Timer::Heads, Timer::Tails]);
    }

    fn receive(&self, _: &mut Local<'_, Self>, _: Id, (): ()) {}

    fn expire(&self, p: &mut Local<'_, Self>, chosen: Timer) {
        *p.state = Some(chosen == Timer::Heads);
    }

    fn may_time_out(&self, _: &View<'_, Self>, _: Id, _: Timer) -> bool {
        false
    }

    fn belief(process: &Leads) -> Belief {
        if *process == Some(true) { Belief::Leads } else { Belief::Undecided }
    }

    fn role(process: &Leads) -> &'static str {
        if *process == Some(true) { "leader" } else { "follower" }
    }
}

/// Two processes toss: no process follows another, so they never agree.
#[test]
fn a_violation_by_chance_is_told_without_a_word_of_time_outs() {
    let scenario = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let world = World::new(Coin, scenario).expect("possible");
    let asked = property::select(&world, &["stabilises".to_owned()]).expect("known");
    let report = check(&world, &asked, &Search::default(), &mut |_| {}).expect("decided");
    let decision = &report.decisions[0];
    assert_eq!(decision.verdict, Verdict::Violated);
    assert_eq!(report.caveats_of(decision).collect::<Vec<_>>(), [Caveat::Chance]);
    let words = Caveat::Chance.words();
    assert!(words.contains("probability 0") && !words.contains("time-out"), "{words}");
}
