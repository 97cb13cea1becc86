//! What Bash completes with the script that a program prints.

use std::path::Path;
use std::process::{Command, Stdio};

/// Reads the script of the program `$0`, and calls its function for `$1` as Bash does.
const ASK: &str = r#"
eval "$("$0" completions bash)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
registered=$(complete -p "$1")
function=${registered#*-F }
last=${COMP_WORDS[COMP_CWORD]}
[[ $last == [=:]* ]] && last=
"${function%% *}" "$0" "$last" ""
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Returns what Bash offers for the last of these words of a program, sorted. The words are split
/// as Bash splits them, also at `=` and `:`. Nothing if there is no Bash here.
///
/// # Panics
/// If the script fails, or says something.
#[must_use]
pub fn completed(program: &Path, words: &[&str]) -> Option<Vec<String>> {
    let name = program.file_stem().expect("a program has a name");
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ASK]).arg(program).arg(name).args(words).stdin(Stdio::null());
    let Ok(output) = bash.output() else {
        super::notice("skipped: bash is not installed, so nothing is completed");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{words:?}: {said}");
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let mut offered: Vec<String> = told.lines().map(str::to_owned).collect();
    offered.sort_unstable();
    Some(offered)
}
