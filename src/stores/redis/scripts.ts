/**
 * The three scripts, each on one record. They are sent as text each time, with EVAL: otherwise a
 * restart of the server would lose them, and a call would need a second attempt.
 *
 * Times stay text, because Lua would print 1e+15. They are compared as numbers, which Lua stores
 * exactly up to 2^53.
 */

/** Returns the id of the key that already has this digest, or nothing if the record was written. */
export const INSERT = `
if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('HGET', KEYS[1], 'keyId') or '' end
redis.call('HSET', KEYS[1], unpack(ARGV))
return false`;

/** Key id, mark, time. Allowed when memory is full: a leaked key must still be revocable. */
export const MARK_ENDED = `#!lua flags=allow-oom
local fields = redis.call('HMGET', KEYS[1], 'keyId', 'revokedAt', 'retireAt')
local keyId, revokedAt, retireAt = unpack(fields)
if keyId ~= ARGV[1] then return 0 end
if revokedAt ~= 'null' then return 0 end
if ARGV[2] == 'retireAt' and retireAt ~= 'null' then return 0 end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1`;

/**
 * Key id, then fields and times by turns. With `pcall`, so that a Redis key of another type is
 * skipped.
 */
export const TOUCH = `
if redis.pcall('HGET', KEYS[1], 'keyId') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 2 do
  local old = tonumber(redis.call('HGET', KEYS[1], ARGV[i]))
  if not old or old < tonumber(ARGV[i + 1]) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1`;
