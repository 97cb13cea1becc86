//! The section `[detector]`: with what the nodes watch each other, where the protocol asks for it.

use super::Error;
use super::fields::{self, Field, Fields};
use crate::detector::{Detection, Settings, SettingsError};

/// The kinds of detectors, by their names.
pub(super) const KINDS: [&str; 3] = ["fixed", "adaptive", "phi"];

impl From<SettingsError> for Error {
    fn from(error: SettingsError) -> Self {
        Self::Detector { problem: error.to_string() }
    }
}

/// The kind of a detector.
pub(super) fn kind_of(settings: &Settings) -> &'static str {
    match settings {
        Settings::Fixed(_) => KINDS[0],
        Settings::Adaptive(_) => KINDS[1],
        Settings::Phi(_) => KINDS[2],
    }
}

/// What can be set in the section of a kind. The interval that is expected is the heartbeat's.
pub(super) fn kind_fields(settings: &mut Settings) -> Fields<'_> {
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
pub(super) fn common_fields(detection: &mut Detection) -> Fields<'_> {
    vec![
        ("heartbeat", Field::Time(&mut detection.heartbeat)),
        ("start", Field::Time(&mut detection.start)),
    ]
}

/// The section as a file has it.
pub(super) fn write(mut detection: Detection) -> String {
    let kind = kind_of(&detection.detector);
    let section = fields::write("detector", &common_fields(&mut detection));
    let own = fields::write(&format!("detector.{kind}"), &kind_fields(&mut detection.detector));
    section.replacen("]\n", &format!("]\nkind = \"{kind}\"\n"), 1) + &own
}
