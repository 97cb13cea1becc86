//! The flags that name a protocol and its rules; the same for every command that needs one.

use super::usage::UsageError;
use bellwether_engine::machine::{Machine, Registry};
use bellwether_engine::protocol::split_ids;
use clap::Args;
use std::sync::Arc;

/// The protocol and its rules.
#[derive(Clone, Debug, Args)]
pub struct ProtocolArgs {
    /// The protocol (`list` shows them)
    #[arg(value_name = "PROTOCOL")]
    pub protocol: String,

    /// The named set of rules (`list PROTOCOL` shows them)
    #[arg(long, value_name = "NAME", help_heading = "Protocol")]
    pub variant: Option<String>,

    /// Replace a rule of the variant, or with '2:RULE=VALUE' that of process 2 alone; may be given
    /// again
    #[arg(long = "rule", value_name = "RULE=VALUE", value_parser = rule, help_heading = "Protocol")]
    pub rules: Vec<(String, String)>,
}

fn rule(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((rule, value)) if !rule.is_empty() && !value.is_empty() => {
            Ok((rule.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("a rule is given as RULE=VALUE, such as t_coord=false".to_owned()),
    }
}

/// Whether both set the same rule of the same process, or of all.
fn same(one: &str, other: &str) -> bool {
    let (Ok((ids, rule)), Ok((others, other))) = (split_ids(one), split_ids(other)) else {
        return false;
    };
    rule == other && (ids == others || ids.iter().any(|id| others.contains(id)))
}

impl ProtocolArgs {
    /// Returns the rules that the flags name.
    ///
    /// # Errors
    /// If there is no such protocol, variant, process, rule or value.
    pub fn rules(&self, registry: Registry) -> Result<Arc<dyn Machine>, UsageError> {
        let protocol = registry.find(&self.protocol)?;
        let twice =
            |at: &usize| self.rules[..*at].iter().any(|(rule, _)| same(rule, &self.rules[*at].0));
        if let Some(at) = (0..self.rules.len()).find(twice) {
            let rule = self.rules[at].0.clone();
            return Err(UsageError::RuleTwice { rule });
        }
        Ok(protocol.rules(self.variant.as_deref(), &self.rules)?)
    }

    /// Returns the flags as they are typed.
    #[must_use]
    pub fn typed(&self) -> String {
        let mut typed = self.protocol.clone();
        if let Some(variant) = &self.variant {
            typed += &format!(" --variant {variant}");
        }
        for (rule, value) in &self.rules {
            typed += &format!(" --rule {rule}={value}");
        }
        typed
    }
}
