//! Where frames go that arrive: to the loop around the member of their group.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::Arrival;
use super::frame::{self, Frame};

/// How many messages that have arrived wait for the loop of one group. When they are too many,
/// connections are no longer read, and the senders' outboxes drop what gets too old.
const INBOX: usize = 1024;

/// The inboxes of all groups, by their numbers.
pub(crate) struct Inboxes<M>(Arc<[Sender<Arrival<M>>]>);

impl<M> Clone for Inboxes<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// That of a node without groups.
impl<M> From<Sender<Arrival<M>>> for Inboxes<M> {
    fn from(inbox: Sender<Arrival<M>>) -> Self {
        Self([inbox].into())
    }
}

impl<M> Inboxes<M> {
    /// Those of so many groups, and where what arrives can be read.
    pub(super) fn new(groups: usize) -> (Self, Vec<Receiver<Arrival<M>>>) {
        let (inboxes, arrivals): (Vec<_>, _) = (0..groups).map(|_| mpsc::channel(INBOX)).unzip();
        (Self(inboxes.into()), arrivals)
    }

    /// Those of all groups, by their numbers.
    pub(super) fn each(&self) -> impl Iterator<Item = &Sender<Arrival<M>>> {
        self.0.iter()
    }

    /// Whether no loop reads any more.
    pub(super) fn are_closed(&self) -> bool {
        self.0.iter().all(Sender::is_closed)
    }
}

impl<M: DeserializeOwned> Inboxes<M> {
    /// The frame in these bytes, and where it goes; or what is wrong with it.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<(Frame<M>, &Sender<Arrival<M>>), String> {
        let frame: Frame<M> = frame::decode_frame(bytes).map_err(|error| error.to_string())?;
        let (group, count) = (frame.group(), self.0.len());
        match self.0.get(usize::from(group)) {
            Some(inbox) => Ok((frame, inbox)),
            None => Err(format!("a message for group number {group}, and there are {count}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_goes_to_its_group_and_to_none_that_there_is_not() {
        let (inboxes, arrivals) = Inboxes::<u8>::new(300);
        for group in [0, 1, 255, 256, 299] {
            let bytes = frame::encode_frame(&Frame::numbered(group, 1, 7_u8)).expect("fits");
            let (frame, inbox) = inboxes.read(&bytes).expect("there is such a group");
            assert_eq!((frame.group(), frame.is_message()), (group, true));
            let all = (0..300).filter(|&number: &usize| inboxes.0[number].same_channel(inbox));
            assert_eq!(all.collect::<Vec<_>>(), [usize::from(group)]);
        }
        let bytes = frame::encode_frame(&Frame::numbered(300, 1, 7_u8)).expect("fits");
        let error = inboxes.read(&bytes).expect_err("there are 300");
        assert_eq!(error, "a message for group number 300, and there are 300");
        drop(arrivals);
        assert!(inboxes.are_closed());
    }
}
