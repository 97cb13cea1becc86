//! The logs of nodes that ran, judged by the specification: is there an execution of the model that
//! looks like this?
//!
//! A log is a [trace](bellwether_core::trace) of one node. A step of one process of the model is
//! decided by what has happened to it, so nothing is searched: each node's process takes each step
//! of the log, and what the log says of the node must be the same. What orders the steps of
//! different nodes is only which message was received where. The logs are read side by side: the
//! log of a node waits before it receives what is not sent yet. So the memory depends on what is on
//! its way, not on how long the logs are.
//!
//! The judge compares what `lockstep` compares, as far as a log says it: messages, what is durable,
//! role, leader and epoch, the timers that are armed, reasons, and what is ignored. Besides:
//!
//! - what is received was sent, to this node and with this content, once, and in this order;
//! - a node begins with what was durable;
//! - nothing is sent, and no program is told that its node leads, before what was to be durable is;
//! - an epoch has one leader, and no node goes back to an earlier one.
//!
//! A loss is what was sent and never arrives; a crash is another start. Times decide when the
//! timers of one node are due, by its own clock, which is never set back within one start. Facts
//! that cannot be judged are counted, and the logs are not accepted then. The messages of a node
//! without a log are believed; that each arrives once and in order is judged. The answers of a
//! service that is no node are believed as far as the specification's could have given them.

mod answers;
mod in_flight;
mod judge;
mod kept;
mod lines;
mod names;
mod numbers;
mod recent;
mod run;
mod shrink;
mod words;

pub use lines::Log;
pub use shrink::{Judge, Text, shrink};

use crate::divergence::Divergence;
use crate::error::{Error, Malformed};
use crate::mapping::{Mapping, Sides};
use crate::node::Group;
use crate::suite::Met;
use bellwether_core::protocol::NodeId;
use bellwether_core::trace::{FORMAT, Start};
use bellwether_engine::protocol::{MAX_NODES, MAX_SEARCHED, Protocol as Specification};
use lines::Lines;
use names::are_plain;
use run::Run;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;
use words::{OfModel, OfProgram};

/// The faults of the network that logs may show, and whether the logs are whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// True if a message may arrive twice.
    pub duplicates: bool,
    /// True if messages of one node to another may overtake each other.
    pub reorder: bool,
    /// True if the log of a node that was killed has all that it did.
    pub whole: bool,
}

/// The outcome: what was judged, and what was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The summary: what was judged, and what was not.
    pub summary: Summary,
    /// The first step that the specification does not allow, if there is one.
    pub rejection: Option<Box<Divergence>>,
    /// The number of such steps that were told.
    pub differences: u64,
    /// The places at which logs cannot be read. What comes before them is judged.
    pub malformed: Vec<Malformed>,
}

/// The summary of logs: what was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of members, services among them.
    pub members: usize,
    /// The number of logs.
    pub logs: usize,
    /// The number of lines.
    pub lines: u64,
    /// The number of times that a node has started.
    pub incarnations: u64,
    /// The number of steps that were judged, by what happened.
    pub steps: BTreeMap<&'static str, u64>,
    /// The number of messages that arrived.
    pub received: u64,
    /// The number of those that arrived again.
    pub duplicates: u64,
    /// The number of those of which no log says that they were sent: they are believed.
    pub believed: u64,
    /// The number of messages that were sent to nodes with a log and did not arrive.
    pub lost: u64,
    /// The number of epochs of which a leader is known.
    pub epochs: u64,
    /// The number of lines that were torn when a node was killed.
    pub torn: u64,
    /// True if the logs say what was done for the nodes: what was saved, sent and told.
    pub deeds: bool,
    /// The facts that were not judged and could decide something, with what to do about that, and
    /// how many of them there are. If there is any, the logs are not accepted.
    pub not_judged: BTreeMap<&'static str, u64>,
    /// The facts that were taken for true where no log says them, and how many of them there are.
    pub assumed: BTreeMap<&'static str, u64>,
    /// The kinds of steps that were judged, and crashes, each with how many there are. The first
    /// start of a node is a `start`, and each other one recovers it.
    pub met: Vec<Met>,
}

impl Summary {
    /// Returns the number of steps that were judged.
    #[must_use]
    pub fn judged(&self) -> u64 {
        self.steps.values().sum()
    }

    /// Returns how many of a hundred steps, and of lines that are missing, were judged.
    #[must_use]
    pub fn percent_judged(&self) -> f64 {
        let (judged, not) = (self.judged(), self.not_judged.values().sum::<u64>());
        judged as f64 * 100.0 / judged.saturating_add(not).max(1) as f64
    }
}

/// An observer of logs that are judged while they grow.
pub trait Watch {
    /// A step is one that the specification does not allow. Whether the steps of other nodes are
    /// judged on, and those of this one from its next start on.
    fn differs(&mut self, divergence: &Divergence) -> bool;

    /// A log cannot be read from here on. The others are.
    fn malformed(&mut self, malformed: &Malformed);

    /// Hears how much was judged up to now, and waits for a moment if nothing more has come yet.
    /// Returns whether to go on.
    fn goes_on(&mut self, judged: &Summary, waits: bool) -> bool;
}

/// Logs that are all there.
struct Whole;

impl Watch for Whole {
    fn differs(&mut self, _: &Divergence) -> bool {
        false
    }

    fn malformed(&mut self, _: &Malformed) {}

    fn goes_on(&mut self, _: &Summary, waits: bool) -> bool {
        !waits
    }
}

/// Judges the logs of the nodes of one run, one for each node, in any order. It ends at the first
/// step that the specification does not allow.
///
/// # Errors
/// If the logs are not of one group that the mapping's program has, or judge nothing.
pub fn validate<T: Sides>(
    mapping: &Mapping<T>,
    logs: Vec<Log>,
    options: Options,
) -> Result<Outcome, Error> {
    follow(mapping, logs, options, &mut Whole)
}

/// The same of logs that grow meanwhile. It begins when each of them has its first line, and goes
/// on until `watch` says that it ends, or no log can go on.
///
/// # Errors
/// As [`validate`].
pub fn follow<T: Sides>(
    mapping: &Mapping<T>,
    logs: Vec<Log>,
    options: Options,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    let begun = begin_all(logs, &|start| of_protocol(mapping, start), watch)?;
    let vocabulary = begun.first().and_then(|(_, start)| start.vocabulary.clone());
    let groups = groups(mapping, &begun)?;
    let outcome = match vocabulary.as_deref() {
        None | Some("program") => {
            Run::<T, OfProgram>::new(mapping, &groups, begun, options).run(watch)
        }
        Some("model") => Run::<T, OfModel>::new(mapping, &groups, begun, options).run(watch),
        Some(other) => {
            let why = format!("there is no vocabulary '{other}'; there are: program, model");
            let lines = begun.first().map(|(lines, _)| lines.wrong(why));
            return Err(lines.map_or(Error::NoLogs, Error::Log));
        }
    };
    if outcome.summary.judged() == 0 && outcome.rejection.is_none() && outcome.malformed.is_empty()
    {
        return Err(Error::NothingJudged);
    }
    Ok(outcome)
}

/// The groups of which nodes can be members, by their size, services among them. The logs begin in
/// some of these, and nodes may start again in others: lists change by a few members at a time.
fn groups<'a, T: Sides>(
    mapping: &'a Mapping<T>,
    begun: &[(Lines, Start)],
) -> Result<Vec<Option<Group<'a, T>>>, Error> {
    let services = T::Spec::OPTIONS.services.count;
    let group = |size: usize| {
        let group = || Group::new(mapping, size.saturating_sub(services));
        if begun.iter().any(|(_, start)| start.members.len() == size) {
            return group().map(Some);
        }
        Ok(if size < services + 2 { None } else { group().ok() })
    };
    let largest = begun.iter().map(|(_, start)| start.members.len()).max().unwrap_or(0);
    (0..=(largest + MAX_SEARCHED).min(mapping.more.logs.members)).map(group).collect()
}

/// A check of a start: its log can be judged, or the reason why not.
type CanJudge<'a> = &'a dyn Fn(&mut Start) -> Result<(), String>;

/// The logs after their first lines, in the order of their nodes. They have one vocabulary.
fn begin_all(
    logs: Vec<Log>,
    can_judge: CanJudge<'_>,
    watch: &mut dyn Watch,
) -> Result<Vec<(Lines, Start)>, Error> {
    let mut begun = Vec::new();
    for log in logs {
        begun.push(begin(log, can_judge, watch)?);
    }
    begun.sort_by_key(|(_, start)| start.node);
    let Some((lines, _)) = begun.first() else { return Err(Error::NoLogs) };
    let all = begun.iter().flat_map(|(_, start)| &start.members);
    let count = all.collect::<BTreeSet<_>>().len();
    if count > MAX_NODES {
        let why = format!("{count} members in all logs: {MAX_NODES} at most can be judged");
        return Err(Error::Log(lines.wrong(why)));
    }
    for pair in begun.windows(2) {
        let [(_, one), (lines, other)] = pair else { continue };
        if one.node == other.node {
            let why = format!("another log is of node {} as well; give one of each", one.node);
            return Err(Error::Log(lines.wrong(why)));
        }
        same_cluster(one, other).map_err(|why| Error::Log(lines.wrong(why)))?;
        if other.vocabulary != one.vocabulary {
            let why = "the logs do not have one vocabulary";
            return Err(Error::Log(lines.wrong(why)));
        }
    }
    Ok(begun)
}

/// The log after its first line, as soon as that is there.
fn begin(
    log: Log,
    can_judge: CanJudge<'_>,
    watch: &mut dyn Watch,
) -> Result<(Lines, Start), Error> {
    let mut lines = Lines::new(log);
    let mut start = loop {
        match lines.start().map_err(Error::Log)? {
            Poll::Ready(start) => break start,
            Poll::Pending if watch.goes_on(&Summary::default(), true) => {}
            Poll::Pending => return Err(Error::NothingJudged),
        }
    };
    can_judge(&mut start).map_err(|why| Error::Log(lines.wrong(why)))?;
    Ok((lines, start))
}

/// Checks that a log is of this protocol, and of a group that can be judged. If it is, the services
/// are among the members from here on, as the specification has them: they are the highest.
fn of_protocol<T: Sides>(mapping: &Mapping<T>, start: &mut Start) -> Result<(), String> {
    let services = T::Spec::OPTIONS.services.count;
    if start.services.len() > services {
        let listed = listed(&start.services);
        return Err(format!("the services are {listed}: the specification has {services}"));
    }
    if start.services.contains(&start.node) {
        return Err(format!("node {} is a service, and writes no log", start.node));
    }
    start.members.extend(&start.services);
    let (own, most) = (T::Spec::NAME, mapping.more.logs.members);
    if start.format != FORMAT {
        return Err(format!("format {}; this program reads {FORMAT}", start.format));
    }
    if start.protocol != own {
        let other = &start.protocol;
        return Err(format!("the log is of protocol '{other}', and not of '{own}'"));
    }
    let members = &start.members;
    let count = members.len();
    if count > most {
        return Err(format!("{count} members: logs of at most {most} can be judged"));
    }
    let names_ids = !mapping.more.logs.any_ids || start.vocabulary.as_deref() == Some("model");
    if names_ids && !are_plain(members) {
        let members = listed(members);
        return Err(format!(
            "the members are {members}: such logs can be judged of members 1, 2, 3 and so on, in \
             this order"
        ));
    }
    if !members.is_sorted_by(|one, next| one < next) {
        return Err(format!("the members are {}, and do not ascend", listed(members)));
    }
    if !start.members.contains(&start.node) {
        return Err(format!("node {} is none of the members", start.node));
    }
    Ok(())
}

/// Checks that a node can start like this whose log has begun with `before`.
fn starts_again(before: &Start, incarnations: &[u64], start: &Start) -> Result<(), String> {
    same_cluster(before, start)?;
    if start.node != before.node {
        return Err("the start of another node in one log".to_owned());
    }
    if incarnations.contains(&start.incarnation) {
        return Err("the node has had this incarnation before".to_owned());
    }
    if start.vocabulary != before.vocabulary {
        return Err("another vocabulary than before".to_owned());
    }
    Ok(())
}

/// The members of all these logs, ascending.
fn all_members(begun: &[(Lines, Start)]) -> Vec<NodeId> {
    let members = begun.iter().flat_map(|(_, start)| start.members.iter().copied());
    members.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Checks that two starts are of one cluster: another list of members has another number.
fn same_cluster(one: &Start, other: &Start) -> Result<(), String> {
    if let (Some(one), Some(other)) = (&one.cluster, &other.cluster)
        && one != other
    {
        return Err(format!("the cluster is '{other}' here, and '{one}' in another place"));
    }
    let numbers = one.config_epoch.zip(other.config_epoch);
    if one.members == other.members || numbers.is_some_and(|(one, other)| one != other) {
        return Ok(());
    }
    let (here, there) = (listed(&other.members), listed(&one.members));
    Err(format!("the members are {here} here, and {there} in another place"))
}

fn listed(members: &[NodeId]) -> String {
    members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
