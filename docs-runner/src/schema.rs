//! The schemas in `docs/schemas` of what the programs print as JSON.
//!
//! What is read of JSON Schema is what these files use. A key that constrains something and is not
//! read fails, so no schema says more than is checked.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

/// Returns the object that a program has printed, which must fit the schema with this name.
///
/// This asks for more than the schema does: a key for which it has no `properties` is a mistake,
/// unless it has `additionalProperties`. So a schema names each key that is printed.
///
/// # Panics
/// If it is no JSON, or does not fit; if there is no such schema, or it uses what is not read.
#[track_caller]
pub fn object_of(name: &str, printed: impl AsRef<[u8]>) -> Value {
    let printed = printed.as_ref();
    let object: Value = serde_json::from_slice(printed).unwrap_or_else(|error| {
        panic!("{name}: {error}: {}", String::from_utf8_lossy(printed));
    });
    let (root, mut wrong) = (schema(name), Vec::new());
    Place { root, path: name.to_owned() }.check(root, &object, &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    object
}

/// A place in an object, and the file of the schema that speaks of it.
struct Place {
    root: &'static Value,
    path: String,
}

impl Place {
    fn check(&self, schema: &'static Value, value: &Value, wrong: &mut Vec<String>) {
        let mut tell = |what: String| wrong.push(format!("{}: {what}", self.path));
        for (key, of) in schema.as_object().expect("a schema is an object") {
            match key.as_str() {
                "type" if !is_of(of, value) => tell(format!("{value} is not of type {of}")),
                "enum" if !of.as_array().is_some_and(|all| all.contains(value)) => {
                    tell(format!("{value} is not one of {of}"));
                }
                "required" => {
                    let has = |key: &&Value| value.get(key.as_str().unwrap_or_default()).is_some();
                    let missing = of.as_array().into_iter().flatten().filter(|key| !has(key));
                    missing.filter(|_| value.is_object()).for_each(|key| tell(format!("no {key}")));
                }
                "type"
                | "enum"
                | "items"
                | "$ref"
                | "properties"
                | "additionalProperties"
                | "default"
                | "$schema"
                | "title"
                | "$defs" => {}
                other => panic!("'{other}' of a schema is not read"),
            }
        }
        if let Some(place) = schema.get("$ref").and_then(Value::as_str) {
            let (file, pointer) = place.split_once('#').unwrap_or((place, ""));
            let root = match file.strip_suffix(".json") {
                Some(name) => self::schema(name),
                None => self.root,
            };
            let schema = root.pointer(pointer).unwrap_or_else(|| panic!("no schema {place}"));
            Place { root, path: self.path.clone() }.check(schema, value, wrong);
        }
        self.check_below(schema, value, wrong);
    }

    /// Checks the items of a list, and the values of an object.
    fn check_below(&self, schema: &'static Value, value: &Value, wrong: &mut Vec<String>) {
        let at = |key: &str| Place { root: self.root, path: format!("{}.{key}", self.path) };
        if let (Some(of), Some(items)) = (schema.get("items"), value.as_array()) {
            for (number, item) in items.iter().enumerate() {
                at(&number.to_string()).check(of, item, wrong);
            }
        }
        let known = schema.get("properties");
        let others = schema.get("additionalProperties");
        let closed = others == Some(&Value::Bool(false));
        let others = others.filter(|_| !closed);
        assert!(
            others.is_none_or(Value::is_object),
            "'additionalProperties' is not read: {others:?}"
        );
        if known.is_none() && others.is_none() && !closed {
            return;
        }
        for (key, value) in value.as_object().into_iter().flatten() {
            match known.and_then(|known| known.get(key)).or(others) {
                Some(of) => at(key).check(of, value, wrong),
                None => wrong.push(format!("{}: the schema has no key '{key}'", self.path)),
            }
        }
    }
}

/// Whether a value is of a type, or of one of several.
fn is_of(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("'{other}' is no type"),
    };
    types.as_array().map_or_else(|| is(types), |types| types.iter().any(is))
}

/// The schema of a file.
fn schema(name: &str) -> &'static Value {
    static ALL: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let files = fs::read_dir(crate::root().join("docs/schemas")).expect("the schemas");
        let read = |path: std::path::PathBuf| {
            let text = fs::read_to_string(&path).expect("it can be read");
            let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
            (path.file_stem().expect("a name").to_string_lossy().into_owned(), schema)
        };
        files.map(|file| read(file.expect("a file").path())).collect()
    });
    all.get(name).unwrap_or_else(|| panic!("there is no docs/schemas/{name}.json"))
}
