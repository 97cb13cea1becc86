//! Stoller's election, besides the verdicts that `model/verdicts/stoller.toml` lists: which
//! time-outs are enough, what renaming merges, what a takeover costs, and that stateright decides
//! the same.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{self, Engine, Limits, Options, Report, check};
use bellwether_model::property;
use bellwether_model::protocol::stoller::{Elid, Message, Process, Query, Stoller};
use bellwether_model::protocol::{Protocol, enough};
use bellwether_model::world::{
    Durations, Envelope, Faults, Scenario, Start, State, Symmetry, World,
};
use std::collections::{BTreeSet, HashSet};

fn report(rules: Stoller, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let properties = property::select(&world, &[]).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn variant(name: &str) -> Stoller {
    Stoller::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

/// Every state of a world, by the world itself.
fn states(world: &World) -> Vec<State> {
    let mut found = vec![world.initial()];
    let mut known: HashSet<State> = found.iter().cloned().collect();
    for at in 0.. {
        let Some(state) = found.get(at).cloned() else { break };
        let mut actions = Vec::new();
        world.enabled(&state, &mut actions);
        for action in actions {
            let next = world.apply(&state, &action).state;
            if world.within_bounds(&next) && known.insert(next.clone()) {
                found.push(next);
            }
        }
    }
    found
}

/// A question and its answer take two ticks. `model/verdicts/stoller.toml` has what goes wrong if
/// `t-ask` is no longer than that, and that nothing does if it is three.
#[test]
fn what_is_called_enough_outlasts_a_question_and_its_answer() {
    let enough = Durations::of(enough::<Stoller>()).expect("short enough");
    let least = Durations::of([("t-detect", 1), ("t-ask", 3)]).expect("short enough");
    assert_eq!(enough, least);
}

/// What is renamed is what is kept, with other names: nothing is lost, nothing is added.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn renaming_merges_what_differs_in_names_only() {
    let scenario = Scenario::calm(3).with_crashes(2, 1);
    let scenario = Scenario { faults: Faults { suspicions: 1, ..scenario.faults }, ..scenario };
    for rules in [Stoller::RECOMMENDED, Stoller::SYNCHRONOUS, variant("asynchronous")] {
        let kept = World::new(rules, Scenario { symmetry: Symmetry::Concrete, ..scenario })
            .expect("possible");
        let renamed = World::new(rules, scenario).expect("possible");
        let (kept, renamed) = (states(&kept), states(&renamed));
        assert!(kept.len() > renamed.len(), "{} and {}", kept.len(), renamed.len());
        let anonymous =
            |states: &[State]| -> BTreeSet<String> { states.iter().map(without_names).collect() };
        assert_eq!(anonymous(&kept), anonymous(&renamed));
    }
}

/// A state in words, elections being called by their place among those of their owner.
fn without_names(state: &State) -> String {
    let mut names: Vec<Elid> =
        state.ids().filter_map(|id| state.process_of::<Stoller>(id).elid).collect();
    names.extend(state.in_flight().iter().filter_map(|e| name(*e.message.get::<Stoller>())));
    names.sort_unstable();
    names.dedup();
    let place = |elid: Elid| {
        let before = names.iter().filter(|n| n.owner == elid.owner && **n < elid).count();
        format!("{}#{before}", elid.owner)
    };
    let process = |p: &Process| {
        let Process { status, ldr, elid, down, acks, pendack, plays_dead, .. } = p;
        let elid = elid.map(place);
        format!("{status:?} {ldr:?} {elid:?} {down:?} {acks:?} {pendack:?} {plays_dead}")
    };
    let message = |e: &Envelope| {
        let kind = format!("{:?}", e.message);
        let kind = kind.split('(').next().unwrap_or_default();
        format!("{} {} {kind} {:?}", e.from, e.to, name(*e.message.get::<Stoller>()).map(place))
    };
    let processes: Vec<_> = state
        .ids()
        .map(|id| {
            format!(
                "{} {} {:?}",
                state.up(id),
                process(state.process_of::<Stoller>(id)),
                state.timers(id)
            )
        })
        .collect();
    let flight: Vec<_> = state.in_flight().iter().map(message).collect();
    format!("{processes:?} {flight:?} {}", state.spent())
}

fn name(message: Message) -> Option<Elid> {
    match message {
        Message::Halt(t) | Message::Ack(t) | Message::Rej(t) | Message::Ldr(t) => Some(t),
        Message::NormQ(t) | Message::NotNorm(t) | Message::HasLeader(t) => Some(t),
        Message::IsLeader(t) | Message::NotLeader(t) => Some(t),
        Message::Restarted => None,
    }
}

/// Stage 2 asks each lower process once: HALT, ACK, LDR.
#[test]
fn a_takeover_costs_three_messages_for_each_process_that_follows() {
    let rules = Stoller { query: Query::None, ..Stoller::RECOMMENDED };
    for nodes in 2..=5 {
        let followers = nodes as u64 - 1;
        let cold = Scenario { start: Start::Cold, ..Scenario::calm(nodes) };
        let takeover = Scenario::calm(nodes).with_crashes(1, 0);
        for (scenario, followers) in [(cold, followers), (takeover, followers - 1)] {
            let found = most(rules, scenario);
            assert_eq!(found("messages"), Some(3 * followers), "{scenario}");
            for kind in ["messages/halt", "messages/ack", "messages/ldr"] {
                assert_eq!(found(kind), Some(followers), "{scenario}: {kind}");
            }
        }
    }
}

/// The most of everything that is counted; 0 of what never happens, none of what has no bound.
fn most(rules: Stoller, scenario: Scenario) -> impl Fn(&str) -> Option<u64> {
    let world = World::new(rules, scenario).expect("possible");
    let found = bounds(&world, Until::Rest, (Limits::NONE, 1), &mut |_| {}).expect("threads");
    move |name: &str| match found.lines.iter().find(|line| line.name() == name).map(|l| &l.bound) {
        Some(Bound::Most(most, _)) => Some(*most),
        Some(Bound::Unbounded(_)) => None,
        None => Some(0),
    }
}

#[test]
fn stateright_counts_the_same() {
    for rules in [Stoller::RECOMMENDED, Stoller::SYNCHRONOUS, variant("asynchronous")] {
        for symmetry in [Symmetry::Reduced, Symmetry::Concrete] {
            let scenario = Scenario { symmetry, ..Scenario::calm(3).with_crashes(1, 1) };
            let exact = report(rules, scenario);
            let properties: Vec<_> = exact.decisions.iter().map(|d| d.property.clone()).collect();
            let options = Options { engine: Engine::Bfs, ..Options::default() };
            let theirs = check::check(&exact.world, &properties, &options, &mut |_| {});
            let theirs = theirs.expect("the same counts");
            for (ours, theirs) in exact.decisions.iter().zip(&theirs.decisions) {
                assert_eq!(ours.verdict, theirs.verdict, "{}", ours.property.name);
            }
        }
    }
}
