/**
 * The keys of the benchmark's stores: a row that a server made of a number is the record that the
 * benchmark means, and its listings have it.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { MARIADB } from '../../bench/stores/mariadb.ts';
import { POSTGRES } from '../../bench/stores/postgres.ts';
import {
  ADDRESSED,
  ADDRESSING,
  BEFORE_ALL_ENDS,
  digestOf,
  KINDS,
  LARGE,
  recordOf,
} from '../../bench/stores/records.ts';
import { REDIS } from '../../bench/stores/redis.ts';
import { openSqlite, SQLITE } from '../../bench/stores/sqlite.ts';
import type { Target } from '../../bench/stores/target.ts';
import { isMariadb } from '../support/mysql-clients.ts';
import { describeOn } from '../support/servers.ts';

/** Keys of every kind, of the large organization and of others. */
const KEYS = 110;
const ALL = Array.from({ length: KEYS }, (_, index) => recordOf(index));

function idsWhere(isWanted: (index: number) => boolean): readonly string[] {
  return ALL.filter((_, index) => isWanted(index)).map(({ keyId }) => keyId);
}

function suite(target: Target): () => void {
  return () => {
    it('has every key of a filled table in its row and in its listings', async () => {
      const { store, purge, purgeReads, watched, log, close } = await target.open(KEYS);
      onTestFinished(async () => void (await close()));
      for (const [index, record] of ALL.entries()) {
        expect(await store.findByDigest([digestOf(index)])).toEqual([record]);
      }
      expect(await store.findByDigest([digestOf(KEYS)])).toEqual([]);
      const asked = { prefix: recordOf(0).prefix, after: null, limit: KEYS };
      const own = await store.list({ ...asked, entityId: LARGE });
      const ofLarge = idsWhere((index) => Math.floor(index / KINDS) % 5 === 0);
      expect(own.map(({ keyId }) => keyId)).toEqual(ofLarge.toReversed());
      const others = await store.list({ ...asked, entityId: ADDRESSED, addressing: true });
      const addressing = idsWhere((index) => index % KINDS === ADDRESSING);
      expect(others.map(({ keyId }) => keyId)).toEqual(addressing.toReversed());
      const query = { rootKeyId: recordOf(40).keyId, after: null, limit: KEYS };
      const lineage = await store.listLineage(query);
      expect(lineage.map(({ keyId }) => keyId)).toEqual(
        [40, 41, 42].map((index) => recordOf(index).keyId),
      );
      expect(await purge(new Date(BEFORE_ALL_ENDS))).toEqual([]);
      expect(await watched.summarize()).toMatchObject([{ live: 0.8 * KEYS }]);
      expect(log.times.length).toBeGreaterThan(0);
      if (purgeReads !== undefined) expect(await purgeReads()).toBeGreaterThan(0);
    });
  };
}

describe('SQLite', suite(SQLITE));
describe(
  'better-sqlite3',
  suite({ ...SQLITE, open: (count) => openSqlite(count, 'better-sqlite3') }),
);
(await describeOn('postgres'))('PostgreSQL', suite(POSTGRES));
(isMariadb ? await describeOn('mysql') : describe.skip)('MariaDB', suite(MARIADB));
(await describeOn('redis'))('Redis', suite(REDIS));
