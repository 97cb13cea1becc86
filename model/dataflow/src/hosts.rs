//! The file that says where the processes of a search are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The processes of a search, and which of them this one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Where each process listens, as `HOST:PORT`.
    pub addresses: Vec<String>,
    /// The number of this process: its position among them.
    pub process: usize,
}

/// What is wrong with the hosts.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The system refuses.
    #[error(
        "cannot read {}: {why}; give --hosts a file that says HOST:PORT of each process, one a \
         line",
        path.display()
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// A line is no address.
    #[error(
        "{}:{number}: '{line}' is no HOST:PORT; write one on each line, such as node-0:2101",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        number: usize,
        /// What it says.
        line: String,
    },
    /// Two processes cannot listen in one place.
    #[error("{}:{number}: {address} is there twice; each process needs its own", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The number of the second line.
        number: usize,
        /// The address.
        address: String,
    },
    /// No line is an address.
    #[error("{} names no host; write HOST:PORT for each process, one a line", .0.display())]
    Empty(PathBuf),
    /// There is no such process.
    #[error(
        "there is no process {process}: {} names {of}, and the first is 0", path.display()
    )]
    Process {
        /// The file.
        path: PathBuf,
        /// The number that was given.
        process: usize,
        /// How many processes there are.
        of: usize,
    },
}

impl Hosts {
    /// Reads a file with `HOST:PORT` on each line; what follows `#` is a comment.
    ///
    /// # Errors
    /// If the file cannot be read, or does not say where this process is.
    pub fn read(path: &Path, process: usize) -> Result<Self, HostsError> {
        let read = |why| HostsError::Read { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(read)?;
        let mut addresses: Vec<String> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let address = line.split('#').next().unwrap_or_default().trim().to_owned();
            if address.is_empty() {
                continue;
            }
            let path = || path.to_owned();
            if !is_address(&address) {
                return Err(HostsError::Line { path: path(), number, line: address });
            }
            if addresses.contains(&address) {
                return Err(HostsError::Twice { path: path(), number, address });
            }
            addresses.push(address);
        }
        let (path, of) = (path.to_owned(), addresses.len());
        if of == 0 {
            return Err(HostsError::Empty(path));
        }
        if process >= of {
            return Err(HostsError::Process { path, process, of });
        }
        Ok(Hosts { addresses, process })
    }

    /// The other processes, each with its number.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.addresses.len()).filter(|&process| process != self.process)
    }
}

/// Which process this is, and of how many.
pub(super) fn place(hosts: Option<&Hosts>) -> (usize, usize) {
    hosts.map_or((0, 1), |hosts| (hosts.process, hosts.addresses.len()))
}

fn is_address(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    parts.is_some_and(|(host, port)| {
        let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
        // The address of IPv6 is in brackets, since there are colons in it.
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host =
            bare.map_or(!host.contains(':'), |v6| v6.parse::<std::net::Ipv6Addr>().is_ok());
        is_port && is_host && !host.is_empty() && !host.contains(char::is_whitespace)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, process: usize) -> Result<Vec<String>, HostsError> {
        let name = format!("hosts-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).expect("the file can be written");
        let hosts = Hosts::read(&path, process);
        fs::remove_file(&path).expect("the file is there");
        hosts.map(|hosts| hosts.addresses)
    }

    #[test]
    fn lines_are_hosts_and_comments_are_not() {
        let text = "# two\n\nnode-0:2101  # the first\n [::1]:2102\n";
        assert_eq!(read(text, 1).expect("hosts"), ["node-0:2101", "[::1]:2102"]);
    }

    /// The sentences of the first three kinds stand among the lines that the program refuses.
    #[test]
    fn what_is_wrong_is_told() {
        for line in ["a", "a:", ":1", "a:0", "a:65536", "a b:1", "::1:5", "[x]:5", "a:1 b:2"] {
            let wrong = read(&format!("n:1\n{line}\n"), 0);
            let Err(HostsError::Line { number, line: told, .. }) = &wrong else {
                panic!("{line}: {wrong:?}");
            };
            assert_eq!((*number, told.as_str()), (2, line));
        }
        assert!(matches!(read("# none\n", 0), Err(HostsError::Empty(_))));
        let none = Hosts::read(Path::new("/proc/nowhere"), 0);
        assert!(matches!(none, Err(HostsError::Read { .. })));
        for (text, process, begin, end) in [
            ("a:1\nb:1\na:1", 0, "", ":3: a:1 is there twice; each process needs its own"),
            ("a:1\nb:1\n", 2, "there is no process 2: ", " names 2, and the first is 0"),
        ] {
            let wrong = read(text, process).expect_err("it is wrong").to_string();
            assert!(wrong.starts_with(begin) && wrong.ends_with(end), "{wrong}");
        }
    }
}
