//! What a process knows: the paper's state vector, and how far its procedure has come.

use bellwether_engine::protocol::{Id, Ids};
use serde::{Deserialize, Serialize};

/// The state of one process: the paper's S(i), and where its own procedure stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Process {
    /// S(i).s.
    pub status: Status,
    /// S(i).c: the coordinator, which means something while the process reorganizes or is normal.
    pub coordinator: Coordinator,
    /// S(i).h: who halted the process last.
    pub halter: Option<Id>,
    /// S(i).d: the task, which means something while the process is normal.
    pub task: Option<Task>,
    /// S(i).Up: those whom the process has halted in its own election.
    pub up: Ids,
    /// What it is doing itself.
    pub step: Step,
}

/// S(i).s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It has failed, or has recovered and has not been in an election since.
    #[default]
    Down,
    /// It has been halted, by another or by itself.
    Election,
    /// It knows its coordinator, and waits for its task.
    Reorganization,
    /// It works.
    Normal,
}

/// S(i).c.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinator {
    /// There has been none since it recovered.
    #[default]
    Unknown,
    /// The process itself.
    Myself,
    /// Another.
    Other(Id),
}

impl Coordinator {
    /// `it`, as process `me` sees it.
    #[must_use]
    pub fn seen_by(me: Id, it: Id) -> Coordinator {
        if it == me { Coordinator::Myself } else { Coordinator::Other(it) }
    }

    /// The coordinator's id, if it is that of process `me`.
    #[must_use]
    pub fn of(self, me: Id) -> Option<Id> {
        match self {
            Coordinator::Unknown => None,
            Coordinator::Myself => Some(me),
            Coordinator::Other(it) => Some(it),
        }
    }
}

/// Where a process's own procedure stands: which call it waits to be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// No procedure of its own is under way.
    #[default]
    Idle,
    /// Recovery has not begun its election.
    Recovering,
    /// Timeout: is the coordinator there?
    Probing(Id),
    /// Election: is this higher process there?
    Asking(Id),
    /// Election: this lower process is to halt.
    Halting(Id),
    /// Election: this one of those that were halted is to know the coordinator.
    Announcing(Id),
    /// Election: this one is to have its task.
    HandingOut(Id),
    /// Check: is this process normal?
    Checking(Id),
}

impl Step {
    /// Whether the process is halting others.
    #[must_use]
    pub fn halts(self) -> bool {
        matches!(self, Step::Halting(_))
    }
}

/// S(i).d: what a process works on. Who computed it, and its number among those that this
/// coordinator has computed, which is all that can be asked of two tasks: are they the same?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The coordinator that computed it.
    pub by: Id,
    /// Its number.
    pub number: u8,
}

/// How many tasks a process has computed: kept in safe storage, lest a coordinator that recovers
/// give a new task the number of an old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Tasks(pub u8);

impl Tasks {
    /// So many tasks of one process in a row have different numbers, and a search follows no more.
    pub const TOLD_APART: u8 = 8;

    /// One more.
    #[must_use]
    pub fn next(self) -> Tasks {
        Tasks((self.0 + 1) % Self::TOLD_APART)
    }
}
