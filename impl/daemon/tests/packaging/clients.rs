//! The clients in other languages: they say which node leads, follow the changes, and write with a
//! fencing token, at real nodes and at a resource with a fence.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use bellwether::Epoch;
use bellwether::fence::{Fence, FenceError, Token};
use bellwether::storage::Memory;

use super::{has, shipped};
use crate::common::{Process, Served, wait_until};

type Shared = Arc<Mutex<Fence<String>>>;

/// A service that keeps one setting, and refuses old tokens, as the page on fencing shows it.
/// Returns its URL.
fn resource() -> (String, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/setting", listener.local_addr().expect("it has one"));
    let fence = Arc::new(Mutex::new(Fence::open(Memory::default()).expect("nothing is in it")));
    let shared = Arc::clone(&fence);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&mut stream.expect("a connection"), &shared);
        }
    });
    (url, fence)
}

/// The token in a header.
fn token(header: &str) -> Option<Token> {
    let (epoch, node) = header.split_once('/')?;
    Some(Token { epoch: Epoch::new(epoch.parse().ok()?), node: node.parse().ok()? })
}

fn answer(stream: &mut TcpStream, fence: &Shared) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let (mut shown, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(": ") {
            Some(("fencing-token", text)) => shown = token(text),
            Some(("content-length", number)) => length = number.parse().expect("a length"),
            _ if line.is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = String::from_utf8(body).expect("a text");
    let mut fence = fence.lock().expect("no panic");
    let status = match shown.map(|token| fence.write("setting", token, |setting| *setting = body)) {
        None => 428,
        Some(Ok(())) => 204,
        Some(Err(FenceError::Stale(_))) => 409,
        Some(Err(_)) => 503,
    };
    let head = format!("HTTP/1.1 {status} Answer\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is read");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Lets a client do all that it can.
fn try_all(client: impl Fn() -> Command) {
    let run = |words: &[&str]| -> Output {
        let mut command = client();
        // What it asks is on this machine.
        command.env("no_proxy", "*").env("NO_PROXY", "*").args(words);
        command.output().expect("it runs")
    };
    let mut served = Served::led(3);
    let (leader, epoch) = served.leader();
    let urls = [1, 2, 3].map(|node| served.url(node, ""));
    let urls = urls.each_ref().map(String::as_str);
    let other = leader % 3 + 1;

    let who = run(&[&["who"][..], &urls].concat());
    let url = |node: u16| urls[usize::from(node) - 1];
    let wanted = format!("node {leader} leads in epoch {epoch}: {}\n", url(leader));
    assert_eq!(text(&who.stdout), wanted, "{}", text(&who.stderr));
    let who = run(&["who", url(other)]);
    assert_eq!(who.status.code(), Some(1), "{}", text(&who.stdout));

    let (resource, fence) = resource();
    let write = |node: u16, text: &str| run(&["write", url(node), &resource, text]);
    let written = write(leader, "blue");
    assert_eq!(text(&written.stdout), format!("written in epoch {epoch}\n"), "{written:?}");
    let refused = write(other, "red");
    assert!(text(&refused.stderr).contains("does not lead"), "{refused:?}");
    // The next leader has been there, and this one does not know it.
    let later = token(&format!("{}/{other}", epoch + 1)).expect("a token");
    fence.lock().expect("no panic").raise("setting", later).expect("it is higher");
    let refused = write(leader, "red");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(text(&refused.stderr).contains(&format!("epoch {epoch} is refused: 409")));
    let kept = fence.lock().expect("no panic").get("setting").map(|kept| kept.value.clone());
    assert_eq!(kept.as_deref(), Some("blue"));

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("changes");
    let mut command = client();
    command.args(["follow", url(other)]).env("no_proxy", "*").env("NO_PROXY", "*");
    let output = File::create(&file).expect("writable");
    let _follows = Process::start(command.stdout(output));
    let seen = || fs::read_to_string(&file).unwrap_or_default();
    let line = format!("leader {leader} epoch {epoch}\n");
    wait_until("it sees the leader", || seen().contains(&line), seen);
    served.kill(leader);
    let (next, _) = served.leader();
    let line = format!("leader {next} epoch ");
    wait_until("it sees the next", || seen().contains(&line), seen);
}

#[test]
fn the_client_in_python_finds_the_leader_follows_it_and_writes_with_its_token() {
    if !has("python3") {
        return;
    }
    try_all(|| {
        let mut command = Command::new("python3");
        command.arg(shipped("examples/clients/leader.py"));
        command
    });
}

#[test]
fn the_client_in_go_does_the_same() {
    if !has("go") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("leader");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(shipped("examples/clients/leader.go"));
    let built = build.env("GOCACHE", folder.path().join("cache")).output().expect("it runs");
    assert!(built.status.success(), "{}", text(&built.stderr));
    try_all(|| Command::new(&program));
}
