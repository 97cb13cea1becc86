//! The list that a message collects on its way round.

use bellwether_engine::protocol::{Id, Ids, MAX_NODES, MAX_SEARCHED};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ids of those whom a message has passed; never empty. They are in order, as long as they are
/// few: all of a world that is searched exhaustively. Of more than that only the first is told from
/// the others, since nothing depends on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct List(Kept);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kept {
    /// In order.
    Few([Option<Id>; MAX_SEARCHED]),
    /// The first, and all.
    Many(Id, Ids),
}

impl List {
    /// The list of a message that sets out.
    #[must_use]
    pub fn of(first: Id) -> List {
        let mut few = [None; MAX_SEARCHED];
        few[0] = Some(first);
        List(Kept::Few(few))
    }

    /// Its ids, in order; of many, the first and then the others ascending.
    pub fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        let (few, many) = match self.0 {
            Kept::Few(few) => (few, Ids::NONE),
            Kept::Many(first, all) => {
                let mut few = [None; MAX_SEARCHED];
                few[0] = Some(first);
                (few, all.without(first))
            }
        };
        few.into_iter().flatten().chain(many.iter())
    }

    /// Who began it.
    #[must_use]
    pub fn first(&self) -> Id {
        match self.0 {
            Kept::Few([Some(first), ..]) | Kept::Many(first, _) => first,
            Kept::Few(_) => unreachable!("a list begins with an id"),
        }
    }

    /// The highest id in it.
    #[must_use]
    pub fn highest(&self) -> Id {
        self.ids().max().unwrap_or_else(|| self.first())
    }

    /// Whether `id` is in it.
    #[must_use]
    pub fn contains(&self, id: Id) -> bool {
        match self.0 {
            Kept::Few(few) => few.contains(&Some(id)),
            Kept::Many(_, all) => all.contains(id),
        }
    }

    /// The list with `id` at its end, where it is not in it yet.
    #[must_use]
    pub fn with(mut self, id: Id) -> List {
        if self.contains(id) {
            return self;
        }
        let (first, all) = (self.first(), self.ids());
        match &mut self.0 {
            Kept::Many(_, all) => *all = all.with(id),
            Kept::Few(few) => match few.iter_mut().find(|place| place.is_none()) {
                Some(end) => *end = Some(id),
                None => self.0 = Kept::Many(first, all.chain([id]).collect()),
            },
        }
        self
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ids())
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::<Id>::deserialize(deserializer)?;
        if let Some(id) = ids.iter().find(|id| id.index() >= MAX_NODES) {
            return Err(D::Error::custom(format!("ids are 1 to {MAX_NODES}, not {id}")));
        }
        let (first, rest) = ids.split_first().ok_or_else(|| D::Error::custom("an empty list"))?;
        let list = rest.iter().fold(List::of(*first), |list, &id| list.with(id));
        if list.ids().eq(ids.iter().copied()) {
            Ok(list)
        } else {
            Err(D::Error::custom("an id is in the list twice, or there are too many"))
        }
    }
}
