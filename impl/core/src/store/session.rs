//! One client of a store, without acting: which question a message of the core is, and which
//! message the answer of the store is.
//!
//! - A store that tells its clients of changes is not polled. A client that was refused is answered
//!   from the record that was read last, until the store tells of a change, or what was left of the
//!   lease has run out. A record that can be read does not show that the lease can be claimed, so
//!   the first claim on each connection asks the store. A renewal always asks the store.
//! - The client claims above the highest token that it has seen. A store that has no record, or a
//!   record with a lower token, may have forgotten a lease that another client still holds. The
//!   first grant of such a store only makes the forgotten lease end: nobody can renew that lease
//!   any more, the client leads with the new one at no time, and claims again when a lease has
//!   lasted for its whole duration. The store may forget after the client has read the record. So
//!   each claim carries that token, and the store grants a lease that it may have forgotten only to
//!   a client that says that it waits.
//! - A record that the store would never end ([`LeaseRecord::doubt`]) is watched as well. A record
//!   that stays the same for longer than a grant lasts has no holder that renews it, and the client
//!   claims the lease as if that record had expired.
//! - A holder renews its lease every `renew`, and heeds the answer to its latest renewal only. If
//!   each answer comes after the next renewal was sent, none counts: the lease ends although the
//!   store has extended it each time. So the session measures the time until an answer. One late
//!   answer ends nothing.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use humantime::format_duration;

use super::{Answer, Claim, Holder, LeaseRecord, STORE};
use crate::protocol::lease::{Message, Token};
use crate::protocol::{Members, NodeId, Time};

/// The shortest time for which a record is believed. A store that counts in seconds says of the
/// last second that nothing is left.
const SHORTEST: Duration = Duration::from_millis(250);

/// The number of holders whose ids are remembered without a list of members.
const REMEMBERED: usize = 64;

/// A question to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// To [claim](Session::claim) the lease.
    Acquire,
    /// To extend the lease with this token.
    Renew(Token),
    /// To give back the lease with this token.
    Release(Token),
    /// To read the record, which is an [`Answer::Refused`].
    Read,
}

/// The next step for a message of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The store is asked, and [`Session::answered`] gets the answer.
    Ask(Question),
    /// The core gets this message at once.
    Answer(Message),
    /// The message is not for the store.
    Ignore,
}

/// A problem of a store that answers. The text has the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The store has lost its record of the lease.
    Lost {
        /// The token that the store has.
        token: Token,
        /// The highest token that the client has seen.
        seen: Token,
        /// The time for which the client waits after the first grant.
        keep: Duration,
    },
    /// The store would not end the lease of the holder with this name in time.
    Doubted {
        /// The name of the holder.
        name: String,
        /// The time for which the client watches the record before it claims the lease.
        keep: Duration,
    },
    /// Another process with the name of the client holds the lease.
    Twin {
        /// The name of both.
        name: String,
    },
    /// The holder with this name is no member.
    Stranger {
        /// The name of the holder.
        name: String,
    },
    /// The store answers renewals too late.
    Late {
        /// The time from a renewal to its answer.
        took: Duration,
        /// The time from one renewal to the next.
        renew: Duration,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { token, seen, keep } => write!(
                f,
                "the store has lost its record of the lease: the store has token {token}, and \
                 token {seen} was granted before; find out who deleted the record or restored an \
                 older one; another node may hold a lease that the store has forgotten, so no node \
                 leads for {} after the store has granted the lease again",
                format_duration(*keep)
            ),
            Self::Doubted { name, keep } => write!(
                f,
                "the store says that {name} holds the lease for longer than a lease lasts: someone \
                 has changed the record, or set the store's clock; if nobody renews the record for \
                 {}, this node claims the lease",
                format_duration(*keep)
            ),
            Self::Twin { name } => write!(
                f,
                "another process with the name {name} holds the lease: was this machine copied, or \
                 this node started twice? Stop one of the two, or give it an id of its own"
            ),
            Self::Stranger { name } => write!(
                f,
                "{name} holds the lease, and is no member: give the cluster of {name} another name \
                 or another store, or add {name} to the members"
            ),
            Self::Late { took, renew } => {
                let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                write!(
                    f,
                    "it answers later than `lease.renew` (took {}, `lease.renew` is {}): a renewal \
                     that is answered so late does not count, and if all are, the lease ends; find \
                     out why it is slow, or raise `lease.renew`, and `lease.hold` with it",
                    format_duration(Duration::from_millis(took)),
                    format_duration(*renew)
                )
            }
        }
    }
}

/// A client of a store: what it has asked, what it believes, and what is wrong with the store.
#[derive(Debug)]
pub struct Session {
    id: NodeId,
    own: Holder,
    ids: Ids,
    keep: Duration,
    renew: Duration,
    /// The highest token in any answer or record.
    seen: Token,
    regressions: u64,
    /// The moment at which the connection was made.
    since: Time,
    watches: bool,
    /// Whether the store has answered a claim or a renewal on this connection.
    has_claimed: bool,
    asked: Option<Asked>,
    known: Option<Known>,
    /// The token of a store without a record, or with a lower token than the client has seen.
    lost: Option<Token>,
    trial: Option<Trial>,
    /// The version of a doubted record, and since when the store has that version.
    doubted: Option<(String, Time)>,
    /// Since when another process with the client's name holds the lease.
    twin: Option<Time>,
    /// The time that the latest renewal took that was answered too late, until an answer is in
    /// time, or the client has no lease.
    late: Option<Duration>,
}

/// A question that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    message: Message,
    question: Question,
    /// The moment at which the core sent the message.
    sent: Time,
    at: Time,
}

/// The record as it was known last.
#[derive(Debug)]
struct Known {
    holder: Option<Holder>,
    /// The id of the holder for the core.
    id: Option<NodeId>,
    at: Time,
    /// The moment until which the record is believed.
    until: Time,
}

/// A claim to a store that has lost its record.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The token that the store had.
    lost: Token,
    /// The highest token that the client had seen.
    seen: Token,
    /// The moment at which each lease is over that the store may have forgotten, once the client
    /// knows of the grant.
    until: Option<Time>,
}

impl Session {
    /// Returns the client that has the id `id` for its core, and is `own` for the store. A grant
    /// lasts for `keep`; a holder renews its lease every `renew`.
    ///
    /// Other holders have the ids of `members`, by their names. Without a list the client has the
    /// id 1, and other holders get the ids from 2 in the order in which they are seen.
    #[must_use]
    pub fn new(
        id: NodeId,
        own: Holder,
        members: Option<Members>,
        keep: Duration,
        renew: Duration,
    ) -> Self {
        let ids = members.map_or_else(|| Ids::Seen(VecDeque::new()), Ids::Members);
        Self {
            id,
            own,
            ids,
            keep,
            renew,
            seen: Token::default(),
            regressions: 0,
            since: Time::ZERO,
            watches: false,
            has_claimed: false,
            asked: None,
            known: None,
            lost: None,
            trial: None,
            doubted: None,
            twin: None,
            late: None,
        }
    }

    /// Begins anew on a connection to a store that tells of changes, or does not. The record is to
    /// be read first.
    pub fn connected(&mut self, now: Time, watches: bool) {
        (self.since, self.watches, self.has_claimed) = (now, watches, false);
        (self.asked, self.known) = (None, None);
    }

    /// Returns the step for a message that the core sent at the moment `sent`.
    pub fn ask(&mut self, now: Time, sent: Time, message: Message) -> Step {
        let question = match message {
            Message::Acquire(request) if self.tries(now) => {
                return Step::Answer(Message::Refused(request, None));
            }
            Message::Acquire(request) => {
                let is_held = |known: &&Known| self.is_other(known.holder.as_ref());
                let refuses = self.has_claimed && self.overdue(now).is_none();
                match self.believed(now).filter(is_held).filter(|_| refuses) {
                    Some(known) => return Step::Answer(Message::Refused(request, known.id)),
                    None => Question::Acquire,
                }
            }
            // No grant has this token. A client that may not lead asks so which node does, and the
            // record is all that it needs.
            Message::Renew(request, token) if token == Token::default() => {
                self.late = None;
                let is_held = |known: &&Known| self.is_other(known.holder.as_ref());
                match self.believed(now).filter(is_held) {
                    Some(known) => return Step::Answer(Message::Refused(request, known.id)),
                    None => Question::Read,
                }
            }
            Message::Renew(_, token) => Question::Renew(token),
            Message::Release(token) => {
                self.known = None;
                Question::Release(token)
            }
            // Writes go to what the lease protects, and the others to clients.
            Message::Write(_)
            | Message::Granted(..)
            | Message::Refused(..)
            | Message::Available => return Step::Ignore,
        };
        if let Some(lost) = self.lost.filter(|_| question == Question::Acquire) {
            self.trial = Some(Trial { lost, seen: self.seen, until: None });
        }
        self.asked = Some(Asked { message, question, sent, at: now });
        Step::Ask(question)
    }

    /// Returns the claim for [`Question::Acquire`].
    #[must_use]
    pub fn claim(&self, now: Time) -> Claim<'_> {
        let (seen, waits) = (self.seen, self.lost.is_some());
        Claim { holder: &self.own, seen, waits, overdue: self.overdue(now) }
    }

    /// Returns the message for the core that the answer to the latest question makes; `None` if
    /// the core expects none. A release has no answer.
    pub fn answered(&mut self, now: Time, answer: Option<Answer>) -> Option<Message> {
        let Asked { message, question, sent, at } = self.asked.take()?;
        match question {
            // A claim waits for longer than a renewal, so a slow answer is not too late itself.
            Question::Acquire if now.since(at) >= self.renew => {}
            // A message that was sent before has waited for the connection, which is another
            // problem.
            Question::Renew(_) if sent < self.since => {}
            Question::Renew(_) => {
                let took = now.since(sent);
                self.late = (took >= self.renew).then_some(took);
            }
            Question::Acquire | Question::Release(_) | Question::Read => self.late = None,
        }
        self.has_claimed |= matches!(question, Question::Acquire | Question::Renew(_));
        let (Message::Acquire(request) | Message::Renew(request, _)) = message else { return None };
        Some(match answer? {
            Answer::Granted(token) => {
                let (holder, left) = (Some(self.own.clone()), Some(self.keep));
                self.learn(now, LeaseRecord { holder, token, left, doubt: None });
                if self.tries(now) {
                    Message::Refused(request, None)
                } else {
                    self.trial = None;
                    Message::Granted(request, token)
                }
            }
            Answer::Refused(record) => Message::Refused(request, self.learn(now, record)),
        })
    }

    /// Takes note of the record, which was read without a message of the core. Returns the message
    /// that the lease can be claimed, if so: a client that waits to ask again asks at once.
    pub fn learned(&mut self, now: Time, record: LeaseRecord) -> Option<Message> {
        let is_own_trial = self.trial.is_some() && !self.is_other(record.holder.as_ref());
        let is_free = record.holder.is_none() || is_own_trial;
        self.learn(now, record);
        let claims = !self.tries(now) && (is_free || self.overdue(now).is_some());
        claims.then_some(Message::Available)
    }

    /// Returns the moment at which the record is to be read again, whether the store has told of a
    /// change or not.
    #[must_use]
    pub fn next_look(&self) -> Option<Time> {
        let known = self.known.as_ref()?;
        let overdue = self.doubted.as_ref().map(|&(_, since)| since + self.keep);
        let over = self.watches.then_some(known.until);
        let moments = [overdue, self.trial.and_then(|trial| trial.until), over];
        moments.into_iter().flatten().filter(|&moment| moment > known.at).min()
    }

    /// Returns what is wrong with the store, although it answers.
    #[must_use]
    pub fn problem(&self, now: Time) -> Option<Problem> {
        let (keep, renew) = (self.keep, self.renew);
        let holder = self.known.as_ref().and_then(|known| known.holder.as_ref());
        let name = || holder.map(|holder| holder.name().to_owned()).unwrap_or_default();
        let trial = self.trial.filter(|_| self.tries(now)).map(|trial| (trial.lost, trial.seen));
        let lost = self.lost.map(|token| (token, self.seen)).or(trial);
        if let Some((token, seen)) = lost.filter(|(token, seen)| token < seen) {
            return Some(Problem::Lost { token, seen, keep });
        }
        if self.doubted.is_some() && holder.is_some() {
            return Some(Problem::Doubted { name: name(), keep });
        }
        // The lease of the process before a restart ends within this time.
        if self.twin.is_some_and(|since| now >= since + self.keep) {
            return Some(Problem::Twin { name: self.own.name().to_owned() });
        }
        if self.known.as_ref().is_some_and(|known| known.holder.is_some() && known.id.is_none()) {
            return Some(Problem::Stranger { name: name() });
        }
        self.late.map(|took| Problem::Late { took, renew })
    }

    /// Returns the holder of the lease, as far as it is known.
    #[must_use]
    pub fn holder(&self, now: Time) -> Option<&Holder> {
        self.known.as_ref().filter(|known| now < known.until)?.holder.as_ref()
    }

    /// Returns the client as the store knows it.
    #[must_use]
    pub fn own(&self) -> &Holder {
        &self.own
    }

    /// Returns how often the store had a lower token than the client had seen.
    #[must_use]
    pub fn regressions(&self) -> u64 {
        self.regressions
    }

    /// Takes note of the record. Returns the id of its holder.
    fn learn(&mut self, now: Time, record: LeaseRecord) -> Option<NodeId> {
        let LeaseRecord { holder, token, left, doubt } = record;
        let is_empty = token == Token::default() && holder.is_none();
        let fell = token < self.seen && self.lost.is_none_or(|before| token < before);
        self.regressions += u64::from(fell);
        self.lost = (is_empty || token < self.seen).then_some(token);
        self.seen = self.seen.max(token);
        let is_other = self.is_other(holder.as_ref());
        if is_other {
            self.late = None;
        }
        // The answer to the claim may have been lost: the record tells of the grant then. While
        // there is no holder, the claim may still be on its way.
        if let Some(Trial { until: until @ None, .. }) = &mut self.trial {
            if is_other {
                self.trial = None;
            } else if holder.is_some() {
                *until = Some(now + self.keep);
            }
        }
        let before = self.doubted.take();
        self.doubted = doubt.filter(|_| is_other).map(|version| {
            let same = before.filter(|(before, _)| *before == version);
            (version, same.map_or(now, |(_, since)| since))
        });
        let is_twin = is_other && holder.as_ref().is_some_and(|it| it.name() == self.own.name());
        self.twin = is_twin.then(|| self.twin.unwrap_or(now));
        let id = match &holder {
            Some(holder) if is_other => self.ids.of(holder),
            holder => holder.as_ref().map(|_| self.id),
        };
        let until = now + left.unwrap_or(self.keep).max(SHORTEST).min(self.keep);
        self.known = Some(Known { holder, id, at: now, until });
        id
    }

    fn is_other(&self, holder: Option<&Holder>) -> bool {
        holder.is_some_and(|holder| *holder != self.own)
    }

    /// Returns the record, if it is believed because the store would have told of a change.
    fn believed(&self, now: Time) -> Option<&Known> {
        self.known.as_ref().filter(|known| self.watches && now < known.until)
    }

    /// Returns whether another client may hold a lease that the store had forgotten when it granted
    /// the lease to this one.
    fn tries(&self, now: Time) -> bool {
        self.trial.and_then(|trial| trial.until).is_some_and(|until| now < until)
    }

    /// Returns the version of a doubted record that was watched for long enough.
    fn overdue(&self, now: Time) -> Option<&str> {
        let (version, since) = self.doubted.as_ref()?;
        (now >= *since + self.keep).then_some(version.as_str())
    }
}

/// The ids of other holders, as a core knows nodes.
#[derive(Debug)]
enum Ids {
    /// The name of a holder is the id of a member.
    Members(Members),
    /// The holders that were seen last, each with its id; the newest is the last.
    Seen(VecDeque<(Holder, NodeId)>),
}

impl Ids {
    fn of(&mut self, holder: &Holder) -> Option<NodeId> {
        let seen = match self {
            Self::Members(members) => {
                return holder.name().parse().ok().filter(|&id| members.contains(id));
            }
            Self::Seen(seen) => seen,
        };
        if let Some(&(_, id)) = seen.iter().find(|(before, _)| before == holder) {
            return Some(id);
        }
        let last = seen.back().map_or(1, |(_, id)| id.get());
        let next = if last + 1 < STORE.get() { last + 1 } else { 2 };
        let id = NodeId::new(next)?;
        if seen.len() == REMEMBERED {
            seen.pop_front();
        }
        seen.push_back((holder.clone(), id));
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::lease::Request;

    const KEEP: Duration = Duration::from_secs(15);
    const RENEW: Duration = Duration::from_millis(500);

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    fn id(number: u16) -> NodeId {
        NodeId::new(number).expect("not zero")
    }

    fn holder(number: u16) -> Holder {
        Holder::member(id(number), 7)
    }

    fn request(number: u32) -> Request {
        Request { started: 1, number }
    }

    fn refused(number: u32, holder: u16) -> Message {
        Message::Refused(request(number), NodeId::new(holder))
    }

    /// The lease of this member with this token; with 0, the lease is free.
    fn record(number: u16, token: u64) -> LeaseRecord {
        let holder = NodeId::new(number).map(|id| Holder::member(id, 7));
        let left = holder.as_ref().map(|_| KEEP);
        LeaseRecord { holder, token: Token::new(token), left, doubt: None }
    }

    /// Member 1 of three, with a connection since the first moment.
    fn session(watches: bool) -> Session {
        let members = Members::new([1, 2, 3].map(id)).expect("members");
        let mut session = Session::new(id(1), holder(1), Some(members), KEEP, RENEW);
        session.connected(at(0), watches);
        session
    }

    fn acquire(session: &mut Session, seconds: u64, number: u32) -> Step {
        let now = at(seconds * 1_000);
        session.ask(now, now, Message::Acquire(request(number)))
    }

    const CLAIMS: Step = Step::Ask(Question::Acquire);

    #[test]
    fn a_store_that_watches_is_claimed_once_and_then_believed() {
        let mut session = session(true);
        assert_eq!(session.learned(at(0), record(2, 4)), None);
        assert_eq!(acquire(&mut session, 1, 1), CLAIMS, "nothing was claimed here yet");
        let answer = Some(Answer::Refused(record(2, 4)));
        assert_eq!(session.answered(at(1_000), answer), Some(refused(1, 2)));
        assert_eq!(acquire(&mut session, 15, 2), Step::Answer(refused(2, 2)));
        assert_eq!(session.next_look(), Some(at(16_000)));
        assert_eq!(acquire(&mut session, 16, 3), CLAIMS, "it may have run out");
        assert_eq!(session.answered(at(16_000), None), None, "the answer was lost");
        assert_eq!(session.learned(at(17_000), record(0, 4)), Some(Message::Available));
        let claim = session.claim(at(17_000));
        assert_eq!((claim.seen, claim.waits), (Token::new(4), false), "it has lost nothing");
    }

    #[test]
    fn the_grant_of_a_claim_that_reaches_the_store_late_is_no_lease_either() {
        let mut session = session(true);
        session.learned(at(0), record(0, 0));
        assert_eq!(acquire(&mut session, 1, 1), CLAIMS);
        assert_eq!(session.answered(at(2_000), None), None, "it is on its way");
        session.connected(at(3_000), true);
        assert_eq!(session.learned(at(3_000), record(0, 0)), Some(Message::Available));
        assert_eq!(session.learned(at(4_000), record(1, 1)), None, "it has arrived");
        assert_eq!(acquire(&mut session, 18, 2), Step::Answer(refused(2, 0)));
        assert_eq!(acquire(&mut session, 19, 3), CLAIMS);
    }

    /// Grants the lease to the client, which has asked for it. Returns the message for the core.
    fn grant(session: &mut Session, seconds: u64, token: u64) -> Option<Message> {
        session.answered(at(seconds * 1_000), Some(Answer::Granted(Token::new(token))))
    }

    /// Returns whether the client claims above this token, and says that it waits.
    fn claims(session: &Session, seconds: u64) -> (u64, bool) {
        let claim = session.claim(at(seconds * 1_000));
        (claim.seen.get(), claim.waits)
    }

    #[test]
    fn the_first_grant_of_a_store_without_a_record_is_no_lease() {
        for watches in [false, true] {
            let mut session = session(watches);
            assert_eq!(session.learned(at(0), record(0, 0)), Some(Message::Available));
            assert_eq!(acquire(&mut session, 1, 1), CLAIMS);
            assert_eq!(claims(&session, 1), (0, true));
            assert_eq!(grant(&mut session, 2, 1), Some(refused(1, 0)));
            assert_eq!((session.problem(at(2_000)), session.regressions()), (None, 0));
            assert_eq!(session.next_look(), Some(at(17_000)));
            for second in [3, 16] {
                assert_eq!(acquire(&mut session, second, 2), Step::Answer(refused(2, 0)));
                assert_eq!(session.learned(at(second * 1_000), record(0, 1)), None);
            }
            // A connection is no reason to wait anew.
            session.connected(at(16_500), watches);
            assert_eq!(session.learned(at(16_500), record(1, 1)), None);
            assert_eq!(session.learned(at(17_000), record(1, 1)), Some(Message::Available));
            assert_eq!(acquire(&mut session, 17, 3), CLAIMS);
            assert_eq!(claims(&session, 17), (1, false));
            let granted = Message::Granted(request(3), Token::new(2));
            assert_eq!(grant(&mut session, 17, 2), Some(granted));

            // The store may have been emptied again meanwhile.
            assert_eq!(session.learned(at(18_000), record(0, 0)), Some(Message::Available));
            assert_eq!(acquire(&mut session, 18, 4), CLAIMS);
            assert_eq!(claims(&session, 18), (2, true));
            assert_eq!(session.answered(at(19_000), None), None, "the answer was lost");
            session.connected(at(20_000), watches);
            assert_eq!(session.learned(at(20_000), record(1, 3)), None, "the store had granted it");
            assert_eq!(acquire(&mut session, 34, 5), Step::Answer(refused(5, 0)));
            assert_eq!(acquire(&mut session, 35, 6), CLAIMS);
            assert_eq!(claims(&session, 35), (3, false), "it has a record");
            assert_eq!(
                grant(&mut session, 35, 4),
                Some(Message::Granted(request(6), Token::new(4)))
            );
        }
    }

    #[test]
    fn a_token_that_falls_is_a_problem_until_forgotten_leases_are_over() {
        let mut session = session(false);
        assert_eq!(session.learned(at(0), record(2, 9)), None);
        for (second, older) in [(1, record(0, 0)), (2, record(3, 4)), (3, record(0, 3))] {
            session.learned(at(second * 1_000), older);
            assert!(matches!(session.problem(at(3_000)), Some(Problem::Lost { .. })));
        }
        assert_eq!(session.regressions(), 2, "the token fell twice");
        let told = session.problem(at(3_000)).map(|problem| problem.to_string());
        assert!(told.is_some_and(|told| told.contains("has token 3, and token 9 was granted")));
        assert_eq!(acquire(&mut session, 3, 1), CLAIMS);
        assert_eq!(claims(&session, 3), (9, true));
        assert_eq!(grant(&mut session, 4, 10), Some(refused(1, 0)));
        let told = session.problem(at(18_999)).map(|problem| problem.to_string());
        assert!(told.is_some_and(|told| told.contains("has token 3, and token 9 was granted")));
        assert_eq!((session.problem(at(19_000)), session.regressions()), (None, 2));
        assert_eq!(acquire(&mut session, 19, 2), CLAIMS);
        let granted = Message::Granted(request(2), Token::new(11));
        assert_eq!(grant(&mut session, 19, 11), Some(granted));
        assert_eq!(session.holder(at(19_000)), Some(&holder(1)));
    }

    #[test]
    fn a_doubted_record_that_stays_the_same_can_be_taken() {
        let doubted = |version: &str| LeaseRecord { doubt: Some(version.into()), ..record(2, 4) };
        let mut session = session(true);
        for (second, version) in [(0, "a"), (10, "b"), (20, "b")] {
            assert_eq!(session.learned(at(second * 1_000), doubted(version)), None);
            assert!(matches!(session.problem(at(20_000)), Some(Problem::Doubted { .. })));
        }
        assert_eq!(session.next_look(), Some(at(25_000)));
        assert_eq!(session.claim(at(24_999)).overdue, None);
        assert_eq!(session.learned(at(25_000), doubted("b")), Some(Message::Available));
        assert_eq!(acquire(&mut session, 25, 1), CLAIMS);
        assert_eq!(session.claim(at(25_000)).overdue, Some("b"));
        session.learned(at(26_000), record(2, 5));
        assert_eq!((session.claim(at(60_000)).overdue, session.problem(at(26_000))), (None, None));
    }

    #[test]
    fn a_holder_that_is_a_twin_or_a_stranger_is_a_problem() {
        let mut session = session(false);
        let held = |name: &str| LeaseRecord { holder: Holder::new(name, 8).ok(), ..record(2, 4) };
        session.learned(at(0), held("1"));
        assert_eq!(session.problem(at(14_999)), None, "it may be the process before a restart");
        assert_eq!(acquire(&mut session, 15, 1), CLAIMS);
        let answer = session.answered(at(15_000), Some(Answer::Refused(held("1"))));
        assert_eq!(answer, Some(refused(1, 1)), "it is another process");
        assert_eq!(session.problem(at(15_000)), Some(Problem::Twin { name: "1".to_owned() }));
        session.learned(at(16_000), held("4"));
        assert_eq!(session.problem(at(16_000)), Some(Problem::Stranger { name: "4".to_owned() }));
    }

    #[test]
    fn without_a_list_holders_get_ids_in_their_order() {
        let mut ids = Ids::Seen(VecDeque::new());
        let mut of = |name: u32| ids.of(&Holder::new(format!("h:{name}"), 1).expect("a name"));
        assert_eq!([of(7), of(8), of(7)], [2, 3, 2].map(NodeId::new));
        for name in 100..100_000 {
            let given = of(name).expect("an id");
            assert!((2..STORE.get()).contains(&given.get()), "{given}");
        }
    }

    #[test]
    fn an_answer_is_late_once_the_next_renewal_is_due() {
        let mut session = session(false);
        let renewal = |number| Message::Renew(request(number), Token::new(1));
        for (second, took, late) in
            [(0, 499, false), (1, 500, true), (2, 20, false), (3, 812, true)]
        {
            let sent = at(second * 1_000);
            let step = session.ask(sent, sent, renewal(1));
            assert_eq!(step, Step::Ask(Question::Renew(Token::new(1))));
            let now = sent + Duration::from_millis(took);
            session.answered(now, Some(Answer::Granted(Token::new(1))));
            assert_eq!(session.problem(now).is_some(), late, "{took}");
        }
        let told = "it answers later than `lease.renew` (took 812ms, `lease.renew` is 500ms): a \
                    renewal that is answered so late does not count, and if all are, the lease \
                    ends; find out why it is slow, or raise `lease.renew`, and `lease.hold` with \
                    it";
        assert_eq!(session.problem(at(4_000)).map(|it| it.to_string()).as_deref(), Some(told));
        // A renewal that has waited for the connection says nothing.
        session.connected(at(10_000), false);
        session.ask(at(10_000), at(9_000), renewal(5));
        session.answered(at(10_000), Some(Answer::Granted(Token::new(1))));
        assert!(session.problem(at(10_000)).is_some());
        session.ask(at(11_000), at(11_000), Message::Release(Token::new(1)));
        assert_eq!(session.answered(at(11_000), None), None);
        assert_eq!(session.problem(at(11_000)), None, "it has no lease that could end");
    }
}
