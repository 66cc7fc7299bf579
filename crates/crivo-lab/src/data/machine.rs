//! The machine that measured.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};

/// The properties of the machine that matter for times. Its name is not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model, or the architecture if the model is unknown.
    pub processor: String,
    /// The number of hardware threads.
    pub threads: usize,
    /// Memory in gibibytes, rounded; 0 if unknown.
    pub memory_gib: u64,
    /// The operating system.
    pub system: String,
    /// The release of Linux's kernel, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl Machine {
    /// This machine.
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
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .ok()
                .map(|release| release.trim().to_string()),
        }
    }
}

/// The first value of a field in a file of Linux's `/proc`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_string())
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, threads, memory_gib, system, kernel } = self;
        write!(f, "{processor}, {threads} threads, {memory_gib} GiB, {system}")?;
        kernel.as_ref().map_or(Ok(()), |kernel| write!(f, ", kernel {kernel}"))
    }
}
