//! The two sides of a join.

use std::collections::{HashSet, VecDeque};

use super::message::{JoinMessage, MAX_SAMPLES};
use super::{JoinPlan, JoinSituation, KeyFilter};
use crate::items::{ItemReader, ItemWriter};
use crate::wire::check_limit;
use crate::{Action, ExchangeError};
use crivo::{Digest, Key, KeyHasher};

/// The number of bytes of a filter in one message.
const PIECE: usize = 1 << 16;
/// The sample takes at most this fraction of what it may save.
const SAMPLE_SHARE: u64 = 50;

/// What a join has cost, beside the cost of the alternatives. Rows and keys are counted with their
/// lengths, as they are sent.
///
/// ```
/// use crivo_exchange::join::Asker;
///
/// let report = Asker::new(7).report();
/// assert_eq!((report.rows, report.bytes), (0, 0)); // nothing was sent yet
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinReport {
    /// The rows of the side that answers.
    pub rows: u64,
    /// The number of rows sent.
    pub rows_sent: u64,
    /// The number of those with a partner; the others were false positives of the filter.
    pub rows_matched: u64,
    /// The bytes of all messages, in both directions.
    pub bytes: u64,
    /// The bytes of the filter; 0 if it would not have paid.
    pub filter_bytes: u64,
    /// The bytes that sending all rows would have taken.
    pub everything_bytes: u64,
    /// The bytes that an exact semi-join would have taken: all keys one way, matching rows the other.
    pub semi_join_bytes: u64,
}

/// The side that has keys, and asks for the rows that go with them.
///
/// It keeps 8 bytes for each different key. See [the module](super) for what it does, and
/// [`Answerer`] for both sides at work.
///
/// ```
/// use crivo_exchange::Action;
/// use crivo_exchange::join::Asker;
///
/// let mut asker = Asker::new(7);
/// asker.insert(b"ana");
/// assert_eq!(asker.action(), Action::Receive); // the other side begins
/// ```
#[derive(Debug)]
pub struct Asker {
    hasher: KeyHasher,
    keys: HashSet<Digest>,
    key_bytes: u64,
    state: Asking,
    outbox: VecDeque<Vec<u8>>,
    reader: ItemReader,
    plan: Option<JoinPlan>,
    report: JoinReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    Survey,
    Rows,
    Finished,
    Failed,
}

impl Asker {
    /// The side with no keys yet. Both sides must have the same seed; choose it at random if someone
    /// else chooses the keys.
    ///
    /// ```
    /// use crivo_exchange::join::Asker;
    ///
    /// assert_eq!(Asker::new(7).plan(), None);
    /// ```
    pub fn new(seed: u64) -> Self {
        Self {
            hasher: KeyHasher::xxh3(seed),
            keys: HashSet::new(),
            key_bytes: 0,
            state: Asking::Survey,
            outbox: VecDeque::new(),
            reader: ItemReader::default(),
            plan: None,
            report: JoinReport::default(),
        }
    }

    /// Inserts a key. All of them must be there before the first [`action`](Self::action).
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::{Answerer, Asker};
    ///
    /// let (mut asker, mut answerer) = (Asker::new(7), Answerer::new(7));
    /// asker.insert(b"ana");
    /// asker.insert(b"ana");
    /// answerer.survey(b"ana", 10);
    /// let Action::Send(survey) = answerer.action() else { unreachable!("it begins") };
    /// asker.receive(&survey, |_| false)?;
    /// // An exact semi-join would send the key once, and its length.
    /// assert!(asker.report().semi_join_bytes <= 4 + 11);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn insert(&mut self, key: &[u8]) {
        if self.keys.insert(self.hasher.digest(key)) {
            self.key_bytes += ItemWriter::length_of(key.len());
        }
    }

    /// What to do next; never [`Action::Provide`].
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::Asker;
    ///
    /// assert_eq!(Asker::new(7).action(), Action::Receive);
    /// ```
    pub fn action(&mut self) -> Action {
        match self.outbox.pop_front() {
            Some(message) => {
                self.report.bytes += message.len() as u64;
                Action::Send(message)
            }
            None if self.state == Asking::Finished => Action::Finished,
            None => Action::Receive,
        }
    }

    /// Processes a message of the other side. Each row goes to `on_row`, which returns whether it has a
    /// partner: only the caller can compare keys by their bytes instead of their digests.
    ///
    /// ```
    /// use crivo_exchange::join::Asker;
    ///
    /// assert!(Asker::new(7).receive(b"no message", |_| true).is_err());
    /// ```
    ///
    /// # Errors
    /// If the message is not what the other side would send now. The join has then failed.
    pub fn receive(
        &mut self,
        message: &[u8],
        on_row: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), ExchangeError> {
        self.report.bytes += message.len() as u64;
        let result = self.process(message, on_row);
        if result.is_err() {
            self.state = Asking::Failed;
        }
        result
    }

    fn process(
        &mut self,
        message: &[u8],
        mut on_row: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), ExchangeError> {
        match (self.state, JoinMessage::from_bytes(message)?) {
            (Asking::Survey, JoinMessage::Survey { rows, row_bytes, check, sample }) => {
                if check != check_value(self.hasher) {
                    return Err(ExchangeError::SeedMismatch);
                }
                self.report.rows = rows;
                self.report.everything_bytes = row_bytes;
                self.ask(&sample)?;
                self.state = Asking::Rows;
            }
            (Asking::Rows, JoinMessage::Rows { piece }) => {
                let report = &mut self.report;
                self.reader.read(piece, |row| {
                    report.rows_sent += 1;
                    check_limit("number of rows", report.rows_sent, report.rows)?;
                    if on_row(row) {
                        report.rows_matched += 1;
                        report.semi_join_bytes += ItemWriter::length_of(row.len());
                    }
                    Ok(())
                })?;
            }
            (Asking::Rows, JoinMessage::End { rows }) => {
                self.reader.finish(rows)?;
                self.report.semi_join_bytes += self.key_bytes;
                self.state = Asking::Finished;
            }
            (Asking::Survey, other) => return Err(other.instead_of("a survey")),
            (Asking::Rows, other) => return Err(other.instead_of("rows")),
            (Asking::Finished, other) => return Err(other.instead_of("nothing")),
            (Asking::Failed, _) => return Err(ExchangeError::Failed),
        }
        Ok(())
    }

    /// Sends the filter, or asks for everything.
    fn ask(&mut self, sample: &[u64]) -> Result<(), ExchangeError> {
        let hits =
            sample.iter().filter(|&&digest| self.keys.contains(&Digest::new(digest))).count();
        let situation = JoinSituation {
            keys: self.keys.len() as u64,
            rows: self.report.rows,
            row_bytes: self.report.everything_bytes,
            // One more of each kind: a sample without a match does not prove that there is none.
            matching: (hits + 1) as f64 / (sample.len() + 2) as f64,
        };
        let plan = situation.plan();
        self.plan = Some(plan);
        let Some(fpr) = plan.fpr.filter(|_| !sample.is_empty()) else {
            self.outbox.push_back(JoinMessage::All.to_bytes());
            return Ok(());
        };
        let mut filter = KeyFilter::new(situation.keys.max(1), fpr, self.hasher)?;
        for &key in &self.keys {
            filter.insert_digest(key);
        }
        let bytes = filter.to_bytes();
        self.report.filter_bytes = bytes.len() as u64;
        let last = bytes.len().div_ceil(PIECE) - 1;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            let message = JoinMessage::Filter { piece, is_last: number == last };
            self.outbox.push_back(message.to_bytes());
        }
        Ok(())
    }

    /// The plan, once the survey was received.
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::{Answerer, Asker};
    ///
    /// let (mut asker, mut answerer) = (Asker::new(7), Answerer::new(7));
    /// asker.insert(b"ana");
    /// answerer.survey(b"ana", 10);
    /// let Action::Send(survey) = answerer.action() else { unreachable!("it begins") };
    /// asker.receive(&survey, |_| false)?;
    /// // For one row of ten bytes no filter pays.
    /// assert_eq!(asker.plan().map(|plan| plan.fpr), Some(None));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn plan(&self) -> Option<JoinPlan> {
        self.plan
    }

    /// The cost; complete once the join is finished.
    ///
    /// ```
    /// use crivo_exchange::join::Asker;
    ///
    /// let mut asker = Asker::new(7);
    /// asker.insert(b"ana");
    /// assert_eq!(asker.report().filter_bytes, 0);
    /// ```
    pub fn report(&self) -> JoinReport {
        self.report
    }
}

/// The side that has rows, and sends those that may have a partner.
///
/// ```
/// use crivo_exchange::Action;
/// use crivo_exchange::join::{Answerer, Asker};
///
/// let mut asker = Asker::new(7);
/// asker.insert(b"ana");
/// let rows: Vec<String> = (0..2_000).map(|i| format!("customer-{i} has a long address")).collect();
/// let rows = rows.iter().map(String::as_str).chain(["ana lives in Lisboa"]);
/// let key = |row: &str| row.split(' ').next().unwrap_or_default().as_bytes().to_vec();
///
/// // B looks at all rows once, for the survey, and a second time to answer.
/// let mut answerer = Answerer::new(7);
/// rows.clone().for_each(|row| answerer.survey(&key(row), row.len()));
/// let mut joined = Vec::new();
/// loop {
///     match answerer.action() {
///         Action::Send(message) => asker.receive(&message, |row| {
///             let has_partner = row.starts_with(b"ana ");
///             joined.extend(has_partner.then(|| row.to_vec()));
///             has_partner
///         })?,
///         Action::Receive => match asker.action() {
///             Action::Send(message) => answerer.receive(&message)?,
///             other => panic!("both wait: {other:?}"),
///         },
///         Action::Provide => {
///             rows.clone().for_each(|row| answerer.provide(&key(row), row.as_bytes()));
///             answerer.provided();
///         }
///         Action::Finished => break,
///     }
/// }
/// assert_eq!(joined, [b"ana lives in Lisboa"]);
/// assert!(asker.report().bytes < asker.report().everything_bytes / 10);
/// # Ok::<(), crivo_exchange::ExchangeError>(())
/// ```
#[derive(Debug)]
pub struct Answerer {
    hasher: KeyHasher,
    rows: u64,
    row_bytes: u64,
    sample: Vec<u64>,
    /// What the next random number follows from.
    random: Digest,
    state: Answering,
    outbox: VecDeque<Vec<u8>>,
    writer: ItemWriter,
}

#[derive(Debug)]
enum Answering {
    Surveying,
    AwaitsFilter(Vec<u8>),
    Provides(Option<KeyFilter>),
    Finished,
    Failed,
}

impl Answerer {
    /// The side with no rows yet, and the seed of the [`Asker`].
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::Answerer;
    ///
    /// assert!(matches!(Answerer::new(7).action(), Action::Send(_))); // the survey
    /// ```
    pub fn new(seed: u64) -> Self {
        Self {
            hasher: KeyHasher::xxh3(seed),
            rows: 0,
            row_bytes: 0,
            sample: Vec::new(),
            random: Digest::new(seed).remix(),
            state: Answering::Surveying,
            outbox: VecDeque::new(),
            writer: ItemWriter::default(),
        }
    }

    /// Counts a row with this key and length. All of them must be counted before the first
    /// [`action`](Self::action).
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::Answerer;
    ///
    /// let mut answerer = Answerer::new(7);
    /// for number in 0..1_000u32 {
    ///     answerer.survey(&number.to_le_bytes(), 100);
    /// }
    /// let Action::Send(survey) = answerer.action() else { unreachable!("it begins") };
    /// assert!(survey.len() < 2_100); // at most a fiftieth of the rows
    /// ```
    pub fn survey(&mut self, key: &[u8], row_length: usize) {
        self.rows += 1;
        self.row_bytes += ItemWriter::length_of(row_length);
        // Each row is in the sample with the same probability: Vitter's reservoir.
        let digest = self.hasher.digest(key).get();
        if self.sample.len() < MAX_SAMPLES {
            self.sample.push(digest);
            return;
        }
        self.random = self.random.remix();
        let place = crivo::hash::reduce(self.random.get(), self.rows) as usize;
        if let Some(sampled) = self.sample.get_mut(place) {
            *sampled = digest;
        }
    }

    /// What to do next. At [`Action::Provide`] give all rows to [`provide`](Self::provide).
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::Answerer;
    ///
    /// let mut answerer = Answerer::new(7);
    /// assert!(matches!(answerer.action(), Action::Send(_)));
    /// assert_eq!(answerer.action(), Action::Receive);
    /// ```
    pub fn action(&mut self) -> Action {
        if let Answering::Surveying = self.state {
            self.sample.truncate((self.row_bytes / (8 * SAMPLE_SHARE)) as usize);
            let sample = std::mem::take(&mut self.sample);
            let (rows, row_bytes) = (self.rows, self.row_bytes);
            let check = check_value(self.hasher);
            self.outbox
                .push_back(JoinMessage::Survey { rows, row_bytes, check, sample }.to_bytes());
            self.state = Answering::AwaitsFilter(Vec::new());
        }
        match (self.outbox.pop_front(), &self.state) {
            (Some(message), _) => Action::Send(message),
            (None, Answering::Provides(_)) => Action::Provide,
            (None, Answering::Finished) => Action::Finished,
            (None, _) => Action::Receive,
        }
    }

    /// A message that is ready to be sent while rows are provided.
    ///
    /// ```
    /// use crivo_exchange::join::Answerer;
    ///
    /// let mut answerer = Answerer::new(7);
    /// answerer.survey(b"ana", 10);
    /// assert_eq!(answerer.ready(), None); // no rows were asked for yet
    /// ```
    pub fn ready(&mut self) -> Option<Vec<u8>> {
        self.outbox.pop_front()
    }

    /// Processes a message of the side that asks.
    ///
    /// ```
    /// use crivo_exchange::join::Answerer;
    ///
    /// assert!(Answerer::new(7).receive(b"no message").is_err());
    /// ```
    ///
    /// # Errors
    /// If the message is not what that side would send now, the filter cannot be read, or it was
    /// made with another seed. The join has then failed.
    pub fn receive(&mut self, message: &[u8]) -> Result<(), ExchangeError> {
        let result = self.process(message);
        if result.is_err() {
            self.state = Answering::Failed;
        }
        result
    }

    fn process(&mut self, message: &[u8]) -> Result<(), ExchangeError> {
        // A filter that is longer than all rows would be no help.
        let limit = self.row_bytes.max(1 << 12);
        match (&mut self.state, JoinMessage::from_bytes(message)?) {
            (Answering::AwaitsFilter(bytes), JoinMessage::All) if bytes.is_empty() => {
                self.state = Answering::Provides(None);
                Ok(())
            }
            (Answering::AwaitsFilter(bytes), JoinMessage::Filter { piece, is_last }) => {
                check_limit("filter length", (bytes.len() + piece.len()) as u64, limit)?;
                bytes.extend_from_slice(piece);
                if is_last {
                    let filter = KeyFilter::from_bytes(bytes)?;
                    if filter.hasher() != self.hasher {
                        return Err(ExchangeError::SeedMismatch);
                    }
                    self.state = Answering::Provides(Some(filter));
                }
                Ok(())
            }
            (Answering::AwaitsFilter(_), other) => {
                Err(other.instead_of("a filter or a request for all rows"))
            }
            (Answering::Failed, _) => Err(ExchangeError::Failed),
            (_, other) => Err(other.instead_of("nothing")),
        }
    }

    /// Sends a row if its key may have a partner.
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::{Answerer, Asker};
    ///
    /// let (mut asker, mut answerer) = (Asker::new(7), Answerer::new(7));
    /// asker.insert(b"ana");
    /// answerer.survey(b"ana", 10);
    /// # let Action::Send(survey) = answerer.action() else { unreachable!("it begins") };
    /// # asker.receive(&survey, |_| false)?;
    /// # let Action::Send(request) = asker.action() else { unreachable!("it asks") };
    /// # answerer.receive(&request)?;
    /// // After the survey and its answer:
    /// assert_eq!(answerer.action(), Action::Provide);
    /// answerer.provide("ana", b"ana Lisboa");
    /// answerer.provided();
    /// let Action::Send(rows) = answerer.action() else { unreachable!("there is a row") };
    /// asker.receive(&rows, |row| row == b"ana Lisboa")?;
    /// assert_eq!(asker.report().rows_matched, 1);
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn provide<K: Key + ?Sized>(&mut self, key: &K, row: &[u8]) {
        if let Answering::Provides(filter) = &self.state
            && filter.as_ref().is_none_or(|filter| filter.may_contain(key))
        {
            let message = |piece: &[u8]| JoinMessage::Rows { piece }.to_bytes();
            self.writer.write(row, message, &mut self.outbox);
        }
    }

    /// Ends the rows.
    ///
    /// ```
    /// use crivo_exchange::Action;
    /// use crivo_exchange::join::{Answerer, Asker};
    ///
    /// let (mut asker, mut answerer) = (Asker::new(7), Answerer::new(7));
    /// # let Action::Send(survey) = answerer.action() else { unreachable!("it begins") };
    /// # asker.receive(&survey, |_| false)?;
    /// # let Action::Send(request) = asker.action() else { unreachable!("it asks") };
    /// # answerer.receive(&request)?;
    /// // After the survey and its answer, with no rows at all:
    /// assert_eq!(answerer.action(), Action::Provide);
    /// answerer.provided();
    /// let Action::Send(end) = answerer.action() else { unreachable!("the end is a message") };
    /// asker.receive(&end, |_| false)?;
    /// assert_eq!((asker.action(), answerer.action()), (Action::Finished, Action::Finished));
    /// # Ok::<(), crivo_exchange::ExchangeError>(())
    /// ```
    pub fn provided(&mut self) {
        if let Answering::Provides(_) = self.state {
            let message = |piece: &[u8]| JoinMessage::Rows { piece }.to_bytes();
            let rows = self.writer.finish(message, &mut self.outbox);
            self.outbox.push_back(JoinMessage::End { rows }.to_bytes());
            self.state = Answering::Finished;
        }
    }
}

/// A value that both sides compare, to check that they have the same seed.
fn check_value(hasher: KeyHasher) -> u64 {
    hasher.digest("crivo join").get()
}
