//! What random walks met, for people.

use super::table::{Cell, Table};
use super::text;
use bellwether_engine::check::{Report, Simulation};
use indicatif::{HumanBytes, HumanCount};
use std::io::{self, Write};

/// How far the walks went.
pub(super) fn searched(report: &Report, simulation: &Simulation) -> String {
    let Simulation { walks, steps, longest, about_states, .. } = *simulation;
    let seconds = report.elapsed.as_secs_f64();
    let s = |count| if count == 1 { "" } else { "s" };
    let threads = format!("{} thread{}", report.threads, s(report.threads as u64));
    let memory = report.peak_rss_bytes.map(|bytes| format!(", {}", HumanBytes(bytes)));
    format!(
        "engine: random walks, {threads}: {} walk{}, {} step{}, at most {longest} in a walk, about \
         {} states, in {seconds:.2} s ({:.0} steps a second){}",
        HumanCount(walks),
        s(walks),
        HumanCount(steps),
        s(steps),
        HumanCount(about_states),
        steps as f64 / seconds.max(1e-9),
        memory.unwrap_or_default()
    )
}

/// What is said of a property that no walk decides.
pub(super) fn not_found(simulation: &Simulation) -> String {
    let Simulation { walks, steps, .. } = *simulation;
    let s = if walks == 1 { "" } else { "s" };
    format!("not found in {} walk{s}, {} steps", HumanCount(walks), HumanCount(steps))
}

/// How often each kind of action happened to a process in each role, and the rules that no step
/// depended on.
pub(super) fn met(out: &mut impl Write, simulation: &Simulation, ascii: bool) -> io::Result<()> {
    let taken = &simulation.actions;
    let kinds = taken.kinds();
    let header = std::iter::once("steps of a process").chain(kinds.iter().map(|k| k.name()));
    let mut table = Table::new(header).at_the_right();
    for role in taken.roles() {
        let count = |&kind| match taken.of(kind, role) {
            0 => Cell::new(""),
            count => Cell::new(HumanCount(count)),
        };
        let name = Cell::new(role.unwrap_or("(no process)"));
        table.row(std::iter::once(name).chain(kinds.iter().map(count)));
    }
    writeln!(out, "\n{}", table.print(ascii))?;
    let unmet = simulation.rules_not_met();
    let (rules, looked) = (simulation.rules.len(), HumanCount(simulation.looked));
    let decided = rules - unmet.len();
    let unmet = match &unmet[..] {
        [] => String::new(),
        unmet => format!("; none on {}", unmet.join(", ")),
    };
    let s = if simulation.looked == 1 { "" } else { "s" };
    let line = format!(
        "Rules: in {looked} walk{s} that looked, some step depended on {decided} of {rules}{unmet}."
    );
    writeln!(out, "{}", text::wrap(&line, text::width()))
}
