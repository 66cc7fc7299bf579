//! The record in the store that says who may write.

use crate::{Owner, Session};

/// Who may write: `GENERATION OWNER STATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) session: Session,
    pub(super) state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// One owner writes.
    Open,
    /// That owner has closed the store.
    Closed,
    /// Several writers announce what they write. The owner's number is that of their stream.
    Shared,
}

/// The highest generation. Scripts on the server count in floating-point numbers.
pub(super) const MAX_GENERATION: u64 = 1 << 53;

impl Record {
    pub(super) fn new(session: Session, state: State) -> Self {
        Self { session, state }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (generation, rest) = text.split_once(' ')?;
        let (owner, state) = rest.split_once(' ')?;
        let owner = Owner(u128::from_str_radix(owner, 16).ok()?);
        let state = match state {
            "open" => State::Open,
            "closed" => State::Closed,
            "shared" => State::Shared,
            _ => return None,
        };
        let generation = generation.parse().ok().filter(|it| *it <= MAX_GENERATION)?;
        Some(Self::new(Session { generation, owner }, state))
    }

    /// The generation after the one of this record, if there is one, and after `at_least`.
    pub(super) fn next_generation(last: Option<Self>, at_least: u64) -> Option<u64> {
        let last = last.map_or(0, |last| last.session.generation).max(at_least);
        (last < MAX_GENERATION).then(|| last + 1)
    }
}

impl std::fmt::Display for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Open => "open",
            State::Closed => "closed",
            State::Shared => "shared",
        };
        write!(f, "{} {} {state}", self.session.generation, self.session.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_are_written() {
        let session = Session { generation: 7, owner: Owner(0xabc) };
        assert_eq!(Record::new(session, State::Open).to_string(), format!("7 {:032x} open", 0xabc));
        for state in [State::Open, State::Closed, State::Shared] {
            let record = Record::new(session, state);
            assert_eq!(Record::parse(&record.to_string()), Some(record));
        }
        let highest = Record::parse("9007199254740992 abc open");
        assert!(highest.is_some());
        assert_eq!(Record::next_generation(highest, 0), None);
        assert_eq!(Record::next_generation(None, u64::MAX), None);
        assert_eq!(Record::next_generation(None, 0), Some(1));
        let too_high = "18446744073709551615 abc open";
        for damaged in ["", "7", "7 abc", "x abc open", "7 abc half", "7 xyz open", too_high] {
            assert_eq!(Record::parse(damaged), None, "{damaged}");
        }
    }
}
