/** The methods of the store that write. */
import type { Mark, UsageEntry } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { usageBatches, type Writes } from '../writes.js';
import { isLockTimeout } from './errors.js';
import type { RunStatement } from './query.js';

/** Anything but a lower-case UUID is never sent as an id. */
export function createWrites(run: RunStatement): Writes {
  return {
    // Duplicates are refused by the primary key and by the digest's UNIQUE.
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
      // Another process may have held some of them for a moment.
      try {
        await writeUsage(run, 'touchHeld', held);
      } catch (error) {
        if (isLockTimeout(error)) await writeUsage(run, 'touch', held);
        throw error;
      }
    },
  };
}

/** Writes usage, and returns the entries of keys whose rows somebody else holds. */
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

/** Callers without types may leave out what can be null or empty. */
async function writeMark(
  run: RunStatement,
  keyId: string,
  mark: Mark,
): Promise<readonly unknown[]> {
  // A text of its own, which the server refuses if it is no time; in JSON that would be null.
  const at = String(mark.at);
  switch (mark.kind) {
    case 'revoke': {
      const { by, reason, seal } = mark;
      return run('revoke', keyId, at, JSON.stringify({ by, reason, seal }));
    }
    case 'suspend': {
      const { by, reason } = mark;
      return run('suspend', keyId, at, JSON.stringify({ by, reason }));
    }
    case 'resume':
      return run('resume', keyId, at);
    case 'retire': {
      const { by, reason } = mark;
      const changedAt = String(mark.changedAt ?? mark.at);
      const withdrawn = (mark.withdrawn ?? []).join();
      return run('retire', keyId, at, JSON.stringify({ by, reason }), changedAt, withdrawn);
    }
    case 'withdraw':
      return isUuid(mark.entityUuid) ? run('withdraw', keyId, at, mark.entityUuid) : [];
  }
}
