//! The keys of a file, as their types declare them, each with its values and its default. From them
//! follow the keys that are refused, the [`reference`] and the [`schema`].

use std::iter::once;

use serde::de::value::{Error as NoValue, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Value, json};
use toml::Table;
use toml::de::{DeTable, DeValue};

use super::settings::Log;
use super::values::{Mistake, place, unknown, usual};
use super::write::log_settings;
use super::{File, Overrides, protocol_keys};
use crate::config::fields::{Field, Fields, KINDS, detector_fields, kind_fields};
use crate::config::sections::Preference;
use crate::config::{Health, Hooks, Mode, NetworkSettings, SecuritySettings, groups};
use crate::detector::Detection;
use crate::protocol::quorum::Preemption;
use crate::protocol::{Core as _, Recommended};

/// The keys of a section, in the order in which they are listed.
type Keys = Vec<(&'static str, Kind)>;

pub(super) enum Kind {
    /// A value, with its schema; the default stands there.
    Value(Value),
    Section(Keys),
}

impl Kind {
    fn unknown() -> Self {
        Self::Value(json!({}))
    }

    pub(super) fn section(fields: Fields<'_>) -> Self {
        Self::Section(of_fields(fields))
    }

    fn schema(&self) -> Value {
        match self {
            Self::Value(schema) => schema.clone(),
            Self::Section(keys) => json!({
                "type": "object",
                "properties": properties(keys),
                "additionalProperties": false,
            }),
        }
    }
}

fn properties(keys: &Keys) -> Value {
    keys.iter().map(|(name, kind)| ((*name).to_owned(), kind.schema())).collect()
}

fn of_fields(fields: Fields<'_>) -> Keys {
    let kind = |field: Field<'_>| {
        let mut schema = match &field {
            Field::Time(_) | Field::File(_) => json!({ "type": "string" }),
            Field::Number(_) => json!({ "type": "number" }),
            Field::Count(_) => json!({ "type": "integer" }),
            Field::Store(_) => json!({ "type": ["integer", "string"] }),
            Field::Preemption(_) => json!({ "enum": Preemption::NAMES.map(|(name, _)| name) }),
        };
        let line = field.written().map(|value| format!("default = {value}"));
        // The program has written it itself.
        let default = line.and_then(|line| line.parse::<Table>().ok()?.remove("default"));
        if let Some(default) = default {
            schema["default"] = json!(default);
        }
        Kind::Value(schema)
    };
    fields.into_iter().map(|(name, field)| (name, kind(field))).collect()
}

fn detector() -> Keys {
    let mut detection = Detection::default();
    let heartbeat = detection.heartbeat;
    let mut keys = vec![("kind", Kind::Value(json!({ "enum": KINDS, "default": KINDS[0] })))];
    keys.extend(of_fields(detector_fields(&mut detection)));
    keys.extend(KINDS.iter().filter_map(|&kind| {
        let mut settings = usual(kind, heartbeat)?;
        Some((kind, Kind::section(kind_fields(&mut settings))))
    }));
    keys
}

/// Returns every key that a file may have.
fn all() -> Keys {
    let mut all = keys_of::<File>();
    all.extend(keys_of::<Preference>());
    all.extend(keys_of::<Overrides>());
    // The defaults are written without an error.
    fill(&mut all, &defaults().unwrap_or_default());
    all.push(("detector", Kind::Section(detector())));
    all.extend(protocol_keys());
    all
}

/// Returns the values that keys have if nothing is said.
fn defaults() -> Result<Table, toml::ser::Error> {
    let mut all = Table::try_from(Overrides {
        protocol: Some(Recommended::NAME.to_owned()),
        observers: Some(Vec::new()),
        witnesses: Some(Vec::new()),
        security: SecuritySettings {
            mode: Some(Mode::Plain.name().to_owned()),
            ..SecuritySettings::default()
        },
        network: NetworkSettings { suspect_refused: Some(true), ..NetworkSettings::default() },
        log: log_settings(&Log::default(), None),
        ..Overrides::default()
    })?;
    all.extend(Table::try_from(Preference::default())?);
    all.insert("timing".to_owned(), "lan".into());
    all.insert("hooks".to_owned(), Table::try_from(Hooks::default())?.into());
    all.insert("health".to_owned(), Table::try_from(Health::default())?.into());
    all.insert("groups".to_owned(), Table::try_from(groups::Section::default())?.into());
    Ok(all)
}

/// Gives these keys their defaults. A switch that is not turned is off.
fn fill(keys: &mut Keys, defaults: &Table) {
    for (name, kind) in keys {
        match (kind, defaults.get(*name)) {
            (Kind::Section(keys), Some(toml::Value::Table(defaults))) => fill(keys, defaults),
            (Kind::Value(schema), Some(default)) => schema["default"] = json!(default),
            (Kind::Value(schema), None) if schema["type"] == "boolean" => {
                schema["default"] = false.into();
            }
            _ => {}
        }
    }
}

/// Returns the keys of a type, which are its fields.
fn keys_of<T: DeserializeOwned>() -> Keys {
    match kind_of::<T>(&mut Vec::new()) {
        Kind::Section(keys) => keys,
        Kind::Value(_) => Vec::new(),
    }
}

/// Returns the kind of the value at this path in a type.
fn kind_of<T: DeserializeOwned>(path: &mut Vec<&'static str>) -> Kind {
    let mut kind = Kind::unknown();
    // There is no value: the type only asks for one.
    let _ = T::deserialize(Asked { path, kind: &mut kind });
    if let Kind::Section(keys) = &mut kind {
        for (name, kind) in keys {
            path.push(*name);
            *kind = kind_of::<T>(path);
            path.pop();
        }
    }
    kind
}

/// A deserializer without a value, which takes note of the kind that it is asked for at a path.
struct Asked<'a> {
    path: &'a [&'static str],
    kind: &'a mut Kind,
}

impl Asked<'_> {
    fn is<T>(self, schema: Value) -> Result<T, NoValue> {
        *self.kind = Kind::Value(schema);
        Err(NoValue::custom("only the kind is wanted"))
    }
}

impl IntoDeserializer<'_, NoValue> for Asked<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! plain {
    ($($method:ident: $name:literal),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
            self.is(json!({ "type": $name }))
        }
    )+};
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = NoValue;

    plain! {
        deserialize_bool: "boolean",
        deserialize_i64: "integer",
        deserialize_u8: "integer",
        deserialize_u16: "integer",
        deserialize_u32: "integer",
        deserialize_u64: "integer",
        deserialize_f64: "number",
        deserialize_str: "string",
        deserialize_string: "string",
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoValue> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NoValue> {
        self.is(json!({ "enum": words }))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoValue> {
        let mut item = Kind::unknown();
        let asked = Asked { path: &[], kind: &mut item };
        let read = visitor.visit_seq(SeqDeserializer::new(once(asked)));
        *self.kind = Kind::Value(json!({ "type": "array", "items": item.schema() }));
        read
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoValue> {
        let mut value = Kind::unknown();
        let entry = ("1", Asked { path: &[], kind: &mut value });
        let read = visitor.visit_map(MapDeserializer::new(once(entry)));
        let schema = json!({ "type": "object", "additionalProperties": value.schema() });
        *self.kind = Kind::Value(schema);
        read
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NoValue> {
        match self.path {
            [] => {
                let keys = keys.iter().map(|&name| (name, Kind::unknown()));
                *self.kind = Kind::Section(keys.collect());
                Err(NoValue::custom("only the keys are wanted"))
            }
            [key, path @ ..] => {
                let entry = (*key, Asked { path, kind: self.kind });
                visitor.visit_map(MapDeserializer::new(once(entry)))
            }
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        self.is(json!({}))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct identifier ignored_any
    }
}

/// Refuses a file that has other keys than there are, or a value in the place of a section.
pub(super) fn check(file: &DeTable<'_>) -> Result<(), Mistake> {
    check_section(file, "", &all())
}

fn check_section(table: &DeTable<'_>, section: &str, keys: &Keys) -> Result<(), Mistake> {
    let names: Vec<_> = keys.iter().map(|&(name, _)| name).collect();
    if let Some(wrong) = table.keys().find(|key| !names.contains(&key.get_ref().as_ref())) {
        let problem = unknown("key", wrong.get_ref(), &place(section), &names);
        return Err(Mistake::here(wrong.span(), problem));
    }
    for (name, kind) in keys {
        let Some(value) = table.get(*name) else { continue };
        let path = path_of(section, name);
        match (kind, value.get_ref()) {
            (Kind::Section(keys), DeValue::Table(table)) => check_section(table, &path, keys)?,
            (kind, other) if kind.schema()["type"] == "object" && !other.is_table() => {
                return Err(Mistake::no_table(value.span(), &path));
            }
            _ => {}
        }
    }
    Ok(())
}

fn path_of(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

/// Returns every key that a file may have, with its section, and its default value; that is empty
/// if the key has none.
#[must_use]
pub fn reference() -> Vec<(String, String)> {
    fn list(listed: &mut Vec<(String, String)>, section: &str, keys: &Keys) {
        for (name, kind) in keys {
            let path = path_of(section, name);
            match kind {
                Kind::Section(keys) => list(listed, &path, keys),
                Kind::Value(schema) => {
                    let path = if schema["type"] == "object" { path + ".ID" } else { path };
                    let default = schema.get("default").map(toml::Value::try_from);
                    let default = default.and_then(Result::ok).map(|value| value.to_string());
                    listed.push((path, default.unwrap_or_default()));
                }
            }
        }
    }
    let mut listed = Vec::new();
    list(&mut listed, "", &all());
    listed
}

/// Returns the JSON Schema of a file.
#[must_use]
pub fn schema() -> Value {
    let mut schema = Kind::Section(all()).schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "the configuration of bellwether".into();
    schema["required"] = json!(["cluster", "members"]);
    schema
}
