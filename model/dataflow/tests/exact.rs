//! What the engine exact finds, to compare with.

use bellwether_engine::check as checks;
use bellwether_protocols::REGISTRY;
use bellwether_tool::cli::{QuestionArgs, Tool, status, with_durations};
use clap::{Args, Command, FromArgMatches};
use serde_json::Value;

/// What `check` would print with these flags and `--json`, and its exit status.
pub(crate) fn check(line: &str) -> (Value, i32) {
    let command = Command::new("exact").no_binary_name(true);
    let command = command.subcommand(QuestionArgs::augment_args(Command::new("check")));
    let command = with_durations(command, REGISTRY);
    let matches = command.try_get_matches_from(line.split_whitespace()).expect("flags");
    let (_, flags) = matches.subcommand().expect("a command");
    let question = QuestionArgs::from_arg_matches(flags).expect("its flags");
    let world = question.world(Tool::new("exact", REGISTRY)).expect("a world");
    let properties = question.properties(&world).expect("the properties");
    let report =
        checks::check(&world, &properties, &question.options(), &mut |_| {}).expect("a report");
    let json = serde_json::to_string(&report).expect("JSON");
    (without_how(json.as_bytes()), i32::from(status(report.verdict())))
}

/// A report without what says how it was searched.
pub(crate) fn without_how(json: &[u8]) -> Value {
    let mut json: Value = serde_json::from_slice(json).expect("a report");
    let object = json.as_object_mut().expect("an object");
    for key in ["version", "engine", "threads", "processes", "seconds", "peak_rss_bytes"] {
        object.remove(key);
    }
    json
}
