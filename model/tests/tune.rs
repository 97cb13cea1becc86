//! `tune`, as a library.

use bellwether_model::check::Options;
use bellwether_model::machine::machine;
use bellwether_model::property::TIMEOUTS_ACCURATE;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::tune::{self, Fit, Question};
use bellwether_model::world::{Delay, Durations, Scenario, Timed};

fn question(rules: Bully, property: &str, nodes: usize) -> Question {
    let most = 24;
    let given = Durations::of([("t-detect", 3)]).expect("one");
    let given = Timed::of(Delay::AtMost(1), given);
    Question {
        rules: machine(rules),
        scenario: Scenario::calm(nodes).with_crashes(1, 0),
        given,
        sought: tune::time_outs(&*machine(rules)),
        property: property.to_owned(),
        most,
        options: Options::default(),
    }
}

#[test]
fn the_shortest_time_outs_are_linear_in_the_delays() {
    let question = question(Bully::BASELINE, TIMEOUTS_ACCURATE, 3);
    let mut found = [Vec::new(), Vec::new()];
    for tm in 1..=3 {
        for tp in 0..=2 {
            let row = question.row(tm, tp, &mut |_, _, _| {}).expect("possible");
            for (name, numbers) in ["t-elec", "t-coord"].iter().zip(&mut found) {
                numbers.push((tm, tp, row.ticks(name).expect("there is one")));
            }
        }
    }
    let forms = found.map(|numbers| match Fit::of(&numbers) {
        Fit::Form(form) => form.to_string(),
        other => format!("{other:?}"),
    });
    assert_eq!(forms, ["2·Tm + Tp + 1", "3·Tm + Tp + 2"]);
}

/// By the recommended rules a candidate may believe the last heartbeat of a leader that is gone,
/// and have to notice that again.
#[test]
fn a_stale_heartbeat_makes_detection_a_part_of_the_wait() {
    for t_detect in [0, 2, 5] {
        let given = Durations::of([("t-detect", t_detect), ("t-heartbeat", 3)]).expect("two");
        let mut question = question(Bully::RECOMMENDED, TIMEOUTS_ACCURATE, 3);
        question.given.durations = given;
        for (tm, tp) in [(1, 0), (1, 1), (2, 0), (3, 1)] {
            let row = question.row(tm, tp, &mut |_, _, _| {}).expect("possible");
            let found = (row.ticks("t-elec"), row.ticks("t-coord"));
            assert_eq!(found, (Some(2 * tm + tp + 1), Some(4 * tm + tp + t_detect + 2)));
        }
    }
}

/// Two leaders at the same time are a matter of `T_elec`; a `T_coord` that is too short only holds
/// elections that no process needs.
#[test]
fn which_time_out_matters_depends_on_the_property() {
    let row = |property| {
        let row = question(Bully::BASELINE, property, 3).row(2, 0, &mut |_, _, _| {});
        let row = row.expect("possible");
        (row.ticks("t-elec"), row.ticks("t-coord"))
    };
    assert_eq!(row("at-most-one-leader"), (Some(5), Some(1)));
    assert_eq!(row("stabilises"), (Some(1), Some(1)));
}
