import { setTimeout as sleep } from 'node:timers/promises';
import type { Mark } from 'keyscope';
import { type PgQuery, postgresStore } from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import { OTHER, THIRD } from '../../support/keyring.ts';
import { pgClient, pgPool, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describePostgres,
  RECORD,
  using,
  value,
} from '../../support/postgres-place.ts';

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('a mark', () => {
    const used = using(kind);
    let made = 0;

    /** Marks a new key, and returns whether the mark was written, and the row. */
    async function mark(...marks: readonly object[]) {
      made += 1;
      const record = another(made);
      await used.store.insert(record);
      const written: boolean[] = [];
      for (const each of marks) written.push(await used.store.mark(record.keyId, each as Mark));
      return { record, written, row: await used.store.findById(record.keyId) };
    }

    test('has null for fields that a caller without types omits', async () => {
      const left: Readonly<Record<string, object>> = {
        revoke: { revokedAt: 5, seal: null },
        suspend: { suspendedAt: 5 },
        retire: { retireAt: 5 },
      };
      for (const [name, changes] of Object.entries(left)) {
        for (const nothing of [{}, { by: undefined, reason: undefined, seal: undefined }]) {
          const { record, written, row } = await mark({
            kind: name,
            at: 5,
            retireAt: 5,
            ...nothing,
          });
          const changed = { endedBy: null, endReason: null, changedAt: 5 };
          expect(written, name).toEqual([true]);
          expect(row, name).toEqual({ ...record, ...changed, ...changes });
        }
      }
      const { row } = await mark({ kind: 'retire', at: 5, retireAt: 6, withdrawn: null });
      expect(row).toMatchObject({ retireAt: 6, changedAt: 5 });
      // Neither null nor an absent `replaces` is the seal of a row that has none.
      const bare = { kind: 'revoke', at: 5 };
      const { written } = await mark(bare, bare, { ...bare, replaces: null });
      expect(written).toEqual([true, false, false]);
    });

    test('keeps texts unchanged', async () => {
      for (const text of ['ada é🦊', '', 'a\'b"c\\d$1', '007', 'null', '{"by":1}', ' ']) {
        const ending = { at: 5, retireAt: 5, by: text, reason: `${text}!`, seal: text };
        for (const name of ['revoke', 'suspend', 'retire']) {
          const { row } = await mark({ kind: name, ...ending });
          expect(row).toMatchObject({ endedBy: text, endReason: `${text}!` });
          if (name === 'revoke') expect(row).toMatchObject({ seal: text });
        }
      }
    });

    // A revocation without a time would look as if it had been written.
    test('is written at a valid time, or not at all', async () => {
      const odd = [undefined, null, Number.NaN, 1.5, Number.POSITIVE_INFINITY, 8.64e15 + 1, 'soon'];
      for (const name of ['revoke', 'suspend', 'retire', 'resume', 'withdraw']) {
        for (const at of odd) {
          const record = another(made + 1_000);
          made += 1;
          const suspended = name === 'resume' ? { suspendedAt: 1 } : {};
          await used.store.insert({ ...record, ...suspended });
          const given = { kind: name, at, retireAt: at, by: null, reason: null, entityId: OTHER };
          const only = name === 'retire' ? { ...given, at: 5 } : given;
          for (const each of [given, only]) {
            const asked = async () => used.store.mark(record.keyId, each as unknown as Mark);
            await expect(asked(), `${name} at ${at}`).rejects.toThrow('keyscope: PostgreSQL');
          }
          expect(await used.store.findById(record.keyId)).toEqual({ ...record, ...suspended });
        }
      }
    });

    test('of an unknown kind throws, and writes nothing', async () => {
      const record = another(2_000);
      await used.store.insert(record);
      for (const kind of ['delete', 'constructor', '', undefined]) {
        const asked = async () => used.store.mark(record.keyId, { kind, at: 5 } as unknown as Mark);
        await expect(asked(), String(kind)).rejects.toThrow('kind: pass revoke, suspend');
      }
      expect(await used.store.findById(record.keyId)).toEqual(record);
    });

    test('retires only if the withdrawals are as they were read', async () => {
      const withdrawals = [OTHER, THIRD].map((entityId) => ({ kind: 'withdraw', at: 1, entityId }));
      const retire = { kind: 'retire', at: 2, retireAt: 2, by: null, reason: null };
      const others = [undefined, [], [OTHER], [THIRD, OTHER], [OTHER, THIRD, OTHER], ['x', 'y']];
      for (const withdrawn of others) {
        const { written } = await mark(...withdrawals, { ...retire, withdrawn });
        expect(written, String(withdrawn)).toEqual([true, true, false]);
      }
      const { row } = await mark(...withdrawals, { ...retire, withdrawn: [OTHER, THIRD] });
      expect(row).toMatchObject({ retireAt: 2, withdrawn: [OTHER, THIRD] });
    });
  });
});

describePostgres('usage', () => {
  // One transaction left open took all connections of the pool: every few seconds another write of
  // usage waited on one.
  test('gives up on a key whose row is locked, and frees its connection', async () => {
    await alone('pg Client', async ({ client, sql, schema }) => {
      const store = postgresStore(client);
      const free = another(1);
      for (const record of [RECORD, free]) await store.insert(record);
      const holder = await pgClient(schema.settings);
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM keyscope_keys WHERE key_id = '${RECORD.keyId}' FOR UPDATE`);
      const use = { lastUsedAt: 5, scopesUsed: {} };
      const batch = [RECORD, free].map(({ keyId }) => ({ keyId, ...use }));
      const told = 'keyscope: PostgreSQL: canceling statement due to lock timeout';
      const before = performance.now();
      await expect(async () => store.touch(batch)).rejects.toThrow(told);
      // About 500 ms on an idle machine.
      expect(performance.now() - before).toBeLessThan(5_000);
      expect(await store.findById(free.keyId)).toMatchObject({ lastUsedAt: 5 });
      await holder.query('ROLLBACK');
      await holder.end();
      await store.touch(batch);
      expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 5 });
      // Only for that statement: the connection is unchanged.
      const rows = await (client as unknown as { query(text: string): Promise<unknown> }).query(
        'SHOW lock_timeout',
      );
      expect(rows).toMatchObject({ rows: [{ lock_timeout: '0' }] });
      expect(await value(sql, 'SELECT count(*)::int FROM keyscope_keys')).toBe(2);
    });
  });
});

describePostgres('a transaction left open on a pooled connection', () => {
  // A revocation on it was acknowledged, and rolled back with it.
  test('ends with the connection, which the pool reports, and another one is used', async () => {
    await alone('pg Pool of 10', async ({ schema, sql }) => {
      const told: unknown[] = [];
      const pool = pgPool(schema.settings, { max: 3 }).on('error', ({ message }) => {
        told.push(message);
      });
      const store = postgresStore(pool);
      await store.insert(RECORD);
      const loans = await Promise.all([1, 2, 3].map(() => pool.connect()));
      for (const loan of loans) {
        await loan.query('BEGIN');
        await loan.query('CREATE TEMP TABLE unfinished (a int)');
        loan.release();
      }
      const revoke = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
      expect(await store.mark(RECORD.keyId, revoke)).toBe(true);
      expect(await value(sql, 'SELECT revoked_at::int FROM keyscope_keys')).toBe(5);
      expect(await store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5 });
      const left = /^keyscope: PostgreSQL: a connection was given back .* so keyscope ends it/;
      expect(told).toHaveLength(3);
      for (const message of told) expect(message).toMatch(left);
      await pool.end();
    });
  });

  test('fails a write if BEGIN was still on its way', async () => {
    await alone('pg Pool of 10', async ({ schema, sql }) => {
      const pool = pgPool(schema.settings, { max: 1 });
      const store = postgresStore(pool);
      await store.insert(RECORD);
      const loan = await pool.connect();
      const begun = loan.query('BEGIN');
      loan.release();
      const revoke = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
      const refused = 'in the middle of a transaction that';
      await expect(async () => store.mark(RECORD.keyId, revoke)).rejects.toThrow(refused);
      await begun;
      expect(await value(sql, 'SELECT revoked_at FROM keyscope_keys')).toBe(null);
      expect(await store.mark(RECORD.keyId, revoke)).toBe(true);
      await pool.end();
    });
  });

  // Like a connection of an older pg or another kind, which cannot report it.
  test('is rejected by look-ups and by every write, with the reason', async () => {
    await alone('pg Pool of 10', async ({ schema }) => {
      const pool = pgPool(schema.settings, { max: 1 });
      const store = postgresStore({ connect() {}, query: (asked: PgQuery) => pool.query(asked) });
      await store.insert(RECORD);
      await pool.query('BEGIN');
      await sleep(1_100);
      const use = { keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} };
      const revoke = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
      const refused = [
        () => store.findByDigest([RECORD.digest]),
        () => store.findById(RECORD.keyId),
        () => store.listChanged({ since: 0, limit: 1 }),
        () => store.mark(RECORD.keyId, revoke),
        () => store.mark(RECORD.keyId, { kind: 'withdraw', at: 5, entityId: OTHER }),
        () => store.insert(another(1)),
        () => store.touch([use]),
      ];
      for (const act of refused) {
        await expect(async () => act()).rejects.toThrow('in the middle of a transaction that');
        await pool.query('ROLLBACK');
        await pool.query('BEGIN');
        await sleep(1_100);
      }
      await pool.query('ROLLBACK');
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      expect(await store.mark(RECORD.keyId, revoke)).toBe(true);
      await pool.end();
    });
  });

  test('is not confused with a write that waits for a lock', async () => {
    await alone('pg Pool of 10', async ({ client, schema }) => {
      const store = postgresStore(client);
      await store.insert(RECORD);
      const holder = await pgClient(schema.settings);
      await holder.query('BEGIN');
      await holder.query(`SELECT FROM keyscope_keys WHERE key_id = '${RECORD.keyId}' FOR UPDATE`);
      const revoke = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
      const revoked = store.mark(RECORD.keyId, revoke);
      await sleep(1_500);
      await holder.query('COMMIT');
      expect(await revoked).toBe(true);
      await holder.end();
    });
  });
});
