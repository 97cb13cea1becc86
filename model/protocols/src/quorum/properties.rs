//! What is promised of epochs, leases and leaders.

use super::{
    Birth, Epoch, Founding, List, Message, Process, Quorum, Role, Stable, TaggedMessage, Timer,
    known, majority,
};
use bellwether_engine::protocol::{Id, Ids, Judge, Property, View};

pub(super) const PROPERTIES: &[Property<Judge<Quorum>>] = property_table! {
    "one-leader-per-epoch": "□ ¬∃ i ≠ j: leads(i) ∧ leads(j) ∧ epoch(i) = epoch(j)",
        "no two processes lead in one epoch";
        Always(one_leader_per_epoch);
    "grants-stand":
        "□ ∀ grant of k to i in epoch e, counted or in flight: epoch(k) > e ∨ granted-to(k) = i ∨ \
         birth(k) is none by which i counts k",
        "no process forgets what it granted in an epoch, or grants that to a second one",
        if "a process has granted" => |_, view| grants(view).next().is_some();
        Always(grants_stand);
    "epochs-grow":
        "□ ∀ leads(i): epoch(j) > epoch(i) ∨ (epoch(j) = epoch(i) ∧ granted-to(j) ∈ {i, none}) ∨ \
         waits-to-vote(j), for a majority of j",
        "whatever is granted from now on has a higher epoch than every leader that there was",
        if "a process leads" => |_, view| leaders(view).next().is_some();
        Always(epochs_grow);
    "epochs-in-order" asked:
        "□ ∀ leads(i): no process that claims an older epoch has a majority, counted or in flight",
        "leaders begin in the order of their epochs: no process wins an older one later",
        if "a process leads" => |_, view| leaders(view).next().is_some();
        Always(epochs_in_order);
    "one-lease-at-a-time" asked:
        "□ ¬∃ i ≠ j: has-lease(i) ∧ has-lease(j), has-lease(i) = leads(i) ∧ the lease of i has not \
         run out by its clock",
        "no two processes believe in a lease that has not run out, when they ask their clocks";
        Always(one_lease_at_a_time);
    "acts-with-a-lease" asked:
        "□ ¬∃ i: i has just sent COORDINATOR or YIELD, and its lease had run out by its clock",
        "no process acts as a leader without a lease, however late it is";
        Always(|_, view| view.ids().all(|id| !view.process(id).overstepped));
    "first-leader-stays" asked: "□ leads(max{i})",
        "the highest process, which leads at first, is never deposed; ask it where a majority can \
         hear it";
        Always(|rules, view| {
            let highest = view.ids().next_back();
            let own = highest.map_or(rules, |id| view.rules_of(rules, id));
            let voters = own.voters_of(&Process::default(), view.nodes);
            own.without_witness(voters).iter().last() == leaders(view).last()
        });
    "hands-over" asked: "◇ leads(transfer)",
        "the process to which the first leader is asked to hand over leads at some moment; ask it \
         without faults",
        if "a transfer is asked for" => |rules, _| rules.transfer.is_some();
        Eventually(|rules, view| leaders(view).any(|id| Some(id) == rules.transfer));
    "one-list-per-number" asked:
        "□ ¬∃ i, j: number(decided(i)) = number(decided(j)) ∧ decided(i) ≠ decided(j)",
        "of several lists with one number, one is decided",
        if "a list is decided after the first" => |_, view| {
            view.ids().any(|id| kept(view, id).decided.number > 0)
        };
        Always(one_list_per_number);
    "changes-end" asked:
        "◇□ ∃ leads(l): no list is pending at l, and a majority is in l's epoch and follows l (or \
         is l)",
        "in the end each change that was proposed is decided or replaced, and a leader has a \
         majority behind it",
        if "a list is pending" => |_, view| {
            view.ids().any(|id| kept(view, id).decided != kept(view, id).list)
        };
        EventuallyAlways(|rules, view| {
            one_has_a_following(rules, view)
                && leaders(view).all(|id| kept(view, id).decided == kept(view, id).list)
        });
    "forgotten-vote-again" asked: "◇□ ∀ up i that has lost its memory: votes(i)",
        "in the end each process that has lost its memory and is up votes again",
        if "a process has lost its memory" => |_, view| {
            view.live().any(|id| kept(view, id).lost > 0)
        };
        EventuallyAlways(|rules, view| {
            view.live().all(|id| kept(view, id).lost == 0 || votes(rules, view, id))
        });
    "founders-vote" asked: "◇ votes(i) for a majority of i",
        "at some moment a majority of the first list votes; ask it without faults",
        if "processes start without a state" => |rules, _| rules.founding != Founding::Given;
        Eventually(|rules, view| {
            let voters = rules.voters(List::default(), view.nodes);
            let votes = |&id: &Id| votes(rules, view, id);
            voters.iter().filter(votes).count() >= majority(voters.len())
        });
    "stable-leader": "◇□ ∃ leads(l): a majority is in l's epoch and follows l (or is l)",
        "in the end one leader has a majority behind it, for good";
        EventuallyAlways(one_has_a_following);
};

type Moment<'a> = View<'a, Quorum>;

pub(super) fn kept(view: &Moment<'_>, id: Id) -> Stable {
    known(view.process(id), view.stable(id))
}

fn leaders<'v>(view: &'v Moment<'_>) -> impl Iterator<Item = Id> + 'v {
    view.live().filter(|&id| view.process(id).role == Role::Leader)
}

/// Whether a process counts the grants of its epoch.
fn asks(role: Role) -> bool {
    matches!(role, Role::Claiming | Role::Succeeding)
}

/// Whether this grants an epoch to this life of a process.
fn gives(letter: TaggedMessage, epoch: Epoch, birth: Birth) -> bool {
    let grants = letter.message == Message::Grant(epoch) && letter.birth == birth;
    grants || letter.message == Message::Entrust(epoch)
}

/// Returns whether these are a majority of the voters by each list of a process with these rules.
fn are_majority(rules: &Quorum, process: &Process, nodes: usize, these: Ids) -> bool {
    let these = these.except(rules.two_at_once(process, nodes));
    [process.list, process.decided].into_iter().all(|list| {
        let voters = rules.voters(list, nodes);
        voters.common(these).len() >= majority(voters.len())
    })
}

/// Whether a process votes by one of its lists.
pub(super) fn votes(rules: &Quorum, view: &Moment<'_>, id: Id) -> bool {
    let birth = kept(view, id).birth;
    view.rules_of(rules, id).has_vote(view.process(id), id, birth, view.nodes)
}

/// Whether another process, as it was born, is one that this process may count.
fn may_count(view: &Moment<'_>, process: &Process, other: Id) -> bool {
    let birth = kept(view, other).birth;
    [process.list, process.decided].iter().any(|list| list.births.of(other) == birth)
}

/// The grants that are counted or may still be: the voter, the process that claims, and the epoch.
fn grants<'v>(view: &'v Moment<'_>) -> impl Iterator<Item = (Id, Id, Epoch)> + 'v {
    let pairs = view.ids().flat_map(|voter| view.ids().map(move |one| (voter, one)));
    pairs.filter_map(|(voter, one)| {
        let Process { role, granted, .. } = *view.process(one);
        let epoch = kept(view, one).epoch;
        let counted = asks(role) && granted.contains(voter);
        let birth = kept(view, one).birth;
        let sent = |from, to, m| (from, to) == (voter, one) && gives(m, epoch, birth);
        (counted || view.in_flight(sent)).then_some((voter, one, epoch))
    })
}

fn one_leader_per_epoch(_: &Quorum, view: &Moment<'_>) -> bool {
    let epoch = |id| kept(view, id).epoch;
    leaders(view).all(|i| leaders(view).all(|j| i == j || epoch(i) != epoch(j)))
}

fn one_list_per_number(_: &Quorum, view: &Moment<'_>) -> bool {
    let decided = |id| kept(view, id).decided;
    view.ids().all(|i| {
        let same = |&j: &Id| decided(i).number == decided(j).number;
        view.ids().filter(same).all(|j| decided(i) == decided(j))
    })
}

fn one_lease_at_a_time(_: &Quorum, view: &Moment<'_>) -> bool {
    leaders(view).filter(|&id| !view.has_run_out(id, Timer::Lease)).count() <= 1
}

/// Whether a process has granted this epoch to `to`, or a higher one to any.
fn stands(view: &Moment<'_>, voter: Id, to: Id, epoch: Epoch) -> bool {
    let Stable { epoch: now, granted_to, .. } = *view.stable(voter);
    now > epoch || (now == epoch && granted_to == Some(to))
}

fn grants_stand(_: &Quorum, view: &Moment<'_>) -> bool {
    grants(view).all(|(voter, one, epoch)| {
        stands(view, voter, one, epoch) || !may_count(view, view.process(one), voter)
    })
}

fn epochs_grow(rules: &Quorum, view: &Moment<'_>) -> bool {
    leaders(view).all(|leader| {
        let epoch = kept(view, leader).epoch;
        // One that has heard of the epoch, and granted it to none, cannot any more.
        let heard = |id| *view.stable(id) == Stable { epoch, granted_to: None, ..*view.stable(id) };
        let (own, process) = (view.rules_of(rules, leader), view.process(leader));
        // A majority of a pending list need not have followed it yet.
        let decided = Process { list: process.decided, ..*process };
        // Nor does one grant anything that waits for its vote, which comes with a leader's epoch.
        let waits = |id| {
            let Stable { list, decided, birth, .. } = *view.stable(id);
            let process = Process { list, decided, ..Process::default() };
            let own = view.rules_of(rules, id);
            let votes = own.has_vote(&process, id, birth, view.nodes);
            !votes && own.awaits(list, id, birth, view.nodes)
        };
        let behind = |&id: &Id| stands(view, id, leader, epoch) || heard(id) || waits(id);
        are_majority(own, &decided, view.nodes, view.ids().filter(behind).collect())
    })
}

/// A process that claims, and has a majority of grants counted or in flight, is about to lead.
fn epochs_in_order(rules: &Quorum, view: &Moment<'_>) -> bool {
    let epoch = |id| kept(view, id).epoch;
    let wins = |one: Id| {
        let (own, process) = (view.rules_of(rules, one), view.process(one));
        let granted = grants(view).filter(|&(_, to, e)| to == one && e == epoch(one));
        let granted = granted.map(|(voter, ..)| voter).collect();
        view.up(one) && asks(process.role) && are_majority(own, process, view.nodes, granted)
    };
    leaders(view).all(|leader| !view.ids().any(|id| epoch(id) < epoch(leader) && wins(id)))
}

fn one_has_a_following(rules: &Quorum, view: &Moment<'_>) -> bool {
    leaders(view).any(|leader| {
        let follows = |&id: &Id| {
            let same = kept(view, id).epoch == kept(view, leader).epoch;
            same && view.process(id).leader == Some(leader)
        };
        let (own, process) = (view.rules_of(rules, leader), view.process(leader));
        are_majority(own, process, view.nodes, view.live().filter(follows).collect())
    })
}
