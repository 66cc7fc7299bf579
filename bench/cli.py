#!/usr/bin/env python3
"""The command beside its rivals: dedup, query, hyphenate.

    cargo build --release
    bench/cli.py                                ten million generated lines, about four minutes
    bench/cli.py --words /usr/share/dict/words  and a list of words
    bench/cli.py --lines 1_000_000              a minute

Contestants take turns, once to warm up and then several times, every time in another order. A contestant that takes
three seconds or more runs half as often; where all take less than half a second, all run more often.
All read a file on their standard input and write to a file; every output is compared with crivo's. The
median time counts; the memory is what GNU time tells, if it is there. Rivals are looked for on the PATH
(cargo install runiq huniq) and left out, with a message, if they are not there. The table at the end is that
of the README: below a rival's name stands its time over crivo's, so that above 1 crivo is faster.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A contestant that takes this long runs half as often; if all take less than the other, all run this many
# times as often.
SLOW_SECONDS = 3
SHORT_SECONDS, SHORT_TIMES = 0.5, 8

RIVALS = {
    "runiq": ["runiq", "-"],
    "huniq": ["huniq"],
    "sort -u": ["sort", "-u"],
}

TEXT_BYTES = 5_000_000


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crivo", type=Path, default=ROOT / "target/release/crivo",
                        help="the command to measure [default: the release build]")
    parser.add_argument("--words", type=Path, help="a list of words, one a line")
    parser.add_argument("--lines", type=lambda text: int(text.replace("_", "")),
                        default=10_000_000, help="how many lines to generate")
    parser.add_argument("--runs", type=int, default=5, help="how often each contestant runs")
    return parser.parse_args()


def generate(path, count, different, seed):
    """Writes lines of about 28 bytes, some of them the same."""
    rng = random.Random(seed)
    with path.open("wb") as file:
        for start in range(0, count, 1 << 16):
            numbers = rng.choices(range(different), k=min(1 << 16, count - start))
            lines = [b"user-%d@example%d.org\n" % (n * 2654435761 % 2**32, n % 7) for n in numbers]
            file.write(b"".join(lines))


def prose(path):
    """Writes English text: our own, again and again."""
    text = b"".join(page.read_bytes() for page in sorted((ROOT / "docs").glob("*.md")))
    path.write_bytes((text * (TEXT_BYTES // len(text) + 1))[:TEXT_BYTES])


def run(command, source, target):
    """Runs a command from one file into another: the seconds it takes."""
    environment = dict(os.environ, LC_ALL="C")
    with source.open("rb") as stdin, target.open("wb") as stdout:
        begun = time.perf_counter()
        ended = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
                               env=environment)
        seconds = time.perf_counter() - begun
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {ended.stderr.decode(errors='replace')}")
    return seconds


def run_for_memory(command, source, target, directory):
    """The same by way of GNU time, if it is there: the seconds, and the memory in words."""
    if shutil.which("time") is None:
        return run(command, source, target), "–"
    report = directory / "memory"
    seconds = run(["time", "-f", "%M", "-o", report, *command], source, target)
    return seconds, f"{int(report.read_text()) / 1e3:.0f} MB"


class Contest:
    """Commands that do the same work; crivo is the first of them."""

    def __init__(self, title, crivo, rivals=(), unit="lines"):
        self.title, self.unit = title, unit
        self.names = ["crivo"] + [name for name in rivals if shutil.which(RIVALS[name][0])]
        for name in set(rivals) - set(self.names):
            print(f"{name} is not on the PATH: left out", file=sys.stderr)
        self.commands = [crivo] + [RIVALS[name] for name in self.names[1:]]

    def hold(self, source, directory, runs):
        """Lets them run in turn, and checks what they print."""
        print(f"{self.title} ...", file=sys.stderr)
        self.amount = source.stat().st_size / 1e6
        if self.unit == "lines":
            self.amount = count_lines(source) / 1e6
        outputs = [directory / f"output-{index}" for index in range(len(self.names))]
        warm = [run_for_memory(command, source, output, directory)
                for command, output in zip(self.commands, outputs)]
        self.check(outputs, directory)
        self.memory = [memory for _, memory in warm]
        if all(seconds < SHORT_SECONDS for seconds, _ in warm):
            runs *= SHORT_TIMES
        left = [runs if seconds < SLOW_SECONDS else (runs + 1) // 2 for seconds, _ in warm]
        self.times = [[] for _ in self.names]
        order = list(range(len(self.names)))
        shuffler = random.Random(1)
        for turn in range(runs):
            shuffler.shuffle(order)
            for index in order:
                if turn < left[index]:
                    self.times[index].append(run(self.commands[index], source, outputs[index]))
        for output in outputs:
            output.unlink()
        for name, times, memory in zip(self.names, self.times, self.memory):
            print(f"  {name:8} {statistics.median(times):7.3f} s"
                  f" ({min(times):.3f} to {max(times):.3f}), {memory}", file=sys.stderr)
        return self

    def check(self, outputs, directory):
        for name, output in zip(self.names[1:], outputs[1:]):
            expected = outputs[0]
            if name == "sort -u":
                expected = directory / "expected"
                run(["sort"], outputs[0], expected)
            if subprocess.run(["cmp", "-s", expected, output]).returncode != 0:
                sys.exit(f"{self.title}: {name} does not print what crivo prints")

    def row(self):
        ours = statistics.median(self.times[0])
        rivals = dict(zip(self.names, self.times))
        ratios = [f"{statistics.median(rivals[name]) / ours:.1f}" if name in rivals else "–"
                  for name in RIVALS]
        speed = f"{self.amount / ours:.1f} M/s" if self.unit == "lines" else \
            f"{self.amount / ours:.0f} MB/s"
        return [self.title, f"{ours:.3f} s", speed, self.memory[0], *ratios]


def count_lines(path):
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def members(source, target):
    """A hundredth of the lines."""
    with source.open("rb") as file, target.open("wb") as out:
        out.writelines(line for index, line in enumerate(file) if index % 100 == 0)


def contests(crivo, options, directory):
    """All contests, each held before the next is prepared."""
    def hold(contest, source):
        return contest.hold(source, directory, options.runs)

    def dedup(title, source):
        return hold(Contest(f"`dedup`, {title}", [crivo, "dedup", "--quiet"], RIVALS), source)

    if options.words:
        yield dedup(f"{count_lines(options.words):,} words", options.words)
    generated, some, seen = directory / "lines", directory / "some", directory / "seen.crivo"
    count = options.lines
    generate(generated, count, count // 2, seed=1)
    yield dedup(f"{count:,} lines, more than half repeated", generated)
    members(generated, some)
    for kind in ("blocked", "bloom"):
        build = [crivo, "build", "--kind", kind, "--fpr", "0.001", "-o", seen, some]
        subprocess.run(build, check=True, stderr=subprocess.DEVNULL)
        for title, more in ((f"`query -c`, {kind}", ["-c"]), (f"`query`, {kind}", [])):
            yield hold(Contest(title, [crivo, "query", *more, seen]), generated)
    generate(generated, count, 100 * count, seed=2)
    yield dedup(f"{count:,} lines, hardly any repeated", generated)
    prose(generated)
    yield hold(Contest("`hyphenate`, 5 MB of English", [crivo, "hyphenate"], unit="bytes"),
               generated)


def main():
    options = arguments()
    crivo = str(options.crivo)
    if shutil.which(crivo) is None:
        sys.exit(f"{crivo} is not there: cargo build --release, or --crivo PATH")
    with tempfile.TemporaryDirectory(prefix="crivo-bench-") as name:
        rows = [contest.row() for contest in contests(crivo, options, Path(name))]
    head = ["command and input", "time", "speed", "memory", *(f"`{name}`" for name in RIVALS)]
    for row in [head, ["---"] * len(head), *rows]:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
