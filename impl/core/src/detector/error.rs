//! What can be wrong with the settings of a detector, and the checks that find it.

use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

use super::LONGEST;

/// The problem with the settings of a detector, in one sentence, with the remedy.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The duration is zero where it must not be, or absurdly long.
    #[error(
        "{field} is {value:?}: use {} and at most 24h",
        if *zero_allowed { "0s or more" } else { "more than 0s" }
    )]
    Duration {
        /// The key of the setting, such as `phi.pause`.
        field: &'static str,
        /// The value of the setting.
        value: Duration,
        /// Whether zero would do.
        zero_allowed: bool,
    },
    /// The setting is not a number, or one that makes no sense there.
    #[error("{field} is {value}: use a number from {least} to {most}, such as {usual}")]
    Number {
        /// The key of the setting, such as `phi.threshold`.
        field: &'static str,
        /// The value of the setting.
        value: f64,
        /// The smallest value that would do.
        least: f64,
        /// The largest value that would do.
        most: f64,
        /// The value that the literature uses.
        usual: f64,
    },
    /// The window is too small to have a deviation, or absurdly large.
    #[error("phi.window is {value}: use {least} to {most} intervals, such as 1000")]
    Window {
        /// The value of the setting.
        value: usize,
        /// The smallest value that would do.
        least: usize,
        /// The largest value that would do.
        most: usize,
    },
    /// The expected interval is not between its limits.
    #[error(
        "{detector}.interval ({interval:?}) must be between {detector}.shortest ({shortest:?}) and \
         {detector}.longest ({longest:?}); try {:?} and {:?}",
        *interval / 2, interval.saturating_mul(5)
    )]
    NotBetween {
        /// The name of the detector, such as `phi`.
        detector: &'static str,
        /// The interval that is expected.
        interval: Duration,
        /// The shortest interval that counts: intervals count as at least this.
        shortest: Duration,
        /// The longest interval that counts: intervals count as at most this.
        longest: Duration,
    },
    /// The interval between heartbeats is no shorter than the silence that is suspected.
    #[error(
        "heartbeat ({heartbeat:?}) must be shorter than the silence that is suspected \
         ({shortest:?}), or every node is suspected between two heartbeats; try {:?}",
        *shortest / 5
    )]
    SlowHeartbeat {
        /// The interval between the heartbeats of a node.
        heartbeat: Duration,
        /// The shortest silence that is suspected.
        shortest: Duration,
    },
}

pub(super) fn more_than_zero(field: &'static str, value: Duration) -> Result<(), SettingsError> {
    if value.is_zero() || value > LONGEST {
        return Err(SettingsError::Duration { field, value, zero_allowed: false });
    }
    Ok(())
}

pub(super) fn zero_or_more(field: &'static str, value: Duration) -> Result<(), SettingsError> {
    if value > LONGEST {
        return Err(SettingsError::Duration { field, value, zero_allowed: true });
    }
    Ok(())
}

/// Refuses NaN too: it is in no range.
pub(super) fn number_within(
    field: &'static str,
    value: f64,
    range: &RangeInclusive<f64>,
    usual: f64,
) -> Result<(), SettingsError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = (*range.start(), *range.end());
    Err(SettingsError::Number { field, value, least, most, usual })
}
