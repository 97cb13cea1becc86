//! What etcd's HTTP wants and says: JSON with keys and values in base64, and numbers of 64 bits as
//! text. What is zero, false or empty is left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::lease_store::Record;
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// The id of a lease of etcd's own, to which keys are attached; 0 is none.
pub(super) type LeaseId = i64;

/// What is wrong with an answer.
type Parsed<T> = Result<T, String>;

/// The key as it stands in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    /// The node that the value names, if it names one.
    pub(super) holder: Option<NodeId>,
    /// The revision of the store at which the key was written.
    pub(super) revision: u64,
    pub(super) lease: LeaseId,
}

impl Kept {
    /// Whether it is what this client was granted with this token.
    pub(super) fn is(&self, client: NodeId, token: Token) -> bool {
        self.holder == Some(client) && self.revision == token.get()
    }

    pub(super) fn record(&self) -> Record {
        Record { holder: self.holder, token: Token::new(self.revision), left: None }
    }
}

/// What the messages of a watch say.
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

/// As etcd wants keys and values.
pub(super) fn coded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn value_of(client: NodeId) -> String {
    coded(client.to_string().as_bytes())
}

pub(super) fn range(key: &str) -> Value {
    json!({ "key": key })
}

pub(super) fn grant(seconds: u64) -> Value {
    json!({ "TTL": seconds.to_string() })
}

pub(super) fn lease(id: LeaseId) -> Value {
    json!({ "ID": id.to_string() })
}

/// Writes the client into the key if that was not written after `revision`, which is 0 if there is
/// no key; otherwise reads it. One step in the store.
pub(super) fn put(key: &str, client: NodeId, lease: LeaseId, revision: u64) -> Value {
    let put = json!({ "key": key, "value": value_of(client), "lease": lease.to_string() });
    json!({
        "compare": [written_at(key, revision)],
        "success": [{ "request_put": put }],
        "failure": [{ "request_range": range(key) }],
    })
}

/// Deletes the key if it has this client, and was written at this revision.
pub(super) fn delete(key: &str, client: NodeId, revision: u64) -> Value {
    let named = json!({
        "key": key, "target": "VALUE", "result": "EQUAL", "value": value_of(client),
    });
    json!({
        "compare": [written_at(key, revision), named],
        "success": [{ "request_delete_range": { "key": key, "prev_kv": true } }],
    })
}

fn written_at(key: &str, revision: u64) -> Value {
    let revision = revision.to_string();
    json!({ "key": key, "target": "MOD", "result": "EQUAL", "mod_revision": revision })
}

/// Tells of changes after a revision; without one, of those from now on.
pub(super) fn watch(key: &str, known: Option<u64>) -> Value {
    let start = known.map_or(0, |known| known.saturating_add(1)).to_string();
    json!({ "create_request": { "key": key, "start_revision": start } })
}

/// A number in a field; 0 if there is no such field.
pub(super) fn number(value: &Value, field: &str) -> Parsed<i64> {
    let number = match &value[field] {
        Value::Null => Some(0),
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    };
    number.ok_or_else(|| format!("`{field}` is no number"))
}

/// A revision in a field; it is never negative.
fn revision(value: &Value, field: &str) -> Parsed<u64> {
    u64::try_from(number(value, field)?).map_err(|_| format!("`{field}` is negative"))
}

/// The revision of the store at which it answered.
pub(super) fn header(answer: &Value) -> Parsed<u64> {
    match revision(&answer["header"], "revision")? {
        0 => Err("an answer without a revision".to_owned()),
        revision => Ok(revision),
    }
}

/// The key in the answer to a range, if it is there.
pub(super) fn kept(answer: &Value) -> Parsed<Option<Kept>> {
    first(&answer["kvs"])
}

/// The key that a transaction has read because it wrote nothing.
pub(super) fn kept_instead(answer: &Value) -> Parsed<Option<Kept>> {
    let read = &answer["responses"][0]["response_range"];
    if read.is_object() { kept(read) } else { Err("a transaction without its answer".to_owned()) }
}

/// The key that a transaction has deleted.
pub(super) fn deleted(answer: &Value) -> Parsed<Option<Kept>> {
    first(&answer["responses"][0]["response_delete_range"]["prev_kvs"])
}

/// Whether the comparisons of a transaction came true.
pub(super) fn succeeded(answer: &Value) -> bool {
    answer["succeeded"] == Value::Bool(true)
}

fn first(pairs: &Value) -> Parsed<Option<Kept>> {
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
    let holder = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
    Ok(Some(Kept { holder, revision, lease: number(pair, "lease")? }))
}

/// The result in a message of a stream.
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

/// What a message of a watch says.
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
