//! Real processes: `bellwether run`, each with a trace, and a network between them in which each
//! message waits until it is let through.
//!
//! What a process does next is its own affair, as its timers run on a real clock. So no execution
//! of a suite can be forced on it. What is covered is their *kinds*: which message arrives, or
//! which timer expires, in which role. What can be chosen is what the network does, and when a
//! process is killed and started again. It is chosen so that each kind comes about soon. For a
//! while all goes well, so that a group agrees. Then a process is killed, messages are late while
//! timers expire, some are lost, and those of one process come after what the others have said.

mod network;

use bellwether_bridge::processes::{Done, Request};
use network::Network;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

/// How long between two choices.
const TICK: Duration = Duration::from_millis(1);

/// How long a trace takes at most to be in its file.
const WRITTEN: Duration = Duration::from_millis(200);

/// In how many of 200 ticks a slow network lets a message through, at most.
const MOST: u64 = 20;

/// How long a stretch is, in ticks: in most protocols a few time-outs.
const LONGEST: u64 = 2_500;

/// The file of a trace in the folder of its node.
const TRACE: &str = "trace.ndjson";

/// How many bytes of a log are shown at most.
const SHOWN: usize = 2_000;

/// Runs processes for the time that is asked for.
///
/// # Errors
///
/// If one cannot be started, or ends by itself.
pub fn run(request: &Request<'_>) -> io::Result<Done> {
    let program = match request.program {
        Some(program) => program.to_owned(),
        None => beside()?,
    };
    let mut network = Network::new();
    let Request { protocol, nodes, folder, .. } = *request;
    let cluster = Cluster::new(program, protocol, nodes, folder, &mut network)?;
    let mut run = Run { cluster, network, chance: Chance(1), done: Done::default() };
    for at in 0..run.cluster.nodes.len() {
        run.start(at)?;
    }
    let until = Instant::now() + request.time;
    let goes_on = || Instant::now() < until && (request.goes_on)();
    while goes_on() {
        run.stretch(&goes_on)?;
    }
    thread::sleep(WRITTEN);
    let Run { cluster, mut done, .. } = run;
    done.logs = cluster.traces();
    Ok(done)
}

/// The program beside this one.
fn beside() -> io::Result<PathBuf> {
    let own = env::current_exe()?;
    let program = own.with_file_name(format!("bellwether{}", env::consts::EXE_SUFFIX));
    if program.exists() {
        return Ok(program);
    }
    let program = program.display();
    Err(io::Error::other(format!("there is no {program}; build it, or give --program PATH")))
}

struct Run {
    cluster: Cluster,
    network: Network,
    chance: Chance,
    done: Done,
}

impl Run {
    /// A group that agrees; then a process that is killed and started again while the network is
    /// this or that.
    fn stretch(&mut self, goes_on: &dyn Fn() -> bool) -> io::Result<()> {
        let calm = LONGEST / 2 + self.chance.below(LONGEST / 2);
        self.pass(Weather::Calm, calm, goes_on)?;
        let at = self.chance.place(self.cluster.nodes.len());
        self.done.kills += u64::from(self.cluster.kill(at)?);
        for round in 0..4 {
            if round == 2 {
                self.start(at)?;
            }
            let (weather, time) = (self.weather(), self.chance.below(LONGEST));
            self.pass(weather, time, goes_on)?;
        }
        Ok(())
    }

    fn weather(&mut self) -> Weather {
        match self.chance.below(6) {
            0 => Weather::Calm,
            1 => Weather::Still,
            2 | 3 => Weather::Apart(self.chance.place(self.cluster.nodes.len())),
            _ => Weather::Slow(1 + self.chance.below(MOST)),
        }
    }

    /// The network is like this for so many ticks.
    fn pass(&mut self, weather: Weather, ticks: u64, goes_on: &dyn Fn() -> bool) -> io::Result<()> {
        for _ in 0..ticks {
            if !goes_on() {
                return Ok(());
            }
            let choice = self.chance.place(usize::MAX);
            match weather {
                Weather::Calm => self.done.delivered += self.network.deliver_all(None),
                Weather::Still => {}
                Weather::Apart(at) => self.done.delivered += self.network.deliver_all(Some(at)),
                Weather::Slow(often) => match self.chance.below(200) {
                    0 => self.done.lost += u64::from(self.network.lose(choice)),
                    due if due <= often => {
                        self.done.delivered += u64::from(self.network.deliver(choice));
                    }
                    _ => {}
                },
            }
            thread::sleep(TICK);
        }
        self.cluster.check()
    }

    fn start(&mut self, at: usize) -> io::Result<()> {
        self.done.starts += 1;
        self.cluster.start(at)
    }
}

/// What the network does.
#[derive(Clone, Copy)]
enum Weather {
    /// It lets everything through at once.
    Calm,
    /// It lets nothing through.
    Still,
    /// It lets everything through but what this node says or is to hear, which comes later.
    Apart(usize),
    /// It lets one message through now and then, in so many of 200 ticks, and loses some.
    Slow(u64),
}

/// Numbers that look random, the same in each run: xorshift, by G. Marsaglia.
struct Chance(u64);

impl Chance {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound.max(1)
    }

    fn place(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or(usize::MAX)
    }
}

/// The processes: daemons on the loopback interface, each with a configuration, a directory, a log
/// and a trace of its own. When this is dropped, none is left.
struct Cluster {
    program: PathBuf,
    nodes: Vec<Daemon>,
}

/// One node: where its files are, and its process, if it is up.
struct Daemon {
    folder: PathBuf,
    process: Option<Child>,
}

impl Cluster {
    /// Prepares so many nodes, which talk to each other through `network`. None of them runs.
    fn new(
        program: PathBuf,
        protocol: &str,
        count: usize,
        folder: &Path,
        network: &mut Network,
    ) -> io::Result<Self> {
        // All at once, or two would be the same.
        let free: Vec<TcpListener> = (0..count)
            .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .collect::<io::Result<_>>()?;
        let ports: Vec<SocketAddr> =
            free.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
        drop(free);
        let mut nodes = Vec::new();
        for (&own, node) in ports.iter().zip(1_u16..) {
            let mut members = String::new();
            for (&target, other) in ports.iter().zip(1_u16..) {
                let address =
                    if other == node { own } else { network.relay((node, other), target)? };
                members += &format!("{other} = \"{address}\"\n");
            }
            let folder = folder.join(node.to_string());
            fs::create_dir_all(&folder)?;
            let data = folder.join("data");
            let text = format!(
                "cluster = \"suite\"\nnode = {node}\nprotocol = \"{protocol}\"\n[members]\n\
                 {members}[storage]\ndirectory = '{}'\n",
                data.display()
            );
            fs::write(folder.join("node.toml"), text)?;
            nodes.push(Daemon { folder, process: None });
        }
        Ok(Self { program, nodes })
    }

    /// Starts a node, for the first time or again.
    fn start(&mut self, at: usize) -> io::Result<()> {
        let Daemon { folder, process } = &mut self.nodes[at];
        let log = File::options().create(true).append(true).open(folder.join("log"))?;
        let child = Command::new(&self.program)
            .arg("run")
            .arg("--config")
            .arg(folder.join("node.toml"))
            .arg("--trace")
            .arg(folder.join(TRACE))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| {
                let program = self.program.display();
                io::Error::other(format!("cannot run {program}; give --program PATH: {error}"))
            })?;
        *process = Some(child);
        Ok(())
    }

    /// Kills a node: it has no time for a last word. Returns whether it was up.
    fn kill(&mut self, at: usize) -> io::Result<bool> {
        let Some(mut child) = self.nodes[at].process.take() else { return Ok(false) };
        child.kill()?;
        child.wait()?;
        Ok(true)
    }

    /// Looks whether a node has ended that was not killed.
    fn check(&mut self) -> io::Result<()> {
        for Daemon { folder, process } in &mut self.nodes {
            let Some(child) = process else { continue };
            if let Some(status) = child.try_wait()? {
                let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
                let from = log.len().saturating_sub(SHOWN);
                let end = log.get(from..).unwrap_or_default();
                let words = format!("a process has ended by itself ({status}):\n{end}");
                return Err(io::Error::other(words));
            }
        }
        Ok(())
    }

    /// The traces of those that have written one.
    fn traces(&self) -> Vec<PathBuf> {
        let traces = self.nodes.iter().map(|node| node.folder.join(TRACE));
        traces.filter(|trace| trace.metadata().is_ok_and(|file| file.len() > 0)).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for at in 0..self.nodes.len() {
            // One that cannot be killed has ended.
            let _ = self.kill(at);
        }
    }
}
