//! What a process sees of itself while it handles one event, and the effects it causes.

use super::{Id, Protocol, Timers, row};
use smallvec::SmallVec;

/// One effect of a step, in the order in which the process caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect<P: Protocol> {
    /// The value is on stable storage from here on.
    Persist(P::Stable),
    /// A message leaves for `to`.
    Send {
        /// The process that the message is sent to.
        to: Id,
        /// The message that is sent.
        message: P::Message,
    },
    /// The timer is armed, or armed anew.
    Arm(P::Timer),
    /// The timer is armed as if it had been when `since` was, which is armed no longer.
    ArmSince {
        /// The timer that is armed.
        timer: P::Timer,
        /// A timer that was armed before, and takes the same duration.
        since: P::Timer,
    },
    /// The timer is no longer armed.
    Cancel(P::Timer),
}

/// The effects of one step, in order.
pub type Effects<P> = SmallVec<[Effect<P>; 12]>;

/// The words of a process for one step: the names of its reasons. A process knows and keeps
/// nothing of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The reason why the process changes its role or its leader, if the step changes them.
    pub reason: Option<&'static str>,
    /// The reason why the process ignores the message that arrives; `None` if it does not.
    pub ignored: Option<&'static str>,
}

/// One process during one step: its state, which it may change, the effects it causes, and what it
/// says of them.
pub struct Local<'a, P: Protocol> {
    id: Id,
    nodes: usize,
    stable: P::Stable,
    timers: Timers,
    run_out: Timers,
    said: Said,
    effects: &'a mut Effects<P>,
    /// The process's volatile state.
    pub state: &'a mut P::Process,
}

impl<'a, P: Protocol> Local<'a, P> {
    /// Returns the process `id` of `nodes`, with what it has, the state it may change, and the
    /// place for its effects.
    pub fn new(
        id: Id,
        nodes: usize,
        (stable, timers): (P::Stable, Timers),
        state: &'a mut P::Process,
        effects: &'a mut Effects<P>,
    ) -> Self {
        let (run_out, said) = (Timers::NONE, Said::default());
        Local { id, nodes, stable, timers, run_out, said, effects, state }
    }

    /// The same process, of whose timers these have run out.
    pub(crate) fn with_run_out(self, run_out: Timers) -> Self {
        Local { run_out, ..self }
    }

    /// Returns the process's own id.
    #[must_use]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns the number of processes that elect.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Returns whether the process is not one of those that elect but a [service](super::Services).
    #[must_use]
    pub fn is_service(&self) -> bool {
        self.id.index() >= self.nodes
    }

    /// Returns the ids of the [services](super::Services), ascending.
    pub fn services(&self) -> impl Iterator<Item = Id> + use<P> {
        (self.nodes..self.nodes + P::OPTIONS.services.count).map(Id::at)
    }

    /// Returns what is on the process's stable storage.
    #[must_use]
    pub fn stable(&self) -> P::Stable {
        self.stable
    }

    /// Returns the highest id of those that elect: known from the configuration, not from which
    /// processes are up.
    #[must_use]
    pub fn highest(&self) -> Id {
        Id::at(self.nodes - 1)
    }

    /// Returns whether no id is higher than the process's own: known from the configuration, not
    /// from which processes are up.
    #[must_use]
    pub fn is_highest(&self) -> bool {
        self.id.index() + 1 == self.nodes
    }

    /// Returns the ids above the process's own, ascending.
    pub fn higher(&self) -> impl Iterator<Item = Id> + use<P> {
        (self.id.index() + 1..self.nodes).map(Id::at)
    }

    /// Returns the ids below the process's own, ascending.
    pub fn lower(&self) -> impl Iterator<Item = Id> + use<P> {
        (0..self.id.index()).map(Id::at)
    }

    /// Returns all ids but the process's own, ascending; not those of services.
    pub fn others(&self) -> impl Iterator<Item = Id> + use<P> {
        let me = self.id;
        Id::all(self.nodes).filter(move |&id| id != me)
    }

    /// Sends `message` to `to`.
    pub fn send(&mut self, to: Id, message: P::Message) {
        self.effects.push(Effect::Send { to, message });
    }

    /// Sends `message` to each of these, in their order.
    pub fn send_to_each(&mut self, to: impl IntoIterator<Item = Id>, message: P::Message) {
        for id in to {
            self.send(id, message);
        }
    }

    /// Sends `message` to all others.
    pub fn send_to_others(&mut self, message: P::Message) {
        self.send_to_each(self.others(), message);
    }

    /// Arms `timer`, anew if it is armed already.
    pub fn arm(&mut self, timer: P::Timer) {
        self.timers = self.timers.with::<P>(timer);
        self.run_out = self.run_out.without::<P>(timer);
        self.effects.push(Effect::Arm(timer));
    }

    /// Arms `timer` as if it had been armed when `since` was; `since`, which takes the same
    /// duration, is then armed no longer. So something can be counted from the moment at which it
    /// was asked for. If `since` is not armed, nothing happens.
    pub fn arm_since(&mut self, timer: P::Timer, since: P::Timer) {
        if self.timers.contains::<P>(since) {
            let has_run_out = self.has_run_out(since);
            self.timers = self.timers.without::<P>(since).with::<P>(timer);
            self.run_out = self.run_out.without::<P>(since).without::<P>(timer);
            if has_run_out {
                self.run_out = self.run_out.with::<P>(timer);
            }
            self.effects.push(Effect::ArmSince { timer, since });
        }
    }

    /// Cancels `timer` if it is armed.
    pub fn cancel(&mut self, timer: P::Timer) {
        if self.timers.contains::<P>(timer) {
            self.timers = self.timers.without::<P>(timer);
            self.run_out = self.run_out.without::<P>(timer);
            self.effects.push(Effect::Cancel(timer));
        }
    }

    /// Cancels every timer that is armed.
    pub fn cancel_all(&mut self) {
        for timer in self.timers.iter::<P>() {
            self.cancel(timer);
        }
    }

    /// Has the process choose one of these outcomes by itself, at random or in any other way. A
    /// search takes each of them; what follows from one, [`Protocol::expire`] says.
    ///
    /// The choice is a step of its own, which takes no time. Until then an outcome is armed like a
    /// timer, and something else may happen to the process first. A process has one choice to make
    /// at most: a new one replaces it, and with no outcome there is none.
    ///
    /// # Panics
    /// If one of them has another row than `TimerRow::outcome`.
    pub fn choose(&mut self, outcomes: impl IntoIterator<Item = P::Timer>) {
        self.drop_choice();
        for outcome in outcomes {
            assert!(row::<P>(outcome).outcome, "what is chosen has the row of an outcome");
            self.arm(outcome);
        }
    }

    /// Does what comes before [`Protocol::expire`] is asked: if `timer` is an outcome that was
    /// chosen, the others of this choice no longer can be.
    pub fn expires(&mut self, timer: P::Timer) {
        if row::<P>(timer).outcome {
            self.drop_choice();
        }
    }

    fn drop_choice(&mut self) {
        for timer in self.timers.iter::<P>().filter(|&timer| row::<P>(timer).outcome) {
            self.cancel(timer);
        }
    }

    /// Returns the timers that are armed now.
    #[must_use]
    pub fn timers(&self) -> Timers {
        self.timers
    }

    /// Returns whether `timer` is armed.
    #[must_use]
    pub fn armed(&self, timer: P::Timer) -> bool {
        self.timers.contains::<P>(timer)
    }

    /// Returns whether `timer` is armed and has run out by its own clock, though it has not
    /// expired: the process is late, or something else happens first at the same tick. Never in a
    /// world without a clock.
    #[must_use]
    pub fn has_run_out(&self, timer: P::Timer) -> bool {
        self.run_out.contains::<P>(timer)
    }

    /// Gives the reason why the process changes its role or its leader, if this step changes them.
    /// A later reason takes the place of an earlier one.
    pub fn because(&mut self, reason: &'static str) {
        self.said.reason = Some(reason);
    }

    /// Says that the process ignores the message that arrives, and for which reason.
    pub fn ignore(&mut self, cause: &'static str) {
        self.said.ignored = Some(cause);
    }

    /// Returns what the process has said of this step so far.
    #[must_use]
    pub fn said(&self) -> Said {
        self.said
    }

    /// Writes `value` to stable storage before anything that this step does afterwards.
    pub fn persist(&mut self, value: P::Stable) {
        self.stable = value;
        self.effects.push(Effect::Persist(value));
    }
}
