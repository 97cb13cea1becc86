//! The servers of the stores, in temporary folders and on free ports, gone when the test is.
//!
//! For Kubernetes another process of the program `bellwether-soak` stands in, which is no API
//! server. Only that program can start one.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::ports::free_port;
use crate::process::{Process, Signal, quiet, send};
use crate::wait::LIMIT;

/// How long between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// The user that runs PostgreSQL if this user is root: it refuses to run as root.
const USER: &str = "postgres";

/// A store that people already run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A file.
    Sqlite,
    /// A database.
    Postgres,
    /// A server of keys, which keeps each change in a file.
    Redis,
    /// One member.
    Etcd,
    /// What stands in for its API server.
    Kubernetes,
}

impl Store {
    /// Returns its name, as in an address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Etcd => "etcd",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Returns why it cannot be tried here; nothing if it can.
    pub fn missing(self) -> Option<String> {
        let installed = match self {
            Self::Sqlite | Self::Kubernetes => true,
            Self::Postgres => postgres("initdb").is_ok() && owner().is_ok(),
            Self::Redis => runs("redis-server"),
            Self::Etcd => runs("etcd"),
        };
        (!installed).then(|| format!("skipped: no server of {} is installed", self.name()))
    }
}

fn runs(program: &str) -> bool {
    quiet(program).arg("--version").status().is_ok_and(|status| status.success())
}

/// Returns where a program of PostgreSQL is. Debian has none of those of the server on the path.
pub fn postgres(program: &str) -> anyhow::Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin").join(program));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = debian.chain(others).find(|path| path.is_file());
    found.with_context(|| format!("{program} is not installed"))
}

/// The user and the group that must own what PostgreSQL has; nothing if this user may.
fn owner() -> anyhow::Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find_map(|line| line.strip_prefix(USER)?.strip_prefix(':'));
    let mut fields = line.with_context(|| format!("there is no user {USER}"))?.split(':').skip(1);
    let mut number = || fields.next().and_then(|field| field.parse().ok()).context("no number");
    Ok(Some((number()?, number()?)))
}

/// A server, or the file of SQLite.
pub struct Server {
    store: Store,
    folder: TempDir,
    ports: [u16; 2],
    /// The port of what it repeats.
    primary: Option<u16>,
    process: Option<Process>,
    /// What stands in the way of all that want to write to a file.
    lock: Option<Connection>,
}

impl Server {
    /// Starts a server, and waits until it answers.
    pub fn start(store: Store) -> anyhow::Result<Self> {
        Self::start_after(store, None)
    }

    /// Starts a Redis that repeats what the one at this port does, later.
    pub fn replica(primary: u16) -> anyhow::Result<Self> {
        Self::start_after(Store::Redis, Some(primary))
    }

    fn start_after(store: Store, primary: Option<u16>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("bellwether-store-").tempdir()?;
        let ports = [free_port(), free_port()];
        let mut server = Self { store, folder, ports, primary, process: None, lock: None };
        if store == Store::Postgres {
            if let Some((user, group)) = owner()? {
                std::os::unix::fs::chown(server.folder.path(), Some(user), Some(group))?;
            }
            let mut command = server.program(&postgres("initdb")?)?;
            command.arg("--pgdata").arg(server.data()).args(["--username", USER, "--no-sync"]);
            command.args(["--auth", "trust", "--encoding", "UTF8", "--locale", "C"]);
            anyhow::ensure!(command.status()?.success(), "initdb: {}", server.log());
        }
        server.serve()?;
        Ok(server)
    }

    /// Returns what the configuration says of it.
    pub fn address(&self) -> String {
        self.address_at(self.port())
    }

    /// Returns the same, reached at another port.
    pub fn address_at(&self, port: u16) -> String {
        match self.store {
            Store::Sqlite => format!("sqlite:{}", self.data().display()),
            Store::Postgres => format!("postgres://{USER}@127.0.0.1:{port}/{USER}"),
            Store::Redis => format!("redis://127.0.0.1:{port}"),
            Store::Etcd => format!("etcd://127.0.0.1:{port}"),
            Store::Kubernetes => format!("kubernetes+http://127.0.0.1:{port}/shop/orders"),
        }
    }

    /// Returns which store this is.
    pub fn store(&self) -> Store {
        self.store
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Returns whether a process keeps the file of SQLite locked for longer than any question takes.
    pub fn is_locked(&self) -> bool {
        let Ok(file) = Connection::open(self.data()) else { return false };
        let _ = file.busy_timeout(Duration::from_secs(1));
        file.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err()
    }

    /// SIGKILL to all of its processes.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end();
        }
    }

    /// Starts it again. If it runs, it is asked to end first.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.end();
        self.serve()
    }

    /// Asks it to end, and kills what does not.
    fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // SIGTERM would let PostgreSQL wait for its clients.
        let asked = send(process.id(), Signal::INT).is_ok();
        let deadline = Instant::now() + LIMIT;
        while asked && Instant::now() < deadline && !process.has_ended() {
            thread::sleep(LOOK_AGAIN);
        }
        process.end();
    }

    /// SIGSTOP to all of its processes; a file gets a writer that does not end.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if self.process.is_none() {
            self.lock = Some(lock(&self.data())?);
        }
        self.signal(Signal::STOP);
        Ok(())
    }

    /// SIGCONT.
    pub fn cont(&mut self) {
        _ = self.lock.take();
        self.signal(Signal::CONT);
    }

    /// The first process starts the others.
    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.send_to_all(signal);
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn serve(&mut self) -> anyhow::Result<()> {
        if self.store == Store::Sqlite {
            return Ok(());
        }
        let deadline = Instant::now() + LIMIT;
        loop {
            // What is left of the one before may be in the way still, so it may end at once.
            if self.process.as_mut().is_none_or(Process::has_ended) {
                self.process = Some(Process::spawn(&mut self.command()?)?);
            }
            thread::sleep(LOOK_AGAIN);
            if self.answers() {
                return Ok(());
            }
            let (name, log) = (self.store.name(), self.log());
            anyhow::ensure!(Instant::now() < deadline, "{name} does not start: {log}");
        }
    }

    /// A program that says what it says to the log, and that PostgreSQL does not refuse.
    fn program(&self, program: &Path) -> anyhow::Result<Command> {
        let path = self.folder.path().join("log");
        let log = File::options().create(true).append(true).open(path)?;
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        if let (Store::Postgres, Some((user, group))) = (self.store, owner()?) {
            command.uid(user).gid(group);
        }
        Ok(command)
    }

    fn command(&self) -> anyhow::Result<Command> {
        let [port, other] = self.ports;
        let (folder, data) = (self.folder.path(), self.data());
        Ok(match self.store {
            Store::Sqlite => anyhow::bail!("a file is no server"),
            Store::Postgres => {
                let mut command = self.program(&postgres("postgres")?)?;
                command.arg("-D").arg(data).args(["-p", &port.to_string()]);
                let sockets = format!("unix_socket_directories={}", folder.display());
                // A process is killed here, and never a machine.
                command.args(["-c", "listen_addresses=127.0.0.1", "-c", &sockets]);
                command.args(["-c", "fsync=off", "-c", "max_connections=300"]);
                command
            }
            Store::Redis => {
                let mut command = self.program(Path::new("redis-server"))?;
                command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
                command.arg("--dir").arg(folder).args(["--save", "", "--appendonly", "yes"]);
                command.args(["--appendfsync", "always", "--repl-diskless-sync-delay", "0"]);
                if let Some(primary) = self.primary {
                    command.args(["--replicaof", "127.0.0.1", &primary.to_string()]);
                }
                command
            }
            Store::Etcd => {
                let (client, peer) =
                    (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{other}"));
                let mut command = self.program(Path::new("etcd"))?;
                command.arg("--data-dir").arg(data).args(["--name", "one", "--logger", "zap"]);
                command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
                command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
                command.args(["--initial-cluster", &format!("one={peer}")]);
                // So that a lease may be as short as a second.
                command.args(["--heartbeat-interval", "50", "--election-timeout", "500"]);
                command
            }
            Store::Kubernetes => {
                let mut command = self.program(&std::env::current_exe()?)?;
                command.args(["stand-in", &port.to_string()]).arg(data);
                command
            }
        })
    }

    fn answers(&self) -> bool {
        let port = self.port();
        match self.store {
            Store::Sqlite => true,
            Store::Postgres => postgres("pg_isready").is_ok_and(|program| {
                let mut command = Command::new(program);
                command.args(["--quiet", "-h", "127.0.0.1", "-p", &port.to_string()]);
                command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
            }),
            Store::Redis => ask(port, "PING\r\nQUIT\r\n").is_ok_and(|said| said.contains("PONG")),
            Store::Etcd => {
                let said = ask(port, "GET /health HTTP/1.0\r\n\r\n");
                said.is_ok_and(|said| said.contains("\"true\""))
            }
            Store::Kubernetes => {
                let said = ask(port, "GET /readyz HTTP/1.0\r\n\r\n");
                said.is_ok_and(|said| said.ends_with("ok\n"))
            }
        }
    }
}

impl Drop for Server {
    /// A PostgreSQL that is killed leaves memory behind that processes share.
    fn drop(&mut self) {
        self.cont();
        self.end();
    }
}

/// Returns what a server on loopback answers until it ends the connection.
pub fn ask(port: u16, question: &str) -> io::Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(question.as_bytes())?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

/// Tells what stands in for Kubernetes that this happens there.
pub(crate) fn tell(port: u16, what: impl fmt::Debug) -> anyhow::Result<()> {
    let said = ask(port, &format!("GET /{what:?} HTTP/1.0\r\n\r\n"))?;
    anyhow::ensure!(said.ends_with("ok\n"), "{said}");
    Ok(())
}

/// Begins to write, and does not end.
fn lock(file: &Path) -> anyhow::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(LIMIT)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    Ok(connection)
}
