//! `list`: the protocols that have a mapping, and the rules that their programs implement.

use super::{CONFORMS, dispatch};
use crate::mapping::{Mapping, NAMES, Visitor};
use bellwether_model::protocol::{Protocol as Specification, variant_name};
use clap::Args;
use serde_json::json;
use std::io::Write;

/// The flags of `list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<u8> {
    let all = NAMES.iter().map(|name| dispatch(name, One)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(CONFORMS);
    }
    for one in &all {
        let word = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        writeln!(out, "{}: {}", word("protocol"), word("summary"))?;
        writeln!(out, "  the program implements the variant '{}':", word("variant"))?;
        for (rule, value) in one["rules"].as_object().into_iter().flatten() {
            writeln!(
                out,
                "    {rule} = {}",
                value.as_str().map_or(value.to_string(), str::to_owned)
            )?;
        }
    }
    Ok(CONFORMS)
}

struct One;

impl Visitor for One {
    type Output = anyhow::Result<serde_json::Value>;

    fn visit<M: Mapping>(self, _: M) -> anyhow::Result<serde_json::Value> {
        Ok(json!({
            "protocol": M::Spec::NAME,
            "summary": M::Spec::SUMMARY,
            "variant": variant_name(&M::RULES),
            "rules": M::RULES,
        }))
    }
}
