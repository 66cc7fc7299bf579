#!/usr/bin/env python3
"""The command beside its rivals: dedup, diff, count, query, hyphenate.

    cargo build --release
    bench/cli.py                                ten million generated lines, about ten minutes
    bench/cli.py --words /usr/share/dict/words  and a list of words
    bench/cli.py --lines 1_000_000              a minute

Contestants take turns, once to warm up and then several times, every time in another order. A contestant that takes
three seconds or more runs half as often; where all take less than half a second, all run more often.
All read a file on their standard input and write to a file; every output is compared with crivo's. The
median time counts; the memory is what GNU time tells, if it is there. Rivals are looked for on the PATH
(cargo install runiq huniq) and among the modules of the Python that runs this (pip install duckdb), and left
out, with a message, if they are not there. The first table at the end is that of the README: below a rival's
name stands its time over crivo's, so that above 1 crivo is faster. The second has the rivals' memory.
"""

import argparse
import importlib.util
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

RIVALS = ("runiq", "huniq", "sort", "duckdb")

# Lines as a table of one column: no quotes, no header, and a delimiter that is in no line.
DUCKDB_LINES = ("read_csv('{}', columns = {{'line': 'VARCHAR'}}, header = false, delim = '\\x01', quote = '',"
                " escape = '', auto_detect = false)")
DUCKDB_OUTPUT = "TO '/dev/stdout' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')"


def duckdb(query, **tables):
    """A command that runs a query whose tables are files of lines, and writes lines."""
    tables = {name: DUCKDB_LINES.format(path) for name, path in tables.items()}
    sql = f"COPY ({query.format(**tables)}) {DUCKDB_OUTPUT}"
    # Its progress bar would go among the lines.
    settings = "SET enable_progress_bar = false"
    return [sys.executable, "-c", f"import duckdb; duckdb.sql({settings!r}); duckdb.sql({sql!r})"]


def is_there(name, command):
    """Whether a rival can be run."""
    if name == "duckdb":
        return importlib.util.find_spec("duckdb") is not None
    return shutil.which(command[0]) is not None


def shell(line, *arguments):
    """A command that runs a line of the shell."""
    return ["bash", "-c", line, "bash", *map(str, arguments)]


def dedup_rivals():
    return {
        "runiq": ["runiq", "-"],
        "huniq": ["huniq"],
        "sort": ["sort", "-u"],
        "duckdb": duckdb("SELECT DISTINCT line FROM {lines}", lines="/dev/stdin"),
    }


def diff_rivals(other):
    return {
        "sort": shell("sort | join -t $'\\1' -v 1 - <(sort \"$1\")", other),
        "duckdb": duckdb("SELECT line FROM {lines} ANTI JOIN {other} AS other USING (line)",
                         lines="/dev/stdin", other=other),
    }


def count_rivals():
    return {
        "runiq": shell("runiq - | wc -l"),
        "huniq": shell("huniq | wc -l"),
        "sort": shell("sort -u | wc -l"),
        "duckdb": duckdb("SELECT count(DISTINCT line) FROM {lines}", lines="/dev/stdin"),
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

    def __init__(self, title, crivo, rivals=None, unit="lines"):
        self.title, self.unit = title, unit
        present = {name: command for name, command in (rivals or {}).items()
                   if is_there(name, command if command[0] != "bash" else [name])}
        for name in sorted(set(rivals or {}) - set(present)):
            print(f"{name} is not there: left out", file=sys.stderr)
        self.names = ["crivo", *present]
        self.commands = [crivo, *present.values()]

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
            same = [outputs[0], output]
            # These do not keep the order of the input.
            if name in ("sort", "duckdb"):
                same = [directory / "expected", directory / "found"]
                run(["sort"], outputs[0], same[0])
                run(["sort"], output, same[1])
            if subprocess.run(["cmp", "-s", *same]).returncode != 0:
                sys.exit(f"{self.title}: {name} does not print what crivo prints")

    def row(self):
        ours = statistics.median(self.times[0])
        rivals = dict(zip(self.names, self.times))
        ratios = [f"{statistics.median(rivals[name]) / ours:.1f}" if name in rivals else "–"
                  for name in RIVALS]
        speed = f"{self.amount / ours:.1f} M/s" if self.unit == "lines" else \
            f"{self.amount / ours:.0f} MB/s"
        return [self.title, f"{ours:.3f} s", speed, self.memory[0], *ratios]

    def memory_row(self):
        memory = dict(zip(self.names, self.memory))
        return [self.title, *(memory.get(name, "–") for name in ("crivo", *RIVALS))]


def count_lines(path):
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def members(source, target):
    """A hundredth of the lines."""
    with source.open("rb") as file, target.open("wb") as out:
        out.writelines(line for index, line in enumerate(file) if index % 100 == 0)


def halves(source, target, count, seed):
    """Every other line, and as many that are hardly ever there."""
    generate(target, count // 2, 100 * count, seed)
    with source.open("rb") as file, target.open("ab") as out:
        out.writelines(line for index, line in enumerate(file) if index % 2 == 0)


def contests(crivo, options, directory):
    """All contests, each held before the next is prepared."""
    def hold(contest, source):
        return contest.hold(source, directory, options.runs)

    def dedup(title, source):
        contest = Contest(f"`dedup`, {title}", [crivo, "dedup", "--quiet"], dedup_rivals())
        return hold(contest, source)

    def count(title, source):
        return hold(Contest(f"`count`, {title}", [crivo, "count"], count_rivals()), source)

    if options.words:
        yield dedup(f"{count_lines(options.words):,} words", options.words)
    generated, some, seen = directory / "lines", directory / "some", directory / "seen.crivo"
    other = directory / "other"
    lines = options.lines
    generate(generated, lines, lines // 2, seed=1)
    yield dedup(f"{lines:,} lines, more than half repeated", generated)
    yield count(f"{lines:,} lines, more than half repeated", generated)
    members(generated, some)
    for kind in ("blocked", "bloom"):
        build = [crivo, "build", "--kind", kind, "--fpr", "0.001", "-o", seen, some]
        subprocess.run(build, check=True, stderr=subprocess.DEVNULL)
        for title, more in ((f"`query -c`, {kind}", ["-c"]), (f"`query`, {kind}", [])):
            yield hold(Contest(title, [crivo, "query", *more, seen]), generated)
    generate(generated, lines, 100 * lines, seed=2)
    yield dedup(f"{lines:,} lines, hardly any repeated", generated)
    yield count(f"{lines:,} lines, hardly any repeated", generated)
    # Half of the lines on the right are on the left as well.
    halves(generated, other, lines, seed=3)
    yield hold(Contest(f"`diff`, {lines:,} lines and as many", [crivo, "diff", "-", other],
                       diff_rivals(other)), generated)
    prose(generated)
    yield hold(Contest("`hyphenate`, 5 MB of English", [crivo, "hyphenate"], unit="bytes"),
               generated)


def main():
    options = arguments()
    crivo = str(options.crivo)
    if shutil.which(crivo) is None:
        sys.exit(f"{crivo} is not there: cargo build --release, or --crivo PATH")
    with tempfile.TemporaryDirectory(prefix="crivo-bench-") as name:
        held = list(contests(crivo, options, Path(name)))
    print_table(["command and input", "time", "speed", "memory", *(f"`{name}`" for name in RIVALS)],
                [contest.row() for contest in held])
    print()
    print_table(["command and input", *(f"`{name}`" for name in ("crivo", *RIVALS))],
                [contest.memory_row() for contest in held if len(contest.names) > 1])


def print_table(head, rows):
    for row in [head, ["---"] * len(head), *rows]:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
