//! The commands about filter files.

mod bad_input;
mod build;
mod change;
#[cfg(feature = "formats")]
mod foreign;
mod keys;
#[cfg(feature = "formats")]
mod parquet;
mod pipes;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;
mod support;
mod tell;
#[cfg(unix)]
#[path = "../common/unprivileged.rs"]
mod unprivileged;
