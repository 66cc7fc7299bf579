//! Set exchange: the cost of reconciling two sets, and of joining two tables.

mod join;
mod sessions;
mod symbols;

use crivo_core::Random;
use crivo_exchange::{ExchangeError, ExchangeKey};

use super::Experiment;
use crate::StudyError;
use crate::context::Context;
use crate::data::Dataset;
use crate::section::{Section, Source};

/// Reconciliation and joins, with and without filters.
#[derive(Debug)]
pub(super) struct Exchange;

impl Experiment for Exchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn run(&self, context: &Context<'_>, data: &mut Dataset) -> Result<(), StudyError> {
        symbols::run(context, data)?;
        sessions::run(context, data)?;
        join::run(context, data)
    }

    fn present(&self, data: &Dataset) -> Result<Section, StudyError> {
        let sessions = data.rows("sessions")?;
        Ok(Section {
            title: "Exchange between peers",
            introduction:
                "Two peers have nearly the same set and want to make them equal. Sending a \
                whole set is wasteful. A filter of it finds most of the difference, at some bits \
                per element of the set; coded symbols find all of it, at some bytes per element of \
                the difference. With the same filters, a join need not send most of the rows \
                without a match."
                    .to_string(),
            sources: &[
                Source::Silva2022,
                Source::YangGiladAlizadeh2024,
                Source::Eppstein2011,
                Source::MackertLohman1986,
            ],
            figures: vec![
                symbols::figure(&data.rows("symbols")?),
                sessions::cost_figure(&sessions),
                sessions::choice_figure(&sessions),
                join::figure(&data.rows("joins")?),
            ],
        })
    }
}

fn fresh_key(random: &mut Random) -> ExchangeKey {
    let halves = [random.number(), random.number()].map(u64::to_le_bytes);
    ExchangeKey::agreed([halves[0], halves[1]].concat().try_into().unwrap_or_default(), [0; 16])
}

fn failed(error: ExchangeError) -> StudyError {
    StudyError::wrong(format_args!("an exchange failed: {error}"))
}
