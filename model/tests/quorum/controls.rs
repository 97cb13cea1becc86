//! Negative controls: what each rule protects, and how soon that breaks without it. The page shows
//! the same table, and each of its commands is run.

use assert_cmd::Command;
use bellwether_docs_runner::is_shown;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A rule that is switched off.
struct Control {
    /// What the rule is, for people.
    rule: &'static str,
    /// The rule with the value that switches it off, and if that is not the one it has anyway, with
    /// the value that it has otherwise.
    off: &'static str,
    on: Option<&'static str>,
    /// What it protects.
    property: &'static str,
    /// The variant, and its other rules.
    variant: &'static str,
    other: &'static [&'static str],
    /// The scenario.
    world: String,
}

/// A leader whose lease rests on one voter, which another process asks; time is measured.
fn hub(world: &str, round: u8) -> String {
    format!(
        "{world} --timing timed --delay 1 --t-backoff 3 --t-elec 3 --t-lease 6 --t-promise 7 \
         --t-round {round} --t-skew 1"
    )
}

fn recommended(
    off: &'static str,
    rule: &'static str,
    property: &'static str,
    world: &str,
) -> Control {
    let world = world.to_owned();
    Control { rule, off, on: None, property, variant: "recommended", other: &[], world }
}

fn bare(off: &'static str, rule: &'static str, property: &'static str) -> Control {
    let world = "--recoveries 1 --suspicions 2";
    Control { variant: "bare", ..recommended(off, rule, property, world) }
}

/// In time: no order, so that the next leader is as quick as it can be.
fn timed(off: &'static str, rule: &'static str) -> Control {
    let world = hub("--crashes 0 --cuts 1 --without '1-3'", 3);
    let other = &["outrank=false"];
    Control { other, ..recommended(off, rule, "at-most-one-leader", &world) }
}

/// A leader proposes a list of itself alone, and no other process hears it.
fn list(off: &'static str, rule: &'static str) -> Control {
    let other = &["lists=fork-alone"];
    let world = "--crashes 0 --without '3>1' --without '3>2'";
    Control { other, ..recommended(off, rule, "at-most-one-leader", world) }
}

/// What an epoch rests on.
fn grants() -> Vec<Control> {
    vec![
        bare("grants=again", "an epoch is granted once", "one-leader-per-epoch"),
        bare("storage=syncs-late", "a grant is durable before it is sent", "one-leader-per-epoch"),
        bare("storage=forgets-grant", "the grant outlasts a crash", "grants-stand"),
        bare("storage=forgets-all", "the epoch outlasts a crash", "one-leader-per-epoch"),
        Control {
            other: &["canvass=asks"],
            world: "--start cold --crashes 0 --suspicions 1".to_owned(),
            ..bare("grants=counts-support", "a support is no grant", "one-leader-per-epoch")
        },
    ]
}

/// What a lease rests on.
fn leases() -> Vec<Control> {
    vec![
        timed("promises=broken", "a voter keeps its promise"),
        timed("expiry=ignores", "a leader steps down when its lease has run out"),
        timed("count=from-answer", "a lease counts from before the sending"),
        Control {
            world: hub("--crashes 0 --cuts 1 --without '1-3'", 1),
            ..timed("rounds=any", "an acknowledgement counts for its own round")
        },
        // A round trip is longer than a round.
        Control {
            other: &[],
            property: "first-leader-stays",
            world: "--nodes 2 --crashes 0 --timing timed --delay 2 --t-backoff 3 --t-coord 14 \
                    --t-elec 6 --t-lease 9 --t-promise 10 --t-round 3 --t-skew 1"
                .to_owned(),
            ..timed("rounds=latest", "a late acknowledgement counts")
        },
        Control {
            world: hub("--recoveries 1 --without '1-3'", 3),
            ..timed("quiet=false", "a restarted voter waits for as long as a promise")
        },
        Control {
            property: "acts-with-a-lease",
            world: hub("--nodes 2 --crashes 0 --pauses 1 --capacity 1", 3),
            ..timed("late=acts", "a process that is late looks at its lease first")
        },
    ]
}

/// What keeps a leader that is heard, and no other.
fn leaders() -> Vec<Control> {
    let deaf = "--crashes 0 --without '1>3' --without '2>3'";
    vec![
        recommended(
            "expiry=keeps-renewing",
            "without a lease, a leader sends nothing that renews a promise",
            "stable-leader",
            deaf,
        ),
        recommended(
            "backoff=false",
            "a process without a majority is not electable for a while",
            "stable-leader",
            deaf,
        ),
        recommended(
            "canvass=asks-anyway",
            "a process supports no other while its promise lasts",
            "stable-leader",
            "--crashes 0 --without '3>1'",
        ),
        recommended(
            "canvass=none",
            "a process canvasses before it claims",
            "first-leader-stays",
            "--crashes 0 --cuts 1 --heals must",
        ),
        recommended(
            "answer_lower=false",
            "a process tells one of a lower epoch its own",
            "settles",
            "--recoveries 1 --losses 2",
        ),
        Control {
            other: &["canvass=none"],
            ..recommended(
                "deposed=ignores",
                "a leader that learns of a higher epoch steps down",
                "settles",
                "--crashes 0 --suspicions 2",
            )
        },
    ]
}

/// What lets another lead.
fn successors() -> Vec<Control> {
    vec![
        Control {
            other: &["step_down=true"],
            ..recommended(
                "binds_itself=false",
                "a promise binds the voter itself too",
                "at-most-one-leader",
                "--crashes 0 --duplicates 1 --network unordered --without '2>1'",
            )
        },
        Control {
            other: &["transfer=1"],
            ..recommended(
                "handover=unaided",
                "voters grant the next epoch when a leader yields",
                "hands-over",
                "--nodes 4 --crashes 0",
            )
        },
        Control {
            other: &["unhealthy=1", "transfer=1"],
            ..recommended(
                "absent=yields",
                "a leader leads on if the process that it has invited does not come",
                "first-leader-stays",
                "--crashes 0",
            )
        },
        // One of the two others may miss that it yields, and the other be cut off.
        Control {
            other: &["outrank=false", "transfer=1"],
            world: hub("--crashes 0 --cuts 1 --losses 1 --without '1-2'", 3),
            ..timed("heir=from-yield", "a successor's lease counts from before the leader yields")
        },
        Control {
            variant: "preemptive",
            ..recommended(
                "preemption=never",
                "a higher process takes over from a lower leader",
                "stabilises",
                "--recoveries 1",
            )
        },
    ]
}

/// Who is asked.
fn members() -> Vec<Control> {
    vec![
        list("lists_joint=false", "while a list is pending, a majority is one of both lists"),
        list("decides=at-once", "a list is decided once a majority of both lists has it"),
        Control {
            world: "--crashes 0 --without '2-3' --losses 3".to_owned(),
            ..list("up_to_date=false", "a voter grants nothing to a process with older lists")
        },
        Control {
            other: &["observer=4"],
            world: "--nodes 4 --crashes 0 --suspicions 2".to_owned(),
            ..bare("observing=votes", "an observer grants nothing", "one-leader-per-epoch")
        },
        Control {
            other: &["observer=4"],
            ..recommended(
                "observing=enlarges",
                "a majority is one of those that vote",
                "settles",
                "--nodes 4 --recoveries 1",
            )
        },
    ]
}

/// Who votes that starts without a state.
fn births() -> Vec<Control> {
    vec![
        Control {
            other: &["wiped=1"],
            ..recommended(
                "forgotten=votes",
                "a process that has lost its state does not vote before it is let in",
                "epochs-grow",
                "--crashes 2 --recoveries 1",
            )
        },
        Control {
            other: &["wiped=1"],
            on: Some("founding=all-met"),
            world: "--recoveries 1".to_owned(),
            ..bare(
                "founding=majority-met",
                "all others have met a process before it votes",
                "epochs-grow",
            )
        },
    ]
}

impl Control {
    /// The command that searches its world, by the other rules and this one.
    fn command(&self, rule: Option<&str>) -> String {
        let mut line = format!("check quorum --variant {}", self.variant);
        for rule in self.other.iter().copied().chain(rule) {
            write!(line, " --rule {rule}").expect("a string");
        }
        format!("{line} {}", self.world)
    }
}

/// What the checker reports of each property.
fn reported(command: &str) -> Vec<Value> {
    let mut checker = Command::cargo_bin("bellwether-model").expect("the checker is built");
    // A shell would take the quotes away.
    checker.args(command.split(' ').map(|word| word.trim_matches('\''))).args(["--json", "-q"]);
    let output = checker.output().expect("the checker runs");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{command}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    report["properties"].as_array().expect("a list").clone()
}

/// `UPDATE_DOCS=1 cargo test rule_is_missed` writes the page's table anew.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn every_rule_is_missed_when_it_is_switched_off() {
    let mut with_rule: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut table = String::from("| rule | without it, violated | steps | command |\n");
    table.push_str("|---|---|---|---|\n");
    let all = [grants(), leases(), leaders(), successors(), members(), births()];
    for control in all.into_iter().flatten() {
        let (rule, property) = (control.rule, control.property);
        let command = format!("{} --property {property}", control.command(Some(control.off)));
        // The first violation is a shortest one.
        let found = reported(&format!("{command} --first"));
        assert_eq!(found[0]["verdict"], "violated", "{command}");
        let shown = ["steps", "cycle"].map(|part| found[0]["counterexample"][part].as_array());
        let steps: usize = shown.into_iter().flatten().map(Vec::len).sum();
        writeln!(table, "| {rule} | `{property}` | {steps} | `{command}` |").expect("a string");
        with_rule.entry(control.command(control.on)).or_default().push(property);
    }
    for (mut command, mut properties) in with_rule {
        properties.sort_unstable();
        properties.dedup();
        for property in properties {
            write!(command, " --property {property}").expect("a string");
        }
        for one in reported(&command) {
            let holds = one["verdict"] == "holds" || one["verdict"] == "holds-within";
            assert!(holds, "{command}: {}: {}", one["name"], one["verdict"]);
        }
    }
    let marks = ("<!-- controls -->\n", "<!-- end of controls -->");
    is_shown("docs/protocols/quorum.md", Some(marks), |_| table);
}
