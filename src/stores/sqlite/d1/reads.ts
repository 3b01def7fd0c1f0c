/** The methods that read, each in a session of its own that begins at the primary. */
import type { KeyRecord } from '../../../core/record.js';
import type { ChangedKey, ListPosition, SchemeSummary } from '../../../core/store.js';
import { batchLookUps } from '../../look-ups.js';
import { readChangesStart } from '../../reads.js';
import type { Reads } from '../../reads-and-writes.js';
import { createRowReader, toRecord } from '../../rows.js';
import { readAllCursor, readExpiringStart, toAllSlice, toExpiringSlice } from '../slices.js';
import { STATEMENTS } from '../statements.js';
import type { D1Client } from './client.js';
import { isSendable, query } from './client.js';

// ── Records ─────────────────────────────────────────────────────────────────────────────────────

/**
 * A position before every record. Parameters are sent as JSON, which has no infinity, so the time
 * is the largest number.
 */
const BEGINNING: ListPosition = { createdAt: Number.MAX_VALUE, keyId: '' };

/** The methods that requests and management call. */
type LookUps = Pick<Reads, 'findByDigest' | 'findById' | 'list' | 'listLineage'>;

function createLookUps(db: D1Client, batch: boolean): LookUps {
  const read = createRowReader();

  async function find(digests: readonly string[]): Promise<readonly KeyRecord[]> {
    const asked = digests.filter(isSendable);
    const [only] = asked;
    if (only === undefined) return [];
    // A list is one parameter: D1 accepts at most 100.
    const rows =
      asked.length === 1
        ? await query(db, STATEMENTS.findOneDigest, only)
        : await query(db, STATEMENTS.findDigests, JSON.stringify(asked));
    return rows.map(read);
  }

  const lookUp = batch ? batchLookUps(find) : find;

  return {
    findByDigest: (digests) => lookUp(digests),

    async findById(keyId) {
      if (!isSendable(keyId)) return null;
      const rows = await query(db, STATEMENTS.findById, keyId);
      return rows.length > 0 ? toRecord(rows[0]) : null;
    },

    async list({ prefix, entityUuid, addressing = false, after, limit }) {
      if (!isSendable(entityUuid) || !isSendable(prefix)) return [];
      const { createdAt, keyId } = after ?? BEGINNING;
      const list = addressing ? STATEMENTS.listAddressing : STATEMENTS.list;
      const rows = await query(db, list, entityUuid, prefix, createdAt, keyId, limit);
      return rows.map(toRecord);
    },

    async listLineage(rootKeyId) {
      if (!isSendable(rootKeyId)) return [];
      const rows = await query(db, STATEMENTS.listLineage, rootKeyId);
      return rows.map(toRecord);
    },
  };
}

// ── Listings over all entities ──────────────────────────────────────────────────────────────────

function createReports(db: D1Client): Omit<Reads, keyof LookUps> {
  return {
    async summarize(now?: number) {
      const time = now ?? Date.now();
      const rows = await query(db, STATEMENTS.summarize, time, time);
      return rows as readonly SchemeSummary[];
    },

    async listExpiring(asked) {
      const { before, limit } = asked;
      const { expiresAt, keyId } = readExpiringStart(asked);
      // One more row tells whether there is a next part.
      const rows = await query(db, STATEMENTS.listExpiring, before, expiresAt, keyId, limit + 1);
      return toExpiringSlice(rows, limit);
    },

    async listAll({ after, limit }) {
      const rows = await query(db, STATEMENTS.listAll, readAllCursor(after), limit + 1);
      return toAllSlice(rows, limit);
    },

    async listChanged(asked) {
      const { changedAt, keyId } = readChangesStart(asked);
      const rows = await query(db, STATEMENTS.listChanged, changedAt, keyId, asked.limit);
      return rows as readonly ChangedKey[];
    },
  };
}

export function createReads(db: D1Client, batch: boolean): Reads {
  return { ...createLookUps(db, batch), ...createReports(db) };
}
