//! The network of the demonstration: a relay for each direction between two nodes, which can be
//! cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::copy;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How long to wait before the next connection is accepted if this one could not be.
const FULL: Duration = Duration::from_millis(100);

/// One relay. A clone is the same.
#[derive(Clone, Default)]
pub(super) struct Proxy(Arc<State>);

#[derive(Default)]
struct State {
    cut: AtomicBool,
    changed: Notify,
}

impl Proxy {
    /// Relays each connection to `target`, until this future is dropped.
    pub(super) async fn run(self, listener: TcpListener, target: SocketAddr) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(self.clone().relay(stream, target));
                }
                // There is no room for another connection: wait until one ends.
                Err(_) => tokio::time::sleep(FULL).await,
            }
        }
    }

    /// A connection ends with either side of it and when the relay is cut, and there is none while
    /// it is. A side that stands still takes no room for the connections that the other gave up.
    async fn relay(self, mut from: TcpStream, target: SocketAddr) {
        let cut = self.0.changed.notified();
        if self.is_cut() {
            return;
        }
        let both = async {
            let mut to = TcpStream::connect(target).await?;
            let (mut from_reads, mut from_writes) = from.split();
            let (mut to_reads, mut to_writes) = to.split();
            tokio::select! {
                copied = copy(&mut from_reads, &mut to_writes) => copied,
                copied = copy(&mut to_reads, &mut from_writes) => copied,
            }
        };
        tokio::select! {
            () = cut => {}
            _ = both => {}
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.0.cut.load(Ordering::SeqCst)
    }

    pub(super) fn set_cut(&self, cut: bool) {
        self.0.cut.store(cut, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// A relay that runs, its address, and where it leads to.
    async fn relay() -> (Proxy, SocketAddr, TcpListener) {
        let target = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let proxy = Proxy::default();
        tokio::spawn(proxy.clone().run(listener, target.local_addr().expect("an address")));
        (proxy, address, target)
    }

    /// Both ends of a connection through it.
    async fn pass(address: SocketAddr, target: &TcpListener) -> (TcpStream, TcpStream) {
        let mut near = TcpStream::connect(address).await.expect("it listens");
        near.write_all(b"x").await.expect("sent");
        let (mut far, _) = target.accept().await.expect("a connection");
        assert_eq!(far.read_u8().await.expect("it arrives"), b'x');
        (near, far)
    }

    #[tokio::test]
    async fn what_is_cut_carries_nothing_until_it_is_healed() {
        let (proxy, address, target) = relay().await;
        let (mut near, _far) = pass(address, &target).await;
        proxy.set_cut(true);
        assert!(matches!(near.read(&mut [0]).await, Ok(0) | Err(_)), "it is closed");
        let mut next = TcpStream::connect(address).await.expect("it listens");
        assert!(matches!(next.read(&mut [0]).await, Ok(0) | Err(_)), "it is closed");
        proxy.set_cut(false);
        pass(address, &target).await;
    }

    #[tokio::test]
    async fn a_connection_ends_with_one_side_though_the_other_stands_still() {
        let (_proxy, address, target) = relay().await;
        let (near, mut far) = pass(address, &target).await;
        drop(near);
        assert_eq!(far.read(&mut [0]).await.expect("the end"), 0);
        // The relay has left this side as well: what is written to it is refused at last.
        let mut refused = false;
        for _ in 0..3_000 {
            refused = far.write_all(b"y").await.is_err();
            if refused {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(refused, "the relay keeps a connection that one side has left");
    }
}
