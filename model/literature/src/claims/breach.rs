//! Rules that hold over all claims, and are read off the entries without a run.

use super::assumption::{Assumption, Standing};
use super::demand::Demand;
use super::entry::{Ask, Check, Claim, Source, Subject, pairs};
use super::flaws::{question, rules};
use super::load::Ledger;
use super::quantifier::Quantifier;
use std::collections::BTreeMap;
use std::fmt;

/// Entries that break a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The claims.
    pub claims: Vec<u16>,
    /// What is wrong, and what to do.
    pub wrong: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claims: Vec<String> = self.claims.iter().map(ToString::to_string).collect();
        let s = if claims.len() == 1 { "" } else { "s" };
        write!(f, "claim{s} {}: {}", claims.join(", "), self.wrong)
    }
}

impl Ledger {
    /// One command under the same assumptions stands in one place towards them, in every claim. Two
    /// entries that name the same silence in other words would have two verdicts.
    ///
    /// # Errors
    /// If the world of a check is none, or it has a rule that its protocol does not have.
    pub fn commands_with_two_standings(&self) -> Result<Vec<Breach>, String> {
        let mut known: BTreeMap<String, Vec<(u16, String)>> = BTreeMap::new();
        for (source, claim) in self.claims() {
            for check in &claim.checks {
                let standing = described(&Standing::of(source, claim, check)?);
                for command in commands(check)? {
                    let place = format!("{} {command}", assumed(source, claim));
                    known.entry(place).or_default().push((claim.number, standing.clone()));
                }
            }
        }
        let mut breaches: Vec<Breach> = Vec::new();
        for places in known.into_values() {
            let mut standings: Vec<&str> = places.iter().map(|(_, s)| s.as_str()).collect();
            standings.sort_unstable();
            standings.dedup();
            let mut claims: Vec<u16> = places.iter().map(|(number, _)| *number).collect();
            claims.dedup();
            let wrong = format!(
                "one command under the same assumptions is {}; say the same in 'without'",
                standings.join(", and ")
            );
            let breach = Breach { claims, wrong };
            if standings.len() > 1 && !breaches.contains(&breach) {
                breaches.push(breach);
            }
        }
        Ok(breaches)
    }

    /// A check of what holds without a link runs without each single link, or says why it is this
    /// one.
    ///
    /// # Errors
    /// If the world of a check is none, or it has a rule that its protocol does not have.
    pub fn checks_without_one_link(&self) -> Result<Vec<Breach>, String> {
        let mut breaches = Vec::new();
        for (_, claim) in self.claims() {
            for check in claim.checks.iter().filter(|check| is_of_all(claim, check)) {
                let Some(link) = one_link(check)? else { continue };
                let left = links_left(claim, check)?;
                if check.this_link.is_none() && !left.is_empty() {
                    breaches.push(Breach {
                        claims: vec![claim.number],
                        wrong: format!(
                            "'{}' is without the link {link} alone; write 'links = \
                             \"each-missing\"', or in 'this_link' why {} are not tried",
                            check.shows,
                            left.join(", ")
                        ),
                    });
                }
            }
        }
        Ok(breaches)
    }

    /// A claim of every execution, or of the worst, has no cure that was counted in one.
    #[must_use]
    pub fn cures_of_one_execution(&self) -> Vec<Breach> {
        let of_all = |claim: &Claim| {
            matches!(claim.quantifier, Some(Quantifier::Always | Quantifier::WorstCase))
        };
        let mut breaches = Vec::new();
        for (_, claim) in self.claims().into_iter().filter(|(_, claim)| of_all(claim)) {
            let calm = claim.cures.iter().filter(|cure| matches!(cure.ask, Ask::Round { .. }));
            breaches.extend(calm.map(|cure| Breach {
                claims: vec![claim.number],
                wrong: format!(
                    "the cure '{}' is measured in one calm election, and the claim speaks of \
                     all; give it 'most' in place of 'round'",
                    cure.shows
                ),
            }));
        }
        breaches
    }
}

/// Whether the claim needs what this check finds in every world of its kind.
fn is_of_all(claim: &Claim, check: &Check) -> bool {
    let of_one = claim.quantifier.is_none_or(|of| of == Quantifier::CanHappen);
    !of_one && !matches!(check.demands, Demand::Violated | Demand::Unbounded)
}

/// Under which assumptions the claim stands, as one word for each.
fn assumed(source: &Source, claim: &Claim) -> String {
    let named: Vec<String> = claim.assumes.iter().map(ToString::to_string).collect();
    let admits: Vec<&str> = claim.admits.iter().map(|one| one.words().0).collect();
    format!("{} {:?} {named:?} {admits:?}", source.name, claim.of)
}

fn described(standing: &Standing) -> String {
    let words = |left: &[Assumption]| {
        left.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    match standing {
        Standing::Inside => "inside".to_owned(),
        Standing::Silent(left) => format!("silent without '{}'", words(left)),
        Standing::Outside(left) => format!("outside without '{}'", words(left)),
    }
}

/// What is run, one for each scenario: the question, the rules and the world, however they are
/// written.
fn commands(check: &Check) -> Result<Vec<String>, String> {
    let Some(subject) = check.ask.subject() else { return Ok(vec![question(&check.ask)]) };
    let asked = format!("{} of {}", question(&check.ask), rules(subject)?);
    let all = subject.all_scenarios()?;
    Ok(all.into_iter().map(|scenario| format!("{asked} in {scenario:?}")).collect())
}

/// The one link that is missing in this check, if it is one.
pub(super) fn one_link(check: &Check) -> Result<Option<String>, String> {
    let Some(subject) = check.ask.subject().filter(|subject| !subject.each_link) else {
        return Ok(None);
    };
    let Some(&nodes) = subject.nodes.first() else { return Ok(None) };
    let mut words = subject.scenario(nodes)?.missing.words();
    Ok(if words.len() == 1 { words.pop() } else { None })
}

/// The other single links without which no check of the claim asks the same.
fn links_left(claim: &Claim, check: &Check) -> Result<Vec<String>, String> {
    let (Some(subject), Some(link)) = (check.ask.subject(), one_link(check)?) else {
        return Ok(Vec::new());
    };
    let arrow = if link.contains('>') { '>' } else { '-' };
    let most = subject.nodes.iter().copied().max().unwrap_or(0);
    let mut left: Vec<String> = Vec::new();
    for (a, b) in pairs(most) {
        left.push(format!("{a}{arrow}{b}"));
        left.extend((arrow == '>').then(|| format!("{b}{arrow}{a}")));
    }
    for other in &claim.checks {
        let Some(theirs) = other.ask.subject() else { continue };
        let same = question(&check.ask) == question(&other.ask)
            && rules(subject)? == rules(theirs)?
            && subject.nodes == theirs.nodes
            && check.demands == other.demands
            && without_links(subject) == without_links(theirs);
        if same && theirs.each_link {
            return Ok(Vec::new());
        }
        let tried = one_link(other)?.filter(|_| same);
        left.retain(|link| Some(link) != tried.as_ref());
    }
    Ok(left)
}

/// The world, all of its links there.
fn without_links(subject: &Subject) -> toml::Table {
    let mut world = subject.world.clone();
    world.remove("missing");
    world
}

#[cfg(test)]
mod tests {
    use super::Breach;
    use crate::claims::Ledger;

    /// What the ledger says of two claims that have these checks.
    fn read(first: &str, second: &str) -> Ledger {
        let claim = |number: u16, rest: &str| {
            format!(
                "[[claim]]\nnumber = {number}\nsection = 's'\nsays = 's.'\nwhy = 'w.'\n\
                 quantifier = 'always'\n{rest}\n"
            )
        };
        let text = format!("source = 's'\ntitle = 't'\n{}{}", claim(1, first), claim(2, second));
        Ledger::read([("x.toml", text.as_str())]).expect("a ledger")
    }

    fn check(kind: &str, world: &str, more: &str) -> String {
        format!(
            "[[claim.{kind}]]\nshows = 's'\nprotocol = 'bully'\nnodes = 3\nworld = {{ {world} }}\n\
             {more}\ndemands = 'holds'\n"
        )
    }

    fn property(kind: &str, world: &str, more: &str) -> String {
        check(kind, world, &format!("property = 'decided'\n{more}"))
    }

    fn numbers(breaches: &[Breach]) -> Vec<u16> {
        breaches.iter().flat_map(|breach| breach.claims.clone()).collect()
    }

    #[test]
    fn a_command_with_two_standings_is_found_in_whatever_words() {
        let crash = "faults = { crashes = 1 }";
        let one = property("check", crash, "");
        let named = property("check", crash, "without = ['it is a good day']");
        let same = property("check", crash, "rules = { t_coord = true }");
        let breaches = |first: &str, second: &str| {
            let ledger = read(first, second);
            numbers(&ledger.commands_with_two_standings().expect("it can be told"))
        };
        assert_eq!(breaches(&one, &named), [1, 2]);
        assert_eq!(breaches(&one, &one), [0_u16; 0]);
        assert_eq!(breaches(&named, &same), [1, 2], "its own value is no other rule");
        // Under other assumptions it may stand elsewhere.
        assert_eq!(breaches(&one, &format!("admits = ['crash']\n{one}")), [0_u16; 0]);
    }

    #[test]
    fn a_check_without_one_link_needs_the_others_or_a_reason() {
        let without = |link: &str| property("check", &format!("missing = ['{link}']"), "");
        let each = property("check", "", "links = 'each-missing'");
        let reason = property("check", "missing = ['1-2']", "this_link = 'the text names it'");
        let all = ["1-2", "1-3", "2-3"].map(without).concat();
        let breaches = |first: &str| {
            let ledger = read(first, &property("check", "", ""));
            numbers(&ledger.checks_without_one_link().expect("it can be told"))
        };
        assert_eq!(breaches(&without("1-2")), [1]);
        for fine in [each.clone(), reason, all, without("1-2") + &each] {
            assert_eq!(breaches(&fine), [0_u16; 0], "{fine}");
        }
    }

    #[test]
    fn what_holds_for_all_executions_is_cured_for_all() {
        let number = |ask: &str| {
            check("cure", "", ask).replace("demands = 'holds'", "demands = 'at most 9'")
        };
        let first = property("check", "", "");
        let round = first.clone() + &number("round = 'messages'\nstarters = 'lowest'\ncrashed = 1");
        let most = first + &number("most = 'messages'");
        let ledger = read(&round, &most);
        assert_eq!(numbers(&ledger.cures_of_one_execution()), [1]);
    }
}
