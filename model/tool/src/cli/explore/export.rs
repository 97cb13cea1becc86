//! `explore --export`: the whole world in one file.

use super::ExploreArgs;
use super::verdicts::Verdicts;
use crate::cli::{Exit, HOLDS};
use crate::explore::{TooMany, Whole};
use anyhow::{Context, anyhow};
use bellwether_engine::check::{Engine, Limits, Options};
use bellwether_engine::property::Property;
use bellwether_engine::world::World;
use indicatif::{HumanBytes, HumanCount};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The largest number of states in a file if nothing else is said: a browser opens the page of so
/// many in a second or two.
const MOST: u64 = 5_000;

/// Writes the file, and says what is in it.
pub(super) fn run(
    args: &ExploreArgs,
    (world, properties): (&Arc<World>, Vec<Property>),
    file: &Path,
) -> anyhow::Result<Exit> {
    let most = args.limits.max_states.unwrap_or(MOST);
    let whole = Whole::of(world, &properties, usize::try_from(most).unwrap_or(usize::MAX));
    let whole = whole.map_err(too_large)?;
    // So many states are within any limit.
    let limits = Limits { states: None, ..args.limits.limits() };
    let threads = args.limits.threads();
    let options = Options { engine: Engine::Exact, threads, limits, ..Options::default() };
    let verdicts = Verdicts::new(Arc::clone(world), properties, options);
    verdicts.decide();
    let page = whole.html(&verdicts.view());
    let mut told = format!(
        "{}: {}\n{} states, {} steps, {}\n",
        args.protocol.typed(),
        world.scenario(),
        HumanCount(whole.states() as u64),
        HumanCount(whole.steps() as u64),
        HumanBytes(page.len() as u64)
    );
    let saved = fs::write(file, page).with_context(|| {
        format!("cannot write {}; give --export a file that has room", file.display())
    });
    if saved.is_ok() {
        told += &format!("Saved: {}\n", file.display());
    }
    Ok(Exit::with(HOLDS).saved(saved).told(io::stdout().write_all(told.as_bytes())))
}

/// What is wrong with a world that has too many states, and what to do.
fn too_large(wrong: TooMany) -> anyhow::Error {
    let more = wrong.most.saturating_mul(4);
    anyhow!(
        "{wrong}, too many for one page; make it smaller, as with fewer --nodes or faults, allow \
         more, as with --max-states {more}, or leave --export out: then a page is served"
    )
}
