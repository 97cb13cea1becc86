//! Numbers that only grow, and of which processes ask nothing but the order.

use bellwether_engine::protocol::{Everything, Protocol};

/// The numbers that are in use: 0 always is.
pub(crate) struct Used([bool; 256]);

impl Used {
    pub(crate) fn new() -> Used {
        Used(std::array::from_fn(|number| number == 0))
    }

    pub(crate) fn note(&mut self, number: u8) {
        self.0[usize::from(number)] = true;
    }

    /// Returns the count of numbers in use below this one.
    pub(crate) fn place(&self, number: u8) -> u8 {
        let below = self.0[..usize::from(number)].iter().filter(|&&used| used).count();
        u8::try_from(below).expect("there are fewer below an 8-bit number")
    }
}

/// Calls every number of one kind, which `each` visits, by its place among those in use.
pub(crate) fn rename<P: Protocol>(
    all: &mut Everything<'_, P>,
    each: impl Fn(&mut Everything<'_, P>, &mut dyn FnMut(&mut u8)),
) {
    let mut used = Used::new();
    each(all, &mut |number| used.note(*number));
    each(all, &mut |number| *number = used.place(*number));
}
