//! What a check says of a model, and what it says else of a wrong one.

use serde_json::Value;
use std::collections::BTreeMap;

/// The verdict that is no surprise only if the right model has it too.
const VIOLATED: &str = "violated";

/// What a check has found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The verdict on each property.
    verdicts: BTreeMap<String, String>,
    /// The number of distinct states.
    states: u64,
}

impl Found {
    /// What a check has printed as JSON; `None` if that is something else.
    pub(crate) fn read(output: &str) -> Option<Self> {
        let object = output.lines().find_map(|line| serde_json::from_str::<Value>(line).ok())?;
        let verdict = |property: &Value| {
            let text = |key: &str| property[key].as_str().map(str::to_owned);
            Some((text("name")?, text("verdict")?))
        };
        let verdicts = object["properties"]
            .as_array()?
            .iter()
            .map(verdict)
            .collect::<Option<BTreeMap<_, _>>>()?;
        let states = object["states"]["distinct"].as_u64()?;
        Some(Self { verdicts, states })
    }

    /// In what it differs from what the right model has, in a few words: a violation first of all.
    pub(crate) fn differs(&self, right: &Self) -> Option<String> {
        let others: Vec<(&String, &String)> = self
            .verdicts
            .iter()
            .filter(|&(name, found)| right.verdicts.get(name) != Some(found))
            .collect();
        let violation = others.iter().find(|(_, found)| *found == VIOLATED);
        if let Some((name, found)) = violation.or(others.first()) {
            return Some(format!("{name} is {found}"));
        }
        let (mine, states) = (self.states, right.states);
        (mine != states).then(|| format!("{mine} states in place of {states}"))
    }
}
