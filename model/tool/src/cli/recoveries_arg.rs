//! The value of `--recoveries`: how often crashed processes may recover, and whether they must.

use bellwether_engine::world::{Recovers, Scenario};
use std::fmt;
use std::str::FromStr;

/// How often a crashed process may recover: `K`. If it recovers in the end, as long as any of them
/// are left: `must:K`, or `must` for as many as there may be crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveriesArg {
    /// So many recoveries, each of which may happen.
    May(u8),
    /// So many, not 0, and while one is left, no process stays down for ever.
    Must(u8),
    /// The same, and as many as processes may crash: none stays down for ever.
    EachMust,
}

const MUST: &str = "must";

impl RecoveriesArg {
    /// No process recovers.
    pub const NONE: RecoveriesArg = RecoveriesArg::May(0);

    /// Returns the shortest that says so many recoveries where there may be `crashes`.
    pub(super) fn of(most: u8, crashes: u8, recovers: Recovers) -> RecoveriesArg {
        match recovers {
            Recovers::Must if most > 0 && most == crashes => RecoveriesArg::EachMust,
            Recovers::Must if most > 0 => RecoveriesArg::Must(most),
            _ => RecoveriesArg::May(most),
        }
    }

    /// Returns how many recoveries there may be, if there may be `crashes`.
    #[must_use]
    pub fn most(self, crashes: u8) -> u8 {
        match self {
            RecoveriesArg::May(most) | RecoveriesArg::Must(most) => most,
            RecoveriesArg::EachMust => crashes,
        }
    }

    /// Returns whether they must happen.
    #[must_use]
    pub fn recovers(self) -> Recovers {
        match self {
            RecoveriesArg::May(_) => Recovers::May,
            RecoveriesArg::Must(_) | RecoveriesArg::EachMust => Recovers::Must,
        }
    }

    /// Returns the flag as it is typed, if this scenario takes it.
    pub(super) fn typed(scenario: &Scenario) -> String {
        let faults = scenario.faults;
        let arg = RecoveriesArg::of(faults.recoveries, faults.crashes, scenario.recovers);
        match arg {
            _ if arg == RecoveriesArg::NONE || faults.crashes == 0 => String::new(),
            arg => format!(" --recoveries {arg}"),
        }
    }
}

impl fmt::Display for RecoveriesArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveriesArg::May(most) => most.fmt(f),
            RecoveriesArg::Must(most) => write!(f, "{MUST}:{most}"),
            RecoveriesArg::EachMust => f.write_str(MUST),
        }
    }
}

impl FromStr for RecoveriesArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give a whole number K from 0 to 255, 'must:K' with K from 1, or 'must'";
        let (must, number) = match text.split_once(':') {
            None if text == MUST => return Ok(RecoveriesArg::EachMust),
            None => (false, text),
            Some((MUST, number)) => (true, number),
            Some(_) => return Err(wrong),
        };
        match number.parse() {
            Ok(0) if must => Err(wrong),
            Ok(most) if must => Ok(RecoveriesArg::Must(most)),
            Ok(most) => Ok(RecoveriesArg::May(most)),
            Err(_) => Err(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RecoveriesArg::{self, EachMust, May, Must};
    use bellwether_engine::world::{Recovers, Scenario};

    #[test]
    fn it_is_read_as_it_is_written() {
        for arg in [May(0), May(1), May(255), Must(1), Must(255), EachMust] {
            assert_eq!(arg.to_string().parse(), Ok(arg));
        }
        for wrong in ["", "-1", "256", "must:0", "must:", "must:x", "may:1", "Must", "must:1:1"] {
            assert!(wrong.parse::<RecoveriesArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_typed_for_a_scenario_sets_it() {
        for (crashes, most, must) in
            [(0, 0, false), (2, 1, false), (2, 2, false), (2, 1, true), (2, 2, true)]
        {
            let recovers = if must { Recovers::Must } else { Recovers::May };
            let scenario = Scenario { recovers, ..Scenario::calm(3).with_crashes(crashes, most) };
            let typed = RecoveriesArg::typed(&scenario);
            let value = typed.strip_prefix(" --recoveries ").unwrap_or("0");
            let read: RecoveriesArg = value.parse().expect("it is read");
            assert_eq!((read.most(crashes), read.recovers()), (most, recovers), "{typed}");
        }
    }
}
