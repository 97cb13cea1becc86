//! The bytes of what a fence keeps of one resource.
//!
//! A release that kept no nodes wrote the epoch and the value. What is written now begins with a
//! number that no epoch has, so both can be read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple as _, Serializer};

use super::{Epoch, Kept};

/// Stands before an epoch with its node.
const WITH_NODE: u64 = u64::MAX;

impl<D: Serialize> Serialize for Kept<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(4)?;
        tuple.serialize_element(&WITH_NODE)?;
        tuple.serialize_element(&self.epoch.number())?;
        tuple.serialize_element(&self.node)?;
        tuple.serialize_element(&self.value)?;
        tuple.end()
    }
}

impl<'de, D: Deserialize<'de>> Deserialize<'de> for Kept<D> {
    fn deserialize<R: Deserializer<'de>>(deserializer: R) -> Result<Self, R::Error> {
        deserializer.deserialize_tuple(4, Fields(PhantomData))
    }
}

struct Fields<D>(PhantomData<D>);

impl<'de, D: Deserialize<'de>> Visitor<'de> for Fields<D> {
    type Value = Kept<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an epoch, the node that leads it, and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Kept<D>, A::Error> {
        let first = next(&mut fields)?;
        let (epoch, node) = match first {
            WITH_NODE => (next(&mut fields)?, next(&mut fields)?),
            epoch => (epoch, None),
        };
        Ok(Kept { epoch: Epoch::new(epoch), node, value: next(&mut fields)? })
    }
}

/// The next field.
fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(fields: &mut A) -> Result<T, A::Error> {
    fields.next_element()?.ok_or_else(|| A::Error::custom("a field is missing"))
}
