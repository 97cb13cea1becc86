//! The ledger: what the literature says of leader elections, as data, and the runner that holds it
//! to its word.
//!
//! A claim is a sentence of a text in our own words, and the checks that decide it. Each check says
//! what the claim demands of a run; whether the run does that is found out by running it. What the
//! ledger has written down beforehand (a ruling, what each check finds) is never the verdict: it is
//! compared with the verdict, and a difference is an error of the ledger.
//!
//! The claims stand in `model/claims/*.toml`, one file for each text, and are compiled in. To add a
//! claim or a check is to edit data; see `docs/model.md`.

mod demand;
mod entry;
mod formula;
mod load;
mod program;
mod round;
mod ruling;
mod run;

pub use demand::{Demand, DemandError, Expectation, Finding, Point, Word};
pub use entry::{Ask, Check, Claim, Source, Subject};
pub use formula::{Formula, FormulaError};
pub use load::{Ledger, LedgerError};
pub use program::Program;
pub use round::Starters;
pub use ruling::{Judged, Outcome, Ruling};
pub use run::{Ran, Runner};
