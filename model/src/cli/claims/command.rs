//! The command line that runs a check again.

use crate::check::bounds::Until;
use crate::claims::{Ask, Check, Outcome, Ran, Subject};
use crate::cli::WorldArgs;
use crate::world::{Durations, Scenario, Timing};

/// The program that the commands call.
pub(in crate::cli) const NAME: &str = "bellwether-model";

/// One command for each run of the check; one for all where one does it.
pub(super) fn of(number: u16, outcome: &Outcome<'_>) -> Vec<String> {
    let Check { ask, .. } = outcome.check;
    let mut commands: Vec<String> = outcome.ran.iter().map(|ran| one(number, ask, ran)).collect();
    commands.dedup();
    commands
}

fn one(number: u16, ask: &Ask, ran: &Ran) -> String {
    let again = || format!("{NAME} claims {number} --show");
    let Some(scenario) = &ran.scenario else { return again() };
    match ask {
        Ask::Property(subject, property) => check(subject, scenario, property),
        Ask::Most(subject, metric, until) => {
            let until = if *until == Until::Agreed { " --until agreed" } else { "" };
            let flags = WorldArgs::typed(scenario);
            format!("{NAME} bounds {} {flags}{until} --show {metric}", rules(subject))
        }
        Ask::Least { subject, duration, keeping, delays, processing } => {
            let range = |[from, to]: [u8; 2]| match from == to {
                true => from.to_string(),
                false => format!("{from}..{to}"),
            };
            let given = scenario.timing.timed().map(|timed| timed.durations);
            let given = given.iter().flat_map(Durations::words);
            let given: String = given.map(|word| format!(" --{word}")).collect();
            let flags = WorldArgs::typed(&Scenario { timing: Timing::Perfect, ..*scenario });
            format!(
                "{NAME} tune {} {flags} --delay {} --processing {} --find {duration} \
                 --property {keeping}{given}",
                rules(subject),
                range(*delays),
                range(*processing)
            )
        }
        Ask::Round { .. } | Ask::Program(_) => again(),
    }
}

/// The command that checks one property.
pub(in crate::cli) fn check(subject: &Subject, scenario: &Scenario, property: &str) -> String {
    let flags = WorldArgs::typed(scenario);
    format!("{NAME} check {} {flags} --property {property}", rules(subject))
}

/// Protocol, variant and rules as they are typed.
fn rules(subject: &Subject) -> String {
    let Subject { protocol, variant, rules, .. } = subject;
    let variant = variant.as_ref().map(|name| format!(" --variant {name}")).unwrap_or_default();
    let rules: String =
        rules.iter().map(|(rule, value)| format!(" --rule {rule}={value}")).collect();
    format!("{protocol}{variant}{rules}")
}
