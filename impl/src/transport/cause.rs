//! Why a connection has ended, in words that say what became of the process at its other end.

use std::fmt;
use std::io::{self, ErrorKind};
use std::time::Duration;

use bellwether_stores::causes::causes;
use humantime::format_duration;

/// Why a connection has ended, or could not be made.
#[derive(Debug)]
pub(crate) enum Cause {
    /// The other side has ended it in good order.
    HungUp,
    /// The system says so.
    Io(io::Error),
    /// Nothing was heard for so long.
    Silent(Duration),
    /// For so long, the other side has taken in nothing of what was sent.
    Stuck(Duration),
    /// Another process has the place of the one at the other end.
    Replaced,
    /// What was heard makes no sense.
    Nonsense(String),
}

impl Cause {
    /// Whether the other side has ended the connection.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::HungUp | Self::Io(_))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HungUp => {
                f.write_str("it hung up: its process has ended, or has closed the connection")
            }
            Self::Io(error) => {
                f.write_str(&causes(error))?;
                meaning(error.kind()).map_or(Ok(()), |meaning| write!(f, ": {meaning}"))
            }
            Self::Silent(time) => {
                let time = format_duration(*time);
                write!(f, "nothing was heard for {time}: it is paused, cut off or slow")
            }
            Self::Stuck(time) => {
                let time = format_duration(*time);
                write!(f, "it takes in nothing for {time}: it is paused, cut off or slow")
            }
            Self::Replaced => f.write_str("another process has its place: it has restarted"),
            Self::Nonsense(problem) => f.write_str(problem),
        }
    }
}

/// What an error of this kind says about the process at the other end.
fn meaning(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("its process is gone"),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            Some("its process was killed or has restarted")
        }
        ErrorKind::UnexpectedEof => Some("its process has ended"),
        ErrorKind::TimedOut => Some("it is cut off or slow, or its machine is down"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            Some("the network is cut, or its machine is down")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(kind: ErrorKind) -> Cause {
        Cause::Io(kind.into())
    }

    /// Killed, restarted, paused, cut off: the text says which.
    #[test]
    fn each_cause_says_what_it_means() {
        let time = Duration::from_secs(15);
        for (cause, says, ends) in [
            (Cause::HungUp, "its process has ended", true),
            (io(ErrorKind::ConnectionReset), "killed or has restarted", true),
            (io(ErrorKind::BrokenPipe), "killed or has restarted", true),
            (io(ErrorKind::ConnectionRefused), "its process is gone", true),
            (io(ErrorKind::UnexpectedEof), "its process has ended", true),
            (io(ErrorKind::TimedOut), "it is cut off or slow, or its machine is down", true),
            (io(ErrorKind::HostUnreachable), "the network is cut", true),
            (
                Cause::Silent(time),
                "nothing was heard for 15s: it is paused, cut off or slow",
                false,
            ),
            (Cause::Stuck(time), "takes in nothing for 15s: it is paused, cut off or slow", false),
            (Cause::Replaced, "it has restarted", false),
            (Cause::Nonsense("malformed frame".to_owned()), "malformed frame", false),
        ] {
            assert!(cause.to_string().contains(says), "{cause}");
            assert_eq!(cause.is_end(), ends, "{cause}");
        }
        assert_eq!(io(ErrorKind::OutOfMemory).to_string(), "out of memory");
        let manual = io::Error::new(ErrorKind::UnexpectedEof, "see https://docs.rs/rustls");
        let ended = "the other side closed the connection: its process has ended";
        assert_eq!(Cause::Io(manual).to_string(), ended);
    }
}
