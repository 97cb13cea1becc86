//! How many files the system lets this process have open, and what they are for: each connection is
//! one. What strangers open never takes those that the node itself needs.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::process::{Resource, getrlimit};

/// How many files a node needs itself: the outputs, its runtime, its storage, its listeners, its
/// trace, the database of a lease, and for a moment those of names, scripts and the configuration.
const OWN: usize = 40;

/// How many connections there are with each other member: one from it, and one to it.
const EACH: usize = 2;

/// How many connections of strangers each of the two ports needs, lest no caller comes in.
const STRANGERS: usize = 8;

/// How many connections of strangers each of the two ports may have open.
static ROOM: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Returns how many connections of strangers a port may have open that is to have so many.
pub(crate) fn room(wanted: usize) -> usize {
    wanted.min(ROOM.load(Relaxed))
}

/// Leaves to strangers what a node with so many other members does not need.
///
/// # Errors
///
/// The limit and how many files are needed, if that is more.
pub(crate) fn reserve(others: usize) -> Result<(), (usize, usize)> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = share(usize::try_from(limit).unwrap_or(usize::MAX), others)?;
    ROOM.fetch_min(room, Relaxed);
    Ok(())
}

/// Returns how many connections of strangers each of the two ports may have, if so many files may
/// be open.
fn share(limit: usize, others: usize) -> Result<usize, (usize, usize)> {
    let own = OWN + EACH * others;
    match limit.saturating_sub(own) / 2 {
        room if room >= STRANGERS => Ok(room),
        _ => Err((limit, own + 2 * STRANGERS)),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn strangers_get_half_of_the_rest_each_and_too_small_a_limit_is_told() {
        for others in [0, 1, 2, 254] {
            let (_, needed) = share(0, others).expect_err("none");
            assert_eq!(share(needed - 1, others), Err((needed - 1, needed)));
            assert_eq!(share(needed, others), Ok(8));
            assert_eq!(share(needed + 100, others), Ok(58));
            assert!(needed < 1024, "the usual limit is enough");
        }
        assert_eq!(share(30, 2), Err((30, 60)));
    }
}
