//! The way to a store: an address chooses the adapter.

use std::sync::Arc;

use bellwether_core::store::Connect;

use crate::address::{Files, Place, StoreAddress};

impl StoreAddress {
    /// Returns the way to the store; `None` if the store is a member.
    ///
    /// # Errors
    ///
    /// The mistake in the address, or the feature that this program was built without.
    pub fn connector(&self, files: &Files) -> Result<Option<Arc<dyn Connect>>, String> {
        match self {
            Self::Node(_) => Ok(None),
            Self::At(place) => place.connector(files).map(Some),
            Self::Own(connect) => Ok(Some(Arc::clone(connect))),
        }
    }
}

impl Place {
    /// Returns the way to the store.
    ///
    /// # Errors
    ///
    /// The mistake in the address, or in the choice of files.
    #[cfg(feature = "adapters")]
    pub fn connector(&self, files: &Files) -> Result<Arc<dyn Connect>, String> {
        let address = self.as_str();
        let connect: Arc<dyn Connect> = match crate::address::scheme(address) {
            "sqlite" => Arc::new(crate::sqlite::Sqlite::parse(address, files)?),
            "postgres" | "postgresql" => {
                Arc::new(crate::postgres::Postgres::parse(address, files)?)
            }
            "redis" | "rediss" | "redis+unix" => {
                Arc::new(crate::redis::Redis::parse(address, files)?)
            }
            "etcd" | "etcds" => Arc::new(crate::etcd::Etcd::parse(address, files)?),
            _ => Arc::new(crate::kubernetes::Kubernetes::parse(address, files)?),
        };
        Ok(connect)
    }

    /// Returns an error: this program has no adapter.
    ///
    /// # Errors
    ///
    /// The feature that this program was built without.
    #[cfg(not(feature = "adapters"))]
    pub fn connector(&self, _: &Files) -> Result<Arc<dyn Connect>, String> {
        Err(format!(
            "this program was built without the feature `stores` of the package bellwether, which \
             has the adapter for {self}: build the program with that feature, or name a member as \
             the store"
        ))
    }
}

/// Returns the way to the store at this address, which is no node.
///
/// # Errors
///
/// The mistake in the address, or the feature that this program was built without.
pub fn connector(address: &str, files: &Files) -> Result<Arc<dyn Connect>, String> {
    address.parse::<Place>()?.connector(files)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::address::without_password;

    /// The data has addresses, each with the files that are named, and below it what is said of it.
    #[test]
    fn an_address_is_good_or_refused_with_the_remedy() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/testdata/addresses.txt");
        let kept = std::fs::read_to_string(path).expect("it can be read");
        let mut now = Vec::new();
        for line in kept.lines().filter(|line| !line.starts_with("  ")) {
            now.push(line.to_owned());
            let Some((_, rest)) = line.split_once('"') else { continue };
            let (address, names) = rest.split_once('"').expect("the end of the address");
            let file = |name: &str| {
                names.split(' ').any(|named| named == name).then(|| PathBuf::from(name))
            };
            let files = Files {
                password: file("password"),
                ca: file("ca"),
                certificate: file("certificate"),
                key: file("key"),
                token: file("token"),
            };
            let store = address.parse::<StoreAddress>();
            let said = store.and_then(|store| store.connector(&files)).err();
            let said = said.unwrap_or_else(|| "good".to_owned());
            for shown in [&said, &without_password(address)] {
                assert!(!shown.contains("sh@") && !shown.contains("hush"), "{shown}");
            }
            now.push(format!("  {said}"));
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, now.join("\n") + "\n").expect("it can be written");
        }
        for (number, (kept, now)) in (1..).zip(kept.lines().zip(&now)) {
            assert_eq!(kept, now, "{path}:{number}; with UPDATE=1 what is said now is written");
        }
        assert_eq!(kept.lines().count(), now.len(), "{path}");
    }
}
