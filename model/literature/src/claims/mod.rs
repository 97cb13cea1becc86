//! The ledger: what the literature says of leader elections, as data, and its runner.
//!
//! A claim is a paraphrase of a sentence of a text, with the checks that decide it. Each check says
//! what the claim demands of a run; the run shows whether the demand is met. A claim says of how
//! many executions it speaks, and what the text assumes. The ruling is computed from these and from
//! the runs; no entry has one. What the ledger states beforehand (what each check finds) is
//! compared with what is found, and a difference is an error of the ledger.
//!
//! The claims are in `model/literature/claims/*.toml`, one file for each text, and are compiled in. To add a
//! claim or a check, edit these files; see `docs/model.md`.

mod assumption;
mod breach;
mod cause;
mod cure;
mod demand;
mod entry;
mod flaws;
mod formula;
mod larger;
mod load;
mod printed;
mod program;
mod quantifier;
mod ruling;
mod run;
mod written;

pub use assumption::{Assumption, Departure, Stance, Standing};
pub use breach::Breach;
pub use cause::Cause;
pub use cure::{Change, Cures, rules_apart};
pub use demand::{Demand, DemandError, Expectation, Finding, Point, Word};
pub use entry::{Ask, Check, Claim, LeftOut, Source, Subject};
pub use flaws::may_contradict;
pub use formula::{Formula, FormulaError};
pub use larger::Larger;
pub use load::Ledger;
pub use printed::{PRINTED, Printed};
pub use program::{Account, Program};
pub use quantifier::{Quantifier, rule};
pub use ruling::{Judged, Outcome, Ruling};
pub use run::{Ran, Runner};
