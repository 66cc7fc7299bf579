//! Caches with and without admission: policies to compare, traces of requests, and theory.
//!
//! What is reusable, [`SecondRequest`](crivo_sketch::admission::SecondRequest) and
//! [`AgeingSketch`](crivo_sketch::admission::AgeingSketch), is in `crivo-sketch`.
//!
//! # References
//! - J. Yang et al., *FIFO queues are all you need for cache eviction*, SOSP 2023: S3-FIFO.
//! - M. Garetto, E. Leonardi, V. Martina, *A unified approach to the performance analysis of caching
//!   systems*, ToMPECS 2016: the formulas of [`theory`].

pub mod policies;
pub mod study;
pub mod theory;
pub mod trace;
