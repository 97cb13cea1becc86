//! The kinds of actions.

use crate::protocol::Id;
use crate::world::Action;
use serde::Serialize;

/// The kind of an action: what happens, without to which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message arrives.
    Deliver,
    /// A timer expires when it may.
    Expire,
    /// A timer expires too early.
    Suspect,
    /// A tick passes.
    Tick,
    /// A message is lost.
    Lose,
    /// A message is doubled.
    Duplicate,
    /// A process crashes.
    Crash,
    /// A process recovers.
    Recover,
    /// A process is paused.
    Pause,
    /// A process goes on.
    Resume,
    /// A link is cut.
    Cut,
    /// A link works again.
    Heal,
    /// A clock jumps.
    Jump,
}

impl Kind {
    /// The list of all kinds, in their order.
    pub const ALL: [Kind; 13] = [
        Kind::Deliver,
        Kind::Expire,
        Kind::Suspect,
        Kind::Tick,
        Kind::Lose,
        Kind::Duplicate,
        Kind::Crash,
        Kind::Recover,
        Kind::Pause,
        Kind::Resume,
        Kind::Cut,
        Kind::Heal,
        Kind::Jump,
    ];

    /// Returns the kind of an action.
    #[must_use]
    pub fn of(action: &Action) -> Kind {
        match action {
            Action::Deliver(_) => Kind::Deliver,
            Action::Expire { early: false, .. } => Kind::Expire,
            Action::Expire { early: true, .. } => Kind::Suspect,
            Action::Tick => Kind::Tick,
            Action::Lose(_) => Kind::Lose,
            Action::Duplicate(_) => Kind::Duplicate,
            Action::Crash(_) => Kind::Crash,
            Action::Recover(_) => Kind::Recover,
            Action::Pause(_) => Kind::Pause,
            Action::Resume(_) => Kind::Resume,
            Action::Cut(..) => Kind::Cut,
            Action::Heal(..) => Kind::Heal,
            Action::Jump(..) => Kind::Jump,
        }
    }

    /// Returns the name of the kind, as the command line and JSON have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Deliver => "deliver",
            Kind::Expire => "expire",
            Kind::Suspect => "suspect",
            Kind::Tick => "tick",
            Kind::Lose => "lose",
            Kind::Duplicate => "duplicate",
            Kind::Crash => "crash",
            Kind::Recover => "recover",
            Kind::Pause => "pause",
            Kind::Resume => "resume",
            Kind::Cut => "cut",
            Kind::Heal => "heal",
            Kind::Jump => "jump",
        }
    }

    /// Whether a walk limits how often it happens.
    pub(super) const fn is_budgeted(self) -> bool {
        matches!(
            self,
            Kind::Suspect
                | Kind::Lose
                | Kind::Duplicate
                | Kind::Crash
                | Kind::Recover
                | Kind::Pause
                | Kind::Cut
                | Kind::Jump
        )
    }
}

/// Returns the process to which an action happens, if it is one: the receiver of a message that is
/// delivered, lost or doubled.
#[must_use]
pub fn concerned(action: &Action) -> Option<Id> {
    match *action {
        Action::Deliver(e) | Action::Lose(e) | Action::Duplicate(e) => Some(e.to),
        Action::Expire { id, .. }
        | Action::Crash(id)
        | Action::Recover(id)
        | Action::Pause(id)
        | Action::Resume(id)
        | Action::Jump(id, _) => Some(id),
        Action::Cut(..) | Action::Heal(..) | Action::Tick => None,
    }
}
