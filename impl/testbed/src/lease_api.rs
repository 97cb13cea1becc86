//! The API of a Kubernetes that has one Lease: it compares the version of each change, and tells of
//! changes. It is no Kubernetes: what it does is what the documents of that say. For the tests of
//! the library, and for the soak.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::http_server::{Asked, Said};

/// Where it has the Lease, `orders`.
pub const ALL: &str = "/apis/coordination.k8s.io/v1/namespaces/shop/leases";

/// What the server has, what is done to it, and what is seen of it.
#[derive(Default)]
pub struct LeaseApi {
    /// The version of the last change of any object.
    pub version: u64,
    /// The Lease, if there is one.
    pub object: Option<Value>,
    /// Each change: its version, and the event.
    pub history: Vec<(u64, Value)>,
    /// What came up to this version is no longer known.
    pub forgotten: u64,
    /// The channels to the clients that watch.
    pub watchers: Vec<UnboundedSender<Option<String>>>,
    /// Where the object is kept, if it is to outlast the process.
    pub file: Option<PathBuf>,
    /// Before how many of the next changes another program changes the object.
    pub conflicts: u32,
    /// Whether it compares no versions, which is wrong.
    pub is_blind: bool,
    /// What is answered in the place of all that was asked.
    pub instead: Option<(u16, Value)>,
    /// The methods and the paths of the questions, and the tokens that were shown.
    pub asked: Vec<(String, Option<String>)>,
}

impl LeaseApi {
    /// Answers one question.
    pub fn answer(&mut self, asked: &Asked) -> Said {
        let line = format!("{} {}", asked.method, asked.path);
        self.asked.push((line, asked.authorization.clone()));
        if let Some((status, body)) = &self.instead {
            return Said::Json(*status, body.clone());
        }
        let path = asked.path.strip_prefix(ALL).expect("the leases of a namespace");
        match (asked.method.as_str(), path) {
            ("GET", "/orders") => match &self.object {
                Some(object) => Said::Json(200, object.clone()),
                None => refused(404, "leases \"orders\" not found"),
            },
            ("GET", watch) => self.watch(watch),
            ("POST", "") if self.object.is_some() => refused(409, "it already exists"),
            ("POST", "") => {
                assert_eq!(asked.body["metadata"]["name"], "orders");
                Said::Json(201, self.change("ADDED", asked.body.clone()))
            }
            ("PUT", "/orders") => self.put(&asked.body),
            other => panic!("no API server is asked {other:?}"),
        }
    }

    fn put(&mut self, new: &Value) -> Said {
        if self.conflicts > 0 {
            self.conflicts -= 1;
            let mut object = self.object.clone().expect("a Lease");
            object["metadata"]["annotations"] = json!({ "seen": self.version.to_string() });
            self.change("MODIFIED", object);
        }
        let version = self.object.as_ref().map(|object| &object["metadata"]["resourceVersion"]);
        if !self.is_blind && version != Some(&new["metadata"]["resourceVersion"]) {
            return refused(409, "the object has been modified");
        }
        assert!(new["spec"]["leaseDurationSeconds"].as_u64().is_some_and(|seconds| seconds > 0));
        assert!(new["spec"]["renewTime"].as_str().is_some_and(|time| time.len() == 27), "{new}");
        Said::Json(200, self.change("MODIFIED", new.clone()))
    }

    /// Writes the object, and tells of it.
    pub fn change(&mut self, kind: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.object = (kind != "DELETED").then(|| object.clone());
        self.keep().expect("the folder of the test can be written to");
        let event = json!({ "type": kind, "object": object });
        self.history.push((self.version, event.clone()));
        self.say(&event);
        object
    }

    /// Changes a part of the object, as another program does.
    pub fn edit(&mut self, spec: &Value) {
        let mut object = self.object.clone().expect("a Lease");
        for (field, value) in spec.as_object().expect("fields") {
            object["spec"][field] = value.clone();
        }
        self.change("MODIFIED", object);
    }

    /// Writes down what it has, before anyone is told.
    fn keep(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let new = file.with_extension("new");
        fs::write(&new, json!([self.version, self.object]).to_string())?;
        fs::rename(new, file)
    }

    /// Tells those that watch of an event.
    pub fn say(&mut self, event: &Value) {
        self.watchers.retain(|watcher| watcher.send(Some(format!("{event}\n"))).is_ok());
    }

    /// Ends each watch in good order, or cuts it.
    pub fn end_watches(&mut self, in_order: bool) {
        for watcher in self.watchers.drain(..) {
            let _ = in_order.then(|| watcher.send(None));
        }
    }

    /// Forgets all changes until now.
    pub fn forget(&mut self) {
        self.forgotten = self.version;
        self.history.clear();
    }

    fn watch(&mut self, query: &str) -> Said {
        assert!(query.contains("fieldSelector=metadata.name%3Dorders"), "{query}");
        let from = query.split("resourceVersion=").nth(1);
        let from: Option<u64> = from.map(|from| from.parse().expect("a version"));
        let (sender, receiver) = unbounded_channel();
        let say = |event: &Value| sender.send(Some(format!("{event}\n"))).expect("it is open");
        match from {
            Some(from) if from < self.forgotten => {
                let status = json!({ "kind": "Status", "code": 410, "message": "too old" });
                say(&json!({ "type": "ERROR", "object": status }));
            }
            Some(from) => {
                let newer = self.history.iter().filter(|(version, _)| *version > from);
                newer.for_each(|(_, event)| say(event));
            }
            None => {
                let now = self.object.iter();
                now.for_each(|object| say(&json!({ "type": "ADDED", "object": object })));
            }
        }
        self.watchers.push(sender);
        Said::Lines(receiver)
    }
}

fn refused(status: u16, message: &str) -> Said {
    Said::Json(status, json!({ "kind": "Status", "code": status, "message": message }))
}
