//! A side of a connection that may say anything, heard by a program that asks a node how it is.
//!
//! The decoder of frames is not public. Nearest to it is `status::query`, which takes frames apart
//! and decodes the greeting and the reply. A listener of this process stands for the node.

#![no_main]

use std::convert::Infallible;
use std::sync::LazyLock;
use std::time::Duration;

use bellwether::internal::config::{Address, Credentials};
use bellwether::internal::status;
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncWriteExt, copy, sink};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// No answer is waited for longer. All of it is there at once, so this is never reached.
const LIMIT: Duration = Duration::from_secs(10);

/// The version of the wire format.
const VERSION: u8 = 2;

static NODE: LazyLock<Node> = LazyLock::new(Node::new);

/// What is asked.
struct Node {
    runtime: Runtime,
    listener: TcpListener,
    address: Address,
}

impl Node {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        let address = address.parse().expect("the address of a node");
        Self { runtime, listener, address }
    }

    /// Says this to each process that calls.
    async fn say(&self, bytes: &[u8]) -> Infallible {
        loop {
            let Ok((mut caller, _)) = self.listener.accept().await else { continue };
            // It may hang up at any moment, and is heard until it does.
            let _ = caller.write_all(bytes).await;
            let _ = caller.shutdown().await;
            let _ = copy(&mut caller, &mut sink()).await;
        }
    }
}

/// Bytes with their length before them.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("an input is short");
    [&length.to_be_bytes()[..], bytes].concat()
}

/// A greeting of a side without security.
fn greeting() -> Vec<u8> {
    [&b"BLWR"[..], &[0, VERSION], &[0], &[0; 32]].concat()
}

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let said = match how % 4 {
        // Whatever it is.
        0 => rest.to_vec(),
        // A reply.
        _ => [framed(&greeting()), framed(rest)].concat(),
    };
    let node = &*NODE;
    let credentials = Credentials::none();
    node.runtime.block_on(async {
        tokio::select! {
            asked = status::query(&node.address, None, &credentials, LIMIT) => match asked {
                Ok(_) => {}
                // To tell what is wrong is a part of it.
                Err(error) => drop(error.to_string()),
            },
            never = node.say(&said) => match never {},
        }
    });
});
