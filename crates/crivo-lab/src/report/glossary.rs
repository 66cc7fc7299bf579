//! The words that a reader may not know.

/// Each word with its meaning, in alphabetical order.
pub(super) const GLOSSARY: &[(&str, &str)] = &[
    (
        "95% interval",
        "A range computed from a sample in such a way that it holds the true value in 95 of 100 repetitions of the experiment. For shares it is Clopper and Pearson’s, for means Student’s, for medians that of the ordered sample.",
    ),
    (
        "Baseline",
        "The contender that others are compared with. A ratio of 2 means: twice the baseline’s time, measured in the same round.",
    ),
    ("Bits per key", "The memory of a filter divided by the number of its keys."),
    (
        "Bloom filter",
        "m bits, all clear. A key sets the k bits that its hash names. It is certainly absent if one of its bits is clear.",
    ),
    (
        "Bonferroni’s and Holm’s corrections",
        "Who makes a hundred comparisons at a level of 1% raises one false alarm on average. Both corrections make each comparison stricter, so that all together keep the level.",
    ),
    (
        "Candidate",
        "A pair of sets that agree in all values of some band of their signatures, and are therefore compared.",
    ),
    (
        "Chain of evictions",
        "The entries that a cuckoo insertion moves, each to its other place, until one finds an empty slot.",
    ),
    (
        "Chi-square test",
        "Sums the squared distances of counts from what was expected. Its p-value says how often chance alone does as much.",
    ),
    (
        "Coded symbol",
        "A sum of some of a set’s ids. The difference of two such symbols, one from each side, holds only ids that one side lacks; enough of them give away the whole difference.",
    ),
    ("Cold; warm", "Whether the system must read a file from the disk, or has it in memory."),
    (
        "Cuckoo hashing",
        "Every key has d buckets of b slots and lives in one of them; whoever finds all of them full moves somebody to another of his own.",
    ),
    ("Doorkeeper", "A filter before a cache that lets in what was asked for before."),
    (
        "False alarm",
        "A test that finds a difference where there is none. Each verdict says how probable that is.",
    ),
    (
        "False negative",
        "A filter that denies a key it was given. None of the filters here ever does.",
    ),
    ("False positive; ε", "A filter that accepts a key it was never given. Its rate is called ε."),
    ("Fingerprint", "A few bits of a key’s hash, kept in its place."),
    (
        "Guarded lookup",
        "A question to a slow store that is only asked if a filter accepts the key.",
    ),
    ("Hash family", "Many hash functions of one form, told apart by a seed."),
    ("Hit ratio", "The share of requests that a cache answers."),
    ("Information limit", "log₂(1/ε) bits per key: no filter for arbitrary sets can take less."),
    ("Jaccard similarity", "What two sets have in common over what they have in all."),
    ("k, m, n", "How many bits a key sets, how many bits there are, how many keys there are."),
    ("Load", "Entries per slot."),
    (
        "Load threshold",
        "The load up to which a large cuckoo table can be filled; beyond it, insertions fail.",
    ),
    ("LRU", "Least recently used: a full cache drops what was not asked for longest."),
    (
        "MinHash; signature",
        "The least hash value of a set under each of k hash functions. Two sets agree in a value with a probability equal to their similarity.",
    ),
    ("p-value", "The chance that data at least as extreme comes about by chance alone."),
    ("Probe", "A look at one bit or slot."),
    (
        "Reconciliation",
        "Two sides with nearly equal sets find what each lacks, and send little else.",
    ),
    (
        "S-curve",
        "1 − (1 − sʳ)ᵇ: the probability that sets of similarity s become candidates, with b bands of r values.",
    ),
    ("Selectivity", "The share of rows that find a partner in a join."),
    ("Stash", "A few places outside of a cuckoo table for keys that found none in it."),
    ("Stretch", "Hops taken over the fewest hops possible."),
    (
        "Test of equivalence",
        "Shows that a value lies within given bounds, where other tests can only fail to show that it does not.",
    ),
    (
        "Time of rejection",
        "What it takes to find that a key is absent: Bloom’s own measure, for most questions are about absent keys.",
    ),
];
