//! The JSON of `history`.

use super::commands;
use crate::history::{Place, Rerun};
use serde_json::{Value, json};

/// The object that `--json` prints.
pub(super) fn of(rerun: &[Rerun<'_>]) -> Value {
    json!({ "bugs": rerun.iter().map(bug).collect::<Vec<_>>() })
}

fn bug(one: &Rerun<'_>) -> Value {
    let bug = one.bug;
    let place = |place: &Place| json!({ "what": place.what, "url": place.url });
    let [broken, repaired] = commands(one);
    json!({
        "name": bug.name, "title": bug.title, "systems": bug.systems, "story": bug.story,
        "model": bug.model, "sources": bug.sources.iter().map(place).collect::<Vec<_>>(),
        "property": bug.property, "agrees": one.agrees(),
        "broken": { "command": broken, "steps": bug.steps, "found": one.broken.finding },
        "repaired": { "command": repaired, "found": one.repaired.finding },
    })
}
