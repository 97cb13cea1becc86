//! A run beside the checks may show what happens where the text assumes more. Where the text admits
//! its world, and the question and the rules are those of a check, it must find the same.

use super::assumption::Standing;
use super::demand::Demand;
use super::entry::{Ask, Claim, Subject};
use super::quantifier::Quantifier;
use super::ruling::{Judged, Outcome};
use super::run;
use crate::protocol::REGISTRY;

/// Whether the claim has a run beside a check that asks the same by the same rules, so that the two
/// could contradict each other.
///
/// # Errors
/// If it has a rule that its protocol does not have.
pub fn may_contradict(claim: &Claim) -> Result<bool, String> {
    for beside in &claim.besides {
        for check in &claim.checks {
            if same_question(&check.ask, &beside.ask)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The runs beside that lie within what the text assumes, and contradict a check.
pub(super) fn flaws(judged: &Judged<'_>) -> Vec<String> {
    if judged.claim.quantifier.is_none_or(|of| of == Quantifier::CanHappen) {
        return Vec::new();
    }
    let mut flaws = Vec::new();
    for beside in judged.besides.iter().filter(|beside| beside.standing == Standing::Inside) {
        let contradicts = |check: &&Outcome<'_>| contradict(check, beside);
        if let Some(check) = judged.checks.iter().find(contradicts) {
            flaws.push(format!(
                "The text admits the run beside '{}', and it contradicts the check '{}': it finds \
                 {}. Make it a check.",
                beside.check.shows,
                check.check.shows,
                beside.found()
            ));
        }
    }
    flaws
}

fn contradict(check: &Outcome<'_>, beside: &Outcome<'_>) -> bool {
    // One execution that exists in one world need not exist in another.
    let of_all = !matches!(check.check.demands, Demand::Violated | Demand::Unbounded);
    let decides = of_all && !matches!(check.standing, Standing::Outside(_));
    let fails =
        |ran: &run::Ran| check.check.demands.met(&ran.point, &ran.finding) == Ok(Some(false));
    decides
        && check.met == Some(true)
        && same_question(&check.check.ask, &beside.check.ask) == Ok(true)
        && beside.ran.iter().any(fails)
}

/// Whether both ask the same of the same rules, in whatever world.
fn same_question(one: &Ask, other: &Ask) -> Result<bool, String> {
    let (Some(ours), Some(theirs)) = (one.subject(), other.subject()) else { return Ok(false) };
    Ok(question(one) == question(other) && rules(ours)? == rules(theirs)?)
}

/// What is asked, without the protocol and the worlds.
pub(super) fn question(ask: &Ask) -> String {
    match ask {
        Ask::Property(_, name) => format!("property {name}"),
        Ask::Most(_, metric, until) => format!("most {metric} until {until:?}"),
        Ask::Round { metric, starters, crashed, .. } => {
            format!("round {metric} {starters:?} {crashed}")
        }
        Ask::Least { duration, keeping, .. } => format!("least {duration} {keeping}"),
        Ask::Program(program) => format!("program {}", program.name),
    }
}

/// The protocol, and every one of its rules with its value.
pub(super) fn rules(subject: &Subject) -> Result<String, String> {
    let Ok(protocol) = REGISTRY.find(&subject.protocol) else { return Ok(String::new()) };
    Ok(format!("{} {}", subject.protocol, run::rules(protocol, subject)?.json()))
}
