//! Three-phase commit with an elected coordinator: before it commits, it tells all that all have
//! voted YES (D. Skeen, *Nonblocking Commit Protocols*, 1981; the same, *A Quorum-Based Commit
//! Protocol*, 1982; Bernstein, Hadzilacos and Goodman, 1987, section 7.5).
//!
//! No process commits while another may be uncertain, so those that are left know enough to decide
//! when the coordinator fails: by what is known of those that answer, or with a majority. What the
//! two protocols have in common is in [`commit`].

use crate::commit::{self, Commit, Message, Process, Record, Rules, Timer};
use bellwether_engine::protocol::{
    Belief, Id, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant, View,
};

mod rules;
mod variants;

pub use rules::{Termination, ThreePhaseCommit};

impl Commit for ThreePhaseCommit {
    fn commit(&self) -> Rules {
        self.rules()
    }
}

impl Protocol for ThreePhaseCommit {
    const NAME: &'static str = "three-phase-commit";
    const SUMMARY: &'static str =
        "a commit that tells all that all voted YES before it commits (Skeen 1981, 1982)";
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [TimerRow<Self>] = &commit::timers();
    const PROPERTIES: &'static [Property<Judge<Self>>] = &commit::properties();
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

    const OPTIONS: Options<Self> = commit::options();

    type Process = Process;
    type Stable = Record;
    type Message = Message;
    type Timer = Timer;

    fn converged(&self, p: &mut Local<'_, Self>) {
        commit::converged(self, p);
    }

    fn recover(&self, p: &mut Local<'_, Self>) {
        commit::recover(self, p);
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        commit::receive(self, p, (from, message));
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        commit::expire(self, p, timer);
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        commit::may_time_out(view, me, timer)
    }

    fn belief(process: &Process) -> Belief {
        commit::belief(process)
    }

    fn role(process: &Process) -> &'static str {
        commit::role(process)
    }
}
