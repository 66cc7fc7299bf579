#!/usr/bin/env python3
"""A fuse filter of very many lines: how long it takes to build, in how much memory and disk space.

    cargo build --release
    bench/billion.py                            a billion lines: a few minutes, 8 GB of disk (TMPDIR)
    bench/billion.py --lines 10_000_000         a few seconds

The lines are 1, 2, 3, … from `seq`, through a pipe. The time is that of both programs together; processor
time, the most resident memory and the most disk space (of temporary files, and then of the filter) are those of
crivo. Afterwards all lines are asked for, and as many others as are a tenth of them, at most ten million.
"""

import argparse
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def temporary_bytes(pid):
    """What the files without a name that a process has open take on disk."""
    taken = 0
    try:
        for fd in os.scandir(f"/proc/{pid}/fd"):
            status = os.stat(fd.path)
            if status.st_nlink == 0:
                taken += 512 * status.st_blocks
    except OSError:
        pass  # It has ended, or has closed the file.
    return taken


def run(first, last, command):
    """Runs a command with the numbers as lines: its output, seconds, its resources, its disk space."""
    start = time.monotonic()
    lines = subprocess.Popen(["seq", str(first), str(last)], stdout=subprocess.PIPE)
    process = subprocess.Popen(list(map(str, command)), stdin=lines.stdout, stdout=subprocess.PIPE, text=True)
    lines.stdout.close()
    most, has_ended = [0], threading.Event()

    def watch():
        while not has_ended.wait(0.1):
            most[0] = max(most[0], temporary_bytes(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output = process.stdout.read()
    _, status, resources = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    has_ended.set()
    watcher.join()
    lines.wait()
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, command))} failed")
    return output, seconds, resources, most[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=lambda text: int(text.replace("_", "")), default=10**9)
    parser.add_argument("--fpr", default="0.01")
    parser.add_argument("--memory", default="1GB", help="as crivo's --memory")
    parser.add_argument("--crivo", type=Path, default=ROOT / "target/release/crivo")
    arguments = parser.parse_args()
    n = arguments.lines
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "lines.crivo"
        build = [arguments.crivo, "build", "--kind", "fuse", "--fpr", arguments.fpr,
                 "--memory", arguments.memory, "-o", path]
        _, seconds, used, disk = run(1, n, build)
        size = path.stat().st_size
        processor = used.ru_utime + used.ru_stime
        print(f"{n:,} lines in {seconds:.1f} s: {n / seconds / 1e6:.2f} million per second, "
              f"{processor:.1f} s of processor time ({processor / n * 1e9:.0f} ns per line)")
        print(f"{used.ru_maxrss / 1024**2:.2f} GiB resident at most, {disk / 1e9:.2f} GB in temporary files at most, "
              f"{size / 1e9:.3f} GB ({8 * size / n:.2f} bits per line) in the filter")
        query = [arguments.crivo, "query", "-c", path]
        found, seconds, *_ = run(1, n, query)
        print(f"{int(found):,} of {n:,} lines found, in {seconds:.1f} s")
        others = min(n // 10, 10_000_000)
        found, *_ = run(n + 1, n + others, query)
        print(f"{int(found):,} of {others:,} others found: {int(found) / others:.3%}")


if __name__ == "__main__":
    main()
