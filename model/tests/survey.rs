//! The survey: what it says of a protocol is what `check` says, and `docs/survey.md` shows what it
//! prints.

use bellwether_docs_runner::is_shown;
use bellwether_model::check::{Decision, Limits, Options, Reason, Verdict, check};
use bellwether_model::property::{AGREED_WITHIN, Kind, PERIODS_ACCURATE, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::survey::{
    Cell, Finding, Most, Row, Standing, SurveyOptions, climb, matrix, questions, surroundings,
    survey,
};
use bellwether_model::world::World;

const STATES: Limits = Limits { states: Some(250_000), ..Limits::NONE };

fn rows(protocols: &[&str], threads: usize) -> Vec<Row> {
    let named = protocols.iter().map(|name| REGISTRY.find(name).expect("such a protocol"));
    let settings = SurveyOptions { nodes: 3, limits: STATES, threads, most_early: 1 };
    survey(&named.collect::<Vec<_>>(), settings, &|_| {}).expect("every world is possible")
}

fn cell<'r>(row: &'r Row, world: &str) -> &'r Cell {
    row.cells.iter().find(|cell| cell.world == world).expect("such a world")
}

#[test]
fn the_bully_bears_a_crash_and_has_two_leaders_after_a_restart() {
    let rows = rows(&["bully"], 2);
    assert_eq!(cell(&rows[0], "crash-stop").words(), "all 7 hold");
    let restart = cell(&rows[0], "crash-recovery").words();
    assert_eq!(restart, "fails: two leaders, follower-bound; holds: 5 of 7");
    assert_eq!(cell(&rows[0], "timed").standing(), Some(Standing::Holds));
    let cut = cell(&rows[0], "cut-link");
    let holds = "holds within 1 cut: follower-bound; holds: 4 of 6";
    assert_eq!(cut.words(), format!("fails: two leaders; {holds}"));
    assert!(cut.bounds_met.is_empty(), "{:?}", cut.bounds_met);
    let asynchronous = cell(&rows[0], "asynchronous").words();
    let fails = "fails: two leaders, follower-bound, no agreement in the end";
    assert_eq!(asynchronous, format!("{fails}; vacuous: 3; holds: 1 of 7"));
    assert_eq!(rows[0].messages, Most::Unbounded, "heartbeats never end");
}

/// One more suspicion makes two leaders, so the cell is neither bold nor green.
#[test]
fn a_property_that_one_more_fault_violates_holds_within_the_budget() {
    let rows = rows(&["bully", "stoller"], 2);
    let suspicion = cell(&rows[0], "false-suspicion");
    let words = "holds within 1 suspicion: at-most-one-leader; holds: 5 of 6";
    assert_eq!(suspicion.words(), words);
    assert_eq!(suspicion.standing(), Some(Standing::Within));
    assert_eq!(cell(&rows[1], "false-suspicion").standing(), Some(Standing::Within));
    assert_eq!(cell(&rows[1], "lost-message").standing(), Some(Standing::Holds));
}

/// Raft promises one leader in each term: two at a time are no failure of it.
#[test]
fn what_was_never_promised_does_not_fail() {
    let few = SurveyOptions {
        nodes: 3,
        limits: Limits { states: Some(10_000), ..STATES },
        threads: 2,
        most_early: 1,
    };
    let raft = REGISTRY.find("raft-election").expect("it exists");
    let rows = survey(&[raft], few, &|_| {}).expect("every world is possible");
    let asynchronous = cell(&rows[0], "asynchronous");
    let standing = |name| {
        let found = asynchronous.findings.iter().flatten().find(|f| f.property == name);
        found.expect("it is asked").standing()
    };
    assert_eq!(standing("at-most-one-leader"), Standing::NotPromised);
    assert!(matches!(standing("election-safety"), Standing::Unknown(_) | Standing::Within));
    assert!(asynchronous.words().contains("not promised: two leaders"));
    for protocol in REGISTRY.iter() {
        let (usual, timed) = protocol.properties();
        let known = |name: &&str| usual.iter().chain(&timed).any(|p| p.name == *name);
        assert!(protocol.not_promised().iter().all(known), "{}", protocol.name());
    }
}

/// Where a world has a clock, every property of beliefs says something: a state in which nothing
/// can happen but faults is not needed. Time-outs that are never due are said to be vacuous.
#[test]
fn no_belief_is_vacuous_in_timed_worlds() {
    let worlds = surroundings(3);
    let timed = worlds.iter().find(|world| world.name == "timed").expect("there is one");
    for protocol in REGISTRY.iter() {
        let Some(scenario) = timed.scenario(protocol).expect("possible durations") else {
            continue;
        };
        let rules = protocol.rules(None, &[]).expect("there is a variant");
        let world = World::of(rules.clone(), scenario).expect("the world is possible");
        let asked = questions(&world).expect("they can be asked");
        let options = Options { limits: STATES, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("threads");
        let of_timers = [TIMEOUTS_ACCURATE, PERIODS_ACCURATE];
        let says = |d: &Decision| {
            d.reason != Some(Reason::Vacuous) || of_timers.contains(&d.property.name)
        };
        assert!(report.decisions.iter().all(says), "{}", protocol.name());
        assert!(asked.iter().any(|p| p.name == AGREED_WITHIN), "{}", protocol.name());
    }
}

/// The worst is said first, everything is counted once, and only a cell in which all holds is bold.
#[test]
fn a_cell_says_how_each_property_stands() {
    let finding = |property, promised, verdict, reason| Finding {
        property,
        promised,
        kind: Kind::Safety,
        verdict,
        reason,
        steps: None,
        within: Vec::new(),
    };
    let (holds, violated, unknown) = (Verdict::Holds, Verdict::Violated, Verdict::Unknown);
    let mut cell = Cell {
        world: "timed",
        findings: Some(vec![
            finding("agreement", true, holds, None),
            finding("succession", false, violated, None),
            finding("decided", true, unknown, Some(Reason::Vacuous)),
            Finding {
                within: vec!["2 messages on a link".to_owned()],
                ..finding("sle1", true, Verdict::HoldsWithin, Some(Reason::Bounds))
            },
            finding("stabilises", true, unknown, Some(Reason::Interrupted)),
            finding("at-most-one-leader", true, violated, None),
        ]),
        states: None,
        bounds_met: Vec::new(),
    };
    let words = "fails: two leaders; unknown: stabilises (interrupted); vacuous: decided; holds \
                 within 2 messages on a link: sle1; not promised: no successor; holds: 1 of 6";
    assert_eq!(cell.words(), words);
    assert_eq!(cell.standing(), Some(Standing::Fails));
    assert!(cell.was_interrupted());
    let mut stands = |left: usize| {
        cell.findings.as_mut().expect("some").truncate(left);
        let row = Row {
            protocol: "p",
            cells: vec![cell.clone()],
            messages: Most::AtMost(0),
            proved: &[],
        };
        let printed = matrix::markdown(&surroundings(3)[..1], &[row]);
        (cell.standing(), printed.contains("**"))
    };
    assert_eq!(stands(5), (Some(Standing::Unknown(Reason::Interrupted)), false));
    assert_eq!(stands(4), (Some(Standing::Vacuous), false));
    assert_eq!(stands(2), (Some(Standing::NotPromised), false));
    assert_eq!(stands(1), (Some(Standing::Holds), true));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let printed = |threads| matrix::markdown(&surroundings(3), &rows(&["bully"], threads));
    assert_eq!(printed(1), printed(3));
}

/// Where a world is too large, a narrower one answers: what holds there holds within its bounds,
/// and what is violated there and was safe is violated in the world itself.
#[test]
fn a_narrower_world_answers_for_one_that_is_too_large() {
    let named = |name| REGISTRY.find(name).expect("such a protocol");
    let worlds = surroundings(3);
    let world = worlds.iter().find(|world| world.name == "asynchronous").expect("there is one");
    let settings = |states, most_early| {
        let limits = Limits { states: Some(states), ..Limits::NONE };
        SurveyOptions { nodes: 3, limits, threads: 1, most_early }
    };
    let mut searched = Vec::new();
    let paper = named("garcia-molina");
    let climbed = climb(paper, world, settings(20_000, 3), &mut |_| {}, &mut |rung, report| {
        let asked: Vec<_> = report.decisions.iter().map(|d| d.property.name).collect();
        searched.push((rung.bound.clone(), asked, report.cut_short));
    });
    climbed.expect("the worlds are possible");
    let bounds: Vec<_> = searched.iter().map(|(bound, ..)| bound.as_deref()).collect();
    assert_eq!(bounds, [None, Some("1 suspicion"), Some("2 suspicions"), None]);
    assert!(searched[1].1.len() < searched[0].1.len(), "what is decided is asked no more");
    assert_eq!(searched[1].1, searched[2].1, "a wider world is asked the same");
    let ends: Vec<_> = searched.iter().map(|(.., cut_short)| *cut_short).collect();
    let too_many = Some(Reason::States);
    assert_eq!(ends, [too_many, None, too_many, too_many]);
    let rows = survey(&[paper], settings(20_000, 3), &|_| {}).expect("they are possible");
    let words = cell(&rows[0], "asynchronous").words();
    assert!(words.contains("holds within 1 suspicion: 3"), "{words}");
    // In a small world the answer is that of a search of the whole.
    let (few, all) = (settings(10, 1), settings(20_000, 1));
    for protocol in ["bully", "vrrp"].map(named) {
        let [few, all] = [few, all].map(|settings| survey(&[protocol], settings, &|_| {}));
        let (few, all) = (few.expect("as above"), all.expect("as above"));
        let found = |rows: &[Row]| cell(&rows[0], "asynchronous").findings.clone().expect("some");
        for (little, whole) in found(&few).iter().zip(found(&all)) {
            assert_eq!(little.property, whole.property);
            if little.verdict == Verdict::Violated && little.within.is_empty() {
                assert_eq!(whole.verdict, Verdict::Violated, "{}", whole.property);
            }
            let is_safe = whole.kind == Kind::Safety && whole.verdict == Verdict::Holds;
            assert!(!is_safe || little.verdict != Verdict::Violated, "{}", whole.property);
        }
    }
}

/// The rows that are soon searched stand in the page as they are found.
#[test]
fn the_page_shows_the_rows_that_are_found() {
    let page = std::fs::read_to_string(bellwether_docs_runner::root().join("docs/survey.md"));
    let page = page.expect("the page is there");
    let soon =
        ["bully", "garcia-molina", "chang-roberts", "list-ring", "lease", "raft-election", "vrrp"];
    let table = matrix::markdown(&surroundings(3), &rows(&soon, 2));
    let found: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found.len(), soon.len());
    for row in found {
        assert!(page.contains(row), "not in docs/survey.md: {row}");
    }
}

/// `UPDATE_DOCS=1 cargo test --features slow documents_show_the_matrix` writes the tables and the
/// picture anew.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn the_documents_show_the_matrix_and_its_picture() {
    let (worlds, rows) = (surroundings(3), rows(&REGISTRY.names(), 2));
    let table = matrix::markdown(&worlds, &rows);
    assert!(!table.contains("unknown"), "each cell is decided, if only within bounds");
    let marks = Some(("<!-- survey -->\n", "<!-- end of survey -->"));
    is_shown("docs/survey.md", marks, |_| table);
    is_shown("docs/images/survey.svg", None, |_| matrix::svg(&worlds, &rows));
    let page = std::fs::read_to_string(bellwether_docs_runner::root().join("docs/survey.md"));
    let (_, deep) = page.as_deref().expect("text").split_once("<!-- deep survey -->").expect("it");
    assert_eq!(deep.lines().filter(|line| line.starts_with("| `")).count(), rows.len());
    assert!(!deep.contains("unknown"), "each cell of the deep survey is decided as well");
}
