//! Caches with and without admission: policies, traces of requests, theory, and a comparison.
//!
//! The reusable parts, [`SecondRequest`](crivo_sketch::admission::SecondRequest) and
//! [`AgeingSketch`](crivo_sketch::admission::AgeingSketch), are in `crivo-sketch`.
//!
//! # References
//! - J. Yang et al., *FIFO queues are all you need for cache eviction*, SOSP 2023: S3-FIFO.
//! - M. Garetto, E. Leonardi, V. Martina, *A unified approach to the performance analysis of caching
//!   systems*, ToMPECS 2016: the formulas of [`theory`].

pub mod comparison;
pub mod policies;
pub mod theory;
pub mod trace;
