//! Negative controls: what each rule protects, and how soon that breaks without it. The page shows
//! the same table.

use super::{CRASH, Holds, report, rules, with};
use bellwether_model::check::Verdict::{HoldsWithin, Violated};
use bellwether_model::protocol::quorum::Quorum;
use bellwether_model::world::{
    Delay, Durations, Faults, Heals, Missing, Network, Scenario, Start, Timed, Timing,
};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A rule that is switched off.
struct Control {
    /// The variant that it is switched off in, and what else is.
    from: (&'static str, &'static [&'static str]),
    /// The rule, and the value that switches it off.
    off: &'static str,
    /// What it is, for people.
    rule: &'static str,
    /// What it protects.
    property: &'static str,
    scenario: fn() -> Scenario,
    /// The scenario, as flags of the command line.
    flags: &'static str,
}

const COLD: &str = "--start cold --crashes 0 --suspicions 1";
const CUT: &str = "--crashes 0 --cuts 1";
const RESTART: &str = "--recoveries 1";

fn two_suspicions() -> Scenario {
    with(Faults { suspicions: 2, ..CRASH })
}

fn two_losses() -> Scenario {
    with(Faults { losses: 2.into(), ..CRASH })
}

fn cold() -> Scenario {
    Scenario { start: Start::Cold, ..with(Faults { suspicions: 1, ..Faults::NONE }) }
}

/// A leader whose lease rests on one voter, which another process asks; time is measured.
fn hub(faults: Faults, round: u8) -> Scenario {
    let durations = [
        ("t-round", round),
        ("t-lease", 6),
        ("t-promise", 7),
        ("t-elec", 3),
        ("t-backoff", 3),
        ("t-skew", 1),
    ];
    let timed = Timed::of(Delay::AtMost(1), Durations::of(durations).expect("short names"));
    let missing = "1-3".parse::<Missing>().expect("a link");
    Scenario { timing: Timing::Timed(timed), missing, ..with(faults) }
}

/// 3 is heard, and hears no process.
fn deaf() -> Scenario {
    let links = ["1>3", "2>3"].map(|link| link.parse::<Missing>().expect("a link"));
    Scenario { missing: links[0].and(links[1]), ..Scenario::calm(3) }
}

/// 3 hears 1, which does not hear it.
fn one_way() -> Scenario {
    Scenario { missing: "3>1".parse().expect("a link"), ..Scenario::calm(3) }
}

/// 1 does not hear 2, and a message comes twice, perhaps much later.
fn late_canvass() -> Scenario {
    let faults = Faults { duplicates: 1, ..Faults::NONE };
    let missing = "2>1".parse().expect("a link");
    Scenario { network: Network::Unordered, missing, ..with(faults) }
}

/// The link between two processes is cut and heals.
fn healed() -> Scenario {
    let faults = Faults { cuts: 1, ..Faults::NONE };
    Scenario { heals: Heals::Must, ..with(faults) }
}

fn cut() -> Scenario {
    hub(Faults { cuts: 1, ..Faults::NONE }, 3)
}

/// A leader between two others, of which one may miss that it yields, and the other be cut off.
fn apart() -> Scenario {
    let faults = Faults { cuts: 1, losses: 1.into(), ..Faults::NONE };
    Scenario { missing: "1-2".parse().expect("a link"), ..hub(faults, 3) }
}

/// Two processes, of which one is paused.
fn paused() -> Scenario {
    let faults = Faults { pauses: 1, ..Faults::NONE };
    Scenario { nodes: 2, capacity: Some(1), missing: Missing::NONE, ..hub(faults, 3) }
}

/// Two restarts among four processes.
fn restarts() -> Scenario {
    let faults = Faults { crashes: 2, recoveries: 2, ..Faults::NONE };
    Scenario { nodes: 4, ..with(faults) }
}

/// The same, and a link may be cut.
fn restarts_apart() -> Scenario {
    let faults = Faults { crashes: 2, recoveries: 2, cuts: 1, ..Faults::NONE };
    Scenario { nodes: 4, ..with(faults) }
}

const fn bare(off: &'static str, rule: &'static str, property: &'static str) -> Control {
    Control {
        from: ("bare", &[]),
        off,
        rule,
        property,
        scenario: two_suspicions,
        flags: "--recoveries 1 --suspicions 2",
    }
}

/// In time: no order, so that the next leader is as quick as it can be.
const fn timed(off: &'static str, rule: &'static str) -> Control {
    Control {
        from: ("recommended", &["outrank=false"]),
        scenario: cut,
        flags: CUT,
        ..bare(off, rule, "at-most-one-leader")
    }
}

const fn network(
    off: &'static str,
    rule: &'static str,
    property: &'static str,
    (scenario, flags): (fn() -> Scenario, &'static str),
) -> Control {
    Control { from: ("recommended", &[]), scenario, flags, ..bare(off, rule, property) }
}

/// One of four processes takes the place of another, in two lists of members.
const fn list(off: &'static str, rule: &'static str) -> Control {
    Control {
        from: ("recommended", &["lists=replaces-in-steps"]),
        scenario: restarts,
        flags: "--nodes 4 --crashes 2 --recoveries 2",
        ..bare(off, rule, "at-most-one-leader")
    }
}

const CONTROLS: &[Control] = &[
    bare("grants=again", "an epoch is granted once", "one-leader-per-epoch"),
    bare("storage=syncs-late", "a grant is durable before it is sent", "one-leader-per-epoch"),
    bare("storage=forgets-grant", "the grant outlasts a crash", "grants-stand"),
    bare("storage=forgets-all", "the epoch outlasts a crash", "one-leader-per-epoch"),
    Control {
        from: ("bare", &["canvass=asks"]),
        scenario: cold,
        flags: COLD,
        ..bare("grants=counts-support", "a support is no grant", "one-leader-per-epoch")
    },
    timed("promises=broken", "a voter keeps its promise"),
    timed("expiry=ignores", "a leader steps down when its lease has run out"),
    timed("count=from-answer", "a lease counts from before the sending"),
    Control {
        scenario: || hub(Faults { cuts: 1, ..Faults::NONE }, 1),
        ..timed("rounds=any", "an acknowledgement counts for its own round")
    },
    Control {
        scenario: || hub(CRASH, 3),
        flags: RESTART,
        ..timed("quiet=false", "a restarted voter waits for as long as a promise")
    },
    Control {
        scenario: paused,
        flags: "--nodes 2 --crashes 0 --pauses 1 --capacity 1",
        property: "acts-with-a-lease",
        ..timed("late=acts", "a process that is late looks at its lease first")
    },
    network(
        "expiry=keeps-renewing",
        "without a lease, a leader sends nothing that renews a promise",
        "stable-leader",
        (deaf, "--crashes 0"),
    ),
    network(
        "backoff=false",
        "a process without a majority is not electable for a while",
        "stable-leader",
        (deaf, "--crashes 0"),
    ),
    network(
        "canvass=asks-anyway",
        "a process supports no other while its promise lasts",
        "stable-leader",
        (one_way, "--crashes 0"),
    ),
    network(
        "canvass=none",
        "a process canvasses before it claims",
        "first-leader-stays",
        (healed, "--crashes 0 --cuts 1 --heals must"),
    ),
    network(
        "answer_lower=false",
        "a process tells one of a lower epoch its own",
        "settles",
        (two_losses, "--recoveries 1 --losses 2"),
    ),
    Control {
        from: ("recommended", &["canvass=none"]),
        scenario: || with(Faults { suspicions: 2, ..Faults::NONE }),
        flags: "--crashes 0 --suspicions 2",
        ..bare("deposed=ignores", "a leader that learns of a higher epoch steps down", "settles")
    },
    Control {
        from: ("recommended", &["step_down=true"]),
        scenario: late_canvass,
        flags: "--crashes 0 --duplicates 1 --network unordered",
        ..bare("binds_itself=false", "a promise binds the voter itself too", "at-most-one-leader")
    },
    Control {
        from: ("recommended", &["transfer=1"]),
        scenario: || Scenario::calm(4),
        flags: "--nodes 4 --crashes 0",
        ..bare("handover=unaided", "voters grant the next epoch when a leader yields", "hands-over")
    },
    Control {
        from: ("recommended", &["outrank=false", "transfer=1"]),
        scenario: apart,
        flags: "--crashes 0 --cuts 1 --losses 1",
        ..timed("heir=from-yield", "a successor's lease counts from before the leader yields")
    },
    Control {
        from: ("preemptive", &[]),
        scenario: || with(CRASH),
        flags: "--recoveries 1",
        ..bare("preemption=never", "a higher process takes over from a lower leader", "stabilises")
    },
    Control {
        from: ("recommended", &[]),
        scenario: || Scenario { nodes: 4, ..with(CRASH) },
        flags: "--nodes 4 --recoveries 1",
        ..list("lists=replaces", "one member changes at a time")
    },
    list("lists_proven=false", "a process moves at once only from a list that is in force"),
    list("newcomers_wait=false", "one that is new to a list waits until it hears a member"),
    Control {
        scenario: restarts_apart,
        flags: "--nodes 4 --crashes 2 --recoveries 2 --cuts 1",
        ..list("lists_apart=false", "processes of different lists do not talk")
    },
    Control {
        from: ("bare", &["observer=4"]),
        scenario: || Scenario { nodes: 4, ..with(Faults { suspicions: 2, ..Faults::NONE }) },
        flags: "--nodes 4 --crashes 0 --suspicions 2",
        ..bare("observing=votes", "an observer grants nothing", "one-leader-per-epoch")
    },
    Control {
        from: ("recommended", &["observer=4"]),
        scenario: || Scenario { nodes: 4, ..with(CRASH) },
        flags: "--nodes 4 --recoveries 1",
        ..bare("observing=enlarges", "a majority is one of those that vote", "settles")
    },
    Control {
        from: ("recommended", &["lists=swaps-in-steps"]),
        ..list("lists=swaps", "a voter for an observer are two changes")
    },
];

impl Control {
    fn command(&self) -> String {
        let (variant, other) = self.from;
        let mut line = format!("check quorum --variant {variant}");
        for rule in other.iter().chain([&self.off]) {
            write!(line, " --rule {rule}").expect("a string");
        }
        write!(line, " {}", self.flags).expect("a string");
        let scenario = (self.scenario)();
        for link in scenario.missing.words() {
            write!(line, " --without '{link}'").expect("a string");
        }
        if let Some(timed) = scenario.timing.timed() {
            write!(line, " --timing timed --delay 1").expect("a string");
            for (name, ticks) in timed.durations.iter() {
                write!(line, " --{name} {ticks}").expect("a string");
            }
        }
        format!("{line} --property {}", self.property)
    }

    /// The length of the shortest counterexample without the rule; with it, there is none.
    fn steps(&self, kept: &mut Vec<(Quorum, Scenario, &str)>) -> usize {
        let (variant, other) = self.from;
        let world = (rules(variant, other), (self.scenario)(), self.property);
        if !kept.contains(&world) {
            let on = report(world.0, world.1, &[self.property]);
            assert!(matches!(on.verdict(), Holds | HoldsWithin), "{}", self.command());
            kept.push(world);
        }
        let other: Vec<_> = other.iter().copied().chain([self.off]).collect();
        let off = report(rules(variant, &other), (self.scenario)(), &[self.property]);
        assert_eq!(off.verdict(), Violated, "{}", self.command());
        let found = off.decisions[0].counterexample.as_ref().expect("an execution shows it");
        found.actions().len()
    }
}

/// `UPDATE_DOCS=1 cargo test rule_is_missed` writes the page's table anew.
#[test]
fn every_rule_is_missed_when_it_is_switched_off() {
    let mut kept = Vec::new();
    let mut table = String::from("| rule | without it, violated | steps | command |\n");
    table.push_str("|---|---|---|---|\n");
    for control in CONTROLS {
        let (rule, property) = (control.rule, control.property);
        let (steps, command) = (control.steps(&mut kept), control.command());
        writeln!(table, "| {rule} | `{property}` | {steps} | `{command}` |").expect("a string");
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/protocols/quorum.md");
    let text = fs::read_to_string(&page).expect("the page");
    let (begin, end) = ("<!-- controls -->\n", "<!-- end of controls -->");
    let from = text.find(begin).expect("where the table begins") + begin.len();
    let to = from + text[from..].find(end).expect("where the table ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{}{table}{}", &text[..from], &text[to..]);
        return fs::write(&page, updated).expect("written");
    }
    assert_eq!(&text[from..to], table, "UPDATE_DOCS=1 cargo test rule_is_missed writes it anew");
}
