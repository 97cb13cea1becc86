//! An operator's word that a cluster is new.

use super::{Config, Error, Runnable};

impl<C: Runnable> Config<C> {
    /// Returns this configuration for a node of a new cluster that starts while other voters are
    /// away. Otherwise a node without a state does not vote before each other voter of its list has
    /// met it, or a leader lets it in, as it may have lost a state and with it all that it had
    /// granted. A node with a state does not start with this.
    ///
    /// Say so once, when the cluster starts for the first time, and on so many nodes as are there.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let config = Config::new("orders", 2, members)?.with_new_cluster()?;
    /// # Ok::<(), bellwether::config::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoNewCluster`] when the nodes of the protocol wait for no others.
    pub fn with_new_cluster(mut self) -> Result<Self, Error> {
        if C::founder().is_none() {
            return Err(Error::NoNewCluster { protocol: C::NAME });
        }
        self.new_cluster = true;
        Ok(self)
    }

    /// Whether an operator says that the cluster is new.
    pub(crate) fn is_new_cluster(&self) -> bool {
        self.new_cluster
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::bully::{self, Bully};
    use crate::protocol::quorum::Quorum;

    const MEMBERS: [(u16, &str); 2] = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002")];

    #[test]
    fn only_nodes_that_wait_for_others_are_told_that_the_cluster_is_new() {
        let config = Config::<Quorum>::new("orders", 1, MEMBERS).expect("valid");
        assert!(!config.is_new_cluster());
        assert!(config.with_new_cluster().expect("they wait").is_new_cluster());
        let timing = bully::Timing::DEFAULT;
        let config = Config::<Bully>::for_protocol("orders", 1, MEMBERS, timing).expect("valid");
        let error = config.with_new_cluster().expect_err("they do not").to_string();
        assert!(error.starts_with("protocol bully has no use for --new-cluster"), "{error}");
    }
}
