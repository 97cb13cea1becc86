//! What `tune` has found: as a table with executions, or as JSON.

use super::super::table::Table;
use super::super::{Tool, shown, status, text};
use super::{TuneArgs, section};
use crate::tune::{Fit, Question, Row, TooShort, TunedDuration};
use bellwether_engine::check::{Counterexample, Verdict, holds_within};
use bellwether_engine::property::PERIODS_ACCURATE;
use bellwether_engine::trace::{Step, Trace};
use bellwether_engine::world::{Durations, Recovers};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

/// What was found, and how it was asked for.
pub(super) struct Answer<'a> {
    pub(super) tool: Tool,
    pub(super) args: &'a TuneArgs,
    pub(super) question: Question,
    pub(super) rows: Vec<Row>,
}

/// Something to show: what is too short, where, and where it was saved.
pub(super) struct Saved {
    row: usize,
    name: &'static str,
    file: PathBuf,
}

impl Answer<'_> {
    fn name(&self) -> &'static str {
        self.question.rules.protocol().name()
    }

    pub(super) fn status(&self) -> u8 {
        status(Verdict::all(self.rows.iter().map(Row::verdict)))
    }

    /// What is too short, each with the number of its row.
    fn counterexamples(
        &self,
    ) -> impl Iterator<Item = (usize, &TunedDuration, &TooShort, &Counterexample)> {
        self.rows.iter().enumerate().flat_map(|(at, row)| {
            row.found.iter().filter_map(move |found| {
                let below = found.below.as_ref()?;
                Some((at, found, below, below.counterexample.as_ref()?))
            })
        })
    }

    /// Saves the counterexamples; where one could not be saved, with the error.
    pub(super) fn save(&self) -> (Vec<Saved>, anyhow::Result<()>) {
        let mut files = Vec::new();
        let Some(dir) = &self.args.out else { return (files, Ok(())) };
        for (row, found, below, counterexample) in self.counterexamples() {
            let Row { delay, processing, .. } = self.rows[row];
            let (name, ticks) = (found.name, below.ticks);
            let file = format!("{}-{name}-{ticks}-tm-{delay}-tp-{processing}", self.name());
            match shown::save(self.tool, &trace(below, counterexample), None, (dir, &file)) {
                Ok(file) => files.push(Saved { row, name, file }),
                Err(error) => return (files, Err(error)),
            }
        }
        (files, Ok(()))
    }

    /// The form of each duration that was looked for.
    fn forms(&self) -> impl Iterator<Item = (&'static str, Fit)> {
        self.question.sought.iter().map(|&name| {
            let numbers: Option<Vec<(u8, u8, u8)>> = self
                .rows
                .iter()
                .map(|row| Some((row.delay, row.processing, row.ticks(name)?)))
                .collect();
            (name, numbers.map_or(Fit::None, |numbers| Fit::of(&numbers)))
        })
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let Question { rules, scenario, given, property, most, .. } = &self.question;
        let rows: Vec<_> = self.rows.iter().map(row_view).collect();
        let forms: serde_json::Map<_, _> =
            self.forms().map(|(name, fit)| (name.to_owned(), json!(fit))).collect();
        let mut answer = json!({
            "protocol": self.name(), "variant": rules.variant_name(), "rules": rules.json(),
            "nodes": scenario.nodes, "faults": scenario.faults, "heals": scenario.heals,
            "network": scenario.network, "start": scenario.start, "capacity": scenario.capacity,
            "property": property, "given": given.durations, "within": given.within,
            "up_to": most, "rows": rows, "forms": forms,
        });
        if !given.drift.is_none() {
            answer["drift"] = json!(given.drift);
        }
        if scenario.recovers != Recovers::May {
            answer["recovers"] = json!(scenario.recovers);
        }
        if scenario.jump > 0 {
            answer["jump"] = json!(scenario.jump);
        }
        answer
    }

    pub(super) fn print(&self, saved: &[Saved]) -> anyhow::Result<()> {
        let mut out = text::stdout(self.args.ascii);
        let width = text::width();
        let question = &self.question;
        writeln!(out, "{}, {}", self.name(), question.rules.variant_name())?;
        writeln!(out, "{}", text::wrap(&self.assumptions(), width))?;
        let table = self.table().print(self.args.ascii);
        writeln!(out, "{}\n\n{table}", text::wrap(&self.asked(), width))?;
        for row in self.rows.iter().filter(|row| !row.bounds_met().is_empty()) {
            let Row { delay, processing, .. } = row;
            let within = holds_within(row.bounds_met());
            let line =
                format!("With Tm {delay} and Tp {processing}, {} {within}.", self.args.property);
            writeln!(out, "{}", text::wrap(&line, width))?;
        }
        for (name, fit) in self.forms() {
            let says = match fit {
                Fit::Form(form) => format!("{name} = {form}, in every row."),
                Fit::None => format!("{name}: no a·Tm + b·Tp + c gives all rows."),
                Fit::TooFew => continue,
            };
            writeln!(out, "{says}")?;
        }
        if let Some(remark) = self.too_soon() {
            writeln!(out, "{}", text::wrap(&remark, width))?;
        }
        for (at, found, below, counterexample) in self.counterexamples() {
            if at > 0 && !self.args.show {
                continue;
            }
            writeln!(out, "\n{}", text::wrap(&self.too_short(at, found, below), width))?;
            shown::tell(&mut out, &trace(below, counterexample), self.args.ascii)?;
            let file = saved.iter().find(|saved| (saved.row, saved.name) == (at, found.name));
            if let Some(Saved { file, .. }) = file {
                shown::saved(&mut out, file)?;
            }
            let shows = (below.property.name, counterexample);
            shown::browse(&mut out, self.tool, &self.args.protocol, &below.world, shows)?;
        }
        if let Some(section) = self.section() {
            writeln!(out, "\n{section}")?;
        }
        self.blames().try_for_each(|blame| writeln!(out, "\n{}", text::wrap(&blame, width)))?;
        Ok(())
    }

    /// What the daemon would be told.
    fn section(&self) -> Option<String> {
        let (sections, tick) = (self.tool.sections, self.args.tick);
        section::of(sections, &self.question, self.rows.last()?, tick)
    }

    /// What goes wrong with each duration of which an execution is shown, in a sentence.
    fn blames(&self) -> impl Iterator<Item = String> {
        let shown = self.counterexamples().filter(|(at, ..)| *at == 0 || self.args.show);
        shown.filter_map(|(at, found, below, _)| {
            let Row { delay, processing, .. } = self.rows[at];
            let (name, ticks, blame) = (found.name, below.ticks, below.blame()?);
            Some(format!("With {name} {ticks}, Tm {delay} and Tp {processing}, {blame}."))
        })
    }

    /// Where perfect timing says nothing of these durations, because something is repeated sooner
    /// than it assumes.
    fn too_soon(&self) -> Option<String> {
        let rows = self.rows.iter().filter(|row| row.periods == Some(Verdict::Violated));
        let rows: Vec<_> =
            rows.map(|row| format!("Tm {}, Tp {}", row.delay, row.processing)).collect();
        let property = PERIODS_ACCURATE;
        (!rows.is_empty()).then(|| {
            let rows = rows.join("; ");
            format!(
                "{property} is violated with {rows}: something is repeated sooner than perfect \
                 timing assumes, so what holds with perfect timing need not hold there."
            )
        })
    }

    /// The surrounding, and the durations that are not looked for.
    fn assumptions(&self) -> String {
        let Question { scenario, given, .. } = &self.question;
        let surrounding = scenario.to_string();
        let surrounding = surrounding.split("; timing:").next().unwrap_or_default();
        let drift = Some(given.drift).filter(|drift| !drift.is_none());
        let mut set: Vec<_> = drift.iter().map(|drift| format!("drift {drift}")).collect();
        set.extend(given.durations.words());
        set.extend(given.within.map(|within| format!("within {within}")));
        let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
        format!("{surrounding}; timing: timed{set}")
    }

    /// The question as a sentence.
    fn asked(&self) -> String {
        let Question { rules, sought, property, most, .. } = &self.question;
        let (usual, timed) = rules.protocol().properties();
        let known = usual.iter().chain(&timed).find(|p| p.name == property);
        let formula = known.map_or("", |p| p.formula);
        let sought = sought.join(" and ");
        format!("the smallest {sought} up to {most} that keep {property}: {formula}")
    }

    fn table(&self) -> Table {
        let sought = self.question.sought.iter().copied();
        let header = ["Tm", "Tp"].into_iter().chain(sought.clone()).chain(["states"]);
        let mut table = Table::new(header).at_the_right();
        for row in &self.rows {
            let mut cells = vec![row.delay.to_string(), row.processing.to_string()];
            cells.extend(sought.clone().map(|name| self.cell(row, name)));
            let states = row.found.last().map_or(0, |found| found.states);
            cells.push(indicatif::HumanCount(states).to_string());
            table.row(cells);
        }
        table
    }

    fn cell(&self, row: &Row, name: &str) -> String {
        match (row.found.iter().find(|found| found.name == name), row.unknown) {
            (Some(TunedDuration { ticks: Some(ticks), .. }), _) => ticks.to_string(),
            (Some(_), _) => format!("none up to {}", self.question.most),
            (None, Some(reason)) => format!("unknown: {reason}"),
            (None, None) => "not asked".to_owned(),
        }
    }

    fn too_short(&self, at: usize, found: &TunedDuration, below: &TooShort) -> String {
        let Row { delay, processing, .. } = self.rows[at];
        let (name, ticks, property) = (found.name, below.ticks, below.property.name);
        let durations = below.world.scenario().timing.timed().map(|timed| timed.durations);
        let looked_for = format!("{name} {ticks}");
        let words = durations.iter().flat_map(Durations::words);
        let others: Vec<_> = words.filter(|word| *word != looked_for).collect();
        let others = if others.is_empty() { "all else".to_owned() } else { others.join(", ") };
        format!(
            "With Tm {delay} and Tp {processing}, {name} {ticks} is too short, given {others}: \
             {property} is violated."
        )
    }
}

fn trace(below: &TooShort, counterexample: &Counterexample) -> Trace {
    counterexample.trace(&below.world, &below.property)
}

fn row_view(row: &Row) -> serde_json::Value {
    let durations: serde_json::Map<_, _> =
        row.found.iter().map(|f| (f.name.to_owned(), json!(f.ticks))).collect();
    let below: Vec<_> = row
        .found
        .iter()
        .filter_map(|found| {
            let below = found.below.as_ref()?;
            let steps: Option<Vec<Step>> =
                below.counterexample.as_ref().map(|one| trace(below, one).steps);
            Some(json!({ "name": found.name, "ticks": below.ticks, "blame": below.blame(),
                         "timing": below.world.scenario().timing.timed(), "steps": steps }))
        })
        .collect();
    json!({ "delay": row.delay, "processing": row.processing, "verdict": row.verdict(),
            "reason": row.unknown, "bounds_met": row.bounds_met(), "durations": durations,
            "periods": row.periods,
            "states": row.found.last().map(|found| found.states), "too_short": below })
}
