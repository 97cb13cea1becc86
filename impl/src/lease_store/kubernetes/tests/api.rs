//! A server with the [`LeaseApi`], for one test.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

pub(super) use super::lease_api::ALL;
use super::lease_api::LeaseApi;
use crate::lease_store::http_client::tests::serve;

#[derive(Clone)]
pub(super) struct Api {
    pub(super) address: String,
    state: Arc<Mutex<LeaseApi>>,
}

impl Api {
    /// A server without a Lease.
    pub(super) async fn start() -> Self {
        let state = Arc::new(Mutex::new(LeaseApi::default()));
        let served = Arc::clone(&state);
        let address = serve(move |asked| served.lock().expect("no panic").answer(asked)).await;
        Self { address, state }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LeaseApi> {
        self.state.lock().expect("no panic")
    }

    /// How many questions were asked that begin so.
    pub(super) fn count(&self, start: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked.starts_with(start)).count()
    }

    /// Waits until so many watches are open.
    pub(super) async fn watched(&self, times: usize) {
        while self.count(&format!("GET {ALL}?watch=1")) < times {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

impl LeaseApi {
    /// Changes a part of the object, as another program does.
    pub(super) fn edit(&mut self, spec: &Value) {
        let mut object = self.object.clone().expect("a Lease");
        for (field, value) in spec.as_object().expect("fields") {
            object["spec"][field] = value.clone();
        }
        self.change("MODIFIED", object);
    }
}
