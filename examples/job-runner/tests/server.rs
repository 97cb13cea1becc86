//! The server of PostgreSQL that the tests start, where it is installed.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use postgres::{Client, NoTls};
use tempfile::TempDir;

use crate::wait_for;

/// A server in a temporary folder, on a port of its own. It ends when it is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
    databases: AtomicU32,
    _folder: TempDir,
}

/// The server that tests share while one of them runs.
static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server; none, with a notice, where PostgreSQL is not installed.
    pub(crate) fn running() -> Option<Arc<Self>> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Some(server);
        }
        let Some(programs) = programs() else {
            // Not by a macro: what those print is shown of failed tests only.
            let notice = "SKIPPED: PostgreSQL is not installed, so nothing is tested with it \
                          (Debian: apt-get install postgresql)\n";
            let _ = std::io::stderr().write_all(notice.as_bytes());
            return None;
        };
        let server = Arc::new(Self::start(&programs));
        *running = Arc::downgrade(&server);
        Some(server)
    }

    fn start(programs: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        std::fs::create_dir(&data).expect("ours");
        let user = User::who_owns(&[folder.path(), &data]);
        let mut initdb = user.command(&programs.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=test", "--encoding=UTF8", "-D"]);
        let made = initdb.arg(&data).output().expect("it is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let mut postgres = user.command(&programs.join("postgres"));
        postgres.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
        // No socket elsewhere. The machine does not crash here, so nothing needs to be on disk.
        postgres.args(["-k", "", "-F"]).stdout(Stdio::null()).stderr(Stdio::null());
        let process = postgres.spawn().expect("it is installed");
        let server = Self { process, port, databases: AtomicU32::new(0), _folder: folder };
        let connect = || Client::connect(&server.url("postgres"), NoTls).ok();
        wait_for("PostgreSQL answers", connect, String::new);
        server
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://test@127.0.0.1:{}/{database}", self.port)
    }

    /// Where a new database is.
    pub(crate) fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut client = Client::connect(&self.url("postgres"), NoTls).expect("it runs");
        client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a new name");
        self.url(&name)
    }
}

impl Drop for Server {
    /// SIGINT: connections are closed, and the server ends with all its processes.
    fn drop(&mut self) {
        let id = self.process.id().to_string();
        let asked = Command::new("kill").args(["-INT", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// The folder with the programs of a server.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Where Debian has them.
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    let has_both = |folder: &PathBuf| {
        ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
    };
    folders.into_iter().find(has_both)
}

/// The user and the group that a server runs as, if not those of the test: it refuses to be root.
struct User(Option<(u32, u32)>);

impl User {
    /// A user who may run a server, and owns these folders.
    fn who_owns(folders: &[&Path]) -> Self {
        use std::os::unix::fs::{MetadataExt as _, chown};
        if std::fs::metadata(folders[0]).expect("it was made").uid() != 0 {
            return Self(None);
        }
        let users = std::fs::read_to_string("/etc/passwd").expect("it is there");
        let user = |name: &str| {
            let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut numbers = line.split(':').skip(2).map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        };
        // Where there is no such user, the one that owns nothing.
        let (uid, gid) = user("postgres").unwrap_or((65_534, 65_534));
        for folder in folders {
            chown(folder, Some(uid), Some(gid)).expect("root may");
        }
        Self(Some((uid, gid)))
    }

    fn command(&self, program: &Path) -> Command {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(program);
        // The folder that this test runs in may be closed to the other user.
        command.current_dir("/").stdin(Stdio::null());
        if let Some((uid, gid)) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// A port on which no process listens, below those that the system hands out by itself.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let offset = std::process::id() + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 20_000 + u16::try_from(offset % 12_000).expect("small");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
