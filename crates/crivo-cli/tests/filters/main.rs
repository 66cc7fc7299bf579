//! The commands about filter files, on the real binary.

mod bad_input;
mod build;
mod change;
mod support;
mod tell;
