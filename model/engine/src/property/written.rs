//! Properties that are written on the command line: that an expression never holds, or always.

use super::{Property, Temporal};
use crate::expression::{Expression, ExpressionError, one_line};
use crate::words::kept;
use crate::world::World;

const NEVER: &str = "never";
const ALWAYS: &str = "always";

/// Returns the name of the property that no state satisfies this expression.
#[must_use]
pub fn never(expression: &str) -> String {
    format!("{NEVER}({})", one_line(expression))
}

/// Returns the name of the property that every state satisfies this expression.
#[must_use]
pub fn always(expression: &str) -> String {
    format!("{ALWAYS}({})", one_line(expression))
}

/// The property of this name in `world`, if that is a name of such a property.
pub(super) fn read(name: &str, world: &World) -> Option<Result<Property, ExpressionError>> {
    let asked = |how: &str| name.strip_prefix(how)?.strip_prefix('(')?.strip_suffix(')');
    let never = asked(NEVER);
    let expression = never.or_else(|| asked(ALWAYS))?;
    let read = Expression::read_truth(expression, world);
    Some(read.map(|read| {
        let text = read.text();
        let (how, formula, meaning) = match never {
            Some(_) => (NEVER, format!("□ ¬({text})"), "no state satisfies the expression"),
            None => (ALWAYS, format!("□ ({text})"), "every state satisfies the expression"),
        };
        Property {
            name: kept(format!("{how}({text})")),
            formula: kept(formula),
            meaning,
            by_default: false,
            premise: None,
            temporal: Temporal::Always(read.condition(never.is_none())),
        }
    }))
}
