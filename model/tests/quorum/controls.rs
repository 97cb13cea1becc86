//! Negative controls: what each rule protects, and how soon that breaks without it. The page shows
//! the same table.

use super::{CRASH, Holds, report, rules};
use bellwether_model::check::Verdict::Violated;
use bellwether_model::world::{Faults, Scenario, Start};
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
    scenario: Scenario,
    /// The scenario, as flags of the command line.
    flags: &'static str,
}

const TWO_SUSPICIONS: Scenario = with_faults(Faults { suspicions: 2, ..CRASH });
const COLD: Scenario =
    Scenario { start: Start::Cold, ..with_faults(Faults { suspicions: 1, ..Faults::NONE }) };
const COLD_FLAGS: &str = "--start cold --crashes 0 --suspicions 1";

const fn with_faults(faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(3) }
}

const fn bare(off: &'static str, rule: &'static str, property: &'static str) -> Control {
    Control {
        from: ("bare", &[]),
        off,
        rule,
        property,
        scenario: TWO_SUSPICIONS,
        flags: "--recoveries 1 --suspicions 2",
    }
}

const CONTROLS: &[Control] = &[
    bare("grants=again", "an epoch is granted once", "one-leader-per-epoch"),
    bare("storage=syncs-late", "a grant is durable before it is sent", "one-leader-per-epoch"),
    bare("storage=forgets-grant", "the grant outlasts a crash", "grants-stand"),
    bare("storage=forgets-all", "the epoch outlasts a crash", "one-leader-per-epoch"),
    Control {
        from: ("bare", &["canvass=asks"]),
        scenario: COLD,
        flags: COLD_FLAGS,
        ..bare("grants=counts-support", "a support is no grant", "one-leader-per-epoch")
    },
];

impl Control {
    fn command(&self) -> String {
        let (variant, other) = self.from;
        let mut line = format!("check quorum --variant {variant}");
        for rule in other.iter().chain([&self.off]) {
            write!(line, " --rule {rule}").expect("a string");
        }
        format!("{line} {} --property {}", self.flags, self.property)
    }

    /// The length of the shortest counterexample without the rule; with it, there is none.
    fn steps(&self) -> usize {
        let (variant, other) = self.from;
        let on = report(rules(variant, other), self.scenario, &[self.property]);
        assert_eq!(on.verdict(), Holds, "{}", self.command());
        let other: Vec<_> = other.iter().copied().chain([self.off]).collect();
        let off = report(rules(variant, &other), self.scenario, &[self.property]);
        assert_eq!(off.verdict(), Violated, "{}", self.command());
        let found = off.decisions[0].counterexample.as_ref().expect("an execution shows it");
        found.actions().len()
    }
}

/// `UPDATE_DOCS=1 cargo test rule_is_missed` writes the page's table anew.
#[test]
fn every_rule_is_missed_when_it_is_switched_off() {
    let mut table = String::from("| rule | without it, violated | steps | command |\n");
    table.push_str("|---|---|---|---|\n");
    for control in CONTROLS {
        let (rule, property) = (control.rule, control.property);
        let (steps, command) = (control.steps(), control.command());
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
