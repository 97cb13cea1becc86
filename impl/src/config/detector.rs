//! The section `[detector]`: with what the nodes watch each other, where the protocol asks for it.

use std::time::Duration;

use toml::de::DeTable;

use super::Error;
use super::fields::{self, Field, Fields, Mistake};
use crate::detector::{Detection, Settings, SettingsError, adaptive, fixed, phi};

/// The kinds of detectors, by their names.
const KINDS: [&str; 3] = ["fixed", "adaptive", "phi"];

/// The keys of the section, without those of the chosen kind's own section.
const KEYS: [&str; 3] = ["kind", "heartbeat", "start"];

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::Detector { problem: error.to_string() }
    }
}

/// The usual settings of a kind for heartbeats of this interval; `None` if there is no such kind.
fn usual(kind: &str, heartbeat: Duration) -> Option<Settings> {
    Some(match kind {
        "fixed" => Settings::Fixed(fixed::Settings::for_interval(heartbeat)),
        "adaptive" => Settings::Adaptive(adaptive::Settings::for_interval(heartbeat)),
        "phi" => Settings::Phi(phi::Settings::for_interval(heartbeat)),
        _ => return None,
    })
}

/// The kind of a detector.
fn kind_of(settings: &Settings) -> &'static str {
    match settings {
        Settings::Fixed(_) => KINDS[0],
        Settings::Adaptive(_) => KINDS[1],
        Settings::Phi(_) => KINDS[2],
    }
}

/// What can be set in the section of a kind. The interval that is expected is the heartbeat's.
fn kind_fields(settings: &mut Settings) -> Fields<'_> {
    match settings {
        Settings::Fixed(fixed) => vec![("timeout", Field::Time(&mut fixed.timeout))],
        Settings::Adaptive(adaptive) => vec![
            ("multiple", Field::Number(&mut adaptive.multiple)),
            ("shortest", Field::Time(&mut adaptive.shortest)),
            ("longest", Field::Time(&mut adaptive.longest)),
        ],
        Settings::Phi(phi) => vec![
            ("threshold", Field::Number(&mut phi.threshold)),
            ("window", Field::Count(&mut phi.window)),
            ("shortest", Field::Time(&mut phi.shortest)),
            ("longest", Field::Time(&mut phi.longest)),
            ("deviation", Field::Time(&mut phi.deviation)),
            ("pause", Field::Time(&mut phi.pause)),
        ],
    }
}

/// What can be set for each kind.
fn common_fields(detection: &mut Detection) -> Fields<'_> {
    vec![
        ("heartbeat", Field::Time(&mut detection.heartbeat)),
        ("start", Field::Time(&mut detection.start)),
    ]
}

/// Reads the section. What it does not say follows from the interval of the heartbeats.
pub(super) fn read(mut table: DeTable<'_>) -> Result<Detection, Mistake> {
    let known = [&KEYS[..], &KINDS].concat();
    fields::check(&table, "detector", &known)?;
    let mut detection = Detection::default();
    let kind = table.remove("kind");
    let kinds: Vec<_> =
        KINDS.iter().filter_map(|&kind| Some((kind, table.remove(kind)?))).collect();
    detection.start = Duration::ZERO;
    fields::read(table, "detector", common_fields(&mut detection))?;
    if detection.start.is_zero() {
        detection.start = detection.heartbeat.saturating_mul(10);
    }
    let chosen = match &kind {
        Some(kind) => kind.get_ref().as_str().unwrap_or_default(),
        None => KINDS[0],
    };
    detection.detector = usual(chosen, detection.heartbeat).ok_or_else(|| {
        let place = kind.as_ref().map(toml::Spanned::span).unwrap_or_default();
        Mistake::here(place, fields::unknown("detector", chosen, "", &KINDS))
    })?;
    for (name, section) in kinds {
        let section_of = format!("detector.{name}");
        // The section of a kind that is not chosen may stand there; its keys must be right.
        let mut other = usual(name, detection.heartbeat);
        let settings = if name == chosen { Some(&mut detection.detector) } else { other.as_mut() };
        let span = section.span();
        match (settings, section.into_inner()) {
            (Some(settings), toml::de::DeValue::Table(table)) => {
                fields::read(table, &section_of, kind_fields(settings))?;
            }
            _ => return Err(Mistake::no_table(span, &section_of)),
        }
    }
    Ok(detection)
}

/// Every key with the value that it has if nothing is said.
pub(super) fn reference() -> Vec<(String, String)> {
    let mut default = Detection::default();
    let mut listed = vec![("detector.kind".to_owned(), format!("\"{}\"", KINDS[0]))];
    listed.extend(fields::listed("detector", &common_fields(&mut default)));
    for mut settings in KINDS.iter().filter_map(|kind| usual(kind, default.heartbeat)) {
        let section = format!("detector.{}", kind_of(&settings));
        listed.extend(fields::listed(&section, &kind_fields(&mut settings)));
    }
    listed
}

/// The section as a file has it.
pub(super) fn write(mut detection: Detection) -> String {
    let kind = kind_of(&detection.detector);
    let section = fields::write("detector", &common_fields(&mut detection));
    let own = fields::write(&format!("detector.{kind}"), &kind_fields(&mut detection.detector));
    section.replacen("]\n", &format!("]\nkind = \"{kind}\"\n"), 1) + &own
}
