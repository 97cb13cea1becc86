//! The client gets answers of etcd that come late, that make no sense, or that were overtaken. Other
//! tests ask etcd itself. Here is a server with two keys that answers as the gateway of etcd does,
//! and does what etcd does not do on demand.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::{Arc, MutexGuard};

use bellwether_testbed::http_server::{Asked, Said};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;
use crate::http_client::tests::serve;
use crate::testing::{
    acquire, away, ends_what_is_doubted, file, granted, holder, is_quiet, refused, serves, told,
    unfit,
};

/// The keys `bellwether/orders` and `bellwether-token/orders`, as etcd shows them.
const KEY: &str = "YmVsbHdldGhlci9vcmRlcnM=";
const TOKEN: &str = "YmVsbHdldGhlci10b2tlbi9vcmRlcnM=";

/// The grant of token 7 to the nodes 1 and 2.
const ONE: &str = "1#0000000000000001 7 10000";
const TWO: &str = "2#0000000000000001 7 10000";

/// The pair of a key; etcd shows the value in base64.
#[derive(Clone)]
struct Pair {
    value: String,
    revision: u64,
    lease: i64,
}

/// A change that happens just before a question is answered.
type Meanwhile = Box<dyn FnOnce(&mut State) + Send>;

struct State {
    revision: u64,
    pairs: BTreeMap<String, Pair>,
    /// The leases, and their times to live.
    leases: BTreeMap<i64, u64>,
    /// Just before the next question of this path.
    meanwhile: Option<(&'static str, Meanwhile)>,
    /// The answer to questions of this path.
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
            pairs: BTreeMap::new(),
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
        if asked.path == "/version" {
            return Said::Json(200, json!({ "etcdserver": "3.5.13", "etcdcluster": "3.5.0" }));
        }
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

    /// Returns the answer about a lease, if there is one.
    fn lease(&self, body: &Value) -> Option<Value> {
        let seconds = self.leases.get(&number::<i64>(&body["ID"]))?.to_string();
        Some(json!({ "ID": body["ID"], "TTL": seconds, "grantedTTL": seconds }))
    }

    fn transaction(&mut self, body: &Value) -> Value {
        let mut compares = body["compare"].as_array().into_iter().flatten();
        let holds = compares.all(|compare| {
            assert_eq!((&compare["result"], &compare["target"]), (&json!("EQUAL"), &json!("MOD")));
            let revision = self.pair(&compare["key"]).map_or(0, |pair| pair.revision);
            compare["mod_revision"] == revision.to_string().as_str()
        });
        let steps = &body[if holds { "success" } else { "failure" }];
        // A transaction is one revision.
        self.revision += u64::from(holds && steps[0].get("request_range").is_none());
        let steps = steps.as_array().into_iter().flatten();
        let answers: Vec<_> = steps.map(|step| self.step(step)).collect();
        json!({ "succeeded": holds, "responses": answers })
    }

    fn step(&mut self, step: &Value) -> Value {
        if let Some(range) = step.get("request_range") {
            let kvs: Vec<_> = self.pair(&range["key"]).map(shown).into_iter().collect();
            return json!({ "response_range": { "kvs": kvs } });
        }
        if let Some(put) = step.get("request_put") {
            let lease = put.get("lease").map_or(0, number);
            assert!(lease == 0 || self.leases.contains_key(&lease), "a lease that was granted");
            let text = |field: &str| put[field].as_str().expect("text").to_owned();
            self.write(text("key"), text("value"), lease);
            return json!({ "response_put": {} });
        }
        assert_eq!(step["request_delete_range"], json!({ "key": KEY }));
        self.vanish();
        json!({ "response_delete_range": { "deleted": "1" } })
    }

    fn pair(&self, key: &Value) -> Option<&Pair> {
        self.pairs.get(key.as_str().expect("text"))
    }

    /// Writes a key at this revision; the value is in base64.
    fn write(&mut self, key: String, value: String, lease: i64) {
        let pair = Pair { value, revision: self.revision, lease };
        if key == KEY {
            self.tell(&json!({ "events": [{ "kv": shown(&pair) }] }));
        }
        self.pairs.insert(key, pair);
    }

    /// Deletes the key of the lease at this revision.
    fn vanish(&mut self) {
        self.pairs.remove(KEY);
        let kv = json!({ "mod_revision": self.revision.to_string() });
        self.tell(&json!({ "events": [{ "type": "DELETE", "kv": kv }] }));
    }

    /// Writes the key of the lease, as a person does.
    fn put(&mut self, value: &str, lease: i64) {
        self.revision += 1;
        self.write(KEY.to_owned(), gateway::coded(value), lease);
    }

    fn delete(&mut self) {
        self.revision += 1;
        self.vanish();
    }

    fn revoke(&mut self, lease: i64) -> Said {
        if self.leases.remove(&lease).is_none() {
            let said = "etcdserver: requested lease not found";
            return Said::Json(404, json!({ "error": said, "message": said, "code": 5 }));
        }
        if self.pairs.get(KEY).is_some_and(|pair| pair.lease == lease) {
            self.delete();
        }
        Said::Json(200, self.with_header(json!({})))
    }

    /// Ends the lease, as when its time has passed.
    fn expire(&mut self) {
        let lease = self.pairs.get(KEY).map(|pair| pair.lease).expect("a key");
        self.revoke(lease);
    }

    fn watch(&mut self, request: &Value) -> Said {
        assert_eq!(request["key"], KEY);
        let from: u64 = number(&request["start_revision"]);
        let (sender, receiver) = unbounded_channel();
        self.watchers.push(sender);
        self.tell(&json!({ "created": true }));
        // This server knows the last change only.
        let pair = self.pairs.get(KEY).filter(|pair| from > 0 && pair.revision >= from).cloned();
        if let Some(pair) = pair {
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

fn settings() -> LeaseSettings {
    let (keep, limit) = (Duration::from_millis(9_001), Duration::from_secs(10));
    LeaseSettings { name: "orders".to_owned(), ttl: keep, limit }
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

/// Renews the lease of node 1.
async fn renew(store: &mut Box<dyn LeaseStore>, token: u64) -> StoreResult<Answer> {
    store.renew(&holder(1), Token::new(token)).await
}

/// Returns the node that a refusal names.
fn named(answer: StoreResult<Answer>) -> Option<Holder> {
    refused(answer).holder
}

#[tokio::test]
async fn the_lease_is_granted_to_one_at_a_time() {
    let (fake, mut one) = ready().await;
    let mut two = connect(&fake).await;
    serves(&mut one, &mut two, [1, 2, 3], 2).await;
    assert_eq!(fake.state().leases.values().copied().collect::<Vec<_>>(), [10], "rounded up");
    // Another connection extends the lease as well: the key says which lease is its own.
    let mut third = connect(&fake).await;
    let newest = Token::new(1_000_001);
    assert_eq!(third.renew(&holder(2), newest).await, granted(newest.get()));
    third.release(&holder(2), newest).await.expect("given back");
    assert!(!fake.state().pairs.contains_key(KEY) && fake.state().leases.is_empty());
    // The tokens go on although the key is gone.
    assert_eq!(fake.state().pairs[TOKEN].lease, 0);
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(newest.get() + 1));
}

#[tokio::test]
async fn one_that_comes_late_is_refused_and_leaves_nothing_behind() {
    let (fake, mut one) = ready().await;
    meanwhile(&fake, "/v3/lease/grant", |state| {
        state.leases.insert(1, 10);
        state.put(TWO, 1);
    });
    assert_eq!(named(acquire(&mut one, &holder(1)).await), Some(holder(2)));
    assert_eq!(fake.state().leases.keys().copied().collect::<Vec<_>>(), [1]);
    // The claim that comes before may be its own: a request that was taken for lost.
    fake.state().expire();
    meanwhile(&fake, "/v3/lease/grant", |state| state.put(ONE, 0));
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(8));
}

#[tokio::test]
async fn a_key_that_etcd_never_ends_is_doubted() {
    // The lease of the key is none, is gone, or lasts for longer than the value says.
    for lease in [0, 3, 4] {
        let (fake, mut one) = ready().await;
        fake.state().leases = BTreeMap::from([(4, 11)]);
        fake.state().put(ONE, lease);
        ends_what_is_doubted(&mut one).await;
        assert_eq!(fake.state().leases.get(&4), Some(&11), "another program has it");
    }
    // The holder of such a key is told before it is taken for gone.
    let (fake, mut one) = ready().await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    fake.state().put("1#0000000000000001 1 10000", 0);
    refused(renew(&mut one, 1).await);
    let mut other = connect(&fake).await;
    refused(renew(&mut other, 1).await);
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
    for (path, act, has) in [
        ("/v3/lease/keepalive", expire, None),
        ("/v3/kv/txn", expire, None),
        ("/v3/lease/keepalive", replaced, Some(2)),
        ("/v3/kv/txn", replaced, Some(2)),
        ("/v3/kv/txn", again, Some(1)),
        ("/v3/lease/keepalive", shorter, Some(1)),
    ] {
        let (fake, mut one) = ready().await;
        assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
        meanwhile(&fake, path, act);
        assert_eq!(named(renew(&mut one, 1).await), has.map(holder), "{path}");
    }
}

#[tokio::test]
async fn a_release_touches_only_what_was_granted() {
    let (fake, mut one) = ready().await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    // The key is another's just before it is deleted.
    let act: fn(&mut State) = |state| state.put(TWO, 0);
    meanwhile(&fake, "/v3/kv/txn", move |state| {
        state.meanwhile = Some(("/v3/kv/txn", Box::new(act)));
    });
    for _ in 0..2 {
        one.release(&holder(1), Token::new(1)).await.expect("nothing happens");
        assert_eq!(named(acquire(&mut one, &holder(1)).await), Some(holder(2)));
    }
    // A key of another program.
    fake.state().put("none", 0);
    assert!(unfit(acquire(&mut one, &holder(1)).await).contains("damaged"));
    assert!(fake.state().pairs.contains_key(KEY));
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_none() {
    let header = json!({ "revision": "7" });
    let read = |first: Value| {
        let both = json!([{ "response_range": first }, { "response_range": {} }]);
        json!({ "header": { "revision": "7" }, "responses": both })
    };
    let pair = |pair: Value| read(json!({ "kvs": [pair] }));
    for (path, body) in [
        ("/v3/kv/txn", json!({})),
        ("/v3/kv/txn", json!([])),
        ("/v3/kv/txn", json!({ "header": header })),
        ("/v3/kv/txn", json!({ "responses": read(json!({}))["responses"] })),
        ("/v3/kv/txn", read(json!({ "kvs": 1 }))),
        ("/v3/kv/txn", pair(json!({}))),
        ("/v3/kv/txn", pair(json!({ "mod_revision": "x" }))),
        ("/v3/kv/txn", pair(json!({ "mod_revision": "-3" }))),
        ("/v3/kv/txn", pair(json!({ "mod_revision": "3", "value": "?" }))),
        ("/v3/kv/txn", pair(json!({ "mod_revision": "3", "value": 7 }))),
        ("/v3/kv/txn", pair(json!({ "mod_revision": "3", "value": "MQ==", "lease": {} }))),
        ("/v3/lease/grant", json!({ "TTL": "10" })),
        ("/v3/lease/grant", json!({ "ID": "none" })),
        ("/v3/lease/grant", json!({ "ID": "5", "TTL": "9" })),
        ("/v3/lease/keepalive", json!({})),
        ("/v3/lease/keepalive", json!({ "error": { "message": "so it is" } })),
    ] {
        let (fake, mut one) = ready().await;
        let renews = path == "/v3/lease/keepalive";
        if renews {
            assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
        }
        fake.state().instead = Some((path, 200, body.clone()));
        let answer =
            if renews { renew(&mut one, 1).await } else { acquire(&mut one, &holder(1)).await };
        let problem = away(answer);
        assert!(problem.contains("http://127.0.0.1:"), "{path} {body}: {problem}");
    }
}

#[tokio::test]
async fn a_refusal_names_what_helps() {
    let said = |text: &str| json!({ "error": text, "message": text });
    let answer = async |status, body| {
        let (fake, mut one) = ready().await;
        fake.state().instead = Some(("/v3/kv/txn", status, body));
        acquire(&mut one, &holder(1)).await
    };
    for (status, body, part) in [
        (403, said("etcdserver: permission denied"), "readwrite bellwether-token/orders"),
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

#[test]
fn a_version_with_a_known_fault_is_told_from_others() {
    for (version, is) in [
        ("3.4.30", true),
        ("3.4.31", false),
        ("3.5.0-rc.1", true),
        ("3.5.12", true),
        ("3.5.13", false),
        ("3.6.0", false),
        ("", false),
        ("3.5", false),
    ] {
        assert_eq!(is_faulty(version), is, "{version}");
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
    assert_eq!((one.count("/v3/kv/txn"), two.count("/v3/kv/txn")), (2, 1));
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
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    let mut two = connect(&fake).await;
    assert_eq!(named(acquire(&mut two, &holder(2)).await), Some(holder(1)));
    assert!(is_quiet(&mut two).await, "it was told who has the lease");
    (fake, one, two)
}

#[tokio::test]
async fn what_others_do_is_told_and_what_is_known_is_not() {
    let (fake, mut one, mut two) = watching().await;
    assert_eq!(renew(&mut one, 1).await, granted(1));
    assert!(is_quiet(&mut two).await, "a renewal changes no key");
    one.release(&holder(1), Token::new(1)).await.expect("given back");
    assert_eq!(told(&mut two).await, Ok(()));
    assert_eq!(acquire(&mut two, &holder(2)).await, granted(2));
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
    assert_eq!(two.read().await, Ok(LeaseRecord::default()));
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    assert_eq!(told(&mut two).await, Ok(()));
    // One that knows nothing is told at once.
    let mut three = connect(&fake).await;
    assert_eq!(told(&mut three).await, Ok(()));
    assert!(is_quiet(&mut three).await);
    let answer = acquire(&mut three, &holder(3)).await;
    assert_eq!(named(answer), Some(holder(1)), "the connection is as it was");
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
    for key in ["bellwether/orders", "bellwether-token/orders"] {
        assert!(text.contains(&format!("grant-permission ROLE readwrite {key}")), "{text}");
    }
}
