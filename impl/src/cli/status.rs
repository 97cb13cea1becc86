//! `bellwether status`: ask a running node how it is.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::NodeId;
use bellwether::config::{
    self, Address, Credentials, GroupName, Overrides, SecuritySettings, Source,
};
use bellwether::status::{
    CertificateReport, GroupsReport, MemberReport, QueryError, StatusReport, Told, query_any,
    query_group,
};
use humantime::{format_duration, format_rfc3339_seconds};
use tokio::time::{sleep, timeout};

use super::overrides::SecurityArgs;
use super::{Failure, UNREACHABLE, found, json, put};

/// How long between two questions.
const AGAIN: Duration = Duration::from_secs(1);

/// How long between two questions while no leader is known.
const SOON: Duration = Duration::from_millis(100);

/// Ask a running node how it is
///
/// The question goes to the port on which the node talks to its peers. A node with groups says
/// which node leads each. Exit status: 0 the node knows a leader, of every group if it was asked
/// for all, 1 it knows none, 2 usage or configuration, 3 it cannot be reached. With --leading it is
/// 0 only if the node itself leads, and else 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
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

    /// How the node is in this group; without it, which node leads each group
    #[arg(long, value_name = "NAME")]
    group: Option<GroupName>,

    /// Ask the node at this address; no configuration is needed
    #[arg(long, value_name = "HOST:PORT")]
    address: Option<Address>,

    #[command(flatten)]
    security: SecurityArgs,

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

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (address, credentials) = target(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::runtime)?;
    // Of the group that is named; or, if none is and the node has some, of all.
    let ask = async || match &args.group {
        Some(group) => {
            let told = query_group(&address, group.as_str(), &credentials, args.timeout).await;
            told.map(|status| Told::Status(Box::new(status)))
        }
        None => query_any(&address, &credentials, args.timeout).await,
    };
    if args.watch {
        return watch(args, || runtime.block_on(ask()));
    }
    let answer = match args.wait {
        Some(time) => runtime.block_on(wait(args, &address, time, ask)),
        None => runtime.block_on(ask()),
    };
    let report = answer.map_err(Failure::unreachable)?;
    found(u8::from(!succeeds(args, &report)), &text(args, &report)?)
}

fn some_time(text: &str) -> Result<Duration, String> {
    match config::duration(text)? {
        Duration::ZERO => Err("give a longer time, as in 10s".to_owned()),
        time => Ok(time),
    }
}

/// Asks again until an answer succeeds. Returns that, or the last one within this time.
async fn wait(
    args: &Args,
    address: &Address,
    time: Duration,
    ask: impl AsyncFn() -> Result<Told, QueryError>,
) -> Result<Told, QueryError> {
    let mut last = Err(QueryError::Silent { address: address.clone(), limit: time });
    let asks = async {
        loop {
            last = ask().await;
            if last.as_ref().is_ok_and(|told| succeeds(args, told)) {
                return;
            }
            sleep(SOON).await;
        }
    };
    let _ = timeout(time, asks).await;
    last
}

/// Asks again and again, until the output is not read any more. On a terminal each answer takes the
/// place of the one before.
fn watch(args: &Args, ask: impl Fn() -> Result<Told, QueryError>) -> Result<ExitCode, Failure> {
    const CLEAR: &str = "\x1b[H\x1b[2J";
    let clear = if !args.json && std::io::stdout().is_terminal() { CLEAR } else { "" };
    loop {
        let text = match ask() {
            Ok(report) => text(args, &report)?,
            Err(error) if args.json => {
                json::line(&json::failure(&error.to_string(), &[], UNREACHABLE))?
            }
            Err(error) => format!("{error}\n"),
        };
        if !put(&format!("{clear}{text}"))? {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(AGAIN);
    }
}

fn succeeds(args: &Args, told: &Told) -> bool {
    if args.leading { leads(told) } else { is_led(told) }
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

fn text(args: &Args, told: &Told) -> Result<String, Failure> {
    match told {
        Told::Status(report) if args.json => json::line(report),
        Told::Groups(report) if args.json => json::line(report),
        Told::Status(report) => Ok(describe(report)),
        Told::Groups(report) => Ok(describe_groups(report)),
    }
}

/// Where to ask, and with what to prove that this program may.
fn target(args: &Args) -> Result<(Address, Credentials), Failure> {
    let security = SecuritySettings::from(&args.security);
    let Some(path) = &args.config else {
        let address = args.address.clone().ok_or_else(|| anyhow!("no address is given"));
        let credentials = security.standalone().map_err(Failure::configuration)?;
        return Ok((address.map_err(Failure::configuration)?, credentials));
    };
    let overrides = Overrides { node: args.node, security, ..Overrides::default() };
    let source = Source::read(path, overrides).map_err(Failure::configuration)?;
    let credentials = source.credentials().map_err(Failure::configuration)?;
    let address = match &args.address {
        Some(address) => address.clone(),
        None => source.address().map_err(Failure::configuration)?,
    };
    Ok((address, credentials))
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
