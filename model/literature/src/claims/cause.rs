//! What a verdict hangs on: few causes, each with many claims.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A rule, a fault, or a way of counting, on which the verdict of a claim hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// How long a process waits for the winner.
    TimeOut,
    /// What a process does that recovers.
    Restart,
    /// A process that is up is taken for one that has crashed.
    EarlySuspicion,
    /// A message is lost, and not sent again.
    LostMessage,
    /// Some processes do not reach others.
    Partition,
    /// The highest leads, or the one in office.
    Priority,
    /// A leader does not notice that its lease has ended.
    Lease,
    /// A resource knows only what it has been told.
    Fencing,
    /// Terms and votes.
    Term,
    /// A message goes round a ring.
    Ring,
    /// Groups merge.
    Groups,
    /// A transaction ends.
    Commit,
    /// How many messages there are.
    Messages,
    /// How long it takes.
    Duration,
    /// What a printed program does.
    Program,
    /// What another text says.
    Wording,
}

impl Cause {
    /// Every cause, in the order in which they are listed.
    pub const ALL: [Cause; 16] = [
        Cause::TimeOut,
        Cause::Restart,
        Cause::EarlySuspicion,
        Cause::LostMessage,
        Cause::Partition,
        Cause::Priority,
        Cause::Lease,
        Cause::Fencing,
        Cause::Term,
        Cause::Ring,
        Cause::Groups,
        Cause::Commit,
        Cause::Messages,
        Cause::Duration,
        Cause::Program,
        Cause::Wording,
    ];

    /// Returns the cause with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.words().0 == name)
    }

    /// Its name in the ledger, and a sentence for readers.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Cause::TimeOut => (
                "time-out",
                "A process that was answered waits for the winner, and the winner may crash. \
                 Without a second time-out it waits for ever.",
            ),
            Cause::Restart => (
                "restart",
                "A process recovers. It leads at once, or messages of before and after its crash \
                 are confused.",
            ),
            Cause::EarlySuspicion => (
                "early-suspicion",
                "Silence shows only that nothing came. A process that is slow is taken for one \
                 that has crashed.",
            ),
            Cause::LostMessage => {
                ("lost-message", "A message is lost, and no process sends it again.")
            }
            Cause::Partition => (
                "partition",
                "Some processes do not reach others, and nothing asks for a majority.",
            ),
            Cause::Priority => (
                "priority",
                "Either the highest leads, or the process that is in office stays there. No rule \
                 gives both.",
            ),
            Cause::Lease => (
                "lease",
                "A leader that is paused or cut off leads until it notices that its lease has \
                 ended.",
            ),
            Cause::Fencing => (
                "fencing",
                "A resource knows no epoch before it is told of it, and keeps nothing old out \
                 until then.",
            ),
            Cause::Term => {
                ("term", "No term has two leaders. A leader of an old term may still act.")
            }
            Cause::Ring => (
                "ring",
                "What goes round a ring is as old as its start. A process that crashes with it \
                 takes it along.",
            ),
            Cause::Groups => (
                "groups",
                "Groups that find each other become one, where each process hears each other.",
            ),
            Cause::Commit => (
                "commit",
                "A transaction ends alike everywhere, or waits. What a process may assume of \
                 another decides which.",
            ),
            Cause::Messages => (
                "messages",
                "The number of messages. An election that draws in all higher processes, and a \
                 running one that starts again, cost more than texts count.",
            ),
            Cause::Duration => (
                "duration",
                "How long something takes, or how long a time-out must be. Time-outs that run at \
                 the same time are not added up.",
            ),
            Cause::Program => ("program", "A printed program does something else than its text."),
            Cause::Wording => ("wording", "What a text reports of another text, or of a group."),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words().0)
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;

    /// The ledger and the command line use the same names, and no two causes share one.
    #[test]
    fn a_cause_is_read_by_the_name_that_is_printed() {
        for cause in Cause::ALL {
            let name = cause.to_string();
            assert_eq!(Cause::find(&name), Some(cause));
            assert_eq!(serde_json::to_value(cause).expect("JSON"), name.as_str());
        }
        assert_eq!(Cause::find("timeout"), None);
    }
}
