//! What a step changes of what its process knows, in words: more than its role, its leader and its
//! timers, which stand in the trace.

use crate::protocol::Id;
use crate::words::plain_value;
use crate::world::State;
use serde_json::Value;

/// A variable of a process that a step has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// What it was before.
    pub before: String,
    /// What it is afterwards.
    pub after: String,
}

/// The variables that each step of an execution has changed. They stand in no file: where a trace
/// was read, there are none. So two traces do not differ in them.
#[derive(Clone, Debug, Default)]
pub struct Noted(Vec<Vec<Variable>>);

impl Noted {
    /// Returns the variables that the step with this number has changed, as far as that is known.
    #[must_use]
    pub fn in_step(&self, seq: usize) -> &[Variable] {
        let known = seq.checked_sub(1).and_then(|at| self.0.get(at));
        known.map_or(&[], Vec::as_slice)
    }

    /// Notes the next step, in which a process acted, if one did.
    pub(super) fn note(&mut self, before: &State, after: &State, node: Option<Id>) {
        let mut changed = Vec::new();
        if let Some(id) = node.filter(|&id| before.up(id) && after.up(id)) {
            differ("", before.process(id).json(), after.process(id).json(), &mut changed);
            differ("stored", before.stable(id).json(), after.stable(id).json(), &mut changed);
        }
        self.0.push(changed);
    }
}

/// They are beside what a trace says.
impl PartialEq for Noted {
    fn eq(&self, _: &Noted) -> bool {
        true
    }
}

impl Eq for Noted {}

/// Collects where two values differ, in the parts of structures by their names.
fn differ(name: &str, before: &Value, after: &Value, changed: &mut Vec<Variable>) {
    if before == after {
        return;
    }
    if let (Value::Object(was), Value::Object(is)) = (before, after)
        && was.len() == is.len()
        && was.keys().all(|key| is.contains_key(key))
    {
        for (key, before) in was {
            let part = key.replace(['-', '_'], " ");
            let part = if name.is_empty() { part } else { format!("{name} {part}") };
            differ(&part, before, is.get(key).unwrap_or(&Value::Null), changed);
        }
        return;
    }
    let name = name.to_owned();
    changed.push(Variable { name, before: words(before), after: words(after) });
}

fn words(value: &Value) -> String {
    match value {
        Value::Array(all) if all.is_empty() => "none".to_owned(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(", "),
        other => plain_value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{differ, words};
    use serde_json::json;

    #[test]
    fn a_set_that_grows_and_a_part_that_changes_are_told_by_name() {
        let before = json!({ "role": "candidate", "granted": [2], "out_box": { "left": 3 } });
        let after = json!({ "role": "candidate", "granted": [2, 3], "out_box": { "left": null } });
        let mut changed = Vec::new();
        differ("", &before, &after, &mut changed);
        let told: Vec<String> = changed
            .iter()
            .map(|one| format!("{}: {} → {}", one.name, one.before, one.after))
            .collect();
        assert_eq!(told, ["granted: 2 → 2, 3", "out box left: 3 → none"]);
        changed.clear();
        differ("", &before, &before, &mut changed);
        assert!(changed.is_empty());
        assert_eq!(words(&json!([])), "none");
    }
}
