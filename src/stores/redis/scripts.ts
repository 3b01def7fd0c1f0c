/**
 * The scripts, each on one Redis key. They are sent as text each time, with EVAL: otherwise a
 * restart of the server would lose them, and a call would need a second attempt.
 *
 * Times stay text, because Lua would print 1e+15. They are compared as numbers, which Lua stores
 * exactly up to 2^53.
 *
 * Scripts that end a key or free memory may run when memory is full: a leaked key must still be
 * revocable.
 */

/**
 * Takes the names of the Redis key and of the schema, both without the `keyPrefix` of a client.
 * Refuses if the schema is missing: after SELECT or FLUSHALL, this is not the store's data.
 *
 * The schema is not in KEYS, because servers of a cluster reject keys of two slots. They reject
 * this EXISTS, too, so it does not notice that a shard was flushed.
 */
const REFUSE_IF_LOST = `
local keyPrefix = string.sub(KEYS[1], 1, -1 - #ARGV[1])
if redis.pcall('EXISTS', keyPrefix .. ARGV[2]) == 0 then
  return redis.error_reply('LOST this database does not have the data of keyscope')
end`;

/**
 * Takes what {@link REFUSE_IF_LOST} takes, a question's number and a read command without its Redis
 * key. Runs the command if this server is the primary. A replica, even one that was the primary a
 * moment ago, would accept revoked keys. The role is read in the same step. So are the policy of
 * eviction and the schema if the command finds nothing, because Redis may have lost the key.
 *
 * Declared to write nothing, so that reads go on while Redis rejects writes or holds them back, for
 * example because it lacks replicas, memory or a disk, or prepares a failover. `allow-stale` is not
 * declared.
 *
 * The question's number comes back with its answer: a client that has lost count of its answers
 * would return another key's, or one from before a revocation.
 */
export const READ: string = `#!lua flags=no-writes
if not string.find(redis.call('INFO', 'replication'), '\\nrole:master\\r', 1, true) then
  return redis.error_reply('READONLY keys are not read from a replica')
end
local answer = redis.call(ARGV[4], KEYS[1], unpack(ARGV, 5))
if not answer or #answer == 0 then
  local policy = string.match(redis.call('INFO', 'memory'), '\\nmaxmemory_policy:(%S+)') or ''
  if policy ~= 'noeviction' and not string.find(policy, '^volatile%-') then
    return redis.error_reply('EVICTION this server may have evicted the key')
  end${REFUSE_IF_LOST}
end
return {ARGV[3], answer}`;

/**
 * Takes a version and the oldest reader. Writes them unless some are stored; returns the stored
 * ones.
 */
export const WRITE_VERSION = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'min_reader', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'min_reader')`;

/**
 * Takes what {@link REFUSE_IF_LOST} takes, and alternating fields and values. Returns the id of the
 * key that already has this digest, or nothing if the record was written.
 */
export const INSERT: string = `${REFUSE_IF_LOST}
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('HGET', KEYS[1], 'keyId') or '' end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
return false`;

/** Adds an entry to an index. */
export const FILE = `#!lua flags=allow-oom
return redis.call('ZADD', KEYS[1], '0', ARGV[1])`;

/** Returns the later of a stored time and another, or the other if the stored one is not a time. */
const LATER = `
local function later(stored, at)
  local time = tonumber(string.match(stored or '', '^-?%d+$'))
  if time and time > tonumber(at) then return stored end
  return at
end`;

/** The answer of {@link MARK} and {@link WITHDRAW} if the record has another key id. */
export const ANOTHER_ID = -1;

/**
 * Takes the key id, the kind, the time, `withdrawn` as a retirement expects it, the seal that a
 * revocation replaces, then alternating fields and values. Writes these if the mark's condition
 * holds, and returns whether it does.
 *
 * A mark or a seal that this store cannot have written does not keep a key from being revoked.
 */
export const MARK: string = `#!lua flags=allow-oom${LATER}
local fields = redis.call('HMGET', KEYS[1],
  'keyId', 'revokedAt', 'suspendedAt', 'retireAt', 'withdrawn', 'seal', 'changedAt')
local keyId, revokedAt, suspendedAt, retireAt, withdrawn, seal, changedAt = unpack(fields)
local kind, at, replaces = ARGV[2], ARGV[3], ARGV[5]
if not keyId and redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if (keyId or '') ~= ARGV[1] then return ${ANOTHER_ID} end
if kind == 'revoke' then
  local isMark = string.match(revokedAt or '', '^-?%d+$')
  local isSeal = seal == 'null' or string.match(seal or '', '^"%x+"$')
  if replaces == 'null' and isMark and isSeal then return 0 end
  if replaces ~= 'null' and (revokedAt == 'null' or seal ~= replaces) then return 0 end
  if not isMark then revokedAt = at end
elseif revokedAt ~= 'null' then
  return 0
end
if kind == 'suspend' and suspendedAt ~= 'null' then return 0 end
if kind == 'resume' and suspendedAt == 'null' then return 0 end
if kind == 'retire' then
  if suspendedAt ~= 'null' or retireAt ~= 'null' then return 0 end
  if withdrawn ~= ARGV[4] then return 0 end
end
changedAt = later(changedAt, at)
redis.call('HSET', KEYS[1], 'revokedAt', revokedAt, 'changedAt', changedAt, unpack(ARGV, 6))
return 1`;

/**
 * Takes the key id, the entity, the entity as JSON, and the time. Returns whether it added the
 * entity. The list is parsed only to look for the entity. It is written as its old text with one
 * more item, because Lua would spell some texts differently.
 */
export const WITHDRAW: string = `#!lua flags=allow-oom${LATER}
local fields = redis.call('HMGET', KEYS[1], 'keyId', 'withdrawn', 'changedAt')
local keyId, withdrawn, changedAt = unpack(fields)
if (keyId or '') ~= ARGV[1] then return ${ANOTHER_ID} end
local items = string.match(withdrawn or '', '^%[(.*)%]$')
local isJson, list = pcall(cjson.decode, withdrawn)
if not items or not isJson then return 0 end
for _, entity in ipairs(list) do
  if entity == ARGV[2] then return 0 end
end
if items ~= '' then items = items .. ',' end
withdrawn = '[' .. items .. ARGV[3] .. ']'
redis.call('HSET', KEYS[1], 'withdrawn', withdrawn, 'changedAt', later(changedAt, ARGV[4]))
return 1`;

/**
 * Takes the key id, then alternating fields and times. `pcall` skips a Redis key of another type.
 * Any other error is returned, for example a command that the user may not run.
 */
export const TOUCH = `
local keyId = redis.pcall('HGET', KEYS[1], 'keyId')
if type(keyId) == 'table' and not string.find(keyId.err, 'WRONGTYPE', 1, true) then return keyId end
if keyId ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  local old = tonumber(redis.call('HGET', KEYS[1], ARGV[i]))
  if not old or old < tonumber(ARGV[i + 1]) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1`;

/**
 * Takes the key id and a time. Deletes a record that was created, last changed and ended before the
 * time; returns whether it did. A record with an invalid time stays.
 */
export const PURGE = `#!lua flags=allow-oom
local fields = redis.call('HMGET', KEYS[1],
  'keyId', 'createdAt', 'changedAt', 'revokedAt', 'retireAt', 'expiresAt')
if fields[1] ~= ARGV[1] then return 0 end
local hasEnded = false
for i = 2, 6 do
  if fields[i] ~= 'null' then
    local time = tonumber(string.match(fields[i] or '', '^-?%d+$'))
    if not time then return 0 end
    local isBefore = time < tonumber(ARGV[2])
    if i <= 3 and not isBefore then return 0 end
    if i > 3 and isBefore then hasEnded = true end
  end
end
if not hasEnded then return 0 end
return redis.call('DEL', KEYS[1])`;
