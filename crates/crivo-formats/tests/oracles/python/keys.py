"""The keys of the two-way tests: a function of a number."""

import struct
import sys


def key(key_type, number):
    if key_type == "int32":
        return number * 7_919 - 3_000_000
    if key_type == "int64":
        return number * 7_919_000_003 - 3_000_000
    if key_type in ("float", "double"):
        return number * 0.5 - 100.0
    if key_type == "uint64":
        return number * 0x9E3779B97F4A7C15 % 2**64
    if key_type == "text":
        return f"ключ-{number}-é"
    if key_type == "bytes":
        return struct.pack("<I", number) + bytes((number * 31 + j * 17) % 256 for j in range(number % 37))
    raise ValueError(key_type)


def run(build, ask):
    """build FORMAT KEY-TYPE N FPR FILE, or ask FORMAT KEY-TYPE N FILE.

    `build(format, key_type, keys, fpr)` gives the bytes of a filter; `ask(format, key_type, data)` a
    function from keys to answers.
    """
    command, format, key_type, n = sys.argv[1:5]
    if command == "build":
        keys = [key(key_type, number) for number in range(int(n))]
        data = build(format, key_type, keys, float(sys.argv[5]))
        with open(sys.argv[6], "wb") as file:
            file.write(data)
    else:
        with open(sys.argv[5], "rb") as file:
            contains = ask(format, key_type, file.read())
        print("".join("01"[bool(contains(key(key_type, number)))] for number in range(2 * int(n))))
