//! Against the naive way.
