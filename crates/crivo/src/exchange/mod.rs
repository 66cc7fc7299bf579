//! Exchange.

mod error;
mod id;
pub mod rateless;
mod wire;

pub use error::ExchangeError;
pub use id::{ExchangeKey, Id, IdSet};
pub use wire::MAX_MESSAGE;
