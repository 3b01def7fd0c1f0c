/** The methods of the store that only read. */
import type { KeyRecord } from '../../core/record.js';
import type { ListQuery } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { createBatchedLookUps } from '../batched-look-ups.js';
import { isText } from '../bindable.js';
import { readChangesStart } from '../reads.js';
import type { Reads } from '../reads-and-writes.js';
import { readChanged, readRow, readSummary } from './answers.js';
import type { RunStatement } from './query.js';
import {
  readAllCursor,
  readExpiringStart,
  toSlice,
  writeAllCursor,
  writeExpiringCursor,
} from './slices.js';

type Reports = Pick<Reads, 'summarize' | 'listExpiring' | 'listAll' | 'listChanged'>;

type LookUps = Pick<Reads, 'findByDigest' | 'findById'>;

/**
 * An id is always a lower-case UUID. Anything else is never sent, because the type `uuid` would
 * refuse it or fold its case.
 *
 * @param maxQueries How many queries of look-ups are in flight at most; `null` sends each look-up
 *   by itself and at once.
 */
export function createReads(run: RunStatement, maxQueries: number | null): Reads {
  return {
    ...createLookUps(run, maxQueries),

    async list(query) {
      const { prefix, entityUuid, addressing } = query;
      if (!isUuid(entityUuid) || !isText(prefix)) return [];
      const rows = await run(addressing ? 'listAddressing' : 'list', ...listValues(query));
      return rows.map(readRow);
    },

    async listLineage(rootKeyId) {
      if (!isUuid(rootKeyId)) return [];
      const rows = await run('listLineage', rootKeyId);
      return rows.map(readRow);
    },

    ...createReports(run),
  };
}

/** What is read of the keys of all entities. */
function createReports(run: RunStatement): Reports {
  return {
    async summarize(now?: number) {
      const rows = await run('summarize', String(now ?? Date.now()));
      return rows.map(readSummary);
    },

    async listExpiring(query) {
      const { before, limit } = query;
      const { expiresAt, keyId } = readExpiringStart(query);
      const oneMore = String(limit + 1);
      const rows = await run('listExpiring', String(before), expiresAt, keyId, oneMore);
      return toSlice(rows.map(readRow), limit, writeExpiringCursor);
    },

    async listAll({ after, limit }) {
      const rows = await run('listAll', readAllCursor(after), String(limit + 1));
      return toSlice(rows.map(readRow), limit, writeAllCursor);
    },

    async listChanged(query) {
      const { changedAt, keyId } = readChangesStart(query);
      const rows = await run('listChanged', String(changedAt), keyId, String(query.limit));
      return readChanged(rows);
    },
  };
}

/** Looks for one name or several: a single one takes less time than a list. */
async function find(
  run: RunStatement,
  kind: 'findDigest' | 'findId',
  names: readonly string[],
): Promise<KeyRecord[]> {
  const first = names[0];
  if (first === undefined) return [];
  const isOnly = names.length === 1;
  const rows = isOnly ? await run(kind, first) : await run(`${kind}s`, JSON.stringify(names));
  return rows.map(readRow);
}

function createLookUps(run: RunStatement, maxQueries: number | null): LookUps {
  async function findDigests(digests: readonly string[]): Promise<KeyRecord[]> {
    const possible = digests.filter((digest) => isText(digest) && digest.isWellFormed());
    return find(run, 'findDigest', possible);
  }

  const findIds = (keyIds: readonly string[]) => find(run, 'findId', keyIds);
  return createBatchedLookUps({ digests: findDigests, ids: findIds }, maxQueries);
}

/** Behind any key of a listing: the largest 64-bit integer and the largest id. */
const END_OF_TIME = '9223372036854775807';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The parameters of `list`. Callers may leave out the position to start at the newest key. */
function listValues({ entityUuid, prefix, after, limit }: ListQuery): string[] {
  const createdAt = after ? String(after.createdAt) : END_OF_TIME;
  const keyId = after ? after.keyId : LAST_ID;
  return [entityUuid, prefix, createdAt, keyId, String(limit)];
}
