//! The section `[detector]`, as it is read, and every key of it.

use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::listing::listed;
use super::values::{self, Mistake};
use crate::config::detector::{KINDS, common_fields, kind_fields, kind_of};
use crate::detector::{Detection, Settings, adaptive, fixed, phi};

/// The keys of the section, without those of the chosen kind's own section.
const KEYS: [&str; 3] = ["kind", "heartbeat", "start"];

/// The usual settings of a kind for heartbeats of this interval; `None` if there is no such kind.
fn usual(kind: &str, heartbeat: Duration) -> Option<Settings> {
    Some(match kind {
        "fixed" => Settings::Fixed(fixed::Settings::for_interval(heartbeat)),
        "adaptive" => Settings::Adaptive(adaptive::Settings::for_interval(heartbeat)),
        "phi" => Settings::Phi(phi::Settings::for_interval(heartbeat)),
        _ => return None,
    })
}

/// Reads the section. What it does not say follows from the interval of the heartbeats.
pub(super) fn read(mut table: DeTable<'_>) -> Result<Detection, Mistake> {
    let known = [&KEYS[..], &KINDS].concat();
    values::check(&table, "detector", &known)?;
    let mut detection = Detection::default();
    let kind = table.remove("kind");
    let kinds: Vec<_> =
        KINDS.iter().filter_map(|&kind| Some((kind, table.remove(kind)?))).collect();
    detection.start = Duration::ZERO;
    values::read(table, "detector", common_fields(&mut detection))?;
    if detection.start.is_zero() {
        detection.start = detection.heartbeat.saturating_mul(10);
    }
    let chosen = match &kind {
        Some(kind) => kind.get_ref().as_str().unwrap_or_default(),
        None => KINDS[0],
    };
    detection.detector = usual(chosen, detection.heartbeat).ok_or_else(|| {
        let place = kind.as_ref().map(Spanned::span).unwrap_or_default();
        Mistake::here(place, values::unknown("detector", chosen, "", &KINDS))
    })?;
    for (name, section) in kinds {
        let section_of = format!("detector.{name}");
        // The section of a kind that is not chosen may stand there; its keys must be right.
        let mut other = usual(name, detection.heartbeat);
        let settings = if name == chosen { Some(&mut detection.detector) } else { other.as_mut() };
        let span = section.span();
        match (settings, section.into_inner()) {
            (Some(settings), DeValue::Table(table)) => {
                values::read(table, &section_of, kind_fields(settings))?;
            }
            _ => return Err(Mistake::no_table(span, &section_of)),
        }
    }
    Ok(detection)
}

/// Every key with the value that it has if nothing is said.
pub(super) fn reference() -> Vec<(String, String)> {
    let mut default = Detection::default();
    let mut all = vec![("detector.kind".to_owned(), format!("\"{}\"", KINDS[0]))];
    all.extend(listed("detector", &common_fields(&mut default)));
    for mut settings in KINDS.iter().filter_map(|kind| usual(kind, default.heartbeat)) {
        let section = format!("detector.{}", kind_of(&settings));
        all.extend(listed(&section, &kind_fields(&mut settings)));
    }
    all
}
