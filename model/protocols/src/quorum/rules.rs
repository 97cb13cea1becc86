//! The rules of an election by a quorum, each of which can be switched off, and its variants: all
//! rules, and the election without its parts.

use super::{Decides, Epoch, Forgotten, Founding, Lists, Observing};
use bellwether_engine::protocol::{Id, Ids, Misfit, Variant, rule_type};
use bellwether_engine::terms::BEYOND;

/// The rules of an election by a quorum. The whole group has those that say what one process does
/// or is asked to do at some moment, and how far the search follows epochs.
#[rule_type]
pub struct Quorum {
    /// Whether a process asks around before it claims an epoch.
    pub canvass: Canvass,
    /// Whether a higher electable process answers a canvass by running itself.
    pub outrank: bool,
    /// What a process that defers does when a lower one asks.
    pub defers: Defers,
    /// Whether the process to which the latest epoch was granted comes before all others, without
    /// preemption.
    pub returns: bool,
    /// Whether a process without a majority is not electable for a while.
    pub backoff: bool,
    /// How often a voter grants an epoch.
    pub grants: Grants,
    /// Whether a voter grants nothing to another while its promise lasts.
    pub promises: Promises,
    /// Whether a promise also keeps the voter itself from running.
    pub binds_itself: bool,
    /// Whether a restarted voter waits for as long as a promise.
    pub quiet: bool,
    /// What outlasts a crash.
    pub storage: Storage,
    /// From when on a leader counts its lease.
    pub count: Count,
    /// Which rounds an acknowledgement counts for.
    pub rounds: Rounds,
    /// What a leader does when its lease has run out.
    pub expiry: Expiry,
    /// What a process does first that handles something late, after a pause.
    pub late: Late,
    /// What a leader does that learns of a higher epoch.
    pub deposed: Deposed,
    /// Whether a process tells one of a lower epoch its own.
    pub answer_lower: bool,
    /// Whether a higher process takes over from a leader that works.
    pub preemption: Preemption,
    /// What others do for the process that a leader yields to.
    pub handover: Handover,
    /// From when on a process that a leader yields to counts its lease.
    pub heir: Heir,
    /// What a leader does that has invited a process which does not come.
    pub absent: Absent,
    /// A process that is not electable: its disk stalls, or a check fails.
    #[rule(of_all, values = "the id of a process, such as 1, or null for none")]
    pub unhealthy: Option<Id>,
    /// The process to which the first leader is asked, once and at any moment, to hand over.
    #[rule(of_all, values = "the id of a process, such as 1, or null for none")]
    pub transfer: Option<Id>,
    /// Whether the first leader is asked, once and at any moment, to yield and to be not electable
    /// for a time.
    #[rule(of_all)]
    pub step_down: bool,
    /// How far the search follows epochs: to this one. If none, epochs have no history.
    #[rule(of_all, values = "a number from 1 to 65534, or null for none")]
    pub epochs: Option<Epoch>,
    /// Which lists of members there are: the leader is asked for the next one, at any moment.
    pub lists: Lists,
    /// Whether a majority is one of both lists while one is pending.
    pub lists_joint: bool,
    /// Whether a process supports no other whose lists are older than its own, nor grants it an
    /// epoch or yields to it.
    pub up_to_date: bool,
    /// When a leader decides the list that it has proposed.
    pub decides: Decides,
    /// Whether a leader that has a pending list of another proposes it again in its own epoch.
    pub reproposes: bool,
    /// A process that observes: it follows the leader, and is no voter.
    #[rule(values = "the id of a process, such as 1, or null for none")]
    pub observer: Option<Id>,
    /// What a process does that observes.
    pub observing: Observing,
    /// A process that is a witness: it votes, and never leads.
    #[rule(values = "the id of a process, such as 1, or null for none")]
    pub witness: Option<Id>,
    /// A process that loses its whole stable storage in each crash.
    #[rule(of_all, values = "the id of a process, such as 1, or null for none")]
    pub wiped: Option<Id>,
    /// What a process does that has lost its stable storage.
    pub forgotten: Forgotten,
    /// When a process votes that starts for the first time.
    pub founding: Founding,
}

/// What is wrong with the rules in a group of so many.
pub(super) fn fits(rules: &Quorum, nodes: usize) -> Result<(), Misfit> {
    let wrong = |rule, value: &dyn ToString, instead: String| {
        Err(Misfit { rule, value: value.to_string(), nodes, instead })
    };
    let Quorum { unhealthy, transfer, observer, witness, wiped, .. } = *rules;
    let ids = [
        ("unhealthy", unhealthy),
        ("transfer", transfer),
        ("observer", observer),
        ("witness", witness),
        ("wiped", wiped),
    ];
    for (rule, id) in ids {
        if let Some(id) = id.filter(|id| id.index() >= nodes) {
            return wrong(rule, &id, format!("it is an id from 1 to {nodes}, or null"));
        }
    }
    let leaves_none = |_: &Id| {
        let members = rules.members(0, nodes).unwrap_or(Ids::NONE);
        rules.without_witness(members.except(rules.observers(0, nodes))).is_empty()
    };
    if let Some(id) = witness.filter(leaves_none) {
        return wrong("witness", &id, "it leaves a process that votes and may lead".to_owned());
    }
    match rules.epochs {
        Some(epochs @ (0 | BEYOND)) => {
            wrong("epochs", &epochs, format!("it is a number from 1 to {}, or null", BEYOND - 1))
        }
        _ => Ok(()),
    }
}

/// The canvass before a claim.
#[rule_type]
pub enum Canvass {
    /// A voter supports a process to which it would grant the epoch.
    Asks,
    /// A voter supports a process also while its promise to another lasts.
    AsksAnyway,
    /// There is none: a process claims at once.
    None,
}

/// What a process that defers to a higher one does when a lower one asks: it answers OUTRANK.
#[rule_type]
pub enum Defers {
    /// It goes on waiting for the higher one.
    Waits,
    /// It runs itself.
    Runs,
}

/// How often a voter grants an epoch.
#[rule_type]
pub enum Grants {
    /// Once.
    Once,
    /// To every process that claims it.
    Again,
    /// Once, but a process takes a support for a grant.
    CountsSupport,
}

/// Whether a voter grants nothing to another while its promise lasts.
#[rule_type]
pub enum Promises {
    /// It does not.
    Kept,
    /// It does: a promise tells only when a leader is no longer heard.
    Broken,
}

/// What outlasts a crash.
#[rule_type]
pub enum Storage {
    /// The epoch and the grant, from before they are sent.
    Durable,
    /// The same, from some moment after they are sent.
    SyncsLate,
    /// The epoch; the grant is lost.
    ForgetsGrant,
    /// Nothing.
    ForgetsAll,
}

/// From when on a leader counts its lease.
#[rule_type]
pub enum Count {
    /// From before it sent what a majority answered.
    BeforeSending,
    /// From the answer that makes the majority.
    FromAnswer,
}

/// Which rounds an acknowledgement counts for.
#[rule_type]
pub enum Rounds {
    /// The one that it answers, and those before it, however late it comes.
    Own,
    /// The latest, if it answers that; otherwise for none.
    Latest,
    /// All that wait for a majority, whichever it answers.
    Any,
}

/// What a leader does when its lease has run out.
#[rule_type]
pub enum Expiry {
    /// It steps down, and sends nothing more that renews a promise.
    StepsDown,
    /// It leads no longer, but goes on with its rounds, and leads again when one is acknowledged.
    KeepsRenewing,
    /// It leads on.
    Ignores,
}

/// What a process does first that handles something late.
#[rule_type]
pub enum Late {
    /// It looks by its clock whether its lease, or the one that it has asked for, has run out.
    LooksFirst,
    /// What comes first: a message, or another timer.
    Acts,
}

/// Whether a higher process takes over from a leader that works.
#[rule_type]
pub enum Preemption {
    /// It does not.
    Never,
    /// As soon as it hears one of its rounds.
    AtOnce,
    /// Once it has followed it for the dwell time.
    Dwell,
}

/// What others do for the process that a leader yields to.
#[rule_type]
pub enum Handover {
    /// They grant it the next epoch when they hear the leader yield, without being asked.
    Entrusted,
    /// They make way: it has nothing but the leader's grant and its own.
    Unaided,
}

/// What a leader does that has invited a process to take over, if that does not come.
#[rule_type]
pub enum Absent {
    /// It waits for two rounds, and leads on.
    LeadsOn,
    /// It yields to none when the next round is due.
    Yields,
}

/// From when on a process that a leader yields to counts its lease.
#[rule_type]
pub enum Heir {
    /// From its first challenge in this epoch, which is before the leader yields to it.
    FromChallenge,
    /// From the moment at which it hears that the leader has yielded.
    FromYield,
}

/// What a leader does that learns of a higher epoch.
#[rule_type]
pub enum Deposed {
    /// It steps down.
    StepsDown,
    /// It leads on.
    Ignores,
}

pub(super) const VARIANTS: &[Variant<Quorum>] = variant_table! { Quorum:
    "recommended": "the rules that keep every property that can be kept" => RECOMMENDED;
    "preemptive": "the same, and a higher process takes over once it has followed for a while"
        => RECOMMENDED { preemption: Preemption::Dwell };
    "bare": "nothing but an epoch that is granted once: what the other rules are added to"
        => RECOMMENDED {
            canvass: Canvass::None, outrank: false, backoff: false, promises: Promises::Broken,
            quiet: false
        };
};

impl Quorum {
    /// The rules that keep every property that can be kept.
    pub const RECOMMENDED: Quorum = Quorum {
        canvass: Canvass::Asks,
        outrank: true,
        defers: Defers::Waits,
        returns: true,
        backoff: true,
        grants: Grants::Once,
        promises: Promises::Kept,
        binds_itself: true,
        quiet: true,
        storage: Storage::Durable,
        count: Count::BeforeSending,
        rounds: Rounds::Own,
        expiry: Expiry::StepsDown,
        late: Late::LooksFirst,
        deposed: Deposed::StepsDown,
        answer_lower: true,
        preemption: Preemption::Never,
        handover: Handover::Entrusted,
        heir: Heir::FromChallenge,
        absent: Absent::LeadsOn,
        unhealthy: None,
        transfer: None,
        step_down: false,
        epochs: None,
        lists: Lists::One,
        lists_joint: true,
        up_to_date: true,
        decides: Decides::ByMajority,
        reproposes: true,
        observer: None,
        observing: Observing::Follows,
        witness: None,
        wiped: None,
        forgotten: Forgotten::Follows,
        founding: Founding::Given,
    };
}
