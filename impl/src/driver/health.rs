//! What a program says of its own fitness to lead. What follows from it is decided by the
//! [member](crate::member).

use super::commands::Command;
use super::handle::Handle;
use crate::member::RequestError;

impl Handle {
    /// Reports whether this node is fit to lead: whether its disk answers, or a check passes. A
    /// node that is not does not run, and stops leading at its next round. A restart forgets it.
    ///
    /// # Errors
    ///
    /// [`RequestError::Unsupported`] and [`RequestError::Stopped`].
    pub async fn set_healthy(&self, healthy: bool) -> Result<(), RequestError> {
        if !healthy {
            return self.set_unfit("its program says so").await;
        }
        self.send_command(Command::SetHealthy(true)).await.map(drop)
    }

    /// Does the same as [`Handle::set_healthy`] with `false`, and gives the reason, which the
    /// `problem` of the [status](Handle::status) tells. A long reason is cut.
    ///
    /// # Errors
    ///
    /// As [`Handle::set_healthy`].
    pub async fn set_unfit(&self, reason: &str) -> Result<(), RequestError> {
        self.send_command(Command::SetHealthy(false)).await?;
        self.fitness.explain(reason);
        Ok(())
    }

    /// Returns whether this node is fit to lead, as far as its program has
    /// [said](Handle::set_healthy). A node of which nothing was said is.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.fitness.problem().is_none()
    }
}
