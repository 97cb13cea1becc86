//! The bytes of one slot, and what can be wrong with them.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the magic number `BLWRSLOT` |
//! | 2 | the version of the format, big endian |
//! | 4 | the length of the body, big endian |
//! | 4 | the CRC-32 of all other bytes, big endian |
//! | the rest | the body: a [`Record`] in [postcard](https://postcard.jamesmunns.com/wire-format) |
//!
//! The first two fields never move, so that every release knows a slot of a later one.

use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Damage, Owner, StorageError};

/// The version of everything in this file.
const VERSION: u16 = 1;

/// The largest slot that is read, in bytes. What protocols must remember is a few numbers; but it
/// can be that for each of many groups.
pub(super) const LARGEST: usize = 2 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"BLWRSLOT";
const LENGTH_AT: usize = MAGIC.len() + 2;
const CHECKSUM_AT: usize = LENGTH_AT + 4;
const BODY_AT: usize = CHECKSUM_AT + 4;

/// The body of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record<S> {
    cluster: String,
    protocol: String,
    node: u16,
    sequence: u64,
    /// The bytes of the state: readable without knowing whose it is.
    state: S,
}

/// What a slot holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A state in bytes, and its number.
    State(u64, Vec<u8>),
    /// A write that did not finish, or bytes that changed since.
    Damaged(Damage),
}

/// The bytes of a slot; `None` if the state is too large or cannot be written as bytes.
pub(super) fn encode(owner: &Owner, sequence: u64, state: &impl Serialize) -> Option<Vec<u8>> {
    let record = Record {
        cluster: owner.cluster.as_str().to_owned(),
        protocol: owner.protocol.clone(),
        node: owner.node.get(),
        sequence,
        state: postcard::to_stdvec(state).ok()?,
    };
    let body = postcard::to_stdvec(&record).ok()?;
    let length = u32::try_from(body.len()).ok()?;
    let header = [&MAGIC[..], &VERSION.to_be_bytes(), &length.to_be_bytes()].concat();
    let checksum = checksum(&header, &body).to_be_bytes();
    let slot = [&header[..], &checksum, &body].concat();
    (slot.len() <= LARGEST).then_some(slot)
}

/// Reads the bytes of the slot with this path.
pub(super) fn decode(owner: &Owner, path: PathBuf, bytes: &[u8]) -> Result<Content, StorageError> {
    let magic = &bytes[..bytes.len().min(MAGIC.len())];
    if magic != MAGIC {
        // A write that did not finish leaves a part, or zeros where the file has grown already.
        let is_part = magic.iter().zip(MAGIC).all(|(&byte, whole)| byte == 0 || byte == *whole);
        let damaged = Content::Damaged(Damage::Truncated);
        return if is_part { Ok(damaged) } else { Err(StorageError::NotASlot { path }) };
    }
    let Some(version) = number(bytes, MAGIC.len(), 2) else {
        return Ok(Content::Damaged(Damage::Truncated));
    };
    if version > u32::from(VERSION) {
        let theirs = u16::try_from(version).unwrap_or(u16::MAX);
        return Err(StorageError::Newer { path, theirs, ours: VERSION });
    }
    let (Some(length), Some(sum)) = (number(bytes, LENGTH_AT, 4), number(bytes, CHECKSUM_AT, 4))
    else {
        return Ok(Content::Damaged(Damage::Truncated));
    };
    let body = &bytes[BODY_AT..];
    // A shorter slot over a longer one leaves a tail if the write did not finish.
    let Some(body) = usize::try_from(length).ok().and_then(|length| body.get(..length)) else {
        return Ok(Content::Damaged(Damage::Truncated));
    };
    if version != u32::from(VERSION) || checksum(&bytes[..CHECKSUM_AT], body) != sum {
        return Ok(Content::Damaged(Damage::Checksum));
    }
    let Ok((record, [])) = postcard::take_from_bytes::<Record<Vec<u8>>>(body) else {
        return Ok(Content::Damaged(Damage::Checksum));
    };
    owned(owner, path, record)
}

/// What the record says, if it is this node's.
fn owned(owner: &Owner, path: PathBuf, record: Record<Vec<u8>>) -> Result<Content, StorageError> {
    let names = [
        ("cluster", record.cluster, owner.cluster.to_string()),
        ("protocol", record.protocol, owner.protocol.clone()),
        ("node", record.node.to_string(), owner.node.to_string()),
    ];
    for (what, theirs, ours) in names {
        if theirs != ours {
            return Err(StorageError::Foreign { path, what, theirs, ours });
        }
    }
    Ok(Content::State(record.sequence, record.state))
}

/// The state in these bytes, all of them.
pub(super) fn state<D: DeserializeOwned>(bytes: &[u8]) -> Option<D> {
    match postcard::take_from_bytes(bytes) {
        Ok((state, [])) => Some(state),
        Ok(_) | Err(_) => None,
    }
}

fn checksum(header: &[u8], body: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(header);
    checksum.update(body);
    checksum.finalize()
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + length)?;
    Some(bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}
