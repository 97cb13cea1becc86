//! What the machine adds to a time that is measured.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Makes a measured time worse by what the machine adds: each of a few tens of steps may be late by
/// the most that a sleeping thread was, and each of a few saves by the longest that one took here.
pub(crate) struct Lateness {
    steps: Worst,
    saves: Worst,
    over: Arc<AtomicBool>,
}

/// The longest of some times, in microseconds.
#[derive(Clone, Default)]
struct Worst(Arc<AtomicU64>);

impl Worst {
    fn note(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_max(time, Ordering::Relaxed);
    }

    fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

impl Lateness {
    const STEPS: u32 = 20;

    /// A candidate saves, then its voters do, and after one failed attempt there is another.
    const SAVES: u32 = 4;

    /// Watches this machine, and the disk on which the folder is.
    pub(crate) fn watch(folder: &Path) -> io::Result<Self> {
        let mut file = File::create(folder.join("lateness"))?;
        let watching =
            Self { steps: Worst::default(), saves: Worst::default(), over: Arc::default() };
        let (worst, over) = (watching.steps.clone(), Arc::clone(&watching.over));
        thread::spawn(move || {
            let nap = Duration::from_millis(5);
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(nap);
                worst.note(start.elapsed().saturating_sub(nap));
            }
        });
        let (worst, over) = (watching.saves.clone(), Arc::clone(&watching.over));
        thread::spawn(move || {
            let mut save = || {
                file.rewind()?;
                file.write_all(b"as a node would")?;
                file.sync_data()
            };
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                // A disk that is full or gone is for the nodes to tell.
                let _: io::Result<()> = save();
                worst.note(start.elapsed());
                thread::sleep(Duration::from_millis(50));
            }
        });
        Ok(watching)
    }

    /// How much later than without it all may have happened since this was asked last.
    pub(crate) fn take(&self) -> Duration {
        self.steps.take() * Self::STEPS + self.saves.take() * Self::SAVES
    }
}

impl Drop for Lateness {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
