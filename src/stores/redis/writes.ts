/** Inserts records, ends keys and records usage. */
import type { KeyRecord } from '../../core/record.js';
import type { Ending, UsageEntry } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Writes } from '../reads-and-writes.js';
import { forEachInParts } from './concurrency.js';
import { toHash, USED_PREFIX } from './fields.js';
import { type Keys, memberOf } from './layout.js';
import type { Link } from './link.js';
import { INSERT, MARK_ENDED, TOUCH } from './scripts.js';

/** The methods of the store that write. */
export function createWrites(link: Link, keys: Keys): Writes {
  return {
    insert: (record) => insert(link, keys, record),
    markEnded: (keyId, ending) => markEnded(link, keys, keyId, ending),
    touch: (entries) => forEachInParts(entries, (entry) => touchOne(link, keys, entry)),
  };
}

async function insert(link: Link, keys: Keys, record: KeyRecord): Promise<void> {
  const { keyId, digest, entityUuid } = record;
  const pointer = keys.pointer(keyId);
  const index = keys.index(entityUuid);
  const member = memberOf(record);
  // Claims the key id. Only the caller that gets it writes the index entry and the record.
  const claimed = await link.send(pointer, ['SET', pointer, digest, 'NX']);
  if (claimed === null) throw new Error('keyscope: a key with this id exists already');
  await link.send(keys.entities, ['ZADD', keys.entities, '0', entityUuid]);
  await link.send(index, ['ZADD', index, '0', member]);
  const owner = await runOn(link, keys.record(digest), INSERT, toHash(record));
  if (owner === null) return;
  // If the id is ours, the client has sent this insert twice: the key exists, and its pointer and
  // entry must stay.
  const isSentTwice = owner === JSON.stringify(keyId);
  if (!isSentTwice) {
    await link.send(index, ['ZREM', index, member]);
    await link.send(pointer, ['DEL', pointer]);
  }
  throw new Error('keyscope: a key with this digest exists already');
}

async function markEnded(link: Link, keys: Keys, keyId: string, ending: Ending): Promise<boolean> {
  const args =
    'revokedAt' in ending
      ? ['revokedAt', String(ending.revokedAt)]
      : ['retireAt', String(ending.retireAt)];
  return (await runOnRecord(link, keys, keyId, MARK_ENDED, args)) === 1;
}

async function touchOne(link: Link, keys: Keys, entry: UsageEntry): Promise<void> {
  const times = ['lastUsedAt', String(entry.lastUsedAt)];
  for (const [scope, time] of Object.entries(entry.scopesUsed)) {
    times.push(USED_PREFIX + scope, String(time));
  }
  await runOnRecord(link, keys, entry.keyId, TOUCH, times);
}

/** Runs a script on the record of a key id; 0 if there is none. The script checks the id again. */
async function runOnRecord(
  link: Link,
  keys: Keys,
  keyId: unknown,
  script: string,
  args: readonly string[],
): Promise<number> {
  if (!isText(keyId)) return 0;
  const pointer = keys.pointer(keyId);
  const digest = await link.send(pointer, ['GET', pointer]);
  if (digest === null) return 0;
  const record = keys.record(String(digest));
  return Number(await runOn(link, record, script, [JSON.stringify(keyId), ...args]));
}

/** Runs a script on one Redis key. */
function runOn(link: Link, key: string, script: string, args: readonly string[]): Promise<unknown> {
  return link.send(key, ['EVAL', script, '1', key, ...args]);
}
