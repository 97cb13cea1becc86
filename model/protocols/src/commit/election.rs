//! The election in a commit: the bully as it is, one part of each process.

use super::{Commit, Message, Timer};
use crate::bully::{self, Bully};
use bellwether_engine::protocol::{
    Effect, Effects, Envelope, Id, Local, MAX_SEARCHED, Part, Protocol, RunOut, Said, Seen, Timers,
    View, row,
};

/// The rules of the election.
const RULES: Bully = Bully::RECOMMENDED;

/// The timers of the bully that its rules arm.
const TIMERS: [bully::Timer; 4] = [
    bully::Timer::Election,
    bully::Timer::Coordinator,
    bully::Timer::Watch,
    bully::Timer::Heartbeat,
];

/// Those of the election that are armed among these.
fn timers<P: Commit>(armed: Timers) -> Timers {
    let is_armed = |timer: &bully::Timer| armed.contains::<P>(Timer::Election(*timer));
    TIMERS.into_iter().filter(is_armed).fold(Timers::NONE, Timers::with::<Bully>)
}

/// The bully takes a step: it sees its own part of the process, and what it causes is caused, and
/// what it says is said.
pub(super) fn step<P: Commit>(
    p: &mut Local<'_, P>,
    event: impl FnOnce(&Bully, &mut Local<'_, Bully>),
) {
    let mut process = p.state.election;
    let mut effects = Effects::<Bully>::new();
    let has = (None, timers::<P>(p.timers()));
    let mut local = Local::new(p.id(), p.nodes(), has, &mut process, &mut effects);
    event(&RULES, &mut local);
    let Said { reason, ignored } = local.said();
    if let Some(reason) = reason {
        p.because(reason);
    }
    if let Some(cause) = ignored {
        p.ignore(cause);
    }
    p.state.election = process;
    for effect in effects {
        match effect {
            Effect::Persist(_) => {}
            Effect::Send { to, message } => p.send(to, Message::Election(message)),
            Effect::Arm(timer) => p.arm(Timer::Election(timer)),
            Effect::ArmSince { timer, since } => {
                p.arm_since(Timer::Election(timer), Timer::Election(since));
            }
            Effect::Cancel(timer) => p.cancel(Timer::Election(timer)),
        }
    }
}

/// What an observer of the election alone says.
fn observe<P: Commit>(
    view: &View<'_, P>,
    asks: impl FnOnce(&Bully, &View<'_, Bully>) -> bool,
) -> bool {
    let mut processes = [bully::Process::default(); MAX_SEARCHED];
    let mut armed = [Timers::NONE; MAX_SEARCHED];
    for id in view.ids() {
        processes[id.index()] = view.process(id).election;
        armed[id.index()] = timers::<P>(view.timers[id.index()]);
    }
    let of_election = |e: Envelope<Message>| match e.message {
        Message::Election(message) => Some(Envelope { from: e.from, to: e.to, message }),
        _ => None,
    };
    let flight: smallvec::SmallVec<[_; 16]> = view.flight().filter_map(of_election).collect();
    let count = view.count();
    let seen = Seen { timers: &armed[..count], run_out: RunOut::default(), ..view.seen() };
    let stable = [None; MAX_SEARCHED];
    let (processes, stable) = (&processes[..count], &stable[..count]);
    asks(&RULES, &View::of_part(&seen, Part { processes, stable, flight: &flight }))
}

/// Whether what a timer of the election waits for can no longer come.
pub(super) fn may_time_out<P: Commit>(view: &View<'_, P>, me: Id, timer: bully::Timer) -> bool {
    observe(view, |bully, view| bully.may_time_out(view, me, timer))
}

/// Whether the next heartbeat of the coordinator tells no process anything new.
pub(super) fn no_news<P: Commit>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    let heartbeat = row::<Bully>(bully::Timer::Heartbeat).periodic;
    heartbeat.is_some_and(|no_news| observe(view, |bully, view| no_news(bully, view, me)))
}
