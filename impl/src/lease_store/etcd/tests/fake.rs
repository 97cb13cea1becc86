//! A server with one key that answers as the gateway of etcd does: what is zero is left out. The
//! tests that etcd itself must pass are elsewhere; here is what etcd does not do on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bellwether_testbed::http_server::{Asked, Said};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::lease_store::http_client::tests::serve;

/// The pair of the key, as etcd shows it.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) value: String,
    pub(super) revision: u64,
    pub(super) lease: i64,
}

/// What happens just before a question is answered.
type Meanwhile = Box<dyn FnOnce(&mut State) + Send>;

pub(super) struct State {
    pub(super) revision: u64,
    pub(super) pair: Option<Pair>,
    /// The leases, and their times to live.
    pub(super) leases: BTreeMap<i64, u64>,
    /// Just before the next question of this path.
    pub(super) meanwhile: Option<(&'static str, Meanwhile)>,
    /// What is answered to questions of this path.
    pub(super) instead: Option<(&'static str, u16, Value)>,
    watchers: Vec<UnboundedSender<Option<String>>>,
    /// The paths of the questions, and the tokens that were shown.
    pub(super) asked: Vec<(String, Option<String>)>,
    last: i64,
}

pub(super) struct Fake {
    pub(super) address: String,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub(super) async fn start() -> Self {
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

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    pub(super) fn count(&self, path: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked == path).count()
    }
}

impl State {
    fn answer(&mut self, asked: &Asked) -> Said {
        assert_eq!(asked.method, "POST");
        self.asked.push((asked.path.clone(), asked.authorization.clone()));
        if self.meanwhile.as_ref().is_some_and(|(path, _)| *path == asked.path)
            && let Some((_, meanwhile)) = self.meanwhile.take()
        {
            meanwhile(self);
        }
        if let Some((path, status, body)) = &self.instead
            && *path == asked.path
        {
            return Said::Json(*status, body.clone());
        }
        let body = &asked.body;
        match asked.path.as_str() {
            "/v3/kv/range" => {
                assert_eq!(body["key"], "YmVsbHdldGhlci9vcmRlcnM=", "bellwether/orders");
                Said::Json(200, self.with_header(self.range()))
            }
            "/v3/kv/txn" => {
                let answer = self.transaction(body);
                Said::Json(200, self.with_header(answer))
            }
            "/v3/lease/grant" => {
                self.last += 1;
                let seconds: u64 = body["TTL"].as_str().expect("text").parse().expect("seconds");
                self.leases.insert(self.last, seconds);
                let answer = json!({ "ID": self.last.to_string(), "TTL": seconds.to_string() });
                Said::Json(200, self.with_header(answer))
            }
            "/v3/lease/keepalive" => {
                let answer = self.lease(body).unwrap_or_else(|| json!({ "ID": body["ID"] }));
                Said::Json(200, json!({ "result": self.with_header(answer) }))
            }
            "/v3/lease/timetolive" => {
                let gone = || json!({ "ID": body["ID"], "TTL": "-1" });
                let answer = self.lease(body).unwrap_or_else(gone);
                Said::Json(200, self.with_header(answer))
            }
            "/v3/lease/revoke" => self.revoke(id(body)),
            "/v3/auth/authenticate" => {
                assert_eq!(*body, json!({ "name": "shop", "password": "hush" }));
                Said::Json(200, json!({ "token": "given.1" }))
            }
            "/v3/watch" => self.watch(&body["create_request"]),
            other => panic!("etcd has no {other}"),
        }
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
        let seconds = self.leases.get(&id(body))?;
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
            let lease: i64 = put["lease"].as_str().expect("text").parse().expect("a number");
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
    pub(super) fn put(&mut self, value: &str, lease: i64) {
        self.revision += 1;
        let pair = Pair { value: value.to_owned(), revision: self.revision, lease };
        let event = json!({ "kv": shown(&pair) });
        self.pair = Some(pair);
        self.tell(&json!({ "events": [event] }));
    }

    pub(super) fn delete(&mut self) {
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
    pub(super) fn expire(&mut self) {
        let lease = self.pair.as_ref().map(|pair| pair.lease).expect("a key");
        self.revoke(lease);
    }

    fn watch(&mut self, request: &Value) -> Said {
        assert_eq!(request["key"], "YmVsbHdldGhlci9vcmRlcnM=");
        let from: u64 = request["start_revision"].as_str().expect("text").parse().expect("one");
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
    pub(super) fn tell(&mut self, result: &Value) {
        let message = json!({ "result": self.with_header(result.clone()) });
        self.say(&message.to_string());
    }

    pub(super) fn say(&mut self, line: &str) {
        self.watchers.retain(|watcher| watcher.send(Some(format!("{line}\n"))).is_ok());
    }

    pub(super) fn cut_watches(&mut self) {
        self.watchers.clear();
    }
}

fn id(body: &Value) -> i64 {
    body["ID"].as_str().expect("text").parse().expect("a number")
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
