//! The services that answer a node in place of another node: one for each election, or none.

use std::sync::Arc;

use super::{Config, Error, Runnable};
use crate::service::Service;

impl<C: Runnable> Config<C> {
    /// The services of the elections, in their order.
    ///
    /// # Errors
    ///
    /// What is wrong with what the section says of them.
    pub(crate) fn services(&self) -> Result<Vec<Arc<dyn Service<C::Message>>>, Error> {
        let elections = self.groups.elections(&self.cluster).into_iter();
        elections
            .filter_map(|name| C::service(&self.section, self.node, &name).transpose())
            .collect()
    }

    /// Checks whether the files can be read with which the node proves itself to the service that
    /// it asks. While the node runs, they are read for each connection.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the first that cannot be used.
    pub fn check_service_files(&self) -> Result<(), Error> {
        C::check_files(&self.section, self.node)
    }

    /// Returns what the node asks in place of another node, in words; none if it asks none.
    #[must_use]
    pub fn service_names(&self) -> Vec<String> {
        // They were made when the configuration was, or taking part says what is wrong.
        let services = self.services().unwrap_or_default();
        services.iter().map(|service| service.name()).collect()
    }

    /// Returns what the operator must know of the service that the node asks, as a sentence for the
    /// log at the start; the same for all of its elections.
    #[must_use]
    pub fn service_warning(&self) -> Option<String> {
        self.services().unwrap_or_default().first()?.warning()
    }
}
