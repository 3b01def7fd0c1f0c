/** Inserts records, marks keys and records usage. */
import type { KeyRecord } from '../../core/record.js';
import type { Mark, UsageEntry } from '../../core/store.js';
import { within } from '../../core/thenable.js';
import { fieldsOf } from '../marks.js';
import { isText } from '../reads.js';
import type { Writes } from '../writes.js';
import { type Link, readFrom, runOn } from './client.js';
import { forEachInParts } from './concurrency.js';
import { leadsTo, readPointer } from './indexes.js';
import type { Settings } from './options.js';
import {
  entryOf,
  type Filing,
  filingsOf,
  formatField,
  type Keys,
  type MarkTimes,
  markFilingsOf,
  memberOf,
  parseField,
  toHash,
  USED_PREFIX,
} from './schema.js';
import { ANOTHER_ID, FILE, INSERT, MARK, TOUCH, WITHDRAW } from './scripts.js';

/**
 * How long to wait for a batch of usage. A client may never answer commands that were under way
 * when its connection was lost, and each batch waits for the one before, so usage would never be
 * written again.
 */
const TOUCH_MS = 30_000;

/** Makes the writing half of a store. */
export function createWrites({ link, usageLink, keys }: Settings): Writes {
  return {
    insert: (record) => insert(link, keys, record),
    mark: (keyId, change) => mark(link, keys, keyId, change),
    touch: (entries) => {
      const touching = forEachInParts(entries, (entry) => touchOne(usageLink, keys, entry));
      return within(TOUCH_MS, touching, giveUp, true);
    },
  };
}

function giveUp(): never {
  throw new Error(`redis: no answer within ${TOUCH_MS} ms`);
}

async function insert(link: Link, keys: Keys, record: KeyRecord): Promise<void> {
  const { keyId, digest } = record;
  const pointer = keys.pointer(keyId);
  const filings = filingsOf(keys, record);
  const entry = memberOf(entryOf(record));
  // Claims the key id. Only the caller that gets it writes the entries and the record.
  const claimed = await link.send(pointer, ['set', pointer, entry, 'NX']);
  if (claimed === null) throw new Error('keyscope: a key with this id exists already');
  await forEachInParts(filings, ({ index, member }) =>
    link.send(index, ['zadd', index, '0', member]),
  );
  const key = keys.record(digest);
  const owner = await runOn(link, key, INSERT, [key, keys.schema, ...toHash(record)]);
  if (owner === null) return;
  // If the id is ours, the client has sent this insert twice: the key exists, and its pointer and
  // entries must stay.
  if (owner !== formatField(keyId)) await removeFilings(link, filings, pointer);
  throw new Error('keyscope: a key with this digest exists already');
}

/** Removes the entries and the pointer of a record that does not exist, or no longer. */
export async function removeFilings(
  link: Link,
  filings: readonly Filing[],
  pointer: string,
): Promise<void> {
  await forEachInParts(filings, ({ index, member }) => link.send(index, ['zrem', index, member]));
  await link.send(pointer, ['del', pointer]);
}

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/** Writes a mark if its condition holds, and returns whether it did. */
async function mark(link: Link, keys: Keys, keyId: string, change: Mark): Promise<boolean> {
  const { script, args } = callOf(change);
  if (!isText(keyId)) return false;
  const entry = await readPointer(link, keys, keyId);
  if (entry === null) return false;
  // Filed first, so that no mark is missing from an index. An entry without its mark is skipped.
  const filings = markFilingsOf(keys, entry, timesOf(change));
  await Promise.all(filings.map(({ index, member }) => runOn(link, index, FILE, [member])));
  const record = keys.record(entry.digest);
  const answer = Number(await runOn(link, record, script, [formatField(keyId), ...args]));
  if (answer !== ANOTHER_ID) return answer === 1;
  // It is another key's record, or this one's with an edited id: a damaged key can be revoked, too.
  const edited = String((await readFrom(link, record, 'HGET', 'keyId')) ?? '');
  if (await leadsTo(link, keys, parseField(edited), entry.digest)) return false;
  return Number(await runOn(link, record, script, [edited, ...args])) === 1;
}

/** The times under which a mark is filed. A stored time that stays is filed already. */
function timesOf(change: Mark): MarkTimes {
  const { kind, at } = change;
  return {
    changedAt: at,
    revokedAt: kind === 'revoke' ? at : null,
    retireAt: kind === 'retire' ? change.retireAt : null,
  };
}

/** The script that writes a mark. */
interface Call {
  readonly script: string;
  /** The arguments after the key id. */
  readonly args: readonly string[];
}

function callOf(change: Mark): Call {
  const { kind, at } = change;
  if (kind === 'withdraw') {
    const { entityId } = change;
    return { script: WITHDRAW, args: [entityId, formatField(entityId), String(at)] };
  }
  const { withdrawn = [] } = kind === 'retire' ? change : {};
  const { replaces = null } = kind === 'revoke' ? change : {};
  const args: string[] = [kind, String(at), formatField(withdrawn), formatField(replaces)];
  for (const [field, value] of Object.entries(fieldsOf(change))) {
    // A caller without types may leave out a value that is null.
    args.push(field, formatField(value ?? null));
  }
  return { script: MARK, args };
}

// ── Usage ───────────────────────────────────────────────────────────────────────────────────────

async function touchOne(link: Link, keys: Keys, usage: UsageEntry): Promise<void> {
  const { keyId, lastUsedAt, scopesUsed } = usage;
  if (!isText(keyId)) return;
  const entry = await readPointer(link, keys, keyId);
  if (entry === null) return;
  const times = ['lastUsedAt', String(lastUsedAt)];
  for (const [scope, time] of Object.entries(scopesUsed)) {
    times.push(USED_PREFIX + scope, String(time));
  }
  await runOn(link, keys.record(entry.digest), TOUCH, [formatField(keyId), ...times]);
}
