//! What a process begins with: nothing, or what was saved when the search was interrupted.

use super::flow::Beginning;
use super::hosts::{Hosts, place};
use super::meet::{Hello, Others, meet, newest_common};
use super::part::{self, Part, WorkerIndex};
use super::saving::{Saved, Saving};
use super::whole::Whole;
use bellwether_engine::check::Plan;
use bellwether_engine::check::exact::SearchError;
use bellwether_engine::check::exact::parts::{Learner, Saves};
use bellwether_engine::check::{DiskError, Event, Phase, Progress};
use bellwether_engine::world::packed::Packed;
use rayon::prelude::*;
use serde_json::json;

/// Where the search is saved, if it is, and the number of the save from which it goes on.
pub(super) type From = Option<(Saves, Option<u64>)>;

/// The other processes, which search the same, and from where all go on.
pub(super) fn together(
    hosts: Option<&Hosts>,
    plan: &mut Plan<'_>,
) -> Result<(Others, From), SearchError> {
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
pub(super) fn begin(
    hosts: Option<&Hosts>,
    space: Box<Packed>,
    plan: &mut Plan<'_>,
    saves: From,
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
                part::restore(space, place, saves, part)
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
