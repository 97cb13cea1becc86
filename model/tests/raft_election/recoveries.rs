//! Crashed processes that must recover: what hides behind the dull execution in which too few are
//! up.

use super::links::logs;
use super::{decision, report, variant, world};
use bellwether_model::check::Report;
use bellwether_model::protocol::Belief;
use bellwether_model::protocol::raft_election::RaftElection;
use bellwether_model::world::{Recovers, Scenario, State};

const TWO_OF_FOUR: Scenario = Scenario::calm(4).with_crashes(2, 1);
const ONE_RETURNS: Scenario = Scenario { recovers: Recovers::Must, ..TWO_OF_FOUR };

/// Pre-votes, with fresher logs at 3 and 4.
fn rules(answer_lower: bool) -> RaftElection {
    RaftElection { answer_lower, logs: logs("0011"), ..variant("prevote") }
}

/// The states that repeat for ever where `name` is violated.
fn states_for_ever(report: &Report, name: &str) -> Vec<State> {
    let found = decision(report, name).counterexample.as_ref().expect("a counterexample");
    let world = &report.world;
    let mut state = world.initial();
    for action in &found.steps {
        state = world.apply(&state, action).state;
    }
    let mut states = vec![state];
    for action in found.cycle.iter().flatten() {
        let last = states.last().expect("the first");
        let next = world.apply(last, action).state;
        states.push(next);
    }
    states
}

fn up(state: &State) -> usize {
    state.ids().filter(|&id| state.up(id)).count()
}

fn some_leads(state: &State) -> bool {
    state.ids().any(|id| state.belief(id) == Some(Belief::Leads))
}

/// Half of four is no majority: even where the one behind is answered, no process leads.
#[test]
fn where_too_few_may_stay_up_that_is_what_is_found() {
    let told = report(rules(true), TWO_OF_FOUR, &["settles"]);
    assert_eq!(states_for_ever(&told, "settles").iter().map(up).max(), Some(2));
}

/// The voters have the higher term, the fresher log has the lower one: it is not answered, and no
/// other gets the vote that it has.
#[test]
fn three_that_are_up_have_no_leader_for_ever_if_the_one_behind_is_not_answered() {
    for (scenario, name) in [(ONE_RETURNS, "settles"), (TWO_OF_FOUR, "majority-settles")] {
        let states = states_for_ever(&report(rules(false), scenario, &[name]), name);
        assert!(states.iter().all(|state| up(state) == 3 && !some_leads(state)), "{states:?}");
    }
}

/// A crash that need not end is quiescent; one that must is not.
#[test]
fn a_recovery_that_is_owed_keeps_a_world_from_rest() {
    let with = |recovers| Scenario { recovers, ..Scenario::calm(3).with_crashes(1, 1) };
    for (recovers, rests) in [(Recovers::May, true), (Recovers::Must, false)] {
        let world = world(RaftElection::RECOMMENDED, with(recovers));
        let named = |state: &State, name: &str| {
            let mut actions = world.actions(state).into_iter();
            actions.find(|action| action.to_string() == name).expect("it may happen")
        };
        let crash = named(&world.initial(), "1 crashes");
        let down = world.apply(&world.initial(), &crash).state;
        assert_eq!(world.is_quiescent(&down), rests, "{recovers:?}");
        assert_eq!(world.is_fair(&named(&down, "1 recovers")), !rests, "{recovers:?}");
    }
}
