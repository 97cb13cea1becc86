//! Instances of the program as real processes, which are gone when the test is, however it ends.

use std::process::{Command, Stdio};

use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::{Process, Processes, Signal};
use bellwether_testbed::wait::wait_for;

/// The nodes of the cluster.
pub(crate) const NODES: [u16; 3] = [1, 2, 3];

/// What was done: which job, by which node, in which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) job: u64,
    pub(crate) node: u16,
    pub(crate) epoch: u64,
}

/// The instances of one cluster, and their table.
pub(crate) struct Cluster {
    processes: Processes,
    database: String,
    more: &'static [&'static str],
}

impl Cluster {
    /// Starts an instance on each node, with a table of so many jobs; some of them are `long`:
    /// NUMBER=MILLISECONDS. Without the address of a database it is a file.
    pub(crate) fn start(
        database: Option<String>,
        jobs: u64,
        long: &[&str],
        more: &'static [&'static str],
    ) -> Self {
        let processes = Processes::new().expect("a folder");
        let folder = processes.folder();
        let file = || folder.join("jobs.db").to_str().expect("plain text").to_owned();
        let database = database.unwrap_or_else(file);
        let mut config = format!(
            "cluster = \"jobs\"\nprotocol = \"quorum\"\n[storage]\ndirectory = \"{}\"\n[members]\n",
            folder.join("{node}").to_str().expect("plain text")
        );
        for node in NODES {
            config += &format!("{node} = \"127.0.0.1:{}\"\n", free_port());
        }
        std::fs::write(folder.join("cluster.toml"), config).expect("writable");
        let mut cluster = Self { processes, database, more };
        let mut create = cluster.command("create");
        create.args(["--jobs", &jobs.to_string(), "--takes", "30"]);
        create.args(long.iter().flat_map(|long| ["--except", long]));
        let made = create.output().expect("the program starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        NODES.into_iter().for_each(|node| cluster.run(node));
        cluster
    }

    fn command(&self, what: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_job-runner"));
        command.args([what, "--database", &self.database]).stdin(Stdio::null());
        command
    }

    /// Starts the instance of `node`.
    pub(crate) fn run(&mut self, node: u16) {
        let open = |kind: &str| self.processes.append(format!("{node}.{kind}")).expect("writable");
        let mut command = self.command("run");
        command.arg("--config").arg(self.processes.folder().join("cluster.toml"));
        command.args(["--node", &node.to_string()]).args(self.more);
        command.stdout(open("out")).stderr(open("err"));
        self.processes.insert(node, Process::start(&mut command));
    }

    /// SIGKILL: the instance of `node` gets no chance to say anything.
    pub(crate) fn kill(&mut self, node: u16) {
        self.processes.take(node).expect("it runs").kill();
    }

    /// SIGTERM: the instance of `node` leaves. Returns whether it says that all went well.
    pub(crate) fn ask_to_end(&mut self, node: u16) -> bool {
        let mut process = self.processes.take(node).expect("it runs");
        process.ask_to_end();
        process.ended().success()
    }

    /// The instance of `node` stands still.
    pub(crate) fn pause(&self, node: u16) {
        self.signal(node, Signal::STOP);
    }

    /// It goes on.
    pub(crate) fn go_on(&self, node: u16) {
        self.signal(node, Signal::CONT);
    }

    fn signal(&self, node: u16, signal: Signal) {
        self.processes.get(node).expect("it runs").send(signal);
    }

    /// Waits until one of these instances says this, and returns which.
    pub(crate) fn wait_for(&self, nodes: &[u16], what: &str) -> u16 {
        let says = |&node: &u16| {
            let line = format!("node {node} {what}");
            self.said(node, "out").lines().any(|said| said.starts_with(&line))
        };
        let look = || nodes.iter().copied().find(says);
        wait_for(&format!("one of {nodes:?}: {what}"), look, || self.explain())
    }

    /// Waits until every job is done, and returns all results in their order.
    pub(crate) fn results(&self, jobs: u64) -> Vec<Done> {
        let look = || {
            let done = self.done()?;
            let all = (1..=jobs).all(|job| done.iter().any(|done| done.job == job));
            all.then_some(done)
        };
        wait_for("every job is done", look, || self.explain())
    }

    /// What the table says, if it can be read now.
    fn done(&self) -> Option<Vec<Done>> {
        let output = self.command("results").output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = |line: &str| {
            let mut words = line.split(' ').skip(1).step_by(2);
            let mut number = || words.next().and_then(|word| word.parse().ok());
            let (job, node, epoch) = (number()?, number()?, number()?);
            let node = u16::try_from(node).ok()?;
            Some(Done { job, node, epoch })
        };
        let lines = || text.lines().map(|said| line(said).expect("three numbers")).collect();
        output.status.success().then(lines)
    }

    fn said(&self, node: u16, kind: &str) -> String {
        self.processes.text(format!("{node}.{kind}"))
    }

    fn explain(&self) -> String {
        let said = NODES.map(|node| self.said(node, "out") + &self.said(node, "err"));
        format!("{}{:?}", said.concat(), self.done())
    }
}
