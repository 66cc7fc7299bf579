#!/usr/bin/env python3
"""The command beside its rivals: dedup, query, and what they print.

    cargo build --release
    bench/cli.py                                ten million generated lines
    bench/cli.py --words /usr/share/dict/words  and a list of words

Contestants take turns, once to warm up and then several times; the table has the median, the
fastest and the slowest run. Every output is compared with that of the first contestant. Rivals are
looked for on the PATH (cargo install runiq huniq) and left out with a word if they are not there.
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

HERE = Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--crivo", type=Path, default=HERE.parent / "target/release/crivo",
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


def same(first, second):
    return subprocess.run(["cmp", "-s", first, second]).returncode == 0


def contest(title, contestants, source, folder, runs, line_count):
    """Lets contestants run in turn, checks what they print, and prints a table.

    A contestant is a name, a command, and whether it keeps the order of lines.
    """
    print(f"\n### {title}\n")
    present = []
    for name, command, keeps_order in contestants:
        if shutil.which(command[0]) is None:
            print(f"({name} is not on the PATH: left out)\n")
        else:
            present.append((name, command, keeps_order))
    outputs = [folder / f"output-{index}" for index in range(len(present))]
    times = [[] for _ in present]
    for turn in range(runs + 1):
        for index, (_, command, _) in enumerate(present):
            seconds = run(command, source, outputs[index])
            if turn > 0:
                times[index].append(seconds)
    for (name, _, keeps_order), output in zip(present[1:], outputs[1:]):
        expected = outputs[0]
        if not keeps_order:
            expected = folder / "expected"
            run(["sort"], outputs[0], expected)
        if not same(expected, output):
            sys.exit(f"{name} does not print what {present[0][0]} prints")
    ours = statistics.median(times[0])
    print("| command | median | fastest to slowest | million lines/s | its time over crivo's |")
    print("|---|---|---|---|---|")
    for (name, _, _), seconds in zip(present, times):
        median = statistics.median(seconds)
        print(f"| {name} | {median:.3f} s | {min(seconds):.3f} to {max(seconds):.3f} s "
              f"| {line_count / median / 1e6:.1f} | {median / ours:.2f} |")
    for output in outputs:
        output.unlink()


def count_lines(path):
    with path.open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))


def dedup(crivo, title, source, folder, runs):
    contestants = [
        ("crivo dedup", [crivo, "dedup", "--quiet"], True),
        ("runiq", ["runiq", "-"], True),
        ("huniq", ["huniq"], True),
        ("sort -u", ["sort", "-u"], False),
    ]
    contest(f"dedup: {title}", contestants, source, folder, runs, count_lines(source))


def query(crivo, source, folder, runs):
    members, filter_file = folder / "members", folder / "seen.crivo"
    # Of the lines asked for, about one in a hundred was one of these.
    with source.open("rb") as file, members.open("wb") as out:
        out.writelines(line for index, line in enumerate(file) if index % 100 == 0)
    for kind in ("blocked", "bloom"):
        build = [crivo, "build", "--kind", kind, "--rate", "0.001", "-o", filter_file, members]
        subprocess.run(build, check=True, stderr=subprocess.DEVNULL)
        contestants = [
            ("crivo query -c", [crivo, "query", "-c", filter_file], True),
        ]
        contest(f"query: {kind}, count", contestants, source, folder, runs, count_lines(source))
        contestants = [
            ("crivo query", [crivo, "query", filter_file], True),
            ("crivo query --no-verify", [crivo, "query", "--no-verify", filter_file], True),
        ]
        contest(f"query: {kind}, print", contestants, source, folder, runs, count_lines(source))


def main():
    options = arguments()
    crivo = str(options.crivo)
    if shutil.which(crivo) is None:
        sys.exit(f"{crivo} is not there: cargo build --release, or --crivo PATH")
    with tempfile.TemporaryDirectory(prefix="crivo-bench-") as name:
        folder = Path(name)
        if options.words:
            dedup(crivo, options.words.name, options.words, folder, options.runs)
        count = options.lines
        generated = folder / "lines"
        generate(generated, count, count // 2, seed=1)
        dedup(crivo, f"{count:,} lines, most of them twice or more", generated, folder,
              options.runs)
        query(crivo, generated, folder, options.runs)
        generate(generated, count, 100 * count, seed=2)
        dedup(crivo, f"{count:,} lines, hardly any twice", generated, folder, options.runs)


if __name__ == "__main__":
    main()
