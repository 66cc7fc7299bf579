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
import json
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
        descriptors = list(os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return 0  # It has ended.
    for descriptor in descriptors:
        try:
            status = os.stat(descriptor.path)
        except OSError:
            continue  # It has closed this file.
        if status.st_nlink == 0:
            taken += 512 * status.st_blocks
    return taken


def check(is_right, message):
    if not is_right:
        raise SystemExit(message)


def run(first, last, command, allowed=(0,)):
    """Runs a command with the numbers as lines: its output, seconds, its resources, its disk space."""
    start = time.monotonic()
    command = list(map(str, command))
    lines = subprocess.Popen(["seq", str(first), str(last)], stdout=subprocess.PIPE)
    process = subprocess.Popen(command, stdin=lines.stdout, stdout=subprocess.PIPE, text=True)
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
    code = os.waitstatus_to_exitcode(status)
    check(code in allowed, f"`{' '.join(command)}` failed: exit status {code}")
    code = lines.wait()
    check(code == 0, f"`{' '.join(lines.args)}` failed: exit status {code}, so that lines are missing")
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
                 "--memory", arguments.memory, "--json", "-o", path]
        summary, seconds, used, disk = run(1, n, build)
        summary = json.loads(summary)
        lines, distinct = summary["keys"], summary["distinct_keys"]
        # Of a billion lines two share a digest of 64 bits with a probability of 3%.
        check(lines == n and n - 3 <= distinct <= n,
              f"{n:,} different lines were written; {lines:,} were read, {distinct:,} of them different")
        size = path.stat().st_size
        processor = used.ru_utime + used.ru_stime
        print(f"{n:,} lines in {seconds:.1f} s: {n / seconds / 1e6:.2f} million per second, "
              f"{processor:.1f} s of processor time ({processor / n * 1e9:.0f} ns per line)")
        print(f"{used.ru_maxrss / 1024**2:.2f} GiB resident at most, {disk / 1e9:.2f} GB in temporary files at most, "
              f"{size / 1e9:.3f} GB ({8 * size / n:.2f} bits per line) in the filter")
        query = [arguments.crivo, "query", "-c", path]
        found, seconds, *_ = run(1, n, query)
        print(f"{int(found):,} of {n:,} lines found, in {seconds:.1f} s")
        check(int(found) == n, "lines that are in the filter were not found")
        others = min(n // 10, 10_000_000)
        # 1 if none of them is found.
        found, *_ = run(n + 1, n + others, query, allowed=(0, 1))
        print(f"{int(found):,} of {others:,} others found: {int(found) / others:.3%}")


if __name__ == "__main__":
    main()
