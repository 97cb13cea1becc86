//! Each invariant.

use std::time::Duration;

use bellwether_core::protocol::Role;
use bellwether_core::protocol::quorum::Lists;

use super::{Answer, Face, Fact, Memory, Verdict, View, has_majority};
use crate::clock::Moment;
use crate::subject::Says;

/// `one-leader-per-epoch`: no two nodes ever lead in one epoch, not even one after the other.
pub(super) fn one_leader_per_epoch(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    let Some(epoch) = face.term.and_then(|term| term.epoch) else { return Ok(()) };
    let first = *memory.led_by.entry(epoch).or_insert(place);
    if first == place {
        return Ok(());
    }
    let first = view.nodes[first].id;
    Err(format!("n{} leads epoch {epoch}, which n{first} has led", face.id))
}

/// `at-most-one-leader`: at any instant of true time, at most one node believes in a lease that is
/// not over. Leases begin and grow when their node changes, so that is when two can overlap first.
pub(super) fn at_most_one_leader(_: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    if face.leads(view.at).is_none() {
        return Ok(());
    }
    let mut others = view.nodes.iter().enumerate().filter(|&(other, _)| other != place);
    match others.find_map(|(_, other)| Some((other.id, other.leads(view.at)?))) {
        Some((other, term)) if term.until != Moment(u64::MAX) => Err(format!(
            "n{} leads while n{other} has a lease for another {:.3?}",
            face.id,
            term.until.since(view.at)
        )),
        Some((other, _)) => Err(format!("n{} leads, and so does n{other}", face.id)),
        None => Ok(()),
    }
}

/// `epochs-grow`: behind every leader is a majority that has its epoch, or a higher one, on stable
/// storage. Whatever is granted from then on has a higher epoch, whatever crashes. It is a majority
/// of each list of members by which the leader was elected. A voter that has lost its state stands
/// behind the leader too: with its new birth it has no vote by these lists. So it holds whatever
/// disks are lost.
pub(super) fn epochs_grow(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    if let (Some(epoch), Some(lists)) = (face.term.and_then(|term| term.epoch), &face.elected_by)
        && memory.stands.as_ref().is_none_or(|latest| (latest.0, latest.1) < (epoch, face.id))
    {
        memory.stands = Some((epoch, face.id, lists.clone()));
    }
    let Some((epoch, leader, lists)) = &memory.stands else { return Ok(()) };
    let stands = |node: &Face| {
        node.durable.is_some_and(|granted| {
            (granted.epoch == *epoch && granted.to == Some(*leader)) || granted.epoch > *epoch
        })
    };
    if has_majority(view.nodes, lists, |node| stands(node) || node.has_forgotten(lists)) {
        return Ok(());
    }
    Err(format!("n{leader} has led epoch {epoch}, and no majority has that on disk"))
}

/// `epochs-in-order`: each leader has a higher epoch than all before it.
pub(super) fn epochs_in_order(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    // A node whose lease is over leads no more, also if it has not noticed yet.
    let leads = face.leads(view.at).and_then(|term| term.epoch);
    let Some(epoch) = leads else { return Ok(()) };
    match memory.highest {
        Some((highest, leader)) if highest > epoch => {
            Err(format!("n{} leads epoch {epoch} after n{leader} has led epoch {highest}", face.id))
        }
        _ => {
            memory.highest = Some((epoch, face.id));
            Ok(())
        }
    }
}

/// `grants-stand`: what a node has granted is durable before it is sent, and no node grants one
/// epoch to two, for as long as it has its disk. A claim is a grant to oneself.
pub(super) fn grants_stand(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Sent { from, to, says, .. } = fact else { return Ok(()) };
    let (me, wiped) = (view.nodes[from].id, view.nodes[from].wiped);
    let (epoch, to) = match says {
        Says::Grants(epoch) => (epoch, to),
        Says::Gives(epoch, to) => (epoch, to),
        Says::Claims(epoch) => (epoch, me),
        Says::Leads(_) | Says::Other => return Ok(()),
    };
    let first = *memory.granted.entry((epoch, from, wiped)).or_insert(to);
    if first != to {
        return Err(format!("n{me} grants epoch {epoch} to n{to}, and has to n{first}"));
    }
    let durable = view.nodes[from].durable;
    let stands = durable.is_some_and(|granted| {
        granted.epoch > epoch || (granted.epoch == epoch && granted.to == Some(to))
    });
    if stands {
        return Ok(());
    }
    Err(format!("n{me} sends that it grants epoch {epoch} to n{to} before that is durable"))
}

/// `lease-before-word`: what only a leader may say, a node says only of the epoch that it leads by
/// its own clock when it handles what the word follows from. A pause or a disk that stalls may hold
/// the word up after that; that makes it late, and the lease was counted from before.
pub(super) fn lease_before_word(_: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Sent { from, says: Says::Leads(epoch), led, .. } = fact else { return Ok(()) };
    if led {
        return Ok(());
    }
    Err(format!("n{} speaks as leader of epoch {epoch} without a lease", view.nodes[from].id))
}

/// `loss-before-word`: before a node gives an epoch away, or claims the next one, its program knows
/// that it leads no longer, and has ended the work that only a leader may do; or the lease is over.
pub(super) fn loss_before_word(_: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Sent { from, says, .. } = fact else { return Ok(()) };
    let (Says::Grants(epoch) | Says::Gives(epoch, _) | Says::Claims(epoch)) = says else {
        return Ok(());
    };
    let face = &view.nodes[from];
    match face.leads(view.at).and_then(|term| term.epoch) {
        Some(led) if led < epoch => {
            Err(format!("n{} gives epoch {epoch} away, and its program leads epoch {led}", face.id))
        }
        _ => Ok(()),
    }
}

/// `one-list-per-number`: no two nodes ever know two lists of members with one number as decided,
/// not even one after the other. A node knows what it has durably.
pub(super) fn one_list_per_number(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    let Some(lists) = &face.lists else { return Ok(()) };
    let (number, own) = (lists.decided.config_epoch(), &lists.decided);
    let (first, by) = memory.decided.entry(number).or_insert_with(|| (own.clone(), face.id));
    if first == own {
        return Ok(());
    }
    Err(format!("list {number} is {first} for n{by}, and {own} for n{}", face.id))
}

/// `lists-grow`: the lists of members that a node has durably never become older, whatever crashes,
/// for as long as it has its disk.
pub(super) fn lists_grow(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    let Some(lists) = &face.lists else { return Ok(()) };
    match memory.marks.insert((place, face.wiped), lists.mark) {
        Some(before) if before > lists.mark => {
            Err(format!("n{} has {:?} after {before:?}", face.id, lists.mark))
        }
        _ => Ok(()),
    }
}

/// `pause-is-a-loss` and `stalled-disk-is-a-loss`: a leader that could say nothing for longer than
/// a leader may be silent does not know whether the others have another leader by now. Its process
/// stood still, or what it says waits for a disk that does not answer. Its program is told that it
/// leads no longer. If its node leads all the time, it is told so again when the others have had
/// the time to hear it, and not before.
pub(super) fn silence_is_a_loss(view: View<'_>, fact: Fact, is_pause: bool) -> Verdict {
    let Fact::Waits { node, paused, stalled } = fact else { return Ok(()) };
    let (silent, why) = match is_pause {
        true => (paused, "as if its process had not stood still"),
        false => (stalled, "and its disk keeps it silent"),
    };
    let face = &view.nodes[node];
    if !silent || face.role != Role::Leader {
        return Ok(());
    }
    Err(format!("n{} leads for its program, {why}", face.id))
}

/// `prepared-first`: a program that prepares itself is told that it leads when it has done so, and
/// not before.
pub(super) fn prepared_first(_: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Changed(place) = fact else { return Ok(()) };
    let face = &view.nodes[place];
    if face.role != Role::Leader || face.prepared {
        return Ok(());
    }
    Err(format!("n{} leads for its program, which has not prepared itself", face.id))
}

/// `transfers-are-true`: what an operator is answered is what has happened. A transfer is done if
/// the other node has said that it leads the epoch that is named, a later one than before; and it
/// was not taken if the node that was asked leads as before.
pub(super) fn transfers_are_true(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let (node, to, before, leads, answer) = match fact {
        Fact::Sent { from, says: Says::Leads(epoch), .. } => {
            memory.said.entry(epoch).or_insert(view.nodes[from].id);
            return Ok(());
        }
        Fact::Answered { node, to, epoch, leads, answer, .. } => {
            (view.nodes[node].id, to, epoch, leads, answer)
        }
        _ => return Ok(()),
    };
    match answer {
        Answer::Done(epoch) => {
            let said = epoch.and_then(|epoch| memory.said.get(&epoch));
            if said == Some(&to) && epoch > before {
                return Ok(());
            }
            Err(format!("n{node} answers that n{to} leads epoch {epoch:?}, which it does not"))
        }
        Answer::Stays if leads.is_none() || leads != before => {
            Err(format!("n{node} answers that it leads on, after {before:?} it is {leads:?}"))
        }
        Answer::Stays | Answer::Other | Answer::Refused => Ok(()),
    }
}

/// `transfers-work`: where nothing else happens, a node that can take over does, and if it cannot,
/// the leader leads on.
pub(super) fn transfers_work(_: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Answered { node, to, able: Some(able), answer, .. } = fact else {
        return Ok(());
    };
    match (able, answer) {
        (true, Answer::Done(_)) | (false, Answer::Stays | Answer::Refused) => Ok(()),
        (able, answer) => {
            let (can, node) = (if able { "can" } else { "cannot" }, view.nodes[node].id);
            Err(format!("n{to} {can} take over from n{node}, and the answer is {answer:?}"))
        }
    }
}

/// `tokens-grow`: a grant has a higher token than each that its process has seen.
pub(super) fn tokens_grow(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    let Fact::Told { node, life, token, is_grant } = fact else { return Ok(()) };
    let seen = memory.tokens.entry((node, life)).or_default();
    let before = *seen;
    *seen = before.max(token);
    if !is_grant || token > before {
        return Ok(());
    }
    let id = view.nodes[node].id;
    Err(format!("n{id} is granted token {token}, and has seen token {before}"))
}

/// `fence-in-order`: the tokens of the writes that the fence of the store lets pass never go back.
pub(super) fn fence_in_order(memory: &mut Memory, _: View<'_>, fact: Fact) -> Verdict {
    let Fact::Written(token) = fact else { return Ok(()) };
    let before = std::mem::replace(&mut memory.written, token);
    if token >= before {
        return Ok(());
    }
    Err(format!("a write with token {token} passes the fence after one with token {before}"))
}

/// `problems-are-told`: where nothing else happens, a node tells in time that the store has lost its
/// record or that its record was changed, or that another process has the id of the node.
pub(super) fn problems_are_told(memory: &mut Memory, view: View<'_>, fact: Fact) -> Verdict {
    if let Fact::Mishap { by } = fact {
        memory.due = Some(by);
    }
    if view.nodes.iter().any(|face| face.problem) {
        memory.due = None;
    }
    match memory.due {
        Some(by) if by < view.at => Err("no node has told of the mishap in time".to_owned()),
        _ => Ok(()),
    }
}

/// `first-leader-stays`: the leader of the first fault leads to the end, in one epoch. It is asked
/// where one other node flaps, and a majority hears the leader all the time.
pub(super) fn first_leader_stays(memory: &mut Memory, view: View<'_>, _: Fact) -> Verdict {
    if view.at < view.terms.from {
        return Ok(());
    }
    let Some((place, epoch)) = memory.first else {
        let first = view.nodes.iter().position(|face| face.leads(view.at).is_some());
        let place = first.ok_or("no node leads when the faults begin")?;
        memory.first = Some((place, view.nodes[place].term.and_then(|term| term.epoch)));
        return Ok(());
    };
    let face = &view.nodes[place];
    match face.leads(view.at) {
        Some(term) if term.epoch == epoch => Ok(()),
        _ => Err(format!("n{} leads no more, although a majority heard it", face.id)),
    }
}

/// How much later nothing is left to change: a leader lets in one node after another, each at a
/// round of its own.
const LETS_IN: Duration = Duration::from_secs(4);

/// `settles` and `stabilises`: once all faults are over, all nodes agree on one leader (on the
/// highest) within the bound, and go on to. All are the members by the lists of the leader. A while
/// later all that are to vote do, also those that have lost their state, and no list is pending if
/// those are up that can decide it.
pub(super) fn settles(view: View<'_>, is_highest: bool) -> Verdict {
    let by = view.terms.calm + view.terms.bound;
    if view.at < by {
        return Ok(());
    }
    let leads = view.agreed.map(|(_, leader)| leader);
    let leader = view.nodes.iter().find(|face| Some(face.id) == leads);
    if let Some(lists) = leader.and_then(|face| face.lists.as_ref())
        && view.at >= by + LETS_IN
    {
        nothing_waits(view.nodes, lists)?;
    }
    let highest = view.nodes.last().map(|face| face.id);
    match view.agreed {
        Some((since, leader)) if since <= by => match is_highest {
            true if Some(leader) != highest => {
                Err(format!("all follow n{leader}, which is not the highest"))
            }
            _ => Ok(()),
        },
        Some((since, leader)) => Err(format!(
            "all agree on n{leader} only {:.3?} after the last fault",
            since.since(view.terms.calm)
        )),
        None => {
            let bound = view.terms.bound;
            Err(format!("nodes disagree, and all faults were over {bound:.3?} ago or more"))
        }
    }
}

/// By these lists of the leader, there is nothing left to change.
fn nothing_waits(nodes: &[Face], lists: &Lists) -> Verdict {
    if let Some(pending) = &lists.pending
        && has_majority(nodes, lists, |face| face.up && !face.has_forgotten(lists))
    {
        let number = pending.config_epoch();
        return Err(format!("list {number} is pending, and majorities are up to decide it"));
    }
    let list = lists.latest();
    let is_to_vote = |face: &&Face| list.votes(face.id) || list.awaited().contains(&face.id);
    match nodes.iter().filter(is_to_vote).find(|face| face.up && face.waits) {
        Some(face) => Err(format!("n{} is to vote, and waits to be let in", face.id)),
        None => Ok(()),
    }
}
