//! A search as a dataflow: the states are parted among workers, each of which owns those that a
//! hash gives to it, whatever process it belongs to.
//!
//! [`decide`] finds what [`bellwether_engine::check::check`] finds, with the workers of one
//! process or of several [hosts](Hosts). [`CHECK`] is the command for it: with that among the
//! [commands](bellwether_tool::cli::More) of a program, its protocols are searched so. The
//! program `bellwether-dataflow` has it, with the protocols of Bellwether.
//!
//! All processes come to know the same parts of states in the same order, because what one does not
//! know is learned by all at the end of a round. So a state has the same words everywhere, and
//! nothing is translated.

mod cli;
mod flow;
mod hosts;
mod link;
mod meet;
mod parcel;
mod part;
mod whole;

pub use cli::CHECK;
pub use hosts::{Hosts, HostsError};
pub use meet::MeetError;

use bellwether_engine::check::exact::distributed::{Learner, Saves};
use bellwether_engine::check::exact::{Exact, SearchError, SearchSummary, parallel};
use bellwether_engine::check::{
    self, CheckError, DiskError, Distributed, Event, Options, Phase, Plan, Progress, Reason, Report,
};
use bellwether_engine::property::Property;
use bellwether_engine::space::Space;
use bellwether_engine::world::World;
use bellwether_engine::world::packed::Packed;
use flow::{Beginning, ProcessEvent, Saved, Saving, Shared};
use hosts::place;
use link::Link;
use meet::{Hello, Others, meet, newest_common};
use part::{Part, WorkerIndex};
use rayon::prelude::*;
use serde_json::json;
use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks, WorkerGuards};
use timely::{CommunicationConfig, WorkerConfig};
use whole::Whole;

/// Decides every one of `properties` in `world`, telling `on_event` of violations as they are
/// found, and now and then how far it is. If there are several `hosts`, each of their processes has
/// as many workers as the options say threads, and all decide the same.
///
/// The options' engine has no effect. Liveness is not decided.
///
/// # Errors
/// If nothing is asked that is decided, if the world is too large, if the system gives no threads,
/// if the processes do not find each other, if one is lost, or if what is on the disk is no such
/// search. If one is lost, the threads of this search wait until this process ends.
///
/// # Panics
/// If a state needs more than 16 words.
pub fn decide(
    world: &World,
    properties: &[Property],
    options: &Options,
    hosts: Option<&Hosts>,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Report, CheckError> {
    check::decide_distributed(&Dataflow { hosts }, world, properties, options, on_event)
}

/// The search, with the workers of these processes, or of this one alone.
struct Dataflow<'a> {
    hosts: Option<&'a Hosts>,
}

/// How often it is seen whether all workers are there, if they say nothing.
const LOOK: Duration = Duration::from_millis(500);
/// How long the connections may take to be closed when the search has ended.
const LINGER: Duration = Duration::from_secs(5);
/// For how long other processes see what is wrong before this one ends: otherwise they might take
/// it for the one that was lost.
const GRACE: Duration = Duration::from_millis(500);

impl Distributed for Dataflow<'_> {
    fn processes(&self) -> usize {
        place(self.hosts).1
    }

    fn search(
        &self,
        space: Box<Packed>,
        mut plan: Plan<'_>,
    ) -> Result<(Exact, Box<Packed>), SearchError> {
        let (limits, workers, hosts) = (plan.limits, plan.workers, self.hosts);
        let threads = parallel::pool(workers)?;
        let (met, saves) = together(hosts, &mut plan)?;
        let (beginning, resumed_after) =
            threads.install(|| begin(hosts, space, &mut plan, saves))?;
        let (says, said) = mpsc::channel();
        let (builders, others) = builders(met, place(hosts).0, workers, &says)?;
        let shared = Arc::new(Shared::new(beginning, limits, Instant::now(), says));
        let of_workers = Arc::clone(&shared);
        let guards = timely::execute::execute_from(
            builders,
            others,
            WorkerConfig::default(),
            move |worker| flow::build(worker, &of_workers),
        );
        let guards = guards.map_err(SearchError::Threads)?;
        let ended = listen(&said, &guards, plan.on_event);
        let (mut summary, left_bounds) = match ended {
            Ok(ended) => *ended,
            Err(lost) => {
                // The other workers wait for what is lost for ever.
                std::mem::forget(guards);
                let process = lost.expect("a worker of the search has panicked");
                thread::sleep(GRACE);
                let address = hosts.and_then(|hosts| hosts.addresses.get(process).cloned());
                let address = address.unwrap_or_default();
                return Err(MeetError::Lost { process, address }.into());
            }
        };
        close(guards);
        let Some(space) = shared.take_space() else { unreachable!("it is taken once") };
        Space::leave_bounds(&*space, left_bounds);
        summary.resumed_after = resumed_after;
        if let Some((saving, _)) = &shared.saving {
            let elsewhere =
                || (summary.cut_short == Some(Reason::Disk)).then(|| ELSEWHERE.to_owned());
            summary.trouble = saving.trouble().or_else(elsewhere);
            saving.end(summary.cut_short);
        }
        Ok((Exact::ended(summary, limits, threads), space))
    }
}

impl From<MeetError> for SearchError {
    fn from(error: MeetError) -> Self {
        SearchError::Apart(Box::new(error))
    }
}

/// Where the search is saved, if it is, and the number of the save from which it goes on.
type SavedAt = Option<(Saves, Option<u64>)>;

/// The other processes, which search the same, and from where all go on.
fn together(hosts: Option<&Hosts>, plan: &mut Plan<'_>) -> Result<(Others, SavedAt), SearchError> {
    let (mine, processes) = place(hosts);
    let mut same = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "search": plan.of,
        "--threads": plan.workers,
        "--first": plan.first,
        "number of hosts": processes,
    });
    let resume = plan.disk.is_some_and(|disk| disk.resume);
    let open = |disk| {
        let mut of = same.clone();
        of["process"] = json!(mine);
        let saves = Saves::open(disk, mine, of)?;
        let numbers = if resume { saves.numbers()? } else { Vec::new() };
        Ok::<_, DiskError>((saves, numbers))
    };
    let (saves, numbers) = plan.disk.map(open).transpose()?.unzip();
    same["--disk"] = json!(saves.is_some());
    same["--resume"] = json!(resume);
    let hello = Hello { process: mine, same, saves: numbers.unwrap_or_default() };
    let on_event = &mut *plan.on_event;
    let waits = |elapsed| {
        let (distinct, generated, levels, frontier) = (0, 0, None, None);
        let phase = Phase::Meeting;
        let progress = Progress { phase, distinct, generated, levels, frontier, elapsed };
        on_event(Event::Progress(progress));
    };
    let others = match hosts {
        Some(hosts) => meet(hosts, &hello, &plan.limits, waits)?,
        None => vec![None],
    };
    let Some(saves) = saves else { return Ok((others, None)) };
    if !resume {
        return Ok((others, Some((saves, None))));
    }
    let said = |other: &Option<(_, Hello)>| match other {
        Some((_, theirs)) => theirs.saves.clone(),
        None => hello.saves.clone(),
    };
    let all: Vec<_> = others.iter().map(said).collect();
    if all.iter().all(Vec::is_empty) {
        return Err(saves.nothing().into());
    }
    let number = newest_common(all)?;
    Ok((others, Some((saves, Some(number)))))
}

/// What this process has, and after how many levels it goes on, if it does.
fn begin(
    hosts: Option<&Hosts>,
    space: Box<Packed>,
    plan: &mut Plan<'_>,
    saves: SavedAt,
) -> Result<(Beginning, Option<usize>), DiskError> {
    let (mine, processes) = place(hosts);
    let first = mine * plan.workers;
    let (learner, saved): (_, Option<Saved>) = match &saves {
        Some((saves, Some(number))) => {
            let (learner, saved) = Learner::resume(space, saves, *number)?;
            (learner, Some(saved))
        }
        saves => (Learner::begin(space, saves.is_some()), None),
    };
    let (violations, space) = (plan.violations.to_vec(), learner.space());
    let (whole, parts) = match saved {
        None => {
            let initial = space.initial(space.words()).len() / space.words();
            (Whole::new(initial as u64, violations, plan.first), Vec::new())
        }
        Some(Saved { reached, parts }) => {
            let restore = |(worker, part)| {
                let place =
                    WorkerIndex { worker: first + worker, workers: plan.workers * processes };
                let (saves, _) = saves.as_ref().expect("it was read there");
                part::restore(space, place, saves, &part)
            };
            let parts = parts.into_par_iter().enumerate().map(restore);
            let parts: Vec<Box<dyn Part>> = parts.collect::<Result<_, _>>()?;
            (Whole::go_on(reached, violations, plan.first, plan.on_event), parts)
        }
    };
    let resumed_after = (!parts.is_empty()).then(|| whole.levels());
    let saving = plan.disk.zip(saves).map(|(disk, (saves, number))| {
        (Saving::new(saves, disk, plan.workers), number.unwrap_or(0))
    });
    let workers = (first, plan.workers);
    Ok((Beginning { learner, whole, parts, saving, workers }, resumed_after))
}

/// What is wrong if nothing is wrong here.
const ELSEWHERE: &str = "another process could not save the search; what it prints says why";

/// Hears what the workers say, until the search has ended, or a process is lost, or a worker of
/// this one.
fn listen(
    said: &Receiver<ProcessEvent>,
    guards: &WorkerGuards<()>,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Box<(SearchSummary, u32)>, Option<usize>> {
    loop {
        match said.recv_timeout(LOOK) {
            Ok(ProcessEvent::Event(event)) => on_event(event),
            Ok(ProcessEvent::End(ended)) => return Ok(ended),
            Ok(ProcessEvent::Lost(process)) => return Err(Some(process)),
            Err(RecvTimeoutError::Timeout) => {
                if guards.guards().iter().any(JoinHandle::is_finished) {
                    return Err(None);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(None),
        }
    }
}

/// Waits until all is sent and the connections are closed, but not for ever: a process may be
/// killed meanwhile, and nothing is needed of it any more.
fn close(guards: WorkerGuards<()>) {
    let (closed, is_closed) = mpsc::channel::<()>();
    let closing = thread::Builder::new().spawn(move || {
        guards.join();
        drop(closed);
    });
    if closing.is_ok() {
        // It is closed when nothing can be said any more.
        let _ = is_closed.recv_timeout(LINGER);
    }
}

/// What timely makes workers of, and what keeps their connections.
fn builders(
    met: Others,
    process: usize,
    workers: usize,
    says: &Sender<ProcessEvent>,
) -> Result<(Vec<AllocatorBuilder>, Box<dyn Any + Send>), SearchError> {
    if met.len() < 2 {
        let config = match workers {
            1 => CommunicationConfig::Thread,
            workers => CommunicationConfig::Process(workers),
        };
        return config.try_build().map_err(SearchError::Threads);
    }
    let link = |(process, other): (usize, Option<_>)| {
        other.map(|(stream, _)| Link::new(stream, process, says.clone())).transpose()
    };
    let wrong = |error: std::io::Error| SearchError::Threads(error.to_string());
    let links = met.into_iter().enumerate().map(link).collect::<Result<Vec<_>, _>>();
    let hooks = Hooks::default();
    let inner = ProcessBuilder::new_typed_vector(workers, hooks.refill.clone(), None);
    let links = links.map_err(wrong)?;
    let made = initialize_networking_from_sockets(inner, links, process, workers, hooks);
    let (builders, guard) = made.map_err(wrong)?;
    Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new(guard)))
}
