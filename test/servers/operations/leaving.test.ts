/**
 * Leaving keyscope, on docs/migrating.md: the printed code finds the keys of keyscope without
 * keyscope, and only while they work.
 */
import type { Pepper } from 'keyscope';
import { migrate, postgresStore } from 'keyscope/stores/postgres';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AUTHORITY, HOUR, PEPPER, PLAIN, START, setUp } from '../../support/keyring.ts';
import { emptySchema, pgPool, type Schema } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';
import { type PepperVector, pepperOf, readVectors, type Vector } from '../../support/vectors.ts';

interface Printed {
  queryFor(
    key: string,
    pepper?: Pepper,
  ): { readonly text: string; readonly values: readonly string[] } | null;
}

type KeyVector = Vector & { readonly key: string; readonly result: string };
type DigestVector = KeyVector & { readonly pepper: PepperVector | null };

describePostgres('the code for leaving in docs/migrating.md', () => {
  let recipes: Recipes;
  let queryFor: Printed['queryFor'];
  let schema: Schema;
  let pool: Pool;

  beforeAll(async () => {
    recipes = writeRecipes('docs/migrating.md', 'test/servers/operations', ['leaving.ts']);
    ({ queryFor } = (await recipes.load('leaving.ts')) as Printed);
    schema = await emptySchema();
    pool = pgPool(schema.settings);
    await migrate(pool);
  });
  afterAll(async () => {
    await pool.end();
    await schema.drop();
    recipes.remove();
  });

  it('compiles', () => expect(recipes.complaints()).toEqual([]));

  it('refuses every key with a wrong checksum, and no good one', () => {
    const { tests } = readVectors<{ tests: readonly KeyVector[] }>('keys');
    const isFound = (vector: KeyVector) => queryFor(vector.key) !== null;
    const good = tests.filter(({ result }) => result === 'valid');
    expect(good.length).toBeGreaterThan(30);
    expect(good.filter((vector) => !isFound(vector))).toEqual([]);
    const wrong = tests.filter(({ result }) => result === 'wrong_checksum');
    expect(wrong.length).toBeGreaterThan(50);
    expect(wrong.filter(isFound)).toEqual([]);
  });

  it('makes the digests that keyscope stores, with a pepper and without', () => {
    const { tests } = readVectors<{ tests: readonly DigestVector[] }>('digests');
    const digests = tests.filter(({ flags, key }) => {
      return flags.includes('Digest') && queryFor(key) !== null;
    });
    expect(digests.length).toBeGreaterThan(5);
    for (const { key, pepper, result } of digests) {
      const query = queryFor(key, pepper === null ? undefined : pepperOf(pepper));
      expect(query?.values).toEqual([result]);
    }
  });

  it.each(['none', [PEPPER]] as const)(
    'finds a key that keyscope made, until it ends: %j',
    async (peppers) => {
      const store = postgresStore(pool);
      const { keyring } = setUp({ store, peppers, now: Date.now });
      async function find(key: string): Promise<readonly object[]> {
        const query = queryFor(key, peppers === 'none' ? undefined : PEPPER);
        if (query === null) throw new Error('the printed code refuses a good key');
        return (await pool.query<object>(query.text, [...query.values])).rows;
      }
      const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
      const { keyId, entityId, scopes } = info;
      const row = { key_id: keyId, entity_id: entityId, scopes };
      expect(await find(key)).toEqual([row]);
      expect(await find((await setUp({}).keyring.issue(PLAIN, AUTHORITY)).key)).toEqual([]);
      await keyring.suspend(keyId, AUTHORITY);
      expect(await find(key)).toEqual([]);
      await keyring.resume(keyId, AUTHORITY);
      const next = await keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY);
      expect(await find(key)).toEqual([]);
      expect(await find(next.key)).toHaveLength(1);
      await keyring.revoke(next.info.keyId, AUTHORITY);
      expect(await find(next.key)).toEqual([]);
      const past = setUp({ store, peppers, now: () => START });
      const input = { ...PLAIN, expiresAt: new Date(START + HOUR) };
      expect(await find((await past.keyring.issue(input, AUTHORITY)).key)).toEqual([]);
    },
  );
});
