//! The rules of the stores that people run, where the client of the program is the same.
//!
//! By these the specification plays the store, and only clients are compared. What a client does
//! otherwise by its own rules, such as from when on it counts its lease, is refused.

use super::{LeaseMapping, SpecEvent, spec};
use crate::mapping::{Specification, same};

/// The mapping of a resource that knows only the writes that it has seen.
pub const FENCED: LeaseMapping = LeaseMapping::on(rules_of("fenced"));
/// The mapping of a resource that knows nothing of grants.
pub const UNFENCED: LeaseMapping = LeaseMapping::on(rules_of("unfenced"));
/// The mapping of a store that keeps what it grants through its crashes, and has no token.
pub const CLUSTERING: LeaseMapping = LeaseMapping::on(rules_of("clustering"));
/// The mapping of a lock, which nothing ends but its holder.
pub const LOCK: LeaseMapping = LeaseMapping::on(rules_of("lock"));
/// The mapping of a row in PostgreSQL.
pub const POSTGRES_ROW: LeaseMapping = LeaseMapping::on(rules_of("postgres-row"));
/// The mapping of a key in Redis, on a server with a replica that takes over.
pub const REDIS_SETNX: LeaseMapping = LeaseMapping::on(rules_of("redis-setnx"));
/// The mapping of a majority of servers that may forget what they have granted.
pub const REDLOCK: LeaseMapping = LeaseMapping::on(rules_of("redlock"));

/// Why no node stands beside the store.
pub(super) const WHY: &str = "the store is the specification's";

/// The rules of the variant of this name.
const fn rules_of(name: &str) -> spec::Lease {
    let mut left = <spec::Lease as Specification>::VARIANTS;
    while let [variant, others @ ..] = left {
        if same(variant.name, name) {
            return variant.rules;
        }
        left = others;
    }
    panic!("the specification has no such variant")
}

/// The rules nearest to these: those of the store are the same, and the client's are those of the
/// program. Whether it sends ACQUIRE or CLAIM is the same request to the program, which the store
/// answers by its own rules.
pub(super) fn nearest(rules: &spec::Lease) -> spec::Lease {
    const OWN: spec::Lease = spec::Lease::RECOMMENDED;
    let acquire = match rules.acquire {
        spec::Acquire::CompareAndSet | spec::Acquire::SetIfAbsent => rules.acquire,
        // A client that reads first sends two requests.
        spec::Acquire::ReadThenWrite => OWN.acquire,
    };
    let term = match rules.term {
        spec::Term::Expires | spec::Term::Never | spec::Term::Session => rules.term,
        // It is the clients that observe.
        spec::Term::Observed => OWN.term,
    };
    let spec::Lease { count, answers, renewal, expiry, release, .. } = OWN;
    spec::Lease { count, acquire, answers, renewal, expiry, term, release, ..*rules }
}

/// Whether these are the rules of the store that is a node of the program.
pub(super) fn is_a_node(rules: &spec::Lease) -> bool {
    *rules == spec::Lease { asked: rules.asked, ..spec::Lease::RECOMMENDED }
}

/// The rules of clients that decide what follows from something.
pub(super) fn of_clients(happening: &SpecEvent<spec::Lease>) -> &'static [&'static str] {
    match happening {
        SpecEvent::Boot | SpecEvent::Crash => &[],
        SpecEvent::Receive { message, .. } => match message {
            spec::Message::Granted(..) => &["count", "answers"],
            spec::Message::Refused(..) => &["answers"],
            spec::Message::Available => &["acquire"],
            _ => &[],
        },
        SpecEvent::Expire(timer) => match timer {
            spec::Timer::Lease => &["expiry"],
            spec::Timer::Renew => &["renewal"],
            spec::Timer::Asked | spec::Timer::Retry => &["acquire"],
            spec::Timer::Request => &["asked", "release"],
            spec::Timer::Grant
            | spec::Timer::Observed
            | spec::Timer::LockDelay
            | spec::Timer::Replicate => &[],
        },
    }
}

/// What no comparison meets of the rules and timers, with the reason.
pub(super) fn uncovered(rules: &spec::Lease) -> &'static [(&'static str, &'static str)] {
    type Never = (&'static str, &'static str);
    const NOT_ASKED: &str = "by these rules nothing is asked";
    const NEVER: &[Never] = &[
        ("rule asked", NOT_ASKED),
        ("rule release", NOT_ASKED),
        ("rule reads", WHY),
        ("rule term", WHY),
        ("rule lock_delay", WHY),
        ("rule compares", WHY),
        ("rule fence", WHY),
        ("rule store", WHY),
        ("timer grant", WHY),
        ("timer lock-delay", WHY),
        ("timer replicate", WHY),
    ];
    const NODE: &[Never] =
        &[("rule store", "by these rules the store has no fault"), ("rule asked", NOT_ASKED)];
    match (is_a_node(rules), rules.asked) {
        (true, true) => &NODE[..1],
        (true, false) => NODE,
        (false, true) => &NEVER[2..],
        (false, false) => NEVER,
    }
}
