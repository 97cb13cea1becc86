//! What a suite expects of a property, in the words of its file.

use bellwether_engine::check::{Counterexample, Decision, Report, Verdict, holds_within};
use bellwether_engine::words::perhaps;
use std::fmt;

/// The verdict that is expected of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It holds.
    Holds,
    /// It holds within the bounds of the search.
    HoldsWithin,
    /// It is violated, by an execution of so many steps if a number is given.
    Violated(Option<usize>),
}

impl Wanted {
    /// Reads the words of a file.
    ///
    /// # Errors
    /// What to write instead.
    pub(super) fn read(words: &str) -> Result<Wanted, String> {
        const KNOWN: [&str; 3] = ["holds", "holds within", "violated"];
        let steps = words.strip_prefix("violated in ").and_then(|rest| {
            let number = rest.strip_suffix(" steps").or_else(|| rest.strip_suffix(" step"))?;
            number.parse().ok()
        });
        match words {
            "holds" => Ok(Wanted::Holds),
            "holds within" => Ok(Wanted::HoldsWithin),
            "violated" => Ok(Wanted::Violated(None)),
            _ if steps.is_some() => Ok(Wanted::Violated(steps)),
            _ => Err(format!(
                "no verdict is '{words}'; {}there are: {}, violated in N steps",
                perhaps(words, &KNOWN),
                KNOWN.join(", ")
            )),
        }
    }

    /// Returns whether this is what a check has found; nothing if it has not decided it.
    pub(super) fn agrees(self, decision: &Decision) -> Option<bool> {
        Some(match (self, decision.verdict) {
            (_, Verdict::Unknown) => return None,
            (Wanted::Holds, Verdict::Holds)
            | (Wanted::HoldsWithin, Verdict::HoldsWithin)
            | (Wanted::Violated(None), Verdict::Violated) => true,
            (Wanted::Violated(wanted), Verdict::Violated) => wanted == steps(decision),
            _ => false,
        })
    }
}

/// The number of steps of what violates a property.
pub(super) fn steps(decision: &Decision) -> Option<usize> {
    decision.counterexample.as_ref().map(Counterexample::length)
}

/// What a check has found of a property, in the words of a file where it has words for it.
pub(super) fn found(report: &Report, decision: &Decision) -> String {
    match decision.verdict {
        Verdict::Holds => Wanted::Holds.to_string(),
        Verdict::HoldsWithin => holds_within(&report.bounds_met),
        Verdict::Violated => Wanted::Violated(steps(decision)).to_string(),
        Verdict::Unknown => {
            let why = decision.reason.map(|reason| reason.within(&report.bounds_met));
            format!("unknown: {}", why.unwrap_or_default())
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Holds => f.write_str("holds"),
            Wanted::HoldsWithin => f.write_str("holds within"),
            Wanted::Violated(None) => f.write_str("violated"),
            Wanted::Violated(Some(1)) => f.write_str("violated in 1 step"),
            Wanted::Violated(Some(steps)) => write!(f, "violated in {steps} steps"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wanted;

    #[test]
    fn what_is_written_is_what_is_read() {
        for words in ["holds", "holds within", "violated", "violated in 1 step"] {
            assert_eq!(Wanted::read(words).expect("a verdict").to_string(), words);
        }
        assert_eq!(Wanted::read("violated in 12 steps"), Ok(Wanted::Violated(Some(12))));
    }

    #[test]
    fn what_is_no_verdict_is_told_what_there_is() {
        for (words, says) in [
            ("hold", "did you mean 'holds'? there are: holds, holds within, violated, "),
            ("violated in few steps", "no verdict is 'violated in few steps'; there are: "),
            ("unknown", "no verdict is 'unknown'; there are: "),
            ("", "no verdict is ''; there are: "),
        ] {
            let told = Wanted::read(words).expect_err("it is no verdict");
            assert!(told.contains(says), "{told}");
        }
    }
}
