//! Bloom join: a filter of the keys travels instead of the rows.
//!
//! Node A has rows with keys, node B has rows with keys, and A wants the rows of B that have a
//! partner at A. To send all rows of B is wasteful if few have one; to send all keys of A is the
//! *exact semi-join*, wasteful if there are many. A filter of A's keys takes a few bits for each:
//!
//! ```text
//!   A: orders of              B: customers
//!      ana, rui               ana Lisboa     rui Porto     eva Faro     ivo Braga
//!
//!             ←── survey: 4 rows, 43 bytes, keys of a few rows ───
//!             ─── filter of {ana, rui}, about 10 bits a key ─────→
//!             ←── ana Lisboa, rui Porto, ivo Braga (!) ───────────
//!      A drops ivo Braga: there is no such order.
//! ```
//!
//! With the filter, B sends its matching rows and a fraction ε of the others. The result is exact: A
//! joins what it receives with its own rows, and rows without a partner drop out.
//!
//! # When it pays
//!
//! ```text
//!   n keys at A, B's rows take S bytes, a fraction σ of them matches
//!
//!   everything     S
//!   Bloom join     1.44·n·log2(1/ε)/8  +  σ·S + (1−σ)·ε·S          best at ε = 0.26·n/((1−σ)·S)
//!   semi-join      the keys of A       +  σ·S
//! ```
//!
//! If most rows match, or A has many keys and B few rows, the filter costs more than it saves. So B
//! begins with a *survey*: how much it has, and the hashed keys of up to 256 random rows. A knows how
//! many of those match, decides ([`JoinSituation::plan`]), and asks for everything if that is
//! cheaper: then no filter is sent.
//!
//! # On other engines
//!
//! [`KeyFilter`] is what a distributed engine needs: [`insert`](KeyFilter::insert) and
//! [`union_with`](KeyFilter::union_with) are an aggregate function with partial states (each a
//! string of bytes), [`may_contain`](KeyFilter::may_contain) a scalar one.
//!
//! # References
//! - L. Mackert, G. Lohman, *R\* optimizer validation and performance evaluation for distributed
//!   queries*, VLDB 1986: the Bloom join, measured.
//! - K. Bratbergsengen, *Hashing methods and relational algebra operations*, VLDB 1984: filters
//!   between the sides of a join.

mod filter;
mod message;
mod plan;
mod session;
#[cfg(test)]
mod tests;

pub use filter::KeyFilter;
pub use plan::{JoinPlan, JoinSituation};
pub use session::{Answerer, Asker, JoinReport};
