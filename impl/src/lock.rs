//! Mutexes whose content stays in use when a thread has panicked that had it locked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex, whether a thread that had it locked has panicked or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
