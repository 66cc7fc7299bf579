//! crivo's filters.

use super::{BenchKey, Subject};

type Subjects<K> = Vec<Box<dyn Subject<K>>>;

pub fn bloom<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
pub fn blocked<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
pub fn counting<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
pub fn cuckoo<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
pub fn quotient<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
pub fn fuse<K: BenchKey>(_rate: f64) -> Subjects<K> { vec![] }
