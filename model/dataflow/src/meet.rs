//! How the processes of a search find each other, and see that they search the same.

use super::hosts::Hosts;
use bellwether_engine::check::exact::distributed::difference;
use bellwether_engine::check::{Cancel, Limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a process waits for the others to be started.
const WAIT: Duration = Duration::from_secs(60);
/// How long it waits for an answer of a process that is there.
const ANSWER: Duration = Duration::from_secs(5);
/// For how long a connection is tried, and how long until the next time.
const TRY: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// What every greeting begins with.
const GREETING: &[u8; 8] = b"bellwthr";
/// The most bytes that the rest of it has.
const LONGEST: u32 = 1 << 20;

/// Why processes do not search together.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// This process cannot listen.
    #[error("cannot listen on {address}, as process {process} of the hosts: {why}")]
    Listen {
        /// Where.
        address: String,
        /// The number of this process.
        process: usize,
        /// What the system says.
        why: io::Error,
    },
    /// A process is not there.
    #[error(
        "process {process} ({address}) is not there after {seconds} s: {why}; start it with \
         --process {process}"
    )]
    Absent {
        /// The number of the process.
        process: usize,
        /// Where it should be.
        address: String,
        /// How long it was waited for.
        seconds: u64,
        /// What is known of it.
        why: String,
    },
    /// A process searches something else.
    #[error(
        "process {process} ({address}) searches something else: {what}; give all processes the \
         same command, but for --process"
    )]
    Other {
        /// The number of the process.
        process: usize,
        /// Where it is.
        address: String,
        /// What differs.
        what: String,
    },
    /// It was interrupted before all were there.
    #[error("interrupted while it waited for process {process} ({address})")]
    Interrupted {
        /// The number of the process.
        process: usize,
        /// Where it should be.
        address: String,
    },
    /// They cannot go on together.
    #[error(
        "no save is there in the folders of all processes: {}; bring the folders back that are \
         missing, or leave --resume out and begin anew with other folders", saves_of(.0)
    )]
    NothingCommon(
        /// The numbers of the saves of each process.
        Vec<Vec<u64>>,
    ),
    /// A process has gone while they searched.
    #[error(
        "the connection to process {process} ({address}) is lost: it was stopped, or its machine \
         or the network failed; start all processes again, with --resume if they have saved the \
         search with --disk"
    )]
    Lost {
        /// The number of the process.
        process: usize,
        /// Where it was.
        address: String,
    },
}

/// Which saves each process has, in words.
fn saves_of(all: &[Vec<u64>]) -> String {
    let one = |(process, saves): (usize, &Vec<u64>)| {
        let saves: Vec<_> = saves.iter().map(|number| format!("save {number}")).collect();
        let saves = if saves.is_empty() { "none".to_owned() } else { saves.join(" and ") };
        format!("process {process} has {saves}")
    };
    all.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

/// The newest save that all processes have.
pub(super) fn newest_common(all: Vec<Vec<u64>>) -> Result<u64, MeetError> {
    let of_all = |number: &&u64| all.iter().all(|saves| saves.contains(number));
    let newest = all.iter().flatten().filter(of_all).max().copied();
    newest.ok_or(MeetError::NothingCommon(all))
}

/// What a process says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) process: usize,
    /// What must be the same in all processes: each by its name.
    pub(super) same: Value,
    /// The numbers of the saves from which it can go on, if it is to.
    pub(super) saves: Vec<u64>,
}

impl Hello {
    fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        let mut bytes = GREETING.to_vec();
        bytes.extend(length.to_be_bytes());
        bytes.extend(text);
        stream.write_all(&bytes)
    }

    fn receive(stream: &mut TcpStream) -> io::Result<Hello> {
        let (mut greeting, mut length) = ([0; GREETING.len()], [0; size_of::<u32>()]);
        stream.read_exact(&mut greeting)?;
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if greeting != *GREETING || length > LONGEST {
            return Err(io::Error::other("something else answers there"));
        }
        let mut text = vec![0; length as usize];
        stream.read_exact(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// A place in which processes meet.
struct Meeting<'a> {
    hosts: &'a Hosts,
    hello: &'a Hello,
    found: Others,
    /// What went wrong last with each process.
    why: Vec<String>,
}

/// The other processes, by their numbers.
pub(super) type Others = Vec<Option<(TcpStream, Hello)>>;

/// A connection to each other process, and what that said; `waits` is told how long it has been
/// waited for.
pub(super) fn meet(
    hosts: &Hosts,
    hello: &Hello,
    limits: &Limits,
    mut waits: impl FnMut(Duration),
) -> Result<Others, MeetError> {
    let (process, all) = (hosts.process, hosts.addresses.len());
    let address = hosts.addresses[process].clone();
    let listen = |why| MeetError::Listen { address: address.clone(), process, why };
    let listener = TcpListener::bind(&address).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    let found = (0..all).map(|_| None).collect();
    let why = vec!["nothing came from it".to_owned(); all];
    let mut meeting = Meeting { hosts, hello, found, why };
    let started = Instant::now();
    let wait = limits.time.map_or(WAIT, |time| time.min(WAIT));
    while let Some(process) = hosts.others().find(|&other| meeting.found[other].is_none()) {
        let came = meeting.accept(&listener)? | meeting.connect()?;
        let address = hosts.addresses[process].clone();
        if limits.cancel.is_some_and(Cancel::is_due) {
            return Err(MeetError::Interrupted { process, address });
        }
        if !came && started.elapsed() >= wait {
            let (seconds, why) = (wait.as_secs(), meeting.why.swap_remove(process));
            return Err(MeetError::Absent { process, address, seconds, why });
        }
        if !came {
            waits(started.elapsed());
            sleep(AGAIN);
        }
    }
    Ok(meeting.found)
}

impl Meeting<'_> {
    /// Looks whether a process with a higher number calls; whether one did.
    fn accept(&mut self, listener: &TcpListener) -> Result<bool, MeetError> {
        let Ok((mut stream, _)) = listener.accept() else { return Ok(false) };
        // What says no greeting is no process of this search, and does no harm.
        let greeted = prepare(&stream).and_then(|()| Hello::receive(&mut stream));
        let Ok(theirs) = greeted else { return Ok(false) };
        let process = theirs.process;
        if self.hello.send(&mut stream).is_err() {
            return Ok(false);
        }
        self.same(&theirs)?;
        if process <= self.hosts.process || process >= self.found.len() {
            return Ok(false);
        }
        self.found[process] = Some((stream, theirs));
        Ok(true)
    }

    /// Calls the processes with lower numbers; whether one answered.
    fn connect(&mut self) -> Result<bool, MeetError> {
        for process in 0..self.hosts.process {
            if self.found[process].is_some() {
                continue;
            }
            match self.call(process) {
                Ok((stream, theirs)) => {
                    self.same(&theirs)?;
                    if theirs.process == process {
                        self.found[process] = Some((stream, theirs));
                        return Ok(true);
                    }
                    self.why[process] = format!("process {} answers there", theirs.process);
                }
                Err(error) => self.why[process] = error.to_string(),
            }
        }
        Ok(false)
    }

    fn call(&self, process: usize) -> io::Result<(TcpStream, Hello)> {
        let mut last = io::Error::other("there is no such host");
        for place in self.hosts.addresses[process].to_socket_addrs()? {
            match TcpStream::connect_timeout(&place, TRY) {
                Ok(mut stream) => {
                    prepare(&stream)?;
                    self.hello.send(&mut stream)?;
                    let theirs = Hello::receive(&mut stream)?;
                    return Ok((stream, theirs));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Whether another process searches the same.
    fn same(&self, theirs: &Hello) -> Result<(), MeetError> {
        let Some(what) = difference(&self.hello.same, &theirs.same) else { return Ok(()) };
        let process = theirs.process;
        let address = self.hosts.addresses.get(process).cloned().unwrap_or_default();
        Err(MeetError::Other { process, address, what })
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_on_from_the_newest_save_that_all_have() {
        let newest = |all: &[&[u64]]| {
            newest_common(all.iter().map(|saves| saves.to_vec()).collect())
                .map_err(|error| error.to_string())
        };
        assert_eq!(newest(&[&[4, 5]]), Ok(5));
        assert_eq!(newest(&[&[4, 5], &[5, 6], &[4, 5]]), Ok(5));
        assert_eq!(newest(&[&[1], &[1, 2]]), Ok(1));
        let told = newest(&[&[3, 4], &[5, 6], &[]]).expect_err("they have nothing in common");
        let what = "process 0 has save 3 and save 4, process 1 has save 5 and save 6, process 2 \
                    has none;";
        assert!(told.contains(what), "{told}");
    }
}
