//! From how much a claim says, and what its runs find, to a ruling: a pure function.

use super::assumption::{Assumption, Standing};
use super::ruling::Ruling;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Of how many executions a claim speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantifier {
    /// Of all, by a word of the text: always, never, ensures, guarantees, any.
    Always,
    /// Of the most that it can cost.
    WorstCase,
    /// Of the mean over what may happen.
    Average,
    /// Of a number or a length that it names.
    Exactly,
    /// Of two things that it compares.
    BetterThan,
    /// The text says that it is so, and has no word for how often.
    Plain,
    /// That there is an execution.
    CanHappen,
}

impl Quantifier {
    /// Every quantifier, in the order of the table in `docs/model.md`.
    pub const ALL: [Quantifier; 7] = [
        Quantifier::Always,
        Quantifier::WorstCase,
        Quantifier::Average,
        Quantifier::Exactly,
        Quantifier::BetterThan,
        Quantifier::Plain,
        Quantifier::CanHappen,
    ];

    /// Whether what the text leaves open is left open by it, too: it speaks neither of all
    /// executions nor of one.
    const fn leaves_open(self) -> bool {
        match self {
            Quantifier::Always | Quantifier::WorstCase | Quantifier::CanHappen => false,
            Quantifier::Average
            | Quantifier::Exactly
            | Quantifier::BetterThan
            | Quantifier::Plain => true,
        }
    }
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantifier::Always => "always",
            Quantifier::WorstCase => "worst case",
            Quantifier::Average => "average",
            Quantifier::Exactly => "exactly",
            Quantifier::BetterThan => "better than",
            Quantifier::Plain => "plain",
            Quantifier::CanHappen => "can happen",
        })
    }
}

/// The ruling on a claim, with the assumptions that decide it; `None` if a run that decides it was
/// cut short. Of each run: where it stands, and whether it finds what the claim demands.
#[must_use]
pub fn rule(
    quantifier: Quantifier,
    runs: &[(Standing, Option<bool>)],
) -> Option<(Ruling, Vec<Assumption>)> {
    let deciding = || runs.iter().filter(|(standing, _)| !matches!(standing, Standing::Outside(_)));
    let any = |wanted| deciding().any(|(_, met)| *met == wanted);
    let inside = |wanted| {
        let at = |(standing, met): &&(Standing, Option<bool>)| {
            *standing == Standing::Inside && *met == wanted
        };
        runs.iter().any(|run| at(&run))
    };
    let (met, unmet, unknown) = (any(Some(true)), any(Some(false)), any(None));
    deciding().next()?;
    if quantifier == Quantifier::CanHappen {
        return match (met, unknown) {
            (true, _) => Some((Ruling::Confirmed, Vec::new())),
            (false, true) => None,
            (false, false) => Some((Ruling::Refuted, Vec::new())),
        };
    }
    if inside(Some(false)) || unmet && !quantifier.leaves_open() {
        return Some((Ruling::Refuted, Vec::new()));
    }
    match (unknown, met, unmet) {
        (true, _, _) => None,
        (false, true, false) => Some((Ruling::Confirmed, Vec::new())),
        (false, true, true) => Some((Ruling::OnlyIf, left_open(runs))),
        (false, false, _) => Some((Ruling::Refuted, Vec::new())),
    }
}

/// What the runs are without that fail where the text is silent.
fn left_open(runs: &[(Standing, Option<bool>)]) -> Vec<Assumption> {
    let mut all = Vec::new();
    for (standing, met) in runs {
        let (Standing::Silent(left), Some(false)) = (standing, met) else { continue };
        for assumption in left {
            if !all.contains(assumption) {
                all.push(assumption.clone());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Quantifier, rule};
    use crate::claims::assumption::{Assumption, Departure, Standing};
    use crate::claims::ruling::Ruling;

    fn words(word: &str) -> Standing {
        match word {
            "inside" => Standing::Inside,
            "silent" => Standing::Silent(vec![Assumption::No(Departure::Loss)]),
            "outside" => Standing::Outside(vec![Assumption::No(Departure::Cut)]),
            other => panic!("a run stands nowhere called '{other}'"),
        }
    }

    /// Reads `inside met, silent not` and the like, and gives the ruling in a word.
    fn ruled(quantifier: Quantifier, runs: &str) -> String {
        let read = |run: &str| {
            let (place, found) = run.split_once(' ').expect("where, and what is found");
            let met = match found {
                "met" => Some(true),
                "not" => Some(false),
                _ => None,
            };
            (words(place), met)
        };
        let runs: Vec<_> = runs.split(", ").map(read).collect();
        match rule(quantifier, &runs) {
            None => "unknown".to_owned(),
            Some((ruling, left)) => {
                assert_eq!(ruling == Ruling::OnlyIf, !left.is_empty(), "it names what decides");
                ruling.to_string()
            }
        }
    }

    /// The table of `docs/model.md`, line by line.
    #[test]
    fn the_table_in_the_documentation_is_what_the_function_does() {
        let page = include_str!("../../../../docs/model.md");
        let (_, table) = page.split_once("| runs | always, worst case |").expect("the table");
        let lines: Vec<&str> = table.lines().skip(2).take_while(|l| l.starts_with('|')).collect();
        assert!(lines.len() >= 10, "{} lines", lines.len());
        for line in lines {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let columns: [&[Quantifier]; 3] = [
                &[Quantifier::Always, Quantifier::WorstCase],
                &[
                    Quantifier::Average,
                    Quantifier::Exactly,
                    Quantifier::BetterThan,
                    Quantifier::Plain,
                ],
                &[Quantifier::CanHappen],
            ];
            for (quantifiers, cell) in columns.into_iter().zip(&cells[2..5]) {
                for &quantifier in quantifiers {
                    assert_eq!(ruled(quantifier, cells[1]), *cell, "{quantifier}: {}", cells[1]);
                }
            }
        }
    }

    #[test]
    fn a_run_outside_of_the_stated_assumptions_changes_no_ruling() {
        for quantifier in Quantifier::ALL {
            for runs in ["inside met", "inside not", "inside met, silent not", "inside cut"] {
                let before = ruled(quantifier, runs);
                for outside in ["outside met", "outside not", "outside cut"] {
                    assert_eq!(ruled(quantifier, &format!("{runs}, {outside}")), before);
                    assert_eq!(ruled(quantifier, &format!("{outside}, {runs}")), before);
                }
            }
        }
    }

    #[test]
    fn what_holds_always_never_holds_only_if() {
        let found = ["met", "not", "cut"];
        for first in found {
            for second in found {
                for third in found {
                    let runs = format!("inside {first}, silent {second}, outside {third}");
                    let ruling = ruled(Quantifier::Always, &runs);
                    assert_ne!(ruling, Ruling::OnlyIf.to_string(), "{runs}");
                }
            }
        }
    }

    #[test]
    fn the_assumption_that_decides_is_named() {
        let no = |departure| Assumption::No(departure);
        let silent = |departure| Standing::Silent(vec![no(departure)]);
        let runs = [
            (Standing::Inside, Some(true)),
            (silent(Departure::Loss), Some(false)),
            (silent(Departure::Cut), Some(true)),
        ];
        let ruled = rule(Quantifier::Plain, &runs);
        assert_eq!(ruled, Some((Ruling::OnlyIf, vec![no(Departure::Loss)])));
    }
}
