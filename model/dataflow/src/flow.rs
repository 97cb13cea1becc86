//! The dataflow: one operator, whose output is its input, on every worker.
//!
//! A level is searched in rounds, and a round is a timestamp. In a round, a worker expands states
//! that it owns and sends what follows to the owners. When no more can come of a round, which the
//! frontier says, all workers have all notes, and all do the same: they learn what was not known,
//! lay the words of states out anew if that is due, and begin the next round.

use super::parcel::{Carrier, Note, Parcel};
use super::part::{self, Part, WorkerIndex};
use super::whole::{Next, Reached, Whole};
use bellwether_engine::check::exact::SearchSummary;
use bellwether_engine::check::exact::distributed::{Learner, SavedShare, SavedTables, Saves};
use bellwether_engine::check::{Disk, DiskError, Event, Limits, Reason};
use bellwether_engine::space::Space;
use bellwether_engine::world::packed::Packed;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use timely::container::NoopBuilder;
use timely::dataflow::channels::pact::DistributorPact;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::{ConnectLoop, Feedback};
use timely::worker::Worker;

/// How often a worker expands some states of each shard in one round. All wait for the last at its
/// end, and only there it is seen whether the search is to end.
const TURNS: u32 = 8;

/// What a process says while it searches.
pub(super) enum ProcessEvent {
    Event(Event),
    /// The search has ended; what is left of it, and the bounds that steps have exceeded.
    End(Box<(SearchSummary, u32)>),
    /// The connection to this process is lost.
    Lost(usize),
}

/// What the workers of one process share.
pub(super) struct Shared {
    known: RwLock<SharedSpace>,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    /// What is known at the beginning.
    pub(super) whole: Whole,
    /// What the workers of this process have at the beginning, if the search goes on.
    parts: Mutex<Vec<Option<Box<dyn Part>>>>,
    /// Where it is saved, if it is, and the number of the last save.
    pub(super) saving: Option<(Saving, u64)>,
    /// The number of the first worker of this process, and how many have not ended.
    first: usize,
    searching: AtomicUsize,
    says: Sender<ProcessEvent>,
}

/// What the workers of one process begin with.
pub(super) struct Beginning {
    pub(super) learner: Learner<Packed>,
    pub(super) whole: Whole,
    /// What each of them has, if the search goes on.
    pub(super) parts: Vec<Box<dyn Part>>,
    pub(super) saving: Option<(Saving, u64)>,
    /// The number of the first, and how many there are.
    pub(super) workers: (usize, usize),
}

/// A space, until the search has ended, and how far it has come.
struct SharedSpace {
    learner: Option<Learner<Packed>>,
    /// How many rounds it has learned from.
    rounds: u64,
    /// How often it was laid out anew.
    layouts: u64,
}

impl Shared {
    pub(super) fn new(
        beginning: Beginning,
        limits: Limits,
        started: Instant,
        says: Sender<ProcessEvent>,
    ) -> Self {
        let Beginning { learner, whole, parts, saving, workers } = beginning;
        let known = RwLock::new(SharedSpace { learner: Some(learner), rounds: 0, layouts: 0 });
        let parts = Mutex::new(parts.into_iter().map(Some).collect());
        let (first, searching) = (workers.0, AtomicUsize::new(workers.1));
        Shared { known, limits, started, whole, parts, saving, first, searching, says }
    }

    /// What this worker has at the beginning.
    fn begin(&self, place: WorkerIndex) -> Box<dyn Part> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = parts.get_mut(place.worker - self.first).and_then(Option::take);
        saved.unwrap_or_else(|| part::begin(self.read().space(), place))
    }

    /// The space. No worker needs it any more once it was said that the search has ended.
    pub(super) fn take_space(&self) -> Option<Box<Packed>> {
        self.write().learner.take().map(Learner::into_space)
    }

    fn read(&self) -> RwLockReadGuard<'_, SharedSpace> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, SharedSpace> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedSpace {
    fn space(&self) -> &dyn Space {
        match &self.learner {
            Some(learner) => learner.space(),
            None => unreachable!("the space is taken when the search has ended"),
        }
    }

    /// Learns what follows from the states of which it was not known in this round; the first of
    /// the workers that share it does. If `wide`, or if states outgrow their words by that, the
    /// words are laid out anew.
    fn learn(&mut self, round: u64, notes: &[Note], wide: bool) {
        if self.rounds > round {
            return;
        }
        self.rounds = round + 1;
        let Some(learner) = &mut self.learner else { return };
        let outgrown = learner.learn(notes.iter().map(|note| &note.unlearned[..]));
        if wide || outgrown {
            learner.lay_out(notes.iter().map(|note| note.least).min().unwrap_or(0));
            self.layouts += 1;
        }
    }

    /// Saves what all workers of this process have; whether it is saved.
    fn save(&mut self, saving: &Saving, number: u64, saved: Saved) -> bool {
        let Some(learner) = &mut self.learner else { return false };
        saving.write(number, learner, saved)
    }
}

/// How far the search is, and what this process has of it.
pub(super) type Saved = SavedShare<Reached>;

/// Where the workers of one process save the search.
///
/// All workers of all processes do so at the end of the same round, before they begin the next one.
/// Nothing is on its way then: every state has been taken in by its owner.
pub(super) struct Saving {
    saves: Saves,
    /// How often.
    every: Duration,
    /// What the workers have that are done already.
    parts: Mutex<Vec<Option<SavedTables>>>,
    trouble: Mutex<Option<DiskError>>,
}

impl Saving {
    pub(super) fn new(saves: Saves, disk: &Disk, workers: usize) -> Self {
        let parts = Mutex::new((0..workers).map(|_| None).collect());
        Saving { saves, every: disk.every, parts, trouble: Mutex::default() }
    }

    /// A worker of this process has written down its part; what all have, if it is the last.
    fn add(&self, worker: usize, part: Result<SavedTables, DiskError>) -> Option<Vec<SavedTables>> {
        let part = part.unwrap_or_else(|error| {
            self.fail(error);
            SavedTables::default()
        });
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts[worker] = Some(part);
        parts.iter().all(Option::is_some).then(|| parts.iter_mut().flat_map(Option::take).collect())
    }

    /// All have; whether it is saved.
    fn write(&self, number: u64, learner: &mut Learner<Packed>, saved: Saved) -> bool {
        if !self.has_failed()
            && let Err(error) = learner.save(&self.saves, number, saved)
        {
            self.fail(error);
        }
        !self.has_failed()
    }

    fn fail(&self, error: DiskError) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What went wrong, if something did.
    pub(super) fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(ToString::to_string)
    }

    /// What is done with the files when the search has ended for this reason.
    pub(super) fn end(&self, ended: Option<Reason>) {
        if matches!(ended, None | Some(Reason::FirstViolation)) {
            self.saves.clear();
        }
    }
}

/// Whether a search that ended for this reason can go on.
fn can_go_on(ended: Option<Reason>) -> bool {
    !matches!(ended, None | Some(Reason::FirstViolation | Reason::Disk))
}

/// One worker.
struct Flow {
    place: WorkerIndex,
    shared: Arc<Shared>,
    part: Option<Box<dyn Part>>,
    whole: Whole,
    round: u64,
    layouts: u64,
    /// How often states may still be expanded in this round.
    turns: u32,
    /// Why this process wants the search to end.
    stop: Option<Reason>,
    /// The number of the last save, and when that was.
    saved: (u64, Instant),
    /// What came for this round, and for the next.
    notes: Vec<Note>,
    early: Vec<Parcel>,
}

impl Flow {
    fn new(shared: Arc<Shared>, place: WorkerIndex) -> Self {
        let part = shared.begin(place);
        let whole = shared.whole.clone();
        let last = shared.saving.as_ref().map_or(0, |(_, last)| *last);
        let mut flow = Flow {
            place,
            shared,
            part: Some(part),
            whole,
            round: 0,
            layouts: 0,
            turns: 0,
            stop: None,
            saved: (last, Instant::now()),
            notes: Vec::new(),
            early: Vec::new(),
        };
        flow.begin_round(true);
        flow
    }

    /// Whether this worker speaks for its process.
    fn speaks(&self) -> bool {
        self.place.worker == self.shared.first
    }

    fn say(&self, said: ProcessEvent) {
        if self.speaks() {
            // Without a listener there is nothing to say.
            let _ = self.shared.says.send(said);
        }
    }

    fn arrive(&mut self, parcel: Parcel) {
        if parcel.round > self.round {
            self.early.push(parcel);
        } else if parcel.is_note {
            self.notes.push(Note::of_words(&parcel.words));
        } else if let Some(part) = &mut self.part {
            part.arrive(&parcel.words);
        }
    }

    fn begin_round(&mut self, expand: bool) {
        self.turns = if expand { TURNS } else { 0 };
        if self.speaks() {
            let progress = self.whole.progress(self.shared.started.elapsed());
            self.say(ProcessEvent::Event(Event::Progress(progress)));
            let limits = self.shared.limits;
            let no_room = || (!limits.leaves_room_for(0)).then_some(Reason::Memory);
            let reached = limits.exceeded(&progress).or_else(no_room);
            self.stop = self.stop.or(reached);
        }
        if self.stop.is_some() {
            self.turns = 0;
        }
        for parcel in std::mem::take(&mut self.early) {
            self.arrive(parcel);
        }
    }

    /// Expands some states of the level; whether there is more to do in this round.
    fn expand(&mut self, send: &mut dyn FnMut(Parcel)) -> bool {
        let (round, known) = (self.round, self.shared.read());
        let Some(part) = &mut self.part else { return false };
        if let Some(turns) = self.turns.checked_sub(1) {
            self.turns = turns;
            let more = part.expand(known.space(), &mut |to, words| {
                send(Parcel { to, round, is_note: false, words });
            });
            if more && turns > 0 {
                return true;
            }
        }
        let mut note = part.note(known.space());
        note.stop = self.stop;
        note.save = self.save_is_due();
        for to in 0..self.place.workers {
            send(Parcel { to, round, is_note: true, words: note.to_words() });
        }
        false
    }

    /// All that was sent in this round has come; whether there is another.
    fn end_round(&mut self) -> bool {
        let mut notes = std::mem::take(&mut self.notes);
        notes.sort_unstable_by_key(|note| note.from);
        let mut told = Vec::new();
        let next = self.whole.add(&notes, &mut |event| told.push(event));
        told.into_iter().for_each(|event| self.say(ProcessEvent::Event(event)));
        let Some(part) = &mut self.part else { return false };
        part.settle();
        if next == Next::End {
            if can_go_on(self.whole.ending()) {
                self.save();
            }
            self.end();
            return false;
        }
        if matches!(next, Next::Level | Next::Count { level: true }) {
            part.begin_level();
        }
        self.learn(&notes, next == Next::Level && notes.iter().all(|note| note.wide));
        self.round += 1;
        if matches!(next, Next::Level | Next::Expand) && notes.iter().any(|note| note.save) {
            self.save();
        }
        self.begin_round(matches!(next, Next::Level | Next::Expand));
        true
    }

    /// Whether this process wants the search to be saved.
    fn save_is_due(&self) -> bool {
        let every = self.shared.saving.as_ref().map(|(saving, _)| saving.every);
        self.speaks() && every.is_some_and(|every| self.saved.1.elapsed() >= every)
    }

    /// Saves the search, as all workers do now.
    fn save(&mut self) {
        let shared = Arc::clone(&self.shared);
        let (Some((saving, _)), Some(part)) = (&shared.saving, &mut self.part) else { return };
        let number = self.saved.0 + 1;
        let part = part.save(&saving.saves);
        if let Some(parts) = saving.add(self.place.worker - shared.first, part) {
            let saved = Saved { reached: self.whole.reached(), parts };
            if !shared.write().save(saving, number, saved) {
                self.stop = Some(Reason::Disk);
            }
        }
        self.saved = (number, Instant::now());
    }

    /// The search has ended, which the last worker of this process says.
    fn end(&self) {
        if self.shared.searching.fetch_sub(1, Ordering::AcqRel) == 1 {
            let ended = Box::new((self.whole.summary(), self.whole.left_bounds()));
            // Without a listener there is nothing to say.
            let _ = self.shared.says.send(ProcessEvent::End(ended));
        }
    }

    /// What this round has taught is known, and states look as they do from now on.
    fn learn(&mut self, notes: &[Note], wide: bool) {
        if !wide && notes.iter().all(|note| note.unlearned.is_empty()) {
            return;
        }
        self.shared.write().learn(self.round, notes, wide);
        let known = self.shared.read();
        if known.layouts != self.layouts {
            self.layouts = known.layouts;
            let outgrown = self.part.take().map(Part::into_outgrown);
            self.part = outgrown.map(|part| part.recode(known.space(), self.place));
        }
    }
}

/// Builds the dataflow of one worker.
pub(super) fn build(worker: &mut Worker, shared: &Arc<Shared>) {
    let place = WorkerIndex { worker: worker.index(), workers: worker.peers() };
    let mut flow = Flow::new(Arc::clone(shared), place);
    worker.dataflow::<u64, _, _>(|scope| {
        let (handle, cycle) = scope.feedback::<Parcel>(1);
        let pact = DistributorPact(|_| Carrier);
        let found = cycle.unary_frontier::<NoopBuilder<Parcel>, _, _, _>(
            pact,
            "search",
            |capability, info| {
                let activator = scope.activator_for(info.address);
                let mut capability = Some(capability);
                // Whether this worker has done its part of the round.
                let mut done = false;
                move |(input, frontier), output| {
                    input.for_each(|_, parcel| flow.arrive(std::mem::take(parcel)));
                    let Some(held) = &mut capability else { return };
                    if !done {
                        let mut session = output.session_with_builder(held);
                        let send = &mut |mut parcel| session.give_container(&mut parcel);
                        done = !flow.expand(send);
                        drop(session);
                        if done {
                            held.downgrade(&(flow.round + 1));
                        }
                        activator.activate();
                        return;
                    }
                    // What is sent in a round comes in the next timestamp.
                    if frontier.less_equal(&(flow.round + 1)) {
                        return;
                    }
                    done = false;
                    if flow.end_round() {
                        activator.activate();
                    } else {
                        capability = None;
                    }
                }
            },
        );
        found.connect_loop(handle);
    });
}
