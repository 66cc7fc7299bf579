//! A list of objects in the order of their last use, with every operation in constant time.

use std::collections::HashMap;

/// No entry: the end of the list.
const NONE: usize = usize::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    object: u64,
    newer: usize,
    older: usize,
}

/// Objects from the newest to the oldest: a doubly linked list in a vector, and the place of each
/// object in it.
#[derive(Debug, Clone)]
pub(super) struct Recency {
    places: HashMap<u64, usize>,
    entries: Vec<Entry>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self {
            places: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    pub(super) fn contains(&self, object: u64) -> bool {
        self.places.contains_key(&object)
    }

    /// Moves an object to the front. Returns whether it was in the list.
    pub(super) fn touch(&mut self, object: u64) -> bool {
        let found = self.remove(object);
        if found {
            self.push(object);
        }
        found
    }

    /// Adds an object that is not in the list, at the front.
    pub(super) fn push(&mut self, object: u64) {
        let entry = Entry { object, newer: NONE, older: self.newest };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        match self.newest {
            NONE => self.oldest = place,
            newest => self.entries[newest].newer = place,
        }
        self.newest = place;
        let before = self.places.insert(object, place);
        debug_assert!(before.is_none(), "{object} is in the list already");
    }

    /// Removes an object. Returns whether it was in the list.
    pub(super) fn remove(&mut self, object: u64) -> bool {
        let Some(place) = self.places.remove(&object) else { return false };
        let Entry { newer, older, .. } = self.entries[place];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
        self.free.push(place);
        true
    }

    /// The least recently used object.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.entries.get(self.oldest).map(|entry| entry.object)
    }

    /// Removes the least recently used object.
    pub(super) fn pop_oldest(&mut self) -> Option<u64> {
        let object = self.oldest()?;
        self.remove(object);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_list_of_last_uses(steps in proptest::collection::vec((0..4, 0u64..12), 0..200)) {
            let (mut list, mut plain) = (Recency::new(), Vec::new());
            for (step, object) in steps {
                match step {
                    0 => {
                        prop_assert_eq!(list.remove(object), plain.contains(&object));
                        plain.retain(|&other| other != object);
                    }
                    1 => {
                        let oldest = (!plain.is_empty()).then(|| plain.remove(0));
                        prop_assert_eq!(list.pop_oldest(), oldest);
                    }
                    _ => {
                        let found = list.touch(object);
                        prop_assert_eq!(found, plain.contains(&object));
                        plain.retain(|&other| other != object);
                        plain.push(object);
                        if !found {
                            list.push(object);
                        }
                    }
                }
                prop_assert_eq!(list.count(), plain.len());
                prop_assert_eq!(list.oldest(), plain.first().copied());
                prop_assert_eq!(list.contains(object), plain.contains(&object));
            }
        }
    }
}
