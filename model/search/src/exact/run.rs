//! A whole search: from the initial states, or from where it was saved, to its end, however often
//! states outgrow their words.

use super::disk::{self, Disk, Folder, Logged};
use super::error::DiskError;
use super::list::IndexedSet;
use super::numbered::Numbered;
use super::recode::OutgrownTables;
use super::search::{Saving, Search, SearchContext, SearchSummary};
use super::shard::Shard;
use super::table::{self, Table};
use crate::limits::Reason;
use crate::space::Space;
use serde_json::Value;

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
pub(super) type FoundLists = (SearchSummary, Numbered);

/// Searches for states that get numbers if their transitions are kept, and otherwise for nothing
/// but what is asked of them.
pub(super) fn search(
    space: &mut dyn Space,
    edges: bool,
    disk: Option<(&Disk, Value)>,
    context: &mut SearchContext<'_>,
) -> Result<(SearchSummary, Option<Numbered>), DiskError> {
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
            context.saving = Some(Saving::new(of, folder, disk.every));
            (space, saved)
        }
    };
    let resumed_after = saved.as_ref().map(|saved| saved.reached.levels.len() - 1);
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
    begin: Begin<Box<Numbered>>,
    context: &mut SearchContext<'_>,
) -> Result<Result<FoundLists, Box<Numbered>>, DiskError> {
    let search = match begin {
        Begin::Anew => Search::<W, IndexedSet>::begin(&**space, edges),
        Begin::Outgrown(outgrown) => outgrown.recode(&**space),
        Begin::Saved(progress) => Search::restore(&**space, edges, progress, context)?,
    };
    match search.run(space, context) {
        Ok(search) => Ok(Ok((ended(&search, space, context), Numbered::of(search)))),
        Err(mut search) => {
            search.shards.iter_mut().for_each(IndexedSet::give_up_table);
            Ok(Err(Box::new(Numbered::of(search))))
        }
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
        Begin::Anew => Search::<W, Table<W>>::begin(&**space, false),
        Begin::Outgrown(outgrown) => outgrown.recode(&**space),
        Begin::Saved(progress) => Search::restore(&**space, false, progress, context)?,
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
            None if search.rows.is_none() => saving.clear(),
            Some(Reason::FirstViolation) => saving.clear(),
            _ => trouble = saving.save(space, search).err().map(|error| error.to_string()),
        }
    }
    SearchSummary { trouble, ..SearchSummary::of(search) }
}
