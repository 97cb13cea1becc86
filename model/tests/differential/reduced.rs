//! Without dead messages, the same is found in fewer states.

use super::explore;
use super::scenario::{Case, cases, every_protocol};
use bellwether_model::check::{CheckError, Limits, Options, Reason, Reduction, Verdict, check};
use bellwether_model::property::Property;
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::bully::{Bully, Timer};
use bellwether_model::protocol::{Id, REGISTRY};
use bellwether_model::world::{Action, Budget, Faults, Scenario, State, Timing, World};
use serde_json::Value;
use std::cell::Cell;

/// The most states that are searched.
const MOST: u64 = 20_000;

/// How many states there are, and the verdict and the execution for each property.
type Found = (u64, Vec<(&'static str, Verdict, Value)>);

/// What is found; `None` if there are too many states, or the reduction has nothing to say.
fn found(case: &Case, asked: &[Property], reduction: Reduction) -> Option<Found> {
    let world = case.world().ok()?;
    let limits = Limits { states: Some(MOST), ..Limits::NONE };
    let options = Options { limits, reduction, ..Options::default() };
    let report = match check(&world, asked, &options, &mut |_| {}) {
        Ok(report) => report,
        Err(CheckError::NotReduced(_) | CheckError::NothingReduced) => return None,
        Err(error) => panic!("{error}"),
    };
    let all = serde_json::to_value(&report).expect("JSON");
    let shown = all["properties"].as_array().expect("a list");
    let decisions = report.decisions.iter().zip(shown).filter(|(decision, _)| {
        !matches!(decision.reason, Some(Reason::NotReduced | Reason::AsksForMessages))
    });
    let decisions = decisions.map(|(decision, shown)| {
        (decision.property.name, decision.verdict, shown["counterexample"].clone())
    });
    (report.cut_short.is_none()).then(|| (report.counts.distinct, decisions.collect()))
}

#[test]
fn without_dead_messages_the_same_is_found() {
    let fewer = Cell::new(0_u32);
    let mut protocols = every_protocol();
    // The numbers of the others grow without end; they are refused.
    protocols.retain(|name| !REGISTRY.find(name).expect("it exists").canonicalizes());
    explore(100, cases(&protocols), |case| {
        let Scenario { faults, .. } = case.scenario;
        let faults = Faults { losses: Budget::NONE, duplicates: 0, ..faults };
        let case = case.with(Scenario { faults, capacity: None, ..case.scenario });
        let Ok(world) = case.world() else { return Ok(false) };
        let mut asked = property::select(&world, &[]).expect("the usual ones");
        asked.retain(|property| property.kind() != Kind::Liveness);
        let Some((left, ours)) = found(&case, &asked, Reduction::DeadMessages) else {
            return Ok(false);
        };
        let Some((all, mut theirs)) = found(&case, &asked, Reduction::None) else {
            return Ok(false);
        };
        theirs.retain(|(name, ..)| ours.iter().any(|(ours, ..)| ours == name));
        fewer.set(fewer.get() + u32::from(left < all));
        match left <= all && ours == theirs {
            true => Ok(true),
            false => Err(format!("{left} states: {ours:?}\n{all} states: {theirs:?}")),
        }
    });
    println!("{} worlds have fewer states", fewer.get());
    assert!(fewer.get() > 0, "nothing is left out anywhere");
}

/// Why heartbeats are not left out that tell their receiver what it knows.
#[test]
fn a_heartbeat_that_told_nothing_new_is_heeded_when_it_is_late() {
    let calm = Scenario { timing: Timing::Asynchronous, ..Scenario::calm(3) };
    let world = World::new(Bully::RECOMMENDED, calm.with_crashes(1, 0)).expect("a small world");
    let world = world.without_dead_messages().expect("a world that can be reduced");
    let [follower, _, leader] = [1, 2, 3].map(|number| Id::at(number - 1));
    let expires = |of: Id, which: Timer| {
        move |action: &Action| match *action {
            Action::Expire { id, timer, .. } => id == of && timer.get::<Bully>() == which,
            _ => false,
        }
    };
    let arrives = |action: &Action| match action {
        Action::Deliver(sent) => (sent.from, sent.to) == (leader, follower),
        _ => false,
    };
    let crashes = |action: &Action| matches!(action, Action::Crash(id) if *id == leader);
    let after = |state: &State, is: &dyn Fn(&Action) -> bool| {
        let mut enabled = Vec::new();
        world.enabled(state, &mut enabled);
        let action = enabled.iter().find(|action| is(action)).expect("it can happen");
        world.apply(state, action).state
    };
    let sent = after(&world.initial(), &expires(leader, Timer::Heartbeat));
    // It tells nothing new.
    assert_eq!(after(&sent, &arrives).process(follower), sent.process(follower));
    let crashed = after(&sent, &crashes);
    let suspects = after(&crashed, &expires(follower, Timer::Watch));
    assert_eq!(suspects.process_of::<Bully>(follower).leader, None);
    let late = after(&suspects, &arrives);
    assert!(late.process_of::<Bully>(follower).leader == Some(leader) && !late.up(leader));
}
