//! The page that takes a design from its first version to a witness: its code is that of the
//! example, and what stands under its commands is what the checker finds.

#[path = "../examples/real_design.rs"]
#[expect(dead_code, reason = "`main` is that of the example")]
mod design;

use Verdict::{Holds, HoldsWithin, Violated};
use bellwether_docs_runner::{Block, blocks, is_shown, words};
use bellwether_model::check::{Decision, Options, Report, Verdict, check, holds_within};
use bellwether_model::property::TIMEOUTS_ACCURATE;
use bellwether_model::report::story;
use bellwether_model::tune::{self, Question};
use bellwether_model::world::{Delay, Durations, Scenario, Timed};
use bellwether_tool::cli::{QuestionArgs, Tool, with_durations};
use clap::{Args, Command, FromArgMatches};
use std::fmt::Write;

const PROMPT: &str = "$ cargo run --release --example real_design -- ";

/// What the commands of the page find, in its order.
const FOUND: [Verdict; 13] = [
    // The first version; with stable storage; two leaders of different terms.
    Violated, Holds, Violated,
    // Candidates that wait for ever, and those that ask again; some messages are lost.
    Violated, Holds, Holds,
    // Time-outs that are long enough; one tick less of the first, and of the second.
    Holds, Violated, Violated,
    // With a witness: of two properties, of a third, and if it has no disk.
    Holds, Holds, Holds, Violated,
];

/// What `check` finds with these arguments.
fn report(line: &str) -> Report {
    let command = Command::new("ballot").no_binary_name(true);
    let command = command.subcommand(QuestionArgs::augment_args(Command::new("check")));
    let command = with_durations(command, design::REGISTRY);
    let matches = command.try_get_matches_from(words(line)).expect("flags");
    let (_, flags) = matches.subcommand().expect("a command");
    let question = QuestionArgs::from_arg_matches(flags).expect("its flags");
    let world = question.world(Tool::new("ballot", design::REGISTRY)).expect("a world");
    let properties = question.properties(&world).expect("the properties");
    check(&world, &properties, &question.options(), &mut |_| {}).expect("a report")
}

/// What is printed of this, as pages show it: verdicts, and the last `most` lines of each story.
fn shown(report: &Report, most: usize) -> String {
    let name = |decision: &Decision| decision.property.name;
    let width = report.decisions.iter().map(|one| name(one).chars().count()).max().unwrap_or(0);
    let mut out = "...\n".to_owned();
    for decision in &report.decisions {
        let verdict = match (decision.verdict, &decision.counterexample) {
            (Holds, _) => "holds".to_owned(),
            (HoldsWithin, _) => holds_within(&report.bounds_met),
            (Violated, Some(found)) => format!("violated ({} steps)", found.length()),
            (verdict, _) => panic!("{}: {verdict:?}: {:?}", name(decision), decision.reason),
        };
        let _ = writeln!(out, "│ {:<width$}   {verdict}...", name(decision));
    }
    out += "...\n";
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        let story = story::tell(&found.trace(&report.world, &decision.property));
        let lines: Vec<&str> = story.lines().collect();
        let _ = writeln!(out, "{}\n...", lines[lines.len().saturating_sub(most)..].join("\n"));
    }
    out
}

/// `UPDATE_DOCS=1 cargo test real_design` writes what stands under each command anew. The first
/// execution is shown whole, of the others the end.
#[test]
fn what_stands_under_each_command_is_what_is_found() {
    let mut verdicts = Vec::new();
    is_shown("docs/real-design.md", None, |page| {
        let (mut out, mut console) = (String::new(), false);
        for line in page.lines() {
            let fence = line.starts_with("```");
            console = if fence { line == "```console" } else { console };
            let command = line.strip_prefix(PROMPT).filter(|_| console);
            if fence || !console || command.is_some() {
                let _ = writeln!(out, "{line}");
            }
            if let Some(command) = command {
                let report = report(command);
                out += &shown(&report, if verdicts.is_empty() { 14 } else { 4 });
                verdicts.extend(report.decisions.iter().map(|decision| decision.verdict));
            }
        }
        out
    });
    assert_eq!(verdicts, FOUND);
}

#[test]
fn every_piece_of_code_on_the_page_stands_in_the_example() {
    let page = include_str!("../../docs/real-design.md");
    let example = include_str!("../examples/real_design.rs");
    let blocks = blocks(page, "rust");
    for Block { text, .. } in &blocks {
        assert!(example.contains(text), "not in the example:\n{text}");
    }
    assert!(blocks.len() >= 6, "only {} pieces of code", blocks.len());
}

/// The section on time-outs: with the one as it stands there, the other is the shortest, also the
/// one that only sets processes apart.
#[test]
fn tune_finds_each_duration_of_the_page() {
    let ballot = design::REGISTRY.find("ballot").expect("known");
    let rules = || ballot.rules(None, &[]).expect("the default ones");
    assert_eq!(tune::time_outs(&*rules()), ["t-election"]);
    assert_eq!(tune::staggers(&*rules(), 3), ["t-stagger"]);
    assert_eq!(tune::staggers(&*rules(), 1), [""; 0], "there is none to be apart from");
    for (sought, ticks, other) in
        [("t-election", 5, ("t-stagger", 3)), ("t-stagger", 3, ("t-election", 5))]
    {
        let given = Durations::of([("t-heartbeat", 3), other]).expect("two");
        let question = Question {
            rules: rules(),
            scenario: Scenario::calm(3).with_crashes(1, 0),
            given: Timed::of(Delay::AtMost(1), given),
            sought: vec![sought],
            property: TIMEOUTS_ACCURATE.to_owned(),
            most: 8,
            options: Options::default(),
        };
        let row = question.row(1, 0, &mut |_, _, _| {}).expect("possible");
        assert_eq!((sought, row.ticks(sought)), (sought, Some(ticks)));
    }
}
