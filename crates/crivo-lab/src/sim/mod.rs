//! Simulators and models that only the study uses: caches, networks, moving devices, random sets,
//! wallets.

pub mod admission;
pub mod routing;
pub mod similarity;
pub mod wallet;
