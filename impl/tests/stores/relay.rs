//! A relay between a client and its store, which can withhold what the store says, and cut.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a relay lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    /// The store hears its client, and its answers do not arrive.
    Withheld,
    Cut,
}

/// A relay on loopback, until it is dropped. What it does not let through arrives once it is open
/// again, as TCP sends again; so does the end of a connection.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    aim: Arc<AtomicU16>,
    gate: watch::Sender<Gate>,
    task: JoinHandle<()>,
}

impl Relay {
    /// Starts a relay to this port.
    pub(crate) fn start(runtime: &Handle, to: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let _entered = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let (aim, gate) = (Arc::new(AtomicU16::new(to)), watch::Sender::new(Gate::Open));
        let task = runtime.spawn(relay(listener, Arc::clone(&aim), gate.subscribe()));
        Ok(Self { port, aim, gate, task })
    }

    /// Where clients find the store.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, gate: Gate) {
        self.gate.send_replace(gate);
    }

    /// Connections that come from now on go to this port.
    pub(crate) fn aim(&self, to: u16) {
        self.aim.store(to, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // What has come through until now goes on until one of the two ends it.
        self.task.abort();
    }
}

async fn relay(listener: TcpListener, aim: Arc<AtomicU16>, gate: watch::Receiver<Gate>) {
    loop {
        let Ok((near, _)) = listener.accept().await else { continue };
        let (to, gate) = (aim.load(Ordering::SeqCst), gate.clone());
        tokio::spawn(async move {
            let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await else { return };
            let _ = (near.set_nodelay(true), far.set_nodelay(true));
            let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
            // A connection whose one half has ended is of no use.
            tokio::select! {
                () = pump(near_in, far_out, gate.clone(), |gate| gate != Gate::Cut) => {}
                () = pump(far_in, near_out, gate, |gate| gate == Gate::Open) => {}
            }
        });
    }
}

/// Moves data in one way, while the gate lets it pass.
async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<Gate>,
    passes: fn(Gate) -> bool,
) {
    let mut piece = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut piece).await.unwrap_or(0);
        let passed = gate.wait_for(|gate| passes(*gate)).await.is_ok();
        if !passed || length == 0 || to.write_all(&piece[..length]).await.is_err() {
            return;
        }
    }
}
