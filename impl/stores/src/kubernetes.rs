//! A lease in Kubernetes: the object `Lease`, which each change compares and sets by its version.
//!
//! Kubernetes keeps the holder of a lease, and no clock: the API server never ends a lease. Each
//! client therefore *observes*. When the `spec` of the object has not changed for
//! `leaseDurationSeconds`, by the client's own clock from when the client first saw this `spec`, the
//! holder has not renewed the lease for that time, and the client can take the lease. The times in
//! the object are by the clocks of others, and two clocks may differ by any amount: a client
//! compares these times for equality only.
//!
//! The token is `leaseTransitions`. Each grant raises the token, also a grant to the same holder,
//! and a release keeps the token.

mod place;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    self, Answer, Asking, Claim, Connect, Holder, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use humantime::{format_rfc3339_micros, parse_rfc3339};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use self::place::{ACCOUNT, Place, Target, Token as AccountToken};
use crate::address::Files;
use crate::changes::until;
use crate::http_client::{Client, Lines, Reply};
use crate::values::{one_line, unfit, whole_seconds};

/// The group and the version of the object.
const API: &str = "coordination.k8s.io/v1";

/// How often a client writes an object that changes under its hands.
const ATTEMPTS: usize = 2;

/// The longest duration of a lease that a client believes, unless its own leases last longer.
const LONGEST: Duration = Duration::from_secs(3_600);

/// How long the API server tells of changes before it ends the answer, in seconds.
const WATCHED: u64 = 240;

/// After this time a watch that does not end is one whose connection was cut.
const SILENT: Duration = Duration::from_secs(WATCHED + 60);

/// How long to wait before a watch that has ended is opened again.
const AGAIN: Duration = Duration::from_secs(1);

/// The way to the API server of Kubernetes.
#[derive(Debug)]
pub struct Kubernetes {
    place: Place,
    /// What was seen of each object. The map outlasts the connections: if each connection observed
    /// anew, no node would ever take a lease from a server that often ends connections.
    observed: Arc<Mutex<BTreeMap<String, Observed>>>,
}

/// A `spec`, and since when the object is known to have it. The version of the object is no part of
/// that: another program may change a label.
#[derive(Clone, Debug)]
struct Observed {
    spec: Value,
    /// By a clock that stops while this machine sleeps. So it can only be late, and late is safe:
    /// a lease is taken later.
    since: Instant,
}

impl Kubernetes {
    /// Parses `kubernetes`, `kubernetes:NAMESPACE/NAME`, and for a server that is not that of the
    /// pod `kubernetes+https://HOST:PORT/NAMESPACE/NAME`, or `kubernetes+http://` without TLS.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or with the files that go with it.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        Ok(Self { place: Place::parse(address, files)?, observed: Arc::default() })
    }
}

impl Connect for Kubernetes {
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        Box::pin(async move {
            let target = self.place.target(settings, |name| std::env::var(name).ok())?;
            let client = Client::connect(&target.server, settings.limit).await?;
            let connection = Connection {
                client,
                token: AccountToken::of(&target),
                target,
                limit: settings.limit,
                keep: settings.ttl,
                observed: Arc::clone(&self.observed),
                known: None,
                expired: None,
                watch: None,
                is_compacted: false,
            };
            Ok(Box::new(connection) as Box<dyn LeaseStore>)
        })
    }

    fn check(&self) -> StoreResult<()> {
        self.place.check(Path::new(ACCOUNT), |name| std::env::var(name).ok())
    }

    fn setup(&self, settings: &LeaseSettings) -> String {
        let (namespace, name) = self.place.shown(settings);
        format!(
            "apiVersion: {API}\nkind: Lease\nmetadata:\n  namespace: {namespace}\n  \
             name: {name}\nspec:\n  leaseTransitions: 0\n"
        )
    }

    fn warning(&self) -> Option<&'static str> {
        Some(
            "Kubernetes does not end a lease, and nothing refuses the writes of an old holder: a \
             node that is paused, or whose clock runs slow, may lead while another has taken the \
             lease",
        )
    }
}

/// A connection to the API server.
struct Connection {
    client: Client,
    token: AccountToken,
    target: Target,
    limit: Duration,
    keep: Duration,
    observed: Arc<Mutex<BTreeMap<String, Observed>>>,
    /// The object as this connection has seen it last.
    known: Option<Record>,
    /// The version of which the caller has been told that its time is over.
    expired: Option<String>,
    watch: Option<Watch>,
    /// Whether the server no longer has what came after the version that is known.
    is_compacted: bool,
}

/// An answer that tells of changes.
struct Watch {
    lines: Lines,
    /// Whether it tells what came after a version, and not first how the object is.
    from_known: bool,
    /// When it is taken for dead.
    silent: Instant,
}

impl Connection {
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> StoreResult<Reply> {
        self.token.show(&mut self.client)?;
        self.client.ask(method, path, body).await
    }

    async fn get(&mut self) -> StoreResult<Record> {
        let reply = self.ask(Method::GET, &self.target.path(), None).await?;
        if reply.status.is_success() { self.learn(reply.body) } else { Err(self.refusal(&reply)) }
    }

    /// Writes the object if it still has the version that it names; `None` if it has another.
    async fn put(&mut self, object: &Value) -> StoreResult<Option<Record>> {
        let reply = self.ask(Method::PUT, &self.target.path(), Some(object)).await?;
        match reply.status {
            status if status.is_success() => self.learn(reply.body).map(Some),
            StatusCode::CONFLICT => Ok(None),
            _ => Err(self.refusal(&reply)),
        }
    }

    /// Takes notice of the object as it is.
    fn learn(&mut self, object: Value) -> StoreResult<Record> {
        let record = Record::parse(object).map_err(|problem| self.client.away(&problem))?;
        self.observe(&record);
        self.known = Some(record.clone());
        Ok(record)
    }

    /// Returns since when the `spec` is as it is, as far as this client has seen.
    ///
    /// The client sees a `spec` *after* the holder wrote it, and the holder counts from before it
    /// wrote. The lease of the holder is therefore over when the client has observed its end.
    fn observe(&self, record: &Record) -> Instant {
        let now = Instant::now();
        let mut all = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = all
            .entry(self.target.path())
            .or_insert_with(|| Observed { spec: record.spec().clone(), since: now });
        if observed.spec != *record.spec() {
            *observed = Observed { spec: record.spec().clone(), since: now };
        }
        observed.since
    }

    /// Returns the duration that the object says, unless no client can have written it.
    fn lasts(&self, record: &Record) -> Option<Duration> {
        record.lasts.filter(|lasts| *lasts <= self.keep.max(LONGEST))
    }

    /// Returns when the lease can be taken, if the object does not change before; `None` if the
    /// duration of the lease is in doubt.
    fn end(&self, record: &Record) -> Option<Instant> {
        let since = self.observe(record);
        since.checked_add(self.lasts(record)?)
    }

    fn is_over(&self, record: &Record) -> bool {
        self.end(record).is_some_and(|end| Instant::now() >= end)
    }

    /// Returns the record of the lease for the caller.
    fn recorded(&self, record: &Record) -> StoreResult<store::LeaseRecord> {
        let (free, end) = (record.is_free(), self.end(record));
        // No less than what is left for the holder: the holder wrote the object before it was seen.
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let token = record.token();
        if free || left.is_some_and(|left| left.is_zero()) {
            return Ok(store::LeaseRecord { token, ..store::LeaseRecord::default() });
        }
        let holder = record.holder.parse::<Holder>().map_err(|error| {
            self.unfit(
                &format!("the record of the lease is damaged: {error}"),
                "give the lease an object of its own if another program uses this one, and empty \
                 `holderIdentity` otherwise",
            )
        })?;
        let doubt = end.is_none().then(|| record.version());
        Ok(store::LeaseRecord { holder: Some(holder), token, left, doubt })
    }

    async fn take(&mut self, claim: Claim<'_>) -> StoreResult<Answer> {
        for _ in 0..ATTEMPTS {
            let record = self.get().await?;
            let own = record.holder == claim.holder.to_string();
            let overdue = claim
                .overdue
                .is_some_and(|doubt| self.lasts(&record).is_none() && record.version() == doubt);
            let free = own || overdue || record.is_free() || self.is_over(&record);
            if !free || record.token() < claim.seen && !claim.waits {
                return Ok(Answer::Refused(self.recorded(&record)?));
            }
            let Some(object) = record.granted(claim, whole_seconds(self.keep)) else {
                return Err(self.unfit(
                    &"the grants can be counted no further",
                    "give the lease another name: with this one, tokens would start again",
                ));
            };
            if let Some(record) = self.put(&object).await? {
                return Ok(Answer::Granted(record.token()));
            }
        }
        Err(self.restless())
    }

    async fn extend(&mut self, holder: &Holder, token: Token) -> StoreResult<Answer> {
        let mut remembered = self.known.take_if(|record| record.is(holder, token));
        for _ in 0..ATTEMPTS {
            let record = match remembered.take() {
                Some(record) => record,
                None => self.get().await?,
            };
            if !record.is(holder, token) {
                return Ok(Answer::Refused(self.recorded(&record)?));
            }
            let object = record.renewed(whole_seconds(self.keep));
            if self.put(&object).await?.is_some() {
                return Ok(Answer::Granted(token));
            }
        }
        Err(self.restless())
    }

    async fn give_back(&mut self, holder: &Holder, token: Token) -> StoreResult<()> {
        for _ in 0..ATTEMPTS {
            let record = self.get().await?;
            if !record.is(holder, token) || self.put(&record.released()).await?.is_some() {
                return Ok(());
            }
        }
        Err(self.restless())
    }

    /// Returns the error about an object that other programs changed before each write.
    fn restless(&self) -> StoreError {
        self.client.away(&"the Lease changes all the time")
    }

    async fn look(&mut self) -> StoreResult<store::LeaseRecord> {
        let record = self.get().await?;
        self.recorded(&record)
    }

    async fn make(&mut self) -> StoreResult<()> {
        let object = fresh(&self.target.namespace, &self.target.name);
        let reply = self.ask(Method::POST, &self.target.all(), Some(&object)).await?;
        match reply.status {
            // It is there.
            StatusCode::CONFLICT => Ok(()),
            status if status.is_success() => Ok(()),
            // An account that may make none can use one that is there.
            StatusCode::FORBIDDEN => match self.get().await {
                Ok(_) => Ok(()),
                Err(_) => Err(self.refusal(&reply)),
            },
            StatusCode::NOT_FOUND => Err(self.unfit(
                &format!("there is no namespace {}: {}", self.target.namespace, reply.complaint()),
                "make the namespace first",
            )),
            _ => Err(self.refusal(&reply)),
        }
    }

    /// Waits until the lease has another holder, is free, or can be taken, or until its duration
    /// comes into doubt or out of it. A renewal by its holder is observed, and is no news.
    ///
    /// It asks on a connection of its own: its answer goes on, and a question that is given up in
    /// the middle would end the connection for the next.
    async fn wait(&mut self) -> StoreResult<()> {
        loop {
            let (told, end) = self.next_end();
            let Some(watch) = &mut self.watch else {
                self.open().await?;
                continue;
            };
            let event = tokio::select! {
                event = watch.lines.next() => event?,
                () = sleep_until(watch.silent) => {
                    return Err(watch.lines.away(&"the watch is silent"));
                }
                () = until(end) => {
                    self.expired = told;
                    return Ok(());
                }
            };
            match event {
                Some(event) => {
                    if self.hear(&event)? {
                        return Ok(());
                    }
                }
                // The server ends each watch after a while.
                None => {
                    self.watch = None;
                    sleep(AGAIN).await;
                }
            }
        }
    }

    /// The version that is known, and when the lease can be taken if it stays; no time if it is
    /// free, or if the caller has been told.
    fn next_end(&self) -> (Option<String>, Option<Instant>) {
        let Some(known) = &self.known else { return (None, None) };
        let version = Some(known.version.clone());
        let is_told = known.is_free() || self.expired == version;
        let end = if is_told { None } else { self.end(known) };
        (version, end)
    }

    /// Opens a watch from the version that is known. If none is, or if the server no longer has
    /// what came after it, the watch begins with the object as it is.
    async fn open(&mut self) -> StoreResult<()> {
        let (target, limit) = (self.target.clone(), self.limit);
        let known = self.known.as_ref().filter(|_| !self.is_compacted);
        let version = known.map(|known| known.version.clone());
        let path = target.watch(version.as_deref(), WATCHED);
        let opened = timeout(limit, async move {
            let mut client = Client::connect(&target.server, limit).await?;
            AccountToken::of(&target).show(&mut client)?;
            client.follow(Method::GET, &path, None).await
        });
        let Ok(opened) = opened.await else { return Err(self.client.away(&"no answer in time")) };
        match opened? {
            Ok(lines) => {
                let silent = Instant::now() + SILENT;
                self.watch = Some(Watch { lines, silent, from_known: version.is_some() });
                self.is_compacted = false;
                Ok(())
            }
            Err(reply) if reply.status == StatusCode::GONE && version.is_some() => {
                self.is_compacted = true;
                Ok(())
            }
            Err(reply) => Err(self.refusal(&reply)),
        }
    }

    /// Takes notice of an event. Returns whether it is news for the caller.
    fn hear(&mut self, event: &Value) -> StoreResult<bool> {
        let object = &event["object"];
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => {
                if object["metadata"]["name"].as_str() != Some(self.target.name.as_str()) {
                    return Err(self.client.away(&"an event of another object"));
                }
                let before = self.known.take();
                let record = self.learn(object.clone())?;
                let is_doubted = |record: &Record| self.lasts(record).is_none();
                Ok(before.is_none_or(|before| {
                    !before.is_same_grant(&record) || is_doubted(&before) != is_doubted(&record)
                }))
            }
            Some("DELETED") => {
                (self.known, self.watch) = (None, None);
                Ok(true)
            }
            Some("BOOKMARK") => Ok(false),
            Some("ERROR") => {
                let from_known = self.watch.take().is_some_and(|watch| watch.from_known);
                if from_known && object["code"].as_u64() == Some(410) {
                    self.is_compacted = true;
                    return Ok(false);
                }
                let said = object["message"].as_str().unwrap_or("no reason given");
                Err(self.client.away(&format!("the watch was ended: {}", one_line(said))))
            }
            _ => Err(self.client.away(&"an event of no known type")),
        }
    }

    /// What it means that the API server refuses.
    fn refusal(&self, reply: &Reply) -> StoreError {
        let (said, path) = (reply.complaint(), self.target.path());
        match reply.status {
            StatusCode::FORBIDDEN => self.unfit(
                &said,
                "bind a Role to the account with the verbs get, update and watch on the resource \
                 leases of the group coordination.k8s.io, and create for `store init`",
            ),
            StatusCode::NOT_FOUND => self
                .unfit(&format!("there is no {path}: {said}"), "`bellwether store init` makes it"),
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => self
                .unfit(&said, "look whether another program uses this Lease for what is no lease"),
            // A token that is too old is read anew with the next connection.
            StatusCode::UNAUTHORIZED => self.client.away(&format!(
                "{said}: the token is missing, wrong or too old; `store_token_file` names its file"
            )),
            _ => self.client.away(&said),
        }
    }

    fn unfit(&self, problem: &dyn Display, remedy: &str) -> StoreError {
        unfit(format!("{}: {problem}", self.target.server), remedy)
    }
}

impl LeaseStore for Connection {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        Box::pin(self.take(claim))
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        Box::pin(self.extend(holder, token))
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        Box::pin(self.give_back(holder, token))
    }

    fn read(&mut self) -> Asking<'_, store::LeaseRecord> {
        Box::pin(self.look())
    }

    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(self.make())
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(self.wait())
    }
}

/// A Lease as the API server has it.
#[derive(Clone, Debug)]
struct Record {
    /// The whole object. What is not ours in it is written back as it was.
    object: Value,
    /// Names this state of the object, and is compared for equality only.
    version: String,
    /// The holder as text; empty if there is none. Other programs write texts of another form.
    holder: String,
    /// The token.
    grants: u64,
    /// The duration on which the holder may count; `None` if the object does not say.
    lasts: Option<Duration>,
}

impl Record {
    /// Reads an object.
    fn parse(object: Value) -> Result<Self, String> {
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
    fn is_free(&self) -> bool {
        self.holder.is_empty()
    }

    /// Returns whether this is the grant to the holder with this token.
    fn is(&self, holder: &Holder, token: Token) -> bool {
        self.holder == holder.to_string() && self.grants == token.get()
    }

    /// Whether the two are the same grant, which may have been renewed in between.
    fn is_same_grant(&self, other: &Self) -> bool {
        self.holder == other.holder && self.grants == other.grants
    }

    fn token(&self) -> Token {
        Token::new(self.grants)
    }

    /// Returns the object with the next grant, for this claim; `None` if Kubernetes can count the
    /// grants no further.
    fn granted(&self, claim: Claim<'_>, seconds: u64) -> Option<Value> {
        let newest = self.grants.max(claim.seen.get());
        let grants = i32::try_from(newest).ok()?.checked_add(1)?;
        let now = now();
        Some(self.with(&json!({
            "holderIdentity": claim.holder.to_string(),
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
    fn renewed(&self, seconds: u64) -> Value {
        let before = self.spec()["renewTime"].as_str().and_then(|time| parse_rfc3339(time).ok());
        let time = match before.map(|before| before + Duration::from_micros(1)) {
            Some(later) if later < end_of_time() => later.max(SystemTime::now()),
            _ => SystemTime::now(),
        };
        self.with(&json!({ "leaseDurationSeconds": seconds, "renewTime": text(time) }))
    }

    /// What the object says of the lease. Two grants have two, and so have two renewals of one.
    fn spec(&self) -> &Value {
        &self.object["spec"]
    }

    /// The version of a record that is doubted.
    fn version(&self) -> String {
        self.spec().to_string()
    }

    /// The object with no holder. The grants are still counted.
    fn released(&self) -> Value {
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
fn fresh(namespace: &str, name: &str) -> Value {
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
