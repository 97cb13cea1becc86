//! One reading of a trace, from which story, diagram and picture are drawn: where each message
//! was sent, what became of it, whether it was stale by then, and how each process changed.

use super::words::{self, Ink, Names};
use bellwether_engine::property::Kind;
use bellwether_engine::protocol::{Id, MAX_SEARCHED};
use bellwether_engine::trace::{Event, Fate, Flight, Lifeline, Sent, Shows, Step, Trace, label_of};
use rustc_hash::{FxHashMap, FxHasher};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// A trace, understood.
pub(super) struct Layout<'a> {
    pub(super) trace: &'a Trace,
    pub(super) names: Names,
    /// The processes, ascending: one lifeline each.
    pub(super) ids: Vec<u8>,
    /// One row for each step.
    pub(super) rows: Vec<Row<'a>>,
    /// Every message, in order of sending.
    pub(super) arrows: Vec<Arrow<'a>>,
    /// What every process is at the end.
    pub(super) last: BTreeMap<u8, &'a Lifeline>,
    pub(super) ending: Ending,
    /// What is shown of the rows.
    pub(super) parts: Vec<Part>,
}

pub(super) struct Row<'a> {
    pub(super) step: &'a Step,
    /// The message that this step is about, among the arrows.
    pub(super) arrow: Option<usize>,
    /// The messages sent in this step.
    pub(super) sends: Vec<usize>,
    /// The messages in flight that were lost because their link was cut.
    pub(super) cut_off: Vec<usize>,
    /// The processes that changed.
    pub(super) changes: Vec<Change<'a>>,
}

/// How one process changed in a step.
pub(super) struct Change<'a> {
    pub(super) id: u8,
    pub(super) before: Option<&'a Lifeline>,
    pub(super) after: &'a Lifeline,
}

impl<'a> Change<'a> {
    /// The timers that run now and did not before.
    pub(super) fn armed(&self) -> impl Iterator<Item = &'a str> {
        let before = self.before.map_or(&[][..], |b| &b.timers[..]);
        self.after.timers.iter().filter(|t| !before.contains(t)).map(String::as_str)
    }

    /// The timers that ran before and do not now.
    pub(super) fn stopped(&self) -> impl Iterator<Item = &'a str> {
        let before = self.before.map_or(&[][..], |b| &b.timers[..]);
        before.iter().filter(|t| !self.after.timers.contains(t)).map(String::as_str)
    }

    /// Whether more than its timers changed.
    pub(super) fn visible(&self) -> bool {
        let what = |l: &'a Lifeline| (l.up, &l.role, l.leader);
        self.before.map(what) != Some(what(self.after))
    }
}

pub(super) struct Arrow<'a> {
    pub(super) flight: &'a Flight,
    pub(super) label: String,
    pub(super) origin: Origin,
    pub(super) end: End,
    /// Why it was stale when it arrived: what has become of its sender.
    pub(super) stale: Option<String>,
}

/// Something that stands beside a lifeline.
pub(super) struct Note {
    /// The place of the lifeline.
    pub(super) column: usize,
    pub(super) kind: NoteKind,
    pub(super) text: String,
    pub(super) ink: Ink,
}

/// What a note tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    /// What happened to the process.
    Event,
    /// What became of a message, where the arrow cannot say it.
    Arrow,
    /// What the process has become.
    Status,
    /// The timers that it has armed.
    Armed,
    /// What it has sent.
    Sent,
}

impl Arrow<'_> {
    /// What became of the message when it was sent, if it was not in flight then.
    pub(super) fn fate(&self) -> Option<Fate> {
        match self.end {
            End::Barred => Some(Fate::Cut),
            End::Merged => Some(Fate::Merged),
            _ => None,
        }
    }

    pub(super) fn from(&self) -> u8 {
        self.flight.from.number()
    }

    pub(super) fn to(&self) -> u8 {
        self.flight.to.number()
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was in flight at the beginning.
    Beginning,
    /// It was sent in this row.
    Row(usize),
    /// The trace does not say.
    Unknown,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It arrived in this row.
    Delivered(usize),
    /// It arrived in this row at a process that was down.
    Down(usize),
    /// It was lost in this row.
    Lost(usize),
    /// Its link was cut in this row while it was in flight.
    CutOff(usize),
    /// Its link was cut already when it was sent.
    Barred,
    /// It merged with an identical one in flight.
    Merged,
    /// It is in flight at the end.
    InFlight,
}

/// How an execution ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It shows nothing in particular.
    Open,
    /// Its last state violates the property.
    Violated,
    /// Its last state is the example that was looked for.
    Reached,
    /// Nothing happens any more.
    Stuck,
    /// The rows from this one on repeat for ever.
    Repeats(usize),
}

impl Ending {
    /// The ending in words, and their colour.
    pub(super) fn words(self) -> (&'static str, Ink) {
        match self {
            Ending::Open => ("afterwards", Ink::Faint),
            Ending::Violated => ("violated here", Ink::Bad),
            Ending::Reached => ("reached here", Ink::Good),
            Ending::Stuck => ("from here nothing happens any more", Ink::Bad),
            Ending::Repeats(_) => ("and so on, for ever", Ink::Bad),
        }
    }

    fn of(shows: Option<&Shows>, steps: usize) -> Ending {
        match shows {
            None => Ending::Open,
            Some(shows) => match (shows.kind, shows.cycle_after) {
                (Kind::Liveness | Kind::Reachability, Some(after)) if after < steps => {
                    Ending::Repeats(after)
                }
                (Kind::Reachability, _) => Ending::Reached,
                (Kind::Liveness, Some(_)) => Ending::Stuck,
                (Kind::Liveness, None) | (Kind::Safety, _) => Ending::Violated,
            },
        }
    }
}

impl<'a> Layout<'a> {
    pub(super) fn of(trace: &'a Trace) -> Layout<'a> {
        let mut reader = Reader::new(trace);
        let rows: Vec<Row<'a>> =
            trace.steps.iter().enumerate().map(|(at, step)| reader.row(at, step)).collect();
        let Reader { names, ids, arrows, now, .. } = reader;
        let ending = Ending::of(trace.header.shows.as_ref(), rows.len());
        let boundary = if let Ending::Repeats(after) = ending { after } else { rows.len() };
        Layout {
            trace,
            names,
            ids: ids.into_iter().collect(),
            rows,
            arrows,
            last: now.into_iter().map(|(id, now)| (id, now.lifeline)).collect(),
            ending,
            parts: parts(&trace.steps, boundary),
        }
    }

    /// The place of a process's lifeline, from 0.
    pub(super) fn column(&self, id: u8) -> usize {
        self.ids.binary_search(&id).expect("every process of the trace has a lifeline")
    }

    /// The messages that are in flight at the end.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Arrow<'a>> {
        self.arrows.iter().filter(|a| a.end == End::InFlight)
    }

    /// Messages in groups: those of one process that say the same.
    pub(super) fn grouped<'l>(
        arrows: impl Iterator<Item = &'l Arrow<'a>>,
    ) -> Vec<Vec<&'l Arrow<'a>>>
    where
        'a: 'l,
    {
        let mut groups: Vec<Vec<&'l Arrow<'a>>> = Vec::new();
        for arrow in arrows {
            let alike =
                |known: &Arrow<'_>| known.from() == arrow.from() && known.label == arrow.label;
            match groups.iter_mut().find(|group| alike(group[0])) {
                Some(group) => group.push(arrow),
                None => groups.push(vec![arrow]),
            }
        }
        groups
    }

    /// The messages of this fate that are sent in a row, in groups.
    pub(super) fn sent(&self, row: &Row<'_>, fate: Option<Fate>) -> Vec<Vec<&Arrow<'a>>> {
        let sends = row.sends.iter().map(|&at| &self.arrows[at]);
        Layout::grouped(sends.filter(|arrow| arrow.fate() == fate))
    }

    /// The receivers of messages.
    pub(super) fn receivers(&self, group: &[&Arrow<'_>]) -> String {
        self.names.list(&group.iter().map(|arrow| arrow.to()).collect::<Vec<_>>())
    }

    /// The row from which on everything repeats; the number of rows if nothing does.
    pub(super) fn cycle(&self) -> usize {
        if let Ending::Repeats(after) = self.ending { after } else { self.rows.len() }
    }

    /// What is shown, and under which assumptions.
    pub(super) fn caption(&self) -> Vec<(String, Ink)> {
        let mut lines = Vec::new();
        if let Some(shows) = &self.trace.header.shows {
            let (verb, ink) = match shows.kind {
                Kind::Reachability => ("reached", Ink::Good),
                Kind::Safety | Kind::Liveness => ("violated", Ink::Bad),
            };
            lines.push((format!("{} {verb}", words::clean(&shows.property)), ink));
            lines.push((words::clean(&shows.formula).into_owned(), Ink::Plain));
        }
        lines.push((self.protocol(), Ink::Plain));
        lines.push((self.trace.header.world.to_string(), Ink::Faint));
        lines
    }

    /// What stands beside the lifelines in a row, those of one lifeline from top to bottom, besides
    /// what is sent.
    pub(super) fn notes(&self, row: &Row<'_>) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut note = |id: u8, kind, text: String, ink| {
            notes.push(Note { column: self.column(id), kind, text, ink });
        };
        if let (Some(id), Some(text)) = (row.step.node, words::happens(&row.step.event)) {
            let ink = match row.step.event {
                Event::Expire { .. } | Event::Choose { .. } => Ink::Timer,
                Event::Recover | Event::Resume => Ink::Bold,
                _ => Ink::Bad,
            };
            note(id.number(), NoteKind::Event, text, ink);
            if matches!(row.step.event, Event::Expire { early: true, .. }) {
                note(id.number(), NoteKind::Event, "too early".to_owned(), Ink::Bad);
            }
        }
        if let Some(arrow) = row.arrow.map(|at| &self.arrows[at]) {
            let lost = match arrow.end {
                End::Down(_) => Some("down: lost"),
                End::Lost(_) => Some("lost"),
                _ => None,
            };
            if let Some(lost) = lost {
                note(arrow.to(), NoteKind::Arrow, lost.to_owned(), Ink::Bad);
            }
            if let Some(why) = &arrow.stale {
                note(arrow.to(), NoteKind::Arrow, format!("stale: {why}"), Ink::Stale);
            }
        }
        for arrow in row.cut_off.iter().map(|&lost| &self.arrows[lost]) {
            let first = arrow.from().min(arrow.to());
            note(first, NoteKind::Arrow, format!("✗ {}", self.flying(arrow)), Ink::Bad);
        }
        for change in &row.changes {
            if change.visible() && row.step.event != Event::Crash {
                let (id, after) = (change.id, change.after);
                note(id, NoteKind::Status, words::status(id, after), words::tone(id, after));
            }
            let armed: Vec<_> = change.armed().map(words::clean).collect();
            if !armed.is_empty() {
                note(change.id, NoteKind::Armed, armed.join(", "), Ink::Timer);
            }
        }
        notes
    }

    /// A message with its number and its ends.
    pub(super) fn flying(&self, arrow: &Arrow<'_>) -> String {
        let [from, to] = [arrow.from(), arrow.to()].map(|id| self.names.head(id));
        format!("m{} {} {from} → {to}", arrow.flight.id, arrow.label)
    }

    /// The protocol and its rules in a phrase.
    pub(super) fn protocol(&self) -> String {
        let header = &self.trace.header;
        format!("{}, variant {}", words::clean(&header.protocol), words::clean(&header.variant))
    }
}

/// A process while the trace is read.
struct Now<'a> {
    lifeline: &'a Lifeline,
    /// How often its role has changed.
    roles: u32,
    /// How often it has crashed.
    crashes: u32,
}

struct Reader<'a> {
    names: Names,
    ids: BTreeSet<u8>,
    arrows: Vec<Arrow<'a>>,
    /// What the sender was like when each arrow began: its role changes and crashes.
    senders: Vec<(u32, u32)>,
    /// The messages in flight, oldest first.
    open: FxHashMap<(u32, Id, Id), Vec<usize>>,
    now: BTreeMap<u8, Now<'a>>,
}

impl<'a> Reader<'a> {
    fn new(trace: &'a Trace) -> Self {
        let first = |(&id, lifeline)| (id, Now { lifeline, roles: 0, crashes: 0 });
        let mut reader = Reader {
            names: Names::of_trace(trace),
            ids: trace.header.initial.keys().copied().collect(),
            arrows: Vec::new(),
            senders: Vec::new(),
            open: FxHashMap::default(),
            now: trace.header.initial.iter().map(first).collect(),
        };
        for sent in &trace.header.in_flight {
            reader.send(sent, Origin::Beginning);
        }
        reader
    }

    fn row(&mut self, at: usize, step: &'a Step) -> Row<'a> {
        self.ids.extend(step.node.map(Id::number));
        let mut cut_off = Vec::new();
        let arrow = match &step.event {
            Event::Deliver(flight) => {
                let down = self.now.get(&flight.to.number()).is_some_and(|n| !n.lifeline.up);
                let end = if down { End::Down(at) } else { End::Delivered(at) };
                Some(self.end(flight, end))
            }
            Event::Lose(flight) => Some(self.end(flight, End::Lost(at))),
            Event::Duplicate(flight) => Some(self.double(flight)),
            Event::Cut { link: [a, b], one_way } => {
                self.ids.extend([a.number(), b.number()]);
                cut_off = self.cut(*a, *b, *one_way, at);
                None
            }
            Event::Heal { link: [a, b], .. } => {
                self.ids.extend([a.number(), b.number()]);
                None
            }
            Event::Expire { .. }
            | Event::Choose { .. }
            | Event::Crash
            | Event::Recover
            | Event::Pause
            | Event::Resume
            | Event::Jump { .. }
            | Event::Tick => None,
        };
        let changes = step.changed.iter().map(|(&id, after)| self.change(id, after)).collect();
        let sends = step.sent.iter().map(|sent| self.send(sent, Origin::Row(at))).collect();
        Row { step, arrow, sends, cut_off, changes }
    }

    fn change(&mut self, id: u8, after: &'a Lifeline) -> Change<'a> {
        self.ids.insert(id);
        let now = self.now.entry(id);
        let mut before = None;
        now.and_modify(|now| {
            before = Some(now.lifeline);
            now.roles += u32::from(now.lifeline.role != after.role);
            now.crashes += u32::from(now.lifeline.up && !after.up);
            now.lifeline = after;
        })
        .or_insert(Now { lifeline: after, roles: 0, crashes: 0 });
        Change { id, before, after }
    }

    fn send(&mut self, sent: &'a Sent, origin: Origin) -> usize {
        let end = match sent.fate {
            None => End::InFlight,
            Some(Fate::Cut) => End::Barred,
            Some(Fate::Merged) => End::Merged,
        };
        self.begin(&sent.flight, origin, end)
    }

    fn begin(&mut self, flight: &'a Flight, origin: Origin, end: End) -> usize {
        let at = self.arrows.len();
        self.ids.extend([flight.from.number(), flight.to.number()]);
        let sender = self.now.get(&flight.from.number());
        self.senders.push(sender.map_or((0, 0), |now| (now.roles, now.crashes)));
        let label = words::clean(&label_of(&flight.message)).into_owned();
        self.arrows.push(Arrow { flight, label, origin, end, stale: None });
        if end == End::InFlight {
            self.open.entry(key(flight)).or_default().push(at);
        }
        at
    }

    /// The oldest message in flight that this one can be; one of unknown origin if there is none.
    fn find(&mut self, flight: &'a Flight) -> usize {
        match self.open.get(&key(flight)).and_then(|open| open.first()) {
            Some(&at) => at,
            None => self.begin(flight, Origin::Unknown, End::InFlight),
        }
    }

    fn end(&mut self, flight: &'a Flight, end: End) -> usize {
        let at = self.find(flight);
        if let Some(open) = self.open.get_mut(&key(flight)) {
            open.retain(|&other| other != at);
        }
        self.arrows[at].end = end;
        if let End::Delivered(_) | End::Down(_) = end {
            self.arrows[at].stale = self.stale(at);
        }
        at
    }

    fn double(&mut self, flight: &'a Flight) -> usize {
        let at = self.find(flight);
        let (origin, sender) = (self.arrows[at].origin, self.senders[at]);
        let copy = self.begin(flight, origin, End::InFlight);
        self.senders[copy] = sender;
        at
    }

    fn cut(&mut self, a: Id, b: Id, one_way: bool, at: usize) -> Vec<usize> {
        let mut lost = Vec::new();
        for (&(_, from, to), open) in &mut self.open {
            if (from, to) == (a, b) || (!one_way && (from, to) == (b, a)) {
                lost.append(open);
            }
        }
        lost.sort_unstable();
        for &arrow in &lost {
            self.arrows[arrow].end = End::CutOff(at);
        }
        lost
    }

    /// What has become of the sender since, if it crashed or changed its role.
    fn stale(&self, arrow: usize) -> Option<String> {
        let (roles, crashes) = self.senders[arrow];
        let id = self.arrows[arrow].from();
        let (name, now) = (self.names.name(id), self.now.get(&id)?);
        if now.crashes != crashes {
            let back = if now.lifeline.up { " and recovered" } else { "" };
            return Some(format!("{name} has crashed{back} since"));
        }
        (now.roles != roles).then(|| format!("{name} {} by now", words::is(id, now.lifeline)))
    }
}

fn key(flight: &Flight) -> (u32, Id, Id) {
    (flight.id, flight.from, flight.to)
}

/// Executions up to this length are shown whole.
const LONG: usize = 60;

/// The longest part whose repetition is looked for.
const LONGEST_PART: usize = 24;

/// How often a part must occur in a row to be folded.
const OFTEN: usize = 4;

/// What is shown of an execution, in order.
///
/// Long executions repeat themselves: what repeats is shown at its first and its last time. Ticks
/// that follow each other are shown as one stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The step at this index.
    Step(usize),
    /// Nothing but ticks, and how many have passed at its end since the beginning.
    Ticks { steps: Range<usize>, now: usize },
    /// Steps that do the same again, `times` times, as the `period` steps before them.
    Again { steps: Range<usize>, period: usize, times: usize },
}

impl Part {
    pub(super) fn words(&self) -> String {
        match self {
            Part::Step(_) => String::new(),
            Part::Ticks { steps, .. } => words::ticks(steps.len()),
            Part::Again { steps, period, times } => {
                let what = if *period == 1 {
                    format!("step {}", steps.start)
                } else {
                    format!("steps {} to {}", steps.start + 1 - period, steps.start)
                };
                format!("steps {} to {}: {what} again, {times} times", steps.start + 1, steps.end)
            }
        }
    }
}

/// What is shown of `steps`. A fold never crosses `boundary`, where the cycle begins.
fn parts(steps: &[Step], boundary: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut now = 0;
    for part in repeated(steps, boundary) {
        match (part, parts.last_mut()) {
            (Part::Step(at), Some(Part::Ticks { steps: before, now: then }))
                if steps[at].event == Event::Tick && before.end == at && at != boundary =>
            {
                before.end += 1;
                now += 1;
                *then = now;
            }
            (Part::Step(at), _) if steps[at].event == Event::Tick => {
                now += 1;
                parts.push(Part::Ticks { steps: at..at + 1, now });
            }
            (part, _) => {
                if let Part::Again { steps: again, .. } = &part {
                    let ticks = steps[again.clone()].iter().filter(|s| s.event == Event::Tick);
                    now += ticks.count();
                }
                parts.push(part);
            }
        }
    }
    parts
}

/// The same, before ticks are put together.
fn repeated(steps: &[Step], boundary: usize) -> Vec<Part> {
    if steps.len() <= LONG {
        return (0..steps.len()).map(Part::Step).collect();
    }
    let shapes: Vec<u64> = steps.iter().map(shape).collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let end = if at < boundary { boundary.min(steps.len()) } else { steps.len() };
        let Some((period, times)) = repetition(&shapes[at..end]) else {
            parts.push(Part::Step(at));
            at += 1;
            continue;
        };
        let (first, last) = (at + period, at + period * (times - 1));
        parts.extend((at..first).map(Part::Step));
        parts.push(Part::Again { steps: first..last, period, times: times - 2 });
        parts.extend((last..last + period).map(Part::Step));
        at = last + period;
    }
    parts
}

/// The part with which `shapes` begins again and again: its length, and how often it occurs.
fn repetition(shapes: &[u64]) -> Option<(usize, usize)> {
    (1..=LONGEST_PART.min(shapes.len() / OFTEN)).find_map(|period| {
        let same = shapes.iter().zip(&shapes[period..]).take_while(|(a, b)| a == b).count();
        let times = 1 + same / period;
        (times >= OFTEN).then_some((period, times))
    })
}

/// What a step does, without the numbers of step and messages.
fn shape(step: &Step) -> u64 {
    fn flight(flight: &Flight, hasher: &mut FxHasher) {
        (flight.from, flight.to, label_of(&flight.message)).hash(hasher);
    }
    let mut hasher = FxHasher::default();
    step.node.hash(&mut hasher);
    std::mem::discriminant(&step.event).hash(&mut hasher);
    match &step.event {
        Event::Deliver(f) | Event::Lose(f) | Event::Duplicate(f) => flight(f, &mut hasher),
        Event::Expire { timer, early } => (timer.to_string(), early).hash(&mut hasher),
        Event::Choose { outcome } => outcome.to_string().hash(&mut hasher),
        Event::Cut { link, one_way } | Event::Heal { link, one_way } => {
            (link, one_way).hash(&mut hasher);
        }
        Event::Jump { by } => by.hash(&mut hasher),
        Event::Crash | Event::Recover | Event::Pause | Event::Resume | Event::Tick => {}
    }
    step.sent.iter().for_each(|sent| flight(&sent.flight, &mut hasher));
    for (id, after) in &step.changed {
        (id, words::status(*id, after), &after.timers).hash(&mut hasher);
    }
    hasher.finish()
}

/// What is drawn of `trace`, and what is said of the processes that are not. Up to [`MAX_SEARCHED`]
/// processes are all drawn. Of more, those are to which something happens, and who leads at the
/// beginning.
pub(super) fn drawn(trace: &Trace) -> (Cow<'_, Trace>, Option<String>) {
    let first = trace.header.initial.iter();
    let leads = first.filter(|&(&id, lifeline)| words::leads(id, lifeline));
    let mut acts: BTreeSet<u8> = leads.map(|(&id, _)| id).collect();
    trace.steps.iter().for_each(|step| concerned(step, &mut acts));
    let idle: Vec<u8> =
        trace.header.initial.keys().copied().filter(|id| !acts.contains(id)).collect();
    if trace.header.initial.len() <= MAX_SEARCHED || acts.is_empty() || idle.is_empty() {
        return (Cow::Borrowed(trace), None);
    }
    let mut less = trace.clone();
    less.header.initial.retain(|id, _| acts.contains(id));
    let stays = |sent: &Sent| acts.contains(&sent.flight.to.number());
    let acted = |sent: &Sent| acts.contains(&sent.flight.from.number());
    less.header.in_flight.retain(|sent| stays(sent) && acted(sent));
    less.steps.iter_mut().for_each(|step| step.sent.retain(stays));
    let (are, them) = if idle.len() == 1 { ("is", "it") } else { ("are", "them") };
    let told = format!(
        "Nothing happens to {}, which {are} not drawn, and neither is what is sent to {them}.",
        Names::of_trace(trace).list(&idle)
    );
    (Cow::Owned(less), Some(told))
}

/// The processes to which something happens in a step.
fn concerned(step: &Step, acts: &mut BTreeSet<u8>) {
    acts.extend(step.node.map(Id::number));
    acts.extend(step.changed.keys());
    match &step.event {
        Event::Deliver(flight) | Event::Lose(flight) | Event::Duplicate(flight) => {
            let Flight { from, to, .. } = flight;
            acts.extend([from.number(), to.number()]);
        }
        Event::Cut { link, .. } | Event::Heal { link, .. } => acts.extend(link.map(Id::number)),
        Event::Expire { .. }
        | Event::Choose { .. }
        | Event::Crash
        | Event::Recover
        | Event::Pause
        | Event::Resume
        | Event::Jump { .. }
        | Event::Tick => {}
    }
}
