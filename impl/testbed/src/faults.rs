//! Faults in an order from a seed.

use std::time::Duration;

use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Kinds of faults, in an order from a seed: each comes once before any comes again.
#[derive(Debug)]
pub struct Faults<K> {
    /// What else is drawn with the faults, such as the node that each strikes.
    pub random: ChaCha8Rng,
    kinds: Vec<K>,
    left: Vec<K>,
}

impl<K: Copy> Faults<K> {
    /// Takes the seed, and the kinds, of which there must be one at least.
    pub fn new(seed: u64, kinds: Vec<K>) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), kinds, left: Vec::new() }
    }

    /// Draws the kind of the next fault.
    #[track_caller]
    pub fn draw(&mut self) -> K {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
            self.left.shuffle(&mut self.random);
        }
        self.left.pop().expect("there are kinds")
    }

    /// Draws a time of up to `most`.
    pub fn time(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.random.random())
    }
}
