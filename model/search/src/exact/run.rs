//! A whole search: from the initial states, or from where it was saved, to its end, however often
//! states outgrow their words.

use super::disk::{self, Disk, DiskError, Folder, Logged};
use super::graph::ShardRows;
use super::list::List;
use super::parallel;
use super::recode::{OutgrownLists, OutgrownTables};
use super::search::{SHARDS_PER_WORKER, Search, SearchContext, Shard};
use super::table::{self, Table};
use super::{ListSearch, SearchSummary};
use crate::limits::Reason;
use crate::space::Space;
use serde_json::Value;
use std::io;
use std::time::{Duration, Instant};

/// Where a search is saved, and what it is of.
pub(super) struct Saving {
    of: Value,
    folder: Folder,
    every: Duration,
    /// When it was saved last.
    saved: Instant,
}

/// The files of a search that has found every state, and from which it can go on.
pub struct Saved(Folder);

impl Saved {
    /// Removes the files: everything has been decided.
    pub fn clear(self) {
        self.0.clear();
    }
}

/// From where a search goes on.
enum Begin<O> {
    Anew,
    Outgrown(O),
    Saved(disk::Progress),
}

impl<O> Begin<O> {
    fn at(saved: Option<disk::Progress>) -> Self {
        saved.map_or(Begin::Anew, Begin::Saved)
    }
}

/// What a search has found, and the states with their numbers.
pub(super) type FoundLists = (SearchSummary, Box<dyn ListSearch>);

/// Searches for states that get numbers if their transitions are kept, and otherwise for nothing
/// but what is asked of them.
pub(super) fn search(
    space: &mut dyn Space,
    edges: bool,
    disk: Option<(&Disk, Value)>,
    context: &mut SearchContext<'_>,
) -> Result<(SearchSummary, Option<Box<dyn ListSearch>>), DiskError> {
    let (mut space, saved) = match disk {
        None => (Logged::without_log(space), None),
        Some((disk, of)) => {
            let mut space = Logged::new(space);
            let (folder, saved) = if disk.resume {
                let (folder, saved) = Folder::resume(disk, &of, &mut space)?;
                (folder, Some(saved))
            } else {
                (Folder::begin(disk)?, None)
            };
            context.saving = Some(Saving { of, folder, every: disk.every, saved: Instant::now() });
            (space, saved)
        }
    };
    let resumed_after = saved.as_ref().map(|saved| saved.levels.len() - 1);
    let (summary, listed) = if edges {
        let (summary, listed) = search_lists(&mut space, true, saved, context)?;
        (summary, Some(listed))
    } else {
        (search_tables(&mut space, saved, context)?, None)
    };
    Ok((SearchSummary { resumed_after, ..summary }, listed))
}

/// Searches for states that get numbers.
pub(super) fn search_lists(
    space: &mut Logged<'_>,
    edges: bool,
    saved: Option<disk::Progress>,
    context: &mut SearchContext<'_>,
) -> Result<FoundLists, DiskError> {
    let mut begin = Begin::at(saved);
    loop {
        match with_words!(space.words(), run_lists(space, edges, begin, context))? {
            Ok(found) => return Ok(found),
            Err(outgrown) => begin = Begin::Outgrown(outgrown),
        }
        space.lay_out(u32::MAX);
    }
}

/// Searches on with states of `W` words until the search ends, or states outgrow their words.
fn run_lists<const W: usize>(
    space: &mut Logged<'_>,
    edges: bool,
    begin: Begin<Box<OutgrownLists>>,
    context: &mut SearchContext<'_>,
) -> Result<Result<FoundLists, Box<OutgrownLists>>, DiskError> {
    let search = match begin {
        Begin::Anew => Search::<W, List<W>>::begin(space, edges),
        Begin::Outgrown(outgrown) => outgrown.recode(space),
        Begin::Saved(progress) => restore(space, edges, progress, context)?,
    };
    match search.run(space, context) {
        Ok(search) => {
            let summary = ended(&search, space, context);
            let listed: Box<dyn ListSearch> = Box::new(search);
            Ok(Ok((summary, listed)))
        }
        Err(search) => Ok(Err(Box::new(OutgrownLists::from(search)))),
    }
}

/// Searches for nothing but what is asked of the states.
fn search_tables(
    space: &mut Logged<'_>,
    saved: Option<disk::Progress>,
    context: &mut SearchContext<'_>,
) -> Result<SearchSummary, DiskError> {
    if saved.is_none() {
        space.lay_out(table::room(0, space.least_bits()));
    }
    let mut begin = Begin::at(saved);
    loop {
        match with_words!(space.words(), run_tables(space, begin, context))? {
            Ok(summary) => return Ok(summary),
            Err((outgrown, least)) => {
                space.lay_out(table::room(least, space.least_bits()));
                begin = Begin::Outgrown(outgrown);
            }
        }
    }
}

/// Searches on with states of `W` words until the search ends, or they must look different; how
/// many states each table has then at least.
fn run_tables<const W: usize>(
    space: &mut Logged<'_>,
    begin: Begin<OutgrownTables>,
    context: &mut SearchContext<'_>,
) -> Result<Result<SearchSummary, (OutgrownTables, u64)>, DiskError> {
    let search = match begin {
        Begin::Anew => Search::<W, Table<W>>::begin(space, false),
        Begin::Outgrown(outgrown) => outgrown.recode(space),
        Begin::Saved(progress) => restore(space, false, progress, context)?,
    };
    Ok(match search.run(space, context) {
        Ok(search) => Ok(ended(&search, space, context)),
        Err(search) => {
            let least = search.shards.iter().map(Table::held).min().unwrap_or(0);
            Err((OutgrownTables::from(search), least))
        }
    })
}

/// What is left of a search that has ended. If that was early, it can go on where it was, and also
/// if its transitions are kept: it then goes on with what is asked of them. If not, its files are
/// not needed any more.
fn ended<const W: usize, S: Shard<W>>(
    search: &Search<W, S>,
    space: &Logged<'_>,
    context: &mut SearchContext<'_>,
) -> SearchSummary {
    let mut trouble = context.trouble.take();
    if let Some(saving) = &mut context.saving {
        match search.cut_short {
            Some(Reason::Disk) => {}
            None if search.rows.is_none() => saving.folder.clear(),
            Some(Reason::FirstViolation) => saving.folder.clear(),
            _ => trouble = saving.save(space, search).err().map(|error| error.to_string()),
        }
    }
    SearchSummary { trouble, ..SearchSummary::of(search) }
}

impl Saving {
    pub(super) fn is_due(&self) -> bool {
        self.saved.elapsed() >= self.every
    }

    /// The files of the search, which has been saved at its end.
    pub(super) fn into_saved(self) -> Saved {
        Saved(self.folder)
    }

    pub(super) fn save<const W: usize, S: Shard<W>>(
        &mut self,
        space: &Logged<'_>,
        search: &Search<W, S>,
    ) -> Result<(), DiskError> {
        let folder = &self.folder;
        let parts = search.shards.chunks(SHARDS_PER_WORKER).enumerate();
        let states = parallel::map(parts, |(part, shards)| {
            folder.store("states", |out| {
                for (at, shard) in (part * SHARDS_PER_WORKER..).zip(shards) {
                    shard.write(out)?;
                    search.rows.as_ref().map_or(Ok(()), |rows| rows[at].write(out))?;
                }
                Ok(())
            })
        });
        let progress = disk::Progress {
            initial: search.initial.as_flattened().to_vec(),
            levels: search.levels.clone(),
            generated: search.generated,
            leaves_boundary: search.leaves_boundary,
            states: states.into_iter().collect::<Result<_, _>>()?,
        };
        folder.save(&self.of, space, progress)?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// The search that was saved.
fn restore<const W: usize, S: Shard<W>>(
    space: &dyn Space,
    edges: bool,
    progress: disk::Progress,
    context: &SearchContext<'_>,
) -> Result<Search<W, S>, DiskError> {
    let mut search = Search::empty(space);
    if let Some(Saving { folder, .. }) = &context.saving {
        let form = search.form;
        let read = parallel::map(progress.states.iter().enumerate(), |(part, stored)| {
            folder.load(stored, |file| {
                let first = part * SHARDS_PER_WORKER;
                let shards = (first..first + SHARDS_PER_WORKER).map(|at| {
                    let shard = S::read(&form, at, file)?;
                    Ok((shard, edges.then(|| ShardRows::read(file)).transpose()?))
                });
                shards.collect::<io::Result<Vec<_>>>()
            })
        });
        let read = read.into_iter().collect::<Result<Vec<_>, DiskError>>()?;
        let (shards, rows): (Vec<S>, Vec<_>) = read.into_iter().flatten().unzip();
        search.shards = shards;
        search.rows = rows.into_iter().collect();
    }
    search.initial = progress.initial.as_chunks().0.to_vec();
    search.levels = progress.levels;
    search.generated = progress.generated;
    search.leaves_boundary = progress.leaves_boundary;
    Ok(search)
}
