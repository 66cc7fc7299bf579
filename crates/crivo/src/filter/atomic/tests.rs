use super::*;

const THREADS: u64 = 4;
// Few under Miri, which interprets.
const KEYS_PER_THREAD: u64 = if cfg!(miri) { 50 } else { 5_000 };
const BATCHES: u64 = if cfg!(miri) { 1 } else { 100 };
const KEYS: u64 = if cfg!(miri) { 20 } else { 2_000 };

/// Fills from many threads a filter that `small` makes, and one from a single thread.
fn many_threads_set_the_bits_that_one_would<F: Shareable + PartialEq + fmt::Debug>(
    small: impl Fn() -> F,
) {
    let shared = AtomicFilter::from(small());
    std::thread::scope(|threads| {
        for part in 0..THREADS {
            let shared = &shared;
            threads.spawn(move || {
                let hasher = shared.hasher();
                let keys = (part..).step_by(THREADS as usize).take(KEYS_PER_THREAD as usize);
                let digests: Vec<Digest> = keys.map(|key| hasher.digest(&key)).collect();
                let (single, batch) = digests.split_at(digests.len() / 2);
                for &key in single {
                    shared.insert_digest(key);
                    assert!(shared.contains_digest(key), "a thread sees its own insertions");
                }
                for keys in batch.chunks(37) {
                    shared.insert_batch(keys);
                    let mut hits = vec![false; keys.len()];
                    shared.contains_batch(keys, &mut hits);
                    assert!(hits.into_iter().all(|hit| hit), "and those of a batch");
                }
            });
        }
    });
    let mut alone = small();
    for key in 0..THREADS * KEYS_PER_THREAD {
        alone.insert_digest(shared.hasher().digest(&key)).unwrap();
    }
    assert_eq!(shared.key_count(), alone.key_count());
    assert_eq!(shared.expected_fpr(), alone.expected_fpr());
    assert_eq!(shared.into_filter(), alone);
}

fn what_a_message_announces_is_found<F: Shareable>(filter: F) {
    let shared = AtomicFilter::from(filter);
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|threads| {
        let shared = &shared;
        threads.spawn(move || {
            let hasher = shared.hasher();
            for batch in 0..BATCHES {
                let keys: Vec<Digest> =
                    (0..100).map(|i| hasher.digest(&(100 * batch + i))).collect();
                shared.insert_batch(&keys);
                sender.send(keys).unwrap();
            }
            drop(sender);
        });
        for keys in receiver {
            assert!(keys.iter().all(|key| shared.contains_digest(*key)));
        }
    });
    assert_eq!(shared.key_count(), 100 * BATCHES);
}

fn answers_are_those_of_the_plain_filter<F>(plain: F)
where
    F: Shareable + Clone + PartialEq + fmt::Debug,
{
    let mut plain = plain;
    let hasher = plain.hasher();
    for key in 0..KEYS {
        plain.insert_digest(hasher.digest(&key)).unwrap();
    }
    let shared = AtomicFilter::from(plain.clone());
    let asked: Vec<Digest> = (0..5 * KEYS).map(|key| hasher.digest(&key)).collect();
    let mut hits = vec![false; asked.len()];
    shared.contains_batch(&asked, &mut hits);
    for (&key, hit) in asked.iter().zip(hits) {
        assert_eq!(shared.contains_digest(key), plain.contains_digest(key));
        assert_eq!(hit, plain.contains_digest(key));
    }
    assert_eq!(
        (shared.capacity(), shared.size_in_bits(), shared.hasher()),
        (plain.capacity(), plain.size_in_bits(), plain.hasher())
    );
    assert_eq!(shared.into_filter(), plain);
}

// Small tables are so small that the threads meet in the same words all the time.

mod bloom {
    use super::*;

    #[test]
    fn many_threads_set_the_bits_that_one_would() {
        let small = || Bloom::with_size(64 * 97, 7, KeyHasher::xxh3(3)).unwrap();
        super::many_threads_set_the_bits_that_one_would(small);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long there")]
    fn what_a_message_announces_is_found() {
        super::what_a_message_announces_is_found(Bloom::new(10_000, 1e-6).unwrap());
    }

    #[test]
    fn answers_are_those_of_the_plain_filter() {
        super::answers_are_those_of_the_plain_filter(Bloom::new(2_000, 0.1).unwrap());
    }
}

mod blocked {
    use super::*;

    #[test]
    fn many_threads_set_the_bits_that_one_would() {
        // One pattern of positions, a full one, and several.
        for probes in [2, 7, 8, 20] {
            let small = || Blocked::with_size(13, probes, KeyHasher::xxh3(3)).unwrap();
            super::many_threads_set_the_bits_that_one_would(small);
        }
    }

    #[test]
    fn what_a_message_announces_is_found() {
        super::what_a_message_announces_is_found(Blocked::new(10_000, 1e-6).unwrap());
    }

    #[test]
    fn answers_are_those_of_the_plain_filter() {
        for fpr in [0.1, 1e-4] {
            super::answers_are_those_of_the_plain_filter(Blocked::new(2_000, fpr).unwrap());
        }
    }
}
