//! Products that people run: `docs/survey.md` shows what is said of one, and `check` decides each
//! question again. The survey does not contradict the README and the gallery.

use crate::cli::run;
use assert_cmd::Command;
use bellwether_docs_runner::{is_shown, object_of, root, words};
use bellwether_literature::gallery::Gallery;
use bellwether_literature::like::{Product, names};
use bellwether_model::check::{Limits, Verdict};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::survey::{SurveyOptions, surroundings, survey};
use bellwether_model::world::{Faults, Timing};
use serde_json::Value;
use std::fs;

/// `check` takes the command of each question, of which a build without `slow` tries every third.
#[test]
fn each_question_of_a_product_is_one_that_check_decides() {
    let several = if cfg!(feature = "slow") { 1 } else { 3 };
    for name in names() {
        let product = Product::load(name).expect("its protocols, rules and properties are there");
        assert!((6..=10).contains(&product.questions.len()), "{name}");
        assert!(product.sources.iter().all(|place| place.url.starts_with("https://")), "{name}");
        let ran = run(&format!("like {name} --max-states 1 --json"));
        assert_eq!((ran.status, ran.stderr.as_str()), (3, ""), "{name}: nothing is decided");
        let found = object_of("bellwether-literature-like", &ran.stdout);
        let questions = found["questions"].as_array().expect("questions");
        assert_eq!(questions.len(), product.questions.len(), "{name}");
        for question in questions.iter().step_by(several) {
            let command = question["command"].as_str().expect("a command");
            let line = words(command)[1..].join(" ");
            let again = run(&format!("{line} --max-states 1"));
            assert!([1, 3].contains(&again.status), "{command}: {}", again.stderr);
        }
    }
}

/// `UPDATE_DOCS=1 cargo test the_page_shows_the_answers` writes them anew.
#[test]
fn the_page_shows_the_answers_to_the_questions_of_a_product() {
    let mut command = Command::cargo_bin("bellwether-literature").expect("it is built");
    command.args(["like", "keepalived"]).env("CARGO", "cargo").env("COLUMNS", "100");
    let output = command.env_remove("CLICOLOR_FORCE").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "all is decided");
    let answers = String::from_utf8(output.stdout).expect("UTF-8");
    let marks = Some(("<!-- like keepalived -->\n```text\n", "```\n<!-- end of like -->"));
    is_shown("docs/survey.md", marks, |_| answers);
}

/// Whether no budget of `some` is larger than that of `all`.
fn within(some: Faults, all: Faults) -> bool {
    let pairs = some.named().into_iter().zip(all.named());
    pairs.into_iter().all(|((_, some), (_, all))| some <= all)
}

/// The survey finds each violation that the README or the gallery shows in a world of the survey.
/// If the violation needs one more fault of a world's kind, no cell of that world says *holds*.
#[test]
fn the_survey_the_readme_and_the_gallery_agree() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README can be read");
    assert!(!readme.contains(" hold**"), "the README shows no cells of the survey");
    let shown = readme.lines().filter_map(|line| line.strip_prefix("$ cargo run --release -- "));
    let executions = Gallery::load(None).expect("the entries can be read").executions;
    let commands = executions.iter().map(|one| one.case.command());
    let commands = commands.map(|command| command.replacen("bellwether-model ", "", 1));
    let commands = commands.chain(shown.map(str::to_owned));
    let other = ["--variant", "--rule", "--nodes", "--never", "--timing", "--out"];
    let mut compared = 0;
    for command in commands {
        let command = command.trim_end_matches(" --out out");
        if !command.starts_with("check ") || other.iter().any(|flag| command.contains(flag)) {
            continue;
        }
        let found: Value = serde_json::from_str(&run(&format!("{command} --json")).stdout)
            .expect("one JSON object");
        let faults: Faults = serde_json::from_value(found["faults"].clone()).expect("budgets");
        let property = found["properties"][0]["name"].as_str().expect("a name");
        assert_eq!(found["properties"][0]["verdict"], "violated", "{command}");
        let protocol = REGISTRY.find(found["protocol"].as_str().expect("text")).expect("it exists");
        let limits = Limits { states: Some(250_000), ..Limits::NONE };
        let settings = SurveyOptions { nodes: 3, limits, threads: 2, most_early: 1 };
        let rows = survey(&[protocol], settings, &|_| {}).expect("every world is possible");
        for world in surroundings(3) {
            let scenario = world.scenario(protocol).expect("possible durations");
            let Some(scenario) = scenario.filter(|s| s.timing == Timing::Perfect) else { continue };
            let cell = rows[0].cells.iter().find(|cell| cell.world == world.name);
            let mut findings = cell.expect("such a world").findings.iter().flatten();
            let finding = findings.find(|finding| finding.property == property);
            let Some(finding) = finding else { continue };
            if within(faults, scenario.faults) {
                assert_eq!(finding.verdict, Verdict::Violated, "{command}: {}", world.name);
                compared += 1;
            } else if within(faults, world.further(scenario).scenario.faults) {
                assert_ne!(finding.verdict, Verdict::Holds, "{command}: {}", world.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 2, "{compared} cells were compared");
}
