//! What has to be known with a verdict is printed with it, and only where it applies.

use crate::asked::ask;
use crate::cli::run;
use bellwether_model::check::{Caveat, Verdict};
use bellwether_model::protocol::{Belief, Id, Local, Protocol, TimerRow, Variant, View};
use bellwether_model::world::{Scenario, Start, World};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// For each caveat the world in which it applies or not, the flags with which it does and those
/// with which it does not; and the property that it is about, if there is one.
const RUNS: &[(Caveat, &str, [&str; 2], &str)] = &[
    (
        Caveat::RenamedMessages,
        "check garcia-molina --network unordered --nodes 2 -p assertion-1 -p assertion-2",
        ["", "--symmetry concrete"],
        "assertion-2",
    ),
    (
        Caveat::HashedStates,
        "check bully -p agreement -p stabilises",
        ["--engine bfs", ""],
        "agreement",
    ),
    (
        Caveat::NotShortest,
        "check bully --recoveries 1 -p at-most-one-leader",
        ["--engine dfs", "--engine bfs"],
        "at-most-one-leader",
    ),
    (
        Caveat::Chance,
        "check raft-election --variant paper -p stabilises",
        ["--rule timeouts=random", "--rule timeouts=fixed"],
        "stabilises",
    ),
    (
        Caveat::DriftingClocks,
        "check bully --variant baseline --timing timed --delay 1 --t-coord 30 --t-detect 2 \
         -p timeouts-accurate -p agreement",
        ["--t-elec 3 --drift 1/5", "--t-elec 2"],
        "timeouts-accurate",
    ),
    (
        Caveat::TrueAtFirst,
        "check raft-election --variant paper --nodes 2 --crashes 0 -p leader-emerges",
        ["", "--start cold"],
        "leader-emerges",
    ),
    (
        Caveat::AccurateIsNotPerfect,
        "check bully --variant baseline --timing timed --delay 1 --t-elec 3 --t-coord 8 \
         --t-detect 2 -p timeouts-accurate",
        ["--network set", ""],
        "timeouts-accurate",
    ),
    (
        Caveat::UncountedFaults,
        "check bully --losses unbounded --timing timed --delay 1 --t-heartbeat 3 --t-elec 3 \
         --t-coord 10 --t-detect 4 -p stabilises",
        ["--all 2", ""],
        "stabilises",
    ),
    (
        Caveat::LossesNotAwaited,
        "check bully --timing asynchronous --capacity 1 --nodes 2 -p leader-recurs",
        ["--losses unbounded", "--losses 1"],
        "leader-recurs",
    ),
    (
        Caveat::LossesBeginNothing,
        "bounds bully --variant baseline --timing asynchronous --capacity 1 --nodes 2",
        ["--losses unbounded", "--losses 1"],
        "",
    ),
];

/// The names of the caveats of a run, and what they are about; and what it prints.
fn caveats(line: &str) -> (Vec<(Value, Value)>, String) {
    let json = run(&format!("{line} --quiet --json")).stdout;
    let json: Value = serde_json::from_str(&json).expect(line);
    let all = json["caveats"].as_array().expect("a list").iter();
    let all = all.map(|one| (one["caveat"].clone(), one["properties"].clone()));
    (all.collect(), run(&format!("{line} --quiet")).stdout)
}

#[test]
fn each_caveat_stands_in_the_reports_of_the_runs_to_which_it_applies() {
    let known: Vec<Caveat> = RUNS.iter().map(|(caveat, ..)| *caveat).collect();
    assert_eq!(known, Caveat::ALL, "a run for each");
    for (caveat, world, flags, property) in RUNS {
        let [with, without] = flags.map(|flags| format!("{world} {flags}"));
        let name = serde_json::to_value(caveat).expect("a name");
        let about: Value = property.split_whitespace().collect();
        let ((told, printed), (others, others_printed)) = (caveats(&with), caveats(&without));
        assert!(told.contains(&(name.clone(), about)), "{with}: {told:?}");
        assert!(others.iter().all(|(other, _)| *other != name), "{without}: {others:?}");
        let line = match *property {
            "" => format!("With care: {}.", caveat.words()),
            property => format!("With care: {property}: {}.", caveat.words()),
        };
        assert!(printed.contains(&line), "{with}: no {line:?}");
        assert!(!others_printed.contains(caveat.words()), "{without}");
    }
}

#[test]
fn most_runs_have_none() {
    for line in [
        "check bully",
        "check bully --recoveries 1",
        "check bully --variant baseline --network set",
        "check garcia-molina --nodes 2 --recoveries 1",
        "bounds bully",
    ] {
        let (told, printed) = caveats(line);
        assert!(told.is_empty() && !printed.contains("With care"), "{line}: {told:?}");
    }
}

/// The table of the manual has all of them.
#[test]
fn the_manual_has_each_caveat() {
    let manual = include_str!("../../docs/model.md");
    for caveat in Caveat::ALL {
        let name = serde_json::to_value(caveat).expect("a name");
        let row = format!("| `{}` |", name.as_str().expect("a text"));
        assert!(manual.contains(&row), "no row {row}");
    }
}

/// Outcomes that are chosen at random: fair executions do what chance does not, and a report says
/// so in words that speak of no time-out.
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
    let report = ask(&world, &["stabilises"]);
    let decision = &report.decisions[0];
    assert_eq!(decision.verdict, Verdict::Violated);
    assert_eq!(report.caveats_of(decision).collect::<Vec<_>>(), [Caveat::Chance]);
    let words = Caveat::Chance.words();
    assert!(words.contains("probability 0") && !words.contains("time-out"), "{words}");
}
