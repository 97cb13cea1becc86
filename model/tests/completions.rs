//! What shells complete.

use super::cli::run;
use serde_json::Value;
use std::path::Path;

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&format!("completions {shell}"));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{shell}");
        assert!(ran.stdout.contains("bellwether-model"), "{shell}");
        assert!(ran.stdout.contains("BELLWETHER_COMPLETE"), "{shell}");
    }
}

/// What `list --json` says that a protocol has, sorted.
fn listed(protocol: &str, what: &str) -> Vec<String> {
    let one = run(&format!("list {protocol} --json")).stdout;
    let one: Value = serde_json::from_str(&one).expect("JSON");
    let rows = one[what].as_array().unwrap_or_else(|| panic!("no {what} in {one}"));
    let mut names: Vec<String> =
        rows.iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_shell_completes_what_only_the_program_knows() {
    let program = Path::new(env!("CARGO_BIN_EXE_bellwether-model"));
    let complete = |words: &[&str]| bellwether_docs_runner::completed(program, words);
    let Some(protocols) = complete(&["check", ""]) else { return };
    for name in ["bully", "raft-election", "quorum"] {
        assert!(protocols.iter().any(|known| known == name), "{protocols:?}");
    }
    let is = |words: &[&str], all: Vec<String>| assert_eq!(complete(words), Some(all), "{words:?}");
    for protocol in ["bully", "raft-election"] {
        is(&["check", protocol, "--variant", ""], listed(protocol, "variants"));
        is(&["explore", protocol, "--variant", ""], listed(protocol, "variants"));
    }
    let some = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    is(&["list", "bul"], some(&["bully"]));
    is(&["check", "bully", "--rule", "t_c"], some(&["t_coord="]));
    // Bash splits words at these characters, and replaces what stands behind them.
    is(&["check", "bully", "--rule", "t_coord", "="], some(&["false", "true"]));
    is(&["check", "bully", "--rule", "t_coord", "=", "f"], some(&["false"]));
    is(&["check", "bully", "--property", "at-m"], some(&["at-most-one-leader"]));
    is(&["tune", "bully", "--property", "at-m"], some(&["at-most-one-leader"]));
    is(&["check", "no-such", "--variant", ""], Vec::new());
    is(&["surv"], some(&["survey"]));
    is(&["survey", "--like", "k"], some(&["keepalived", "kubernetes"]));
}
