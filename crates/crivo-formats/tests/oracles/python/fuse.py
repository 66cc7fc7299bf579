"""Xor and binary fuse filters, by pyfusefilter: its C library for numbers, its own hash for text."""

import keys
from pyfusefilter._xorfilter import ffi, lib
from pyfusefilter.pyfusefilter import hash

# The names of types and functions in the C library, by format.
NAMES = {
    "xor8": ("xor8", "buffered_populate"),
    "xor16": ("xor16", "buffered_populate"),
    "binary-fuse8": ("binary_fuse8", "populate"),
    "binary-fuse16": ("binary_fuse16", "populate"),
}


def number(key_type, key):
    """A number is itself, where pyfusefilter would hash its decimal digits."""
    return key if key_type == "uint64" else hash(key)


def build(format, key_type, items, fpr):
    name, populate = NAMES[format]
    filter = ffi.new(f"{name}_t *")
    numbers = [number(key_type, item) for item in items]
    assert getattr(lib, f"{name}_allocate")(len(numbers), filter)
    assert getattr(lib, f"{name}_{populate}")(numbers, len(numbers), filter)
    buffer = ffi.new("char[]", getattr(lib, f"{name}_serialization_bytes")(filter))
    getattr(lib, f"{name}_serialize")(filter, buffer)
    return bytes(ffi.buffer(buffer))


def ask(format, key_type, data):
    name, _ = NAMES[format]
    filter = ffi.new(f"{name}_t *")
    assert getattr(lib, f"{name}_deserialize")(filter, ffi.from_buffer(data))
    contain = getattr(lib, f"{name}_contain")
    return lambda key: contain(number(key_type, key), filter)


keys.run(build, ask)
