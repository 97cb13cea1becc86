//! What the client makes of the answers of etcd: those that come late, that make no sense, or that
//! were overtaken. Against etcd itself it is tested elsewhere. Here is a server with one key that
//! answers as the gateway of etcd does, and what etcd does not do on demand.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard};

use bellwether_testbed::http_server::{Asked, Said};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::lease_store::http_client::tests::serve;
use crate::lease_store::tests::{
    away, file, granted, is_quiet, node, refused, serves, told, unfit,
};

/// As etcd shows the key, and the nodes 1 and 2.
const KEY: &str = "YmVsbHdldGhlci9vcmRlcnM=";
const ONE: &str = "MQ==";
const TWO: &str = "Mg==";

/// The pair of the key, as etcd shows it.
#[derive(Clone)]
struct Pair {
    value: String,
    revision: u64,
    lease: i64,
}

/// What happens just before a question is answered.
type Meanwhile = Box<dyn FnOnce(&mut State) + Send>;

struct State {
    revision: u64,
    pair: Option<Pair>,
    /// The leases, and their times to live.
    leases: BTreeMap<i64, u64>,
    /// Just before the next question of this path.
    meanwhile: Option<(&'static str, Meanwhile)>,
    /// What is answered to questions of this path.
    instead: Option<(&'static str, u16, Value)>,
    watchers: Vec<UnboundedSender<Option<String>>>,
    /// The paths of the questions, and the tokens that were shown.
    asked: Vec<(String, Option<String>)>,
    last: i64,
}

struct Fake {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Fake {
    async fn start() -> Self {
        let state = State {
            revision: 1,
            pair: None,
            leases: BTreeMap::new(),
            meanwhile: None,
            instead: None,
            watchers: Vec::new(),
            asked: Vec::new(),
            last: 7_587_000_000_000_000_000,
        };
        let state = Arc::new(Mutex::new(state));
        let served = Arc::clone(&state);
        let address = serve(move |asked| served.lock().expect("no panic").answer(asked)).await;
        Self { address, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn count(&self, path: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked == path).count()
    }
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Said {
        assert_eq!(asked.method, "POST");
        self.asked.push((asked.path.clone(), asked.authorization.clone()));
        if let Some((_, meanwhile)) = self.meanwhile.take_if(|(path, _)| *path == asked.path) {
            meanwhile(self);
        }
        if let Some((path, status, body)) = &self.instead
            && *path == asked.path
        {
            return Said::Json(*status, body.clone());
        }
        let body = &asked.body;
        let answer = match asked.path.as_str() {
            "/v3/kv/range" => {
                assert_eq!(body["key"], KEY, "bellwether/orders");
                self.range()
            }
            "/v3/kv/txn" => self.transaction(body),
            "/v3/lease/grant" => {
                self.last += 1;
                let seconds: u64 = number(&body["TTL"]);
                self.leases.insert(self.last, seconds);
                json!({ "ID": self.last.to_string(), "TTL": seconds.to_string() })
            }
            "/v3/lease/keepalive" => {
                let answer = self.lease(body).unwrap_or_else(|| json!({ "ID": body["ID"] }));
                return Said::Json(200, json!({ "result": self.with_header(answer) }));
            }
            "/v3/lease/timetolive" => {
                self.lease(body).unwrap_or_else(|| json!({ "ID": body["ID"], "TTL": "-1" }))
            }
            "/v3/lease/revoke" => return self.revoke(number(&body["ID"])),
            "/v3/auth/authenticate" => {
                assert_eq!(*body, json!({ "name": "shop", "password": "hush" }));
                json!({ "token": "given.1" })
            }
            "/v3/watch" => return self.watch(&body["create_request"]),
            other => panic!("etcd has no {other}"),
        };
        Said::Json(200, self.with_header(answer))
    }

    fn with_header(&self, mut answer: Value) -> Value {
        answer["header"] = json!({ "revision": self.revision.to_string(), "raft_term": "2" });
        answer
    }

    fn range(&self) -> Value {
        match &self.pair {
            Some(pair) => json!({ "kvs": [shown(pair)], "count": "1" }),
            None => json!({}),
        }
    }

    /// What is said of a lease, if there is one.
    fn lease(&self, body: &Value) -> Option<Value> {
        let seconds = self.leases.get(&number::<i64>(&body["ID"]))?;
        Some(json!({ "ID": body["ID"], "TTL": seconds.to_string() }))
    }

    fn transaction(&mut self, body: &Value) -> Value {
        let holds = body["compare"].as_array().expect("a list").iter().all(|compare| {
            assert_eq!(compare["result"], "EQUAL");
            match compare["target"].as_str() {
                Some("MOD") => {
                    let revision = self.pair.as_ref().map_or(0, |pair| pair.revision);
                    compare["mod_revision"] == revision.to_string().as_str()
                }
                Some("VALUE") => {
                    self.pair.as_ref().is_some_and(|pair| compare["value"] == pair.value.as_str())
                }
                other => panic!("{other:?}"),
            }
        });
        if !holds {
            let otherwise = body.get("failure").is_some();
            let read = json!([{ "response_range": self.with_header(self.range()) }]);
            return if otherwise { json!({ "responses": read }) } else { json!({}) };
        }
        let then = &body["success"][0];
        if let Some(put) = then.get("request_put") {
            let lease: i64 = number(&put["lease"]);
            assert!(self.leases.contains_key(&lease), "a lease that was granted");
            self.put(put["value"].as_str().expect("text"), lease);
            return json!({ "succeeded": true, "responses": [{ "response_put": {} }] });
        }
        assert_eq!(then["request_delete_range"]["prev_kv"], true);
        let deleted = self.pair.clone().map(|pair| shown(&pair));
        self.delete();
        let answer = json!({ "response_delete_range": { "deleted": "1", "prev_kvs": [deleted] } });
        json!({ "succeeded": true, "responses": [answer] })
    }

    /// Writes the key; the value is in base64.
    fn put(&mut self, value: &str, lease: i64) {
        self.revision += 1;
        let pair = Pair { value: value.to_owned(), revision: self.revision, lease };
        let event = json!({ "kv": shown(&pair) });
        self.pair = Some(pair);
        self.tell(&json!({ "events": [event] }));
    }

    fn delete(&mut self) {
        self.revision += 1;
        self.pair = None;
        let kv = json!({ "mod_revision": self.revision.to_string() });
        self.tell(&json!({ "events": [{ "type": "DELETE", "kv": kv }] }));
    }

    fn revoke(&mut self, lease: i64) -> Said {
        if self.leases.remove(&lease).is_none() {
            let said = "etcdserver: requested lease not found";
            return Said::Json(404, json!({ "error": said, "message": said, "code": 5 }));
        }
        if self.pair.as_ref().is_some_and(|pair| pair.lease == lease) {
            self.delete();
        }
        Said::Json(200, self.with_header(json!({})))
    }

    /// The lease is over, as when its time has passed.
    fn expire(&mut self) {
        let lease = self.pair.as_ref().map(|pair| pair.lease).expect("a key");
        self.revoke(lease);
    }

    fn watch(&mut self, request: &Value) -> Said {
        assert_eq!(request["key"], KEY);
        let from: u64 = number(&request["start_revision"]);
        let (sender, receiver) = unbounded_channel();
        self.watchers.push(sender);
        self.tell(&json!({ "created": true }));
        // This server knows the last change only.
        if let Some(pair) = self.pair.clone().filter(|pair| from > 0 && pair.revision >= from) {
            self.tell(&json!({ "events": [{ "kv": shown(&pair) }] }));
        }
        Said::Lines(receiver)
    }

    /// Sends a message to each that watches.
    fn tell(&mut self, result: &Value) {
        let message = json!({ "result": self.with_header(result.clone()) });
        self.say(&message.to_string());
    }

    fn say(&mut self, line: &str) {
        self.watchers.retain(|watcher| watcher.send(Some(format!("{line}\n"))).is_ok());
    }

    fn cut_watches(&mut self) {
        self.watchers.clear();
    }

    /// The node that the key names.
    fn value(&self) -> Option<&str> {
        self.pair.as_ref().map(|pair| pair.value.as_str())
    }
}

fn number<T: FromStr<Err: Debug>>(text: &Value) -> T {
    text.as_str().expect("text").parse().expect("a number")
}

fn shown(pair: &Pair) -> Value {
    let mut shown = json!({ "key": "", "mod_revision": pair.revision.to_string() });
    if !pair.value.is_empty() {
        shown["value"] = json!(pair.value);
    }
    if pair.lease != 0 {
        shown["lease"] = json!(pair.lease.to_string());
    }
    shown
}

fn settings() -> Settings {
    let (keep, limit) = (Duration::from_millis(9_001), Duration::from_secs(10));
    Settings { name: "orders".to_owned(), keep, limit }
}

fn way(address: &str) -> Etcd {
    Etcd::parse(&format!("etcd://{address}"), &Files::default()).expect("an address")
}

async fn connect(fake: &Fake) -> Box<dyn LeaseStore> {
    way(&fake.address).connect(&settings()).await.expect("it listens")
}

async fn ready() -> (Fake, Box<dyn LeaseStore>) {
    let fake = Fake::start().await;
    let store = connect(&fake).await;
    (fake, store)
}

/// Has something happen just before the next question of this path is answered.
fn meanwhile(fake: &Fake, path: &'static str, act: impl FnOnce(&mut State) + Send + 'static) {
    fake.state().meanwhile = Some((path, Box::new(act)));
}

#[tokio::test]
async fn the_token_is_the_revision_of_the_key() {
    let (fake, mut one) = ready().await;
    let mut two = connect(&fake).await;
    serves(&mut one, &mut two, [2, 3, 5], 0).await;
    let leases: Vec<_> = fake.state().leases.values().copied().collect();
    assert_eq!(leases, [10], "rounded up, and no older one is left behind");
    let before = fake.state().asked.len();
    assert_eq!(one.acquire(node(1)).await, refused(2));
    assert_eq!(fake.state().asked.len(), before + 1, "to be refused is one question");
    // Another connection extends it as well: the key says which lease is its own.
    let mut third = connect(&fake).await;
    assert_eq!(third.renew(node(2), Token::new(5)).await, granted(5));
    third.release(node(2), Token::new(5)).await.expect("given back");
    assert!(fake.state().pair.is_none() && fake.state().leases.is_empty());
}

#[tokio::test]
async fn one_that_comes_late_is_refused_and_leaves_nothing_behind() {
    let (fake, mut one) = ready().await;
    meanwhile(&fake, "/v3/kv/txn", |state| {
        state.leases.insert(1, 10);
        state.put(TWO, 1);
    });
    assert_eq!(one.acquire(node(1)).await, refused(2));
    assert_eq!(fake.state().leases.keys().copied().collect::<Vec<_>>(), [1]);
    // What comes before it may be its own: a request that was taken for lost.
    meanwhile(&fake, "/v3/kv/txn", |state| state.put(ONE, 0));
    fake.state().pair = None;
    assert_eq!(one.acquire(node(1)).await, granted(4));
    assert_eq!(fake.state().value(), Some(ONE));
}

/// Whatever happens between the extension and the look at the key, nothing is granted that the key
/// does not say.
#[tokio::test]
async fn a_renewal_counts_only_if_the_key_is_the_same_after_it() {
    let expire: fn(&mut State) = State::expire;
    let replaced: fn(&mut State) = |state| {
        state.delete();
        state.put(TWO, 0);
    };
    let again: fn(&mut State) = |state| state.put(ONE, 0);
    let shorter: fn(&mut State) = |state| state.leases.values_mut().for_each(|left| *left = 9);
    for (path, act, answer) in [
        ("/v3/lease/keepalive", expire, refused(0)),
        ("/v3/kv/range", expire, refused(0)),
        ("/v3/lease/keepalive", replaced, refused(2)),
        ("/v3/kv/range", replaced, refused(2)),
        ("/v3/kv/range", again, refused(0)),
        ("/v3/lease/keepalive", shorter, refused(0)),
    ] {
        let (fake, mut one) = ready().await;
        assert_eq!(one.acquire(node(1)).await, granted(2));
        meanwhile(&fake, path, act);
        assert_eq!(one.renew(node(1), Token::new(2)).await, answer, "{path}");
    }
}

#[tokio::test]
async fn a_release_touches_only_what_was_granted() {
    let (fake, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(2));
    meanwhile(&fake, "/v3/kv/txn", |state| state.put(TWO, 0));
    one.release(node(1), Token::new(2)).await.expect("nothing happens");
    assert_eq!(fake.state().value(), Some(TWO));
    // A key of another program, with the same revision.
    assert_eq!(one.acquire(node(1)).await, refused(2));
    one.release(node(1), Token::new(3)).await.expect("nothing happens");
    assert!(fake.state().pair.is_some());
    fake.state().put("bm9uZQ==", 0);
    assert_eq!(one.acquire(node(1)).await, refused(0), "the key names no node");
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let header = json!({ "revision": "7" });
    let pair = |pair: Value| json!({ "header": { "revision": "7" }, "kvs": [pair] });
    for (path, body) in [
        ("/v3/kv/range", json!({})),
        ("/v3/kv/range", json!([])),
        ("/v3/kv/range", json!({ "header": { "revision": "x" } })),
        ("/v3/kv/range", json!({ "header": { "revision": "-7" } })),
        ("/v3/kv/range", json!({ "header": header, "kvs": 1 })),
        ("/v3/kv/range", pair(json!({}))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": "?" }))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": 7 }))),
        ("/v3/kv/range", pair(json!({ "mod_revision": "3", "value": ONE, "lease": {} }))),
        ("/v3/lease/grant", json!({ "TTL": "10" })),
        ("/v3/lease/grant", json!({ "ID": "none" })),
        ("/v3/kv/txn", json!({ "succeeded": true })),
        ("/v3/kv/txn", json!({ "header": header })),
        ("/v3/lease/keepalive", json!({})),
        ("/v3/lease/keepalive", json!({ "error": { "message": "so it is" } })),
    ] {
        let (fake, mut one) = ready().await;
        let renews = path == "/v3/lease/keepalive";
        if renews {
            assert_eq!(one.acquire(node(1)).await, granted(2));
        }
        fake.state().instead = Some((path, 200, body));
        let answer = if renews { one.renew(node(1), Token::new(2)) } else { one.acquire(node(1)) };
        let problem = away(answer.await);
        assert!(problem.contains("http://127.0.0.1:"), "{path}: {problem}");
    }
}

#[tokio::test]
async fn a_refusal_names_what_helps() {
    let said = |text: &str| json!({ "error": text, "message": text });
    let answer = async |status, body| {
        let (fake, mut one) = ready().await;
        fake.state().instead = Some(("/v3/kv/range", status, body));
        one.acquire(node(1)).await
    };
    for (status, body, part) in [
        (403, said("etcdserver: permission denied"), "readwrite bellwether/orders"),
        (404, Value::Null, "etcd 3.4"),
        (400, said("etcdserver: user name is empty"), "etcd://USER@HOST:PORT"),
        (400, said("etcdserver: authentication failed, invalid user ID"), "correct the user"),
        (412, said("etcdserver: authentication is not enabled"), "leave out the user"),
    ] {
        let problem = unfit(answer(status, body).await);
        assert!(problem.contains(part), "{problem}");
    }
    for (status, text) in [(401, "etcdserver: invalid auth token"), (503, "no leader")] {
        let problem = away(answer(status, said(text)).await);
        assert!(problem.contains(text), "{problem}");
    }
}

#[tokio::test]
async fn a_password_becomes_a_token_that_is_shown_with_each_question() {
    let fake = Fake::start().await;
    let password = file("hush\n");
    let files = Files { password: Some(password.path().to_owned()), ..Files::default() };
    let way = Etcd::parse(&format!("etcd://shop@{}", fake.address), &files).expect("an address");
    let mut store = way.connect(&settings()).await.expect("let in");
    assert_eq!(store.changed().await, Ok(()));
    store.read().await.expect("read");
    let shown = fake.state().asked.iter().map(|(_, token)| token.clone()).collect::<Vec<_>>();
    let given = Some("given.1".to_owned());
    assert_eq!(shown, [None, given.clone(), given]);
    fake.state().instead = Some(("/v3/auth/authenticate", 200, json!({ "token": "a\nb" })));
    let error = unfit(way.connect(&settings()).await);
    assert!(!format!("{error} {way:?}").contains("hush"), "{error}");
}

/// With several servers, each connection is to the next.
#[tokio::test]
async fn the_next_connection_is_to_the_next_server() {
    let (one, two) = (Fake::start().await, Fake::start().await);
    let way = way(&format!("{},{}", one.address, two.address));
    for _ in 0..3 {
        let mut store = way.connect(&settings()).await.expect("it listens");
        store.read().await.expect("read");
    }
    assert_eq!((one.count("/v3/kv/range"), two.count("/v3/kv/range")), (2, 1));
}

/// A person who asks once gets an answer although a server is down.
#[tokio::test]
async fn a_server_that_is_down_is_passed_over() {
    let fake = Fake::start().await;
    // While it is bound, no other test listens there.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let gone = socket.local_addr().expect("an address");
    let some = way(&format!("{gone},{}", fake.address));
    for _ in 0..2 {
        let mut store = some.connect(&settings()).await.expect("one listens");
        store.read().await.expect("read");
    }
    let none = way(&format!("{gone},{gone}"));
    let error = away(none.connect(&settings()).await);
    assert_eq!(error.matches(&gone.to_string()).count(), 2, "{error}");
}

/// Node 1 has the lease, and node 2 watches.
async fn watching() -> (Fake, Box<dyn LeaseStore>, Box<dyn LeaseStore>) {
    let (fake, mut one) = ready().await;
    assert_eq!(one.acquire(node(1)).await, granted(2));
    let mut two = connect(&fake).await;
    assert_eq!(two.acquire(node(2)).await, refused(1));
    assert!(is_quiet(&mut two).await, "it was told who has the lease");
    (fake, one, two)
}

#[tokio::test]
async fn what_others_do_is_told_and_what_is_known_is_not() {
    let (fake, mut one, mut two) = watching().await;
    assert_eq!(one.renew(node(1), Token::new(2)).await, granted(2));
    assert!(is_quiet(&mut two).await, "a renewal changes no key");
    one.release(node(1), Token::new(2)).await.expect("given back");
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(two.acquire(node(2)).await, granted(4));
    assert!(is_quiet(&mut two).await, "it did that itself");
    fake.state().expire();
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(fake.count("/v3/watch"), 1, "one watch for all");
}

/// A watch begins after what the client knows, and not when it is opened.
#[tokio::test]
async fn what_happens_before_the_watch_is_told() {
    let (fake, mut one) = ready().await;
    let mut two = connect(&fake).await;
    assert_eq!(two.read().await, Ok(Record::default()));
    assert_eq!(one.acquire(node(1)).await, granted(2));
    assert_eq!(told(&mut two).await, Ok(()));
    // One that knows nothing is told at once.
    let mut three = connect(&fake).await;
    assert_eq!(told(&mut three).await, Ok(()));
    assert!(is_quiet(&mut three).await);
    assert_eq!(three.acquire(node(3)).await, refused(1), "the connection is as it was");
}

#[tokio::test]
async fn a_watch_from_a_revision_that_is_gone_begins_anew() {
    let (fake, _one, mut two) = watching().await;
    fake.state().tell(&json!({ "canceled": true, "compact_revision": "9" }));
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(fake.count("/v3/watch"), 2);
    assert!(is_quiet(&mut two).await);
}

#[tokio::test]
async fn a_message_that_makes_no_sense_is_the_end_of_the_connection() {
    for (line, part) in [
        (r#"{"result":{"canceled":true,"cancel_reason":"so it is"}}"#, "so it is"),
        (r#"{"error":{"message":"so\nit is"}}"#, "so it is"),
        (r#"{"error":"so it is"}"#, "so it is"),
        (r#"{"result":{"created":true}}"#, "without a revision"),
        (r#"{"result":{"events":7}}"#, "no list"),
        (r#"{"result":{"events":[{"kv":{"mod_revision":"x"}}]}}"#, "no number"),
        ("7", "without a result"),
        ("{", "no JSON"),
    ] {
        let (fake, _one, mut two) = watching().await;
        fake.state().say(line);
        let problem = away(told(&mut two).await);
        assert!(problem.contains(part), "{line}: {problem}");
    }
    let (fake, _one, mut two) = watching().await;
    fake.state().cut_watches();
    away(told(&mut two).await);
    let mut three = connect(&fake).await;
    fake.state().instead = Some(("/v3/watch", 403, json!({ "message": "denied" })));
    let problem = unfit(told(&mut three).await);
    assert!(problem.contains("readwrite"), "{problem}");
}

/// Before an address gets here, it is looked at as that of any store.
#[test]
fn an_address_has_a_scheme_and_no_password_and_a_person_can_permit_the_user() {
    let files = Files { password: Some("p".into()), ..Files::default() };
    for address in ["http://a:1", "etcd://", "etcd://shop:hush@localhost:1"] {
        let problem = Etcd::parse(address, &files).expect_err(address);
        assert!(problem.contains("HOST:PORT") && !problem.contains("hush"), "{problem}");
    }
    let text = way("localhost:1").setup(&settings());
    assert!(text.contains("grant-permission ROLE readwrite bellwether/orders"), "{text}");
}
