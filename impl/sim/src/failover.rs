//! The costs of a failover, in which the leader of a calm group crashes, and another takes its
//! place; and these costs as a table.

use std::fmt::Write as _;
use std::time::Duration;

use bellwether_core::member::Command;
use bellwether_core::protocol::{NodeId, Role};
use serde::Serialize;

use crate::clock::Moment;
use crate::invariant::{Face, Terms};
use crate::random::Random;
use crate::subject::{Quorum, Subject, Visitor, with};
use crate::world::{Setting, World};

/// How many failovers are measured for each number of nodes.
const REPEATS: u64 = 3;

/// The numbers of nodes, and the protocols that are asked for so many.
pub const SIZES: [(usize, &[&str]); 8] = [
    (3, ALL),
    (5, ALL),
    (9, ALL),
    (20, ALL),
    (50, ALL),
    (100, ALL),
    (255, ALL),
    (1_000, &["quorum"]),
];

/// The protocols that are measured.
pub const ALL: &[&str] = &["bully", "garcia-molina", "quorum"];

/// The highest costs of some failovers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The protocol.
    pub protocol: String,
    /// How many nodes there were before the crash.
    pub nodes: usize,
    /// From the crash to the first node that runs.
    pub detection: Duration,
    /// From there to the new leader.
    pub election: Duration,
    /// From the new leader to the last node that follows it.
    pub spread: Duration,
    /// Messages from the detection on until all follow.
    pub messages: u64,
}

/// Measures a protocol with so many nodes.
#[must_use]
pub fn measure(protocol: &str, nodes: usize) -> Option<Cost> {
    with(protocol, Measures { nodes })
}

struct Measures {
    nodes: usize,
}

impl Visitor for Measures {
    type Output = Cost;

    fn visit<S: Subject>(self) -> Cost {
        let nodes = self.nodes;
        let mut most = Cost { protocol: S::NAME.to_owned(), nodes, ..Cost::default() };
        for one in (1..=REPEATS).map(|seed| failover::<S>(nodes, seed)) {
            most.detection = most.detection.max(one.detection);
            most.election = most.election.max(one.election);
            most.spread = most.spread.max(one.spread);
            most.messages = most.messages.max(one.messages);
        }
        most
    }
}

/// Returns a group of founders in which nothing goes wrong, and that has had a leader for two
/// seconds and a bit.
fn calm<S: Subject>(nodes: usize, seed: u64) -> World<S> {
    let never = Moment(u64::MAX);
    let setting = Setting {
        nodes,
        seed,
        wrong: None,
        voters: None,
        plan: Vec::new(),
        terms: Terms { from: never, calm: Moment(0), bound: Duration::MAX },
        end: never,
        starts: Duration::from_millis(20),
        founded: true,
        prepares: false,
        trace: false,
    };
    let mut world = World::<S>::new(setting, Vec::new());
    wait(&mut world, |world| world.agreed.is_some());
    let pause = Random::of(&[seed, 0xfa11]).duration(Duration::ZERO, Duration::from_millis(250));
    let later = world.now + Duration::from_secs(2) + pause;
    world.run_until(later);
    world
}

/// Runs one failover, in a group that has been calm.
fn failover<S: Subject>(nodes: usize, seed: u64) -> Cost {
    let mut world = calm::<S>(nodes, seed);
    let crash = world.now;
    let leader = world.faces.iter().position(|face| face.role == Role::Leader);
    world.remove(leader.unwrap_or_default());
    let is = |roles: &'static [Role]| {
        move |world: &World<S>| world.faces.iter().any(|face| roles.contains(&face.role))
    };
    let detected = wait(&mut world, is(&[Role::Candidate, Role::Waiting]));
    let before = world.counts.sent;
    let leads = wait(&mut world, is(&[Role::Leader]));
    let agreed = wait(&mut world, |world| world.agreed.is_some());
    Cost {
        detection: detected.since(crash),
        election: leads.since(detected),
        spread: agreed.since(leads),
        messages: world.counts.sent - before,
        ..Cost::default()
    }
}

/// Returns for how long no node leads while the leader of a calm group of the quorum bully hands
/// over to the next lower node: from the moment at which the leader stops, which the leader chooses,
/// to the moment at which the other leads. `None` if the other does not come to lead.
#[must_use]
pub fn handover(nodes: usize, seed: u64) -> Option<Duration> {
    let mut world = calm::<Quorum<0>>(nodes, seed);
    let (_, leader) = world.agreed?;
    let next = NodeId::new(leader.get() - 1)?;
    world.ask(usize::from(leader.get()) - 1, Command::HandOver(Some(next)));
    let stopped =
        wait(&mut world, |world| world.faces.iter().all(|face| face.role != Role::Leader));
    let is_next = |face: &Face| face.id == next && face.role == Role::Leader;
    let began = wait(&mut world, |world| world.faces.iter().any(is_next));
    let led = world.counts.leaders == 2;
    led.then(|| began.since(stopped))
}

/// Lets things happen until something is so; when that was. Gives up after ten minutes.
fn wait<S: Subject>(world: &mut World<S>, is_so: impl Fn(&World<S>) -> bool) -> Moment {
    let end = world.now + Duration::from_secs(600);
    while !is_so(world) && world.now < end {
        let next = world.next().unwrap_or(end).min(end);
        world.run_until(next);
    }
    world.now
}

/// The costs as a table in Markdown, one row for each number of nodes and protocol.
#[must_use]
pub fn table(costs: &[Cost]) -> String {
    let mut text = String::from(
        "| nodes | protocol | crash to detection | detection to leader | leader to all | messages \
         | messages / nodes |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for cost in costs {
        let Cost { protocol, nodes, detection, election, spread, messages } = cost;
        let ms = |time: &Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        // A `String` takes whatever is written.
        let _ = writeln!(
            text,
            "| {nodes} | `{protocol}` | {} | {} | {} | {messages} | {:.1} |",
            ms(detection),
            ms(election),
            ms(spread),
            *messages as f64 / *nodes as f64
        );
    }
    text
}
