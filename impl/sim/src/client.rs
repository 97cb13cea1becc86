//! The client of a store on one node: what the task of the daemon does, on virtual time. What it
//! asks and believes, the [session](Session) decides, which is that of the daemon.

use std::collections::VecDeque;
use std::time::Duration;

use bellwether_core::protocol::lease::{Message, Token};
use bellwether_core::protocol::{Members, NodeId, Time};
use bellwether_core::store::{Answer, Holder, LeaseRecord, Question, Session, Step};

use crate::store::{Ask, DURATIONS, LIMIT, Semantics};

/// The wait before the client connects again, at first and at most.
const BACKOFF: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// The client.
pub(crate) struct Client {
    session: Session,
    semantics: Semantics,
    /// The messages of the core, and when each was sent.
    mailbox: VecDeque<(Time, Message)>,
    /// The messages of the store that are not read yet.
    mail: VecDeque<Mail>,
    /// The message that has no answer yet.
    asked: Option<(Time, Message)>,
    /// The number of the latest question.
    number: u64,
    under_way: Option<UnderWay>,
    is_connected: bool,
    has_news: bool,
    /// When the client connects, if it is not connected.
    retry: Time,
    backoff: Duration,
    /// The version of a record of a store without a clock, since when it is known to be that, and
    /// for how long it lasts.
    observed: Option<(u64, Time, Duration)>,
}

/// The question that has no answer yet.
#[derive(Clone, Copy)]
struct UnderWay {
    at: Time,
    /// True if no message of the core asks.
    looks: bool,
    claims: bool,
}

/// A message of the store.
#[derive(Clone, Debug)]
pub(crate) enum Mail {
    Reply {
        number: u64,
        answer: Option<Answer>,
        version: u64,
    },
    /// The record may have changed.
    News,
    /// The connection has ended.
    Ended,
}

/// The next step of a client.
pub(crate) enum Next {
    /// The client asks the store, by this number.
    Ask(u64, Ask),
    /// The client has read an answer of the store. The core gets the message.
    Told { token: Option<Token>, is_grant: bool, message: Option<Message> },
    /// The core gets an answer without a question to the store.
    Answer(Message),
}

impl Client {
    pub(crate) fn new(id: NodeId, members: Members, start: u64, semantics: Semantics) -> Self {
        let own = Holder::member(id, start);
        let session = Session::new(id, own, Some(members), DURATIONS.keep, DURATIONS.renew);
        Self {
            session,
            semantics,
            mailbox: VecDeque::new(),
            mail: VecDeque::new(),
            asked: None,
            number: 0,
            under_way: None,
            is_connected: false,
            has_news: false,
            retry: Time::ZERO,
            backoff: BACKOFF,
            observed: None,
        }
    }

    pub(crate) fn own(&self) -> &Holder {
        self.session.own()
    }

    /// The core has sent a message.
    pub(crate) fn push(&mut self, now: Time, message: Message) {
        self.mailbox.push_back((now, message));
    }

    /// The store has sent something.
    pub(crate) fn receive(&mut self, mail: Mail) {
        self.mail.push_back(mail);
    }

    /// Returns whether the program is told of a problem with the store.
    pub(crate) fn has_problem(&self, now: Time) -> bool {
        self.session.problem(now).is_some()
    }

    /// Returns whether the client has seen this token, or a higher one.
    pub(crate) fn has_seen(&self, token: Token) -> bool {
        self.session.claim(Time::ZERO).seen >= token
    }

    /// Returns when the client has something to do, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Time> {
        match self.under_way {
            Some(question) => Some(question.at + LIMIT),
            None if !self.is_connected => Some(self.retry),
            None => self.session.next_look(),
        }
    }

    /// Returns what the client does next; `None` if it waits.
    pub(crate) fn next(&mut self, now: Time) -> Option<Next> {
        while let Some(mail) = self.mail.pop_front() {
            match mail {
                Mail::News => self.has_news = true,
                Mail::Ended => self.fail(now),
                Mail::Reply { number, answer, version } => {
                    let question = self.under_way.take_if(|_| number == self.number);
                    if let Some(question) = question {
                        return Some(self.learn(now, question, answer, version));
                    }
                }
            }
        }
        match self.under_way {
            Some(question) if now < question.at + LIMIT => return None,
            Some(_) => self.fail(now),
            None => {}
        }
        if !self.is_connected {
            return (now >= self.retry).then(|| self.put(now, true, Ask::Read));
        }
        while let Some((sent, message)) = self.asked.take().or_else(|| self.mailbox.pop_front()) {
            if now.since(sent) > DURATIONS.hold {
                continue;
            }
            match self.session.ask(now, sent, message) {
                Step::Ignore => {}
                Step::Answer(answer) => return Some(Next::Answer(answer)),
                Step::Ask(question) => {
                    self.asked = Some((sent, message));
                    let ask = self.ask(now, question);
                    return Some(self.put(now, false, ask));
                }
            }
        }
        let is_due = self.session.next_look().is_some_and(|look| look <= now);
        let looks = std::mem::take(&mut self.has_news) || is_due;
        looks.then(|| self.put(now, true, Ask::Read))
    }

    /// The connection fails, and the question is lost.
    fn fail(&mut self, now: Time) {
        self.under_way = None;
        self.is_connected = false;
        self.retry = now + self.backoff;
        self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
    }

    fn ask(&self, now: Time, question: Question) -> Ask {
        let holder = self.session.own().clone();
        match question {
            Question::Acquire => {
                let claim = self.session.claim(now);
                let is_over = |&(_, since, lasts): &(u64, Time, Duration)| since + lasts <= now;
                let over = self.observed.filter(is_over).map(|(version, ..)| version);
                let overdue = claim.overdue.and_then(|version| version.parse().ok()).or(over);
                Ask::Acquire { holder, seen: claim.seen, waits: claim.waits, overdue }
            }
            Question::Renew(token) => Ask::Renew(holder, token),
            Question::Release(token) => Ask::Release(holder, token),
            Question::Read => Ask::Read,
        }
    }

    fn put(&mut self, now: Time, looks: bool, ask: Ask) -> Next {
        self.number += 1;
        let claims = matches!(ask, Ask::Acquire { .. });
        self.under_way = Some(UnderWay { at: now, looks, claims });
        Next::Ask(self.number, ask)
    }

    /// Takes note of the answer to a question. A connection is made by the first look.
    fn learn(
        &mut self,
        now: Time,
        question: UnderWay,
        answer: Option<Answer>,
        version: u64,
    ) -> Next {
        self.backoff = BACKOFF;
        if !self.is_connected {
            self.session.connected(now, self.semantics.watches);
            self.is_connected = true;
        }
        let is_grant = question.claims && matches!(answer, Some(Answer::Granted(_)));
        let token = answer.as_ref().map(|answer| match answer {
            Answer::Granted(token) => *token,
            Answer::Refused(record) => record.token,
        });
        let answer = answer.map(|answer| match answer {
            Answer::Refused(record) => Answer::Refused(self.observe(now, record, version)),
            Answer::Granted(token) => Answer::Granted(token),
        });
        let message = match answer {
            Some(Answer::Refused(record)) if question.looks => self.session.learned(now, record),
            answer => {
                self.asked = None;
                self.session.answered(now, answer)
            }
        };
        Next::Told { token, is_grant, message }
    }

    /// Returns the record as the adapter of the store does: without a clock, a record that has
    /// stayed the same for its duration, since this client has seen it first, is over.
    fn observe(&mut self, now: Time, record: LeaseRecord, version: u64) -> LeaseRecord {
        if self.semantics.has_clock {
            return record;
        }
        let known = self.observed.filter(|(known, ..)| *known == version);
        let since = known.map_or(now, |(_, since, _)| since);
        let lasts = record.left.unwrap_or(Duration::MAX);
        self.observed = Some((version, since, lasts));
        let left = (since + lasts).since(now);
        match record.left {
            Some(_) if left.is_zero() => {
                LeaseRecord { token: record.token, ..LeaseRecord::default() }
            }
            Some(_) => LeaseRecord { left: Some(left), ..record },
            None => record,
        }
    }
}
