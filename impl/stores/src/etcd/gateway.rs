//! The messages of etcd's HTTP: JSON with keys and values in base64, and numbers of 64 bits as text.
//! Fields that are zero, false or empty are left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::grant::Grant;

/// The id of a lease of etcd's own, to which keys are attached; 0 is none.
pub(super) type LeaseId = i64;

/// A part of an answer, or the mistake in it.
type Parsed<T> = Result<T, String>;

/// A key as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) value: String,
    /// The revision of the store at which the key was written.
    pub(super) revision: u64,
    pub(super) lease: LeaseId,
}

/// A message of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The key was written or deleted, last at this revision.
    Changed(u64),
    /// The watch tells of changes from now on, and the store was at this revision.
    Created(u64),
    /// The store no longer has what came after the revision that was asked for.
    Compacted,
    /// The watch has ended.
    Cancelled(String),
    /// Nothing of the key.
    None,
}

/// Returns a key or a value as etcd wants it.
pub(super) fn coded(text: &str) -> String {
    STANDARD.encode(text)
}

/// Reads both keys, in one step.
pub(super) fn read(keys: &[String; 2]) -> Value {
    json!({ "success": ranges(keys) })
}

fn ranges(keys: &[String; 2]) -> Value {
    keys.iter().map(|key| json!({ "request_range": { "key": key } })).collect()
}

pub(super) fn grant(seconds: u64) -> Value {
    json!({ "TTL": seconds.to_string() })
}

pub(super) fn lease(id: LeaseId) -> Value {
    json!({ "ID": id.to_string() })
}

/// Writes the grant into the first key and its token into the second, if each key was written last
/// at its revision, which is 0 if there is no key; otherwise reads both. Etcd does this in one step.
pub(super) fn put(keys: &[String; 2], grant: &Grant, lease: LeaseId, revisions: [u64; 2]) -> Value {
    let [key, token] = keys;
    let granted = json!({
        "key": key, "value": coded(&grant.to_string()), "lease": lease.to_string(),
    });
    let newest = json!({ "key": token, "value": coded(&grant.token.to_string()) });
    json!({
        "compare": [written_at(key, revisions[0]), written_at(token, revisions[1])],
        "success": [{ "request_put": granted }, { "request_put": newest }],
        "failure": ranges(keys),
    })
}

/// Deletes the key if it was written last at this revision.
pub(super) fn delete(key: &str, revision: u64) -> Value {
    json!({
        "compare": [written_at(key, revision)],
        "success": [{ "request_delete_range": { "key": key } }],
    })
}

fn written_at(key: &str, revision: u64) -> Value {
    let revision = revision.to_string();
    json!({ "key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision })
}

/// Asks for news of changes after a revision; without one, of those from now on.
pub(super) fn watch(key: &str, known: Option<u64>) -> Value {
    let start = known.map_or(0, |known| known.saturating_add(1)).to_string();
    json!({ "create_request": { "key": key, "start_revision": start } })
}

/// Returns the number in a field; 0 if there is no such field.
pub(super) fn number(value: &Value, field: &str) -> Parsed<i64> {
    let number = match &value[field] {
        Value::Null => Some(0),
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    };
    number.ok_or_else(|| format!("`{field}` is no number"))
}

/// Returns the seconds in a field as milliseconds.
pub(super) fn milliseconds(value: &Value, field: &str) -> Parsed<i64> {
    number(value, field).map(|seconds| seconds.saturating_mul(1_000))
}

/// Returns the revision in a field; a revision is never negative.
fn revision(value: &Value, field: &str) -> Parsed<u64> {
    u64::try_from(number(value, field)?).map_err(|_| format!("`{field}` is negative"))
}

/// Returns the revision of the store at which it answered.
pub(super) fn header(answer: &Value) -> Parsed<u64> {
    match revision(&answer["header"], "revision")? {
        0 => Err("an answer without a revision".to_owned()),
        revision => Ok(revision),
    }
}

/// Returns the keys that a transaction has read, each if it is there.
pub(super) fn pairs(answer: &Value) -> Parsed<[Option<Pair>; 2]> {
    let pair = |turn: usize| match &answer["responses"][turn]["response_range"] {
        read if read.is_object() => first(&read["kvs"]),
        _ => Err("a transaction without its answer".to_owned()),
    };
    Ok([pair(0)?, pair(1)?])
}

/// Returns whether the comparisons of a transaction came true.
pub(super) fn succeeded(answer: &Value) -> bool {
    answer["succeeded"] == Value::Bool(true)
}

fn first(pairs: &Value) -> Parsed<Option<Pair>> {
    let pair = match pairs {
        Value::Null => return Ok(None),
        Value::Array(pairs) => pairs.first(),
        _ => return Err("`kvs` is no list".to_owned()),
    };
    let Some(pair) = pair else { return Ok(None) };
    let value = match &pair["value"] {
        Value::Null => Vec::new(),
        Value::String(text) => {
            STANDARD.decode(text).map_err(|_| "a value that is no base64".to_owned())?
        }
        _ => return Err("a value that is no text".to_owned()),
    };
    let revision = revision(pair, "mod_revision")?;
    if revision == 0 {
        return Err("a key without a revision".to_owned());
    }
    let value = String::from_utf8_lossy(&value).into_owned();
    Ok(Some(Pair { value, revision, lease: number(pair, "lease")? }))
}

/// Returns the result in a message of a stream.
pub(super) fn result(message: &Value) -> Parsed<&Value> {
    match &message["result"] {
        result if result.is_object() => Ok(result),
        _ => {
            let error = &message["error"];
            let said = error["message"].as_str().or(error.as_str());
            Err(said.unwrap_or("a message without a result").to_owned())
        }
    }
}

/// Returns the news in a message of a watch.
pub(super) fn news(message: &Value) -> Parsed<News> {
    let result = result(message)?;
    if result["canceled"] == Value::Bool(true) {
        let compacted = number(result, "compact_revision")? > 0;
        let reason = result["cancel_reason"].as_str().unwrap_or("no reason given").to_owned();
        return Ok(if compacted { News::Compacted } else { News::Cancelled(reason) });
    }
    if result["created"] == Value::Bool(true) {
        return Ok(News::Created(header(result)?));
    }
    let events = match &result["events"] {
        Value::Null => return Ok(News::None),
        Value::Array(events) => events,
        _ => return Err("`events` is no list".to_owned()),
    };
    let revisions = events.iter().map(|event| revision(&event["kv"], "mod_revision"));
    let newest = revisions.collect::<Parsed<Vec<_>>>()?.into_iter().max();
    Ok(newest.map_or(News::None, News::Changed))
}
