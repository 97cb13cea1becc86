//! `list`: the protocols; of one, its variants, rules and properties.

use super::{HOLDS, dispatch};
use crate::property::{self, Property};
use crate::protocol::{NAMES, Protocol, Visitor, durations, with_protocol};
use crate::trace::plain;
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::json;
use std::io::Write;

/// The flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Show this protocol's variants, rules and properties [default: all protocols, one line each]
    protocol: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model list
  bellwether-model list bully
  bellwether-model list bully --json";

pub(super) fn run(args: &ListArgs) -> anyhow::Result<u8> {
    match &args.protocol {
        Some(name) => dispatch(name, One { json: args.json }),
        None => all(args.json),
    }
}

fn all(json: bool) -> anyhow::Result<u8> {
    let summaries = NAMES.iter().filter_map(|name| with_protocol(name, Summary));
    if json {
        let list: Vec<_> = summaries.collect();
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&list)?)?;
        return Ok(HOLDS);
    }
    let mut table = table(&["protocol", "variants", "what it is"]);
    for summary in summaries {
        table.add_row(["name", "variants", "summary"].map(|key| match &summary[key] {
            serde_json::Value::Array(names) => names.len().to_string(),
            value => plain_text(value),
        }));
    }
    writeln!(
        std::io::stdout(),
        "{table}\n\n'list PROTOCOL' shows a protocol's variants and rules."
    )?;
    Ok(HOLDS)
}

struct Summary;

impl Visitor for Summary {
    type Output = serde_json::Value;

    fn visit<P: Protocol>(self) -> serde_json::Value {
        let variants: Vec<_> = P::VARIANTS.iter().map(|v| v.name).collect();
        json!({ "name": P::NAME, "summary": P::SUMMARY, "variants": variants })
    }
}

struct One {
    json: bool,
}

impl Visitor for One {
    type Output = anyhow::Result<u8>;

    fn visit<P: Protocol>(self) -> anyhow::Result<u8> {
        let variants: Vec<_> = P::VARIANTS
            .iter()
            .map(|v| json!({ "name": v.name, "source": v.source, "rules": v.rules }))
            .collect();
        let properties = property::all::<P>().into_iter().map(|p| (p, false));
        let timed = property::timed::<P>().into_iter().map(|p| (p, true));
        let properties: Vec<_> = properties.chain(timed).map(property_view).collect();
        let durations: Vec<_> = durations::<P>()
            .iter()
            .map(|d| json!({ "name": d.name, "meaning": d.meaning }))
            .collect();
        let mut out = std::io::stdout();
        if self.json {
            let whole = json!({ "name": P::NAME, "summary": P::SUMMARY, "variants": variants,
                                "properties": properties, "durations": durations });
            writeln!(out, "{}", serde_json::to_string_pretty(&whole)?)?;
            return Ok(HOLDS);
        }
        writeln!(
            out,
            "{}: {}\n\nVariants, and the text that gives the rules:",
            P::NAME,
            P::SUMMARY
        )?;
        let mut sources = table(&["variant", "rules from"]);
        for variant in P::VARIANTS {
            sources.add_row([variant.name, variant.source]);
        }
        writeln!(
            out,
            "{sources}\n\nRules (replace one with --rule RULE=VALUE):\n{}",
            rules::<P>()
        )?;
        let mut asked = table(&["property", "kind", "formula", "in words"]);
        for property in &properties {
            asked.add_row(["name", "kind", "formula", "meaning"].map(|k| plain_text(&property[k])));
        }
        writeln!(
            out,
            "\nProperties (choose with --property NAME; those that count ticks need --timing \
             timed):\n{asked}"
        )?;
        if !durations.is_empty() {
            let mut table = table(&["duration", "what takes that long"]);
            for duration in &durations {
                table.add_row(["name", "meaning"].map(|key| plain_text(&duration[key])));
            }
            writeln!(out, "\nDurations in timed worlds (set with --NAME TICKS):\n{table}")?;
        }
        Ok(HOLDS)
    }
}

fn property_view<P: Protocol>((p, timed): (Property<P>, bool)) -> serde_json::Value {
    json!({ "name": p.name, "kind": p.kind(), "formula": p.formula, "meaning": p.meaning,
            "timed": timed })
}

/// A row for each variant, a column for each rule.
fn rules<P: Protocol>() -> Table {
    let fields = |rules: &P| match serde_json::to_value(rules) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let names = P::VARIANTS.first().map(|v| fields(&v.rules)).unwrap_or_default();
    let mut header = vec!["variant"];
    header.extend(names.keys().map(String::as_str));
    let mut table = table(&header);
    for variant in P::VARIANTS {
        let mut row = vec![variant.name.to_owned()];
        row.extend(fields(&variant.rules).values().map(plain_text));
        table.add_row(row);
    }
    table
}

fn plain_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| plain(value), str::to_owned)
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.to_vec());
    table
}
