//! The ledger of claims: it is complete, the runs find what it says, the page that is made of it is
//! the one in `docs`, and the commands that it prints find the same again.

use assert_cmd::Command;
use bellwether_docs_runner::root;
use bellwether_literature::claims::{Check, Demand, Ledger, Runner, rules_apart};
use bellwether_model::check::Limits;
use serde_json::Value;
use std::fs;

mod rules;

/// What a run printed and returned.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("bellwether-literature").expect("the binary is built");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    let output = command.args(args).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("it ends by itself");
    Ran { status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn every_claim_is_there_once_and_in_sentences() {
    let ledger = Ledger::load().expect("the ledger can be read");
    let numbers: Vec<u16> = ledger.claims().iter().map(|(_, claim)| claim.number).collect();
    assert_eq!(numbers, (1..=161).collect::<Vec<u16>>());
    for (_, claim) in ledger.claims() {
        assert_eq!(claim.quantifier.is_some(), claim.open.is_none(), "{}", claim.number);
        for sentence in [&claim.says, &claim.why] {
            assert!(sentence.ends_with('.') || sentence.ends_with(".)"), "{}", claim.number);
            assert!(!sentence.contains(['\n', '\t']), "{}: one line", claim.number);
        }
        for check in claim.checks.iter().chain(&claim.besides).chain(&claim.cures) {
            assert!(!check.shows.ends_with('.'), "{}: {}", claim.number, check.shows);
        }
    }
}

/// This runs the whole ledger.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn the_pages_are_what_the_ledger_says_today() {
    let pages = ["overview", "encyclopedia", "clustering", "chapter", "lesson", "lecture"];
    for page in pages {
        let file = match page {
            "overview" => "docs/claims.md".to_owned(),
            text => format!("docs/claims/{text}.md"),
        };
        let ran = run(&["claims", "--markdown", page]);
        assert_eq!(ran.status, 0, "a claim does not come out as the ledger says: run `claims`");
        let text = fs::read_to_string(root().join(&file)).expect("the page is there");
        let again = format!(
            "cargo run --release -p bellwether-literature -- claims --markdown {page} > {file}"
        );
        assert!(text == ran.stdout, "{file} is old: {again}");
    }
}

/// The overview has an index of all claims, each linked to the page of its text.
#[test]
fn the_overview_has_every_claim_once_and_each_cause() {
    let page = fs::read_to_string(root().join("docs/claims.md")).expect("the page is there");
    let (before, index) = page.split_once("\n## Index\n").expect("an index");
    let ledger = Ledger::load().expect("the ledger can be read");
    let rows: Vec<&str> = index.lines().filter(|line| line.starts_with("| [")).collect();
    assert_eq!(rows.len(), 161);
    for ((source, claim), row) in ledger.claims().into_iter().zip(rows) {
        let link = format!("| [{0}](claims/{1}.md#claim-{0}) |", claim.number, source.name);
        assert!(row.starts_with(&link), "{link}: {row}");
        let cause = claim.cause.map(|cause| format!("[{cause}](#{cause})")).unwrap_or_default();
        assert!(row.contains(&format!(" | {cause} | ")), "{cause}: {row}");
        let cause = claim.cause.map(|cause| format!("\n### {cause}\n")).unwrap_or_default();
        assert!(before.contains(&cause), "{cause}");
    }
}

/// One line for each, with the steps of the execution that decides it.
#[test]
fn a_list_of_claims_has_a_line_for_each() {
    let ran = run(&["claims", "--cause", "time-out", "--source", "lecture"]);
    let lines: Vec<&str> = ran.stdout.lines().take_while(|line| !line.is_empty()).collect();
    assert!(lines[0].starts_with("135. "), "{}", ran.stdout);
    assert!(lines[0].contains(" steps [lecture, time-out] A process that"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("{} claims: ", lines.len())), "{}", ran.stdout);
}

/// The README shows some refuted claims, each with the length of an execution that the page has.
#[test]
fn the_readme_shows_refuted_claims_with_their_steps() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it can be read");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let readme = plain(&read("README.md"));
    let ledger = Ledger::load().expect("the ledger can be read");
    let ran = run(&["claims", "--verdict", "refuted", "--json"]);
    let refuted: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let refuted = refuted["claims"].as_array().expect("a list").len();
    let counts = format!("[{refuted} of {} claims](docs/claims.md)", ledger.claims().len());
    assert!(readme.contains(&counts), "{counts}");
    let shown: Vec<&str> = readme.split("](docs/claims/").skip(1).collect();
    assert_eq!(shown.len(), 3);
    for claim in shown {
        let (page, rest) = claim.split_once(".md#claim-").expect("the page and the number");
        let (number, says) = rest.split_once("): ").expect("a sentence");
        let steps = says.split(" steps)").next().and_then(|text| text.rsplit('(').next());
        let steps = steps.expect("the number of steps");
        let page = read(&format!("docs/claims/{page}.md"));
        let found = page.split(&format!("\n## Claim {number}\n")).nth(1).expect("such a claim");
        let found = plain(found.split("\n## ").next().unwrap_or_default());
        assert!(found.contains("**Refuted.**"), "{found}");
        assert!(found.contains(&format!("**violated ({steps} steps)**")), "{steps}: {found}");
    }
}

/// A change of rules that is printed is a smallest one.
#[test]
fn no_cure_changes_more_rules_than_it_has_to() {
    let ledger = Ledger::load().expect("the ledger can be read");
    let limits = Limits { states: Some(400_000), ..Limits::NONE };
    let runner = Runner { threads: 2, limits };
    let mut pairs = 0;
    for (source, claim) in ledger.claims() {
        for cure in &claim.cures {
            let apart = |check: &Check| {
                let (ours, theirs) = (check.ask.subject()?, cure.ask.subject()?);
                rules_apart(ours, theirs).expect("rules")
            };
            // The variant that the cure is a change of.
            let Some(apart) = claim.checks.iter().filter_map(apart).min() else { continue };
            assert!(apart <= 2, "claim {}: {} changes {apart} rules", claim.number, cure.shows);
            if apart == 2 {
                pairs += 1;
                let cures = runner.cures(source, claim).expect("it runs");
                let found = cures.expect("properties decide the claim").found;
                let smallest = found.iter().map(Vec::len).min();
                assert_eq!(smallest, Some(2), "claim {}: {found:?}", claim.number);
            }
        }
    }
    assert!(pairs > 0, "no cure changes two rules");
}

/// A change of rules helps with every check that asks the same of the variant that it changes, and
/// not only with the run that is printed beside it.
#[test]
fn a_cure_helps_with_every_check_of_the_variant_that_it_changes() {
    let ledger = Ledger::load().expect("the ledger can be read");
    let runner = Runner { threads: 2, limits: Limits::NONE };
    let mut known = 0;
    for (source, claim) in ledger.claims() {
        for cure in &claim.cures {
            let helps = runner.helps_all(source, claim, cure).expect("it runs");
            assert_ne!(helps, Some(false), "claim {}: {}", claim.number, cure.shows);
            known += usize::from(helps.is_some());
        }
    }
    assert!(known > 9, "only {known} cures change rules");
}

/// Of how many claims one is looked at: of so many, or all if `BELLWETHER_LONG` is set.
fn one_in(many: u16) -> u16 {
    if std::env::var_os("BELLWETHER_LONG").is_some() { 1 } else { many }
}

/// Where the text says that something fails, worse rules are no cure.
#[test]
fn what_is_said_to_have_no_cure_has_none_of_one_rule_or_two() {
    let ledger = Ledger::load().expect("the ledger can be read");
    let limits = Limits { states: Some(100_000), ..Limits::NONE };
    let runner = Runner { threads: 2, limits };
    let one_in = one_in(4);
    let mut searched = 0;
    for (source, claim) in ledger.claims() {
        let wanted = claim.checks.iter().all(|check| check.demands == Demand::Holds);
        if claim.no_cure.is_none() || !wanted || claim.number % one_in != 0 {
            continue;
        }
        let Some(cures) = runner.cures(source, claim).expect("it runs") else { continue };
        assert!(cures.found.is_empty(), "claim {} has a cure: {:?}", claim.number, cures.found);
        searched += 1;
    }
    assert!(searched > 0, "no claim without a cure is decided by properties of one protocol");
}

#[test]
fn the_command_beside_each_check_finds_the_same_again() {
    let one_in = one_in(if cfg!(feature = "slow") { 4 } else { 40 });
    let numbers = (1..=161).step_by(one_in.into());
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    let mut args = vec!["claims", "--json"];
    args.extend(numbers.iter().map(String::as_str));
    let ran = run(&args);
    let whole: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mut known = 0_usize;
    for claim in whole["claims"].as_array().expect("claims") {
        for kind in ["checks", "besides", "cures"] {
            for check in claim[kind].as_array().expect("checks") {
                let commands = check["commands"].as_array().expect("commands");
                let runs = check["runs"].as_array().expect("runs");
                for (command, run) in commands.iter().zip(runs) {
                    let command = command.as_str().expect("a command");
                    if command.contains(" check ") || command.contains(" bounds ") {
                        same(&claim["number"], command, run);
                        known += 1;
                    }
                }
            }
        }
    }
    assert!(known > 400 / usize::from(one_in), "there are only {known} commands");
}

/// Runs a `check` or a `bounds` again.
fn same(number: &Value, command: &str, before: &Value) {
    let words = command.replace('\'', "");
    let mut args: Vec<&str> = words.split(' ').skip(1).collect();
    args.push("--json");
    let ran = run(&args);
    let found: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{number}: {command}: {error}: {}", ran.stderr));
    if args[0] == "check" {
        let property = &found["properties"][0];
        let steps = property["counterexample"]["steps"].as_array().map(Vec::len);
        let before_steps = before["found"]["violated"]["steps"].as_u64();
        assert_eq!(steps, before_steps.map(|steps| steps as usize), "{number}: {command}");
        let key = before["found"].as_object().and_then(|found| found.keys().next());
        let verdict = before["found"].as_str().or(key.map(String::as_str));
        assert_eq!(property["verdict"].as_str(), verdict, "{number}: {command}");
    } else {
        let name = args[args.len() - 2];
        let all = found["bounds"].as_array().expect("bounds");
        let most = all.iter().find(|bound| bound["name"] == name).expect("it is counted");
        let unbounded = before["found"] == "unbounded";
        assert_eq!(most["bounded"], !unbounded, "{number}: {command}");
        assert!(unbounded || most["most"] == before["found"]["count"], "{number}: {command}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads| run(&["claims", "--source", "clustering", "--json", "--threads", threads]);
    let (one, three) = (with("1"), with("3"));
    assert_eq!((one.status, three.status), (0, 0));
    assert_eq!(one.stdout, three.stdout);
}
