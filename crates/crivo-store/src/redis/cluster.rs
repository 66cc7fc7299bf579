//! One owner of keys that are spread over the masters of a Redis Cluster.
//!
//! A script sees the keys of one slot. So the keys are in 256 partitions of one slot each, and every
//! partition has an owner's record. That of partition 0 decides who owns the store; the others follow it
//! when the store is claimed, and go ahead when it is released.
//!
//! Clients of a cluster send a command again if its answer is lost. So the writes to a partition are sent
//! one after the other, and have numbers: a number that its record has seen is not applied again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use futures_util::future::{join_all, try_join_all};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisResult, Script, ServerErrorKind, cmd};
use tokio::sync::Mutex;

use super::record::{Record, State};
use super::{OWNER_KEY, RedisStoreError, SCAN_COUNT, SCRIPT_KEYS, existed, prefix_pattern};
use crate::{AsyncOwnedStore, AsyncStore, Claim, Existed, Owner, Session};

/// Part of the names of keys: it cannot change.
const PARTITIONS: usize = 256;

/// How many slots a cluster has.
const SLOTS: u32 = 16_384;

/// How often a scan begins again because the cluster has changed.
const SCANS: usize = 3;

/// A write under a claim, of each of the keys behind the record. It answers nothing if the owner's record is
/// not the one that is expected, and an empty list if the write was applied before.
macro_rules! write_script {
    ($each:literal) => {
        concat!(
            "
local record = redis.call('HMGET', KEYS[1], 'owner', 'write')
if record[1] ~= ARGV[1] then return false end
if tonumber(record[2]) >= tonumber(ARGV[2]) then return {} end
redis.call('HSET', KEYS[1], 'write', ARGV[2])
local existed = {}
for i = 2, #KEYS do
",
            $each,
            "
end
return existed"
        )
    };
}

const PUT: &str = write_script!(
    "    existed[i - 1] = redis.call('EXISTS', KEYS[i])
    redis.call('SET', KEYS[i], ARGV[i + 1])"
);

const DELETE: &str = write_script!("    existed[i - 1] = redis.call('DEL', KEYS[i])");

/// Replaces a record, if it is the one that is expected.
const REPLACE: &str = "
if (redis.call('HGET', KEYS[1], 'owner') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'write', 0)
return 1";

/// Replaces the record of an earlier generation. Answers 0 if that was the one that is expected, -1 if it was
/// another, or the generation that is there and stays.
const FENCE: &str = "
local old = redis.call('HGET', KEYS[1], 'owner')
if old and old ~= ARGV[2] then
    local generation = tonumber(string.match(old, '^%d+'))
    if generation and generation >= tonumber(ARGV[1]) then
        return math.min(generation, 9007199254740992)
    end
end
if old ~= ARGV[2] then redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'write', 0) end
return old == ARGV[3] and 0 or -1";

/// The keys with one prefix in a Redis or Valkey Cluster: bytes to bytes.
///
/// It takes the caller's own connection, with its credentials, TLS and time-outs, and runs in Snapshot and
/// Exclusive mode. The key `ana` of the prefix `user:` has the name `{user:68}ana`, where `68` is its
/// partition, one of 256. So the keys are in 256 slots, which the masters share; a master beyond the
/// 256th would have none. Each partition adds one key, `crivo-store.owner:{user:68}`. Other keys of the
/// cluster are left alone.
///
/// A scan asks every master. If slots move, or a master is started again or replaced meanwhile, it begins
/// again, and is an error after three times.
///
/// # While a master is down
///
/// The writes to a partition wait for each other: a write whose answer was lost must not be sent again after a
/// later one. So while a master does not answer, each write to one of its partitions waits for those before
/// it, until each has failed by the client's own time-out. Set `response_timeout`, `connection_timeout` and
/// `retries` of the client, or limit a write with `tokio::time::timeout`: one that is given up while it waits
/// has sent nothing, though its key stays in the guard. Writes to other masters and questions do not wait.
///
/// # What breaks the promise
///
/// The promise is about the guard, not about the store: a master that is lost with its data is not known
/// to the guard, which lets the questions for its keys through. But a master that comes back with *older*
/// data, as after a failover to a replica that was behind, has keys again whose deletion it had
/// acknowledged, and may have forgotten that an owner was replaced. Open the store again after such an
/// event, which scans unless all partitions were closed by the session that saved the guard, or choose a kind of filter that removes nothing; with `appendfsync always` a master that is
/// started again has lost nothing.
///
/// ```no_run
/// use crivo::filter::Kind;
/// use crivo_store::redis::ClusterStore;
/// use crivo_store::{AsyncGuarded, GuardOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = redis::cluster::ClusterClient::new(["redis://10.0.0.1/", "redis://10.0.0.2/"])?;
/// let store = ClusterStore::new(client.get_async_connection().await?, "user:")?;
/// let users = AsyncGuarded::open(store, GuardOptions::new(Kind::Cuckoo, 0.001)?).await?;
/// users.put(b"ana", b"1").await?;
/// assert!(!users.contains(b"rui").await?); // no server was asked
/// users.close().await?;
/// # Ok(())
/// # }
/// ```
pub struct ClusterStore {
    connection: ClusterConnection,
    prefix: Vec<u8>,
    /// For each partition the number of the last write, locked while it is under way: see "While a master is
    /// down" above.
    writes: Vec<Mutex<u64>>,
    put: ClusterScript,
    delete: ClusterScript,
    replace: ClusterScript,
    fence: ClusterScript,
}

impl ClusterStore {
    /// The keys of this prefix. In questions and answers it is left out.
    ///
    /// # Errors
    /// If the prefix has a brace, which would decide about slots.
    pub fn new(
        connection: ClusterConnection,
        prefix: impl Into<Vec<u8>>,
    ) -> Result<Self, RedisStoreError> {
        let prefix = prefix.into();
        if prefix.iter().any(|byte| b"{}".contains(byte)) {
            let prefix = prefix.escape_ascii().to_string();
            return Err(RedisStoreError::Prefix { prefix });
        }
        Ok(Self {
            connection,
            prefix,
            writes: (0..PARTITIONS).map(|_| Mutex::new(0)).collect(),
            put: ClusterScript::new(PUT),
            delete: ClusterScript::new(DELETE),
            replace: ClusterScript::new(REPLACE),
            fence: ClusterScript::new(FENCE),
        })
    }

    fn tag(&self, partition: usize) -> Vec<u8> {
        [b"{", &*self.prefix, format!("{partition:02x}}}").as_bytes()].concat()
    }

    fn full_key(&self, key: &[u8]) -> Vec<u8> {
        [&*self.tag(partition(key)), key].concat()
    }

    /// The key of a name, if it is one of this store.
    fn key_of<'n>(&self, name: &'n [u8]) -> Option<&'n [u8]> {
        let rest = name.strip_prefix(b"{")?.strip_prefix(&*self.prefix)?;
        let (tag, rest) = rest.split_at_checked(2)?;
        let key = rest.strip_prefix(b"}")?;
        (format!("{:02x}", partition(key)).as_bytes() == tag).then_some(key)
    }

    fn record_key(&self, partition: usize) -> Vec<u8> {
        [OWNER_KEY.as_bytes(), &*self.tag(partition)].concat()
    }

    async fn query<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        command.query_async(&mut self.connection.clone()).await
    }

    /// The record that decides, as text and as what it says.
    async fn record(&self) -> Result<(String, Option<Record>), RedisStoreError> {
        let key = self.record_key(0);
        super::parsed(&key, self.query(cmd("HGET").arg(&key).arg("owner")).await?)
    }

    /// Whether the record of a partition was `old`, and is `new` now.
    async fn replace(&self, partition: usize, old: &str, new: Record) -> RedisResult<bool> {
        let keys = [self.record_key(partition)];
        self.replace
            .run(&self.connection, &keys, &[old.as_bytes(), new.to_string().as_bytes()])
            .await
    }

    /// Puts a session into the records of all partitions but the first.
    async fn fence(&self, session: Session, closed: Option<Session>) -> RedisResult<Fenced> {
        let generation = session.generation.to_string();
        let record = Record::new(session, State::Open).to_string();
        let expected = closed.map(|closed| Record::new(closed, State::Closed).to_string());
        let expected = expected.unwrap_or_default();
        let arguments = [generation.as_bytes(), record.as_bytes(), expected.as_bytes()];
        let fences = (1..PARTITIONS).map(|partition| {
            let keys = [self.record_key(partition)];
            async move { self.fence.run::<i64>(&self.connection, &keys, &arguments).await }
        });
        let answers = try_join_all(fences).await?;
        let are_closed = answers.iter().all(|answer| *answer == 0);
        let later = (1..).zip(answers).filter(|(_, answer)| *answer > 0);
        let later = later.max_by_key(|(_, answer)| *answer);
        Ok(Fenced { later: later.map(|(at, answer)| (at, answer as u64)), are_closed })
    }

    /// Changes keys of one partition, given by their places in `entries`, under a current claim.
    async fn change(
        &self,
        script: &ClusterScript,
        claim: &Claim,
        partition: usize,
        entries: &[(&[u8], Option<&[u8]>)],
        places: &[usize],
    ) -> Result<Vec<(usize, Existed)>, RedisStoreError> {
        let record = Record::new(claim.session, State::Open).to_string();
        let mut last = self.writes[partition].lock().await;
        let mut answers = Vec::with_capacity(places.len());
        for places in places.chunks(SCRIPT_KEYS) {
            *last += 1;
            let number = last.to_string();
            let names = places.iter().map(|&at| self.full_key(entries[at].0));
            let keys: Vec<_> = [self.record_key(partition)].into_iter().chain(names).collect();
            let values = places.iter().filter_map(|&at| entries[at].1);
            let arguments: Vec<_> =
                [record.as_bytes(), number.as_bytes()].into_iter().chain(values).collect();
            let counts: Option<Vec<u64>> = script.run(&self.connection, &keys, &arguments).await?;
            let counts = counts.ok_or(RedisStoreError::LostClaim)?;
            let told = counts.into_iter().map(existed);
            // Nothing is told if an earlier answer was lost.
            let told = told.chain(std::iter::repeat(Existed::Unknown));
            answers.extend(places.iter().copied().zip(told));
        }
        Ok(answers)
    }

    /// Changes keys of all partitions, at the same time. If the claim is lost in one, others may have been changed.
    async fn change_all(
        &self,
        script: &ClusterScript,
        claim: &Claim,
        entries: &[(&[u8], Option<&[u8]>)],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let mut partitions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, (key, _)) in entries.iter().enumerate() {
            partitions.entry(partition(key)).or_default().push(at);
        }
        let changes = partitions
            .iter()
            .map(|(&partition, places)| self.change(script, claim, partition, entries, places));
        let mut existed = vec![Existed::Unknown; entries.len()];
        // All of them end before the first error is told: none is given up.
        for answers in join_all(changes).await {
            for (at, answer) in answers? {
                existed[at] = answer;
            }
        }
        Ok(existed)
    }

    /// The answers of all masters to a command.
    async fn ask_masters(
        &self,
        command: &mut Cmd,
    ) -> Result<HashMap<String, String>, RedisStoreError> {
        let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        let answers = self.connection.clone().route_command(command.clone(), masters).await?;
        Ok(redis::from_redis_value(answers).map_err(redis::RedisError::from)?)
    }

    /// The masters' addresses, and what would be different if one of them had been started again, had been
    /// replaced, or had got or given slots.
    async fn masters(&self) -> Result<BTreeMap<String, String>, RedisStoreError> {
        let nodes = self.ask_masters(cmd("CLUSTER").arg("NODES")).await?;
        let infos = self.ask_masters(cmd("INFO").arg("server")).await?;
        let mut served = 0;
        let mut masters = BTreeMap::new();
        for (address, nodes) in nodes {
            let node = OwnNode::parse(&nodes).ok_or(RedisStoreError::Interrupted)?;
            if node.is_moving_slots {
                return Err(RedisStoreError::Interrupted);
            }
            served = node.slots.saturating_add(served);
            let run_id = super::run_id(infos.get(&address).ok_or(RedisStoreError::Interrupted)?)?;
            masters.insert(address, format!("{} {run_id}", node.description));
        }
        match served {
            SLOTS => Ok(masters),
            _ => Err(RedisStoreError::MissingSlots { served }),
        }
    }

    async fn scan_once(
        &self,
        visit: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<(), RedisStoreError> {
        let pattern = prefix_pattern(&[b"{", &*self.prefix].concat());
        let masters = self.masters().await?;
        for address in masters.keys() {
            let (host, port) = address.rsplit_once(':').ok_or(RedisStoreError::Interrupted)?;
            let port = port.parse().map_err(|_| RedisStoreError::Interrupted)?;
            let node = SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port };
            let mut cursor = 0u64;
            loop {
                let mut command = cmd("SCAN");
                command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
                let route = RoutingInfo::SingleNode(node.clone());
                let answer = self.connection.clone().route_command(command, route).await?;
                let (next, names): (u64, Vec<Vec<u8>>) =
                    redis::from_redis_value(answer).map_err(redis::RedisError::from)?;
                names.iter().filter_map(|name| self.key_of(name)).for_each(&mut *visit);
                if next == 0 {
                    break;
                }
                cursor = next;
            }
        }
        match self.masters().await? == masters {
            true => Ok(()),
            false => Err(RedisStoreError::Interrupted),
        }
    }
}

/// What the partitions behind the first have answered to a new session.
struct Fenced {
    /// The partition of the highest generation among those that would not go, and that generation.
    later: Option<(usize, u64)>,
    /// Whether all were closed by the session before.
    are_closed: bool,
}

impl AsyncStore for ClusterStore {
    type Key = [u8];
    type Value = Vec<u8>;
    type Error = RedisStoreError;

    async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, RedisStoreError> {
        Ok(self.query(cmd("GET").arg(self.full_key(key))).await?)
    }

    async fn contains(&self, key: &[u8]) -> Result<bool, RedisStoreError> {
        Ok(self.query(cmd("EXISTS").arg(self.full_key(key))).await?)
    }

    async fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, RedisStoreError> {
        let names: Vec<Vec<u8>> = keys.iter().map(|key| self.full_key(key)).collect();
        Ok(super::values_of(&self.connection, &names).await?)
    }

    /// Each key by itself, because a command or a pipeline goes to one slot: many at a time.
    async fn contains_batch(&self, keys: &[&[u8]]) -> Result<Vec<bool>, RedisStoreError> {
        let mut found = Vec::with_capacity(keys.len());
        for part in keys.chunks(SCRIPT_KEYS) {
            found.extend(try_join_all(part.iter().map(|key| self.contains(key))).await?);
        }
        Ok(found)
    }

    async fn scan(&self, mut visit: impl FnMut(&[u8]) + Send) -> Result<(), RedisStoreError> {
        for _ in 1..SCANS {
            match self.scan_once(&mut visit).await {
                Err(RedisStoreError::Interrupted) => {}
                ended => return ended,
            }
        }
        self.scan_once(&mut visit).await
    }
}

impl AsyncOwnedStore for ClusterStore {
    type NewValue = [u8];

    /// A command that timed out may still be on its way.
    const LATE_WRITES: bool = true;

    async fn claim(&self, owner: Owner, take_over: bool) -> Result<Claim, RedisStoreError> {
        let mut closed = None;
        // The highest generation of a record that would not go, and its partition.
        let (mut at, mut at_least) = (0, 0);
        loop {
            let (text, last) = self.record().await?;
            let is_ours = last.is_some_and(|last| last.session.owner == owner);
            if let Some(Record { session, state }) = last
                && !is_ours
            {
                if state != State::Closed && !take_over {
                    return Err(RedisStoreError::Owned { owner: session.owner });
                }
                closed = (state == State::Closed).then_some(session);
            }
            let Some(generation) = Record::next_generation(last, at_least) else {
                let key = self.record_key(at);
                let record: Option<String> = self.query(cmd("HGET").arg(&key).arg("owner")).await?;
                return Err(super::damaged(&key, &record.unwrap_or_default()));
            };
            let session = match last {
                // The answer to an earlier attempt was lost.
                Some(last) if is_ours && last.session.generation > at_least => last.session,
                _ => {
                    let session = Session { generation, owner };
                    if !self.replace(0, &text, Record::new(session, State::Open)).await? {
                        // Another owner was faster, or this one was.
                        continue;
                    }
                    session
                }
            };
            let Fenced { later, are_closed } = self.fence(session, closed).await?;
            let Some(later) = later else {
                // A master that has come back with older data has older records too.
                return Ok(Claim { session, closed: closed.filter(|_| are_closed) });
            };
            // Either another owner came later, whom the first record names, or the first record was lost.
            let (_, current) = self.record().await?;
            if current.is_none_or(|current| current.session.owner != owner) {
                return Err(RedisStoreError::LostClaim);
            }
            (at, at_least) = later;
            closed = None;
        }
    }

    async fn release(&self, claim: &Claim) -> Result<(), RedisStoreError> {
        let open = Record::new(claim.session, State::Open).to_string();
        let closed = Record::new(claim.session, State::Closed);
        // First those that decide nothing: when the last one is closed, nothing can be written any more.
        let others = (1..PARTITIONS).map(|partition| self.replace(partition, &open, closed));
        try_join_all(others).await?;
        if self.replace(0, &open, closed).await? {
            return Ok(());
        }
        // The answer to an earlier attempt may have been lost.
        match self.record().await?.1 == Some(closed) {
            true => Ok(()),
            false => Err(RedisStoreError::LostClaim),
        }
    }

    async fn put(
        &self,
        claim: &Claim,
        key: &[u8],
        value: &[u8],
    ) -> Result<Existed, RedisStoreError> {
        let existed = self.change_all(&self.put, claim, &[(key, Some(value))]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn put_batch(
        &self,
        claim: &Claim,
        entries: &[(&[u8], &[u8])],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let entries: Vec<_> = entries.iter().map(|(key, value)| (*key, Some(*value))).collect();
        self.change_all(&self.put, claim, &entries).await
    }

    async fn delete(&self, claim: &Claim, key: &[u8]) -> Result<Existed, RedisStoreError> {
        let existed = self.change_all(&self.delete, claim, &[(key, None)]).await?;
        Ok(existed.first().copied().unwrap_or(Existed::Unknown))
    }

    async fn delete_batch(
        &self,
        claim: &Claim,
        keys: &[&[u8]],
    ) -> Result<Vec<Existed>, RedisStoreError> {
        let entries: Vec<_> = keys.iter().map(|key| (*key, None)).collect();
        self.change_all(&self.delete, claim, &entries).await
    }

    fn is_lost_claim(error: &RedisStoreError) -> bool {
        matches!(error, RedisStoreError::LostClaim)
    }

    // No error is a refusal for certain. The client may have sent the command before without an answer, and that
    // attempt may still be on its way when a later one is refused.
}

impl fmt::Debug for ClusterStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefix.escape_ascii().to_string();
        f.debug_struct("ClusterStore").field("prefix", &prefix).finish_non_exhaustive()
    }
}

/// The partition of a key. It decides under which name the key is stored: the family never changes.
fn partition(key: &[u8]) -> usize {
    (crivo::KeyHasher::xxh3(0).digest(key).get() >> 56) as usize
}

/// A script that is sent to the master of its keys, when that does not have it. (The crate's own would
/// be loaded into all masters, of which one may be down.)
struct ClusterScript {
    code: &'static str,
    hash: String,
}

impl ClusterScript {
    fn new(code: &'static str) -> Self {
        Self { code, hash: Script::new(code).get_hash().to_owned() }
    }

    async fn run<T: FromRedisValue>(
        &self,
        connection: &ClusterConnection,
        keys: &[Vec<u8>],
        arguments: &[&[u8]],
    ) -> RedisResult<T> {
        let command = |name: &str, script: &str| {
            let mut command = cmd(name);
            command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        let mut connection = connection.clone();
        match command("EVALSHA", &self.hash).query_async(&mut connection).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                command("EVAL", self.code).query_async(&mut connection).await
            }
            answer => answer,
        }
    }
}

/// What a node says about itself in its answer to `CLUSTER NODES`.
#[derive(Debug, PartialEq, Eq)]
struct OwnNode {
    /// How many slots it serves.
    slots: u32,
    is_moving_slots: bool,
    /// Its identity, the number of its last change of slots, and its slots.
    description: String,
}

impl OwnNode {
    fn parse(nodes: &str) -> Option<Self> {
        let fields = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let is_own = |fields: &Vec<String>| {
            fields.get(2).is_some_and(|flags| flags.split(',').any(|flag| flag == "myself"))
        };
        let own = nodes.lines().map(fields).find(is_own)?;
        let [id, _, _, _, _, _, epoch, _, ranges @ ..] = &*own else { return None };
        let is_moving_slots = ranges.iter().any(|range| range.starts_with('['));
        let mut slots = 0;
        for range in ranges.iter().filter(|range| !range.starts_with('[')) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
            slots += (last < SLOTS).then(|| last.checked_sub(first))?? + 1;
        }
        let description = format!("{id} {epoch} {}", ranges.join(" "));
        Some(Self { slots, is_moving_slots, description })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_its_slots() {
        let nodes = "07c3 127.0.0.1:30004@31004 slave e7d1 0 1426238317239 4 connected\n\
                     e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 5500\n\
                     67ed 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected 5461-5499\n";
        let node = OwnNode::parse(nodes).unwrap();
        assert_eq!((node.slots, node.is_moving_slots), (5462, false));
        assert_eq!(node.description, "e7d1 1 0-5460 5500");
        let moving = nodes.replace("5500\n", "5500 [5500->-67ed]\n");
        let node = OwnNode::parse(&moving).unwrap();
        assert_eq!((node.slots, node.is_moving_slots), (5462, true));
        assert_eq!(OwnNode::parse("e7d1 127.0.0.1:30001@31001 master -"), None);
        for range in ["5-x", "5-4", "0-16384", "0-4294967295", "4294967295"] {
            let node = format!("e7d1 a myself,master - 0 0 1 connected {range}");
            assert_eq!(OwnNode::parse(&node), None, "{range}");
        }
    }

    /// The names are the format of stored data.
    #[test]
    fn partitions_of_keys_do_not_change() {
        let partitions = [b"".as_slice(), b"ana", b"rui"].map(partition);
        assert_eq!(partitions, [0x2d, 0x68, 0xcb]);
    }
}
