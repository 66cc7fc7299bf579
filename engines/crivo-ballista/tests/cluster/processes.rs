//! A scheduler and executors as processes on loopback.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that ends with its owner.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a program, and returns the address that it listens on; `None` if it ends before.
    fn start(program: &str, arguments: &[&str]) -> Option<(Self, String)> {
        let mut child =
            Command::new(program).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap()).lines();
        let process = Self(child);
        let address = messages.by_ref().map_while(Result::ok).find_map(|line| {
            let Some((_, after)) = line.split_once("listening on ") else {
                eprintln!("{line}");
                return None;
            };
            Some(after.split(',').next()?.to_owned())
        })?;
        // The pipe must not fill up.
        std::thread::spawn(move || messages.map_while(Result::ok).for_each(|it| eprintln!("{it}")));
        Some((process, address))
    }

    /// Asks the process to end, and returns whether it did without an error.
    pub fn terminate(mut self) -> bool {
        let id = self.0.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        asked.success() && self.0.wait().unwrap().success()
    }
}

/// A scheduler and two executors.
pub struct Cluster {
    pub executors: Vec<Process>,
    scheduler: Process,
    pub address: String,
    directory: PathBuf,
}

impl Cluster {
    /// The executors exchange rows through directories in this one.
    pub fn start(directory: &Path) -> Self {
        let mut cluster = Self::without_executors(directory);
        cluster.add_executor();
        cluster.add_executor();
        cluster
    }

    /// A scheduler alone.
    pub fn without_executors(directory: &Path) -> Self {
        Self::start_at("127.0.0.1:0", directory)
    }

    /// A scheduler alone that listens at this address.
    pub fn start_at(address: &str, directory: &Path) -> Self {
        let program = env!("CARGO_BIN_EXE_crivo-scheduler");
        let arguments = ["--listen", address, "--executor-timeout", "30"];
        let (scheduler, address) = Process::start(program, &arguments).unwrap();
        Self { executors: Vec::new(), scheduler, address, directory: directory.to_owned() }
    }

    /// An executor of the scheduler at this address, when the scheduler knows it.
    pub fn executor(scheduler: &str, directory: &Path) -> Process {
        let program = env!("CARGO_BIN_EXE_crivo-executor");
        let rows = tempfile::tempdir_in(directory).unwrap().keep();
        let rows = rows.to_str().unwrap();
        let arguments =
            ["--scheduler", scheduler, "--tasks", "2", "--heartbeat", "1", "--work-dir", rows];
        // Another process can take a port that was free a moment ago.
        (0..5).find_map(|_| Process::start(program, &arguments)).expect("an executor").0
    }

    /// Kills an executor without warning, and starts another one.
    pub fn replace_executor(&mut self, index: usize) {
        self.kill_executor(index);
        self.executors.insert(index, Self::executor(&self.address, &self.directory));
    }

    pub fn add_executor(&mut self) {
        self.executors.push(Self::executor(&self.address, &self.directory));
    }

    pub fn kill_executor(&mut self, index: usize) {
        drop(self.executors.remove(index));
    }

    /// Ends the processes, each as it should be ended.
    pub fn stop(self) {
        assert!(self.executors.into_iter().all(Process::terminate), "an executor");
        assert!(self.scheduler.terminate(), "the scheduler");
    }
}
