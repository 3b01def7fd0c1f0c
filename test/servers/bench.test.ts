/**
 * The keys of the benchmark's stores: a row that the server generates from a number is the record
 * that the benchmark expects. After a change to the schema's columns, it had filled no table any
 * more.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, recordOf } from '../../bench/stores/keys.ts';
import { MARIADB } from '../../bench/stores/mariadb.ts';
import { POSTGRES } from '../../bench/stores/postgres.ts';
import { REDIS } from '../../bench/stores/redis.ts';
import { SQLITE } from '../../bench/stores/sqlite.ts';
import type { Target } from '../../bench/stores/target.ts';
import { describeOn } from '../support/servers.ts';

const KEYS = 20;

function suite(target: Target): () => void {
  return () => {
    it('finds every key of a filled table, through the store and the bare driver', async () => {
      const filled = await target.open(KEYS);
      onTestFinished(async () => void (await filled.close()));
      const store = filled.store(false);
      for (let index = 0; index < KEYS; index++) {
        const record = recordOf(index);
        expect(await store.findByDigest([digestOf(index)])).toEqual([record]);
        expect(JSON.stringify(await filled.bare(digestOf(index)))).toContain(record.keyId);
      }
      expect(await store.findByDigest([digestOf(KEYS)])).toEqual([]);
    });
  };
}

describe('SQLite', suite(SQLITE));
(await describeOn('postgres'))('PostgreSQL', suite(POSTGRES));
(await describeOn('mysql'))('MariaDB', suite(MARIADB));
(await describeOn('redis'))('Redis', suite(REDIS));
