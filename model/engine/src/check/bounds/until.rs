//! What ends the counting of the steps of an execution.

use crate::property::{self, PropertyError};
use crate::world::World;
use serde::Serialize;
use std::fmt;

/// The steps of an execution that are counted: from the first fault on (after a cold start, or
/// where links are missing or processes down, from the beginning on), and every fault, and besides
/// those that a variant names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// The steps in states that are not quiescent.
    #[default]
    Rest,
    /// The steps in states in which not every live process agrees on the highest live one.
    Agreed,
    /// The steps in states that are not as the ◇□-property of this name has them in the end.
    #[serde(untagged)]
    InTheEnd(&'static str),
}

impl Until {
    /// Returns what `name` says: `rest`, `agreed`, or a ◇□-property of `world`.
    ///
    /// # Errors
    /// If there is no such property, or it is of another form.
    pub fn named(name: &str, world: &World) -> Result<Until, PropertyError> {
        match name {
            "rest" => Ok(Until::Rest),
            "agreed" => Ok(Until::Agreed),
            _ => {
                let found = property::select(world, &[name.to_owned()])?;
                let ends = found.iter().find(|property| property.formula.starts_with(IN_THE_END));
                let name = ends.map(|property| Until::InTheEnd(property.name));
                name.ok_or_else(|| PropertyError::NotInTheEnd {
                    name: found[0].name,
                    known: in_the_end(world),
                })
            }
        }
    }

    /// Returns the name that is [read](Until::named) as this.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Until::Rest => "rest",
            Until::Agreed => "agreed",
            Until::InTheEnd(name) => name,
        }
    }
}

/// How the formula begins of what comes to hold and then stays.
const IN_THE_END: &str = "◇□";

/// What counting can stop at in this world.
fn in_the_end(world: &World) -> String {
    let all = property::select(world, &[]).unwrap_or_default();
    let known = all.iter().filter(|property| property.formula.starts_with(IN_THE_END));
    let known = known.map(|property| property.name);
    ["rest", "agreed"].into_iter().chain(known).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Until::Rest => f.write_str("while the world is not quiescent"),
            Until::Agreed => {
                f.write_str("while not every live process agrees on the highest live one")
            }
            Until::InTheEnd(name) => write!(f, "while it is not as {name} has it in the end"),
        }
    }
}
