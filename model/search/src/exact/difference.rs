//! What differs between two searches, in words.

use serde_json::Value;

/// Returns what another search has that this one has not, in words, if anything: the first thing
/// that is not the same in both.
pub fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let (name, [here, there]) = first(ours, theirs)?;
    Some(format!("its {name} is {there}, here it is {here}"))
}

/// The names that lead to it, and the two values.
fn first(ours: &Value, theirs: &Value) -> Option<(String, [String; 2])> {
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { return None };
    let names = ours.keys().chain(theirs.keys());
    let name = names.into_iter().find(|name| ours.get(*name) != theirs.get(*name))?;
    let both = [ours.get(name), theirs.get(name)];
    if let [Some(ours), Some(theirs)] = both
        && let Some((within, both)) = first(ours, theirs)
    {
        return Some((format!("{name} {within}"), both));
    }
    let told = |value: Option<&Value>| value.map_or("not there".to_owned(), Value::to_string);
    Some((name.clone(), both.map(told)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named() {
        let here = json!({"scenario": {"nodes": 3, "faults": {"cuts": 1}}, "of two": true});
        let cases = [
            (json!({"scenario": {"nodes": 3, "faults": {"cuts": 1}}, "of two": true}), None),
            (
                json!({"scenario": {"nodes": 3, "faults": {"cuts": 2}}, "of two": true}),
                Some("its scenario faults cuts is 2, here it is 1"),
            ),
            (
                json!({"scenario": {"nodes": 3, "faults": {"cuts": 1}}}),
                Some("its of two is not there, here it is true"),
            ),
            (
                json!({"scenario": {"nodes": 3, "faults": {"cuts": 1}}, "of two": false}),
                Some("its of two is false, here it is true"),
            ),
        ];
        for (there, what) in cases {
            assert_eq!(difference(&here, &there).as_deref(), what);
        }
    }
}
