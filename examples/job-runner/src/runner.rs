//! What an instance does while its node leads: one job after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bellwether::Guard;
use bellwether::fence::Token;

use crate::table::{self, Failure, Table};

/// How long between two looks at something that has not changed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// An instance of the program.
pub(crate) struct Runner<G> {
    /// Its node.
    pub(crate) node: u16,
    /// Whether the node leads.
    pub(crate) guard: G,
    /// Where the database is.
    pub(crate) database: String,
    /// Whether the database is asked whether it may write.
    pub(crate) fenced: bool,
}

impl<G: Fn() -> Option<Guard>> Runner<G> {
    /// Works whenever the node leads, until it is told to stop.
    pub(crate) fn run(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if let Some(guard) = (self.guard)()
                && let Err(failure) = self.lead(&guard, stop)
            {
                match failure {
                    Failure::Stale(stale) => self.say(&format!("stops: {stale}")),
                    Failure::Database(error) => self.say(&format!("database: {error:#}")),
                }
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Works as the leader of one epoch, until that is over.
    fn lead(&self, guard: &Guard, stop: &AtomicBool) -> Result<(), Failure> {
        let token = guard.token();
        let mut table = table::open(&self.database).map_err(Failure::Database)?;
        // Before anything is read: what an older leader has not written by now, it never will.
        if self.fenced {
            table.raise(token)?;
        }
        self.say(&format!("leads epoch {}", token.epoch));
        while guard.is_valid_now() && !stop.load(Ordering::Relaxed) {
            if !self.one_job(table.as_mut(), token)? {
                thread::sleep(LOOK_AGAIN);
            }
        }
        Ok(())
    }

    /// Does a job, if there is one. However long that takes, and whatever becomes of the lease
    /// meanwhile: the fence decides whether the result counts.
    fn one_job(&self, table: &mut dyn Table, token: Token) -> Result<bool, Failure> {
        let Some(job) = table.next()? else { return Ok(false) };
        let epoch = token.epoch;
        self.say(&format!("begins job {} in epoch {epoch}", job.id));
        thread::sleep(job.takes);
        table.finish(job, token, self.fenced)?;
        self.say(&format!("has done job {} in epoch {epoch}", job.id));
        Ok(true)
    }

    fn say(&self, what: &str) {
        crate::say(&format!("node {} {what}", self.node));
    }
}
