//! The help shows what there is to choose: for every protocol its rules, with what each value
//! means, and the durations of its own timers. The checker understands each flag that it offers,
//! and the next command that is printed works as it stands.

use crate::cli::{piped, run, run_args};
use assert_cmd::Command;
use bellwether_model::machine::AnyProtocol;
use bellwether_model::protocol::{REGISTRY, Values};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use tempfile::TempDir;

/// What the checker prints on a line without an error, as an installed program would.
#[track_caller]
fn printed(line: &str) -> String {
    let mut command = Command::cargo_bin("bellwether-model").expect("it is built");
    command.env_remove("CARGO").args(line.split_whitespace());
    let output = command.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() != Some(2), "{line}: {stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The flags that a help offers.
fn offered(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = lines.flat_map(|line| line.split([' ', ',', '=']).filter(|w| w.starts_with("--")));
    flags.map(str::to_owned).collect()
}

fn default_rules(protocol: &dyn AnyProtocol) -> Value {
    protocol.variants().first().expect("a variant").rules.clone()
}

/// What is said of the rules is complete, and is true: each has a meaning, each value is accepted
/// and has one, and nothing else is accepted.
#[test]
fn every_rule_and_every_value_has_a_meaning() {
    for protocol in REGISTRY.iter() {
        let name = protocol.name();
        let rules = default_rules(protocol);
        let rules = rules.as_object().expect("an object");
        let rows = protocol.rule_rows();
        let named: BTreeSet<&str> = rows.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(named, rules.keys().map(String::as_str).collect(), "{name}");
        for rule in &rows {
            assert!(!rule.meaning.is_empty(), "{name}: {}", rule.name);
            let set = |value: &str| protocol.rules(None, &[(rule.name.clone(), value.to_owned())]);
            let values: Vec<&str> = match &rule.values {
                Values::Truth => vec!["true", "false"],
                Values::Names(names) => names.iter().map(|(value, _)| value.as_str()).collect(),
                Values::Other(words) => {
                    assert!(!words.is_empty(), "{name}: {}", rule.name);
                    vec![]
                }
            };
            for value in values {
                let of = set(value).unwrap_or_else(|wrong| panic!("{name}: {wrong}")).json();
                let of = &of[&rule.name];
                assert_eq!(of.as_str().map_or(of.to_string(), str::to_owned), value, "{name}");
            }
            if let Values::Names(names) = &rule.values {
                for variant in protocol.variants() {
                    let value = variant.rules[&rule.name].as_str().expect("a name").to_owned();
                    assert!(names.iter().any(|(known, _)| *known == value), "{name}: {value}");
                }
                assert!(names.iter().all(|(_, meaning)| !meaning.is_empty()), "{}", rule.name);
            }
            let wrong = set("nonsense").expect_err("no rule has this value").to_string();
            assert!(wrong.starts_with(&format!("rule '{}' cannot be 'nonsense': ", rule.name)));
        }
    }
}

#[test]
fn the_help_of_a_protocol_shows_what_it_has_and_nothing_of_others() {
    for protocol in REGISTRY.iter() {
        let name = protocol.name();
        let help = printed(&format!("check {name} --help"));
        let durations: BTreeSet<String> =
            protocol.durations().iter().map(|one| format!("--{}", one.name)).collect();
        let flags = offered(&help);
        let shown: BTreeSet<String> =
            flags.iter().filter(|flag| flag.starts_with("--t-")).cloned().collect();
        assert_eq!(shown, durations, "{name}");
        for flag in ["--delay", "--drift", "--pauses"] {
            assert_eq!(flags.contains(flag), !durations.is_empty(), "{name}: {flag}");
        }
        let words: BTreeSet<&str> = help
            .lines()
            .map(|line| line.trim().split([' ', ':', ',']).next().unwrap_or(""))
            .collect();
        let (usual, _) = protocol.properties();
        let rules = default_rules(protocol);
        let known = protocol.variants().into_iter().map(|variant| variant.name.to_owned());
        let known = known.chain(rules.as_object().expect("an object").keys().cloned());
        for known in known.chain(usual.iter().map(|property| property.name.to_owned())) {
            assert!(words.contains(known.as_str()), "{name}: {known} is not in\n{help}");
        }
        for rule in protocol.rule_rows() {
            let Values::Names(names) = rule.values else { continue };
            for (value, _) in names {
                assert!(words.contains(value.as_str()), "{name}: {value}");
            }
        }
    }
}

#[test]
fn help_is_in_groups_and_knows_its_protocols() {
    let help = printed("check --help");
    let groups =
        ["Protocol:", "Processes:", "Faults:", "Network:", "Timing:", "Search:", "Output:"];
    let mut rest = help.as_str();
    for group in groups {
        let at = rest.find(&format!("\n{group}\n"));
        rest = &rest[at.unwrap_or_else(|| panic!("no {group} behind the others in\n{help}"))..];
    }
    assert!(offered(&help).iter().all(|flag| !flag.starts_with("--t-")), "{help}");
    assert!(help.contains("'check PROTOCOL --help' shows"), "{help}");
    assert_eq!(printed("help check bully"), printed("check bully --help"));
    assert_eq!(printed("check --variant baseline bully --help"), printed("check bully --help"));
    for (protocol, has) in [("bully", false), ("garcia-molina", true)] {
        let flags = offered(&printed(&format!("check {protocol} --help")));
        assert_eq!(flags.iter().any(|flag| flag == "--symmetry"), has, "{protocol}");
    }
    assert!(printed("check bully -h").len() < printed("check bully --help").len());
}

#[test]
fn every_flag_of_the_help_is_explained() {
    for command in ["check", "bounds", "explore", "trace", "tune"] {
        let help = printed(&format!("help {command}"));
        let help = help.split("Examples:").next().expect("the flags stand before the examples");
        let flags = help.lines().filter(|line| line.trim_start().starts_with('-'));
        assert!(flags.count() >= 4, "{help}");
        let lines: Vec<_> = help.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].trim_start().starts_with("--")) {
            assert!(pair[1].starts_with("          "), "{command}: {} says nothing", pair[0]);
        }
    }
}

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let of_protocol = |protocol: &dyn AnyProtocol| {
        ["check", "explore"].map(|command| format!("{command} {} -h", protocol.name()))
    };
    let lines: Vec<String> = REGISTRY.iter().flat_map(of_protocol).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let program = || {
        let file = assert_cmd::cargo::cargo_bin("bellwether-model");
        let mut command = std::process::Command::new(file);
        command.env_remove("CARGO");
        command
    };
    let wrong = bellwether_docs_runner::not_one_screen(program, &lines);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = bellwether_docs_runner::not_in_the_manual(program);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// What makes a flag mean something, and its value.
const MEANT: &[(&str, &str)] = &[
    ("--variant", "--variant recommended"),
    ("--rule", "--rule guard=true"),
    ("--nodes", "--nodes 2"),
    ("--crashes", "--crashes 2"),
    ("--recoveries", "--recoveries 1"),
    ("--down", "--down 3"),
    ("--calm", "--variant chapter --down 3 --calm 2"),
    ("--losses", "--losses 1"),
    ("--duplicates", "--duplicates 1"),
    ("--cuts", "--cuts 1"),
    ("--one-way-cuts", "--one-way-cuts 1"),
    ("--suspicions", "--suspicions 1"),
    ("--pauses", "--pauses 1 TIMED"),
    ("--jumps", "--jumps 1 --jump 1 TIMED"),
    ("--jump", "--jumps 1 --jump 2 TIMED"),
    ("--heals", "--heals must --cuts 1"),
    ("--fairness", "--fairness strong --losses 1 --property stabilises"),
    ("--without", "--without 1-2"),
    ("--network", "--network set"),
    ("--timing", "--timing asynchronous"),
    ("--start", "--start cold"),
    ("--capacity", "--capacity 2"),
    ("--symmetry", "--symmetry concrete"),
    ("--delay", "TIMED"),
    ("--slow", "--slow 1-2=3 TIMED"),
    ("--processing", "--processing 1 TIMED"),
    ("--drift", "--drift 1/10 TIMED"),
    ("--within", "--within 20 --property agreed-within TIMED"),
    ("--t-elec", "TIMED"),
    ("--t-answer", "--t-answer 3 --rule restart=check-first TIMED"),
    ("--t-coord", "TIMED"),
    ("--t-detect", "TIMED"),
    ("--t-heartbeat", "TIMED"),
    ("--property", "--property stabilises"),
    ("--engine", "--engine bfs"),
    ("--seed", "--seed 7 --engine simulation --max-seconds 0.1"),
    ("--depth", "--depth 7 --engine simulation --max-seconds 0.1"),
    ("--threads", "--threads 1"),
    ("--max-states", ""),
    ("--max-seconds", "--max-seconds 10"),
    ("--memory", "--memory 1G"),
    ("--json", "--json"),
    ("--first", "--first"),
    ("--all", "--all 2"),
    ("--never", "--never leads(1)"),
    ("--always", "--always up(1)"),
    ("--quiet", "--quiet"),
    ("--until", "--until agreed"),
    ("--find", "--find t-elec"),
    ("--up-to", "--up-to 4"),
    ("--tick", "--tick 2ms"),
];

/// No command offers a flag that it refuses in every case.
#[test]
fn what_is_offered_is_understood() {
    let timed = "--timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3";
    for (command, given) in
        [("check", timed), ("bounds", timed), ("tune", "--delay 1 --t-heartbeat 3 --t-coord 8")]
    {
        for flag in offered(&printed(&format!("{command} bully --help"))) {
            // These use files, start no search, or need a name of what was found.
            let others = ["--out", "--help", "--show", "--disk", "--resume", "--save-every"];
            if others.contains(&flag.as_str()) {
                continue;
            }
            let meant = MEANT.iter().find(|(known, _)| *known == flag);
            let (_, meant) = meant.unwrap_or_else(|| panic!("say in MEANT how to use {flag}"));
            if command == "tune" && meant.contains("TIMED") && flag.starts_with("--t-") {
                continue;
            }
            let mut line = format!("{command} bully --max-states 50 {meant}");
            line = match (command, line.contains("TIMED")) {
                (_, true) => line.replace("TIMED", given),
                ("tune", false) => format!("{line} --delay 1 --t-heartbeat 3"),
                _ => line,
            };
            printed(&line);
        }
    }
}

/// The commands that are printed begin as the program was called, and start what they say.
#[test]
fn the_next_command_works_as_it_stands() {
    let next = |line: &str, begin: &str| -> String {
        let text = printed(line);
        let found = text.lines().find_map(|line| line.strip_prefix(begin));
        found.unwrap_or_else(|| panic!("no {begin} in\n{text}")).to_owned()
    };
    for line in [
        "check bully --recoveries 1 --property at-most-one-leader",
        "check raft-election --variant paper --crashes 0 --without 1-3 --property stable-leader",
        "tune bully --variant baseline --delay 1 --find t-elec",
    ] {
        let shell = next(line, "Browse it: ") + " --on-demand --address 127.0.0.1:0";
        let mut explorer = std::process::Command::new("sh")
            .args(["-c", &format!("exec {shell}")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let lines = BufReader::new(explorer.stdout.take().expect("it is piped")).lines();
        let serves = lines.map_while(Result::ok).any(|line| line.starts_with("Explorer: http://"));
        explorer.kill().expect("it serves until it is killed");
        explorer.wait().expect("it is our child");
        assert!(serves, "{shell}");
    }
    let again = next("survey bully --max-states 10", "What is behind a cell: ");
    let again = again.replace("PROTOCOL WORLD", "bully crash-recovery");
    let shown = std::process::Command::new("sh").args(["-c", &again]).output().expect("a shell");
    assert_eq!(shown.status.code(), Some(1), "{again}");
}

/// The command lines under "Examples:" in a help text.
fn examples(help: &str) -> Vec<String> {
    let after = help.split("Examples:\n").nth(1).unwrap_or_default();
    let after = after.split("\n\n").next().unwrap_or_default();
    let called = ["  cargo run --release -- ", "  bellwether-model "];
    let lines = after.lines().filter_map(|l| called.iter().find_map(|begin| l.strip_prefix(begin)));
    lines.map(|line| line.split(" > ").next().unwrap_or(line).to_owned()).collect()
}

#[test]
fn every_example_of_the_help_runs() {
    let dir = TempDir::new().expect("a folder");
    let mut count = 0;
    // `check` saves what the examples of `trace` read.
    for command in [
        "--help",
        "check --help",
        "trace --help",
        "list --help",
        "completions --help",
        "tune --help",
        "explore --help",
    ] {
        let help = run(command);
        assert_eq!(help.status, 0, "{command}");
        let examples = examples(&help.stdout);
        assert!(examples.len() >= 3, "{command} gives examples: {}", help.stdout);
        for line in &examples {
            count += 1;
            if line.starts_with("explore") && !line.contains(" --export ") {
                explores(line);
                continue;
            }
            // Other tests run it to the end.
            let line =
                if line == "survey" { format!("{line} --max-states 1000") } else { line.clone() };
            let words = bellwether_docs_runner::words(&line);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let ran = run_args(dir.path(), &words);
            let allowed: &[i32] = match line.split(' ').next() {
                Some("check") => &[0, 1],
                _ => &[0],
            };
            assert!(allowed.contains(&ran.status), "{line}: {} {}", ran.status, ran.stderr);
            // What takes longer than some seconds tells how far it is.
            let mut told = ran.stderr.lines();
            assert!(told.all(|line| line.starts_with("00:")), "{line}: {}", ran.stderr);
        }
    }
    assert!(count >= 18, "only {count} examples");
    let picture = fs::read_to_string(dir.path().join("picture.svg")).expect("it was drawn");
    assert!(picture.contains("<svg"));
}

/// The example starts an Explorer; here on a free port, whatever it says.
fn explores(line: &str) {
    let line = line.split(" --address").next().unwrap_or(line);
    let mut child = piped(&format!("{line} --address 127.0.0.1:0"));
    let stdout = child.stdout.take().expect("it is piped");
    let told = BufReader::new(stdout).lines().map_while(Result::ok).any(|l| l.contains("http://"));
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    assert!(told, "{line} prints no address");
}
