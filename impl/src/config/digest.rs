//! What nodes tell each other of their configurations: enough to see which part differs.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The first half of a SHA-256.
pub(crate) type Digest = [u8; 16];

/// A digest of each part of the configuration that must be the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    /// The section of the protocol.
    pub(crate) settings: Digest,
    /// How nodes watch each other.
    pub(crate) detection: Digest,
}

impl Digests {
    pub(super) fn new(settings: &str, detection: &str) -> Self {
        Self { settings: digest(settings.as_bytes()), detection: digest(detection.as_bytes()) }
    }

    /// The sections in which the configuration of a node that runs `protocol` differs from another.
    /// The nodes talk nevertheless, so that they can be changed one after another.
    pub(crate) fn differing(&self, other: &Self, protocol: &str) -> Option<String> {
        let parts = [
            (self.settings == other.settings, protocol),
            (self.detection == other.detection, "detector"),
        ];
        let differ = parts.iter().filter(|(same, _)| !same).map(|(_, name)| format!("[{name}]"));
        let names: Vec<_> = differ.collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }
}

pub(super) fn digest(bytes: &[u8]) -> Digest {
    let all: [u8; 32] = Sha256::digest(bytes).into();
    let mut first = Digest::default();
    first.copy_from_slice(&all[..16]);
    first
}
