//! A protocol whose processes choose by themselves, and which prefers the lower id: every engine
//! takes each outcome, a trace says which one was chosen, and properties ask in the protocol's own
//! order. Parts of it stand in `docs/adding-a-protocol.md`.

use bellwether_model::check::{
    Counts, Engine, Limits, Options as Search, Report, Verdict, certify, check,
};
use bellwether_model::machine;
use bellwether_model::property;
use bellwether_model::protocol::{Belief, Id, Local, Options, Protocol, TimerRow, Variant, View};
use bellwether_model::report::story;
use bellwether_model::round::{Group, Starters, round};
use bellwether_model::trace::{Event, Trace, TraceError};
use bellwether_model::world::{
    Action, Delay, Durations, Scenario, Start, State, Timed, Timing, World,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Nearest;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Process {
    #[default]
    Starting,
    Deferring,
    Leader,
    Follower(Id),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Message {
    Claim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Timer {
    Claim,
    Defer,
}

const ONE: Id = Id::at(0);
const TWO: Id = Id::at(1);

fn claim(p: &mut Local<'_, Nearest>) {
    *p.state = Process::Leader;
    p.send_to_others(Message::Claim);
}

impl Protocol for Nearest {
    const NAME: &'static str = "nearest";
    const SUMMARY: &'static str = "a process that starts claims or defers; the nearest leads";
    const VARIANTS: &'static [Variant<Self>] =
        &[Variant { name: "nearest", source: "this test", rules: Nearest }];
    const TIMERS: &'static [TimerRow<Self>] =
        &[TimerRow::outcome(Timer::Claim), TimerRow::outcome(Timer::Defer)];
    // The lower the id, the nearer.
    const OPTIONS: Options<Self> = Options { rank: |_, id| u8::MAX - id.number(), ..Options::NONE };
    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    fn converged(&self, p: &mut Local<'_, Self>) {
        *p.state = if p.id() == ONE { Process::Leader } else { Process::Follower(ONE) };
    }

    /// A process that starts claims to lead or defers.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.choose([Timer::Claim, Timer::Defer]);
    }

    /// A process follows a nearer one, and claims to lead before a farther one does.
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, Message::Claim: Message) {
        p.choose([]);
        if from < p.id() {
            *p.state = Process::Follower(from);
        } else if *p.state != Process::Leader {
            claim(p);
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, chosen: Timer) {
        match chosen {
            Timer::Claim => claim(p),
            Timer::Defer => *p.state = Process::Deferring,
        }
    }

    /// It is not asked of outcomes.
    fn may_time_out(&self, _: &View<'_, Self>, _: Id, _: Timer) -> bool {
        false
    }

    fn belief(process: &Process) -> Belief {
        match *process {
            Process::Starting | Process::Deferring => Belief::Undecided,
            Process::Leader => Belief::Leads,
            Process::Follower(leader) => Belief::Follows(leader),
        }
    }

    fn role(process: &Process) -> &'static str {
        match process {
            Process::Starting => "starting",
            Process::Deferring => "deferring",
            Process::Leader => "leader",
            Process::Follower(_) => "follower",
        }
    }
}

fn cold(timing: Timing) -> World {
    let scenario = Scenario { start: Start::Cold, timing, ..Scenario::calm(2) };
    World::new(Nearest, scenario).expect("possible")
}

fn searched(world: &World, names: &[&str], search: &Search) -> Report {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let properties = property::select(world, &names).expect("known");
    check(world, &properties, search, &mut |_| {}).expect("decided")
}

fn chooses(id: Id, outcome: Timer) -> Action {
    Action::Expire { id, timer: machine::Timer::of::<Nearest>(outcome), early: false }
}

fn after(world: &World, actions: &[Action]) -> State {
    actions.iter().fold(world.initial(), |state, action| world.apply(&state, action).state)
}

/// Each process is starting (S), deferring (D), leader (L) or follower (F); 1 becomes no follower.
/// In brackets are the claims in flight, by their sender. With the number of what can happen next:
///
/// - no process has claimed: SS 4, SD 2, DS 2, DD 0;
/// - 1 has, 2 has not: LS (1) 3, LD (1) 1, and when the claim has arrived, LF 0;
/// - 2 has, 1 has not: SL (2) 3, DL (2) 1; when the claim arrives, 1 claims;
/// - both have: LL (1, 2) 2, LL (1) 1, LF (2) 1.
///
/// So there are 12 states, and 20 transitions besides the start.
#[test]
fn every_engine_takes_every_outcome() {
    let names = ["at-most-one-leader", "validity", "decided"];
    for timing in [Timing::Perfect, Timing::Asynchronous] {
        let world = cold(timing);
        for engine in [Engine::Exact, Engine::Bfs, Engine::Dfs] {
            let found = searched(&world, &names, &Search { engine, ..Search::default() });
            let Counts { distinct, generated, .. } = found.counts;
            assert_eq!((distinct, generated), (12, 21), "{engine}, {timing:?}");
            let verdicts: Vec<_> = found.decisions.iter().map(|one| one.verdict).collect();
            // The last: in LF, 1 leads, which is no highest id. No process leads in DD.
            assert_eq!(verdicts, [Verdict::Violated, Verdict::Holds, Verdict::Violated]);
        }
        let limits = Limits { states: Some(400), ..Limits::NONE };
        let search = Search { engine: Engine::Simulation, limits, ..Search::default() };
        assert_eq!(searched(&world, &["decided"], &search).decisions[0].verdict, Verdict::Violated);
    }
}

#[test]
fn a_trace_says_what_was_chosen_and_is_refused_with_another_outcome() {
    let world = cold(Timing::Perfect);
    let report = searched(&world, &["decided"], &Search::default());
    let decision = &report.decisions[0];
    let found = decision.counterexample.as_ref().expect("both can defer");
    let mut text = Vec::new();
    found.trace(&world, &decision.property).write(&mut text).expect("memory");
    let mut read = Trace::read(&text[..]).expect("a trace");
    let (steps, rounds) = certify(&read, &world).expect("what it says").rounds(1);
    assert_eq!(steps, found.steps);
    assert!(rounds.is_empty(), "{rounds:?}");
    let mut told = story::sentences(&read);
    told.sort();
    assert_eq!(told, [1, 2].map(|id| format!("P{id} chooses defer. It is now deferring.")));
    assert_eq!(read.steps[0].event, Event::Choose { outcome: json!("defer") });
    read.steps[0].event = Event::Choose { outcome: json!("claim") };
    let refused = read.actions(&world);
    assert!(matches!(refused, Err(TraceError::Differs { step: 1, .. })), "{refused:?}");
}

#[test]
fn a_step_says_what_there_is_to_choose() {
    let scenario = Scenario::calm(2).with_crashes(1, 1);
    let world = World::new(Nearest, scenario).expect("possible");
    let trace = Trace::record(&world, &[Action::Crash(TWO), Action::Recover(TWO)], None);
    assert_eq!(trace.steps[1].choices, ["claim", "defer"]);
    assert!(trace.steps[1].armed.is_empty() && trace.steps[1].changed[&2].timers.is_empty());
    let told = "P2 recovers. It is now starting and has to choose claim or defer.";
    assert_eq!(story::sentences(&trace)[1], told);
}

/// Of three, all follow the first at the beginning, and nothing happens.
#[test]
fn a_group_that_agrees_on_the_process_that_it_prefers_is_stable() {
    let world = World::new(Nearest, Scenario::calm(3)).expect("possible");
    let report = searched(&world, &["follower-bound", "stabilises"], &Search::default());
    assert_eq!(report.verdict(), Verdict::Holds);
}

/// The process of the highest rank is the one of the lowest id here. If it is down, the next claims
/// to lead. If the last of the ranking, 3, restarts and claims, so does 2, which is nearer; both
/// are astray, as 1 still leads.
#[test]
fn a_calm_election_goes_by_the_rank() {
    let start = Start::Cold;
    let scenario = Scenario { start, ..Scenario::calm(3).with_crashes(1, 0) };
    let world = World::new(Nearest, scenario).expect("possible");
    let found = round(&world, "astray", Starters::Some(Group::None), 1).expect("an election");
    assert_eq!((found.actions[0], found.count), (Action::Crash(ONE), 0));
    let world = World::new(Nearest, Scenario::calm(3).with_crashes(1, 1)).expect("possible");
    let found = round(&world, "astray", Starters::Some(Group::Restarted), 0).expect("an election");
    assert_eq!((found.actions[0], found.count), (Action::Crash(Id::at(2)), 2));
}

#[test]
fn the_clock_waits_for_a_choice() {
    let world = cold(Timing::Timed(Timed::of(Delay::AtMost(1), Durations::NONE)));
    let may_tick =
        |actions: &[Action]| world.actions(&after(&world, actions)).contains(&Action::Tick);
    assert!(!may_tick(&[]));
    assert!(!may_tick(&[chooses(ONE, Timer::Defer)]));
    assert!(may_tick(&[chooses(ONE, Timer::Defer), chooses(TWO, Timer::Defer)]));
}
