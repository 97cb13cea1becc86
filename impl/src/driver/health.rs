//! What a program says of its own fitness to lead, and why it is not fit, for the status. What
//! follows from it is decided by the [member](crate::member).

use std::sync::{Arc, Mutex, PoisonError};

use super::commands::Command;
use super::handle::Handle;
use crate::member::RequestError;

/// The longest reason that is told, in bytes. A status has room for it.
const LONGEST_REASON: usize = 160;

/// Why the node is not fit to lead; none if the program has not said so.
#[derive(Clone, Debug, Default)]
pub(super) struct Unfitness(Arc<Mutex<Option<String>>>);

impl Unfitness {
    fn set(&self, reason: Option<&str>) {
        let problem = reason.map(|reason| {
            let ends = reason.char_indices().map(|(start, c)| start + c.len_utf8());
            let end = ends.take_while(|&end| end <= LONGEST_REASON).last().unwrap_or(0);
            format!("this node is not fit to lead: {}", &reason[..end])
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// What is wrong with the node.
    pub(super) fn problem(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

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
        self.send_command(Command::SetHealthy(true)).await?;
        self.unfitness.set(None);
        Ok(())
    }

    /// Does the same as [`Handle::set_healthy`] with `false`, and gives the reason, which the
    /// `problem` of the [status](Handle::status) tells. A long reason is cut.
    ///
    /// # Errors
    ///
    /// As [`Handle::set_healthy`].
    pub async fn set_unfit(&self, reason: &str) -> Result<(), RequestError> {
        self.send_command(Command::SetHealthy(false)).await?;
        self.unfitness.set(Some(reason));
        Ok(())
    }

    /// Returns whether this node is fit to lead, as far as its program has
    /// [said](Handle::set_healthy). A node of which nothing was said is.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.unfitness.problem().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        let unfitness = Unfitness::default();
        assert_eq!(unfitness.problem(), None);
        let long = format!("x{}", "\u{1f980}".repeat(LONGEST_REASON));
        unfitness.set(Some(&long));
        let told = unfitness.problem().expect("it is not fit");
        let reason = told.strip_prefix("this node is not fit to lead: ").expect("words");
        assert!(long.starts_with(reason) && reason.len() == LONGEST_REASON - 3, "{told}");
        unfitness.set(None);
        assert_eq!(unfitness.problem(), None);
    }
}
