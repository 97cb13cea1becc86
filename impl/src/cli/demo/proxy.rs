//! The network of the demonstration: a relay for each direction between two nodes, which can be
//! cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

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
            if let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().relay(stream, target));
            }
        }
    }

    /// A connection ends when the relay is cut, and there is none while it is.
    async fn relay(self, mut from: TcpStream, target: SocketAddr) {
        let cut = self.0.changed.notified();
        if self.is_cut() {
            return;
        }
        let both = async {
            let mut to = TcpStream::connect(target).await?;
            copy_bidirectional(&mut from, &mut to).await
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

    #[tokio::test]
    async fn what_is_cut_carries_nothing_until_it_is_healed() {
        let target = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let proxy = Proxy::default();
        tokio::spawn(proxy.clone().run(listener, target.local_addr().expect("an address")));
        let pass = async || {
            let mut near = TcpStream::connect(address).await.expect("it listens");
            near.write_all(b"x").await.expect("sent");
            let (mut far, _) = target.accept().await.expect("a connection");
            assert_eq!(far.read_u8().await.expect("it arrives"), b'x');
            near
        };
        let mut near = pass().await;
        proxy.set_cut(true);
        assert!(matches!(near.read(&mut [0]).await, Ok(0) | Err(_)), "it is closed");
        let mut next = TcpStream::connect(address).await.expect("it listens");
        assert!(matches!(next.read(&mut [0]).await, Ok(0) | Err(_)), "it is closed");
        proxy.set_cut(false);
        pass().await;
    }
}
