//! The lease: what the store grants, and what clients believe by their clocks.

use super::part::{Part, thing};
use super::relation::Relation;
use super::structure::Picture;
use bellwether_model::machine::{self, machine};
use bellwether_model::protocol::lease::{
    Accepted, Acquire, Answers, Compares, Count, Expiry, Fence, Lease, Message, Mistake, Number,
    Reads, Renewal, Role, StoreFault, Term, Timer,
};
use bellwether_model::protocol::{Id, enough};
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Scenario, Start, State, Timed, Timing, World,
};

/// What is proved of the lease by these rules.
pub(super) fn parts(rules: &Lease) -> Result<Vec<Part>, String> {
    if rules.asked {
        return Err("the proof is about leases that no holder gives back; give --rule asked=false"
            .to_owned());
    }
    let (which, instead) = if !matches!(rules.term, Term::Expires | Term::Never) {
        ("that a clock of the store ends, or nothing", "term=expires")
    } else if rules.store == StoreFault::FailsOverAndLosesTheLast {
        ("of a store that is one process", "store=crashes-and-forgets")
    } else if rules.reads == Reads::Replica {
        ("of a store that answers itself", "reads=primary")
    } else if rules.compares == Compares::Nothing {
        ("that only their holders renew", "compares=both")
    } else if rules.lock_delay {
        ("that are free when they have expired", "lock_delay=false")
    } else if rules.copied {
        ("of clients with an id of their own", "copied=false")
    } else if rules.mistake != Mistake::None {
        ("of a store whose record no operator changes", "mistake=none")
    } else {
        return Ok(vec![store(rules), clocks(rules)?]);
    };
    Err(format!("the proof is about leases {which}; give --rule {instead}"))
}

/// The store and the resource, whatever clients do.
fn store(rules: &Lease) -> Part {
    let mut may = vec!["grant", "expire", "write", "other"];
    if rules.acquire == Acquire::ReadThenWrite {
        may.push("set");
    }
    may.extend(match rules.store {
        StoreFault::Lives => &[][..],
        StoreFault::CrashesAndKeeps => &["crash", "recover"],
        StoreFault::CrashesAndForgets | StoreFault::FailsOverAndLosesTheLast => {
            &["forget", "recover"]
        }
    });
    let passes = match rules.fence {
        Fence::NewestGrant => "(= k newest)",
        Fence::HighestWritten => "(<= written k)",
        Fence::None => "true",
    };
    let relation = Relation::parse(include_str!("store.rel"), &[("%passes", passes)]);
    let relation = relation.expect("a relation that tests read");
    let with = |faults| Scenario { faults, ..Scenario::calm(2) };
    let faults = Faults { crashes: 2, recoveries: 2, ..Faults::NONE };
    let mut worlds = vec![
        with(faults),
        with(Faults { losses: 1.into(), duplicates: 1, ..Faults::NONE }),
        Scenario { start: Start::Cold, ..with(Faults { crashes: 1, recoveries: 1, ..faults }) },
        Scenario { timing: Timing::Asynchronous, capacity: Some(1), ..Scenario::calm(2) },
        Scenario { start: Start::Cold, ..Scenario::calm(3) },
    ];
    worlds.extend(timed(rules, Drift::NONE, Faults { pauses: 1, ..Faults::NONE }));
    Part {
        name: "store",
        about: "what the store grants, and which writes the resource accepts",
        rules: machine(*rules),
        relation: relation.with_actions(|name| may.contains(&name)),
        assumes: vec!["there is one store, and the resource is beside it"],
        worlds,
        picture: picture_of_store,
        history: &[],
        says_the_same: true,
    }
}

fn picture_of_store(_: &World, state: &State) -> Picture {
    let mut picture = Picture::default();
    let all: Vec<Id> = state.ids().collect();
    let store = all[all.len() - 1];
    let (process, stable) = (state.process_of::<Lease>(store), state.stable_of::<Lease>(store));
    let up = state.up(store);
    let (holder, newest, written) = match up {
        true => (process.holder, process.token, process.written),
        false => (stable.holder, stable.token, stable.written),
    };
    for &id in &all {
        if holder == Some(id) {
            picture.holds("holder", &[thing(id)]);
        }
        if process.granted.contains(id) {
            picture.holds("granted", &[thing(id)]);
        }
    }
    picture.is("lowest", &[], 0);
    picture.is("newest", &[], newest.0.into());
    picture.is("written", &[], written.0.into());
    match process.accepted {
        Accepted::Fresh => {}
        Accepted::Stale => picture.holds("stale", &[]),
        Accepted::Backwards => picture.holds("backwards", &[]),
    }
    picture
}

/// What clients believe, by their clocks.
fn clocks(rules: &Lease) -> Result<Part, String> {
    let mut may = vec!["ask", "ask-anew", "answer", "hold", "step-down", "give-up", "crash"];
    may.extend(["tick", "other"]);
    if rules.term == Term::Expires {
        may.push("expire");
    }
    if rules.acquire == Acquire::ReadThenWrite {
        may.push("answer-anyway");
    }
    if rules.renewal == Renewal::Assumes {
        may.push("extend");
    }
    may.extend(match rules.store {
        StoreFault::Lives => &[][..],
        StoreFault::CrashesAndKeeps => &["store-crash", "store-recover"],
        StoreFault::CrashesAndForgets | StoreFault::FailsOverAndLosesTheLast => {
            &["store-forget", "store-recover"]
        }
    });
    let truth = |truth: bool| if truth { "true" } else { "false" };
    let counted = match rules.count {
        Count::BeforeSending => "(asked-left p)",
        Count::FromReceipt => "holds-for",
    };
    let words = [
        ("%counted", counted),
        ("%any-answer", truth(rules.answers == Answers::Any)),
        ("%ignores", truth(rules.expiry == Expiry::Ignores)),
        ("%expires", truth(rules.term == Term::Expires)),
    ];
    let relation = Relation::parse(include_str!("clocks.rel"), &words)?;
    let drift = Drift::of(1, 20)?;
    let crashes = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    let losses = Faults { losses: 1.into(), ..Faults::NONE };
    let cuts = Faults { cuts: 1, ..Faults::NONE };
    let worlds =
        [(Drift::NONE, crashes), (Drift::NONE, losses), (Drift::NONE, cuts), (drift, cuts)];
    let worlds =
        worlds.into_iter().flat_map(|(drift, faults)| timed(rules, drift, faults)).collect();
    Ok(Part {
        name: "clocks",
        about: "how long clients believe that they hold the lease",
        rules: machine(*rules),
        relation: relation.with_actions(|name| may.contains(&name)),
        assumes: vec!["no process is paused: each acts at once on what its clock says"],
        worlds,
        picture: picture_of_clocks,
        history: &[],
        says_the_same: true,
    })
}

/// How long everything takes: a holder counts 8 ticks, at most 9 with a drift, and the store 11, if
/// a grant ends.
fn durations(rules: &Lease) -> Durations {
    let all = enough::<Lease>().into_iter().filter_map(|(name, ticks)| match name {
        "t-grant" if rules.term == Term::Never => None,
        "t-grant" => Some((name, 11)),
        _ => Some((name, ticks)),
    });
    Durations::of(all).expect("short names")
}

/// Two clients with clocks, at the beginning and from a cold start.
fn timed(rules: &Lease, drift: Drift, faults: Faults) -> [Scenario; 2] {
    let timed = Timed { drift, ..Timed::of(Delay::AtMost(1), durations(rules)) };
    let one = Scenario { timing: Timing::Timed(timed), faults, ..Scenario::calm(2) };
    [one, Scenario { start: Start::Cold, ..one }]
}

/// What a request is called among those of one client: one that has crashed may have sent any of
/// its present incarnation.
fn called(number: Number) -> u64 {
    256 * u64::from(number.incarnation) + u64::from(number.request)
}

fn picture_of_clocks(world: &World, state: &State) -> Picture {
    let mut picture = Picture::default();
    let timed = world.scenario().timing.timed().expect("a world with clocks");
    let window = |name| timed.drift.window(timed.durations.get(name).unwrap_or(0).into());
    let holds_for = window("t-holder").1;
    let (grants_for, latest) = match world.rules::<Lease>().expect("a world of this protocol").term
    {
        Term::Expires => window("t-grant"),
        // What never ends is longer than anything.
        Term::Never | Term::Observed | Term::Session => (holds_for + 1, holds_for + 1),
    };
    picture.counts("holds-for", &[], holds_for.into());
    picture.counts("grants-for", &[], grants_for.into());
    let shows = |id, timer| {
        let armed = state.timers(id).contains::<Lease>(timer);
        i64::from(
            state.clock(id, machine::Timer::of::<Lease>(timer)).filter(|_| armed).unwrap_or(0),
        )
    };
    for id in state.members() {
        let (me, process) = (thing(id), state.process_of::<Lease>(id));
        if process.role == Role::Holder {
            picture.holds("leads", &[me]);
        }
        if state.timers(id).contains::<Lease>(Timer::Asked) {
            picture.holds("asked", &[me]);
        }
        picture.counts("lease-left", &[me], shows(id, Timer::Lease));
        picture.counts("asked-left", &[me], shows(id, Timer::Asked));
        let request = if state.up(id) { process.requests } else { u8::MAX };
        let incarnation = state.stable_of::<Lease>(id).incarnation;
        picture.is("latest", &[me], called(Number { incarnation, request }));
    }
    let store = state.ids().last().expect("a store");
    let up = state.up(store);
    let holder = if up {
        state.process_of::<Lease>(store).holder
    } else {
        state.stable_of::<Lease>(store).holder
    };
    if !up {
        picture.holds("store-down", &[]);
    }
    if let Some(holder) = holder {
        picture.holds("holder", &[thing(holder)]);
    }
    let counts = state.timers(store).contains::<Lease>(Timer::Grant);
    let left = match holder {
        Some(_) if counts => shows(store, Timer::Grant) - i64::from(latest - grants_for),
        Some(_) => grants_for.into(),
        None => 0,
    };
    picture.counts("grant-left", &[], left);
    for envelope in state.in_flight() {
        let (from, to) = (thing(envelope.from), thing(envelope.to));
        match *envelope.message.get::<Lease>() {
            Message::Acquire(number)
            | Message::Claim(number)
            | Message::Take(number, _)
            | Message::Renew(number, _)
            | Message::Read(number)
            | Message::Set(number) => picture.holds("request-of", &[from, called(number)]),
            Message::Granted(number, _) => picture.holds("granted", &[to, called(number)]),
            Message::Free(_) | Message::Refused(..) | Message::Record(..) | Message::Write(_) => {}
            Message::Release(_) | Message::Available => unreachable!("no holder is asked"),
        }
    }
    picture
}
