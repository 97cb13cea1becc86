//! Ports of this machine on which no process listens.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many ports a process has for itself.
const OWN: u16 = 2_000;

/// Returns a port on which no process listens, below those that the system hands out by itself, so
/// that no outgoing connection takes the port before a node does. The process that listens on the
/// first of two thousand ports has all of them: tests that run at the same time take others.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    static FIRST: LazyLock<(u16, TcpListener)> = LazyLock::new(|| {
        let listens = |first: u16| Some((first, listen(first)?));
        (10_000..32_000).step_by(OWN.into()).find_map(listens).expect("eleven processes at most")
    });
    loop {
        let port = FIRST.0 + 1 + NEXT.fetch_add(1, Ordering::Relaxed) % (OWN - 1);
        if listen(port).is_some() {
            return port;
        }
    }
}

fn listen(port: u16) -> Option<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok()
}
