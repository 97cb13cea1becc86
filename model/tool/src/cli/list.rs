//! `list`: the protocols; of one, its variants, rules and properties.

use super::table::Table;
use super::{Exit, HOLDS, Tool, help, text};
use bellwether_engine::machine::{AnyProtocol, VariantRow};
use bellwether_engine::property::Property;
use bellwether_engine::protocol::Rule;
use bellwether_engine::trace::plain;
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;

/// The flags of `list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ListArgs {
    /// Show this protocol's variants, rules and properties [default: all protocols, one line each]
    protocol: Option<String>,

    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model list
  bellwether-model list bully
  bellwether-model list bully --json";

pub(super) fn run(tool: Tool, args: &ListArgs) -> anyhow::Result<Exit> {
    let protocol = args.protocol.as_ref().map(|name| tool.registry.find(name)).transpose()?;
    let exit = Exit::with(HOLDS);
    Ok(match protocol {
        Some(protocol) => exit.told(one(protocol, args)),
        None => exit.told(all(tool, args)),
    })
}

fn all(tool: Tool, args: &ListArgs) -> anyhow::Result<()> {
    let summary = |protocol: &dyn AnyProtocol| {
        let variants: Vec<_> = protocol.variants().iter().map(|v| v.name).collect();
        json!({ "name": protocol.name(), "summary": protocol.summary(), "variants": variants })
    };
    let summaries = tool.registry.iter().map(summary);
    if args.json {
        let protocols: Vec<_> = summaries.collect();
        return text::print_json(&json!({ "protocols": protocols }));
    }
    let mut table = Table::new(["protocol", "variants", "what it is"]);
    for summary in summaries {
        table.row(["name", "variants", "summary"].map(|key| match &summary[key] {
            Value::Array(names) => names.len().to_string(),
            value => plain_text(value),
        }));
    }
    let more = format!("'{} list PROTOCOL' shows a protocol's variants and rules.", tool.called());
    writeln!(anstream::stdout(), "{table}\n\n{}", text::wrap(&more, text::width()))?;
    Ok(())
}

fn one(protocol: &dyn AnyProtocol, args: &ListArgs) -> anyhow::Result<()> {
    let (name, summary) = (protocol.name(), protocol.summary());
    let variants = protocol.variants();
    let (usual, timed) = protocol.properties();
    let properties = usual.iter().map(|p| (p, false)).chain(timed.iter().map(|p| (p, true)));
    let properties: Vec<_> = properties.map(|(p, timed)| property_view(p, timed)).collect();
    let durations: Vec<_> = protocol
        .durations()
        .iter()
        .map(|d| json!({ "name": d.name, "meaning": d.meaning }))
        .collect();
    let mut out = anstream::stdout();
    if args.json {
        let variant =
            |v: &VariantRow| json!({ "name": v.name, "source": v.source, "rules": v.rules });
        let variants: Vec<_> = variants.iter().map(variant).collect();
        let rules: Vec<_> = protocol.rule_rows().iter().map(Rule::view).collect();
        let whole = json!({ "name": name, "summary": summary, "variants": variants,
                            "rules": rules, "properties": properties, "durations": durations });
        return text::print_json(&whole);
    }
    let head = text::wrap(&format!("{name}: {summary}"), text::width());
    writeln!(out, "{head}\n\nVariants, and the text that gives the rules:")?;
    let mut sources = Table::new(["variant", "rules from"]);
    for variant in &variants {
        sources.row([variant.name, variant.source]);
    }
    let rules = rules(&variants);
    writeln!(out, "{sources}\n\nRules (replace one with --rule RULE=VALUE):\n{rules}\n")?;
    write!(out, "{}", text::wrap(&help::rules(protocol), text::width()))?;
    let mut asked = Table::new(["property", "kind", "formula", "in words"]);
    for property in &properties {
        asked.row(["name", "kind", "formula", "meaning"].map(|k| plain_text(&property[k])));
    }
    let choose = "Properties (choose with --property NAME; those that count ticks need --timing \
                  timed):";
    writeln!(out, "\n{}\n{asked}", text::wrap(choose, text::width()))?;
    if !protocol.not_promised().is_empty() {
        let line = format!("Not promised in any world: {}", protocol.not_promised().join(", "));
        writeln!(out, "\n{}", text::wrap(&line, text::width()))?;
    }
    if !durations.is_empty() {
        let mut table = Table::new(["duration", "what takes that long"]);
        for duration in &durations {
            table.row(["name", "meaning"].map(|key| plain_text(&duration[key])));
        }
        writeln!(out, "\nDurations in timed worlds (--NAME TICKS, or 2=TICKS):\n{table}")?;
    }
    Ok(())
}

fn property_view(p: &Property, timed: bool) -> Value {
    json!({ "name": p.name, "kind": p.kind(), "formula": p.formula, "meaning": p.meaning,
            "timed": timed })
}

/// A row for each variant, a column for each rule.
fn rules(variants: &[VariantRow]) -> Table {
    let fields = |variant: &VariantRow| variant.rules.as_object().cloned().unwrap_or_default();
    let names = variants.first().map(fields).unwrap_or_default();
    let mut header = vec!["variant"];
    header.extend(names.keys().map(String::as_str));
    let mut table = Table::new(&header);
    for variant in variants {
        let mut row = vec![variant.name.to_owned()];
        row.extend(fields(variant).values().map(plain_text));
        table.row(row);
    }
    table
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| plain(value), str::to_owned)
}
