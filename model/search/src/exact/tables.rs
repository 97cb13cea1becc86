//! Searches for nothing but what is asked of the states: they are in tables, and may be in files.

use super::SearchSummary;
use super::computed::TableSearch;
use super::disk::{self, Disk, DiskError, Folder, Logged};
use super::pager::{Paged, Pager};
use super::parallel;
use super::recode::OutgrownTables;
use super::search::{Pause, Search, SearchContext, Shard};
use crate::limits::Reason;
use crate::space::Space;
use serde_json::Value;
use std::sync::Arc;

/// Where a search is saved, and what it is of.
struct Saving<'a> {
    of: &'a Value,
    /// Whether the states are asked for when all are found.
    keep: bool,
    pager: Arc<Pager>,
    /// In how many groups the shards are at least.
    groups: usize,
}

/// From where a search over tables goes on.
enum Begin<'a> {
    Anew,
    /// How far it was is kept for when its tables cannot be read.
    Outgrown(OutgrownTables, SearchSummary),
    Saved(&'a Saving<'a>, disk::Progress),
}

/// What a search has found, and, if that is asked for and all are found, the states.
type Ended = (SearchSummary, Option<Box<dyn TableSearch>>);

/// Searches for what is asked of the states, and goes on in files when memory is full. If the
/// states are asked for, they are saved there in the end, and the files are theirs.
pub(super) fn search_on_disk(
    space: &mut dyn Space,
    disk: &Disk,
    of: &Value,
    keep: bool,
    context: &mut SearchContext<'_>,
) -> Result<Ended, DiskError> {
    let mut space = Logged::new(space);
    let (folder, progress) = if disk.resume {
        let (folder, progress) = Folder::resume(disk, of, &mut space)?;
        (folder, Some(progress))
    } else {
        (Folder::begin(disk)?, None)
    };
    let groups = progress.as_ref().map_or(1, |progress| progress.groups);
    let resumed_after = progress.as_ref().map(|progress| progress.levels.len() - 1);
    let pager = Arc::new(Pager::new(folder, groups, keep, disk.every));
    let saving = Saving { of, keep, pager, groups: disk.groups };
    let begin = match progress {
        Some(progress) => Begin::Saved(&saving, progress),
        None => begin_anew(&mut space),
    };
    // Of the memory that there may be, a part is for what is found in a round, and for files.
    context.room.memory = context.limits.memory.map(|most| most / 4 * 3);
    let (summary, tabled) = search_tables(&mut space, begin, Some(&saving), context);
    Ok((SearchSummary { resumed_after, ..summary }, tabled))
}

/// Searches for nothing but what is asked of the states.
pub(super) fn search(space: &mut dyn Space, context: &mut SearchContext<'_>) -> SearchSummary {
    let mut space = Logged::without_log(space);
    let begin = begin_anew(&mut space);
    search_tables(&mut space, begin, None, context).0
}

fn begin_anew(space: &mut Logged<'_>) -> Begin<'static> {
    space.lay_out(Paged::<1>::room(&[], space.least_bits()));
    Begin::Anew
}

fn search_tables(
    space: &mut Logged<'_>,
    mut begin: Begin<'_>,
    saving: Option<&Saving<'_>>,
    context: &mut SearchContext<'_>,
) -> Ended {
    loop {
        match with_words!(space.words(), run_tables(space, begin, saving, context)) {
            Ok(ended) => return ended,
            Err(outgrown) => {
                let (outgrown, summary, room) = *outgrown;
                space.lay_out(room);
                begin = Begin::Outgrown(outgrown, summary);
            }
        }
    }
}

/// Searches on with states of `W` words, until they must look different; how many bits they may
/// have then.
fn run_tables<const W: usize>(
    space: &mut Logged<'_>,
    begin: Begin<'_>,
    saving: Option<&Saving<'_>>,
    context: &mut SearchContext<'_>,
) -> Result<Ended, Box<(OutgrownTables, SearchSummary, u32)>> {
    let mut search = match begin {
        Begin::Anew => {
            let mut search = Search::<W, Paged<W>>::begin(space, false);
            if let Some(Saving { pager, groups, .. }) = saving {
                let shards = search.shards.into_iter();
                search.shards = shards.map(|shard| shard.with(Some(pager))).collect();
                while pager.groups() < *groups && Paged::evict_group(&mut search.shards) {}
            }
            search
        }
        Begin::Outgrown(outgrown, summary) => match outgrown.recode(space) {
            Ok(search) => search,
            Err(error) => return Ok((summary.broken(&error), None)),
        },
        Begin::Saved(saving, progress) => saving.restore(space, progress),
    };
    loop {
        match search.run(space, context) {
            Ok(search) => return Ok(ended(search, space, saving)),
            Err((paused, Pause::Recode)) => {
                let room = Paged::room(&paused.shards, space.least_bits());
                let summary = SearchSummary::of(&paused);
                return Err(Box::new((OutgrownTables::from(paused), summary, room)));
            }
            Err((paused, Pause::Save)) => {
                search = paused;
                let saved = saving.map_or(Ok(()), |saving| saving.save(space, &mut search));
                if let Err(error) = saved {
                    return Ok((SearchSummary::of(&search).broken(&error), None));
                }
            }
        }
    }
}

/// What is left of a search that has ended. If that was early, it can go on where it was, and also
/// if its states are asked for: it then goes on with what is asked of them. If not, its files are
/// not needed any more.
fn ended<const W: usize>(
    mut search: Search<W, Paged<W>>,
    space: &Logged<'_>,
    saving: Option<&Saving<'_>>,
) -> Ended {
    let summary = SearchSummary::of(&search);
    let Some(saving) = saving else { return (summary, None) };
    let keep = saving.keep && summary.cut_short.is_none();
    let saved = match summary.cut_short {
        _ if keep => saving.save(space, &mut search),
        Some(Reason::Disk) => saving.pager.error().map_or(Ok(()), Err),
        Some(Reason::FirstViolation) | None => {
            saving.pager.folder.clear();
            Ok(())
        }
        Some(_) => saving.save(space, &mut search),
    };
    let trouble = saved.err().map(|error| error.to_string());
    let tabled = keep.then(|| Box::new(search) as Box<dyn TableSearch>);
    (SearchSummary { trouble, ..summary }, tabled)
}

impl Saving<'_> {
    fn save<const W: usize>(
        &self,
        space: &Logged<'_>,
        search: &mut Search<W, Paged<W>>,
    ) -> Result<(), DiskError> {
        let folder = &self.pager.folder;
        let shards = parallel::map(&mut search.shards, |shard| shard.save(folder));
        let progress = disk::Progress {
            initial: search.initial.as_flattened().to_vec(),
            levels: search.levels.clone(),
            generated: search.generated,
            leaves_boundary: search.leaves_boundary,
            groups: self.pager.groups(),
            shards: shards.into_iter().collect::<Result<_, _>>()?,
        };
        folder.save(self.of, space, progress)?;
        self.pager.saved_now();
        Ok(())
    }

    fn restore<const W: usize>(
        &self,
        space: &dyn Space,
        progress: disk::Progress,
    ) -> Search<W, Paged<W>> {
        let form = Paged::form(space);
        let files = progress.shards.into_iter().enumerate();
        let shards = files.map(|(at, files)| Paged::saved(form, at, Some(&self.pager), files));
        Search {
            shards: shards.collect(),
            form,
            initial: progress.initial.as_chunks().0.to_vec(),
            levels: progress.levels,
            generated: progress.generated,
            leaves_boundary: progress.leaves_boundary,
            cut_short: None,
            waiting: 0,
            rows: None,
        }
    }
}
