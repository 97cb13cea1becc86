//! The command line as a person or a script meets it: messages, exit statuses, and what is printed
//! where.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// The command in an environment of its own.
fn bellwether() -> Command {
    let mut command = Command::cargo_bin("bellwether-model").expect("the binary is built");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.env("CARGO", "cargo");
    command
}

/// What a run printed and returned.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run_in(dir: &Path, line: &str) -> Ran {
    run_args(dir, &line.split_whitespace().collect::<Vec<_>>())
}

pub(crate) fn run_args(dir: &Path, args: &[&str]) -> Ran {
    let output = bellwether().current_dir(dir).args(args).output().expect("the binary runs");
    let ran = Ran {
        status: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    };
    assert!(!ran.stderr.contains("panicked"), "{args:?}: {}", ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'), "{args:?}: escape codes in a pipe: {}", ran.stdout);
    assert!(!ran.stderr.contains('\u{1b}'), "{args:?}: escape codes in a pipe: {}", ran.stderr);
    ran
}

pub(crate) fn run(line: &str) -> Ran {
    run_in(Path::new("."), line)
}

/// One message on standard error that says all of `says`, nothing on standard output, status 2.
#[track_caller]
fn refused(ran: &Ran, says: &[&str]) {
    let Ran { status, stdout, stderr } = ran;
    assert_eq!(*status, 2, "{stderr}");
    assert_eq!(stdout, "");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
    for part in says {
        assert!(stderr.contains(part), "'{part}' is missing in: {stderr}");
    }
}

/// The names of files may be any bytes; everything else is text.
#[test]
#[cfg(unix)]
fn what_is_no_text_is_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let odd = OsStr::from_bytes(b"bul\xffy");
    let lines: [&[&str]; 4] =
        [&["check"], &["check", "bully", "--variant"], &["list"], &["check", "bully", "--nodes"]];
    for line in lines {
        let output = bellwether().args(line).arg(odd).output().expect("the binary runs");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("'bul\u{fffd}y' is not UTF-8"), "{line:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    let output = bellwether().arg("trace").arg(odd).output().expect("the binary runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(stderr.contains("cannot open bul"), "{stderr}");
}

#[test]
fn wrong_arguments_are_refused_with_the_remedy() {
    let cases: &[(&str, &[&str])] = &[
        ("check bully --nodes 0", &["--nodes 0", "give 2 to 7", "2 to 128"]),
        ("check bully --nodes 8", &["--nodes 8", "2 to 7", "--engine simulation"]),
        ("check bully --nodes -1", &["'-1'", "--nodes", "from 2 to 7;"]),
        ("check bully --nodes many", &["'many'", "--nodes", "from 2 to 7;"]),
        ("check bull", &["no protocol 'bull'", "bully"]),
        ("check bully --variant nope", &["no variant 'nope'", "recommended", "baseline"]),
        ("check bully --rule nope=1", &["no rule 'nope'", "t_coord", "restart"]),
        ("check bully --rule t_coord", &["RULE=VALUE", "t_coord=false"]),
        ("check bully --rule =false", &["RULE=VALUE"]),
        ("check bully --rule accept=nope", &["'accept'", "'nope'", "not-lower-than-known"]),
        ("check bully --property nope", &["no property 'nope'", "at-most-one-leader"]),
        ("check bully --engine nope", &["'nope'", "exact", "dfs", "simulation"]),
        ("check bully --network set --duplicates 1", &["merge", "--network fifo"]),
        ("check bully --timing asynchronous --suspicions 1", &["--suspicions", "perfect"]),
        ("check bully --capacity 0", &["--capacity 0", "at least 1"]),
        ("check bully --capacity -2", &["'-2'", "at least 1"]),
        ("check bully --crashes 5", &["--crashes 5", "give --crashes 3", "--recoveries 2"]),
        ("bounds bully --crashes 3 --nodes 2", &["--crashes 3", "give --crashes 2"]),
        (
            "check lease --nodes 2 --crashes 5 --recoveries 1",
            &["--crashes 5", "give --crashes 3", "--recoveries 3"],
        ),
        ("check bully --crashes 300", &["'300'", "--crashes", "from 0 to 255"]),
        ("check bully --memory 1X", &["'1X'", "--memory", "K, M or G"]),
        ("check bully --memory -1", &["'-1'", "--memory", "K, M or G"]),
        ("check bully --memory 99999999999G", &["--memory", "K, M or G"]),
        ("check bully --max-seconds -1", &["'-1'", "number of seconds"]),
        ("check bully --max-states 0", &["'0'", "--max-states"]),
        ("check bully --threads 0", &["'0'", "--threads", "from 1 to 256"]),
        ("check", &["PROTOCOL", "list"]),
        ("list nope", &["no protocol 'nope'", "bully"]),
        ("completions tcsh", &["'tcsh'", "bash", "zsh"]),
        ("check bully --without 1", &["'1'", "1-2", "1>2"]),
        ("check bully --without 2-2", &["'2-2'", "two different ids"]),
        ("check bully --without 1-900", &["'1-900'", "1 to 128"]),
        ("check bully --without 1-4", &["'1-4'", "1 to 3"]),
        ("explore bully --nodes 9", &["--nodes 9", "2 to 7"]),
        ("check bully --delay 2", &["--delay", "--timing timed"]),
        ("check bully --t-elec 5", &["--t-elec", "--timing timed"]),
        ("check bully --timing asynchronous --within 5", &["--within", "--timing timed"]),
        ("check bully --timing timed", &["--delay TICKS", "unbounded", "--t-elec TICKS"]),
        ("check bully --timing timed --delay 0", &["--delay 0", "at least 1 tick"]),
        ("check bully --slow 1>2=5", &["--slow", "--timing timed"]),
        ("check bully --timing timed --delay soon", &["'soon'", "at most 100", "unbounded"]),
        ("check bully --timing timed --delay 3..1", &["'3..1'", "at most 100"]),
        ("check bully --timing timed --delay 1..3", &["--delay 1..3", "'tune'"]),
        ("check bully --timing timed --delay -1", &["'-1'", "--delay"]),
        ("check bully --timing timed --delay 2", &["waits for an OK", "--t-elec TICKS"]),
        ("check bully --timing timed --delay 2 --t-elec 101", &["'101'", "at most 100"]),
        ("check bully --timing timed --delay 2 --t-elec x", &["'x'", "--t-elec"]),
        ("check bully -p timeouts-accurate", &["ticks", "--timing timed"]),
        ("tune bully --variant baseline --delay unbounded", &["unbounded", "1..3"]),
        ("tune bully --variant baseline --timing asynchronous", &["--timing"]),
        ("tune bully --variant baseline --find t-nope", &["t-nope", "t-elec, t-coord"]),
        ("tune bully --variant baseline --find t-elec --t-elec 3", &["leave --t-elec out"]),
        ("tune bully --variant baseline --t-elec 3 --t-coord 5", &["nothing to find"]),
        ("tune bully --variant baseline --t-heartbeat 3", &["--t-heartbeat", "no effect"]),
        ("tune bully --variant baseline --property nope", &["no property 'nope'"]),
        ("tune bully --variant baseline -p agreed-within", &["--within TICKS"]),
        ("tune bully --variant baseline --up-to 0", &["'0'", "--up-to"]),
        ("tune queue --variant pings", &["--t-ping TICKS"]),
        ("tune bully --delay 3ms..1ms", &["5ms..15ms"]),
        ("tune bully --delay 500ms --tick 2ms", &["--tick", "100 ticks"]),
        ("check bully --timing timed --delay 3ms", &["a number of ticks"]),
        ("explore nope", &["no protocol 'nope'"]),
    ];
    for (line, says) in cases {
        refused(&run(line), says);
    }
}

#[test]
fn a_file_in_place_of_the_folder_is_found_out_before_the_search() {
    let dir = TempDir::new().expect("a folder");
    fs::write(dir.path().join("taken"), "").expect("a file");
    for out in ["taken", "taken/below"] {
        let ran = run_in(dir.path(), &format!("check bully --out {out}"));
        refused(&ran, &["cannot write into", out, "another folder"]);
    }
    let ran = run_in(dir.path(), "check bully --recoveries 1 --out saved");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let trace = "saved/bully-at-most-one-leader.ndjson";
    let ran = run_in(dir.path(), &format!("trace {trace} --output taken/below"));
    refused(&ran, &["cannot write", "taken/below"]);
}

#[test]
fn the_exit_status_tells_the_verdict() {
    let cases = [
        ("check bully", 0),
        ("check bully --recoveries 1", 1),
        ("check bully --recoveries 1 --property decided --property decided", 0),
        ("check bully --max-states 10", 3),
        ("check bully --engine bfs --nodes 4 --recoveries 1 --max-states 10 -p decided", 3),
        ("check bully --engine simulation --max-states 1000", 3),
        ("check bully --engine simulation --recoveries 1 --max-states 100000", 1),
        ("list", 0),
        ("--version", 0),
    ];
    for (line, status) in cases {
        let ran = run(line);
        assert_eq!(ran.status, status, "{line}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stderr, "", "{line}");
    }
}

#[test]
fn what_was_cut_short_is_not_claimed() {
    let ran = run("check bully --max-states 10");
    assert!(ran.stdout.contains("unknown"), "{}", ran.stdout);
    assert!(ran.stdout.contains("cut short"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("holds"), "{}", ran.stdout);
}

/// The one object that `line` prints.
fn json_of(line: &str) -> Value {
    let ran = run(line);
    assert_eq!(ran.stderr, "", "{line}");
    assert_eq!(ran.stdout.lines().count(), 1, "{line}: one line");
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

#[test]
fn json_says_everything_that_was_assumed_and_found() {
    let report = json_of("check bully --recoveries 1 --threads 2 --json");
    assert_eq!(report["protocol"], "bully");
    assert_eq!(report["variant"], "recommended");
    assert_eq!(report["nodes"], 3);
    let faults = json!({ "crashes": 1, "recoveries": 1, "losses": 0, "duplicates": 0,
                         "cuts": 0, "suspicions": 0 });
    assert_eq!(report["faults"], faults);
    assert_eq!(report["network"], "fifo");
    assert_eq!(report["timing"], json!({ "kind": "perfect" }));
    assert_eq!(report["engine"], "exact");
    assert_eq!(report["threads"], 2);
    assert!(report["seconds"].is_f64());
    assert!(report["peak_rss_bytes"].is_u64() || !cfg!(target_os = "linux"));
    for count in ["distinct", "generated", "depth"] {
        assert!(report["states"][count].as_u64() > Some(0), "{count}");
    }
    let properties = report["properties"].as_array().expect("a list");
    assert_eq!(properties.len(), 7);
    for property in properties {
        let verdict = property["verdict"].as_str().expect("a verdict");
        let kind = property["kind"].as_str().expect("a kind");
        assert!(["holds", "violated"].contains(&verdict), "{property}");
        assert!(["safety", "liveness", "reachability"].contains(&kind), "{property}");
        assert!(property["name"].is_string() && property["formula"].is_string(), "{property}");
        assert_eq!(property["counterexample"].is_object(), verdict == "violated", "{property}");
    }
    let found = &properties[0]["counterexample"];
    assert_eq!(properties[0]["name"], "at-most-one-leader");
    assert_eq!(found["steps"].as_array().map(Vec::len), Some(5));
    assert_eq!(found["steps"][0]["event"]["kind"], "crash");
    assert_eq!(found["cycle"], Value::Null);
}

#[test]
fn json_of_a_liveness_violation_has_a_stem_and_a_cycle() {
    let lasso = |line: &str| {
        let report = json_of(line);
        let property = &report["properties"][0];
        assert_eq!(property["verdict"], "violated", "{line}");
        let length = |part: &str| property["counterexample"][part].as_array().map(Vec::len);
        (length("steps").expect("a stem"), length("cycle").expect("a cycle"))
    };
    let (_, cycle) = lasso("check bully --cuts 1 --property stabilises --json");
    assert!(cycle > 0, "it goes round for ever");
    let line = "check bully --rule t_coord=false --crashes 2 --property stabilises --json";
    let (stem, cycle) = lasso(line);
    assert!(stem > 0 && cycle == 0, "nothing happens any more");
}

#[test]
fn json_of_an_unknown_verdict_says_why() {
    let report = json_of("check bully --max-states 10 --json");
    assert_eq!(report["cut_short"], "states");
    let properties = report["properties"].as_array().expect("a list");
    assert!(properties.iter().all(|p| p["verdict"] == "unknown" && p["reason"] == "states"));
}

#[test]
fn no_colour_when_it_is_not_wanted() {
    // `run` asserts that a pipe gets none; here it is forced, and then forbidden.
    let output = |name: &str, value: &str| {
        let mut command = bellwether();
        command.args(["check", "bully", "--recoveries", "1"]).env(name, value);
        String::from_utf8(command.output().expect("it runs").stdout).expect("UTF-8")
    };
    assert!(output("CLICOLOR_FORCE", "1").contains('\u{1b}'));
    assert!(!output("NO_COLOR", "1").contains('\u{1b}'));
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let lines = [
        "check bully --recoveries 1",
        "check bully --json",
        "list bully",
        "list --json",
        "completions zsh",
        "--help",
        "check --help",
    ];
    for line in lines {
        let mut child = piped(line);
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr, "", "{line}");
        assert!(output.status.code().is_some(), "{line}");
    }
}

pub(crate) fn piped(line: &str) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"))
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

#[test]
fn the_list_names_protocols_variants_rules_and_properties() {
    assert!(run("list").stdout.contains("bully"));
    let all: Value = serde_json::from_str(&run("list --json").stdout).expect("JSON");
    let all = &all["protocols"];
    assert_eq!(all[0]["name"], "bully");
    let one = run("list bully").stdout;
    for word in ["recommended", "baseline", "wikipedia", "t_coord", "at-most-one-leader", "□"] {
        assert!(one.contains(word), "{word}");
    }
    let one: Value = serde_json::from_str(&run("list bully --json").stdout).expect("JSON");
    let variants = one["variants"].as_array().expect("a list");
    assert_eq!(variants.len(), all[0]["variants"].as_array().map_or(0, Vec::len));
    for variant in variants {
        let name = variant["name"].as_str().expect("a name");
        let line = format!("check bully --variant {name} --max-states 1 --json");
        assert_eq!(json_of(&line)["variant"], *name);
    }
    for property in one["properties"].as_array().expect("a list") {
        let name = property["name"].as_str().expect("a name");
        let timing = match name {
            "agreed-within" => format!("{TIMED} --within 9"),
            _ if property["timed"] == true => TIMED.to_owned(),
            _ => String::new(),
        };
        let line = format!("check bully -p {name} --json {timing}");
        assert_eq!(json_of(&line)["properties"][0]["name"], *name);
    }
}

/// A timed world of the recommended bully.
const TIMED: &str = "--timing timed --delay 1 --t-elec 3 --t-coord 8 --t-detect 1 --t-heartbeat 3";

#[test]
fn json_says_how_time_was_measured() {
    let report = json_of(&format!("check bully -p agreed-within --json {TIMED} --within 9"));
    let durations = json!({ "t-elec": 3, "t-coord": 8, "t-detect": 1, "t-heartbeat": 3 });
    let timing = json!({ "kind": "timed", "delay": 1, "processing": 0, "durations": durations,
                         "within": 9 });
    assert_eq!(report["timing"], timing);
}

#[test]
fn every_flag_of_the_help_is_explained() {
    for command in ["check", "bounds", "explore", "trace", "tune"] {
        let help = run(&format!("help {command}")).stdout;
        let flags: Vec<_> = help.lines().filter(|l| l.trim_start().starts_with('-')).collect();
        assert!(flags.len() >= 4, "{help}");
        let lines: Vec<_> = help.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].trim_start().starts_with("--")) {
            assert!(pair[1].starts_with("          "), "{command}: {} says nothing", pair[0]);
        }
    }
    let help = run("help check").stdout;
    for word in
        ["- fifo:", "- asynchronous:", "- cold:", "- must:", "- simulation:", "[default: 3]"]
    {
        assert!(help.contains(word), "{word}");
    }
    assert!(run("help").stdout.contains("Exit status: 0"));
}

/// A folder with the trace and the picture of a violation, and the trace's name.
fn saved() -> (TempDir, PathBuf) {
    let dir = TempDir::new().expect("a folder");
    let ran = run_in(dir.path(), "check bully --recoveries 1 --out .");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("Saved: ./bully-follower-bound.ndjson"), "{}", ran.stdout);
    let trace = dir.path().join("bully-follower-bound.ndjson");
    (dir, trace)
}

#[test]
fn a_saved_counterexample_is_told_and_drawn_again() {
    let (dir, _) = saved();
    let trace = |flags: &str| {
        let ran = run_in(dir.path(), &format!("trace bully-follower-bound.ndjson {flags}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{flags}");
        ran.stdout
    };
    let picture = fs::read_to_string(dir.path().join("bully-follower-bound.svg")).expect("SVG");
    assert_eq!(trace("--format svg").trim_end(), picture.trim_end());
    roxmltree::Document::parse(&picture).expect("well-formed");
    assert!(trace("").contains("3, the leader, crashes."));
    assert_eq!(trace(""), trace("--format text"));
    assert!(trace("--format story").contains("This violates follower-bound"));
    assert!(trace("--format diagram").contains("process 3"));
    assert!(trace("--format diagram --ascii").is_ascii() || trace("--ascii").contains('-'));
    let check = run_in(dir.path(), "check bully --recoveries 1 --property follower-bound");
    let link = trace("--format link");
    assert!(link.starts_with("http://127.0.0.1:3000/#/steps/0/"), "{link}");
    assert!(check.stdout.contains(link.trim_end()), "{}", check.stdout);
    trace("--unchecked --output again.txt");
    let again = fs::read_to_string(dir.path().join("again.txt")).expect("it was written");
    assert_eq!(again, trace(""));
}

#[test]
fn a_file_that_is_no_trace_is_refused_by_name() {
    let (dir, path) = saved();
    let good = fs::read_to_string(&path).expect("the trace");
    let refuse = |content: &[u8], says: &[&str]| {
        let name = dir.path().join("bad.ndjson");
        fs::write(name, content).expect("it is written");
        let says = [&["bad.ndjson"], says].concat();
        refused(&run_in(dir.path(), "trace bad.ndjson"), &says);
    };
    let lines: Vec<&str> = good.lines().collect();
    let without = |gone: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    refuse(b"", &["empty"]);
    refuse(b"\n", &["first line", "nothing in JSON"]);
    refuse(&[0, 159, 146, 150, 10, 255], &["line 1", "UTF-8"]);
    refuse(b"<svg></svg>\n", &["first line", "nothing in JSON"]);
    refuse(b"{\"some\": \"JSON\"}\n", &["not a trace", "bellwether-trace/1"]);
    refuse(&good.as_bytes()[..good.len() - 9], &["line 8", "cut off"]);
    refuse(without(0).as_bytes(), &["not a trace", "first line"]);
    refuse(without(3).as_bytes(), &["line 4", "step 4 where step 3 should stand"]);
    refuse(without(7).as_bytes(), &["promises 7 steps, but 6 follow"]);
    refuse(format!("{good}{}\n", lines[7]).as_bytes(), &["line 9", "doubled"]);
    let other = good.replace("bellwether-trace/1", "bellwether-trace/9");
    refuse(other.as_bytes(), &["bellwether-trace/1", "bellwether-trace/9"]);
    let other = good.replacen("\"protocol\":\"bully\"", "\"protocol\":\"raft\"", 1);
    refuse(other.as_bytes(), &["no protocol 'raft'", "bully"]);
    let other = good.replacen("\"nodes\":3", "\"nodes\":0", 1);
    refuse(other.as_bytes(), &["--nodes 0", "2 to 128"]);
    let other = good.replacen("\"t_coord\":true", "\"t_coord\":3", 1);
    refuse(other.as_bytes(), &["t_coord", "true or false"]);
    let torn = good.replacen("\"seq\":2,", "\"seq\":2", 1);
    refuse(torn.as_bytes(), &["line 3", "column"]);
}

#[test]
fn a_trace_that_the_model_does_not_take_is_refused_by_step() {
    let (dir, path) = saved();
    let good = fs::read_to_string(&path).expect("the trace");
    let refuse = |line: usize, change: &dyn Fn(&mut Value), says: &[&str]| {
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        let mut changed = serde_json::from_str(&lines[line]).expect("JSON");
        change(&mut changed);
        lines[line] = changed.to_string();
        fs::write(dir.path().join("bad.ndjson"), lines.join("\n") + "\n").expect("written");
        let says = [&["bad.ndjson"], says].concat();
        refused(&run_in(dir.path(), "trace bad.ndjson"), &says);
        let shown = run_in(dir.path(), "trace bad.ndjson --unchecked");
        assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
    };
    refuse(1, &|step| step["node"] = json!(7), &["step 1", "7 crashes", "possible", "3 crashes"]);
    refuse(1, &|step| step["node"] = json!(2), &["step 1", "trace says", "model says"]);
    refuse(1, &|step| step["event"]["kind"] = json!("recover"), &["step 1", "cannot happen"]);
    refuse(2, &|step| step["sent"] = json!([]), &["step 2", "trace says", "model says"]);
    refuse(2, &|step| step["event"]["timer"] = json!("egg"), &["step 2", "egg"]);
    refuse(4, &|step| drop(step["node"].take()), &["step 4", "node"]);
    refuse(0, &|first| first["initial"]["1"]["leader"] = json!(2), &["at the beginning"]);
    refuse(0, &|first| first["world"]["faults"]["recoveries"] = json!(0), &["step 7"]);
}
