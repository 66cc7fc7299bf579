//! Simulated networks: requests through trees, and letters to moving devices.

pub mod area;
pub mod mobility;
pub mod tree;
