//! The sections of the protocols, and the configuration of whichever is chosen.

use std::path::Path;

use toml::de::DeTable;

use super::listing::listed;
use super::values::{self, Mistake};
use super::{Log, Overrides, Source};
use crate::config::{Config, Error, Runnable};
use crate::protocol::Core;

/// A visitor of a configuration whose protocol is known only while the program runs.
pub trait Visitor {
    /// The type of the result.
    type Output;

    /// Visits the configuration, and returns the result.
    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output;
}

macro_rules! registry {
    ($($protocol:ty),+ $(,)?) => {
        fn dispatch<V: Visitor>(source: &Source, visitor: V) -> Result<V::Output, Error> {
            let name = source.protocol()?;
            $(if name == <$protocol>::NAME {
                let (config, log) = source.config::<$protocol>()?;
                return Ok(visitor.visit(config, log));
            })+
            unreachable!("{name} is registered")
        }

        /// Returns the keys of the section of the protocol with this name; none if there is none.
        #[must_use]
        pub fn keys(name: &str) -> Vec<&'static str> {
            $(if name == <$protocol>::NAME {
                let mut section = <$protocol as Runnable>::Section::default();
                return values::names(&<$protocol>::fields(&mut section));
            })+
            Vec::new()
        }

        /// Every key of every protocol's section, with the value that it has if nothing is said.
        pub(super) fn reference() -> Vec<(String, String)> {
            let mut all = Vec::new();
            $(
                let mut section = <$protocol as Runnable>::Section::default();
                let fields = <$protocol>::fields(&mut section);
                all.extend(listed(<$protocol>::NAME, &fields));
            )+
            all
        }
    };
}

crate::for_each_core!(registry);

/// Reads the configuration at `path`, for the protocol that it names.
///
/// # Errors
///
/// The first thing that is wrong, with the place and the remedy.
pub fn load<V: Visitor>(path: &Path, overrides: Overrides, visitor: V) -> Result<V::Output, Error> {
    dispatch(&Source::read(path, overrides)?, visitor)
}

/// Refuses keys that the protocol's section does not have.
pub(super) fn check_keys(name: &str, table: &DeTable<'_>) -> Result<(), Mistake> {
    values::check(table, name, &keys(name))
}
