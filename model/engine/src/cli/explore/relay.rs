//! A relay in front of a server that must never see its client hang up: whatever the client does,
//! the server is heard out to the end of its answer.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The largest number of connections at a time; more are refused.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may leave an answer unread. The server answers one at a time, so after this
/// time the relay reads the rest of the answer and discards it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Relays every connection to the server at `inside`; never returns.
pub(super) fn run(listener: &TcpListener, inside: SocketAddr) {
    let open = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        let Ok(client) = client else {
            // Out of descriptors, or the client was gone before it was accepted.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            let _ = client.shutdown(Shutdown::Both);
            continue;
        }
        let open = Arc::clone(&open);
        thread::spawn(move || {
            // A connection that fails concerns its client only, who sees it end.
            let _ = relay(&client, inside);
            let _ = client.shutdown(Shutdown::Both);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn relay(client: &TcpStream, inside: SocketAddr) -> io::Result<()> {
    client.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let server = TcpStream::connect(inside)?;
    let mut requests = (client.try_clone()?, server.try_clone()?);
    let forward = thread::spawn(move || {
        let _ = io::copy(&mut requests.0, &mut requests.1);
        let _ = requests.1.shutdown(Shutdown::Write);
    });
    let heard_out = hear_out(&server, client);
    let _ = client.shutdown(Shutdown::Both);
    let _ = forward.join();
    heard_out
}

/// Passes on what the server says, and continues to read after the client has gone.
fn hear_out(mut server: &TcpStream, mut client: &TcpStream) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    let mut wanted = true;
    loop {
        let read = match server.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if wanted && client.write_all(&buffer[..read]).is_err() {
            wanted = false;
            // Nothing more will be asked; the server ends the connection after its answer.
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

/// Sends a POST request without a body and waits for the answer to end.
pub(super) fn post(to: SocketAddr, path: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    io::copy(&mut stream, &mut io::sink())?;
    Ok(())
}
