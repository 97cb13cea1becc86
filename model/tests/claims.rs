//! The ledger of claims: it is complete, the runs find what it says, the page that is made of it is
//! the one in `docs`, and the commands that it prints find the same again.

use assert_cmd::Command;
use bellwether_docs_runner::root;
use bellwether_model::check::Limits;
use bellwether_model::claims::{Check, Demand, Ledger, Open, Runner, rules_apart};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

mod rules;

/// What a run printed and returned.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

fn run(args: &[&str]) -> Ran {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    let output = command.args(args).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("it ends by itself");
    Ran { status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The ledger in a folder of its own, one text of one file replaced by another.
fn edited(file: &str, text: &str, by: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["encyclopedia", "clustering", "chapter", "lesson", "lecture"] {
        let name = format!("{name}.toml");
        let path = root().join("model/claims").join(&name);
        let mut content = fs::read_to_string(path).expect("the file can be read");
        if name == file {
            assert!(content.contains(text), "{text}");
            content = content.replacen(text, by, 1);
        }
        fs::write(folder.path().join(&name), content).expect("it can be written");
    }
    folder
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
        let again = format!("cargo run --release -- claims --markdown {page} > {file}");
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

#[test]
fn claims_are_chosen_by_verdict_cause_and_words() {
    let numbers = |args: &[&str]| {
        let ran = run(&[&["claims", "--json"][..], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let whole: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let claims = whole["claims"].as_array().expect("claims").clone();
        claims.iter().map(|claim| claim["number"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    let fencing = numbers(&["--cause", "fencing", "--source", "lesson"]);
    assert_eq!(fencing, [123, 127, 128, 129, 130]);
    let refuted = numbers(&["--cause", "fencing", "--source", "lesson", "--verdict", "refuted"]);
    let confirmed =
        numbers(&["--cause", "fencing", "--source", "lesson", "--verdict", "confirmed"]);
    assert!(!refuted.is_empty() && !confirmed.is_empty());
    assert!(refuted.iter().all(|number| !confirmed.contains(number)));
    assert_eq!(numbers(&["--search", "FENCING TOKENS", "--source", "lesson"]), [123]);
    let dangerous = run(&["claims", "113", "121", "57"]);
    assert!(dangerous.stdout.contains("True, and dangerous: "), "{}", dangerous.stdout);
    assert!(dangerous.stdout.contains("; 2 are true, and dangerous."), "{}", dangerous.stdout);
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
fn the_smallest_changes_are_searched() {
    let ran = run(&["claims", "74", "59", "--cures"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("74: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  restart=election\n"), "{}", ran.stdout);
    let ran = run(&["claims", "64", "--cures"]);
    assert!(ran.stdout.contains("not decided by properties of one protocol"), "{}", ran.stdout);
    assert_eq!(run(&["claims", "--cures"]).status, 2);
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

#[test]
fn a_claim_that_comes_out_otherwise_is_reported() {
    let before = "number = 59\ncause = \"time-out\"\nsection = \"State machine\"";
    let after = |text: &str| {
        let chapter = fs::read_to_string(root().join("model/claims/chapter.toml")).expect("there");
        let (_, rest) = chapter.split_once(before).expect("claim 59 is there");
        let end = rest.find(text).expect("it is said of claim 59") + text.len();
        rest[..end].to_owned()
    };
    for (said, instead, message) in [
        ("demands = \"violated\"", "demands = \"holds\"", "the ledger says: holds"),
        ("demands = \"violated\"", "demands = \"holds\"\nfinds = \"violated\"", "in 'no_cure'"),
        ("No process is left", "After 99 steps no process is left", "No run shows '99'"),
        ("No process is left", "After nine steps no process is left", "No run shows 'nine steps'"),
    ] {
        let old = after(said);
        let new = old.replacen(said, instead, 1);
        let folder = edited("chapter.toml", &old, &new);
        let ledger = folder.path().to_str().expect("UTF-8");
        let ran = run(&["claims", "59", "--ledger", ledger]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stdout.contains("Claim 59 does not agree."), "{}", ran.stdout);
        assert!(ran.stdout.contains(message), "{}", ran.stdout);
    }
}

/// A confirmed claim names what may happen and is in none of its runs.
#[test]
fn what_may_happen_is_run_or_listed_with_a_reason() {
    let listed = "of = [\"late recovery\", \"all notice\", \"all start\"]";
    let alone = listed.replace("\"all notice\", ", "");
    let loss = "number = 26\ncause = \"messages\"\nsection = \"Network Bandwidth Usage\"\n\
                admits = [\"loss\"]";
    let (plain, _) = loss.split_once("\nadmits").expect("it admits more");
    for (claim, text, by, says) in [
        ("11", listed, alone.as_str(), "decides has late recovery and all notice"),
        ("26", plain, loss, "no run that decides has loss"),
    ] {
        let folder = edited("encyclopedia.toml", text, by);
        let ran = run(&["claims", claim, "--ledger", folder.path().to_str().expect("UTF-8")]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stdout.contains(says), "{}", ran.stdout);
    }
}

#[test]
fn a_search_that_is_cut_short_claims_nothing() {
    let ran = run(&["claims", "48", "--max-states", "10"]);
    assert_eq!(ran.status, 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("the limit on states was reached"), "{}", ran.stdout);
}

#[test]
fn what_is_asked_for_and_does_not_exist_is_refused() {
    for (args, says) in [
        (vec!["claims", "162"], "there is no claim 162; they are numbered 1 to 161"),
        (vec!["claims", "--source", "novel"], "no source 'novel'; there are: encyclopedia"),
        (vec!["claims", "48", "--source", "lesson"], "leave --source out"),
        (vec!["claims", "--markdown", "novel"], "there are: overview, larger, encyclopedia"),
        (vec!["claims", "--search", "no such words"], "leave --cause, --search or --source out"),
        (vec!["claims", "--verdict", "perhaps"], "--verdict cannot be 'perhaps'; there are: con"),
        (
            vec!["claims", "--cause", "rings"],
            "--cause cannot be 'rings'; did you mean 'ring'? there are: time-out",
        ),
        (vec!["claims", "--ledger", "/nowhere"], "/nowhere/encyclopedia.toml"),
    ] {
        let ran = run(&args);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

const HEAD: &str = "source = 's'\ntitle = 't'\n";
const CLAIM: &str = "[[claim]]\nnumber = 7\nsection = 's'\nsays = 's.'\nwhy = 'w.'\n";
const CHECK: &str = "[[claim.check]]\nshows = 's'\nprotocol = 'bully'\nnodes = 2\n";

/// What the ledger says of one claim with this ruling and these checks.
fn wrong(rest: &str) -> String {
    let text = format!("{HEAD}{CLAIM}{rest}");
    Ledger::read([("x.toml", text.as_str())]).expect_err(rest).to_string()
}

#[test]
fn an_entry_that_could_deceive_is_refused_with_its_place_and_what_to_do() {
    let asks = "property = 'decided'\ndemands = 'holds'\n";
    let plain = "quantifier = 'plain'";
    for (entry, says) in [
        (plain.to_owned(), "within what the text assumes decides it; add one"),
        ("quantifier = 'perhaps'".to_owned(), "unknown variant `perhaps`"),
        ("ruling = 'confirmed'".to_owned(), "unknown field `ruling`"),
        (String::new(), "either a 'quantifier', and runs decide it, or 'open'"),
        (format!("{plain}\nopen = 'pending'\n{CHECK}{asks}"), "either a 'quantifier'"),
        ("open = 'pending'\nwhy_not = 1".to_owned(), "unknown field `why_not`"),
        (format!("{plain}\nof = 'x'\n{CHECK}{asks}"), "the text has no [assumptions.x]"),
        (
            format!("{plain}\nassumes = ['no cold']\n{CHECK}{asks}"),
            "write 'no' and what does not happen",
        ),
        (format!("{plain}\nadmits = ['rain']\n{CHECK}{asks}"), "may happen is called 'rain'"),
        (
            format!("{plain}\nassumes = ['no crash']\n{CHECK}world.faults.crashes = 1\n{asks}"),
            "within what the text assumes decides it",
        ),
        (
            format!("{plain}\nassumes = ['all of them are fast']\n{CHECK}{asks}"),
            "no check runs without 'all of them are fast'",
        ),
        (format!("{plain}\nwaits_for = ['x']\n{CHECK}{asks}"), "\"pending\""),
        (format!("{plain}\n{CHECK}demands = 'holds'"), "nothing is asked"),
        (
            format!("{plain}\n{CHECK}property = 'decided'\ndemands = 'exactly n'"),
            "holds or violated",
        ),
        (
            format!("{plain}\n{CHECK}property = 'decide'\ndemands = 'holds'"),
            "there is no property 'decide'",
        ),
        (format!("{plain}\n{CHECK}{asks}variant = 'x'"), "no variant 'x'"),
        (format!("{plain}\n{CHECK}{asks}rules = {{ t_coord = 3 }}"), "t_coord"),
        (format!("{plain}\n{CHECK}{asks}world = {{ crash = 1 }}"), "unknown field"),
        (format!("{plain}\n{CHECK}{asks}starters = 'all'"), "'starters' has no meaning"),
        (format!("{plain}\n{CHECK}{asks}this_link = 'it is so'"), "'this_link' is for one link"),
        (
            format!("{plain}\n{CHECK}{asks}links = 'each-missing'\nworld.missing = ['1-2']"),
            "leave 'missing' out of 'world'",
        ),
        (format!("{plain}\ncause = 'rain'\n{CHECK}{asks}"), "unknown variant `rain`"),
        (format!("{plain}\n{CHECK}{asks}most = 'messages'"), "several things"),
        (format!("{plain}\n{CHECK}{asks}").replace("bully", "x"), "say 'open' is \"pending\""),
        (
            format!("{plain}\n[[claim.check]]\nshows = 's'\nprogram = 'x'\ndemands = 'holds'"),
            "there is no program 'x'",
        ),
    ] {
        let error = wrong(&entry);
        assert!(error.contains(says), "{error}");
        assert!(error.starts_with("x.toml"), "{error}");
    }
    let demoted = format!("{plain}\nadmits = ['crash']\n{CHECK}world.faults.crashes = 1\n{asks}");
    let error = wrong(&format!("{demoted}without = ['it is a good day']"));
    assert!(error.contains("cannot set it aside"), "{error}");
    let twice = format!("{HEAD}{CLAIM}open = 'pending'\n{CLAIM}open = 'pending'");
    let error = Ledger::read([("x.toml", twice.as_str())]).expect_err("twice").to_string();
    assert!(error.contains("claim 7: the number is taken"), "{error}");
}

/// Data may be ahead of the model: what waits for a protocol is read, and reported as undecided.
#[test]
fn a_claim_may_wait_for_a_protocol_that_is_not_there_yet() {
    let check = CHECK.replace("bully", "not-there-yet");
    let text = format!(
        "{HEAD}{CLAIM}open = 'pending'\nwaits_for = ['not-there-yet']\n{check}\
         property = 'decided'\ndemands = 'holds'"
    );
    let ledger = Ledger::read([("x.toml", text.as_str())]).expect("it may wait");
    assert_eq!(ledger.claims()[0].1.open, Some(Open::Pending));
    let folder = edited("lesson.toml", "number = 131", "number = 999");
    let lesson = folder.path().join("lesson.toml");
    let known = fs::read_to_string(&lesson).expect("it is there");
    let waiting = text.replace(HEAD, "").replace("number = 7", "number = 131");
    fs::write(&lesson, format!("{known}\n{waiting}")).expect("it can be written");
    let ran = run(&["claims", "131", "--ledger", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("the protocol is not there yet"), "{}", ran.stdout);
}
