//! What must survive a crash is durable before anything that follows from it is sent.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use bellwether::internal::status::{StatusReport, Told, query};
use bellwether::storage::{Directory, Memory, Storage, StorageError};
use bellwether::{Address, Credentials, StollerSection};
use bellwether::{Config, Election, NodeId, Reason, Role, Stopped};
use bellwether_core::protocol::stoller::Stoller;
use bellwether_testbed::ports::free_port;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::{LIMIT, listen_again, port};

/// Two members: node 2 halts node 1 as soon as it may send.
struct Pair {
    addresses: [String; 2],
}

impl Pair {
    async fn new() -> (Self, [TcpListener; 2]) {
        let [(one, first), (two, second)] = [port().await, port().await];
        (Self { addresses: [first, second] }, [one, two])
    }

    fn config(&self, node: u16) -> Config<Stoller> {
        let members = (1..).zip(&self.addresses);
        Config::for_protocol("pair", node, members, StollerSection::default()).expect("valid")
    }

    async fn status(&self, node: usize) -> StatusReport {
        let address: Address = self.addresses[node - 1].parse().expect("an address");
        let told = query(&address, None, &Credentials::none(), LIMIT).await.expect("it runs");
        let Told::Status(report) = told else { panic!("{told:?}") };
        *report
    }
}

/// How many messages the other one was sent.
fn sent(status: &StatusReport) -> u64 {
    status.members[0].sent
}

async fn follows(election: &Election, leader: u16) {
    let mut leadership = election.leadership();
    let wanted = |now: &bellwether::Leadership| now.leader == NodeId::new(leader);
    timeout(LIMIT, leadership.wait_for(wanted)).await.expect("in time").expect("takes part");
}

/// What a storage does once the state is durable.
enum Fault {
    /// Waits until it is told to go on.
    Hang(mpsc::Sender<()>, mpsc::Receiver<()>),
    /// Ends the process, as a crash would.
    Abort,
    /// Says that it failed.
    Fail,
}

/// A storage with a fault between the write and the send.
struct Faulty<S> {
    storage: S,
    fault: Fault,
}

impl<S: Storage<u64>> Storage<u64> for Faulty<S> {
    fn load(&mut self) -> Result<Option<u64>, StorageError> {
        self.storage.load()
    }

    fn save(&mut self, state: &u64) -> Result<(), StorageError> {
        self.storage.save(state)?;
        match &self.fault {
            Fault::Hang(saved, go_on) => {
                saved.send(()).expect("the test listens");
                go_on.recv_timeout(LIMIT).expect("the test goes on");
                Ok(())
            }
            Fault::Abort => std::process::abort(),
            Fault::Fail => Err(StorageError::Write {
                path: PathBuf::from("/the/disk"),
                cause: std::io::ErrorKind::StorageFull.into(),
            }),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_before_it_is_durable() {
    let (pair, [one, two]) = Pair::new().await;
    let one = Election::join_with(pair.config(1), one, Memory::default()).expect("can join");
    let (memory, (saved, has_saved), (go_on, goes_on)) =
        (Memory::default(), mpsc::channel(), mpsc::channel());
    let storage = Faulty { storage: memory.clone(), fault: Fault::Hang(saved, goes_on) };
    let two = Election::join_with(pair.config(2), two, storage).expect("can join");

    let wait = tokio::task::spawn_blocking(move || has_saved.recv_timeout(LIMIT));
    wait.await.expect("no panic").expect("it saves first");
    assert_eq!(memory.saved(), Some(1), "the incarnation");
    // Node 1 has long found that node 2 is silent.
    follows(&one, 1).await;
    assert_eq!(sent(&pair.status(2).await), 0);
    let now = two.leadership().now();
    assert!(now.leader.is_none() && now.role != Role::Leader, "{now:?}");

    go_on.send(()).expect("it waits");
    follows(&two, 2).await;
    follows(&one, 2).await;
    assert!(sent(&pair.status(2).await) > 0);
    two.leave().await.expect("nothing failed");
    one.leave().await.expect("nothing failed");
}

#[tokio::test]
async fn a_write_that_fails_stops_the_node_and_nothing_is_sent() {
    let (pair, [one, two]) = Pair::new().await;
    let memory = Memory::default();
    let storage = Faulty { storage: memory.clone(), fault: Fault::Fail };
    let one = Election::join_with(pair.config(1), one, Memory::default()).expect("can join");
    let mut two = Election::join_with(pair.config(2), two, storage).expect("can join");
    let mut leadership = two.leadership();
    let stopped = timeout(LIMIT, two.stopped()).await.expect("in time").expect_err("it failed");
    assert!(matches!(stopped, Stopped::Storage(_)));
    let text = stopped.to_string();
    assert!(text.contains("/the/disk") && text.contains("make room there"), "{text}");
    let last = leadership.changed().await.expect("the last value");
    assert_eq!((last.role, last.leader, last.reason), (Role::NotStarted, None, Some(Reason::LEFT)));
    assert!(leadership.changed().await.is_none(), "there is no next value");
    follows(&one, 1).await;
    let received = pair.status(1).await.members[0].received;
    assert_eq!(received, 0, "nothing was sent");
    two.leave().await.expect("told already");

    // It may have been written all the same. The next run reads it, and is another incarnation.
    assert_eq!(memory.saved(), Some(1));
    let address = &pair.addresses[1];
    let two = listen_again(address.as_str()).await;
    let two = Election::join_with(pair.config(2), two, memory.clone()).expect("can join");
    follows(&two, 2).await;
    follows(&one, 2).await;
    assert_eq!(memory.saved(), Some(2));
}

#[tokio::test]
async fn the_directory_is_free_again_once_the_node_has_left() {
    let (pair, [one, two]) = Pair::new().await;
    let directory = tempfile::tempdir().expect("a directory");
    let config = pair.config(2).with_directory(directory.path());
    let first = Election::join_on(config.clone(), two).expect("can join");
    follows(&first, 2).await;
    let error = Election::join_on(config.clone(), one).expect_err("in use");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    first.leave().await.expect("nothing failed");
    let mut storage = Directory::<u64>::open(directory.path(), config.owner()).expect("free");
    assert_eq!(storage.load().expect("readable"), Some(1));
}

/// In the child process: which role it has, where its storage is, and the addresses of both nodes.
const CHILD: &str = "BELLWETHER_TEST_CHILD";

/// A real process that is killed between the write and the send: the parent starts this test in
/// another process, which is node 2 there.
#[test]
fn a_process_killed_between_write_and_send_has_written_and_not_sent() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Ok(child) = std::env::var(CHILD) {
        runtime.block_on(child_runs(&child));
        return;
    }
    runtime.block_on(async {
        let (mut pair, [one, _]) = Pair::new().await;
        pair.addresses[1] = format!("127.0.0.1:{}", free_port());
        let directory = tempfile::tempdir().expect("a directory");
        let one = Election::join_with(pair.config(1), one, Memory::default()).expect("can join");

        let mut killed = child(&pair, "abort", directory.path()).spawn().expect("starts");
        let ended = tokio::task::spawn_blocking(move || killed.wait().expect("our child"));
        let status = timeout(LIMIT, ended).await.expect("in time").expect("no panic");
        assert_eq!(status.code(), None, "a signal has ended it: {status}");
        assert_eq!(saved(&pair, directory.path()), Some(1));
        follows(&one, 1).await;
        assert_eq!(pair.status(1).await.members[0].received, 0, "nothing was sent");

        let mut again = child(&pair, "run", directory.path()).spawn().expect("starts");
        follows(&one, 2).await;
        again.kill().expect("our child");
        again.wait().expect("our child");
        assert_eq!(saved(&pair, directory.path()), Some(2), "another incarnation");
    });
}

fn saved(pair: &Pair, directory: &Path) -> Option<u64> {
    let mut storage = Directory::open(directory, pair.config(2).owner()).expect("free");
    storage.load().expect("readable")
}

/// This test in another process.
fn child(pair: &Pair, role: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    let [one, two] = &pair.addresses;
    let directory = directory.to_str().expect("plain text");
    // Behind the name of the test program, which is not part of the test's name.
    let module =
        module_path!().split_once("::").map_or(String::new(), |(_, path)| format!("{path}::"));
    let test = "a_process_killed_between_write_and_send_has_written_and_not_sent";
    command
        .args(["--exact", &format!("{module}{test}")])
        .env(CHILD, format!("{role},{one},{two},{directory}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

async fn child_runs(told: &str) {
    let [role, one, two, directory] = told.split(',').collect::<Vec<_>>()[..] else {
        panic!("{told}")
    };
    let pair = Pair { addresses: [one.to_owned(), two.to_owned()] };
    let listener = TcpListener::bind(two).await.expect("free");
    let config = pair.config(2).with_directory(directory);
    let _election = if role == "abort" {
        let storage = Directory::open(Path::new(directory), config.owner()).expect("free");
        let storage = Faulty { storage, fault: Fault::Abort };
        Election::join_with(config, listener, storage).expect("can join")
    } else {
        Election::join_on(config, listener).expect("can join")
    };
    // The parent ends this process long before.
    tokio::time::sleep(LIMIT * 2).await;
}
