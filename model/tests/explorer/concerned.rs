//! The processes that keep a property from holding in a state.

use bellwether_model::explore;
use bellwether_model::property;
use bellwether_model::property::Temporal;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Faults, Scenario, World};

/// However many lead, all of them are concerned: no one of them alone is the mistake.
#[test]
fn of_several_leaders_all_are_concerned() {
    let cut = Scenario { faults: Faults { cuts: 3, ..Faults::NONE }, ..Scenario::calm(3) };
    let world = World::new(Bully::RECOMMENDED, cut).expect("a world");
    let world: &World = &world;
    let property =
        property::select(world, &["at-most-one-leader".to_owned()]).expect("it exists").remove(0);
    let Temporal::Always(asked) = property.temporal else { panic!("it is safety") };
    // What happens next, by a linear congruential generator (Knuth's MMIX).
    let mut random = 1_u64;
    let mut next = |choices: usize| {
        let (factor, more) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        random = random.wrapping_mul(factor).wrapping_add(more);
        (random >> 33) as usize % choices
    };
    let mut most = 0;
    for _ in 0..200 {
        let (mut state, mut path) = (world.initial(), Vec::new());
        for _ in 0..30 {
            let enabled = world.actions(&state);
            if enabled.is_empty() {
                break;
            }
            let action = enabled[next(enabled.len())];
            state = world.apply(&state, &action).state;
            path.push(action);
        }
        for moment in explore::moments(world, &path, std::slice::from_ref(&asked)) {
            let processes = moment.processes.iter();
            let leaders = processes.filter(|one| one.up && one.leader == Some(one.id));
            let leaders: Vec<_> = leaders.map(|one| one.id).collect();
            let expected = if leaders.len() < 2 { &[][..] } else { &leaders };
            assert_eq!(moment.answers[0].concerned, expected);
            most = most.max(leaders.len());
        }
    }
    assert_eq!(most, 3, "all three have led at once");
}
