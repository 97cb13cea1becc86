//! A process that stands in for the API server of Kubernetes, so that it can be killed, restarted
//! and stopped. It does what the documents of the API say of a `Lease`, and is no API server.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;

use crate::http_server::{Asked, Said, serve_at};
use crate::lease_api::LeaseApi;
use crate::servers::ask;

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

    /// How the stand-in is told.
    fn path(self) -> String {
        format!("/{self:?}")
    }

    /// Tells the stand-in at this port.
    pub fn begin(self, port: u16) -> anyhow::Result<()> {
        let said = ask(port, &format!("GET {} HTTP/1.0\r\n\r\n", self.path()))?;
        anyhow::ensure!(said.ends_with("ok\n"), "{said}");
        Ok(())
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
    let text = if let Some(trouble) = Trouble::ALL.iter().find(|one| one.path() == path) {
        trouble.happen(api);
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

impl LeaseApi {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::lease_api::ALL;

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
