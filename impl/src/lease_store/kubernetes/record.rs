//! The object `Lease` of Kubernetes, and what a client writes into it.

use std::time::{Duration, SystemTime};

use humantime::{format_rfc3339_micros, parse_rfc3339};
use serde_json::{Value, json};

use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// The group and the version of the object.
pub(super) const API: &str = "coordination.k8s.io/v1";

/// A Lease as the API server has it.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The whole object. What is not ours in it is written back as it was.
    object: Value,
    /// Names this state of the object, and is compared for equality only.
    pub(super) version: String,
    /// The holder as text; empty if there is none. Other programs write other names.
    holder: String,
    /// How often it was granted: the token.
    pub(super) grants: u64,
    /// How long the holder may count on it; `None` if the object does not say.
    pub(super) lasts: Option<Duration>,
}

impl Record {
    /// Reads an object.
    pub(super) fn parse(object: Value) -> Result<Self, String> {
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        if version.is_empty() {
            return Err("an object without a resourceVersion".to_owned());
        }
        let spec = &object["spec"];
        if !spec.is_object() && !spec.is_null() {
            return Err("`spec` is no object".to_owned());
        }
        let holder = match &spec["holderIdentity"] {
            Value::Null => String::new(),
            Value::String(holder) => holder.clone(),
            _ => return Err("`holderIdentity` is no text".to_owned()),
        };
        let grants = count(spec, "leaseTransitions")?.unwrap_or(0);
        // Less than a second is not allowed, and would be no time to observe.
        let seconds = count(spec, "leaseDurationSeconds")?.filter(|seconds| *seconds > 0);
        let lasts = seconds.map(Duration::from_secs);
        Ok(Self { version, holder, grants, lasts, object })
    }

    /// Whether it was given back, or never granted.
    pub(super) fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// The node that has it, if it is one that is known here.
    pub(super) fn holder(&self) -> Option<NodeId> {
        self.holder.parse().ok()
    }

    /// Whether it is what this client was granted with this token.
    pub(super) fn is(&self, client: NodeId, token: Token) -> bool {
        self.holder() == Some(client) && self.grants == token.get()
    }

    /// Whether the two are the same grant, which may have been renewed in between.
    pub(super) fn is_same_grant(&self, other: &Self) -> bool {
        self.holder == other.holder && self.grants == other.grants
    }

    pub(super) fn token(&self) -> Token {
        Token::new(self.grants)
    }

    /// The object with the next grant, to this client; `None` if they cannot be counted any more.
    pub(super) fn granted(&self, client: NodeId, seconds: u64) -> Option<Value> {
        let grants = i32::try_from(self.grants).ok()?.checked_add(1)?;
        let now = now();
        Some(self.with(&json!({
            "holderIdentity": client.to_string(),
            "leaseDurationSeconds": seconds,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": grants,
        })))
    }

    /// The object with the same grant, from now on.
    ///
    /// Its time is later than the one before, also if the clock was set back: so no two renewals of
    /// a grant are equal, and each is seen by those that observe.
    pub(super) fn renewed(&self, seconds: u64) -> Value {
        let before = self.spec()["renewTime"].as_str().and_then(|time| parse_rfc3339(time).ok());
        let time = match before.map(|before| before + Duration::from_micros(1)) {
            Some(later) if later < end_of_time() => later.max(SystemTime::now()),
            _ => SystemTime::now(),
        };
        self.with(&json!({ "leaseDurationSeconds": seconds, "renewTime": text(time) }))
    }

    /// What the object says of the lease. Two grants have two, and so have two renewals of one.
    pub(super) fn spec(&self) -> &Value {
        &self.object["spec"]
    }

    /// The object with no holder. The grants are still counted.
    pub(super) fn released(&self) -> Value {
        self.with(&json!({
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": now(),
        }))
    }

    fn with(&self, fields: &Value) -> Value {
        let mut object = self.object.clone();
        for (field, value) in fields.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        object
    }
}

/// The object that `init` makes.
pub(super) fn fresh(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": API,
        "kind": "Lease",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "leaseTransitions": 0 },
    })
}

/// A number that is never negative; `None` if there is no such field.
fn count(spec: &Value, field: &str) -> Result<Option<u64>, String> {
    match &spec[field] {
        Value::Null => Ok(None),
        other => other.as_u64().map(Some).ok_or_else(|| format!("`{field}` is no count")),
    }
}

/// For people who look at the object: no program decides by it.
fn now() -> String {
    text(SystemTime::now())
}

fn text(time: SystemTime) -> String {
    format_rfc3339_micros(time).to_string()
}

/// The first moment that cannot be written down: a year has four digits.
fn end_of_time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800)
}
