//! A table of values in which each stands once, whatever it is a part of: states differ in few of
//! their parts, so a table of a thousand states is hardly larger than one of some hundred.

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

/// Values in JSON, each with the numbers of its parts.
///
/// A value without parts stands as it is. A list is `[0, part, ...]`, and an object is `[n, part,
/// ...]`, where the shape `n`, counted from 1, has the names of the parts. Parts stand before what
/// they are parts of.
#[derive(Default)]
pub(super) struct Shared {
    shapes: Vec<Vec<String>>,
    values: Vec<String>,
    known_shapes: FxHashMap<Vec<String>, usize>,
    known: FxHashMap<String, usize>,
}

impl Shared {
    /// Returns the number of a value, which is put into the table if it is not there.
    pub(super) fn put(&mut self, value: &impl Serialize) -> usize {
        // What is shown is made of strings and numbers: it always has a JSON form.
        self.place(&serde_json::to_value(value).unwrap_or(Value::Null))
    }

    fn place(&mut self, value: &Value) -> usize {
        let text = match value {
            Value::Array(parts) => {
                let parts: Vec<usize> = parts.iter().map(|part| self.place(part)).collect();
                with_parts(0, &parts)
            }
            Value::Object(fields) => {
                let shape = self.shape(fields.keys().cloned().collect());
                let parts: Vec<usize> = fields.values().map(|part| self.place(part)).collect();
                with_parts(shape, &parts)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        };
        if let Some(&place) = self.known.get(&text) {
            return place;
        }
        let place = self.values.len();
        self.values.push(text.clone());
        self.known.insert(text, place);
        place
    }

    /// The number of a shape, from 1.
    fn shape(&mut self, names: Vec<String>) -> usize {
        if let Some(&shape) = self.known_shapes.get(&names) {
            return shape;
        }
        self.shapes.push(names.clone());
        self.known_shapes.insert(names, self.shapes.len());
        self.shapes.len()
    }

    /// Returns the names of the parts of objects, by the number of their shape.
    pub(super) fn shapes(&self) -> &[Vec<String>] {
        &self.shapes
    }

    /// Returns the table in JSON.
    pub(super) fn json(&self) -> String {
        format!("[{}]", self.values.join(","))
    }
}

fn with_parts(shape: usize, parts: &[usize]) -> String {
    let parts: String = parts.iter().map(|part| format!(",{part}")).collect();
    format!("[{shape}{parts}]")
}

#[cfg(test)]
mod tests {
    use super::Shared;
    use serde_json::{Value, json};

    /// Reads a table as the page does.
    fn read(shared: &Shared) -> Vec<Value> {
        let table: Vec<Value> = serde_json::from_str(&shared.json()).expect("JSON");
        let mut read: Vec<Value> = Vec::new();
        for entry in table {
            let value = match entry {
                Value::Array(numbers) => {
                    let numbers = numbers.iter().map(|n| n.as_u64().expect("a number") as usize);
                    let numbers: Vec<usize> = numbers.collect();
                    let parts = numbers[1..].iter().map(|&at| read[at].clone());
                    match numbers[0] {
                        0 => Value::Array(parts.collect()),
                        shape => {
                            let names = shared.shapes()[shape - 1].iter().cloned();
                            Value::Object(names.zip(parts).collect())
                        }
                    }
                }
                leaf => leaf,
            };
            read.push(value);
        }
        read
    }

    #[test]
    fn what_is_put_is_read_again_and_stands_once() {
        let mut shared = Shared::default();
        let values = [
            json!({ "id": 1, "timers": ["watch"], "leader": null }),
            json!({ "id": 2, "timers": ["watch"], "leader": 1 }),
            json!([]),
            json!({}),
            json!("[0,1]"),
            json!([[1, 2], { "id": 1, "timers": [], "leader": null }]),
        ];
        let places = values.each_ref().map(|value| shared.put(value));
        let table = read(&shared);
        for (place, value) in places.iter().zip(&values) {
            assert_eq!(table[*place], *value);
        }
        let before = table.len();
        assert_eq!(values.each_ref().map(|value| shared.put(value)), places);
        assert_eq!(read(&shared).len(), before);
        for (at, value) in table.iter().enumerate() {
            assert!(!table[..at].contains(value), "{value} stands twice");
        }
    }
}
