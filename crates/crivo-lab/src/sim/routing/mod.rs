//! Simulated networks: requests through trees, and packets to moving devices.

pub mod area;
pub mod mobility;
pub mod tree;
