/** The methods that write. */
import { isEntityId } from '../../core/entity.js';
import type { Mark, UsageEntry } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { usageBatches, type Writes } from '../writes.js';
import { isLockTimeout } from './errors.js';
import type { RunStatement } from './query.js';

/** Makes the writing half of a store. It sends only possible ids. */
export function createWrites(run: RunStatement): Writes {
  return {
    // The primary key and the digest's UNIQUE reject duplicates.
    async insert(record) {
      await run('insert', JSON.stringify(record));
    },

    async mark(keyId, mark) {
      if (!isUuid(keyId)) return false;
      const rows = await writeMark(run, keyId, mark);
      return rows.length === 1;
    },

    async touch(entries) {
      const held = await writeUsage(run, 'touch', entries);
      if (held.length === 0) return;
      // Another process may have held some of them only briefly.
      try {
        await writeUsage(run, 'touchHeld', held);
      } catch (error) {
        if (isLockTimeout(error)) await writeUsage(run, 'touch', held);
        throw error;
      }
    },
  };
}

/** Writes usage, and returns the entries of keys whose rows other transactions hold. */
async function writeUsage(
  run: RunStatement,
  name: 'touch' | 'touchHeld',
  entries: readonly UsageEntry[],
): Promise<readonly UsageEntry[]> {
  const held = new Set<unknown>();
  for (const batch of usageBatches(entries, isUuid)) {
    const [keyIds = []] = await run(name, batch);
    for (const keyId of keyIds as readonly unknown[]) held.add(keyId);
  }
  return entries.filter(({ keyId }) => held.has(keyId));
}

/** Writes a mark. Callers without types may leave out fields that can be null or empty. */
async function writeMark(
  run: RunStatement,
  keyId: string,
  mark: Mark,
): Promise<readonly unknown[]> {
  // A separate text, which the server rejects if it is not a time; in JSON, it would be null.
  const at = String(mark.at);
  switch (mark.kind) {
    case 'revoke': {
      const { by, reason, seal, replaces } = mark;
      return run('revoke', keyId, at, JSON.stringify({ by, reason, seal, replaces }));
    }
    case 'suspend': {
      const { by, reason } = mark;
      return run('suspend', keyId, at, JSON.stringify({ by, reason }));
    }
    case 'resume':
      return run('resume', keyId, at);
    case 'retire': {
      const { by, reason } = mark;
      const retireAt = String(mark.retireAt);
      const withdrawn = (mark.withdrawn ?? []).join();
      return run('retire', keyId, at, JSON.stringify({ by, reason }), retireAt, withdrawn);
    }
    case 'withdraw':
      return isEntityId(mark.entityId) ? run('withdraw', keyId, at, mark.entityId) : [];
    default:
      throw new TypeError('mark: kind: pass revoke, suspend, resume, retire or withdraw');
  }
}
