//! Stateright's own server, which listens on a private port of the loopback interface.
//!
//! It stops the whole program with a panic when its address is in use or when a client hangs up in
//! the middle of an answer. So it has but one client, which always reads the whole answer.

use anyhow::{Context, anyhow};
use bellwether_engine::check::model::Model;
use stateright::Model as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long the server may take to start.
const START: Duration = Duration::from_secs(10);

/// Stateright's server.
#[derive(Clone, Copy)]
pub(super) struct Inside(SocketAddr);

/// What it answers.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: Option<String>,
    pub(super) body: Vec<u8>,
}

impl Inside {
    /// Starts it on a free port of the loopback interface.
    pub(super) fn start(model: Model) -> anyhow::Result<Inside> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
        let at = free.context("no free port on the loopback interface")?;
        let server = thread::spawn(move || {
            let _ = model.checker().serve(at);
        });
        let started = Instant::now();
        while TcpStream::connect(at).is_err() {
            if server.is_finished() || started.elapsed() > START {
                return Err(anyhow!("the Explorer did not start on {at}; try again"));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(Inside(at))
    }

    /// Asks it. In HTTP/1.0 an answer is not in chunks, and ends with the connection.
    pub(super) fn ask(self, method: &str, path: &str) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(self.0)?;
        let host = self.0;
        let head = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        parse(answer).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

fn parse(mut answer: Vec<u8>) -> Option<Answer> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let body = answer.split_off(end);
    let head = String::from_utf8(answer).ok()?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let kind = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("Content-Type").then(|| value.trim().to_owned())
    });
    Some(Answer { status, kind, body })
}
