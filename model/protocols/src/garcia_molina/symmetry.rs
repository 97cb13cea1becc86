//! Numbers of tasks that do not depend on how many there were.
//!
//! Of two tasks a process asks whether they are the same, and a coordinator adds one to the number
//! of its last, which is the largest of its numbers. So the numbers of each coordinator may be
//! replaced by their ranks among those that a process or a message still has.

use super::{GarciaMolina, Message, Task, Tasks};
use bellwether_engine::protocol::{Everything, Id, WithinBounds};

/// Numbers begin with 1 and come round to 0, so that 0 is the first that is given again.
pub(super) const WITHIN: WithinBounds<GarciaMolina> = WithinBounds {
    at_most: "7 tasks of a process told apart",
    within: |_, process, _| process.task.is_none_or(|task| task.number != 0),
};

/// Replaces the number of each task by its rank.
pub(super) fn canonicalize(_: &GarciaMolina, mut all: Everything<'_, GarciaMolina>) {
    for coordinator in Id::all(all.processes.len()) {
        let mut known = [false; Tasks::TOLD_APART as usize];
        each_number(&mut all, coordinator, |number| known[usize::from(*number)] = true);
        let mut ranks = [0; Tasks::TOLD_APART as usize];
        for number in 1..known.len() {
            ranks[number] = ranks[number - 1] + u8::from(known[number]);
        }
        each_number(&mut all, coordinator, |number| *number = ranks[usize::from(*number)]);
    }
}

/// The numbers of this coordinator's tasks.
fn each_number(
    all: &mut Everything<'_, GarciaMolina>,
    coordinator: Id,
    mut call: impl FnMut(&mut u8),
) {
    call(&mut all.stable[coordinator.index()].0);
    let mut of_it = |task: &mut Task| {
        if task.by == coordinator {
            call(&mut task.number);
        }
    };
    all.processes.iter_mut().filter_map(|process| process.task.as_mut()).for_each(&mut of_it);
    for envelope in &mut *all.messages {
        match &mut envelope.message {
            Message::Normal(Some(task)) => of_it(task),
            Message::Ready(number) => {
                let mut task = Task { by: envelope.from, number: *number };
                of_it(&mut task);
                *number = task.number;
            }
            _ => {}
        }
    }
}
