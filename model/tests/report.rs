//! Stories, diagrams and pictures of executions, drawn from their traces.
//!
//! The SVG pictures of these tests are left in the target directory's `tmp/report`, to be looked
//! at.

use bellwether_docs_runner::is_shown;
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::bully::{Bully, Challenged};
use bellwether_model::protocol::{Id, Protocol};
use bellwether_model::report::{diagram, sequence, shiviz, story, svg};
use bellwether_model::trace::{Event, Shows, Trace};
use bellwether_model::world::{Action, Faults, Network, Scenario, Timing, World};
use proptest::prelude::*;
use std::path::Path;

/// The world with these nodes and faults, otherwise calm.
fn world(rules: Bully, nodes: usize, faults: Faults) -> World {
    World::new(rules, Scenario { faults, ..Scenario::calm(nodes) }).expect("a possible world")
}

/// The actions that read like this, one after the other. A line ending in "..." is repeated as
/// long as an action begins like it.
fn script(world: &World, lines: &str) -> Vec<Action> {
    let mut state = world.initial();
    let mut script = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (wanted, often) = match line.strip_suffix("...") {
            Some(wanted) => (wanted, 50),
            None => (line, 1),
        };
        for nth in 0..often {
            let mut enabled = Vec::new();
            world.enabled(&state, &mut enabled);
            let fits = |a: &&Action| match often {
                1 => a.to_string() == wanted,
                _ => a.to_string().contains(wanted),
            };
            let Some(action) = enabled.iter().find(fits) else {
                assert!(nth > 0, "'{line}' is not among {enabled:#?}");
                break;
            };
            state = world.apply(&state, action).state;
            script.push(*action);
        }
    }
    script
}

fn shows(name: &str, cycle_after: Option<usize>) -> Shows {
    let all = property::all::<Bully>();
    let property = all.iter().find(|p| p.name == name).expect("a property");
    let formula = property.formula.to_owned();
    Shows { property: name.to_owned(), formula, kind: property.kind(), cycle_after, until: None }
}

fn record(world: &World, lines: &str, shows: Option<Shows>) -> Trace {
    Trace::record(world, &script(world, lines), shows)
}

/// Everything of a trace that is text, after its picture was found to be well-formed.
fn told_and_drawn(name: &str, trace: &Trace) -> String {
    let picture = svg::draw(trace);
    keep(name, &picture);
    roxmltree::Document::parse(&picture).expect("well-formed XML");
    format!("{}\n{}", story::tell(trace), diagram::draw(trace, diagram::Options::default()))
}

/// Compares a text with the one in `tests/drawn`. `UPDATE_DOCS=1 cargo test report` writes it anew.
fn is_kept(name: &str, text: &str) {
    let path = format!("model/tests/drawn/{name}.txt");
    is_shown(&path, None, |_| text.trim_end().to_owned() + "\n");
}

fn keep(name: &str, picture: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    std::fs::write(folder.join(name).with_extension("svg"), picture).expect("a picture");
}

#[test]
fn a_leader_crashes_and_the_next_one_takes_over() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "3 crashes
         1's watch timer expires
         2 gets ELECTION from 1
         1 gets OK from 2
         3 gets ELECTION from 1
         3 gets ELECTION from 2
         2's election timer expires
         1 gets COORDINATOR from 2",
        Some(shows("succession", None)),
    );
    is_kept("succession", &told_and_drawn("succession", &trace));
}

#[test]
fn two_lead_after_a_recovery() {
    let faults = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "3 crashes
         2's watch timer expires
         3 gets ELECTION from 2
         2's election timer expires
         3 recovers
         1 gets COORDINATOR from 3
         1 gets COORDINATOR from 2",
        Some(shows("at-most-one-leader", None)),
    );
    is_kept("two-leaders", &told_and_drawn("two-leaders", &trace));
}

#[test]
fn every_fault_is_told() {
    let faults = Faults { losses: 1.into(), duplicates: 1, cuts: 1, suspicions: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "1's watch timer expires too early
         ELECTION from 1 to 2 is doubled
         2 gets ELECTION from 1
         2 gets ELECTION from 1
         OK from 2 to 1 is lost
         the link between 1 and 3 is cut
         1 gets OK from 2
         the link between 1 and 3 heals",
        None,
    );
    is_kept("faults", &told_and_drawn("faults", &trace));

    let picture = svg::draw(&trace);
    let document = roxmltree::Document::parse(&picture).expect("well-formed XML");
    let count =
        |class| document.descendants().filter(|n| n.attribute("class") == Some(class)).count();
    assert_eq!(count("bw-msg bw-delivered"), 3, "two of the doubled ELECTION, one OK");
    assert_eq!(count("bw-msg"), 2, "the lost OK, and the ELECTION on the cut link");
    assert_eq!(count("bw-stub"), 1, "the ELECTION that is in flight at the end");
    assert_eq!(count("bw-cross"), 4, "two lost messages, two ends of the cut link");
}

#[test]
fn a_cut_of_one_direction_is_told_with_its_direction() {
    let world = world(Bully::BASELINE, 3, Faults { one_way_cuts: 2, ..Faults::NONE });
    let steps = "the link from 3 to 1 is cut
                 the link from 1 to 2 is cut
                 the link from 3 to 1 heals
                 the link from 1 to 2 heals";
    let trace = record(&world, steps, None);
    let told = story::tell(&trace);
    for line in steps.lines().map(str::trim) {
        let line = line.replacen("the", "The", 1).replace("from ", "from P").replace("to ", "to P");
        assert!(told.contains(&line), "{line}: {told}");
    }
    let options = diagram::Options { width: Some(100), ..diagram::Options::default() };
    let drawn = diagram::draw(&trace, options);
    for words in ["◄ cut ╳", "╳ cut ►", "◄ heals", "heals ►"] {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    let picture = svg::draw(&trace);
    assert!(
        picture.contains("link cut P3→P1") && picture.contains("link heals P1→P2"),
        "{picture}"
    );
}

#[test]
fn heartbeats_repeat_for_ever() {
    let faults = Faults { crashes: 1, cuts: 1, ..Faults::NONE };
    let rules = Bully { challenged: Challenged::Elects, ..Bully::RECOMMENDED };
    let world = world(rules, 3, faults);
    let stem = "the link between 1 and 3 is cut
                1's watch timer expires
                2 gets ELECTION from 1
                1 gets OK from 2
                3 gets ELECTION from 2
                2 gets OK from 3
                2 gets COORDINATOR from 3";
    let cycle = "3's heartbeat timer expires
                 2 gets COORDINATOR from 3";
    let before = script(&world, stem).len();
    let trace =
        record(&world, &format!("{stem}\n{cycle}"), Some(shows("stabilises", Some(before))));
    is_kept("cycle", &told_and_drawn("cycle", &trace));

    let stuck = record(&world, stem, Some(shows("stabilises", Some(before))));
    let text = told_and_drawn("stuck", &stuck);
    assert!(text.contains("From here nothing happens any more."), "{text}");
    assert!(text.contains("━━ from here nothing happens any more ━"), "{text}");
}

#[test]
fn five_processes_and_two_crashes() {
    let faults = Faults { crashes: 2, recoveries: 1, losses: 1.into(), ..Faults::NONE };
    let world = world(Bully::BASELINE, 5, faults);
    let trace = record(
        &world,
        "5 crashes
         2's watch timer expires
         3 gets ELECTION from 2
         4 gets ELECTION from 2
         2 gets OK from 4
         OK from 3 to 2 is lost
         4 gets ELECTION from 3
         3 gets OK from 4
         5 gets ELECTION from 2
         5 gets ELECTION from 3
         5 gets ELECTION from 4
         4's election timer expires
         1 gets COORDINATOR from 4
         5 recovers
         1 gets COORDINATOR from 5
         4 crashes
         2 gets COORDINATOR from 5
         2 gets COORDINATOR from 4
         3 gets COORDINATOR from 5
         3 gets COORDINATOR from 4
         3's watch timer expires
         4 gets COORDINATOR from 5",
        Some(shows("agreement", None)),
    );
    is_kept("five", &told_and_drawn("five", &trace));
}

#[test]
fn seven_processes_stay_legible() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 7, faults);
    let trace = record(
        &world,
        "7 crashes
         1's watch timer expires
         gets ELECTION from 1...
         gets ELECTION from 5...
         gets OK from...
         6's election timer expires
         gets COORDINATOR from...",
        Some(shows("decided", None)),
    );
    let text = told_and_drawn("seven", &trace);
    let mut drawn = text.lines().skip_while(|line| !line.starts_with("      P1")).peekable();
    assert!(drawn.peek().is_some(), "{text}");
    assert!(drawn.all(|line| line.chars().count() <= 118), "{text}");
    is_kept("seven", &text);
}

#[test]
fn a_long_execution_is_folded() {
    let world = world(Bully::RECOMMENDED, 3, Faults { crashes: 1, ..Faults::NONE });
    let beat = "3's heartbeat timer expires
                1 gets COORDINATOR from 3
                2 gets COORDINATOR from 3\n";
    let trace = record(&world, &format!("{}3 crashes", beat.repeat(30)), None);
    let text = told_and_drawn("folded", &trace);
    assert!(text.contains("… steps 4 to 87: steps 1 to 3 again, 28 times …"), "{text}");
    is_kept("folded", &text);

    // What repeats for ever is never folded together with what comes before.
    let lasso = record(&world, &beat.repeat(30), Some(shows("stabilises", Some(87))));
    let text = told_and_drawn("folded-lasso", &lasso);
    assert!(text.contains("… steps 4 to 84: steps 1 to 3 again, 27 times …"), "{text}");
    assert!(text.contains("Steps 88 to 90 repeat for ever."), "{text}");
    assert!(text.contains("│ 88  │"), "{text}");
}

#[test]
fn a_diagram_can_have_colour() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 2, faults);
    let lines = "2 crashes
                 1's watch timer expires
                 2 gets ELECTION from 1
                 1's election timer expires";
    let trace = record(&world, lines, Some(shows("succession", None)));
    let plain = diagram::draw(&trace, diagram::Options::default());
    assert!(!plain.contains('\u{1b}'));
    let options = diagram::Options { colour: true, ..Default::default() };
    let coloured = anstream::adapter::strip_str(&diagram::draw(&trace, options)).to_string();
    assert_eq!(coloured, plain);
}

#[test]
fn a_given_width_is_kept() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 5, faults);
    let lines = "5 crashes\n 1's watch timer expires\n gets ELECTION from 1...";
    let trace = record(&world, lines, Some(shows("decided", None)));
    for (width, options) in [(110, None), (80, Some(80))] {
        let options = diagram::Options { width: options, ..Default::default() };
        let text = diagram::draw(&trace, options);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn what_a_hand_edited_trace_says_cannot_escape() {
    let world = world(Bully::BASELINE, 2, Faults { crashes: 1, ..Faults::NONE });
    let mut trace = record(&world, "2 crashes", Some(shows("decided", None)));
    let evil = "<script>alert('&\"')</script>\u{1b}[2J\u{0}\n]]>";
    trace.header.protocol = evil.to_owned();
    trace.header.variant = evil.to_owned();
    for lifeline in trace.header.initial.values_mut() {
        lifeline.role = evil.to_owned();
        lifeline.timers = vec![evil.to_owned()];
    }
    if let Some(shows) = &mut trace.header.shows {
        shows.property = evil.to_owned();
        shows.formula = evil.to_owned();
    }
    let text = told_and_drawn("evil", &trace);
    assert!(!text.contains(['\u{1b}', '\u{0}']));
    let picture = svg::draw(&trace);
    assert!(!picture.contains("<script"));
}

/// The Explorer draws a picture for every state that may come next.
#[test]
fn a_picture_is_drawn_in_a_moment() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 7, faults);
    let lines = "7 crashes\n 1's watch timer expires\n gets ELECTION from 1...\n gets OK from...";
    let trace = record(&world, lines, None);
    let drawn = |_| {
        let start = std::time::Instant::now();
        std::hint::black_box(svg::draw(&trace));
        start.elapsed()
    };
    // The machine may have much else to do at most of the times.
    let fastest = (0..100).map(drawn).min().expect("some");
    println!("{} steps: {fastest:?}", trace.steps.len());
    assert!(fastest.as_millis() < 10, "{fastest:?}");
}

/// A random execution of a random world.
fn walk(
    rules: Bully,
    nodes: usize,
    faults: [u8; 7],
    network: Network,
    timing: Timing,
    choices: &[usize],
) -> Option<Trace> {
    let [crashes, recoveries, losses, duplicates, cuts, one_way_cuts, suspicions] = faults;
    let losses = losses.into();
    let faults = Faults { one_way_cuts, suspicions, ..Faults::NONE };
    let faults = Faults { crashes, recoveries, losses, duplicates, cuts, ..faults };
    let scenario = Scenario { faults, network, timing, ..Scenario::calm(nodes) };
    let world = World::new(rules, scenario).ok()?;
    let mut state = world.initial();
    let mut actions = Vec::new();
    for choice in choices {
        let mut enabled = Vec::new();
        world.enabled(&state, &mut enabled);
        let Some(action) = enabled.get(choice % enabled.len().max(1)) else { break };
        state = world.apply(&state, action).state;
        actions.push(*action);
    }
    let all = property::all::<Bully>();
    let property = &all[choices.len() % all.len()];
    let after = (property.kind() == Kind::Liveness).then_some(actions.len() / 2);
    Some(Trace::record(&world, &actions, Some(shows(property.name, after))))
}

prop_compose! {
    fn walks()(
        variant in 0..Bully::VARIANTS.len(),
        nodes in 2..=7_usize,
        faults in prop::array::uniform7(0..3_u8),
        network in prop::sample::select(vec![Network::Fifo, Network::Unordered, Network::Set]),
        timing in prop::sample::select(vec![Timing::Perfect, Timing::Asynchronous]),
        choices in prop::collection::vec(any::<usize>(), 0..60),
    ) -> Option<Trace> {
        walk(Bully::VARIANTS[variant].rules, nodes, faults, network, timing, &choices)
    }
}

/// Everything that can be drawn of a trace.
fn draw_all(trace: &Trace) -> String {
    let narrow = diagram::Options { colour: true, width: Some(10), bare: false };
    let _ = (story::tell(trace), diagram::draw(trace, narrow));
    let _ = diagram::draw(trace, diagram::Options::default());
    let _ = (sequence::mermaid(trace), shiviz::log(trace));
    svg::draw(trace)
}

proptest! {
    #[test]
    fn every_arrival_is_one_arrow(trace in walks()) {
        let Some(trace) = trace else { return Ok(()) };
        let picture = draw_all(&trace);
        let document = roxmltree::Document::parse(&picture).expect("well-formed XML");
        let class = |name| {
            let classes = document.descendants().filter_map(|n| n.attribute("class"));
            classes.filter(|c| c.split(' ').any(|c| c == name)).count()
        };
        let arrivals = |up: bool| {
            let mut now = trace.header.initial.clone();
            trace.steps.iter().filter(|step| {
                let hit = match &step.event {
                    Event::Deliver(flight) => now[&flight.to.number()].up == up,
                    Event::Lose(_) => !up,
                    _ => false,
                };
                now.extend(step.changed.clone());
                hit
            }).count()
        };
        prop_assert_eq!(class("bw-delivered"), arrivals(true));
        let cut = trace.steps.iter().filter(|s| matches!(s.event, Event::Cut { .. })).count();
        let ended = class("bw-msg") - class("bw-delivered");
        prop_assert!(ended == arrivals(false) || cut > 0);
        prop_assert_eq!(document.descendants().filter(|n| n.has_attribute("id")).count(), 0);
    }

    #[test]
    fn a_nonsensical_trace_is_drawn_all_the_same(
        trace in walks(),
        other in walks(),
        damage in prop::collection::vec(
            (0..10_u8, any::<prop::sample::Index>(), 1..=255_u8),
            1..20,
        ),
    ) {
        let (Some(mut trace), Some(other)) = (trace, other) else { return Ok(()) };
        for (kind, at, value) in damage {
            harm(&mut trace, &other, kind, &at, value);
        }
        let picture = draw_all(&trace);
        roxmltree::Document::parse(&picture).expect("well-formed XML");
    }
}

/// Damages a trace as a slip of the hand may.
fn harm(trace: &mut Trace, other: &Trace, kind: u8, at: &prop::sample::Index, value: u8) {
    let id: Id = serde_json::from_value(value.into()).expect("an id");
    if trace.steps.is_empty() {
        trace.steps.clone_from(&other.steps);
        return;
    }
    let nth = at.index(trace.steps.len());
    match kind {
        0 => drop(trace.steps.remove(nth)),
        1 => trace.steps.insert(nth, trace.steps[at.index(trace.steps.len())].clone()),
        2 => trace.steps.reverse(),
        3 => trace.steps.extend(other.steps.iter().cloned()),
        4 => trace.steps[nth].node = (value > 100).then_some(id),
        5 => drop(trace.header.initial.remove(&(value % 8))),
        6 => trace.steps[nth].changed.values_mut().for_each(|l| l.leader = Some(id)),
        7 => {
            if let Some(shows) = &mut trace.header.shows {
                shows.kind = Kind::Liveness;
                shows.cycle_after = Some(usize::from(value) * nth);
            }
        }
        8 => trace.steps[nth].event = Event::Tick,
        _ => {
            let step = &mut trace.steps[nth];
            let flights = step.sent.iter_mut().map(|s| &mut s.flight);
            let event = match &mut step.event {
                Event::Deliver(f) | Event::Lose(f) | Event::Duplicate(f) => Some(f),
                _ => None,
            };
            for flight in flights.chain(event) {
                (flight.id, flight.to) = (u32::from(value) << 24, id);
                flight.message =
                    serde_json::json!({ "very-long-message": [value, "x".repeat(80)] });
            }
        }
    }
}
