//! What each core brings to the tests of crashes: how the nodes of a small group are configured,
//! and what a node must not say twice, whatever it forgets in a crash.

use std::any::TypeId;
use std::time::Duration;

use crate::driver::tests::id;
use crate::protocol::{
    Core, Epoch, Members, NodeId, Nothing, bully, chang_roberts, commit, garcia_molina, invitation,
    lease, list_ring, quorum, ring, stoller,
};

/// How many nodes the group has.
pub(super) const NODES: u16 = 3;

/// A claim: what it is about, and what is said of that. No two claims about one thing may differ.
type Claim = (String, String);

/// A core whose nodes crash.
pub(super) trait Crashes: Core {
    /// Whether its failures are detected for it.
    const WATCHES: bool = false;

    /// The configuration of a node of the group.
    fn config(number: u16) -> Self::Config;

    /// What a node remembers of a life before.
    fn remembers(number: u16) -> Option<Self::Durable> {
        let _ = number;
        None
    }

    /// What a message claims that this node sends to that one, in this life.
    fn claims(me: NodeId, life: u64, to: NodeId, message: Self::Message) -> Vec<Claim> {
        let _ = (me, life, to, message);
        Vec::new()
    }
}

/// Whether nodes must remember anything.
pub(super) fn persists<C: Core>() -> bool {
    TypeId::of::<C::Durable>() != TypeId::of::<Nothing>()
}

fn members() -> Members {
    Members::new((1..=NODES).map(id)).expect("valid")
}

/// A name that a node gives in one life, and in no other.
fn name(what: String, life: u64) -> Vec<Claim> {
    vec![(what, format!("of life {life}"))]
}

impl Crashes for bully::Bully {
    fn config(number: u16) -> bully::Config {
        bully::Config { id: id(number), members: members(), timing: bully::Timing::DEFAULT }
    }
}

impl Crashes for chang_roberts::ChangRoberts {
    fn config(number: u16) -> ring::Config {
        ring::Config { id: id(number), members: members(), timing: ring::Timing::DEFAULT }
    }
}

impl Crashes for list_ring::ListRing {
    fn config(number: u16) -> ring::Config {
        ring::Config { id: id(number), members: members(), timing: ring::Timing::DEFAULT }
    }
}

/// The tasks of a coordinator have different numbers.
impl Crashes for garcia_molina::GarciaMolina {
    fn config(number: u16) -> garcia_molina::Config {
        let timing = garcia_molina::Timing::DEFAULT;
        garcia_molina::Config { id: id(number), members: members(), timing }
    }

    fn claims(me: NodeId, life: u64, _: NodeId, message: Self::Message) -> Vec<Claim> {
        match message {
            garcia_molina::Message::Ready(number) => name(format!("task {number} of n{me}"), life),
            _ => Vec::new(),
        }
    }
}

/// No two groups have one name.
impl Crashes for invitation::Invitation {
    fn config(number: u16) -> invitation::Config {
        let timing = invitation::Timing::DEFAULT;
        invitation::Config { id: id(number), members: members(), timing }
    }

    fn claims(me: NodeId, life: u64, _: NodeId, message: Self::Message) -> Vec<Claim> {
        use invitation::Message::{Here, Invitation, Ready};
        match message {
            Invitation(group) | Ready(group, _) | Here(group) if group.coordinator == me => {
                name(format!("group {} of n{me}", group.count), life)
            }
            _ => Vec::new(),
        }
    }
}

/// No two elections have one name.
impl Crashes for stoller::Stoller {
    const WATCHES: bool = true;

    fn config(number: u16) -> stoller::Config {
        stoller::Config { id: id(number), members: members(), ask: Duration::from_millis(100) }
    }

    fn claims(_: NodeId, life: u64, _: NodeId, message: Self::Message) -> Vec<Claim> {
        use stoller::Message::{Ack, Halt, Ldr, NormQ, NotNorm};
        match message {
            Halt(elid) | Ldr(elid) | NormQ(elid) => name(format!("election {elid}"), life),
            Ack(_) | NotNorm(_) => Vec::new(),
        }
    }
}

/// No two requests have one name, and each token is one client's. The highest node is the store.
impl Crashes for lease::Lease {
    fn config(number: u16) -> lease::Config {
        let (id, store, durations) = (id(number), id(NODES), lease::Durations::DEFAULT);
        if id != store {
            return lease::Config::Client(lease::ClientConfig { id, store, durations });
        }
        let clients = Members::new(members().below(store).iter().copied()).expect("valid");
        lease::Config::Store(lease::StoreConfig { id, clients, durations })
    }

    fn claims(me: NodeId, life: u64, to: NodeId, message: Self::Message) -> Vec<Claim> {
        match message {
            lease::Message::Acquire(request) | lease::Message::Renew(request, _) => {
                name(format!("{request:?} of n{me}"), life)
            }
            lease::Message::Granted(_, token) => vec![(format!("token {token}"), to.to_string())],
            _ => Vec::new(),
        }
    }
}

/// No epoch is granted to two nodes, nor claimed in two lives. Nodes 1 and 2 have taken part
/// before, and had shorter promises; node 3 is new.
impl Crashes for quorum::Quorum {
    fn config(number: u16) -> quorum::Config {
        quorum::Config { id: id(number), members: members(), timing: quorum::Timing::DEFAULT }
    }

    fn remembers(number: u16) -> Option<quorum::Durable> {
        let (epoch, granted_to) = (Epoch::new(3), NodeId::new(1));
        let promise = Some(Duration::from_millis(1_100));
        let kept = quorum::Durable { epoch, granted_to, promise, ..quorum::Durable::default() };
        (number < NODES).then_some(kept)
    }

    fn claims(me: NodeId, life: u64, to: NodeId, message: Self::Message) -> Vec<Claim> {
        use quorum::Message::{Claim, Coordinator, Entrust, Grant, Yield};
        let grants =
            |epoch: Epoch, to: NodeId| (format!("grant of {epoch} by n{me}"), to.to_string());
        match message {
            Grant(epoch, _) | Entrust(epoch) => vec![grants(epoch, to)],
            Yield(epoch, Some(next)) => vec![grants(epoch.next(), next)],
            Coordinator(epoch, ..) => vec![grants(epoch, me)],
            Claim(epoch, ..) => {
                let mut claims = name(format!("claim of {epoch} by n{me}"), life);
                claims.push(grants(epoch, me));
                claims
            }
            _ => Vec::new(),
        }
    }
}

/// There is one decision, a node says yes to one coordinator, and is prepared for one outcome.
impl<K: commit::Kind> Crashes for commit::Commit<K> {
    fn config(number: u16) -> commit::Config {
        let election = bully::Bully::config(number);
        commit::Config { election, agrees: true, timing: commit::Timing::DEFAULT }
    }

    fn claims(me: NodeId, _: u64, to: NodeId, message: Self::Message) -> Vec<Claim> {
        use commit::Message::{Decision, State, Vote};
        use commit::{Outcome, Record};
        match message {
            Vote(Outcome::Commit) => vec![(format!("yes of n{me}"), to.to_string())],
            State(Record::Prepared(outcome)) => {
                vec![(format!("n{me} is prepared"), format!("{outcome:?}"))]
            }
            Decision(outcome) | State(Record::Decided(outcome)) => {
                vec![("decision".to_owned(), format!("{outcome:?}"))]
            }
            _ => Vec::new(),
        }
    }
}
