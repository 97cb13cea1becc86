//! The questions of one node to a service that writes no log, and the answers.
//!
//! Such a service is no node: a database that grants a lease. Its answers come from outside of all
//! logs, so they are believed as far as the service of the specification could have given them. It
//! answers one request after the other, each at most once. It keeps an epoch for its node, or
//! grants one that is higher than all before. In which order it has answered different nodes, no
//! log says.

use crate::mapping::{Exchange, RequestNumber};
use std::collections::VecDeque;

/// The most requests that are kept which have no answer.
const MOST: usize = 1 << 12;

/// An answer that the service cannot have given, and those that it can have given instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) what: &'static str,
    pub(super) model: String,
    pub(super) program: String,
}

/// The questions of a node since its last start, and the answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// The requests without an answer, each with the epoch that is to be kept, if there is one.
    asked: VecDeque<(RequestNumber, Option<u64>)>,
    /// The first request since the start, and the last that was answered.
    first: Option<RequestNumber>,
    answered: Option<RequestNumber>,
    /// True if there may have been others, in lines that are missing.
    gaps: bool,
    /// The highest epoch that was granted to the node, in any of its starts.
    epoch: u64,
}

impl Answers {
    pub(super) fn start(&mut self) {
        *self = Answers { epoch: self.epoch, ..Answers::default() };
    }

    /// Lines are missing here.
    pub(super) fn drop_lines(&mut self) {
        self.gaps = true;
    }

    /// The node sends this to the service.
    pub(super) fn send(&mut self, exchange: Option<Exchange>) {
        let Some(Exchange::Request(number, keeps)) = exchange else { return };
        if self.asked.len() == MOST {
            self.asked.pop_front();
            self.gaps = true;
        }
        self.first = self.first.or(Some(number));
        self.asked.push_back((number, keeps));
    }

    /// The service sends this to the node: the epoch that it grants, if it does.
    pub(super) fn receive(&mut self, exchange: Option<Exchange>) -> Result<Option<u64>, Wrong> {
        let Some(Exchange::Answer(number, granted)) = exchange else { return Ok(None) };
        let asked = self.answer(number)?;
        let Some(epoch) = granted else { return Ok(None) };
        let least = self.epoch.max(1);
        let model = match asked {
            Some(Some(keeps)) if epoch != keeps || epoch < least => {
                format!("{keeps}, or a refusal")
            }
            Some(None) if epoch <= self.epoch => format!("more than {}", self.epoch),
            None if epoch < least => format!("at least {least}"),
            _ => {
                self.epoch = epoch;
                return Ok(Some(epoch));
            }
        };
        Err(Wrong { what: "epoch granted", model, program: epoch.to_string() })
    }

    /// Returns what was asked by this request, if that is known: the epoch that is to be kept.
    fn answer(&mut self, number: RequestNumber) -> Result<Option<Option<u64>>, Wrong> {
        let (started, request) = number;
        let wrong = |model: &str| {
            let program = format!("{request}, of start {started}");
            Wrong { what: "request answered", model: model.to_owned(), program }
        };
        if self.answered.is_some_and(|last| number <= last) {
            return Err(wrong("one behind the last that was answered"));
        }
        self.answered = Some(number);
        while let Some(&(asked, keeps)) = self.asked.front()
            && asked <= number
        {
            self.asked.pop_front();
            if asked == number {
                return Ok(Some(keeps));
            }
        }
        // The questions of an earlier start are not kept.
        let is_earlier = self.first.is_none_or(|first| number < first);
        if self.gaps || is_earlier {
            return Ok(None);
        }
        Err(wrong("one that was asked"))
    }
}
