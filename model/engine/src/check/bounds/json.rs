//! The JSON that `bounds --json` prints.

use super::{Bound, Bounds, Line};
use crate::check::report::world_entries;
use crate::trace::Step;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

impl Serialize for Bounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        world_entries(&mut map, &self.world)?;
        map.serialize_entry("until", &self.until)?;
        map.serialize_entry("states", &self.counts)?;
        map.serialize_entry("incomplete", &self.incomplete)?;
        map.serialize_entry("unfinished", &self.unfinished)?;
        map.serialize_entry("bounds_met", &self.bounds_met)?;
        map.serialize_entry("caveats", &self.caveats())?;
        map.serialize_entry("seconds", &self.elapsed.as_secs_f64())?;
        map.serialize_entry("peak_rss_bytes", &self.peak_rss_bytes)?;
        let lines: Vec<_> = self.lines.iter().map(|line| view(self, line)).collect();
        map.serialize_entry("bounds", &lines)?;
        map.end()
    }
}

#[derive(Serialize)]
struct View {
    name: String,
    metric: &'static str,
    kind: Option<String>,
    bounded: bool,
    most: Option<u64>,
    execution: Execution,
}

#[derive(Serialize)]
struct Execution {
    steps: Vec<Step>,
    cycle: Option<Vec<Step>>,
}

fn view(bounds: &Bounds, line: &Line) -> View {
    let mut steps = line.trace(&bounds.world).steps;
    let (most, cycle) = match &line.bound {
        Bound::Most(most, _) => (Some(*most), None),
        Bound::Unbounded(lasso) => (None, Some(steps.split_off(lasso.stem.len()))),
    };
    View {
        name: line.name(),
        metric: line.metric,
        kind: line.kind.clone(),
        bounded: most.is_some(),
        most,
        execution: Execution { steps, cycle },
    }
}
