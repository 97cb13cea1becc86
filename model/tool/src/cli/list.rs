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
        Some(protocol) => exit.note_printed(one(protocol, args)),
        None => exit.note_printed(all(tool, args)),
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
    let durations: Vec<_> = protocol
        .durations()
        .iter()
        .map(|d| json!({ "name": d.name, "meaning": d.meaning }))
        .collect();
    if args.json {
        let variant =
            |v: &VariantRow| json!({ "name": v.name, "source": v.source, "rules": v.rules });
        let variants: Vec<_> = variants.iter().map(variant).collect();
        let (usual, timed) = protocol.properties();
        let properties = usual.iter().map(|p| (p, false)).chain(timed.iter().map(|p| (p, true)));
        let properties: Vec<_> = properties.map(|(p, timed)| property_view(p, timed)).collect();
        let rules: Vec<_> = protocol.rule_rows().iter().map(Rule::view).collect();
        let whole = json!({ "name": name, "summary": summary, "variants": variants,
                            "rules": rules, "properties": properties, "durations": durations });
        return text::print_json(&whole);
    }
    let mut told = format!(
        "{name}: {summary}\n\nVariants (--variant NAME), each with the text that gives the rules, \
         and the rules:\n"
    );
    for variant in &variants {
        told += &defined(variant.name, &[variant.source, &values(variant)]);
    }
    told += &format!("\n{}\n{}", help::rules(protocol), help::properties(protocol));
    if !durations.is_empty() {
        told += "\nDurations in timed worlds (--NAME TICKS, or 2=TICKS):\n";
    }
    for duration in &durations {
        let [name, meaning] = ["name", "meaning"].map(|key| plain_text(&duration[key]));
        told += &defined(&name, &[&meaning]);
    }
    write!(anstream::stdout(), "{}", text::wrap(&told, text::width()))?;
    Ok(())
}

/// Returns a name, and below it what there is to say of it.
fn defined(name: &str, texts: &[&str]) -> String {
    format!("  {name}\n      {}\n", texts.join("\n      "))
}

fn property_view(p: &Property, timed: bool) -> Value {
    json!({ "name": p.name, "kind": p.kind(), "formula": p.formula, "meaning": p.meaning,
            "timed": timed })
}

/// Returns the rules of a variant, as `--rule` takes them.
fn values(variant: &VariantRow) -> String {
    let fields = variant.rules.as_object().into_iter().flatten();
    let fields = fields.map(|(rule, value)| format!("{rule}={}", plain_text(value)));
    fields.collect::<Vec<_>>().join(", ")
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| plain(value), str::to_owned)
}
