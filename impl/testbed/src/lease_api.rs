//! The API of a Kubernetes that has one Lease: it compares the version of each change, and tells of
//! changes. It is no Kubernetes: what it does is what the documents of that say. For the tests of
//! the library; and for the soak, where it is a process that can be killed, restarted and stopped.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::http_server::{Asked, Said, serve_at};
use crate::mistakes::{Mistake, STRANGER};
use crate::servers::tell;

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

    /// A person makes a mistake. An object that is deleted is made anew at once.
    fn suffer(&mut self, mistake: Mistake) {
        let mut object = self.object.clone().expect("a Lease");
        let grants = object["spec"]["leaseTransitions"].as_u64().unwrap_or_default();
        match mistake {
            Mistake::Deleted | Mistake::Flushed => {
                self.change("DELETED", object.clone());
                object["spec"] = json!({ "leaseTransitions": 0 });
                self.change("ADDED", object);
            }
            Mistake::Older => self.edit(
                &json!({ "holderIdentity": "", "leaseTransitions": grants.saturating_sub(1) }),
            ),
            Mistake::Far => self.edit(&json!({ "leaseDurationSeconds": 1_000_000 })),
            Mistake::Stranger => self.edit(&json!({ "holderIdentity": STRANGER })),
        }
    }

    /// Writes down what it has, before anyone is told.
    fn keep(&self) -> io::Result<()> {
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

    /// What an earlier process has kept in this file, if there is one.
    fn kept_in(file: &Path) -> anyhow::Result<Self> {
        let mut api = Self { file: Some(file.to_owned()), ..Self::default() };
        match fs::read(file) {
            Ok(kept) => {
                (api.version, api.object) = serde_json::from_slice(&kept)?;
                api.forget_all();
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(api)
    }

    /// Forgets what came after each version that a node knows. The versions are those of all
    /// objects, and another object has been changed meanwhile.
    fn forget_all(&mut self) {
        self.version += 1;
        self.forget();
    }
}

fn refused(status: u16, message: &str) -> Said {
    Said::Json(status, json!({ "kind": "Status", "code": status, "message": message }))
}

/// What can happen at an API server that runs.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// Another program changes the object, just before each of the next writes of a node.
    Conflicts,
    /// The connections of all watches end in the middle.
    Cut,
    /// All watches end in good order, and what came before is forgotten.
    Forgotten,
}

/// How many writes another program is ahead of.
const CONFLICTS: u32 = 3;

impl Trouble {
    const ALL: [Self; 3] = [Self::Conflicts, Self::Cut, Self::Forgotten];

    /// Tells the stand-in at this port.
    pub fn begin(self, port: u16) -> anyhow::Result<()> {
        tell(port, self)
    }

    fn happen(self, api: &mut LeaseApi) {
        match self {
            Self::Conflicts => api.conflicts = CONFLICTS,
            Self::Cut => api.end_watches(false),
            Self::Forgotten => {
                api.forget_all();
                api.end_watches(true);
            }
        }
    }
}

/// Serves until the process ends. What is in the file is served again, and no more is known.
pub fn serve(port: u16, file: &Path) -> anyhow::Result<()> {
    let mut api = LeaseApi::kept_in(file).with_context(|| format!("{}", file.display()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        serve_at(port, move |asked| answer(&mut api, asked)).await?;
        std::future::pending().await
    })
}

fn answer(api: &mut LeaseApi, asked: &Asked) -> Said {
    let path = asked.path.as_str();
    let is_told = |what: &dyn fmt::Debug| path == format!("/{what:?}");
    let text = if let Some(trouble) = Trouble::ALL.into_iter().find(|one| is_told(one)) {
        trouble.happen(api);
        "ok".to_owned()
    } else if let Some(mistake) = Mistake::ALL.into_iter().find(|one| is_told(one)) {
        api.suffer(mistake);
        "ok".to_owned()
    } else if path == "/readyz" {
        "ok".to_owned()
    } else if path == "/metrics" {
        format!("apiserver_request_total {}", api.asked.len())
    } else {
        return api.answer(asked);
    };
    Said::Raw(format!("HTTP/1.0 200 OK\r\n\r\n{text}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(api: &mut LeaseApi, method: &str, path: &str, body: Value) -> Said {
        let (method, path) = (method.to_owned(), format!("{ALL}{path}"));
        answer(api, &Asked { method, path, authorization: None, body })
    }

    /// A stand-in that starts again has the object, and tells those who go on from a version that
    /// they know that it has forgotten what came after it.
    #[test]
    fn a_stand_in_that_starts_again_has_forgotten_what_came_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("data");
        let mut before = LeaseApi::kept_in(&file).expect("no file");
        let object = json!({ "metadata": { "name": "orders" }, "spec": {} });
        ask(&mut before, "POST", "", object);
        let mut after = LeaseApi::kept_in(&file).expect("a file");
        let Said::Json(200, kept) = ask(&mut after, "GET", "/orders", Value::Null) else {
            panic!("the object is gone");
        };
        let version = kept["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let watch =
            format!("?watch=1&fieldSelector=metadata.name%3Dorders&resourceVersion={version}");
        let is_told = |api: &mut LeaseApi| match ask(api, "GET", &watch, Value::Null) {
            Said::Lines(mut lines) => {
                lines.try_recv().is_ok_and(|line| line.is_some_and(|line| line.contains("410")))
            }
            _ => false,
        };
        assert!(!is_told(&mut before), "it has forgotten nothing");
        assert!(is_told(&mut after), "a restart forgets all");
        Trouble::Forgotten.happen(&mut before);
        assert!(is_told(&mut before), "it was told to forget all");
    }
}
