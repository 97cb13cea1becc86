//! A process that stands in for the API server of Kubernetes, so that it can be killed, restarted
//! and stopped. It does what the documents of the API say of a `Lease`, and is no API server.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::http_server::{Asked, Said, serve_at};
use super::lease_api::LeaseApi;
use super::servers::ask;

/// What can happen at an API server that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
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
    pub(crate) fn begin(self, port: u16) -> anyhow::Result<()> {
        let said = ask(port, &format!("GET {} HTTP/1.0\r\n\r\n", self.path()))?;
        anyhow::ensure!(said.ends_with("ok\n"), "{said}");
        Ok(())
    }

    fn happen(self, api: &mut LeaseApi) {
        match self {
            Self::Conflicts => api.conflicts = CONFLICTS,
            Self::Cut => api.end_watches(false),
            Self::Forgotten => {
                api.forget();
                api.end_watches(true);
            }
        }
    }
}

/// Serves until the process ends. What is in the file is served again, and no more is known.
pub(crate) fn serve(port: u16, file: &Path) -> anyhow::Result<()> {
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
                let (version, object): (u64, Option<Value>) = serde_json::from_slice(&kept)?;
                (api.version, api.forgotten, api.object) = (version, version, object);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(api)
    }
}
