//! The worlds of a check: those that the ledger names, and those that have one thing more.

use super::assumption::Departure;
use super::entry::Subject;
use crate::world::{Missing, Scenario};
use toml::{Table, Value};

impl Subject {
    /// The scenarios with so many processes: one, or one for each link that is missing in it.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub fn scenarios(&self, nodes: usize) -> Result<Vec<Scenario>, String> {
        let mut table = self.world.clone();
        let number = i64::try_from(nodes).map_err(|_| format!("{nodes} processes are too many"))?;
        if table.insert("nodes".to_owned(), number.into()).is_some() {
            return Err("'nodes' stands beside 'world', not in it".to_owned());
        }
        let scenario: Scenario = table
            .try_into()
            .map_err(|error: toml::de::Error| format!("world: {}", error.message()))?;
        if !self.each_link {
            return Ok(vec![scenario]);
        }
        if !scenario.missing.is_empty() {
            return Err("'links' removes each link; leave 'missing' out of 'world'".to_owned());
        }
        let link = |(a, b): (usize, usize)| {
            let missing = format!("{a}-{b}").parse::<Missing>();
            missing.map(|missing| Scenario { missing, ..scenario })
        };
        pairs(nodes).into_iter().map(link).collect()
    }

    /// The scenarios of each number of processes.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub(super) fn all_scenarios(&self) -> Result<Vec<Scenario>, String> {
        let mut all = Vec::new();
        for &nodes in &self.nodes {
            all.extend(self.scenarios(nodes)?);
        }
        Ok(all)
    }

    /// The first of the scenarios with so many processes.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub fn scenario(&self, nodes: usize) -> Result<Scenario, String> {
        let first = self.scenarios(nodes)?.into_iter().next();
        first.ok_or_else(|| "a link is between two processes; give two 'nodes'".to_owned())
    }

    /// The same in worlds that also have `departure`; nothing if no scenario can be made so, or it
    /// takes a clock.
    pub(super) fn with(&self, departure: Departure) -> Option<Subject> {
        let mut other = self.clone();
        let world = &mut other.world;
        match departure {
            Departure::Crash | Departure::AllNotice => at_least(world, "crashes", 1),
            Departure::SecondCrash | Departure::CrashInElection => at_least(world, "crashes", 2),
            Departure::Recovery | Departure::LateRecovery => {
                at_least(world, "crashes", 1);
                at_least(world, "recoveries", 1);
            }
            Departure::Loss => at_least(world, "losses", 1),
            Departure::Duplicate => at_least(world, "duplicates", 1),
            Departure::EarlyTimeOut => at_least(world, "suspicions", 1),
            Departure::Cut => {
                at_least(world, "cuts", 1);
                world.entry("heals").or_insert_with(|| Value::from("must"));
                world.entry("capacity").or_insert_with(|| Value::Integer(2));
            }
            Departure::Overtaking => drop(world.insert("network".to_owned(), Value::from("set"))),
            Departure::AllStart => drop(world.insert("start".to_owned(), Value::from("cold"))),
            Departure::MissingLink => other.each_link = !world.contains_key("missing"),
            Departure::Pause | Departure::Drift => return None,
        }
        Some(other)
    }
}

/// Every two of the processes 1 to `nodes`.
pub(super) fn pairs(nodes: usize) -> Vec<(usize, usize)> {
    (1..=nodes).flat_map(|a| (a + 1..=nodes).map(move |b| (a, b))).collect()
}

/// Raises a budget of faults. One without a bound stays so.
fn at_least(world: &mut Table, fault: &str, budget: i64) {
    let faults = world.entry("faults").or_insert_with(|| Value::Table(Table::new()));
    let Some(faults) = faults.as_table_mut() else { return };
    let before = faults.entry(fault).or_insert_with(|| Value::Integer(0));
    if before.as_integer().is_some_and(|before| before < budget) {
        *before = Value::Integer(budget);
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;
    use crate::claims::Departure;
    use crate::world::Scenario;

    fn subject(world: &str) -> Subject {
        Subject {
            protocol: "bully".to_owned(),
            variant: None,
            rules: Vec::new(),
            nodes: vec![3],
            each_link: false,
            world: toml::from_str(world).expect("a table"),
        }
    }

    /// What is added to a world is read off it again.
    #[test]
    fn a_world_has_what_was_added_to_it() {
        let calm = subject("");
        assert_eq!(calm.scenario(3), Ok(Scenario::calm(3)));
        for departure in Departure::ALL {
            let Some(more) = calm.with(departure) else { continue };
            let scenario = more.scenario(3).expect("a scenario");
            assert_ne!(scenario, Scenario::calm(3), "{departure:?}");
            let again = more.with(departure).expect("as before").scenario(3);
            assert_eq!(again, Ok(scenario), "{departure:?}");
        }
        let many = subject("faults = { crashes = 3, losses = 'unbounded' }");
        for departure in [Departure::Crash, Departure::SecondCrash, Departure::Loss] {
            let more = many.with(departure).expect("it has them already");
            assert_eq!(more.scenario(3), many.scenario(3), "{departure:?}");
        }
    }

    #[test]
    fn each_link_is_missing_once() {
        let each = Subject { each_link: true, ..subject("") };
        let words = |scenario: Scenario| scenario.missing.words().join(", ");
        let all: Vec<String> =
            each.scenarios(3).expect("scenarios").into_iter().map(words).collect();
        assert_eq!(all, ["1-2", "1-3", "2-3"]);
        let twice = Subject { each_link: true, ..subject("missing = ['1-2']") };
        assert!(twice.scenarios(3).expect_err("twice").contains("leave 'missing' out"));
    }
}
