"""Bloom filters of BIP 37, by python-bitcoinlib."""

import keys
from bitcoin.bloom import CBloomFilter


def data(key):
    return key.encode() if isinstance(key, str) else key


def build(format, key_type, items, fpr):
    filter = CBloomFilter(len(items), fpr, 0, CBloomFilter.UPDATE_NONE)
    for item in items:
        filter.insert(data(item))
    return filter.serialize()


def ask(format, key_type, content):
    filter = CBloomFilter.deserialize(content)
    return lambda key: filter.contains(data(key))


keys.run(build, ask)
