//! The election of OSPF's designated router, besides the verdicts that
//! `model/verdicts/ospf-dr.toml` lists: who is in office where a better one does not take over, and
//! that both engines see the same states.

use bellwether_model::check::{Engine, Options, check};
use bellwether_model::property;
use bellwether_model::protocol::ospf_dr::{Interface, OspfDr};
use bellwether_model::world::{Scenario, World};

#[test]
fn who_was_the_best_comes_back_without_an_office() {
    let world =
        World::new(OspfDr::RFC2328, Scenario::calm(3).with_crashes(1, 1)).expect("possible");
    let asked = property::select(&world, &["validity".to_owned()]).expect("it exists");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("asked");
    let found = report.decisions[0].counterexample.as_ref().expect("it is violated");
    let end = found.steps.iter().fold(world.initial(), |s, step| world.apply(&s, step).state);
    let interfaces: Vec<_> = end.ids().map(|id| end.process_of::<OspfDr>(id).interface).collect();
    assert_eq!(interfaces, [Interface::Backup, Interface::Dr, Interface::DrOther]);
}

#[test]
fn both_engines_see_the_same_states() {
    let world =
        World::new(OspfDr::RFC2328, Scenario::calm(2).with_crashes(1, 1)).expect("possible");
    let asked = property::select(&world, &["never-both".to_owned()]).expect("it exists");
    let states = |engine| {
        let options = Options { engine, ..Options::default() };
        check(&world, &asked, &options, &mut |_| {}).expect("asked").counts.distinct
    };
    assert_eq!(states(Engine::Exact), states(Engine::Bfs));
}
