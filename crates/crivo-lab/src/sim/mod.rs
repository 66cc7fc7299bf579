//! Simulators and models that only the study uses: caches, networks, moving devices, random sets.

pub mod admission;
pub mod routing;
pub mod similarity;
