//! The section `[detector]`: with what the nodes watch each other, where the protocol asks for it.

use std::time::Duration;

use toml::de::DeTable;

use super::Error;
use super::fields::{self, Field, Fields, Mistake};
use crate::detector::{self, Detector as _, Parameters, adaptive, fixed, phi};

/// The settings by which nodes watch each other.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Detection {
    /// The interval between the heartbeats of a node, by which it tells the others that it is up.
    /// The same on every node.
    pub heartbeat: Duration,
    /// The time that a node waits after its own start for the first heartbeat of another.
    pub start: Duration,
    /// The detector that decides when silence is suspicious.
    pub detector: Settings,
}

/// The choice of a detector, with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Settings {
    /// A fixed time-out.
    Fixed(fixed::Settings),
    /// An adaptive time-out.
    Adaptive(adaptive::Settings),
    /// A φ-accrual detector.
    Phi(phi::Settings),
}

/// The kinds of detectors, by their names.
pub(super) const KINDS: [&str; 3] = ["fixed", "adaptive", "phi"];

/// The keys of the section, without those of the chosen kind's own section.
pub(super) const KEYS: [&str; 3] = ["kind", "heartbeat", "start"];

impl Default for Detection {
    /// A node that is silent for half a second is suspected.
    fn default() -> Self {
        let heartbeat = Duration::from_millis(100);
        let detector = Settings::Fixed(fixed::Settings::for_interval(heartbeat));
        Self { heartbeat, start: heartbeat * 10, detector }
    }
}

impl Settings {
    /// The usual settings of a kind for heartbeats of this interval; `None` if there is no such
    /// kind.
    fn of(kind: &str, heartbeat: Duration) -> Option<Self> {
        Some(match kind {
            "fixed" => Self::Fixed(fixed::Settings::for_interval(heartbeat)),
            "adaptive" => Self::Adaptive(adaptive::Settings::for_interval(heartbeat)),
            "phi" => Self::Phi(phi::Settings::for_interval(heartbeat)),
            _ => return None,
        })
    }

    /// The kind.
    fn kind(&self) -> &'static str {
        match self {
            Self::Fixed(_) => KINDS[0],
            Self::Adaptive(_) => KINDS[1],
            Self::Phi(_) => KINDS[2],
        }
    }

    /// What can be set. The interval that is expected is the heartbeat's.
    pub(super) fn fields(&mut self) -> Fields<'_> {
        match self {
            Self::Fixed(fixed) => vec![("timeout", Field::Time(&mut fixed.timeout))],
            Self::Adaptive(adaptive) => vec![
                ("multiple", Field::Number(&mut adaptive.multiple)),
                ("shortest", Field::Time(&mut adaptive.shortest)),
                ("longest", Field::Time(&mut adaptive.longest)),
            ],
            Self::Phi(phi) => vec![
                ("threshold", Field::Number(&mut phi.threshold)),
                ("window", Field::Count(&mut phi.window)),
                ("shortest", Field::Time(&mut phi.shortest)),
                ("longest", Field::Time(&mut phi.longest)),
                ("deviation", Field::Time(&mut phi.deviation)),
                ("pause", Field::Time(&mut phi.pause)),
            ],
        }
    }
}

impl Detection {
    fn fields(&mut self) -> Fields<'_> {
        vec![
            ("heartbeat", Field::Time(&mut self.heartbeat)),
            ("start", Field::Time(&mut self.start)),
        ]
    }

    /// Reads the section. What it does not say follows from the interval of the heartbeats.
    pub(super) fn read(mut table: DeTable<'_>) -> Result<Self, Mistake> {
        let known = [&KEYS[..], &KINDS].concat();
        fields::check(&table, "detector", &known)?;
        let kind = table.remove("kind");
        let kinds: Vec<_> =
            KINDS.iter().filter_map(|&kind| Some((kind, table.remove(kind)?))).collect();
        let default = Self::default();
        let mut detection = Self { start: Duration::ZERO, ..default };
        fields::read(table, "detector", detection.fields())?;
        if detection.start.is_zero() {
            detection.start = detection.heartbeat.saturating_mul(10);
        }
        let chosen = match &kind {
            Some(kind) => kind.get_ref().as_str().unwrap_or_default(),
            None => KINDS[0],
        };
        detection.detector = Settings::of(chosen, detection.heartbeat).ok_or_else(|| {
            let place = kind.as_ref().map(toml::Spanned::span).unwrap_or_default();
            Mistake::here(place, fields::unknown("detector", chosen, "", &KINDS))
        })?;
        for (name, section) in kinds {
            let section_of = format!("detector.{name}");
            // The section of a kind that is not chosen may stand there; its keys must be right.
            let mut other = Settings::of(name, detection.heartbeat);
            let settings =
                if name == chosen { Some(&mut detection.detector) } else { other.as_mut() };
            let span = section.span();
            match (settings, section.into_inner()) {
                (Some(settings), toml::de::DeValue::Table(table)) => {
                    fields::read(table, &section_of, settings.fields())?;
                }
                _ => return Err(Mistake::no_table(span, &section_of)),
            }
        }
        Ok(detection)
    }

    /// Every key with the value that it has if nothing is said.
    pub(super) fn reference() -> Vec<(String, String)> {
        let mut default = Self::default();
        let mut listed = vec![("detector.kind".to_owned(), format!("\"{}\"", KINDS[0]))];
        listed.extend(fields::listed("detector", &default.fields()));
        for mut settings in KINDS.iter().filter_map(|kind| Settings::of(kind, default.heartbeat)) {
            let section = format!("detector.{}", settings.kind());
            listed.extend(fields::listed(&section, &settings.fields()));
        }
        listed
    }

    /// The section as a file has it.
    pub(super) fn write(mut self) -> String {
        let kind = self.detector.kind();
        let section = fields::write("detector", &self.fields());
        let own = fields::write(&format!("detector.{kind}"), &self.detector.fields());
        section.replacen("]\n", &format!("]\nkind = \"{kind}\"\n"), 1) + &own
    }

    /// Checks all settings.
    ///
    /// # Errors
    ///
    /// [`Error::Detector`] with the first thing that is wrong.
    pub fn check(&self) -> Result<Parameters, Error> {
        let wrong = |problem: String| Error::Detector { problem };
        for (key, value) in [("heartbeat", self.heartbeat), ("start", self.start)] {
            if value.is_zero() || value > detector::LONGEST {
                return Err(wrong(format!("{key} is {value:?}: use more than 0s and at most 24h")));
            }
        }
        let checked = match self.detector {
            Settings::Fixed(settings) => settings.check().map(Parameters::Fixed),
            Settings::Adaptive(settings) => settings.check().map(Parameters::Adaptive),
            Settings::Phi(settings) => settings.check().map(Parameters::Phi),
        };
        let parameters = checked.map_err(|error| wrong(error.to_string()))?;
        let shortest = parameters.watch(crate::protocol::Time::ZERO).time_out();
        let heartbeat = self.heartbeat;
        if shortest <= heartbeat {
            return Err(wrong(format!(
                "heartbeat ({heartbeat:?}) must be shorter than the silence that is suspected \
                 ({shortest:?}), or every node is suspected between two heartbeats; try {:?}",
                shortest / 5
            )));
        }
        Ok(parameters)
    }
}
