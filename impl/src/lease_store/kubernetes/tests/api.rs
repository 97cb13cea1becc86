//! A server with the [`LeaseApi`], for one test.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};

use bellwether_testbed::lease_api::LeaseApi;

use crate::lease_store::http_client::tests::serve;

pub(super) use bellwether_testbed::lease_api::ALL;

#[derive(Clone)]
pub(super) struct Api {
    pub(super) address: String,
    state: Arc<Mutex<LeaseApi>>,
    /// While this is there, a thread of the runtime is busy. So a time that is paused does not pass
    /// by itself, however slow the system is with what was sent.
    _busy: Sender<()>,
}

impl Api {
    /// A server without a Lease.
    pub(super) async fn start() -> Self {
        let state = Arc::new(Mutex::new(LeaseApi::default()));
        let served = Arc::clone(&state);
        let address = serve(move |asked| served.lock().expect("no panic").answer(asked)).await;
        let (busy, ends) = channel();
        tokio::task::spawn_blocking(move || ends.recv());
        Self { address, state, _busy: busy }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LeaseApi> {
        self.state.lock().expect("no panic")
    }

    /// How many questions were asked that begin so.
    pub(super) fn count(&self, start: &str) -> usize {
        self.state().asked.iter().filter(|(asked, _)| asked.starts_with(start)).count()
    }
}
