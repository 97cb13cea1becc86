//! `bellwether status`: ask a running node how it is.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::internal::config::{
    self, Address, Credentials, Error, GroupName, Overrides, SecuritySettings, Source,
};
use bellwether::internal::status::{
    CertificateReport, GroupsReport, MemberReport, QueryError, StatusReport, Told, query,
};
use bellwether::{NodeId, Role};
use bellwether_cli::failure::Wrong;
use futures::future::join_all;
use humantime::{format_duration, format_rfc3339_seconds};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Failure, UNREACHABLE, found, json, put};

/// How long between two questions.
const AGAIN: Duration = Duration::from_secs(1);

/// How long between two questions while no leader is known.
const SOON: Duration = Duration::from_millis(100);

/// Ask a running node how it is, or all nodes of a cluster
///
/// If neither the line nor the file names a node, and with --all, each member is asked, and is a
/// line of a table. The question goes to the port on which the node talks to its peers. A node with
/// groups says which node leads each. Exit status: 0 each node that was asked knows a leader, of
/// every group if it was asked for all, 1 one knows none or is not reached, 2 usage or
/// configuration, 3 none can be reached. With --leading it is 0 only if the node itself leads, and
/// else 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether status --config orders.toml
  bellwether status --config orders.toml --node 3
  bellwether status --address 10.0.0.3:7000 --json
  bellwether status --config orders.toml --node 3 --watch
  bellwether status --config orders.toml --node 3 --group shard-17
  bellwether status --config orders.toml --node 3 --leading >/dev/null && ./report
  bellwether status --address 10.0.0.3:7000 --wait 30s")]
pub(crate) struct Args {
    /// The configuration file in which the node's address stands
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    #[arg(required_unless_present = "address")]
    config: Option<PathBuf>,

    /// Which node to ask, if not the one that the file names
    #[arg(long, value_name = "ID", env = "BELLWETHER_NODE")]
    node: Option<NodeId>,

    /// Ask all members, with the keys of the node that is named; without one, each member with its
    /// own
    #[arg(long, conflicts_with_all = ["address", "leading"])]
    all: bool,

    /// How the node is in this group; without it, which node leads each group
    #[arg(long, value_name = "NAME")]
    group: Option<GroupName>,

    /// Ask the node at this address; no configuration is needed
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<Address>,

    #[command(flatten)]
    security: SecuritySettings,

    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,

    /// Succeed only if the node leads, with a lease that lasts if the protocol has one; every group
    /// if it was asked for all
    #[arg(long, conflicts_with = "watch")]
    leading: bool,

    /// Ask again every second, until Ctrl-C; a node that cannot be reached is asked again, too
    #[arg(long)]
    watch: bool,

    /// Ask again until the node knows a leader, for at most this long; of every group if it was
    /// asked for all, and with --leading until it leads; a node that cannot be reached is asked
    /// again, too
    #[arg(long, value_name = "TIME", conflicts_with = "watch", value_parser = some_time)]
    wait: Option<Duration>,

    /// How long to wait for the answer
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = config::duration)]
    timeout: Duration,
}

/// Whom to ask, and with what to prove that this program may.
enum Target {
    Node(Address, Credentials),
    Cluster(Members),
}

type Members = BTreeMap<NodeId, (Address, Credentials)>;

/// An answer of one node, or of each member.
enum Answer {
    Node(Told),
    Cluster(Vec<Asked>),
}

/// What a member has answered.
struct Asked {
    node: NodeId,
    address: Address,
    told: Result<Told, QueryError>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let target = target(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::runtime)?;
    let ask = async || match &target {
        Target::Node(address, credentials) => {
            ask_node(args, address, credentials).await.map(Answer::Node)
        }
        Target::Cluster(members) => Ok(ask_all(args, members).await),
    };
    if args.watch {
        return watch(args, || runtime.block_on(ask()));
    }
    let answer = match args.wait {
        Some(time) => runtime.block_on(wait(args, time, ask)),
        None => runtime.block_on(ask()),
    };
    let answer = answer.map_err(Failure::unreachable)?;
    found(verdict(args, &answer), &text(args, &answer)?)
}

/// Asks of the group that is named; or, if none is and the node has some, of all.
async fn ask_node(
    args: &Args,
    address: &Address,
    credentials: &Credentials,
) -> Result<Told, QueryError> {
    let limit = args.wait.map_or(args.timeout, |wait| wait.min(args.timeout));
    query(address, args.group.as_ref().map(GroupName::as_str), credentials, limit).await
}

/// Asks all members at the same time.
async fn ask_all(args: &Args, members: &Members) -> Answer {
    let asks = members.iter().map(|(&node, (address, credentials))| async move {
        let told = ask_node(args, address, credentials).await;
        Asked { node, address: address.clone(), told }
    });
    Answer::Cluster(join_all(asks).await)
}

fn some_time(text: &str) -> Result<Duration, String> {
    match config::duration(text)? {
        Duration::ZERO => Err("give a longer time, as in 10s".to_owned()),
        time => Ok(time),
    }
}

/// Asks again until an answer succeeds. Returns that, or the last one within this time, and at
/// least one.
async fn wait(
    args: &Args,
    time: Duration,
    ask: impl AsyncFn() -> Result<Answer, QueryError>,
) -> Result<Answer, QueryError> {
    let until = Instant::now() + time;
    let mut last = ask().await;
    let asks = async {
        while !last.as_ref().is_ok_and(|answer| verdict(args, answer) == 0) {
            sleep(SOON).await;
            last = ask().await;
        }
    };
    let _ = timeout_at(until, asks).await;
    last
}

/// Asks again and again, until the output is not read any more. On a terminal each answer takes the
/// place of the one before.
fn watch(args: &Args, ask: impl Fn() -> Result<Answer, QueryError>) -> Result<ExitCode, Failure> {
    const CLEAR: &str = "\x1b[H\x1b[2J";
    let clear = if !args.json && std::io::stdout().is_terminal() { CLEAR } else { "" };
    loop {
        let text = match ask() {
            Ok(answer) => text(args, &answer)?,
            Err(error) if args.json => json::line(&Wrong::of(&[error.to_string()], UNREACHABLE))?,
            Err(error) => format!("{error}\n"),
        };
        if !put(&format!("{clear}{text}"))? {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(AGAIN);
    }
}

/// The exit status.
fn verdict(args: &Args, answer: &Answer) -> u8 {
    let succeeds = match answer {
        Answer::Node(told) if args.leading => leads(told),
        Answer::Node(told) => is_led(told),
        Answer::Cluster(all) if all.iter().all(|one| one.told.is_err()) => return UNREACHABLE,
        Answer::Cluster(all) => all.iter().all(|one| one.told.as_ref().is_ok_and(is_led)),
    };
    u8::from(!succeeds)
}

/// Whether the node knows a leader; of every group, if it was asked for all.
fn is_led(told: &Told) -> bool {
    match told {
        Told::Status(report) => report.leader.is_some(),
        Told::Groups(report) => report.groups.iter().all(|group| group.leader.is_some()),
    }
}

/// Whether the node leads; every group, if it was asked for all.
fn leads(told: &Told) -> bool {
    match told {
        Told::Status(report) => {
            report.leader == Some(report.node) && report.lease_ms.is_none_or(|left| left > 0)
        }
        Told::Groups(report) => {
            let GroupsReport { node, groups, .. } = &**report;
            !groups.is_empty() && groups.iter().all(|group| group.leader == Some(*node))
        }
    }
}

fn text(args: &Args, answer: &Answer) -> Result<String, Failure> {
    match answer {
        Answer::Node(Told::Status(report)) if args.json => json::line(report),
        Answer::Node(Told::Groups(report)) if args.json => json::line(report),
        Answer::Cluster(all) if args.json => {
            let nodes: Vec<_> = all.iter().map(Asked::object).collect();
            json::line(&serde_json::json!({ "nodes": nodes }))
        }
        Answer::Node(Told::Status(report)) => Ok(describe(report)),
        Answer::Node(Told::Groups(report)) => Ok(describe_groups(report)),
        Answer::Cluster(all) => Ok(table(all)),
    }
}

/// Whom to ask, and with what to prove that this program may.
fn target(args: &Args) -> Result<Target, Failure> {
    let security = args.security.clone();
    let Some(path) = &args.config else {
        let address = args.address.clone().ok_or_else(|| anyhow!("no address is given"));
        let credentials = security.standalone().map_err(Failure::configuration)?;
        return Ok(Target::Node(address.map_err(Failure::configuration)?, credentials));
    };
    in_file(args, path, &security).map_err(Failure::configuration)
}

fn in_file(args: &Args, path: &Path, security: &SecuritySettings) -> Result<Target, Error> {
    let read = |node| {
        let security = security.clone();
        Source::read(path, Overrides { node, security, ..Overrides::default() })
    };
    let source = read(args.node)?;
    let own = match source.credentials() {
        Err(Error::NoNode) if args.address.is_none() && !args.leading => None,
        own => Some(own?),
    };
    if let Some(own) = own.as_ref().filter(|_| !args.all) {
        let address = args.address.clone().map_or_else(|| source.address(), Ok)?;
        return Ok(Target::Node(address, own.clone()));
    }
    let credentials = |node| match &own {
        Some(own) => Ok(own.clone().asking(node)),
        None => read(Some(node)).and_then(|source| source.credentials()),
    };
    let members = source.members()?.into_iter();
    let members = members
        .map(|(node, address)| credentials(node).map(|credentials| (node, (address, credentials))));
    Ok(Target::Cluster(members.collect::<Result<Members, Error>>()?))
}

impl Asked {
    /// The answer as a part of an object.
    fn object(&self) -> Value {
        let (status, groups, error) = match &self.told {
            Ok(Told::Status(report)) => (Some(report), None, None),
            Ok(Told::Groups(report)) => (None, Some(report), None),
            Err(error) => (None, None, Some(error.to_string())),
        };
        let Self { node, address, .. } = self;
        serde_json::json!({
            "node": node, "address": address, "status": status, "groups": groups, "error": error,
        })
    }

    /// The cells of a line.
    fn row(&self) -> [String; COLUMNS.len()] {
        let none = || "-".to_owned();
        let seconds = |ms: u64| format!("{}.{}s", ms / 1_000, ms % 1_000 / 100);
        let (role, leader, epoch, lease) = match &self.told {
            Ok(Told::Status(report)) => {
                let role = match report.role {
                    _ if report.observes => "observer".to_owned(),
                    Role::Follower if report.witnesses.contains(&self.node) => "witness".to_owned(),
                    role => role.to_string(),
                };
                let leader = report.leader.map_or_else(none, |leader| leader.to_string());
                let epoch = report.epoch.map_or_else(none, |epoch| epoch.to_string());
                let times = [report.lease_ms, report.margin_ms].into_iter().flatten();
                let times: Vec<_> = times.map(seconds).collect();
                (role, leader, epoch, if times.is_empty() { none() } else { times.join("/") })
            }
            Ok(Told::Groups(report)) => {
                let led = report.groups.iter().filter(|group| group.leader == Some(report.node));
                let led = format!("leads {} of {}", led.count(), report.groups.len());
                (led, none(), none(), none())
            }
            Err(_) => (none(), none(), none(), none()),
        };
        let state = match (&self.told, self.problem()) {
            (Err(_), _) => "not reached",
            (Ok(_), Some(_)) => "problem",
            (Ok(_), None) => "fine",
        };
        let (node, address) = (self.node.to_string(), self.address.to_string());
        [node, address, role, leader, epoch, lease, state.to_owned()]
    }

    fn problem(&self) -> Option<String> {
        let answers = self.told.as_ref().ok().map(|told| match told {
            Told::Status(report) => report.node,
            Told::Groups(report) => report.node,
        });
        if let Some(other) = answers.filter(|&node| node != self.node) {
            return Some(format!("node {other} answers at {}", self.address));
        }
        match &self.told {
            Ok(Told::Status(report)) => report
                .problem
                .clone()
                .or_else(|| report.leader.is_none().then(|| "the node knows no leader".to_owned())),
            Ok(told @ Told::Groups(_)) => {
                (!is_led(told)).then(|| "the node knows no leader of some groups".to_owned())
            }
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The columns of the table. The lease is that of a leader: what is left of it now, and what was
/// left when it was renewed last.
const COLUMNS: [&str; 7] = ["node", "address", "role", "leader", "epoch", "lease", "state"];

/// How long a line of the table is at most, also where no terminal says its width.
const WIDTH: usize = 80;

/// The report of all members for people: a line for each, and then what is wrong with them. Of a
/// long address only the beginning is shown.
fn table(all: &[Asked]) -> String {
    let head = COLUMNS.map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(all.iter().map(Asked::row)).collect();
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let mut widths: [usize; COLUMNS.len()] =
        std::array::from_fn(|column| longest(column).unwrap_or_default() + 2);
    let excess = widths.iter().sum::<usize>().saturating_sub(WIDTH + 2);
    widths[1] = widths[1].saturating_sub(excess).max("address".len() + 2);
    let mut text = String::new();
    for row in &rows {
        let cell = |(cell, width): (&String, usize)| {
            let room = width - 2;
            format!("{cell:<width$.room$}")
        };
        let line: String = row.iter().zip(widths).map(cell).collect();
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (node, problem) in all.iter().filter_map(|one| Some((one.node, one.problem()?))) {
        text += &wrapped(&format!("node {node}: {problem}"));
    }
    text
}

/// The same text in lines that are as long as those of the table.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let added = word.chars().count();
        if length > 0 && length + 1 + added > WIDTH {
            lines += "\n  ";
            length = 2;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += added;
    }
    lines + "\n"
}

/// The report of all groups for people: a line for each.
fn describe_groups(report: &GroupsReport) -> String {
    let GroupsReport { cluster, protocol, node, groups, .. } = report;
    let led = groups.iter().filter(|group| group.leader == Some(*node)).count();
    let mut text = format!(
        "node {node} of cluster {cluster}, protocol {protocol}, leads {led} of {} groups\n",
        groups.len()
    );
    let longest = groups.iter().map(|group| group.name.len()).max().unwrap_or_default();
    for group in groups {
        let leader = match group.leader {
            Some(leader) if leader == *node => "this node".to_owned(),
            Some(leader) => format!("node {leader}"),
            None => "none is known".to_owned(),
        };
        let epoch = group.epoch.map(|epoch| format!(", epoch {epoch}")).unwrap_or_default();
        let _ = writeln!(text, "{:<longest$}  {leader}{epoch}", group.name);
    }
    text
}

/// The leader, as the node knows it.
fn describe_leader(report: &StatusReport) -> String {
    let leader = match (report.leader, &report.holder) {
        (Some(leader), _) if leader == report.node => "this node".to_owned(),
        // Where no list has the processes, their ids mean nothing to people.
        (Some(_), Some(holder)) if report.members.is_empty() => holder.clone(),
        (Some(leader), _) => format!("node {leader}"),
        (None, _) => "none is known".to_owned(),
    };
    let time = |milliseconds| format_duration(Duration::from_millis(milliseconds));
    match (report.epoch, report.lease_ms) {
        (Some(epoch), Some(left)) => format!("{leader}, epoch {epoch}, lease for {}", time(left)),
        (Some(epoch), None) => format!("{leader}, epoch {epoch}"),
        (None, _) => leader,
    }
}

/// The report for people.
fn describe(report: &StatusReport) -> String {
    let leader = describe_leader(report);
    let time = |milliseconds| format_duration(Duration::from_millis(milliseconds));
    let StatusReport { cluster, protocol, node, role, seq, .. } = report;
    let is_witness = |node| report.witnesses.contains(node);
    let is_awaited = |node| report.awaited.contains(node);
    let duty = match (report.observes, is_witness(node), is_awaited(node)) {
        (true, ..) => ", which only observes,",
        (_, _, true) => ", which waits for its vote,",
        (_, true, _) => ", a witness,",
        _ => "",
    };
    let incarnation = report.incarnation.map(|incarnation| format!(", incarnation {incarnation}"));
    let mut text = format!(
        "node      {node} of cluster {cluster} (protocol {protocol}{})\n\
         members   list {}\n\
         role      {role}{duty} for {} (change {seq})\n\
         leader    {leader}\n\
         up for    {}\n\
         priority  {}\n",
        incarnation.unwrap_or_default(),
        report.config_epoch,
        time(report.in_role_ms),
        time(report.uptime_ms),
        report.priority,
    );
    if let Some(holder) = &report.holder {
        let _ = writeln!(text, "holder    {holder}, says the store");
    }
    if let Some(problem) = &report.problem {
        let _ = writeln!(text, "problem   {problem}");
    }
    for member in &report.members {
        let duty = match (member.observes, is_witness(&member.node), is_awaited(&member.node)) {
            (true, ..) => " (observes)",
            (_, _, true) => " (waits to be let in)",
            (_, true, _) => " (witness)",
            _ => "",
        };
        describe_member(&mut text, member, duty);
    }
    for certificate in &report.certificates {
        let CertificateReport { which, file, not_after, days_left, .. } = certificate;
        let (which, end) = (which.name(), format_rfc3339_seconds(*not_after));
        let _ = writeln!(text, "expires   {end}, {days_left} days left: {which}, {file}");
    }
    let counters = &report.counters;
    let _ = writeln!(
        text,
        "attempts  {} to find a leader\n\
         refused   {} handshakes, {} malformed frames; ignored {} messages\n\
         log       {} lines dropped",
        counters.attempts,
        counters.refused_handshakes,
        counters.bad_frames,
        counters.ignored_messages,
        counters.dropped_log_lines
    );
    if counters.rivals > 0 {
        let _ = writeln!(text, "rivals    {} led at the same time", counters.rivals);
    }
    if counters.store_regressions > 0 {
        let lost = counters.store_regressions;
        let _ = writeln!(text, "store     lost its record of the lease {lost} times");
    }
    text
}

fn describe_member(text: &mut String, member: &MemberReport, duty: &str) {
    let MemberReport { node, address, link, problem, .. } = member;
    let MemberReport { heard, error, error_ms, sent, received, dropped, .. } = member;
    let name = format!("member {node}");
    let heard = match (*heard, member.fit) {
        (false, _) => ", not heard",
        (true, Some(false)) => ", not fit to lead",
        _ => "",
    };
    let counts = format!("{sent} sent, {received} received, {dropped} dropped");
    let _ = writeln!(text, "{name:<9} {address}{duty} {link}{heard}: {counts}");
    if let Some(problem) = problem {
        let _ = writeln!(text, "{:<9} {problem}", "");
    }
    if let (Some(error), Some(age)) = (error, error_ms)
        && problem.as_ref() != Some(error)
    {
        let age = format_duration(Duration::from_secs(age / 1_000));
        let _ = writeln!(text, "{:<9} no connection {age} ago: {error}", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_has_a_line_for_each_member_that_fits_and_then_what_is_wrong() {
        let asked = |id: u16, host: &str| {
            let address: Address = format!("{host}:7000").parse().expect("an address");
            let told = Err(QueryError::Silent { address: address.clone(), limit: AGAIN });
            Asked { node: NodeId::new(id).expect("not zero"), address, told }
        };
        let text = table(&[asked(1, "10.0.0.1"), asked(65_535, &"long-".repeat(30))]);
        let lines: Vec<_> = text.lines().collect();
        let [head, first, second, ..] = lines[..] else { panic!("{text}") };
        assert_eq!(head.split_whitespace().collect::<Vec<_>>(), COLUMNS);
        assert!(first.starts_with("1      10.0.0.1:7000") && first.ends_with("  not reached"));
        assert!(second.starts_with("65535  long-long-") && second.ends_with("  not reached"));
        assert!(lines.iter().all(|line| line.contains("long-:7000") || line.len() <= WIDTH));
        let problem = "node 1: no answer from 10.0.0.1:7000 within 1s; is it a bellwether node?";
        assert_eq!(lines[3], problem);
    }

    #[test]
    fn a_node_with_groups_at_the_address_of_another_is_a_problem() {
        let of = |node: u16| {
            let group = json!({ "name": "a", "role": "follower", "leader": 3, "epoch": 1 });
            let report = json!({
                "cluster": "orders", "protocol": "quorum", "node": node, "groups": [group],
            });
            let report = serde_json::from_value(report).expect("a report");
            let address = "10.0.0.2:7000".parse().expect("an address");
            let node = NodeId::new(2).expect("not zero");
            Asked { node, address, told: Ok(Told::Groups(Box::new(report))) }
        };
        assert_eq!(of(2).problem(), None);
        let problem = of(3).problem();
        assert_eq!(problem.as_deref(), Some("node 3 answers at 10.0.0.2:7000"));
    }
}
