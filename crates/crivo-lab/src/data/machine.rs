//! What the measurement ran on.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// The machine, as far as it matters to a reader of times. It has no name in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model, or the architecture where the system does not tell.
    pub processor: String,
    /// How many threads run at once.
    pub threads: usize,
    /// Memory in gibibytes, rounded; 0 where the system does not tell.
    pub memory_gib: u64,
    /// The operating system.
    pub system: String,
}

impl Machine {
    /// The machine that runs this.
    pub fn this() -> Self {
        let architecture = std::env::consts::ARCH;
        let processor = field("/proc/cpuinfo", "model name").unwrap_or(architecture.to_string());
        let memory_kib = field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0);
        Self {
            processor,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: (memory_kib + (1 << 19)) >> 20,
            system: format!("{} {architecture}", std::env::consts::OS),
        }
    }
}

/// The first value of a field in one of Linux' tables.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_string())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, threads, memory_gib, system } = self;
        write!(f, "{processor}, {threads} threads, {memory_gib} GiB, {system}")
    }
}
