//! Two-phase commit with an elected coordinator: all vote, then the coordinator decides (J. Gray,
//! *Notes on Data Base Operating Systems*, 1978; Bernstein, Hadzilacos and Goodman, *Concurrency
//! Control and Recovery in Database Systems*, 1987, section 7.4).
//!
//! A participant that has voted YES is uncertain until it hears the decision. If the coordinator
//! fails in between, the next one asks the others; if none of them knows, all wait. What the two
//! protocols have in common is in [`commit`].

use crate::commit::{self, Commit, Message, Process, Record, Rules, Timer};
use bellwether_engine::protocol::{
    Belief, Id, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant, View,
};

mod rules;
mod variants;

pub use rules::{Termination, TwoPhaseCommit};

impl Commit for TwoPhaseCommit {
    fn commit(&self) -> Rules {
        self.rules()
    }
}

impl Protocol for TwoPhaseCommit {
    const NAME: &'static str = "two-phase-commit";
    const SUMMARY: &'static str =
        "all vote, then the elected coordinator decides: a commit in two phases (Gray 1978)";
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
