//! Runs a study: `cargo run --release -p crivo-lab --example study -- [--quick|--tiny] [NAME…]`.

use std::path::Path;
use std::time::Instant;

use crivo_lab::{Options, Progress, Scale, Study};

/// Says on stderr what happens.
struct Lines(Instant);

impl Progress for Lines {
    fn started(&self, name: &str, index: usize, total: usize) {
        eprintln!("{:6.1} s  {name} ({} of {total})", self.0.elapsed().as_secs_f64(), index + 1);
    }

    fn skipped(&self, name: &str, file: &Path) {
        eprintln!("{name}: measured already, see {}", file.display());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut names = Vec::new();
    let mut options = Options { seed: 1, ..Options::default() };
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => options.scale = Scale::Quick,
            "--tiny" => options.scale = Scale::Tiny,
            _ => names.push(argument),
        }
    }
    let start = Instant::now();
    let report = Study::new(&names, options)?.run(Path::new("study"), &Lines(start))?;
    eprintln!("{:6.1} s  {}", start.elapsed().as_secs_f64(), report.display());
    Ok(())
}
