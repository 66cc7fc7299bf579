//! The terms that a reader may not know.

/// Each term with its meaning, in alphabetical order.
pub(super) const GLOSSARY: &[(&str, &str)] = &[
    (
        "95% interval",
        "A range computed from a sample such that it contains the true value in 95 of 100 repetitions of the experiment: Clopper and Pearson’s for proportions, Student’s for means, from order statistics for medians.",
    ),
    (
        "Baseline",
        "The contender that others are compared with. A ratio of 2 means: twice the baseline’s time, measured in the same round.",
    ),
    (
        "BIP 37; BIP 158",
        "Two of Bitcoin’s protocols for wallets without the whole chain. By the first, a wallet sends a Bloom filter of its addresses to a node; by the second, it fetches a filter of every block.",
    ),
    ("Bits per key", "The memory of a filter divided by the number of its keys."),
    (
        "Bloom filter",
        "An array of m bits. Inserting a key sets the k bits at positions given by its hash. A key is certainly absent if one of its bits is clear.",
    ),
    (
        "Bonferroni’s and Holm’s corrections",
        "A hundred comparisons at a level of 1% give one false alarm on average. Both corrections make each comparison stricter, so that all comparisons together keep the level.",
    ),
    (
        "Candidate",
        "A pair of sets that agree in all values of some band of their signatures, and are therefore compared.",
    ),
    (
        "Eviction chain",
        "The entries that a cuckoo insertion moves, each to another of its slots, until one finds an empty slot.",
    ),
    (
        "Chi-square test",
        "Sums the squared differences of counts and expected counts, each divided by the expected count. The p-value is the probability of a sum at least as large by chance alone.",
    ),
    (
        "Coded symbol",
        "A sum of some ids of a set. The difference of two such symbols, one from each side, contains only ids that one side lacks; enough of them determine the whole difference.",
    ),
    ("Cold; warm", "Whether a file must be read from disk, or is in the page cache."),
    (
        "Cuckoo hashing",
        "A hash table in which every key has d possible buckets of b slots. If all are full, an insertion moves another key to one of its other buckets.",
    ),
    (
        "Doorkeeper",
        "A filter in front of a cache that admits only objects that were requested before.",
    ),
    (
        "False alarm",
        "A test that finds a difference where there is none (a type I error). Each verdict states its probability.",
    ),
    (
        "False negative",
        "A filter rejects a key that was inserted. None of the filters here ever does.",
    ),
    (
        "False positive; FPR; ε",
        "A filter accepts a key that was not inserted. The fraction of absent keys that are accepted is the false-positive rate (FPR), ε.",
    ),
    ("Fingerprint", "A few bits of a key’s hash, stored instead of the key."),
    ("Guarded lookup", "A lookup in a slow store that is made only if a filter accepts the key."),
    ("Hash family", "Hash functions of one form, selected by a seed."),
    ("Hit ratio", "The fraction of requests that a cache answers."),
    ("Information limit", "log₂(1/ε) bits per key: no filter for arbitrary sets can be smaller."),
    (
        "Jaccard similarity",
        "The size of the intersection of two sets over the size of their union.",
    ),
    ("k, m, n", "The number of bits that a key sets, the number of bits, the number of keys."),
    ("Load", "Entries per slot."),
    (
        "Load threshold",
        "The load up to which a large cuckoo table can be filled; beyond it, insertions fail.",
    ),
    (
        "LRU",
        "Least recently used: a full cache evicts the object whose last request is the oldest.",
    ),
    (
        "MinHash; signature",
        "The minimum hash value of a set under each of k hash functions. Two sets agree in a value with a probability equal to their Jaccard similarity.",
    ),
    ("p-value", "The probability of data at least as extreme by chance alone."),
    ("Probe", "An access to one bit or slot."),
    (
        "Reconciliation",
        "Two sides with nearly equal sets find the elements that each lacks, and send little else.",
    ),
    (
        "S-curve",
        "1 − (1 − sʳ)ᵇ: the probability that sets of similarity s become candidates, with b bands of r values.",
    ),
    ("Selectivity", "The fraction of rows that match in a join."),
    ("Stash", "A few slots outside of a cuckoo table for keys that could not be placed in it."),
    ("Stretch", "The number of hops over the minimum number of hops."),
    (
        "Equivalence test",
        "Shows that a value is within given bounds, where other tests can only fail to show a difference.",
    ),
    (
        "Rejection time",
        "The time to find that a key is absent: Bloom’s own measure, because most queries are of absent keys.",
    ),
];
